# SPDX-License-Identifier: MIT OR Apache-2.0
"""P4 for editors: messages, completion, hover and definitions, from the engine's front end (docs/editors.md).

`source` answers questions about the text of a program, saved or not; `server` asks them for an editor that speaks the
Language Server Protocol.
"""
