# SPDX-License-Identifier: MIT OR Apache-2.0
"""`lsp`: a language server for editors."""

from __future__ import annotations

from marklab.engine.binding import version
from marklab.language.server import language_server


def lsp() -> None:
    """Serve P4's messages, completion, hover and definitions to an editor, over stdin and stdout."""
    language_server(version()).start_io()
