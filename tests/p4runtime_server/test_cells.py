# SPDX-License-Identifier: MIT OR Apache-2.0
"""Counters, meters and registers."""

from __future__ import annotations

from typing import Any

import pytest

from marklab.p4runtime.messages import p4info_pb2, p4runtime_pb2
from marklab.p4runtime.server.cells import MAX_CELLS, cells_of
from marklab.p4runtime.server.refusal import Refusal
from p4runtime_server.controller import Client, Switch, colour, entity, probe


def cell(switch: Switch, kind: str, name: str, more: str = "") -> Any:
    """A counter, meter or register entry."""
    return entity(f"{kind}_entry", f"{kind}_id: {switch.id(f'{kind}s', name)} {more}")


def test_counters_are_read_and_set(switch: Switch, client: Client) -> None:
    switch.sent(probe(2))
    read = client.read(cell(switch, "counter", "seen"))
    # It counts packets: there are no bytes to show.
    assert [each.counter_entry.data for each in read] == [
        p4runtime_pb2.CounterData(packet_count=n) for n in (0, 0, 1, 0)
    ]
    assert client.read(entity("counter_entry", "")) == read
    assert client.read(cell(switch, "counter", "seen", "index { index: 2 }")) == [read[2]]
    client.write("MODIFY", cell(switch, "counter", "seen", "index { index: 2 } data { packet_count: 9 }"))
    switch.sent(probe(2))
    (found,) = client.read(cell(switch, "counter", "seen", "index { index: 2 }"))
    assert found.counter_entry.data.packet_count == 10
    client.write("MODIFY", cell(switch, "counter", "seen", "index { index: 2 }"))
    assert client.read(cell(switch, "counter", "seen", "index { index: 2 }")) == [found]
    client.write("MODIFY", cell(switch, "counter", "seen", "data { packet_count: 5 }"))
    assert [each.counter_entry.data.packet_count for each in client.read(entity("counter_entry", ""))] == [5] * 4


def test_meters_colour_by_their_rates(switch: Switch, client: Client) -> None:
    def colours(index: int) -> list[int]:
        return [colour(switch.sent(probe(7, a=index))[0][1]) for _ in range(3)]

    config = "config { cir: 1 cburst: 1 pir: 1 pburst: 2 }"
    assert colours(1) == [0, 0, 0]
    one = cell(switch, "meter", "limits", f"index {{ index: 1 }} {config}")
    client.write("MODIFY", one)
    assert (colours(0), colours(1)) == ([0, 0, 0], [0, 1, 2])
    assert client.read(cell(switch, "meter", "limits", "index { index: 1 }")) == [one]
    assert [each.meter_entry.HasField("config") for each in client.read(entity("meter_entry", ""))] == [
        False,
        True,
        False,
        False,
    ]
    client.write("MODIFY", cell(switch, "meter", "limits", config))
    assert (colours(0), colours(1)) == ([0, 1, 2], [0, 1, 2])
    client.write("MODIFY", cell(switch, "meter", "limits"))
    assert (colours(0), colours(1)) == ([0, 0, 0], [0, 0, 0])


def test_a_rate_is_per_second(switch: Switch, client: Client) -> None:
    """1,000 packets/s, one at a time: after 1 ms the next packet is green again."""
    client.write("MODIFY", cell(switch, "meter", "limits", "config { cir: 1000 cburst: 1 pir: 1000 pburst: 1 }"))
    green_at = {0: 0, 999_000: 2, 1_000_000: 0}
    assert {at: colour(switch.harness.inject(1, probe(7), at)[0][1]) for at in green_at} == green_at


@pytest.mark.parametrize(
    ("name", "written", "raw", "packet", "shown"),
    [
        ("notes", b"\0\x12\x34", 0x1234, 0x10203, b"\1\2\3"),
        ("notes", b"\xff" * 6, (1 << 48) - 1, 0, b"\0"),
        ("degrees", b"\x80", 0x80, 0xFF, b"\xff"),
        ("degrees", b"\xff\x80", 0x80, 0x7F, b"\x7f"),
        ("degrees", b"\xff", 0xFF, 0, b"\0"),
    ],
)
def test_registers_are_read_and_set(
    switch: Switch, client: Client, name: str, written: bytes, raw: int, packet: int, shown: bytes
) -> None:
    update = cell(switch, "register", name, "index { index: 1 }")
    update.register_entry.data.bitstring = written
    client.write("MODIFY", update)
    assert switch.harness.register(f"FeaturesIngress.{name}", 1) == raw
    # A packet uses both.
    switch.sent(probe(8, a=1, c=packet))
    (read,) = client.read(cell(switch, "register", name, "index { index: 1 }"))
    assert read.register_entry.data.bitstring == shown


def test_registers_are_read_and_set_whole(switch: Switch, client: Client) -> None:
    client.write("MODIFY", cell(switch, "register", "notes", 'data { bitstring: "\\x07" }'))
    values = [each.register_entry.data.bitstring for each in client.read(entity("register_entry", ""))]
    assert values == [b"\7"] * 4 + [b"\0"] * 2


def test_a_new_pipeline_clears_cells(switch: Switch, client: Client) -> None:
    for kind, name, value in (
        ("counter", "seen", "data { packet_count: 1 }"),
        ("meter", "limits", "config { cir: 1 cburst: 1 pir: 1 pburst: 1 }"),
        ("register", "notes", 'data { bitstring: "\\x07" }'),
    ):
        client.write("MODIFY", cell(switch, kind, name, value))
    config = p4runtime_pb2.ForwardingPipelineConfig(p4info=switch.running.info)
    request = p4runtime_pb2.SetForwardingPipelineConfigRequest(action="VERIFY_AND_COMMIT", config=config)
    client.call("SetForwardingPipelineConfig", request)
    assert {each.counter_entry.data.packet_count for each in client.read(entity("counter_entry", ""))} == {0}
    assert {each.register_entry.data.bitstring for each in client.read(entity("register_entry", ""))} == {b"\0"}
    assert not any(each.meter_entry.HasField("config") for each in client.read(entity("meter_entry", "")))
    assert [colour(switch.sent(probe(7))[0][1]) for _ in range(2)] == [0, 0]


@pytest.mark.parametrize(("kind", "name"), [("counter", "seen"), ("meter", "limits"), ("register", "notes")])
def test_cells_are_where_they_are(switch: Switch, client: Client, kind: str, name: str) -> None:
    value = 'data { bitstring: "\\x07" }' if kind == "register" else ""
    last = cell(switch, kind, name, f"index {{ index: 3 }} {value}")
    client.write("MODIFY", last)
    for update in ("INSERT", "DELETE"):
        code, text = client.refused(update, last)
        assert (code, "use MODIFY" in text) == ("INVALID_ARGUMENT", True)
    for index, code, said in (
        (4, "OUT_OF_RANGE", "has no cell 4; its cells are 0..3"),
        (-1, "INVALID_ARGUMENT", "negative"),
    ):
        found, text = client.refused("MODIFY", cell(switch, kind, name, f"index {{ index: {index} }} {value}"))
        assert (found, said in text) == (code, True)
    assert client.refused("MODIFY", entity(f"{kind}_entry", f"{kind}_id: 1"))[0] == "INVALID_ARGUMENT"


@pytest.mark.parametrize(
    ("kind", "name", "more", "code", "said"),
    [
        ("counter", "seen", "data { packet_count: -1 }", "INVALID_ARGUMENT", "packet_count -1 is negative"),
        ("counter", "seen", "data { byte_count: -1 }", "INVALID_ARGUMENT", "byte_count -1 is negative"),
        ("meter", "limits", "config { cir: 2 pir: 1 }", "INVALID_ARGUMENT", "cir 2 is above pir 1"),
        ("meter", "limits", "config { cir: -1 pir: 1 }", "INVALID_ARGUMENT", "cir -1 is negative"),
        ("meter", "limits", "config { cir: 1 pir: 1 eburst: 1 }", "UNIMPLEMENTED", "no excess burst"),
        ("meter", "limits", "counter_data { }", "UNIMPLEMENTED", "colours of a meter"),
        ("register", "notes", "", "INVALID_ARGUMENT", "holds bitstring, and nothing is given"),
        ("register", "notes", "data { bool: true }", "INVALID_ARGUMENT", "and bool is given"),
        ("register", "notes", 'data { bitstring: "" }', "OUT_OF_RANGE", "the value is empty"),
        ("register", "notes", 'data { bitstring: "\\x01\\0\\0\\0\\0\\0\\0" }', "OUT_OF_RANGE", "its 48 bits"),
        ("register", "degrees", 'data { bitstring: "\\0\\x80" }', "OUT_OF_RANGE", "128 does not fit its 8 signed bits"),
    ],
)
def test_what_is_wrong_is_named(
    switch: Switch, client: Client, kind: str, name: str, more: str, code: str, said: str
) -> None:
    found, text = client.refused("MODIFY", cell(switch, kind, name, more))
    assert (found, said in text) == (code, True), text


def test_a_request_has_so_many_cells_at_most() -> None:
    wanted = p4runtime_pb2.RegisterEntry()
    halves = [p4info_pb2.Register(size=MAX_CELLS // 2)] * 2
    assert [cells for _, cells in cells_of("register", halves, wanted)] == [range(MAX_CELLS // 2)] * 2
    with pytest.raises(Refusal, match=f"{MAX_CELLS + 1} cells are more than the {MAX_CELLS} of one request") as refused:
        cells_of("register", [*halves, p4info_pb2.Register(size=1)], wanted)
    assert refused.value.code.name == "RESOURCE_EXHAUSTED"
    wanted.index.index = MAX_CELLS
    large = p4info_pb2.Register(size=MAX_CELLS + 1)
    assert cells_of("register", [large], wanted) == [(large, range(MAX_CELLS, MAX_CELLS + 1))]
