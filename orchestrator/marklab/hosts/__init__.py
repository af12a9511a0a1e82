# SPDX-License-Identifier: MIT OR Apache-2.0
"""Simulated hosts against Linux: the same scripts of marks, losses and delays through both (docs/hosts.md).

`script` is the description of a script, `generation` draws random ones, `bottleneck` turns scripts into a network and
the table entries of p4src/v1model/lib/scripted.p4. `simulated` and `linux` run scripts, `run` has both do it, and
`endpoints` is the process of Linux's hosts. `capture` reads what passed the bottleneck, `rounds` divides it into round
trips, `comparison` finds differences, `causes` names them, `recording` keeps what Linux did, and `page` writes the
tables. Uses `fabrics` and `lab`.
"""
