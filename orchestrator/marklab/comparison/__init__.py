# SPDX-License-Identifier: MIT OR Apache-2.0
"""What changed between two results, and whether that is more than the noise of the seeds.

`side_by_side` goes through all that both have, `differences` judges one metric, `policy` has the rules that fail a
build. Uses `results` and `statistics`. Never renders anything: `report.comparison` does.
"""
