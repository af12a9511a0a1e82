# SPDX-License-Identifier: MIT OR Apache-2.0
"""Parses the text of a test. Each line is one statement; errors have a line and a column."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NoReturn

from marklab.engine.binding import QUEUE_SIGNALS
from marklab.errors import BadInput
from marklab.p4tools.stf.commands import FORMS
from marklab.p4tools.stf.statements import (
    Add,
    Call,
    CheckCounter,
    Command,
    Expect,
    Key,
    NoPacket,
    Number,
    Packet,
    RemoveAll,
    SetDefault,
    Statement,
    Wait,
)

_TOKEN = re.compile(
    r"""\s*(?:(?P<comment>\#.*)
    |(?P<number>0[xX][0-9a-fA-F*]+|0[bB][01*]+|[0-9]+(?![0-9a-zA-Z_$]))
    |(?P<name>[A-Za-z_$][A-Za-z0-9_$]*)
    |"(?P<quoted>[^"]+)"
    |(?P<sign>&&&|\.\.|->|=>|==|!=|<=|>=|[<>=:,./()\[\]])
    |(?P<bad>\S))""",
    re.VERBOSE,
)


class _Line:
    """The words of one line, read from left to right."""

    def __init__(self, path: Path | str, number: int, text: str) -> None:
        self.path, self.number, self.text = path, number, text
        self.at = 0

    def fail(self, message: str, column: int | None = None) -> NoReturn:
        at = self.at if column is None else column
        spaces = "".join("\t" if letter == "\t" else " " for letter in self.text[:at])
        place = f"{self.path}:{self.number}:{at + 1}"
        raise BadInput(f"{place}: {message}\n  {self.text}\n  {spaces}^")

    def _next(self) -> tuple[str, str, int, int]:
        """Kind, text, start and end of the next word; kind `end` at the end of the line."""
        found = _TOKEN.match(self.text, self.at)
        if found is None or found.lastgroup in {None, "comment"}:
            return "end", "", len(self.text.rstrip()), len(self.text)
        kind = found.lastgroup or ""
        if kind == "bad":
            self.fail(f"`{found[kind]}` is not a word of the language", found.start(kind))
        start = found.start(kind)
        return ("name" if kind == "quoted" else kind), found[kind], start, found.end()

    def skip(self) -> None:
        """Move to the next word, so an error points at it."""
        self.at = self._next()[2]

    def take(self, kind: str, what: str) -> str:
        found, text, start, end = self._next()
        if found != kind:
            seen = f"`{text}`" if text else "the end of the line"
            self.fail(f"expected {what}, found {seen}", start)
        self.at = end
        return text

    def sign(self, sign: str) -> bool:
        """Take this sign if it comes next, and return whether it did."""
        kind, text, _, end = self._next()
        if kind != "sign" or text != sign:
            return False
        self.at = end
        return True

    def need(self, sign: str) -> None:
        if not self.sign(sign):
            self.take("", f"`{sign}`")

    def peek(self) -> str:
        """Kind of the next word."""
        return self._next()[0]

    def number_word(self, what: str = "a number") -> Number:
        text = self.take("number", what)
        if not re.search("[0-9a-fA-F]", text[2:] or text) and "*" not in text:
            self.fail(f"`{text}` is not a number")
        return Number(text)

    def integer(self, what: str) -> int:
        start = self._next()[2]
        number = self.number_word(what)
        if number.wild:
            self.fail(f"{what} has no open digits", start)
        return number.value

    def name(self, what: str) -> str:
        """`a.b[0].c`."""
        parts = self.take("name", what) + self._index()
        while self.sign("."):
            parts += "." + self.take("name", "a name") + self._index()
        return parts

    def _index(self) -> str:
        if not self.sign("["):
            return ""
        index = self.take("number", "an index")
        self.need("]")
        return f"[{index}]"

    def end(self) -> None:
        if self.peek() != "end":
            self.take("end", "the end of the line")


def read(text: str, path: Path | str = "test") -> list[Statement]:
    """Read a test.

    A comment that begins with `# queue` gives the next packet its queue signals: `# queue now_ns=9000 sojourn_ns=5000
    enq_qdepth=3 deq_qdepth=2`. A signal that is left out is 0. Other readers of STF see only a comment.
    """
    return list(_statements(text, path))


def read_file(path: Path) -> list[Statement]:
    """Read a test from a file."""
    try:
        return read(path.read_text(encoding="utf-8"), path)
    except UnicodeDecodeError as error:
        raise BadInput(f"{path} is not text (byte {error.start})") from error


def _statements(text: str, path: Path | str) -> Iterator[Statement]:
    queue: dict[str, int] = {}
    for number, content in enumerate(text.splitlines(), 1):
        line = _Line(path, number, content)
        if re.match(r"\s*#\s*queue\s+\w+=", content):
            queue = _queue(line)
        elif line.peek() != "end":
            statement = _statement(line, queue)
            if isinstance(statement, Packet):
                queue = {}
            yield statement


def _queue(line: _Line) -> dict[str, int]:
    signals = {}
    for found in re.finditer(r"\S+", line.text.partition("queue")[2]):
        name, _, value = found[0].partition("=")
        column = found.start() + len(line.text) - len(line.text.partition("queue")[2])
        if name not in QUEUE_SIGNALS:
            line.fail(f"`{name}` is not a queue signal; the signals are {', '.join(QUEUE_SIGNALS)}", column)
        if not value.isdecimal():
            line.fail(f"`{name}` needs a whole number, as in `{name}=3`", column)
        signals[name] = int(value)
    return signals


def _statement(line: _Line, queue: dict[str, int]) -> Statement:
    line.skip()
    start = line.at
    word = line.take("name", "a statement").lower()
    if word == "packet":
        return _packet(line, queue)
    if word == "expect":
        return _expect(line)
    if word in FORMS:
        return Command(line.number, word, tuple(_words(line, FORMS[word].split())))
    reader = _READERS.get(word)
    if reader is None:
        known = ", ".join(sorted([*_READERS, "packet", "expect"]))
        line.fail(f"`{word}` is not a statement; the statements are {known}, and commands of simple_switch_CLI", start)
    statement = reader(line)
    line.end()
    return statement


def _data(line: _Line, wild: str) -> tuple[int, str, int]:
    """Port, digits, and where the digits begin: packet data has no comments."""
    port = line.integer("a port")
    start = line.at
    bad = re.search(rf"[^0-9a-fA-F\s{wild}]", line.text[start:])
    if bad:
        line.fail(f"`{bad[0]}` is not a hexadecimal digit", start + bad.start())
    return port, "".join(line.text[start:].split()).lower(), start


def _packet(line: _Line, queue: dict[str, int]) -> Packet:
    port, digits, start = _data(line, "")
    if not digits:
        line.fail("a packet needs data", start)
    if len(digits) % 2:
        line.fail(f"{len(digits)} digits are not a whole number of bytes", start)
    return Packet(line.number, port, bytes.fromhex(digits), queue)


def _expect(line: _Line) -> Expect:
    port, digits, start = _data(line, "*$")
    body = digits.removesuffix("$")
    if "$" in body:
        line.fail("`$` marks the end and stands there", start + line.text[start:].index("$"))
    return Expect(line.number, port, body, body != digits)


def _words(line: _Line, forms: Sequence[str]) -> Iterator[str]:
    """The words of a command, in simple_switch_CLI's spelling."""
    for form in forms:
        once, least, most = form.rstrip("+*?"), 0 if form[-1] in "*?" else 1, 1 if form[-1] not in "+*" else None
        count = 0
        while count < least or (count != most and line.peek() == "number"):
            yield _word(line, once)
            count += 1
    line.end()


def _word(line: _Line, form: str) -> str:
    match form:
        case "=>":
            line.need("=>")
            return "=>"
        case "n":
            return str(line.integer("a number"))
        case "key":
            return _plain_key(line)
        case "rate":
            return _rate(line)
    return line.name(f"{'an' if form.startswith('a') else 'a'} {form.replace('_', ' ')}")


def _plain_key(line: _Line) -> str:
    value = str(line.integer("a value"))
    for sign in ("/", "&&&", "->"):
        if line.sign(sign):
            return f"{value}{sign}{line.integer('a number')}"
    return value


def _rate(line: _Line) -> str:
    rate = line.take("number", "a rate")
    if line.sign("."):
        rate += "." + line.take("number", "decimals")
    line.need(":")
    return f"{rate}:{line.integer('a burst')}"


def _add(line: _Line) -> Add:
    table = line.name("a table")
    priority = line.integer("a priority") if line.peek() == "number" else None
    keys: list[Key] = []
    while True:
        name = line.name("a key or an action")
        if not line.sign(":"):
            break
        keys.append(_key(line, name))
    call = _arguments(line, name)
    alias = line.take("name", "an alias") if line.sign("=") else None
    return Add(line.number, table, priority, tuple(keys), call, alias)


def _key(line: _Line, name: str) -> Key:
    value = line.number_word("a value")
    if line.sign("/"):
        return Key(name, value, prefix_len=line.integer("a prefix length"))
    if line.sign("&&&"):
        return Key(name, value, mask=line.number_word("a mask"))
    if line.sign(".."):
        return Key(name, value, high=line.number_word("the largest value"))
    return Key(name, value)


def _arguments(line: _Line, action: str) -> Call:
    line.need("(")
    params: list[tuple[str, Number]] = []
    while not line.sign(")"):
        if params:
            line.need(",")
        param = line.take("name", "a parameter")
        line.need(":")
        params.append((param, line.number_word("a value")))
    return Call(action, tuple(params))


def _set_default(line: _Line) -> SetDefault:
    table = line.name("a table")
    return SetDefault(line.number, table, _arguments(line, line.name("an action")))


def _remove(line: _Line) -> RemoveAll:
    start = line.at + 1
    if line.take("name", "`all`").lower() != "all":
        line.fail("only `remove all` is supported", start)
    return RemoveAll(line.number)


def _check_counter(line: _Line) -> CheckCounter:
    counter = line.name("a counter")
    line.need("(")
    cell = line.number_word() if line.peek() == "number" else line.take("name", "an index or an alias")
    line.need(")")
    if line.peek() == "end":
        return CheckCounter(line.number, counter, cell)
    line.skip()
    start = line.at
    unit = line.take("name", "`packets` or `bytes`").lower()
    if unit not in {"packets", "bytes"}:
        line.fail(f"expected `packets` or `bytes`, found `{unit}`", start)
    line.skip()
    start = line.at
    operator = line.take("sign", "a comparison")
    if operator not in {"==", "!=", "<", "<=", ">", ">="}:
        line.fail(f"`{operator}` is not a comparison", start)
    return CheckCounter(line.number, counter, cell, unit, operator, line.integer("a count"))


_READERS: dict[str, Callable[[_Line], Statement]] = {
    "add": _add,
    "setdefault": _set_default,
    "remove": _remove,
    "wait": lambda line: Wait(line.number),
    "no_packet": lambda line: NoPacket(line.number),
    "check_counter": _check_counter,
}
