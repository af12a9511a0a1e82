# SPDX-License-Identifier: MIT OR Apache-2.0
"""The same flows here and in ns-3, side by side: docs/ns3.md.

peer        our program that calls ns-3 (bench/peers/ns3): is it there, build it, play flows, read what it says
scenario    a description of a run, what ns-3 is told of it, and ns-3's AQM
comparison  both runs, and their quantities beside each other
page        the tables in docs/ns3.md
"""
