# SPDX-License-Identifier: MIT OR Apache-2.0
"""Table entries for every switch: how packets find their path, whatever the scheme."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, overload

import numpy as np

from marklab.catalog.description import Forwarding
from marklab.catalog.scheme import Entry, PortEstimate
from marklab.errors import BadInput, unknown
from marklab.results.observation import ACTIVE_FLOWS
from marklab.topology import Graph, Line

_FIRST_IP = 10 << 24

# Lines on which a switch sends, and the number of paths before it.
_Way = tuple[tuple[Line, ...], int]


def host_ip(host: int) -> int:
    """10.0.0.1 for the first host, and so on."""
    return _FIRST_IP + host + 1


def mac(graph: Graph, node: int) -> int:
    """02:00:00:00:hi:lo for hosts; switches, which no packet is addressed to, continue behind them in 02:00:00:01."""
    local = 0x02 << 40
    return local + node if graph.is_host(node) else local + (1 << 16) + node - len(graph.hosts)


def forwarding_entries(graph: Graph, switch: int, names: Forwarding) -> list[Entry]:
    """Routes to all hosts, as prefixes; several equal paths make a group, which all hosts with the same paths share.

    The first switch that has n paths chooses by h mod n of a hash h. Behind choices among k paths the choice is
    h mod kn / k, rounded down: for evenly spread hashes this is independent of h mod k.
    """
    node = len(graph.hosts) + switch
    found, way_of_rack = graph.ways(node)
    groups: dict[_Way, int] = {}
    actions: dict[_Way, tuple[str, dict[str, int]]] = {}
    ranges: list[tuple[_Way, int, int]] = []
    # Racks side by side with the same way, of which there are few: so this is fast with thousands of racks.
    changes = np.flatnonzero(np.diff(way_of_rack, prepend=-2)).tolist()
    for start, end in pairwise([*changes, len(way_of_rack)]):
        number = int(way_of_rack[start])
        first, last = graph.racks[start][1], graph.racks[end - 1][2]
        if number >= 0:
            way = found[number]
            ranges.append((way, host_ip(first), host_ip(last)))
            if way not in actions:
                actions[way] = _action(graph, way, groups, names)
            continue
        for host in range(first, last + 1):
            way = graph.next_lines(node, host), 1
            ranges.append((way, host_ip(host), host_ip(host)))
            actions[way] = _action(graph, way, groups, names)
    entries = []
    for way, value, bits in _prefixes(ranges):
        action, params = actions[way]
        route = {names.key: {"lpm": [value, bits]}}
        entries.append({"table": names.table, "match": route, "action": action, "params": params})
    for (lines, spread), group in groups.items():
        for member in range(_buckets(names, len(lines) * spread)):
            match = {names.ecmp_group_key: {"exact": group}, names.ecmp_member_key: {"exact": member}}
            params = _forward(graph, lines[member // spread % len(lines)], names)
            entries.append({"table": names.ecmp_table, "match": match, "action": names.action, "params": params})
    return entries


class Routes(Sequence[list[Entry]]):
    """Forwarding entries of each switch, made when they are asked for: those of 5,000 switches take gigabytes."""

    def __init__(self, graph: Graph, names: Forwarding) -> None:
        """Of all switches of a graph, for tables with these names."""
        self._graph = graph
        self._names = names

    def __len__(self) -> int:
        """Number of switches."""
        return len(self._graph.switches)

    @overload
    def __getitem__(self, switch: int) -> list[Entry]: ...

    @overload
    def __getitem__(self, switch: slice) -> list[list[Entry]]: ...

    def __getitem__(self, switch: int | slice) -> list[Entry] | list[list[Entry]]:
        """Entries of a switch."""
        if isinstance(switch, slice):
            return [self[number] for number in range(len(self))[switch]]
        return forwarding_entries(self._graph, range(len(self))[switch], self._names)

    @cached_property
    def as_json(self) -> list[str]:
        """The entries of each switch as the engine reads them."""
        return [json.dumps(entries, separators=(",", ":")) for entries in self]


def _action(graph: Graph, way: _Way, groups: dict[_Way, int], names: Forwarding) -> tuple[str, dict[str, int]]:
    """The action of a route, and its parameters. Several lines make a group, which is new or one of `groups`."""
    lines, spread = way
    if len(lines) == 1:
        return names.action, _forward(graph, lines[0], names)
    group = groups.setdefault(way, len(groups))
    return names.ecmp_action, {names.ecmp_group: group, **_size(names, len(lines) * spread)}


def _prefixes(ways: Sequence[tuple[_Way, int, int]]) -> Iterator[tuple[_Way, int, int]]:
    """Prefixes of ranges of addresses, each range with its way, its first and its last address: way, value and bits.

    One way has a prefix that covers all addresses, and the others have prefixes within it. The way with the most ranges
    of its own needs the most prefixes otherwise.
    """
    joined: list[tuple[_Way, int, int]] = []
    for way, first, last in ways:
        if joined and joined[-1][0] == way and joined[-1][2] + 1 == first:
            joined[-1] = way, joined[-1][1], last
        else:
            joined.append((way, first, last))
    blocks = [(way, *block) for way, first, last in joined for block in _blocks(first, last)]
    usual = max(dict.fromkeys(way for way, _, _ in blocks), key=Counter(way for way, _, _ in blocks).__getitem__)
    bits = 32 - (joined[0][1] ^ joined[-1][2]).bit_length()
    yield usual, joined[0][1] >> 32 - bits << 32 - bits, bits
    yield from (block for block in blocks if block[0] != usual)


def _blocks(first: int, last: int) -> Iterator[tuple[int, int]]:
    """The fewest aligned blocks that make up a range of addresses: value and bits of each."""
    while first <= last:
        size = min((first & -first).bit_length() - 1, (last - first + 1).bit_length() - 1)
        yield first, 32 - size
        first += 1 << size


def _size(names: Forwarding, members: int) -> dict[str, int]:
    sizes = {names.ecmp_members: members, names.ecmp_mask: _buckets(names, members) - 1}
    return {name: size for name, size in sizes.items() if name is not None}


def _buckets(names: Forwarding, members: int) -> int:
    """What a group's hash chooses among: the members, or a power of two that deals them out within 1/32."""
    if names.ecmp_mask is None:
        return members
    return members if members & (members - 1) == 0 else 1 << (32 * members - 1).bit_length()


def _forward(graph: Graph, line: Line, names: Forwarding) -> dict[str, int]:
    return {names.port: line.source.port, names.mac: mac(graph, line.target.node)}


def service_entries(program: Path, tables: Sequence[Mapping[str, Any]], queues: int) -> list[Entry]:
    """Queue i for code point i. Code point 0 is in queue 0 anyway."""
    if not any(is_called(table["name"], "service_queue") for table in tables):
        raise BadInput(
            f"{program} has no table `service_queue` by which packets find their queues",
            "include include/switch.p4, or run it with --queues fifo",
        )
    return [
        {"table": "service_queue", "match": {"dscp": {"exact": n}}, "action": "set_queue", "params": {"queue": n}}
        for n in range(1, min(queues, 64))
    ]


def check_forwarding(program: Path, tables: Sequence[Mapping[str, Any]], names: Forwarding, ecmp: bool) -> None:
    """Refuse a program without the tables that the lab fills in."""
    wanted = {names.table: {names.action: {names.port, names.mac}}}
    if ecmp:
        wanted[names.table][names.ecmp_action] = {names.ecmp_group, *_size(names, 2)}
        wanted[names.ecmp_table] = {names.action: {names.port, names.mac}}
    for table, actions in wanted.items():
        found = [known for known in tables if is_called(known["name"], table)]
        for action, params in actions.items():
            known = [known for table in found for known in table["actions"] if is_called(known["name"], action)]
            if not any(params == {param["name"] for param in each["params"]} for each in known):
                raise BadInput(f"{program} has no table `{table}` with {_signature(action, params)}", _remedy(names))


def check_entries(description: Path, tables: Sequence[Mapping[str, Any]], entries: Sequence[Entry]) -> None:
    """Refuse entries of a scheme's description that its program has no place for."""
    for entry in entries:
        where = f"{description}, entries:"
        table = _named(f"{where} table", entry["table"], tables)
        action = _named(f"{where} action of `{entry['table']}`", entry["action"], table["actions"])
        params = {param["name"]: param["bits"] for param in action["params"]}
        given = entry.get("params", {})
        for name, value in given.items():
            if name not in params:
                raise unknown(f"{where} parameter of `{entry['action']}`", name, params)
            if int(value).bit_length() > params[name]:
                raise BadInput(
                    f"{where} {value} does not fit `{name}` of `{entry['action']}`, which has {params[name]} bits",
                    "choose a smaller value, or a wider parameter in the program",
                )
        for name in params:
            if name not in given:
                raise BadInput(f"{where} `{entry['action']}` needs a value for `{name}`", "add it to `params: {...}`")
        for key in entry.get("match") or {}:
            _named(f"{where} key of `{entry['table']}`", key, table["keys"])


def check_estimates(
    description: Path, registers: Sequence[Mapping[str, Any]], estimates: Sequence[PortEstimate]
) -> None:
    """Refuse estimates that are in no cell of the program's registers."""
    for estimate in estimates:
        where = f"{description}, estimates:"
        if estimate.within_ns is not None and estimate.name != ACTIVE_FLOWS:
            raise BadInput(f"{where} `within` of `{estimate.name}` means nothing", f"it is for {ACTIVE_FLOWS} only")
        for name in estimate.registers:
            size = _named(f"{where} register", name, registers)["size"]
            if estimate.cell >= size:
                raise BadInput(f"{where} `{name}` has no cell {estimate.cell}", f"its cells are 0..{size - 1}")


def _named(kind: str, name: str, known: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    found = [each for each in known if is_called(each["name"], name)]
    if len(found) != 1:
        raise unknown(kind, name, [each["name"] for each in known])
    return found[0]


def _signature(action: str, params: set[str]) -> str:
    return f"an action `{action}({', '.join(sorted(params))})`"


def _remedy(names: Forwarding) -> str:
    return (
        f"include include/switch.p4, or name tables of your own under `forwarding:` in the YAML beside. The lab fills "
        f"in `{names.table}` (key `{names.key}`, lpm; actions `{names.action}({names.port}, {names.mac})` and, for "
        f"several equal paths, `{names.ecmp_action}({', '.join([names.ecmp_group, *_size(names, 2)])})`), and then "
        f"`{names.ecmp_table}` (keys `{names.ecmp_group_key}`, `{names.ecmp_member_key}`, exact; `{names.action}`)"
    )


def is_called(full_name: str, name: str) -> bool:
    """Whether a control-plane name is, or ends in, this one."""
    return full_name == name or full_name.endswith(f".{name}")
