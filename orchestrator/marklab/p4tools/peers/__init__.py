# SPDX-License-Identifier: MIT OR Apache-2.0
"""The same programs in other implementations.

`conformance` runs p4c's own tests; `differential` writes the page about `random_packets` and `bursts` (full queues)
here and in `bmv2`; `verdicts` says whose fault a difference is. Never part of a run.
"""
