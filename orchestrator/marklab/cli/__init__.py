# SPDX-License-Identifier: MIT OR Apache-2.0
"""The command line: reads options, calls the library, explains errors.

`main` knows all commands and ends the process with their exit code; each other module is a command, or two that belong
together. Uses all that is below. No other room uses it.
"""
