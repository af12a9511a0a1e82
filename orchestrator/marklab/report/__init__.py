# SPDX-License-Identifier: MIT OR Apache-2.0
"""Results for people, in every form.

In a terminal: `terminal` for a run, `sweep`, `comparison` (also as Markdown, JUnit and JSON). As files (`files`):
`charts` are plain data, built from `chart`, `grid`, `traced` and `styles`. `page` draws them into one HTML file, with
`facts`, `key_numbers` and `claims`; `figures` draws them into files for papers. `plots` draws traces. Uses `results`,
`comparison` and `papers`. Computes nothing that is not in a result.
"""
