# SPDX-License-Identifier: MIT OR Apache-2.0
"""What is measured: from what a fabric observed to the numbers of a summary, and what makes them doubtful.

`summarise` is about a run and `cell` about a cell, with `histograms`, `pauses`, `sharing`, `passages` and
`window_means`; `doubts` tells when not to trust a number; `burst_queue` has a queue as a formula. Uses `prepare` and
`results`. Never reads or writes a file.
"""
