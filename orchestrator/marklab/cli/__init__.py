# SPDX-License-Identifier: MIT OR Apache-2.0
"""The command line: reads options, calls the library, explains errors.

`main` knows all commands and ends the process with their exit code. Each other module is a command, or two that belong
together. Uses all rooms below. No other room imports it.
"""
