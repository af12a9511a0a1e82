# SPDX-License-Identifier: MIT OR Apache-2.0
"""The tools and privileges of this machine: `examination` looks for each that the lab can use, and how to get it.

Uses `lab`, `hosts`, `ns3`, `promotion` and `p4tools`, which know what they need. Never changes the machine.
"""
