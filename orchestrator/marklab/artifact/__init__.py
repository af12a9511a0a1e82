# SPDX-License-Identifier: MIT OR Apache-2.0
"""Artifacts of experiments, as committees of conferences evaluate them: a folder, its archive, and its repetition.

`contents` writes one: the `stored` results of an experiment, the `source` that ran, the `machine`, and an archive of
them (`packing`). `repetition` runs it again, and `equality` compares every value. Uses `papers`, `report` and `sweeps`.
Never names a machine or its user.
"""
