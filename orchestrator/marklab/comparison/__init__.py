# SPDX-License-Identifier: MIT OR Apache-2.0
"""Differences between two results, and whether they exceed the noise of the seeds.

`side_by_side` compares everything that both have, `differences` judges one metric, `policy` has the rules that fail a
build.
Uses `results` and `statistics`. Renders nothing: `report.comparison` does.
"""
