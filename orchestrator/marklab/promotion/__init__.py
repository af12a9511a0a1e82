# SPDX-License-Identifier: MIT OR Apache-2.0
"""From an evaluated scheme to a Tofino build: gates, and the bundle of what passes them (docs/tofino.md).

`candidate` is what was evaluated, `gates` are asked in turn (`rules`, `equivalence`, `sequence`, `build`, `vendor`),
`policy` says what is required, `missing` why there is no twin, `bundle` writes what passed. Uses `comparison`,
`fabrics` and `p4tools`. Never calls a skipped gate passed.
"""
