# SPDX-License-Identifier: MIT OR Apache-2.0
"""The extension for VS Code: its package, its grammar, and what a user sees in the editor.

The editor is code-server: VS Code in a browser. `MARKLAB_CODE_SERVER` names its command if it is not on PATH.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import tomllib
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from playwright.sync_api import Locator, Page, expect

from browsing import started
from marklab import __version__
from marklab.cli.main import _COMMANDS
from marklab.doctor.examination import code_server
from marklab.paths import REPOSITORY
from needs import install_packages
from pages import blocks
from servers import free_port

EXTENSION = REPOSITORY / "editors" / "vscode"
MANIFEST: dict[str, Any] = json.loads((EXTENSION / "package.json").read_text())
SCHEME = REPOSITORY / "p4src" / "v1model" / "tcn.p4"
SERVER = [sys.executable, str(REPOSITORY / "orchestrator.py"), "lsp"]
MESSAGE = "`queue_signals_t` has no field `sojourn`"

PATIENCE_MS = 60_000


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The extension, whose packages are installed, whose types are checked, and which is built and packed."""
    packed = tmp_path_factory.mktemp("vscode") / "marklab-p4.vsix"
    install_packages("editors/vscode")
    # All processes of tests build in the same folder.
    with (EXTENSION / "package.json").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        run("npm", "run", "check")
        run("npm", "run", "package", "--", "--out", str(packed))
    return packed


def run(*command: str, folder: Path = EXTENSION) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.needs("npm")
def test_the_package_has_what_the_editor_needs_and_nothing_else(package: Path) -> None:
    with zipfile.ZipFile(package) as packed:
        names = {name.removeprefix("extension/") for name in packed.namelist() if name.startswith("extension/")}
        licences = packed.read("extension/dist/licences.txt").decode()
    built = {"dist/extension.js", "dist/licences.txt"}
    assert names == built | {"language-configuration.json", "package.json", "readme.md", "syntaxes/p4.tmLanguage.json"}
    own, *others = licences.split("\n---\n")
    assert own.startswith("Marklab (MIT OR Apache-2.0)")
    assert set(MANIFEST["dependencies"]) <= {each.split()[0] for each in others}


def test_the_manifest_agrees_with_the_lab() -> None:
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    assert (MANIFEST["version"], MANIFEST["license"]) == (__version__, project["license"])
    program, command = MANIFEST["contributes"]["configuration"]["properties"]["marklab.command"]["default"]
    assert program in project["scripts"]
    assert command in _COMMANDS


def test_the_page_has_the_setting_of_a_clone() -> None:
    """It is in three places for users: docs/editors.md, the extension's page and the setting's description."""
    (block,) = (block for block in blocks(REPOSITORY / "docs" / "editors.md") if block.language == "json")
    described = MANIFEST["contributes"]["configuration"]["properties"]["marklab.command"]["markdownDescription"]
    assert block.text in (EXTENSION / "README.md").read_text()
    (words,) = json.loads(f"{{{block.text}}}").values()
    assert json.dumps(words) in described


def tokens(path: Path) -> list[tuple[str, str]]:
    """The pieces of a program with their innermost scopes, as VS Code's own library finds them."""
    return [(text, scope) for text, scope in json.loads(run("node", "tokens.mjs", str(path)))]


@pytest.mark.needs("npm")
def test_the_grammar_reads_a_scheme(package: Path) -> None:
    found = tokens(SCHEME)
    assert [scope for _, scope in found[:2]] == ["comment.line.double-slash.p4"] * 2
    for token in (
        ("#include", "keyword.control.directive.p4"),
        ("<core.p4>", "string.quoted.include.p4"),
        ("const", "storage.modifier.p4"),
        ("cause_t", "entity.name.type.p4"),
        ("CAUSE_SOJOURN", "constant.other.p4"),
        ("control", "storage.type.p4"),
        ("Marking", "entity.name.type.p4"),
        ("bit", "storage.type.built-in.p4"),
        ("32", "constant.numeric.p4"),
        ("set_params", "entity.name.function.p4"),
        ("apply", "keyword.control.p4"),
        ("apply", "entity.name.function.member.p4"),
        ("sojourn_us", "variable.other.member.p4"),
    ):
        assert token in found


@pytest.mark.needs("npm")
def test_the_grammar_reads_numbers_strings_and_annotations(package: Path, tmp_path: Path) -> None:
    """The numbers are of the forms that the front end's lexer is tested with."""
    program = tmp_path / "mine.p4"
    program.write_text(
        '@name("a \\" b") x = 8w0xff + 4s7 + 16w1_0;\n#define TWO(a) \\\n    2 // two\n/* 3\n4 */ y = 0b1_1;\n'
    )
    found = tokens(program)
    number, width = "constant.numeric.p4", "keyword.other.unit.width.p4"
    assert [text for text, scope in found if scope == number] == ["0xff", "7", "1_0", "2", "0b1_1"]
    assert [text for text, scope in found if scope == width] == ["8w", "4s", "16w"]
    assert found[0] == ("@name", "storage.type.annotation.p4")
    assert ('\\"', "constant.character.escape.p4") in found
    assert ("TWO", "entity.name.function.preprocessor.p4") in found
    assert {scope for text, scope in found if text in {"/*", "3", "4", "*/"}} == {"comment.block.p4"}


@pytest.mark.needs("npm")
def test_the_grammar_knows_the_keywords_of_the_front_end(package: Path, tmp_path: Path) -> None:
    text = (REPOSITORY / "engine" / "p4" / "src" / "token.rs").read_text()
    keywords = re.findall(r'= "(\w+)"', text.partition("    keywords {\n")[2].partition("\n    }")[0])
    assert len(keywords) > 40
    program = tmp_path / "mine.p4"
    program.write_text("\n;\n".join(keywords))
    found = [(text, scope) for text, scope in tokens(program) if text != ";"]
    assert [text for text, _ in found] == keywords
    kinds = ("keyword.", "storage.", "constant.language.", "variable.language.")
    assert [text for text, scope in found if not scope.startswith(kinds)] == []


class Code:
    """VS Code in a browser, with the extension and a program with a mistake in line 27."""

    def __init__(self, page: Page, folder: Path) -> None:
        self.page, self._folder = page, folder

    def command(self, words: list[str]) -> None:
        """Set the command of the server, in the settings of the folder."""
        set_command(self._folder, words)

    def pick(self, words: str, offered: str) -> None:
        """Open what is offered for these words: a file, or a command behind `>`."""
        self.page.keyboard.press("Control+P")
        self.page.keyboard.type(words)
        expect(self.page.locator(".quick-input-list .focused")).to_contain_text(offered)
        self.page.keyboard.press("Enter")

    def said(self, text: str) -> Locator:
        """A message in the corner."""
        return self.page.locator(".notification-list-item-message").filter(has_text=text)


def write(path: Path, settings: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(settings))


def set_command(folder: Path, words: list[str]) -> None:
    write(folder / ".vscode" / "settings.json", {"marklab.command": words})


@contextmanager
def code(folder: Path, package: Path, words: list[str], trusted: bool = True) -> Iterator[Code]:
    program = folder / "p4src" / "v1model" / "tcn.p4"
    shutil.copytree(REPOSITORY / "p4src", folder / "p4src", dirs_exist_ok=True)
    program.write_text(SCHEME.read_text().replace("q.sojourn_us", "q.sojourn"))
    quiet = {"workbench.startupEditor": "none", "chat.disableAIFeatures": True}
    write(folder / "user" / "User" / "settings.json", {**quiet, "marklab.command": words})
    own = ["--user-data-dir", str(folder / "user"), "--extensions-dir", str(folder / "extensions")]
    command = [code_server() or "code-server", "--config", str(folder / "config.yaml"), *own]
    run(*command, "--install-extension", str(package), folder=folder)
    port = free_port()
    command += ["--auth", "none", "--bind-addr", f"127.0.0.1:{port}", "--disable-telemetry", "--disable-update-check"]
    command += ["--disable-workspace-trust"] if trusted else []
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as running:
        try:
            until(lambda: answers(f"http://127.0.0.1:{port}/healthz"))
            with started() as chromium:
                page = chromium.new_page(viewport={"width": 1280, "height": 800})
                page.set_default_timeout(PATIENCE_MS)
                expect.set_options(timeout=PATIENCE_MS)
                page.goto(f"http://127.0.0.1:{port}/?folder={folder / 'p4src'}")
                expect(page.locator(".explorer-folders-view")).to_contain_text("v1model")
                yield Code(page, folder / "p4src")
        finally:
            running.terminate()


def answers(address: str) -> bool:
    try:
        httpx2.get(address)
    except httpx2.TransportError:
        return False
    return True


def until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE_MS / 1000
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.1)


@pytest.mark.needs("npm", "code-server", "Chromium")
def test_the_editor_shows_messages_declarations_and_candidates(package: Path, tmp_path: Path) -> None:
    with code(tmp_path, package, SERVER) as editor:
        page = editor.page
        editor.pick("v1model/tcn.p4", "tcn.p4")
        expect(page.locator(".squiggly-error")).to_be_visible()
        page.keyboard.press("Control+Shift+M")
        problems = page.locator(".markers-panel-container")
        expect(problems).to_contain_text(MESSAGE)
        expect(problems).to_contain_text("help: did you mean `sojourn_us`?")
        expect(problems).to_contain_text("[Ln 27, Col 23]")
        page.locator(".view-line span", has_text=re.compile("^CAUSE_SOJOURN$")).first.hover()
        expect(page.locator(".monaco-hover-content").first).to_contain_text(
            re.compile(r"const\scause_t\sCAUSE_SOJOURN")
        )
        editor.pick(":27:22", "27")
        page.keyboard.press("Delete")
        page.keyboard.type(".")
        expect(page.locator(".suggest-widget")).to_contain_text("sojourn_us")


@pytest.mark.needs("npm", "code-server", "Chromium")
def test_a_command_that_does_not_work_is_named_with_the_remedy(package: Path, tmp_path: Path) -> None:
    """Another command is tried at once, also after one that never answers."""
    with code(tmp_path, package, ["no-such-lab", "lsp"]) as editor:
        editor.pick("v1model/tcn.p4", "tcn.p4")
        missing = editor.said("`no-such-lab lsp` cannot be started: there is no command `no-such-lab`.")
        expect(missing).to_contain_text("Install the lab, or set `marklab.command` to the command that starts it here.")
        editor.command([sys.executable, "-c", "1"])
        expect(editor.said("cannot be started: it ended before it answered")).to_be_visible()
        editor.command([])
        expect(editor.said("The setting `marklab.command` has to be a list of words")).to_be_visible()
        waits = tmp_path / "waits"
        editor.command(["sh", "-c", f'touch "{waits}"; exec sleep 600'])
        until(waits.exists)
        editor.command(SERVER)
        expect(editor.page.locator(".squiggly-error")).to_be_visible()
        expect(editor.said("sleep")).to_have_count(0)


@pytest.mark.needs("npm", "code-server", "Chromium")
def test_a_server_is_restarted_by_a_command_and_after_its_end(package: Path, tmp_path: Path) -> None:
    number = tmp_path / "number"
    # The shell becomes the server, so that its number is the server's.
    words = ["sh", "-c", f'echo $$ > "{number}"; exec "$@"', "sh", *SERVER]
    with code(tmp_path, package, words) as editor:
        squiggle = editor.page.locator(".squiggly-error")
        editor.pick("v1model/tcn.p4", "tcn.p4")
        expect(squiggle).to_be_visible()
        first = int(number.read_text())
        editor.pick(">Marklab: Restart", "Restart the language server")
        until(lambda: int(number.read_text() or first) != first)
        until(lambda: not Path(f"/proc/{first}").exists())
        expect(squiggle).to_be_visible()
        second = int(number.read_text())
        os.kill(second, signal.SIGKILL)
        expect(editor.said("has ended. The output may say why.")).to_be_visible()
        expect(squiggle).to_have_count(0)
        editor.page.get_by_role("button", name="Restart").click()
        until(lambda: int(number.read_text() or second) != second)
        expect(squiggle).to_be_visible()


@pytest.mark.needs("npm", "code-server", "Chromium")
@pytest.mark.parametrize("trusted", [True, False])
def test_a_folder_that_is_not_trusted_names_no_command(package: Path, tmp_path: Path, trusted: bool) -> None:
    """The user's own setting holds instead."""
    touched = tmp_path / "touched"
    set_command(tmp_path / "p4src", ["touch", str(touched)])
    with code(tmp_path, package, SERVER, trusted=trusted) as editor:
        editor.pick("v1model/tcn.p4", "tcn.p4")
        told = editor.said("it ended before it answered") if trusted else editor.page.locator(".squiggly-error")
        expect(told).to_be_visible()
    assert touched.exists() == trusted
