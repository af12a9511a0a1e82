# SPDX-License-Identifier: MIT OR Apache-2.0
"""Writes docs/fidelity.md, docs/fidelity/PAPER.md with its chart, and the README's table of claims, from the records.

`recorded` reads an experiment with what was found, `overview` writes the page of all papers, `paper` that of one, and
`why` says on it what was found out about a difference. `chart` draws a paper's numbers, `readme` renews the README, and
`files` has all of them by their paths. Nothing is computed here, and nothing is edited by hand.
"""
