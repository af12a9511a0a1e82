# SPDX-License-Identifier: MIT OR Apache-2.0
"""The language server, as an editor sees it: messages, completion, hover, definitions, uses, outline."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from lsprotocol import types as lsp
from pygls.lsp.client import LanguageClient

from marklab.language.source import Source
from marklab.paths import REPOSITORY

PROGRAM = REPOSITORY / "p4src" / "v1model" / "tcn.p4"
TEXT = PROGRAM.read_text()


class Editor:
    """An editor with one document."""

    def __init__(self, client: LanguageClient, path: Path, text: str) -> None:
        self.client, self.uri, self.text = client, path.as_uri(), text
        self.version = 0
        self.messages: dict[str, list[lsp.Diagnostic]] = {}
        self.told = asyncio.Event()

        @client.feature(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        def _told(params: lsp.PublishDiagnosticsParams) -> None:
            self.messages[params.uri] = list(params.diagnostics)
            if params.uri == self.uri:
                self.told.set()

    @property
    def document(self) -> lsp.TextDocumentIdentifier:
        return lsp.TextDocumentIdentifier(self.uri)

    async def open(self) -> list[lsp.Diagnostic]:
        await self.client.initialize_async(lsp.InitializeParams(capabilities=lsp.ClientCapabilities()))
        item = lsp.TextDocumentItem(self.uri, "p4", self.version, self.text)
        self.client.text_document_did_open(lsp.DidOpenTextDocumentParams(item))
        return await self._answer()

    async def change(self, text: str) -> list[lsp.Diagnostic]:
        self.text, self.version = text, self.version + 1
        document = lsp.VersionedTextDocumentIdentifier(self.version, self.uri)
        whole = lsp.TextDocumentContentChangeWholeDocument(text)
        self.client.text_document_did_change(lsp.DidChangeTextDocumentParams(document, [whole]))
        return await self._answer()

    def at(self, pattern: str, skip: int = 0) -> lsp.Position:
        """The position behind the first `skip` characters of a text."""
        before = self.text[: self.text.index(pattern) + skip]
        line = before.rpartition("\n")[2]
        return lsp.Position(before.count("\n"), len(line.encode("utf-16-le")) // 2)

    async def _answer(self) -> list[lsp.Diagnostic]:
        await asyncio.wait_for(self.told.wait(), 30)
        self.told.clear()
        return self.messages[self.uri]


def edit(path: Path, text: str, script: Callable[[Editor], Awaitable[None]]) -> None:
    """Run the server as an editor does, and a script with it; the server has to end by itself."""

    async def session() -> None:
        client = LanguageClient("test", "1")
        await client.start_io(sys.executable, str(REPOSITORY / "orchestrator.py"), "lsp")
        try:
            editor = Editor(client, path, text)
            await script(editor)
            await client.shutdown_async(None)
            client.exit(None)
            await asyncio.wait_for(client._server.wait(), 30)
        finally:
            # It waits for the end of the server.
            if client._server.returncode is None:
                client._server.kill()
            await client.stop()

    asyncio.run(session())


def test_messages_come_and_go_as_one_types() -> None:
    async def script(editor: Editor) -> None:
        assert await editor.open() == []
        (message,) = await editor.change(TEXT.replace("q.sojourn_us", "q.sojourn"))
        assert message.range.start == editor.at("q.sojourn", 2)
        assert (message.severity, message.code, message.source) == (lsp.DiagnosticSeverity.Error, "E0310", "marklab")
        assert "did you mean `sojourn_us`?" in message.message
        assert await editor.change(TEXT) == []

    edit(PROGRAM, TEXT, script)


def test_a_message_in_an_included_file_is_shown_there_and_taken_back(tmp_path: Path) -> None:
    """The place of a duplicate's first declaration comes with the message."""
    included = tmp_path / "mine.p4"
    included.write_text("const bit<8> A = 1;\nconst bit<8> A = 2;\n")
    main = tmp_path / "main.p4"
    text = '#include <core.p4>\n#include "mine.p4"\n'

    async def script(editor: Editor) -> None:
        await editor.open()
        (message,) = editor.messages[included.as_uri()]
        (label,) = message.related_information or ()
        assert (message.range.start.line, label.location.range.start.line) == (1, 0)
        assert label.location.uri == included.as_uri()
        await editor.change("#include <core.p4>\n")
        assert editor.messages[included.as_uri()] == []

    edit(main, text, script)


def test_completion_has_declarations_and_units() -> None:
    async def script(editor: Editor) -> None:
        await editor.open()
        await editor.change(TEXT.replace("params.apply();", "params.apply();\n        t = q.enq", 1))
        position = editor.at("t = q.enq", 9)
        found = await editor.client.text_document_completion_async(lsp.CompletionParams(editor.document, position))
        assert isinstance(found, lsp.CompletionList)
        depth = next(item for item in found.items if item.label == "enq_qdepth_pkts")
        assert (depth.kind, depth.detail) == (lsp.CompletionItemKind.Field, "bit<19> enq_qdepth_pkts")
        assert isinstance(depth.documentation, lsp.MarkupContent)
        assert "packets that were waiting" in depth.documentation.value

    edit(PROGRAM, TEXT, script)


def test_hover_definition_and_uses() -> None:
    async def script(editor: Editor) -> None:
        await editor.open()
        client, document = editor.client, editor.document
        hover = await client.text_document_hover_async(lsp.HoverParams(document, editor.at("q.sojourn_us", 2)))
        assert hover is not None
        assert isinstance(hover.contents, lsp.MarkupContent)
        assert hover.contents.value == "```p4\nbit<32> sojourn_us\n```\n\ntime from enqueue to dequeue"
        found = await client.text_document_definition_async(lsp.DefinitionParams(document, editor.at("Threshold()")))
        assert isinstance(found, lsp.Location)
        declared = REPOSITORY / "p4src" / "include" / "threshold.p4"
        assert found.uri == declared.as_uri()
        line = declared.read_text().splitlines()[found.range.start.line]
        assert line[found.range.start.character : found.range.end.character] == "Threshold"
        asked = lsp.ReferenceParams(lsp.ReferenceContext(True), document, editor.at("t = 0"))
        uses = await client.text_document_references_async(asked)
        assert [use.range.start.line for use in uses or ()] == [13, 16, 26]
        outline = await client.text_document_document_symbol_async(lsp.DocumentSymbolParams(document))
        names = [each.name for each in outline or ()]
        assert names == ["CAUSE_SOJOURN", "Marking", "above", "set_params", "params"]
        nothing = lsp.HoverParams(document, lsp.Position(0, 0))
        assert await client.text_document_hover_async(nothing) is None

    edit(PROGRAM, TEXT, script)


def test_an_interface_that_no_disk_has_can_be_opened() -> None:
    async def script(editor: Editor) -> None:
        await editor.open()
        await editor.change(editor.text + "\ncontrol c(in standard_metadata_t m) { apply { } }\n")
        position = editor.at("standard_metadata_t m", 3)
        found = await editor.client.text_document_definition_async(lsp.DefinitionParams(editor.document, position))
        assert isinstance(found, lsp.Location)
        text = Path(found.uri.removeprefix("file://")).read_text()
        assert "struct standard_metadata_t" in text.splitlines()[found.range.start.line]

    edit(PROGRAM, TEXT.replace("Marking(in queue", "Marking(/* bit<9> port */ in queue"), script)


def test_columns_are_those_of_the_editor() -> None:
    """UTF-16 by default: 𝛌 takes two units."""
    text = TEXT.replace("above.apply(q.", "/* 𝛌 */ above.apply(q.x")

    async def script(editor: Editor) -> None:
        messages = await editor.open()
        assert messages[0].range.start == editor.at("q.xsojourn_us", 2)

    edit(PROGRAM, text, script)


@pytest.mark.parametrize(
    "text", ["", "\n", "control", "{", "/*", '#include "none.p4"\n', "\ufeff", "a" * 100_000, "(" * 5000]
)
def test_no_text_is_too_broken(text: str) -> None:
    source = Source(PROGRAM.with_name("mine.p4"), text)
    assert list(source.problems())
    for offset in (0, len(text) // 2, len(text)):
        source.candidates(offset)
    assert source.outline() == []
    assert source.name_at(1, 1) is None
