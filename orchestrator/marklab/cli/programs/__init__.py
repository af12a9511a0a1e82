# SPDX-License-Identifier: MIT OR Apache-2.0
"""Commands about P4 programs: `stf`, `switch`, `tofino`, `promote`."""
