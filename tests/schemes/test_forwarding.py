# SPDX-License-Identifier: MIT OR Apache-2.0
"""Forwarding against a router written here: prefixes, ECMP, TTL, checksum."""

from __future__ import annotations

import json
import struct
import zlib
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from frames import CE, ECT0, ECT1, NOT_ECT, TCP, UDP, Frame, mac
from hypothesis import given
from hypothesis import strategies as st
from switches import compiled

from marklab import _engine
from marklab.catalog.scheme import known_schemes

addresses = st.integers(0, 2**32 - 1)
ports = st.integers(0, 2**16 - 1)
frames = st.builds(
    Frame,
    dst=addresses,
    src=addresses,
    ecn=st.sampled_from((NOT_ECT, ECT1, ECT0, CE)),
    dscp=st.integers(0, 63),
    ttl=st.integers(2, 255),
    protocol=st.sampled_from((TCP, UDP, 1, 89)),
    src_port=ports,
    dst_port=ports,
    fragment=st.sampled_from((0, 0x4000, 0x2000, 0x2001, 0x1FFF)),
    payload=st.binary(max_size=40),
)


def forward(port: int) -> dict[str, Any]:
    return {"action": "forward", "params": {"port": port, "dst_addr": int.from_bytes(mac(port), "big")}}


def route(prefix: int, bits: int, port: int) -> dict[str, Any]:
    return {"table": "ipv4_lpm", "match": {"dst_addr": {"lpm": [prefix, bits]}}, **forward(port)}


def switch(entries: list[dict[str, Any]], interpret: bool = False) -> Any:
    return _engine.Harness(compiled(known_schemes()["droptail"], interpret), json.dumps(entries))


def group(members: int) -> list[dict[str, Any]]:
    """Entries that send every packet to one of the first ports."""
    every = {"table": "ipv4_lpm", "match": {"dst_addr": {"lpm": [0, 0]}}, "action": "hash_to_group"}
    paths = [
        {"table": "ecmp", "match": {"group": {"exact": 3}, "member": {"exact": member}}, **forward(member)}
        for member in range(members)
    ]
    return [{**every, "params": {"group": 3, "members": members}}, *paths]


def member(frame: Frame, members: int) -> int:
    """BMv2's hash: CRC-32 of the fields, without fields of missing headers."""
    data = struct.pack("!IIB", frame.src, frame.dst, frame.protocol)
    if frame.protocol in {TCP, UDP} and not frame.fragment & 0x1FFF:
        data += struct.pack("!HH", frame.src_port, frame.dst_port)
    return zlib.crc32(data) % members


@pytest.mark.parametrize("interpret", [False, True], ids=["jit", "interpreter"])
@given(st.data())
def test_the_longest_prefix_wins(interpret: bool, data: st.DataObject) -> None:
    frame = data.draw(frames)
    # Prefixes of the destination and of addresses that differ from it in one bit.
    cuts = data.draw(st.sets(st.tuples(st.integers(0, 32), st.integers(-1, 31)), max_size=12))
    routes = {}
    for port, (bits, flipped) in enumerate(sorted(cuts), 1):
        near = frame.dst ^ (1 << flipped if flipped >= 0 else 0)
        routes[near >> (32 - bits) << (32 - bits), bits] = port
    fitting = {
        bits: port for (prefix, bits), port in routes.items() if prefix == frame.dst >> (32 - bits) << (32 - bits)
    }
    entries = [route(prefix, bits, port) for (prefix, bits), port in routes.items()]
    out = switch(entries, interpret).process(0, frame.build())
    if fitting:
        port = fitting[max(fitting)]
        assert out == (port, frame.routed(mac(port)).build(), None)
    else:
        assert out == (None, None, "dropped by ingress")


@pytest.mark.parametrize("interpret", [False, True], ids=["jit", "interpreter"])
@pytest.mark.parametrize("members", [1, 2, 3, 8])
@given(frame=frames)
def test_a_flow_goes_to_the_member_of_its_hash(interpret: bool, members: int, frame: Frame) -> None:
    port = member(frame, members)
    assert switch(group(members), interpret).process(0, frame.build()) == (port, frame.routed(mac(port)).build(), None)


def test_flows_spread_over_members() -> None:
    ecmp = switch(group(8))
    counts = Counter(ecmp.process(0, Frame(src_port=port).build())[0] for port in range(8000))
    assert all(abs(counts[port] - 1000) < 150 for port in range(8)), counts


def test_a_group_without_the_member_drops() -> None:
    harness = switch(
        [entry for entry in group(2) if entry.get("match") != {"group": {"exact": 3}, "member": {"exact": 1}}]
    )
    chosen = {member(frame, 2): frame for frame in (Frame(src_port=port) for port in range(40))}
    assert harness.process(0, chosen[0].build())[0] == 0
    assert harness.process(0, chosen[1].build()) == (None, None, "dropped by ingress")


@given(frames, st.integers(1, 0xFFFF))
def test_a_wrong_checksum_is_dropped(frame: Frame, error: int) -> None:
    """BMv2 compares numbers, so 0xffff instead of 0 is wrong, too."""
    wrong = replace(frame, checksum_error=error)
    assert switch([route(0, 0, 1)]).process(0, wrong.build()) == (None, None, "dropped by ingress")


@given(frames, st.integers(0, 33))
def test_a_header_that_is_cut_off_is_dropped(frame: Frame, length: int) -> None:
    assert switch([route(0, 0, 1)]).process(0, frame.build()[:length]) == (None, None, "dropped by ingress")


@given(frames, st.sampled_from([0x0806, 0x86DD, 0x0801, 0]))
def test_what_is_not_ipv4_is_dropped(frame: Frame, ether_type: int) -> None:
    other = replace(frame, ether_type=ether_type)
    assert switch([route(0, 0, 1)]).process(0, other.build()) == (None, None, "dropped by ingress")


@given(frames, st.integers(0, 15).filter(lambda version: version != 4))
def test_another_version_is_dropped(frame: Frame, version: int) -> None:
    other = replace(frame, version=version)
    assert switch([route(0, 0, 1)]).process(0, other.build()) == (None, None, "dropped by ingress")


@given(frames, st.integers(1, 10))
def test_options_are_dropped(frame: Frame, words: int) -> None:
    other = replace(frame, options=words * b"\x01\x01\x01\x00")
    assert switch([route(0, 0, 1)]).process(0, other.build()) == (None, None, "dropped by ingress")


@given(frames, st.integers(0, 4))
def test_a_header_shorter_than_it_can_be_is_dropped(frame: Frame, words: int) -> None:
    data = bytearray(frame.build())
    data[14] = 4 << 4 | words
    assert switch([route(0, 0, 1)]).process(0, bytes(data)) == (None, None, "dropped by ingress")
