# SPDX-License-Identifier: MIT OR Apache-2.0
"""Grids of runs: described, planned as cells, run by Dask, kept as one dataset.

`description` is a sweep file, `plan` makes its cells, `cluster` gives them to workers, `work` is what a worker does,
`dataset` writes what comes, `execute` does all of it. Uses `execution`, `fabrics` and `metrics`. A sweep that is killed
never loses a finished cell.
"""
