# SPDX-License-Identifier: MIT OR Apache-2.0
"""What people read of results.

`terminal` is the table at the end of a run. `charts` says what there is to draw, as plain data; `page` writes it into
one HTML file, and `figures` into files for papers.
"""
