# SPDX-License-Identifier: MIT OR Apache-2.0
"""Packet tests in STF, the test language of p4c: entries and packets in, expected packets out.

statements (what a test says) <- reader (text) -> names (of a program's objects), commands (of simple_switch_CLI)
-> device (a switch in the engine) -> runner (send, compare) -> diff, trace (why a packet is not as expected).

Against BMv2: bmv2 (the process) -> random_packets, bursts (both sides of each; outcome: what is compared) ->
differential (the page).
"""
