# SPDX-License-Identifier: MIT OR Apache-2.0
"""Multicast groups, clone sessions, and packets between switch and controller."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from marklab.p4runtime.messages import p4runtime_pb2
from p4runtime_server.controller import CPU_PORT, FEATURES, Client, Switch, colour, entity, probe


def group(number: int, *replicas: tuple[int, int], kind: str = "multicast_group", more: str = "") -> Any:
    """A multicast group or a clone session with ports and instances."""
    name = "multicast_group_id" if kind == "multicast_group" else "session_id"
    listed = " ".join(f"replicas {{ egress_port: {port} instance: {rid} }}" for port, rid in replicas)
    return entity("packet_replication_engine_entry", f"{kind}_entry {{ {name}: {number} {listed} {more} }}")


def session(number: int, *replicas: tuple[int, int], more: str = "") -> Any:
    return group(number, *replicas, kind="clone_session", more=more)


def through(switch: Switch, client: Client, action: str, number: int) -> Callable[[], list[tuple[int, int]]]:
    """Flood or mirror all packets. Returns a function that sends one and gives ports and instances of its copies."""
    text = f"table_id: {switch.id('tables', 'routes')} action {{ action {{ action_id: {switch.id('actions', action)} "
    client.write("INSERT", entity("table_entry", text + f'params {{ param_id: 1 value: "\\x{number:02x}" }} }} }}'))
    return lambda: [(port, colour(frame)) for port, frame in switch.sent(probe(0))]


def test_a_multicast_group_copies(switch: Switch, client: Client) -> None:
    copies = through(switch, client, "flood", 9)
    assert copies() == []
    one = group(9, (5, 1), (4, 2), (5, 3), more='metadata: "m"')
    client.write("INSERT", one)
    assert copies() == [(5, 1), (4, 2), (5, 3)]
    assert client.read(group(0)) == client.read(group(9)) == [one]
    other = group(9, (6, 65535))
    client.write("MODIFY", other)
    assert (copies(), client.read(group(0))) == ([(6, 65535)], [other])
    client.write("DELETE", group(9))
    assert (copies(), client.read(group(0))) == ([], [])


def test_ports_may_be_bytes(switch: Switch, client: Client) -> None:
    copies = through(switch, client, "flood", 9)
    entry = group(9, (0, 1))
    entry.packet_replication_engine_entry.multicast_group_entry.replicas[0].port = b"\1\x2c"
    client.write("INSERT", entry)
    assert copies() == [(300, 1)]
    assert client.read(group(9)) == [entry]


def test_a_clone_session_copies(switch: Switch, client: Client) -> None:
    copies = through(switch, client, "mirror", 9)
    assert copies() == []
    # A group of the same number is a different object.
    client.write("INSERT", group(9, (1, 1)), session(9, (5, 7), (6, 8)))
    assert copies() == [(5, 7), (6, 8)]
    assert client.read(session(0)) == client.read(session(9)) == [session(9, (5, 7), (6, 8))]
    client.write("MODIFY", session(9, (4, 0)))
    assert copies() == [(4, 0)]
    client.write("DELETE", session(9))
    assert (copies(), client.read(session(0))) == ([], [])
    client.write("INSERT", session(9, (3, 0)))
    assert copies() == [(3, 0)]


def test_a_new_pipeline_removes_groups_and_sessions(switch: Switch, client: Client) -> None:
    client.write("INSERT", group(9, (5, 1)), session(9, (5, 1)))
    config = p4runtime_pb2.ForwardingPipelineConfig(p4info=switch.running.info)
    request = p4runtime_pb2.SetForwardingPipelineConfigRequest(action="VERIFY_AND_COMMIT", config=config)
    client.call("SetForwardingPipelineConfig", request)
    assert client.read(group(0), session(0)) == []
    assert through(switch, client, "flood", 9)() == []


@pytest.mark.parametrize(
    ("kind", "wrong", "code", "said"),
    [
        ("INSERT", group(0), "INVALID_ARGUMENT", "multicast group 0 is not in 1..65535"),
        ("INSERT", group(65536), "INVALID_ARGUMENT", "multicast group 65536 is not"),
        ("INSERT", session(0), "INVALID_ARGUMENT", "clone session 0 is not in 1..32767"),
        ("INSERT", session(32768), "INVALID_ARGUMENT", "clone session 32768 is not"),
        ("INSERT", group(1, (512, 0)), "INVALID_ARGUMENT", "there is no port 512; ports are 0..511"),
        ("INSERT", group(1, (1, 65536)), "INVALID_ARGUMENT", "instance 65536 is too large"),
        ("INSERT", group(1, (1, 2), (1, 2)), "INVALID_ARGUMENT", "port 1 with instance 2 is given twice"),
        ("INSERT", session(1, more="class_of_service: 1"), "UNIMPLEMENTED", "no class_of_service of clones"),
        ("INSERT", session(1, more="packet_length_bytes: 64"), "UNIMPLEMENTED", "no packet_length_bytes"),
        ("MODIFY", group(1), "NOT_FOUND", "multicast group 1 is not there; insert it"),
        ("DELETE", session(1), "NOT_FOUND", "clone session 1 is not there"),
        ("INSERT", entity("packet_replication_engine_entry", ""), "INVALID_ARGUMENT", "set multicast_group_entry or"),
    ],
)
def test_what_is_wrong_is_named(client: Client, kind: str, wrong: Any, code: str, said: str) -> None:
    found, text = client.refused(kind, wrong)
    assert (found, said in text) == (code, True), text


def test_the_largest_numbers_are_taken(client: Client) -> None:
    client.write("INSERT", group(65535, (511, 65535)), session(32767, (511, 65535)))
    assert client.refused("INSERT", group(65535))[0] == "ALREADY_EXISTS"


def metadata(**values: int) -> list[Any]:
    """Metadata of packet_out, by number."""
    return [
        p4runtime_pb2.PacketMetadata(metadata_id=int(name[1:]), value=value.to_bytes(2, "big"))
        for name, value in values.items()
    ]


def test_a_packet_out_leaves_by_the_port_that_it_names(switch: Switch, client: Client) -> None:
    client.send(packet=p4runtime_pb2.PacketOut(payload=probe(0, c=7), metadata=metadata(_1=300)))
    assert switch.cpu.frames.get(timeout=5) == (300, probe(0, c=7))


def test_a_packet_in_has_its_header_as_metadata(switch: Switch, client: Client) -> None:
    text = f"table_id: {switch.id('tables', 'routes')} action {{ action {{ "
    text += f'action_id: {switch.id("actions", "to_controller")} params {{ param_id: 1 value: "\\x55" }} }} }}'
    client.write("INSERT", entity("table_entry", text))
    switch.cpu.inject(300, probe(0, c=9))
    packet = client.answer().packet
    assert packet.payload == probe(0, c=9)
    assert [(each.metadata_id, each.value) for each in packet.metadata] == [(1, b"\1\x2c"), (2, b"\x55")]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "packet_out: field `egress_port` is missing"),
        ({"_1": 512}, "packet_out: field `egress_port`: 0x200 does not fit its 9 bits"),
        ({"_2": 1}, "packet_out has no field 2; its fields: egress_port 1"),
    ],
)
def test_a_wrong_packet_out_comes_back(client: Client, given: dict[str, int], said: str) -> None:
    packet = p4runtime_pb2.PacketOut(payload=b"x", metadata=metadata(**given))
    client.send(packet=packet)
    error = client.answer().error
    assert (error.canonical_code, error.packet_out.packet_out) == (3, packet)
    assert said in error.message


def test_only_the_primary_sends_packets(switch: Switch, client_of: Callable[..., Client]) -> None:
    client_of(switch, 5)
    backup = client_of(switch, 4)
    backup.send(packet=p4runtime_pb2.PacketOut(payload=b"x", metadata=metadata(_1=3)))
    assert backup.answer().error.canonical_code == 7


def test_without_a_cpu_port_there_are_no_packets(
    switch_of: Callable[..., Switch], client_of: Callable[..., Client]
) -> None:
    client = client_of(switch_of(FEATURES, with_cpu=False))
    client.send(packet=p4runtime_pb2.PacketOut(payload=b"x", metadata=metadata(_1=3)))
    error = client.answer().error
    assert (error.canonical_code, "--cpu-port" in error.message) == (9, True)
    assert CPU_PORT == 510


def test_other_messages_are_refused(client: Client) -> None:
    client.send(digest_ack=p4runtime_pb2.DigestListAck(digest_id=1))
    error = client.answer().error
    assert (error.canonical_code, error.digest_list_ack.digest_list_ack.digest_id) == (12, 1)
    client.send()
    assert client.answer().error.canonical_code == 3
