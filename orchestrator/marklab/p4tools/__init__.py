# SPDX-License-Identifier: MIT OR Apache-2.0
"""What any P4 program does: packet tests, comparisons with other implementations, the limits of Tofino.

`stf` runs and traces packet tests, `peers` compares with p4c and BMv2, `tofino` says what a program needs of Tofino.
Uses `engine`, `catalog` and `traffic`. Never needs a network or a run.
"""
