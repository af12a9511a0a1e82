# SPDX-License-Identifier: MIT OR Apache-2.0
"""How other programs use the lab: Python functions and JSON Schemas.

`functions` has `run`, `sweep` and `compare`, which `marklab` exports; `schemas` has the schemas of all YAML files. Uses
the same rooms as the command line. Never prints anything.
"""
