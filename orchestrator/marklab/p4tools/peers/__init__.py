# SPDX-License-Identifier: MIT OR Apache-2.0
"""The same programs in other implementations.

`conformance` runs p4c's own tests. `differential` sends `random_packets`, and `bursts` that fill queues, through the
lab's switch and `bmv2`, and writes the page about it. `verdicts` says which side is right where they differ. Never part
of a run.
"""
