# SPDX-License-Identifier: MIT OR Apache-2.0
"""The claims of papers, and the lab's findings.

`claims` defines what a paper states, `experiment` the runs that it is held against, and `reading` what is assumed
where the paper is silent; `papers` lists the papers. `reproduction` runs an experiment, `findings` evaluates its
claims, `verdicts` judges them (docs/scoring.md), `table` renders them. `deciding` finds the seeds that undetermined
claims need. `variations` look for what explains a difference. `records` keeps findings in the tree with a
`fingerprint` of the lab that made them, and the room `pages` writes them down. Uses `sweeps` and `results`. A finding
is never edited by hand.
"""
