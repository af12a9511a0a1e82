# SPDX-License-Identifier: MIT OR Apache-2.0
"""From an evaluated scheme to a Tofino build: gates, and the bundle of a scheme that passes them (docs/tofino.md).

`candidate` is an evaluated scheme; `gates` run in order (`rules`, `equivalence`, `sequence`, `build`, `vendor`);
`policy` has the requirements; `bundle` writes a scheme that passed. Uses `comparison`, `fabrics` and `p4tools`. A
skipped gate never counts as passed.
"""
