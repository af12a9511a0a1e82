# SPDX-License-Identifier: MIT OR Apache-2.0
"""From an evaluated scheme to a Tofino build: gates, and the bundle of a scheme that passes them (docs/tofino.md).

`candidate` is an evaluated scheme; `gates` run in order (`rules`, `equivalence`, `sequence`, `build`, `vendor`);
`policy` has the requirements; `bundle` writes a scheme that passed; `beside` is what a twin decides on one packet.
Uses `comparison`, `fabrics`, `p4tools` and `playback`. A skipped gate never counts as passed.
"""
