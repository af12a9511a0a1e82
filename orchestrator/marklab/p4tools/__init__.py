# SPDX-License-Identifier: MIT OR Apache-2.0
"""Tools for any P4 program: packet tests, comparisons with other implementations, the limits of Tofino.

`stf` runs and traces packet tests, `peers` compares with p4c and BMv2, `tofino` checks a program against the limits of
a Tofino. Uses `engine`, `catalog` and `traffic`. Never needs a network or a run.
"""
