# SPDX-License-Identifier: MIT OR Apache-2.0
"""What this machine offers: `examination` looks for each tool and right that the lab can use, and says how to get it.

Uses `lab`, `ns3`, `promotion` and `p4tools`, which know what they need. Never changes the machine.
"""
