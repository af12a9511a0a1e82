# SPDX-License-Identifier: MIT OR Apache-2.0
"""What a run came to: the numbers of runs and sweeps, and their folders.

Of a cell: `observation`, `curves`, `traces`, `bins`. Of a run: `summary`, `seeds` (seeds put together), `metric`
(its numbers by name), `doubts` about them. On disk: `folders`, `sweep`, and `archive`, which opens any of them as a
`collection`. Uses `spec` and what is below. Reading a result never prepares a run.
"""
