# SPDX-License-Identifier: MIT OR Apache-2.0
"""Results for people, in every form.

In a terminal: `terminal` for a run, `sweep`, `comparison` (also Markdown and JUnit). As files (`files`): `charts`,
built from `chart`, `grid`, `traced` and `styles`, are plain data, which `page` draws into one HTML file beside `facts`,
`key_numbers` and `claims`, `figures` into files for papers; `plots` draws traces. Uses `results`, `comparison` and
`papers`. Never computes what is not in a result.
"""
