# SPDX-License-Identifier: MIT OR Apache-2.0
"""The results of runs and sweeps: their numbers and their folders.

For a cell: `observation`, `parallelism`, `curves`, `traces`, `bins`. For a run: `summary`, `seeds` (combines seeds),
`metric` (defines the numbers), `doubts` (about the numbers). On disk: `folders`, `sweep`, and `archive`, which opens
any folder as a `collection`. Uses `spec` and its floor. Reading a result never prepares a run.
"""
