# SPDX-License-Identifier: MIT OR Apache-2.0
"""Table entries and default actions: effect on packets, reads, and refusals."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from marklab.p4runtime.messages import p4runtime_pb2
from marklab.p4runtime.server import Server
from marklab.paths import PROGRAMS
from p4runtime_server.controller import Client, Switch, colour, entity, probe


class Words:
    """Entries of features.p4 in short."""

    def __init__(self, switch: Switch) -> None:
        self.switch = switch

    def entry(self, table: str, match: str = "", action: str = "", more: str = "") -> Any:
        """`match` as in `1 exact value:"\\001"`, fields separated by commas; `action` as in `send 7`."""
        text = f"table_id: {self.switch.id('tables', table)}\n{more}\n"
        for field in filter(None, match.split(",")):
            number, kind, rest = field.strip().split(" ", 2)
            text += f"match {{ field_id: {number} {kind} {{ {rest} }} }}\n"
        if action:
            name, *values = action.split()
            params = "".join(
                f'params {{ param_id: {place} value: "{_escaped(int(value))}" }}'
                for place, value in enumerate(values, 1)
            )
            text += f"action {{ action {{ action_id: {self.switch.id('actions', name)} {params} }} }}"
        return entity("table_entry", text)


def _escaped(value: int) -> str:
    string = value.to_bytes(max(1, (value.bit_length() + 7) // 8), "big")
    return "".join(f"\\x{byte:02x}" for byte in string)


@pytest.fixture
def words(switch: Switch) -> Words:
    return Words(switch)


def test_an_entry_comes_and_goes(switch: Switch, client: Client, words: Words) -> None:
    route = '1 lpm value:"\\x0a\\x00\\x00\\x00" prefix_len:8'
    packet = probe(0, c=0x0A010203)
    assert switch.ports(packet) == []
    entry = words.entry("routes", route, "send 7", 'controller_metadata: 5 metadata: "x"')
    client.write("INSERT", entry)
    assert switch.ports(packet) == [7]
    assert client.read(words.entry("routes")) == [entry]
    other = words.entry("routes", route, "send 300")
    client.write("MODIFY", other)
    assert switch.ports(packet) == [300]
    assert client.read(words.entry("routes")) == [other]
    # A deletion ignores everything but the key.
    client.write("DELETE", words.entry("routes", route, "", 'metadata: "y"'))
    assert (switch.ports(packet), client.read(words.entry("routes"))) == ([], [])


def test_a_modification_without_action_leaves_the_action(switch: Switch, client: Client, words: Words) -> None:
    route = '1 lpm value:"\\x0a\\x00\\x00\\x00" prefix_len:8'
    client.write("INSERT", words.entry("routes", route, "send 7"))
    client.write("MODIFY", words.entry("routes", route, "", 'metadata: "new"'))
    assert client.read(words.entry("routes")) == [words.entry("routes", route, "send 7", 'metadata: "new"')]
    assert switch.ports(probe(0, c=0x0A000000)) == [7]


def test_what_is_read_is_canonical(client: Client, words: Words) -> None:
    padded = words.entry("routes", '1 lpm value:"\\x00\\x00\\x00\\x0a\\x00\\x00\\x00" prefix_len:8', "send 7")
    padded.table_entry.action.action.params[0].value = b"\0\0\7"
    client.write("INSERT", padded)
    (found,) = client.read(words.entry("routes"))
    assert found.table_entry.match[0].lpm.value == b"\x0a\0\0\0"
    assert found.table_entry.action.action.params[0].value == b"\7"


def test_the_largest_priority_wins(switch: Switch, client: Client, words: Words) -> None:
    drop = words.entry("rules", "", "drop", "priority: 1")
    some = words.entry("rules", '2 range low:"\\x05" high:"\\x09"', "pace_to 2", "priority: 20")
    exact = words.entry(
        "rules", '1 ternary value:"\\x01" mask:"\\x0f",3 optional value:"\\x07"', "pace_to 3", "priority: 21"
    )
    last = words.entry("rules", '1 ternary value:"\\x01" mask:"\\x0f"', "pace_to 4", f"priority: {2**31 - 1}")
    client.write("INSERT", drop, some, exact)
    packets = {
        "below": probe(1, a=0x11, b=4, c=8),
        "low": probe(1, a=0x12, b=5, c=7),
        "high": probe(1, a=0x12, b=9, c=7),
        "above": probe(1, a=0x12, b=10, c=7),
        "both": probe(1, a=0x11, b=5, c=7),
    }
    seen = {name: switch.ports(packet) for name, packet in packets.items()}
    assert seen == {"below": [], "low": [2], "high": [2], "above": [], "both": [3]}
    client.write("INSERT", last)
    assert switch.ports(packets["both"]) == [4]
    assert client.read(words.entry("rules")) == [drop, some, exact, last]


def test_entries_with_one_key_are_told_apart_by_priority(client: Client, words: Words) -> None:
    one, two = (words.entry("rules", '3 optional value:"\\x07"', "drop", f"priority: {n}") for n in (1, 2))
    client.write("INSERT", one, two)
    assert client.read(words.entry("rules", more="priority: 2")) == [two]
    assert client.read(words.entry("rules", '3 optional value:"\\x07"')) == [one, two]
    client.write("DELETE", one)
    assert client.read(words.entry("rules")) == [two]


def test_reads_select(client: Client, words: Words) -> None:
    ten = words.entry("routes", '1 lpm value:"\\x0a\\x00\\x00\\x00" prefix_len:8', "send 7", "controller_metadata: 1")
    any_ = words.entry("routes", "", "flood 9", 'metadata: "m"')
    rule = words.entry("rules", "", "drop", "priority: 3")
    client.write("INSERT", ten, any_, rule)
    everything = client.read(entity("table_entry", ""))
    of_the_program = [each for each in everything if each not in (ten, any_, rule)]
    assert len(everything) == 3 + len(of_the_program) == 3 + 4
    assert client.read(words.entry("routes", '1 lpm value:"\\x0a\\x00\\x00\\x00" prefix_len:8')) == [ten]
    assert client.read(words.entry("routes", '1 lpm value:"\\x0a\\x00\\x00\\x00" prefix_len:9')) == []
    assert client.read(words.entry("routes", more="controller_metadata: 1")) == [ten]
    assert client.read(words.entry("routes", more='metadata: "m"')) == [any_]
    by_action = words.entry("routes", action="flood")
    assert client.read(by_action) == [any_]


def test_default_actions_are_set_and_reset(switch: Switch, client: Client, words: Words) -> None:
    initial = words.entry("keyless", "", "send 31", "is_default_action: true")
    wanted = words.entry("keyless", "", "", "is_default_action: true")
    assert (client.read(wanted), switch.ports(probe(6))) == ([initial], [31])
    other = words.entry("keyless", "", "send 32", 'is_default_action: true metadata: "d"')
    client.write("MODIFY", other)
    assert (client.read(wanted), switch.ports(probe(6))) == ([other], [32])
    client.write("MODIFY", wanted)
    assert (client.read(wanted), switch.ports(probe(6))) == ([initial], [31])
    defaults = client.read(entity("table_entry", "is_default_action: true"))
    assert len(defaults) == len(switch.running.info.tables)


def test_entries_of_the_program_are_read_and_stay(switch: Switch, client: Client, words: Words) -> None:
    assert [switch.ports(probe(4, a=a)) for a in (1, 2, 3)] == [[11], [12], []]
    assert [switch.ports(probe(5, a=a)) for a in (1, 2, 3, 4)] == [[21], [22], [22], []]
    fixed = client.read(words.entry("fixed"))
    assert fixed == [
        words.entry("fixed", f'1 exact value:"\\x0{n}"', f"send {10 + n}", "is_const: true") for n in (1, 2)
    ]
    preset = client.read(words.entry("preset"))
    assert [(each.table_entry.priority, each.table_entry.is_const) for each in preset] == [(2, True), (1, False)]
    one = words.entry("fixed", '1 exact value:"\\x01"', "send 5")
    for kind in ("INSERT", "MODIFY", "DELETE"):
        code, text = client.refused(kind, one)
        assert (code, "`FeaturesIngress.fixed` has const entries" in text) == ("PERMISSION_DENIED", True)
    code, text = client.refused(
        "INSERT", words.entry("preset", '1 ternary value:"\\x08" mask:"\\x08"', "drop", "priority: 5")
    )
    assert (code, "leave out `entries` in the program" in text) == ("UNIMPLEMENTED", True)


def test_a_new_pipeline_clears_entries_and_a_reconciled_one_keeps_them(
    switch: Switch, client: Client, words: Words
) -> None:
    entry = words.entry("routes", "", "send 7")
    default = words.entry("keyless", "", "send 32", "is_default_action: true")
    client.write("INSERT", entry)
    client.write("MODIFY", default)
    config = p4runtime_pb2.ForwardingPipelineConfig(p4info=switch.running.info)
    for action, ports in (("VERIFY", [7, 32]), ("RECONCILE_AND_COMMIT", [7, 32]), ("VERIFY_AND_COMMIT", [31])):
        request = p4runtime_pb2.SetForwardingPipelineConfigRequest(action=action, config=config)
        client.call("SetForwardingPipelineConfig", request)
        assert switch.ports(probe(0)) + switch.ports(probe(6)) == ports
    assert client.read(words.entry("routes")) == []
    # And the table can be filled again.
    client.write("INSERT", entry)


def test_a_table_has_as_many_entries_as_it_says(client: Client, words: Words) -> None:
    entries = [
        words.entry("routes", f'1 lpm value:"\\x0{n}\\x00\\x00\\x00" prefix_len:8', "send 7") for n in range(1, 6)
    ]
    client.write("INSERT", *entries[:4])
    code, text = client.refused("INSERT", entries[4])
    assert (code, text) == (
        "RESOURCE_EXHAUSTED",
        "table `FeaturesIngress.routes` has its 4 entries; enlarge its `size`, or delete entries",
    )
    client.write("DELETE", entries[0])
    client.write("INSERT", entries[4])


def test_direct_counters_count_and_are_set(switch: Switch, client: Client, words: Words) -> None:
    client.write("INSERT", words.entry("routes", "", "send 7", "counter_data { packet_count: 100 byte_count: 1000 }"))
    switch.sent(probe(0))
    data = p4runtime_pb2.CounterData(packet_count=101, byte_count=1000 + len(probe(0)))
    (read,) = client.read(words.entry("routes", more="counter_data { }"))
    assert read.table_entry.counter_data == data
    (read,) = client.read(words.entry("routes"))
    assert not read.table_entry.HasField("counter_data")
    table = switch.id("tables", "routes")
    wanted = entity("direct_counter_entry", f"table_entry {{ table_id: {table} }}")
    assert [each.direct_counter_entry.data for each in client.read(wanted)] == [data]
    assert client.read(entity("direct_counter_entry", "table_entry { }")) == client.read(wanted)
    client.write("MODIFY", entity("direct_counter_entry", f"table_entry {{ table_id: {table} }} data {{ }}"))
    switch.sent(probe(0))
    (read,) = client.read(wanted)
    assert read.direct_counter_entry.data == p4runtime_pb2.CounterData(packet_count=1, byte_count=len(probe(0)))
    # A modified entry keeps its count.
    client.write("MODIFY", words.entry("routes", "", "send 8"))
    assert client.read(wanted) == [read]


def test_direct_meters_colour(switch: Switch, client: Client, words: Words) -> None:
    config = "cir: 1 cburst: 1 pir: 1 pburst: 2"
    entry = words.entry("rules", "", "pace_to 2", f"priority: 1 meter_config {{ {config} }}")
    client.write("INSERT", entry)
    assert [colour(switch.sent(probe(1))[0][1]) for _ in range(3)] == [0, 1, 2]
    wanted = words.entry("rules", more="meter_config { }")
    assert client.read(wanted) == [entry]
    # A modification without rates removes them.
    client.write("MODIFY", words.entry("rules", "", "pace_to 2", "priority: 1"))
    assert [colour(switch.sent(probe(1))[0][1]) for _ in range(3)] == [0, 0, 0]
    key = f"table_entry {{ table_id: {switch.id('tables', 'rules')} priority: 1 }}"
    client.write("MODIFY", entity("direct_meter_entry", f"{key} config {{ {config} }}"))
    assert [colour(switch.sent(probe(1))[0][1]) for _ in range(3)] == [0, 1, 2]
    (read,) = client.read(entity("direct_meter_entry", key))
    assert read == entity("direct_meter_entry", f"{key} config {{ {config} }}")


LPM = '1 lpm value:"\\x0a\\x00\\x00\\x00" prefix_len:8'
ONE = '1 ternary value:"\\x01" mask:"\\x0f"'


@pytest.mark.parametrize(
    ("kind", "parts", "code", "said"),
    [
        ("MODIFY", ("routes", LPM, "send 7"), "NOT_FOUND", "table `FeaturesIngress.routes` has no such entry"),
        ("DELETE", ("routes", LPM), "NOT_FOUND", "has no such entry; insert it"),
        ("INSERT", ("routes", LPM), "INVALID_ARGUMENT", "its entry has no action"),
        ("INSERT", ("routes", LPM, "pace_to 7"), "INVALID_ARGUMENT", "has no action with id"),
        ("INSERT", ("routes", LPM, "drop"), "PERMISSION_DENIED", "`FeaturesIngress.drop` of table"),
        ("INSERT", ("routes", LPM, "send"), "INVALID_ARGUMENT", "parameter `port` has no value"),
        ("INSERT", ("routes", LPM, "send 1 2"), "INVALID_ARGUMENT", "has no parameter 2; its parameters: port 1"),
        ("INSERT", ("routes", LPM, "send 512"), "INVALID_ARGUMENT", "parameter `port`: 0x200 does not fit its 9 bits"),
        ("INSERT", ("routes", LPM, "send 7", "priority: 1"), "INVALID_ARGUMENT", "hence no priorities; send 0"),
        ("INSERT", ("routes", LPM, "send 7", "is_const: true"), "INVALID_ARGUMENT", "only the program"),
        ("INSERT", ("routes", LPM, "send 7", "idle_timeout_ns: 1"), "UNIMPLEMENTED", "leave idle_timeout_ns out"),
        ("INSERT", ("routes", LPM, "send 7", "counter_data { byte_count: -1 }"), "INVALID_ARGUMENT", "is negative"),
        ("INSERT", ("routes", LPM, "send 7", "meter_config {}"), "INVALID_ARGUMENT", "has no direct meter"),
        ("INSERT", ("routes", LPM, "send 7", "meter_counter_data {}"), "UNIMPLEMENTED", "colours of a meter"),
        (
            "INSERT",
            ("routes", "2 lpm prefix_len:8", "send 7"),
            "INVALID_ARGUMENT",
            "has no match field 2; its fields: c 1",
        ),
        ("INSERT", ("routes", f"{LPM},{LPM}", "send 7"), "INVALID_ARGUMENT", "match field `c` is given twice"),
        ("INSERT", ("routes", '1 exact value:"\\x01"', "send 7"), "INVALID_ARGUMENT", "`c` is lpm, and exact is given"),
        ("INSERT", ("routes", "1 lpm prefix_len:8", "send 7"), "INVALID_ARGUMENT", "`c`: the value is empty"),
        ("INSERT", ("routes", '1 lpm value:"\\x00" prefix_len:0', "send 7"), "INVALID_ARGUMENT", "leave the field out"),
        ("INSERT", ("routes", '1 lpm value:"\\x00" prefix_len:33', "send 7"), "INVALID_ARGUMENT", "not in 1..32"),
        ("INSERT", ("routes", '1 lpm value:"\\x01" prefix_len:31', "send 7"), "INVALID_ARGUMENT", "behind its prefix"),
        ("INSERT", ("rules", ONE, "drop"), "INVALID_ARGUMENT", "give a positive one; the largest wins"),
        ("INSERT", ("rules", ONE, "drop", "priority: -1"), "INVALID_ARGUMENT", "priority -1"),
        (
            "INSERT",
            ("rules", '1 ternary value:"\\x00" mask:"\\x00"', "drop", "priority: 1"),
            "INVALID_ARGUMENT",
            "mask is 0",
        ),
        (
            "INSERT",
            ("rules", '1 ternary value:"\\x10" mask:"\\x0f"', "drop", "priority: 1"),
            "INVALID_ARGUMENT",
            "outside",
        ),
        (
            "INSERT",
            ("rules", '2 range low:"\\x02" high:"\\x01"', "drop", "priority: 1"),
            "INVALID_ARGUMENT",
            "is above high",
        ),
        (
            "INSERT",
            ("rules", '2 range low:"\\x00" high:"\\xff\\xff"', "drop", "priority: 1"),
            "INVALID_ARGUMENT",
            "all values",
        ),
        ("INSERT", ("fixed", "", "send 7"), "PERMISSION_DENIED", "has const entries"),
        ("INSERT", ("members", "", "send 7"), "INVALID_ARGUMENT", "match field `a` is exact and cannot be left out"),
        ("INSERT", ("members", '1 exact value:"\\x01"', "send 7"), "INVALID_ARGUMENT", "point to a member"),
        ("INSERT", ("keyless", "", "send 7"), "INVALID_ARGUMENT", "has no key, hence no entries"),
        ("INSERT", ("keyless", "", "send 7", "is_default_action: true"), "INVALID_ARGUMENT", "use MODIFY"),
        ("DELETE", ("keyless", "", "", "is_default_action: true"), "INVALID_ARGUMENT", "use MODIFY"),
        ("MODIFY", ("routes", LPM, "drop", "is_default_action: true"), "INVALID_ARGUMENT", "neither match fields nor"),
        ("MODIFY", ("fixed", "", "drop", "is_default_action: true"), "PERMISSION_DENIED", "default action is const"),
        ("MODIFY", ("members", "", "", "is_default_action: true"), "PERMISSION_DENIED", "with an action profile"),
        ("MODIFY", ("routes", "", "NoAction", "is_default_action: true"), "PERMISSION_DENIED", "is for entries only"),
        (
            "MODIFY",
            ("keyless", "", "send 1", "is_default_action: true counter_data {}"),
            "UNIMPLEMENTED",
            "neither counted",
        ),
    ],
)
def test_what_is_wrong_is_named(
    client: Client, words: Words, kind: str, parts: tuple[str, ...], code: str, said: str
) -> None:
    found, text = client.refused(kind, words.entry(*parts))
    assert found == code
    assert said in text


def test_an_entry_is_inserted_once(client: Client, words: Words) -> None:
    client.write("INSERT", words.entry("routes", LPM, "send 7"))
    code, text = client.refused("INSERT", words.entry("routes", LPM, "send 8"))
    assert (code, text) == (
        "ALREADY_EXISTS",
        "table `FeaturesIngress.routes` has an entry with this key; modify it",
    )


@pytest.mark.parametrize("kind", ["INSERT", "DELETE"])
def test_direct_resources_are_only_modified(switch: Switch, client: Client, kind: str) -> None:
    for name in ("direct_counter_entry", "direct_meter_entry"):
        assert client.refused(kind, entity(name, ""))[0] == "INVALID_ARGUMENT"
    wrong = entity("direct_counter_entry", f"table_entry {{ table_id: {switch.id('tables', 'rules')} priority: 1 }}")
    assert client.refused("MODIFY", wrong)[0] == "NOT_FOUND"


@pytest.mark.parametrize("program", sorted(PROGRAMS.glob("*.p4")), ids=lambda path: path.stem)
def test_every_scheme_is_served(
    switch_of: Callable[..., Switch], client_of: Callable[..., Client], program: Path
) -> None:
    switch = switch_of(program)
    client = client_of(switch)
    defaults = client.read(entity("table_entry", "is_default_action: true"))
    initial = {table.preamble.id: table.initial_default_action for table in switch.running.info.tables}
    assert {each.table_entry.table_id: each.table_entry.action.action.action_id for each in defaults} == {
        number: action.action_id for number, action in initial.items()
    }
    assert client.read(entity("table_entry", "")) == []
    forward = next(each for each in switch.running.info.actions if each.preamble.name.endswith(".forward"))
    params = " ".join(f'params {{ param_id: {param.id} value: "\\x03" }}' for param in forward.params)
    route = 'match { field_id: 1 lpm { value: "\\x0a\\0\\0\\0" prefix_len: 8 } }'
    action = f"action {{ action {{ action_id: {forward.preamble.id} {params} }} }}"
    entry = entity("table_entry", f"table_id: {switch.id('tables', 'ipv4_lpm')} {route} {action}")
    client.write("INSERT", entry)
    assert client.read(entity("table_entry", "")) == [entry]


def test_a_server_takes_over_a_switch(switch: Switch) -> None:
    send = {"action": "FeaturesIngress.send", "params": {"port": 40}}
    for entry in ({"table": "FeaturesIngress.keyless"}, {"table": "FeaturesIngress.routes", "match": {}}):
        switch.harness.add_entry(json.dumps(entry | send))
    assert switch.ports(probe(0)) + switch.ports(probe(6)) == [40, 40]
    with Server(switch.running, switch.harness, address="127.0.0.1:0"):
        assert switch.ports(probe(0)) + switch.ports(probe(6)) == [31]
