# SPDX-License-Identifier: MIT OR Apache-2.0
"""Packet tests in STF, the test language of p4c: entries and packets in, expected packets out.

`reader` parses the text into `statements`, with `names` of the program's objects and `commands` of simple_switch_CLI.
`device` is a switch in the engine; `runner` sends packets and compares. `diff` and `trace` show why a packet is not as
expected. `outcome`, `golden` and `messages` are for comparisons with other implementations. Never judges a scheme.
"""
