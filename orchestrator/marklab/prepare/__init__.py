# SPDX-License-Identifier: MIT OR Apache-2.0
"""Prepared runs, the input of a fabric: network, flows of each seed, programs and table entries.

`experiment` has the prepared run, `arrivals`, `web` and `jobs` its flows, `delivered` those whose load an empty line
delivers. The flows of jobs, which wait for each other, are a `drawing` of `collectives` or of `traces`.
`receive_windows` has the windows of receivers, `control` the entries of switches, `dilation` the times for slow
machines, `ideal` the FCTs of an empty network, `versions` the code that runs. Uses `spec` and its floor. Never looks
at a result.
"""
