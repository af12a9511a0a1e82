# SPDX-License-Identifier: MIT OR Apache-2.0
"""A language server: it speaks the Language Server Protocol (3.17) with an editor over stdin and stdout."""

from __future__ import annotations

import tempfile
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from lsprotocol import types as lsp
from pygls import uris
from pygls.lsp.server import LanguageServer

from marklab.language.source import Candidate, Place, Problem, Source, text_of

_SEVERITIES = {"warning": lsp.DiagnosticSeverity.Warning}

_KINDS = {
    "type": (lsp.CompletionItemKind.Struct, lsp.SymbolKind.Struct),
    "block": (lsp.CompletionItemKind.Class, lsp.SymbolKind.Class),
    "constant": (lsp.CompletionItemKind.Constant, lsp.SymbolKind.Constant),
    "variable": (lsp.CompletionItemKind.Variable, lsp.SymbolKind.Variable),
    "parameter": (lsp.CompletionItemKind.Variable, lsp.SymbolKind.Variable),
    "field": (lsp.CompletionItemKind.Field, lsp.SymbolKind.Field),
    "function": (lsp.CompletionItemKind.Function, lsp.SymbolKind.Function),
    "method": (lsp.CompletionItemKind.Method, lsp.SymbolKind.Method),
    "action": (lsp.CompletionItemKind.Function, lsp.SymbolKind.Function),
    "table": (lsp.CompletionItemKind.Module, lsp.SymbolKind.Object),
    "state": (lsp.CompletionItemKind.Event, lsp.SymbolKind.Event),
    "instance": (lsp.CompletionItemKind.Variable, lsp.SymbolKind.Object),
    "value set": (lsp.CompletionItemKind.Enum, lsp.SymbolKind.Enum),
}


class P4Server(LanguageServer):
    """The server, with what it has told the editor."""

    def __init__(self, version: str) -> None:
        super().__init__("marklab", version)
        # Files with messages, by the program that caused them: an included file has those of all programs.
        self.told: dict[str, set[str]] = {}
        # Interfaces of the front end as files that an editor can open, until the server ends.
        self._interfaces = tempfile.TemporaryDirectory(prefix="marklab-")

    def source(self, uri: str) -> Source:
        """A document as the editor has it."""
        document = self.workspace.get_text_document(uri)
        return Source(Path(document.path), document.source)

    def tell_problems(self, uri: str) -> None:
        """Send the messages on a program, also those in files that it includes; take back those that are gone."""
        problems: dict[str, list[lsp.Diagnostic]] = defaultdict(list)
        for each in self.source(uri).problems():
            problems[self.uri(each.place.path)].append(self._diagnostic(each))
        # The program's own come last: an editor that has them has all.
        others = {*self.told.get(uri, ()), *problems} - {uri}
        for other in (*sorted(others), uri):
            self.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(other, problems.get(other, [])))
        self.told[uri] = set(problems)

    def uri(self, path: Path) -> str:
        """The address of a file; an interface of the front end becomes a file."""
        if not path.is_absolute():
            file = Path(self._interfaces.name) / path.name
            if not file.exists():
                file.write_text(text_of(path), encoding="utf-8")
            path = file
        return uris.from_fs_path(str(path.resolve())) or ""

    def location(self, place: Place) -> lsp.Location:
        """A place in an editor's terms."""
        return lsp.Location(self.uri(place.path), self.range(place))

    def range(self, place: Place) -> lsp.Range:
        """A place within its file, in the units of the editor."""
        start = lsp.Position(place.line - 1, place.column - 1)
        end = lsp.Position(place.end_line - 1, place.end_column - 1)
        document = self.workspace.get_text_document(self.uri(place.path))
        return self.workspace.position_codec.range_to_client_units(document.lines, lsp.Range(start, end))

    def cursor(self, uri: str, position: lsp.Position) -> tuple[int, int]:
        """An editor's position as line and column, from 1."""
        lines = self.workspace.get_text_document(uri).lines
        found = self.workspace.position_codec.position_from_client_units(lines, position)
        return found.line + 1, found.character + 1

    def _diagnostic(self, of: Problem) -> lsp.Diagnostic:
        related = [lsp.DiagnosticRelatedInformation(self.location(place), text) for text, place in of.labels]
        return lsp.Diagnostic(
            range=self.range(of.place),
            message=of.text if of.help is None else f"{of.text}\nhelp: {of.help}",
            severity=_SEVERITIES.get(of.category, lsp.DiagnosticSeverity.Error),
            code=of.identifier,
            source="marklab",
            related_information=related,
        )


def language_server(version: str) -> P4Server:
    """A server that is not started yet."""
    server = P4Server(version)

    @server.feature(lsp.TEXT_DOCUMENT_DID_OPEN)
    def _opened(params: lsp.DidOpenTextDocumentParams) -> None:
        server.tell_problems(params.text_document.uri)

    @server.feature(lsp.TEXT_DOCUMENT_DID_CHANGE)
    def _changed(params: lsp.DidChangeTextDocumentParams) -> None:
        server.tell_problems(params.text_document.uri)

    @server.feature(lsp.TEXT_DOCUMENT_COMPLETION, lsp.CompletionOptions(trigger_characters=["."]))
    def _complete(params: lsp.CompletionParams) -> lsp.CompletionList:
        document = server.workspace.get_text_document(params.text_document.uri)
        found = server.source(document.uri).candidates(document.offset_at_position(params.position))
        return lsp.CompletionList(is_incomplete=False, items=[_completion(each) for each in found])

    @server.feature(lsp.TEXT_DOCUMENT_HOVER)
    def _hover(params: lsp.HoverParams) -> lsp.Hover | None:
        source = server.source(params.text_document.uri)
        name = source.name_at(*server.cursor(params.text_document.uri, params.position))
        if name is None:
            return None
        text, comment = source.declaration(name)
        shown = "\n\n".join(filter(None, (f"```p4\n{text}\n```" if text else f"{name.role} of the language", comment)))
        return lsp.Hover(lsp.MarkupContent(lsp.MarkupKind.Markdown, shown), server.range(name.place))

    @server.feature(lsp.TEXT_DOCUMENT_DEFINITION)
    def _definition(params: lsp.DefinitionParams) -> lsp.Location | None:
        source = server.source(params.text_document.uri)
        name = source.name_at(*server.cursor(params.text_document.uri, params.position))
        return None if name is None or name.declaration is None else server.location(name.declaration)

    @server.feature(lsp.TEXT_DOCUMENT_REFERENCES)
    def _references(params: lsp.ReferenceParams) -> list[lsp.Location]:
        source = server.source(params.text_document.uri)
        name = source.name_at(*server.cursor(params.text_document.uri, params.position))
        return [] if name is None else [server.location(place) for place in source.uses_of(name)]

    @server.feature(lsp.TEXT_DOCUMENT_DOCUMENT_SYMBOL)
    def _outline(params: lsp.DocumentSymbolParams) -> list[lsp.SymbolInformation]:
        source = server.source(params.text_document.uri)
        document = server.workspace.get_text_document(params.text_document.uri)
        return [
            lsp.SymbolInformation(
                name=_text(document.lines, name.place), kind=_KINDS[name.role][1], location=server.location(name.place)
            )
            for name in source.outline()
        ]

    return server


def _completion(of: Candidate) -> lsp.CompletionItem:
    documentation = lsp.MarkupContent(lsp.MarkupKind.Markdown, of.comment) if of.comment else None
    return lsp.CompletionItem(of.name, kind=_KINDS[of.role][0], detail=of.text or of.role, documentation=documentation)


def _text(lines: Sequence[str], place: Place) -> str:
    return lines[place.line - 1][place.column - 1 : place.end_column - 1]
