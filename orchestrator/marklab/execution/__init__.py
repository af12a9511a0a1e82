# SPDX-License-Identifier: MIT OR Apache-2.0
"""Execution of a run: from its description to its folder, with its cells on all cores.

`run` does all of it, `cells` runs one cell per core, as many as `memory` allows, `folder` and `flows` write the result,
`progress` shows progress to people, and `pictures` the network to programs. Uses `fabrics` and `metrics`. A run that
fails or is interrupted never leaves a result.
"""
