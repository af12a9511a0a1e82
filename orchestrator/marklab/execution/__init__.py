# SPDX-License-Identifier: MIT OR Apache-2.0
"""How a run is carried out: from its description to its folder, its cells on all cores.

`run` does all of it, `cells` one cell per core, `folder` and `flows` write what is kept, `progress` shows that it goes
on. Uses `fabrics` and `metrics`. A run that fails or is interrupted never leaves a result.
"""
