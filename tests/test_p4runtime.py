# SPDX-License-Identifier: MIT OR Apache-2.0
"""P4Info and entries are p4c's: ids, names, types, and what is refused.

The texts in `tests/p4info` are reviewed output. If `P4C_CHECKOUT` names a checkout of p4c, p4c's are compared, too.
"""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import Finished
from marklab import p4runtime
from marklab.engine import binding as engine
from marklab.errors import BadInput
from marklab.p4runtime import entries, files, ids, p4info
from marklab.p4runtime.ids import Kind, Symbols
from marklab.p4runtime.messages import json_format, p4info_pb2, p4runtime_pb2, text_format
from marklab.paths import PROGRAMS

REVIEWED = Path(__file__).parent / "p4info"
OBJECTS, ENTRIES = REVIEWED / "objects.p4", REVIEWED / "entries.p4"

# Programs for which p4c violates its own rules.
DIFFERENT_IN_P4C = {
    "issue2735-bmv2.p4": "p4c drops an unused register if its type is named by a typedef",
}


def built(path: Path) -> tuple[Any, Any]:
    """P4Info and entries of a program."""
    described, _ = engine.describe_control_plane(path)
    info, program = p4info.build(described)
    return info, entries.build(program)


def parsed(path: Path, message: Any) -> Any:
    return text_format.Parse(path.read_text(), message)


@pytest.mark.parametrize(
    "program",
    [OBJECTS, ENTRIES, *(PROGRAMS / f"{name}.p4" for name in ("dctcp-red", "ecn-sharp", "pi", "rem"))],
    ids=lambda path: path.stem,
)
def test_p4info_is_as_reviewed(program: Path) -> None:
    info, _ = built(program)
    assert text_format.MessageToString(info) == text_format.MessageToString(
        parsed(REVIEWED / f"{program.stem}.txtpb", p4info_pb2.P4Info())
    )


def test_entries_are_as_reviewed() -> None:
    _, request = built(ENTRIES)
    assert text_format.MessageToString(request) == text_format.MessageToString(
        parsed(REVIEWED / "entries.entries.txtpb", p4runtime_pb2.WriteRequest())
    )


@pytest.mark.parametrize("program", [ENTRIES, *sorted(PROGRAMS.glob("*.p4"))], ids=lambda path: path.stem)
def test_the_engine_has_the_tables_of_p4info_by_the_same_names(program: Path) -> None:
    info, _ = built(program)
    running = engine.describe(engine.compile_program(program))
    assert {table["name"] for table in running["tables"]} == {table.preamble.name for table in info.tables}


@pytest.mark.parametrize(
    ("kind", "name", "id_"), [(Kind.ACTION, "NoAction", 21257015), (Kind.TABLE, "ingress.custom_table", 42499711)]
)
def test_ids_are_those_of_p4c(kind: Kind, name: str, id_: int) -> None:
    symbols = Symbols()
    symbols.add(kind, name)
    assert symbols.id(kind, name) == id_


def test_of_two_names_with_one_hash_the_later_one_moves_on() -> None:
    seen: dict[int, str] = {}
    names = iter(f"n{number}" for number in range(100_000))
    while (low := ids.jenkins(name := next(names)) & 0xFFFFFF) not in seen:
        seen[low] = name
    first, second = sorted((seen[low], name))
    symbols = Symbols()
    for each in (second, first):
        symbols.add(Kind.TABLE, each)
    assert symbols.id(Kind.TABLE, first) == Kind.TABLE << 24 | low
    assert symbols.id(Kind.TABLE, second) == Kind.TABLE << 24 | low + 1 & 0xFFFFFF


def test_an_alias_is_the_shortest_end_that_no_other_object_has() -> None:
    symbols = Symbols()
    for kind, name in ((Kind.TABLE, "a.x.t"), (Kind.ACTION, "b.x.t"), (Kind.TABLE, "a.u"), (Kind.ACTION, "a.u")):
        symbols.add(kind, name)
    assert [symbols.alias(name) for name in ("a.x.t", "b.x.t", "a.u")] == ["a.x.t", "b.x.t", "u"]


NAMES = st.lists(st.sampled_from("abc"), min_size=1, max_size=4).map(".".join)


@given(st.sets(st.tuples(st.sampled_from(Kind), NAMES)))
def test_ids_and_aliases_tell_objects_apart(objects: set[tuple[Kind, str]]) -> None:
    symbols = Symbols()
    for kind, name in objects:
        symbols.add(kind, name)
    assert len({symbols.id(*each) for each in objects}) == len(objects)
    assert all(symbols.id(kind, name) >> 24 == kind for kind, name in objects)
    names = {name for _, name in objects}
    for name in names:
        alias = symbols.alias(name)
        ending = {other for other in names if f".{other}".endswith(f".{alias}")}
        assert ending == {name} or alias == name
        shorter = alias.partition(".")[2]
        assert not shorter or len({other for other in names if f".{other}".endswith(f".{shorter}")}) > 1


@pytest.mark.parametrize(
    ("requested", "expected"),
    [([None, None], [1, 2]), ([2, None, None], [2, 3, 4]), ([None, 1, None], [2, 1, 3]), ([9, None, 3], [9, 2, 3])],
)
def test_fields_without_id_take_free_places(requested: list[int | None], expected: list[int]) -> None:
    def field(id_: int | None) -> dict[str, Any]:
        note = {"name": "id", "text": str(id_), "values": [{"number": str(id_)}], "pairs": None, "structured": False}
        return {"name": "f", "annotations": [] if id_ is None else [note]}

    assert ids.field_ids("table", [field(id_) for id_ in requested]) == expected


def test_each_form_of_a_file_holds_the_same_message(tmp_path: Path) -> None:
    described, _ = engine.describe_control_plane(OBJECTS)
    paths = [tmp_path / f"o.{ending}" for ending in ("txtpb", "txt", "bin", "json")]
    assert p4runtime.write(described, paths, []) == paths
    info, _ = built(OBJECTS)
    assert parsed(paths[0], p4info_pb2.P4Info()) == parsed(paths[1], p4info_pb2.P4Info()) == info
    assert p4info_pb2.P4Info.FromString(paths[2].read_bytes()) == info
    assert json_format.Parse(paths[3].read_text(), p4info_pb2.P4Info()) == info


def test_check_writes_what_it_is_asked_for(cli: Callable[..., Finished], tmp_path: Path) -> None:
    info, request = tmp_path / "i.txtpb", tmp_path / "e.txtpb"
    done = cli("check", str(ENTRIES), "--p4info", str(info), "--p4runtime-entries", str(request))
    assert (done.code, done.err) == (0, "")
    assert [line.split()[-1] for line in done.out.splitlines()] == [str(info), str(request)]
    assert info.read_bytes() == (REVIEWED / "entries.txtpb").read_bytes()
    assert request.read_bytes() == (REVIEWED / "entries.entries.txtpb").read_bytes()


def test_an_unknown_ending_is_refused_before_anything_is_written(cli: Callable[..., Finished], tmp_path: Path) -> None:
    done = cli("check", str(ENTRIES), "--p4info", str(tmp_path / "a.txtpb"), "--p4info", str(tmp_path / "b.yaml"))
    assert done.code == 2
    assert "unknown ending `.yaml`" in done.err
    assert ".txtpb" in done.err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("table prefixes", "@id(0x03000001) table prefixes", "I.prefixes: @id(50331649) is no id of tables"),
        ("table prefixes", '@id("one") table prefixes', "@id needs a number"),
        ("@id(7) bool", "@id(0) bool", "I.a: @id(0) of flag is zero or used twice"),
        ("bit<9> port, @id(7)", "@id(7) bit<9> port, @id(7)", "I.a: @id(7) of flag is zero or used twice"),
        (
            "struct meta_t",
            '@controller_header("x") header a_t {} @controller_header("x") header b_t {} struct meta_t',
            "several controller packet metadata are named x",
        ),
        ("actions = { a; }", "actions = { a; @tableonly @defaultonly NoAction; }", "both @tableonly and @defaultonly"),
    ],
)
def test_what_has_no_form_is_refused(tmp_path: Path, old: str, new: str, message: str) -> None:
    text = ENTRIES.read_text()
    assert old in text
    path = tmp_path / "p.p4"
    path.write_text(text.replace(old, new, 1))
    with pytest.raises(BadInput) as refused:
        built(path)
    assert message in str(refused.value)


def test_an_object_made_in_a_table_needs_a_name(tmp_path: Path) -> None:
    path = tmp_path / "p.p4"
    made = "counters = direct_counter(CounterType.packets);"
    text = ENTRIES.read_text()
    path.write_text(text.replace("table prefixes {", f'table prefixes {{ @name("hits") {made}'))
    (counter,) = built(path)[0].direct_counters
    assert counter.preamble.name == "hits"
    path.write_text(text.replace("table prefixes {", f"table prefixes {{ {made}"))
    with pytest.raises(BadInput, match=r"I\.prefixes: its counters has no name that a control plane could use"):
        built(path)


def test_what_a_profile_cannot_heed_is_said(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "p.p4"
    text = OBJECTS.read_text()
    path.write_text(text.replace("action_profile(32)", "@max_group_size(3) action_profile(32)"))
    assert [profile.max_group_size for profile in built(path)[0].action_profiles] == [0, 16]
    assert caplog.messages == ["I.members has no selector: @max_group_size is ignored"]


@pytest.mark.needs("P4C_CHECKOUT")
def test_p4cs_own_programs_give_p4cs_p4info(capsys: pytest.CaptureFixture[str]) -> None:
    samples = Path(os.environ["P4C_CHECKOUT"]) / "testdata" / "p4_16_samples"
    different, uncompiled, equal = [], [], 0
    for golden in sorted((samples.parent / "p4_16_samples_outputs").glob("*.p4.p4info.txtpb")):
        arch = parsed(golden, p4info_pb2.P4Info()).pkg_info.arch
        name = golden.name.removesuffix(".p4info.txtpb")
        if arch != p4info.ARCHITECTURE or not (samples / name).exists():
            continue
        try:
            info, request = built(samples / name)
        except BadInput as refused:
            uncompiled.append(f"{name}: {str(refused).splitlines()[1]}")
            continue
        text = files.form(golden)
        expected = golden.read_bytes(), golden.with_name(f"{name}.entries.txtpb").read_bytes()
        if (text(info), text(request)) == expected:
            equal += 1
        else:
            different.append(name)
    with capsys.disabled():
        print(f"\np4c's P4Info: {equal} equal, {len(different)} different, {len(uncompiled)} not compiled")  # noqa: T201
        for line in uncompiled:
            print(f"  {line}")  # noqa: T201
    assert set(different) == set(DIFFERENT_IN_P4C)
    assert equal > 400
