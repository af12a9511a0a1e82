# SPDX-License-Identifier: MIT OR Apache-2.0
"""Writes docs/fidelity.md, docs/fidelity/PAPER.md with its chart, and the README's table of claims, from the records.

`recorded` reads an experiment with what was found. `overview` writes the page of all papers, and `hours` says on it
what their full size takes. `paper` writes the page of one, and `why` says on it what was found out about a
difference. `chart` draws a paper's numbers, `readme` renews the README, and `files` has all of them by their paths.
Nothing is edited by hand.
"""
