# SPDX-License-Identifier: MIT OR Apache-2.0
"""Packet tests in STF, the test language of p4c: entries and packets in, expected packets out.

`reader` makes `statements` of the text, with `names` of the program's objects and `commands` of simple_switch_CLI;
`device` is a switch in the engine, `runner` sends and compares. `diff` and `trace` show why a packet is not as
expected; `outcome`, `golden` and `messages` serve comparisons of programs. Never judges a scheme.
"""
