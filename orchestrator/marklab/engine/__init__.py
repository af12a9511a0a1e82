# SPDX-License-Identifier: MIT OR Apache-2.0
"""Access to the engine: the Rust engine as a typed Python module, and the reference compiler for other switches.

`binding` makes all calls into `marklab._engine` and turns its errors into ours; `p4c` calls the compiler. Uses no other
room. No other room imports the engine's module by itself.
"""
