# SPDX-License-Identifier: MIT OR Apache-2.0
"""Grids of runs: described, planned as cells, run by Dask, and kept as one dataset.

`description` reads a sweep file, `plan` makes its cells, `cluster` gives them to workers, `work` runs a cell on a
worker, `dataset` writes the results, and `execute` does all of it. Uses `execution`, `fabrics` and `metrics`. A sweep
that is killed never loses a finished cell.
"""
