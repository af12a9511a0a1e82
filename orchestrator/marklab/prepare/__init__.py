# SPDX-License-Identifier: MIT OR Apache-2.0
"""Prepared runs, the input of a fabric: network, flows of each seed, programs and table entries.

`experiment` has the prepared run, `arrivals`, `web` and `jobs` its flows, `delivered` those whose load an empty line
delivers, `receive_windows` the windows of their receivers, `control` the entries of its switches, `dilation` its
times for slow machines, `ideal` the FCTs of an empty network, `versions` the code that runs. Uses `spec` and its floor.
Never looks at a result.
"""
