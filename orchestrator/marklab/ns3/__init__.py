# SPDX-License-Identifier: MIT OR Apache-2.0
"""The same flows here and in ns-3, side by side (docs/ns3.md).

`peer` builds and calls our program on ns-3, `scenario` is a run with ns-3's AQM in place of its scheme, `comparison`
runs both. `kept` has flow lists with what ns-3 made of them, `agreement` compares the lab with that, over seeds and
flow by flow. `page` writes the tables. Uses `fabrics` and `metrics`. Never contains a model of ns-3.
"""
