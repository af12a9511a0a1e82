# SPDX-License-Identifier: MIT OR Apache-2.0
"""The schemes: P4 programs, and YAML files beside them that name parameters, units, rules and table entries."""
