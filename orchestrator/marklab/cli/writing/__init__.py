# SPDX-License-Identifier: MIT OR Apache-2.0
"""Commands for those who write programs: `lsp`, `studio`. `spare` is a process that waits to become a command."""
