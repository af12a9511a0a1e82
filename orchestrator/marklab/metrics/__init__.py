# SPDX-License-Identifier: MIT OR Apache-2.0
"""Measurement: from the observations of a fabric to the numbers of a summary, and reasons to doubt them.

`summarise` handles a run and `cell` a cell, with `sample`, `histograms`, `pauses`, `jobs`, `sharing`, `utilisation`,
`passages` and `window_means`.
`doubts` finds reasons to doubt a number; `burst_queue` has the formula of a queue's length. Uses `prepare` and
`results`. Never reads or writes a file.
"""
