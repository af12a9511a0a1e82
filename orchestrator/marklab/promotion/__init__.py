# SPDX-License-Identifier: MIT OR Apache-2.0
"""From an evaluated scheme to a Tofino build: gates, and the bundle of what passes them (docs/tofino.md)."""
