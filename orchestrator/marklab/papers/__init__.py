# SPDX-License-Identifier: MIT OR Apache-2.0
"""The claims of papers, and the lab's findings.

`papers` lists the papers, `claims` defines an experiment and its claims, `reproduction` runs an experiment, `table`
renders its findings, `found` keeps them in the tree, `fidelity` writes docs/fidelity.md. Uses `sweeps` and `results`.
A finding is never edited by hand.
"""
