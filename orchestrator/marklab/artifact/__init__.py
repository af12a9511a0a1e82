# SPDX-License-Identifier: MIT OR Apache-2.0
"""Artifacts of experiments, as committees of conferences evaluate them: a folder, its archive, and its repetition.

An arrow means "uses"; nothing uses anything to its left.

    repetition -> contents -> stored -> equality, packing
                           -> source -> packing
                           -> machine
"""
