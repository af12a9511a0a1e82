# SPDX-License-Identifier: MIT OR Apache-2.0
"""A whole switch in Python: every frame that leaves, and a control plane that changes between packets."""

from __future__ import annotations

import json
import zlib
from pathlib import Path
from typing import Any

import pytest

from marklab import _engine

DETOURS = Path(__file__).parents[1] / "engine/switch/tests/programs/detours.p4"
# Bits of the program's requests.
CLONE, RESUBMIT, DIGEST, MULTICAST, FAIL, ENDLESS = 1, 2, 4, 8, 64, 128

# A switch with a single header; tests replace FIELDS and INGRESS.
SWITCH = """
#include <core.p4>
#include <v1model.p4>
header h_t { FIELDS }
struct headers_t { h_t h; }
struct metadata_t { }
parser P(packet_in p, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    state start { p.extract(hdr.h); transition accept; }
}
control V(inout headers_t hdr, inout metadata_t meta) { apply { } }
control I(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    INGRESS
}
control E(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) { apply { } }
control C(inout headers_t hdr, inout metadata_t meta) { apply { } }
control D(packet_out p, in headers_t hdr) { apply { p.emit(hdr.h); } }
V1Switch(P(), V(), I(), E(), C(), D()) main;
"""

TABLES = SWITCH.replace("FIELDS", "bit<8> key; bit<8> value; bit<128> wide;").replace(
    "INGRESS",
    """
    direct_counter(CounterType.packets) hits;
    counter(4, CounterType.packets_and_bytes) packets;
    register<bit<128>>(2) kept;
    action give(bit<8> value) { hdr.h.value = value; }
    table t {
        key = { hdr.h.key: exact @name("key"); }
        actions = { give; }
        default_action = give(0);
        counters = hits;
    }
    apply {
        t.apply();
        packets.count(1);
        kept.read(hdr.h.wide, 1);
        kept.write(1, hdr.h.wide + 1);
    }
""",
)

HASH = SWITCH.replace("FIELDS", "bit<128> data; bit<32> hash;").replace(
    "INGRESS",
    "apply { hash(hdr.h.hash, HashAlgorithm.crc32, 32w0, { (bit<WIDTH>)hdr.h.data }, 33w0x100000000); }",
)


@pytest.mark.parametrize("width", [1, 7, 8, 9, 56, 57, 63, 64, 65, 120, 121, 127])
def test_all_bits_of_a_hash_are_looked_at(tmp_path: Path, width: int) -> None:
    """Oracle: zlib's CRC-32 of the bits, padded with zeros to a whole byte."""
    source = tmp_path / "hash.p4"
    source.write_text(HASH.replace("WIDTH", str(width)))
    number = 0xFEDCBA98_76543210_89ABCDEF_01234567 % 2**width
    padded = number << -width % 8
    expected = zlib.crc32(padded.to_bytes(-(-width // 8), "big")).to_bytes(4, "big")
    for interpret in (True, False):
        harness = _engine.Harness(_engine.Program(source, interpret=interpret))
        _, sent, _ = harness.process(0, number.to_bytes(16, "big") + bytes(4))
        assert sent[16:20] == expected


@pytest.mark.parametrize("interpret", [False, True])
def test_an_action_need_not_read_what_its_entries_give(tmp_path: Path, interpret: bool) -> None:
    source = tmp_path / "unread.p4"
    source.write_text(
        TABLES.replace("give(bit<8> value)", "give(bit<8> value, bit<32> unread)").replace("give(0)", "give(0, 7)")
    )
    harness = _engine.Harness(_engine.Program(source, interpret=interpret))
    harness.add_entry(
        json.dumps(
            {"table": "t", "match": {"key": {"exact": 1}}, "action": "give", "params": {"value": 5, "unread": 9}}
        )
    )
    for key, value in ((1, 5), (2, 0)):
        _, sent, _ = harness.process(0, bytes([key, 0xFF]) + bytes(16))
        assert sent[:2] == bytes([key, value])


def request(ingress: int = 0, egress: int = 0, session: int = 0, group: int = 0, port: int = 0) -> bytes:
    """Ask `detours.p4` for something."""
    numbers = [number.to_bytes(2, "big") for number in (session, group, 0, 0)]
    return bytes([ingress, egress]) + b"".join(numbers) + bytes([port, 0]) + bytes(60)


@pytest.fixture(params=[True, False], ids=["interpreter", "jit"])
def harness(request: pytest.FixtureRequest) -> Any:
    return _engine.Harness(_engine.Program(DETOURS, interpret=request.param))


@pytest.fixture
def tables(tmp_path: Path) -> Any:
    program = tmp_path / "tables.p4"
    program.write_text(TABLES)
    return _engine.Harness(_engine.Program(program))


def sent_to(harness: Any, frame: bytes) -> list[int]:
    """Ports of the frames that leave."""
    return [port for port, _ in harness.inject(6, frame)]


def test_clones_follow_their_session(harness: Any) -> None:
    frame = request(CLONE, session=3)
    assert sent_to(harness, frame) == [0]
    harness.mirroring_add(3, 5)
    assert sent_to(harness, frame) == [5, 0]
    harness.mc_mgrp_create(9)
    harness.mirroring_add_mc(3, 9)
    assert sent_to(harness, frame) == [0]
    assert harness.losses == [("sent to a multicast group without ports", None)]
    harness.mc_node_associate(9, harness.mc_node_create(1, [7, 2]))
    assert sent_to(harness, frame) == [2, 7, 0]
    harness.mirroring_delete(3)
    assert sent_to(harness, frame) == [0]


def test_groups_are_changed_while_packets_come(harness: Any) -> None:
    frame = request(MULTICAST, group=9)
    harness.mc_mgrp_create(9)
    first, second = harness.mc_node_create(1, [3]), harness.mc_node_create(2, [511])
    assert (first, second) == (0, 1)
    harness.mc_node_associate(9, second)
    harness.mc_node_associate(9, first)
    assert sent_to(harness, frame) == [511, 3]
    harness.mc_node_update(first, [4, 1])
    assert sent_to(harness, frame) == [511, 1, 4]
    harness.mc_node_dissociate(9, second)
    assert sent_to(harness, frame) == [1, 4]
    harness.mc_node_destroy(first)
    assert sent_to(harness, frame) == []
    harness.mc_mgrp_destroy(9)
    with pytest.raises(_engine.EngineError, match="no multicast group 9; create it first"):
        harness.mc_node_associate(9, second)


def test_every_frame_has_its_bytes(harness: Any) -> None:
    harness.mirroring_add(3, 5)
    frame = request(CLONE, session=3)
    (clone_port, clone), (port, out) = harness.inject(6, frame, now_ns=5_000)
    assert (clone_port, port, len(clone), len(out)) == (5, 0, len(frame), len(frame))
    # The request is cleared in the original. The fields after it were not written before the clone was made.
    assert (clone[0], out[0], clone[12], out[12]) == (CLONE, 0, 0, 1)


def test_a_test_with_queue_signals_sees_one_frame(harness: Any) -> None:
    port, out, loss = harness.process(6, request(RESUBMIT), 9_000, 2_000, 7, 5)
    assert (port, loss, out[14]) == (0, None, 6)
    assert harness.process(6, request(MULTICAST, group=1))[2] == "sent to a multicast group without ports"
    harness.mirroring_add(3, 5)
    with pytest.raises(_engine.EngineError, match="`inject` returns all of them"):
        harness.process(6, request(CLONE, session=3))


def test_messages_are_taken_once(harness: Any) -> None:
    harness.inject(6, request(DIGEST, session=300))
    assert harness.digests() == [("note_t", [300, 1])]
    assert harness.log() == ["round 1 of session 300"]
    assert (harness.digests(), harness.log()) == ([], [])


def test_a_failed_assertion_is_an_error_with_its_place(harness: Any) -> None:
    line, text = next((n, t) for n, t in enumerate(DETOURS.read_text().splitlines(), 1) if "assert(" in t)
    place = rf"detours\.p4:{line}:{text.index('ask') + 1}: `assert` failed.*`ask & FAIL == 0` is false"
    with pytest.raises(_engine.EngineError, match=place):
        harness.inject(6, request(FAIL))


def test_rounds_without_end_are_an_error(harness: Any) -> None:
    with pytest.raises(_engine.EngineError, match="without end; it was given up after 4096"):
        harness.inject(6, request(RESUBMIT | ENDLESS))
    assert sent_to(harness, request()) == [0]


def test_a_port_that_cannot_be_is_refused(harness: Any) -> None:
    assert len(harness.inject(511, request())) == 1
    with pytest.raises(_engine.EngineError, match="no port 512: ports are 0 to 511"):
        harness.inject(512, request())


def test_time_does_not_go_back(harness: Any) -> None:
    """Otherwise a frame that left before it arrived would have a `deq_timedelta` of 71 minutes."""
    frame = request()
    assert harness.receive(6, frame, 5_000_000) == (0, 0)
    with pytest.raises(_engine.EngineError, match="`transmit` at 4999999 ns comes after a call at 5000000 ns"):
        harness.transmit(0, 4_999_999)
    with pytest.raises(_engine.EngineError, match="`receive` at 1000000 ns comes after a call at 5000000 ns"):
        harness.receive(6, frame, 1_000_000)
    # No frame is lost: it still waits, and leaves at the time of its arrival.
    sent, queue, found, left, sojourn_ns, _ = harness.transmit(0, 5_000_000)
    assert (len(sent), queue, found, left, sojourn_ns) == (len(frame), 0, 0, 0, 0)


def test_a_frame_alone_is_not_mixed_with_frames_that_wait(harness: Any) -> None:
    """It would leave in place of a waiting frame, at another time."""
    frame = request()
    harness.receive(6, frame, 5_000)
    for alone in (harness.inject, harness.process):
        with pytest.raises(_engine.EngineError, match=r"1 frame\(s\) of `receive` still wait.*by `transmit` first"):
            alone(6, frame)
    assert harness.transmit(0, 6_000)[4] == 1_000
    assert len(harness.inject(6, frame)) == 1


def entry(value: int, key: int | None = None) -> str:
    matches = {} if key is None else {"match": {"key": {"exact": key}}}
    return json.dumps({"table": "t", "action": "give", "params": {"value": value}} | matches)


def value(harness: Any, key: int) -> int:
    ((_, frame),) = harness.inject(0, bytes([key, 99]) + bytes(16))
    return int(frame[1])


def test_entries_and_defaults_change_while_packets_come(tables: Any) -> None:
    first = tables.add_entry(entry(10, 1))
    second = tables.add_entry(entry(20, 2))
    assert tables.add_entry(entry(5)) is None
    assert [value(tables, key) for key in (1, 2, 3, 2)] == [10, 20, 5, 20]
    assert [tables.counter("hits", handle)[0] for handle in (first, second)] == [1, 2]
    tables.modify_entry(first, entry(11))
    tables.delete_entry("t", second)
    assert [value(tables, key) for key in (1, 2)] == [11, 5]
    tables.clear_table("t")
    assert value(tables, 1) == 5
    with pytest.raises(_engine.EngineError, match="no such entry"):
        tables.delete_entry("t", first)


def test_registers_and_counters_are_read_and_written(tables: Any) -> None:
    wide = 2**128 - 1
    tables.set_register("kept", 1, wide)
    ((_, frame),) = tables.inject(0, bytes(18))
    assert (int.from_bytes(frame[2:], "big"), tables.register("kept", 1)) == (wide, 0)
    tables.set_register("kept", 0, 2**130 + 5)
    assert tables.register("kept", 0) == 5
    tables.reset_register("kept")
    assert tables.register("kept", 0) == 0
    assert tables.counter("packets", 1) == (1, 18)
    tables.set_counter("packets", 1, 7, 100)
    tables.inject(0, bytes(20))
    assert tables.counter("packets", 1) == (8, 120)
    for wrong in (lambda: tables.counter("packets", 4), lambda: tables.register("kept", 2)):
        with pytest.raises(_engine.EngineError, match="has no cell"):
            wrong()
    with pytest.raises(_engine.EngineError, match="is not a value of a register cell"):
        tables.set_register("kept", 0, -1)
