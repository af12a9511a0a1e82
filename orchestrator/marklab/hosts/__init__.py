# SPDX-License-Identifier: MIT OR Apache-2.0
"""Simulated hosts against Linux and ns-2: the same scripts of marks, losses and delays (docs/hosts.md).

`script` is the description of a script, `generation` draws random ones, `bottleneck` turns scripts into a network and
the table entries of p4src/v1model/lib/scripted.p4. `simulated`, `linux` and `ns2` run scripts, `run` has two do it, and
`endpoints` is the process of Linux's hosts. `capture` reads what passed the bottleneck, `rounds` divides it into round
trips, `comparison` finds differences, `causes` names them, `recording` keeps what Linux did, and `page` writes the
tables. Uses `fabrics` and `lab`.
"""
