# SPDX-License-Identifier: MIT OR Apache-2.0
"""Grids of runs: described, planned as cells, run by Dask, kept as one dataset.

An arrow means "uses"; nothing uses anything to its left.

    execute -> cluster -> work -> plan -> description
            -> dataset
"""
