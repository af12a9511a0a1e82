# SPDX-License-Identifier: MIT OR Apache-2.0
"""Meters, action profiles and value sets, as the control plane changes them (`engine/bindings/src/objects.rs`)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from marklab import _engine

# A packet goes to port 1 if its byte is in the value set, and otherwise to the port that the profile chooses.
SOURCE = """
#include <core.p4>
#include <v1model.p4>
header h_t { bit<8> a; }
struct headers { h_t h; }
struct metadata { bit<2> colour; bit<1> chosen; }
parser P(packet_in packet, out headers hdr, inout metadata meta, inout standard_metadata_t standard_metadata) {
    value_set<bit<8>>(4) chosen;
    state start { packet.extract(hdr.h); transition select(hdr.h.a) { chosen : choose; default : accept; } }
    state choose { meta.chosen = 1; transition accept; }
}
control V(inout headers hdr, inout metadata meta) { apply { } }
control I(inout headers hdr, inout metadata meta, inout standard_metadata_t standard_metadata) {
    meter(2, MeterType.packets) m;
    action_selector(HashAlgorithm.crc16, 32w8, 32w8) s;
    action forward(bit<9> port) { standard_metadata.egress_spec = port; }
    table t { key = { hdr.h.a : exact; hdr.h.a : selector; } actions = { forward; } implementation = s; }
    apply {
        m.execute_meter(32w0, meta.colour);
        if (meta.chosen == 1) { standard_metadata.egress_spec = 1; } else { t.apply(); }
    }
}
control E(inout headers hdr, inout metadata meta, inout standard_metadata_t standard_metadata) { apply { } }
control C(inout headers hdr, inout metadata meta) { apply { } }
control D(packet_out packet, in headers hdr) { apply { packet.emit(hdr.h); } }
V1Switch(P(), V(), I(), E(), C(), D()) main;
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Any:
    path = tmp_path_factory.mktemp("objects") / "objects.p4"
    path.write_text(SOURCE)
    return _engine.Program(path)


@pytest.fixture
def harness(program: Any) -> Any:
    return _engine.Harness(program)


def perform(harness: Any, name: str, **arguments: object) -> Any:
    return json.loads(harness.control(json.dumps({name: arguments})))


def port_of(harness: Any, value: int) -> int:
    return int(harness.process(0, bytes([value]))[0])


def test_meters_are_read_as_they_were_set(harness: Any) -> None:
    def rates(index: int) -> Any:
        return perform(harness, "get_meter_rates", meter="m", index=index)

    assert rates(0) is None
    assert perform(harness, "set_all_meter_rates", meter="m", committed=[0.5, 4], peak=[1.0, 9]) is None
    assert perform(harness, "set_meter_rates", meter="I.m", index=1, committed=[0.0, 0], peak=[0.25, 1]) is None
    assert rates(0) == [[0.5, 4], [1.0, 9]]
    assert rates(1) == [[0.0, 0], [0.25, 1]]
    perform(harness, "clear_meter_rates", meter="m", index=1)
    assert rates(1) is None
    with pytest.raises(_engine.EngineError, match=r"meter `I\.m` has no cell 2"):
        rates(2)


def test_members_and_groups_come_and_go(harness: Any) -> None:
    def add_entry(value: int, call: str) -> int:
        entry = {"table": "t", "match": {"hdr.h.a": {"exact": value}}, "action": call, "params": {"id": 0}}
        return int(harness.add_entry(json.dumps(entry)))

    member = {"profile": "s", "action": "forward"}
    assert perform(harness, "add_member", **member, params={"port": 2}) == 0
    assert perform(harness, "add_member", **member, params={"port": 5}) == 1
    assert perform(harness, "add_group", profile="s") == 0
    pair = {"profile": "s", "member": 1, "group": 0}
    assert perform(harness, "add_to_group", **pair) is None
    to_member, to_group = add_entry(7, "member"), add_entry(8, "group")
    assert [port_of(harness, value) for value in (7, 8)] == [2, 5]
    with pytest.raises(_engine.EngineError):
        perform(harness, "delete_member", profile="s", member=1)
    assert perform(harness, "modify_member", **member, member=0, params={"port": 3}) is None
    assert [port_of(harness, value) for value in (7, 8)] == [3, 5]
    for handle in (to_member, to_group):
        harness.delete_entry("t", handle)
    assert perform(harness, "remove_from_group", **pair) is None
    assert perform(harness, "delete_member", profile="s", member=1) is None
    assert perform(harness, "delete_group", profile="s", group=0) is None
    with pytest.raises(_engine.EngineError, match="group 0"):
        perform(harness, "delete_group", profile="s", group=0)
    assert perform(harness, "add_member", **member, params={"port": 9}) == 1, "the lowest free number"


def test_values_come_and_go(harness: Any) -> None:
    def change(what: str, value: object) -> None:
        assert perform(harness, what, set="chosen", value=[value]) is None

    def chosen() -> list[int]:
        return [value for value in range(6, 11) if port_of(harness, value) == 1]

    assert chosen() == []
    change("insert_value", {"exact": 7})
    change("insert_value", {"range": [8, 9]})
    assert chosen() == [7, 8, 9]
    change("remove_value", {"exact": 7})
    assert chosen() == [8, 9]
    assert perform(harness, "clear_values", set="chosen") is None
    assert chosen() == []


def test_what_is_not_an_operation_is_refused(harness: Any) -> None:
    for name, arguments, said in (
        ("reset_meter", {"meter": "m"}, "unknown variant `reset_meter`"),
        ("add_group", {"profile": "s", "size": 3}, "unknown field `size`"),
        ("add_group", {"profile": "x"}, r"the program has no action profile `x`; it has I\.s"),
    ):
        with pytest.raises(_engine.EngineError, match=said):
            perform(harness, name, **arguments)
