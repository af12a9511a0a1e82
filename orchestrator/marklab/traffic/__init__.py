# SPDX-License-Identifier: MIT OR Apache-2.0
"""Which flows there are: sizes, round-trip times and arrivals, or a list of flows."""
