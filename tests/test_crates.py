# SPDX-License-Identifier: MIT OR Apache-2.0
"""The engine's crates: no cycles among the modules of a crate, no long functions."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from itertools import takewhile

import pytest

from marklab.paths import REPOSITORY

ENGINE = REPOSITORY / "engine"
CRATES = sorted(path.parent.name for path in ENGINE.glob("*/src"))

LONGEST_FUNCTION = 60
# A match over a closed enum, with one arm per variant.
DISPATCH = {"pipeline/src/interpreter/calls.rs call", "p4/src/lower/expr.rs expr", "bindings/src/trace.rs event"}

Module = tuple[str, ...]


def sources(crate: str) -> dict[Module, str]:
    """Text of each module of a crate by its path, without comments and tests."""
    found = {}
    root = ENGINE / crate / "src"
    for path in root.rglob("*.rs"):
        name = path.relative_to(root).with_suffix("").parts
        if name[-1] == "tests":
            continue
        text = re.split(r"#\[cfg\(test\)\]\s*mod \w+ \{", path.read_text(encoding="utf-8"))[0]
        found[() if name in (("lib",), ("main",)) else name] = re.sub(r"//[^\n]*", "", text)
    return found


def paths_of(tree: str, prefix: Module = ()) -> Iterator[Module]:
    """The paths of a `use` tree: `a::{b, c::d}` has two."""
    head, brace, rest = tree.strip().partition("{")
    prefix = (*prefix, *(part for part in re.split(r"::|\s+as\s+\w+|\s+", head) if part))
    if not brace:
        yield prefix
        return
    depth, start, inner = 0, 0, rest.rstrip().removesuffix("}")
    for place, char in enumerate(f"{inner},"):
        depth += (char == "{") - (char == "}")
        if char == "," and depth == 0:
            if inner[start:place].strip():
                yield from paths_of(inner[start:place], prefix)
            start = place + 1


def absolute(path: Module, module: Module) -> Module:
    """A path from the crate's root."""
    if path[0] == "crate":
        return path[1:]
    if path[0] == "self":
        return module + path[1:]
    ups = len(list(takewhile("super".__eq__, path)))
    return module[: len(module) - ups] + path[ups:]


def module_of(path: Module, modules: dict[Module, str], names: dict[Module, dict[str, Module]]) -> Module:
    """The module that a path leads to, through re-exports of the modules on the way."""
    for _ in range(10):
        module = max((path[:n] for n in range(len(path) + 1) if path[:n] in modules), key=len)
        beyond = path[len(module) :]
        given_on = names[module].get(beyond[0]) if beyond else None
        if given_on is None:
            return module
        path = given_on + beyond[1:]
    raise AssertionError(path)


def uses(crate: str) -> Iterator[tuple[Module, Module]]:
    """The modules that each module of a crate uses."""
    modules = sources(crate)
    names: dict[Module, dict[str, Module]] = defaultdict(dict)
    used = set()
    for module, text in modules.items():
        for public, tree in re.findall(r"^(pub(?:\([^)]*\))? )?use ([^;]*);", text, re.MULTILINE):
            for path in paths_of(tree):
                own = (*module, *path) if (*module, path[0]) in modules else None
                if path[0] in ("crate", "self", "super"):
                    own = absolute(path, module)
                if own is not None:
                    used.add((module, own))
                    if public:
                        names[module][own[-1]] = own
        for path in re.findall(r"\b(?:crate|super)(?:::\w+)+", re.sub(r"\buse [^;]*;", "", text)):
            used.add((module, absolute(tuple(path.split("::")), module)))
    return ((module, module_of(path, modules, names)) for module, path in used)


@pytest.mark.parametrize("crate", CRATES)
def test_modules_beside_each_other_have_no_cycle(crate: str) -> None:
    graphs: dict[Module, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for user, used in uses(crate):
        common = len(list(takewhile(lambda pair: pair[0] == pair[1], zip(user, used, strict=False))))
        if common < min(len(user), len(used)):
            graphs[user[:common]][user[common]].add(used[common])
    for parent, graph in graphs.items():
        try:
            TopologicalSorter(graph).prepare()
        except CycleError as error:
            pytest.fail(f"in {crate}::{'::'.join(parent)}: {' uses '.join(reversed(error.args[1]))}")


def test_the_reader_of_paths_finds_them() -> None:
    found = set(paths_of("crate::{a::{self, B}, c as d, super::e}"))
    assert found == {("crate", "a", "self"), ("crate", "a", "B"), ("crate", "c"), ("crate", "super", "e")}
    assert absolute(("super", "super", "x"), ("a", "b", "c")) == ("a", "x")
    # A check of the check: the known edges of a crate.
    assert (("arch",), ("lower",)) in set(uses("p4"))
    assert (("lower",), ("arch",)) not in set(uses("p4"))
    assert any(user[:1] == ("jit",) and used == ("state",) for user, used in uses("pipeline"))


def functions(text: str) -> Iterator[tuple[str, int]]:
    """Each function, as formatted by rustfmt, with its number of lines."""
    lines = text.splitlines()
    for start, line in enumerate(lines):
        if found := re.match(r"(\s*)(?:pub(?:\([^)]*\))? )?(?:const )?(?:unsafe )?(?:extern \"C\" )?fn (\w+)", line):
            closing = f"{found[1]}}}"
            for end in range(start, len(lines)):
                if lines[end] == closing:
                    yield found[2], end - start + 1
                    break
                if lines[end].endswith(";") and "{" not in "".join(lines[start : end + 1]):
                    break


def test_no_function_is_longer_than_sixty_lines() -> None:
    long = {
        f"{crate}/src/{'/'.join(module) or 'lib'}.rs {name}"
        for crate in CRATES
        for module, text in sources(crate).items()
        for name, lines in functions(text)
        if lines > LONGEST_FUNCTION
    }
    assert long == DISPATCH


def test_tests_are_left_out() -> None:
    assert all("#[test]" not in text for crate in CRATES for text in sources(crate).values() if text)
