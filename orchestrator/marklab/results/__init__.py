# SPDX-License-Identifier: MIT OR Apache-2.0
"""The results of runs and sweeps: their numbers and their folders.

Of a cell: `observation`, `curves`, `traces`, `bins`. Of a run: `summary`, `seeds` (seeds put together), `metric`
(definitions of its numbers), `doubts` about them. On disk: `folders`, `sweep`, and `archive`, which opens any of them
as a `collection`. Uses `spec` and its floor. Reading a result never prepares a run.
"""
