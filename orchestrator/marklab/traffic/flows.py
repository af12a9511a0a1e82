# SPDX-License-Identifier: MIT OR Apache-2.0
"""The flow list, which is the same for every scheme of a run."""

from __future__ import annotations

import csv
import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from marklab.errors import BadInput, unknown
from marklab.units import parse_rate, parse_time

UInt64 = NDArray[np.uint64]

# The size of an endless flow, as written and in bytes: at 1 Mb/s such a flow would take 285 years.
ENDLESS = "endless"
ENDLESS_BYTES = 2**50

# Transports that flows of a run may have of their own: TCP's, with segments of the same length.
OwnTransport = Literal["dctcp", "ecn-star", "reno", "cubic", "prague"]
OWN_TRANSPORTS: tuple[str, ...] = get_args(OwnTransport)


@dataclass(frozen=True)
class Joins:
    """Points at hosts that are reached once all that they wait for is over, and that flows wait for.

    The first three arrays have a value for each join, the others one for each wait: of the join `wait_join`, for the
    end of the flow in row `wait_flow` or for the join `wait_on`, and for a pause after it. One of the two is -1.
    """

    host: NDArray[np.uint32]
    not_before_ns: UInt64  # it is not reached before this time of the run
    time_ns: UInt64  # when it would be reached if the network took no time
    wait_join: NDArray[np.int64]
    wait_flow: NDArray[np.int64]
    wait_on: NDArray[np.int64]
    wait_pause_ns: UInt64

    def for_engine(self, flows: int) -> dict[str, NDArray[np.generic]]:
        """What the engine takes, where joins have the numbers after those of so many flows."""
        return {
            "host": self.host,
            "not_before_ns": self.not_before_ns,
            "wait_join": self.wait_join.astype(np.uint32),
            "wait_number": np.where(self.wait_flow >= 0, self.wait_flow, flows + self.wait_on).astype(np.uint32),
            "wait_pause_ns": self.wait_pause_ns,
        }

    def taken(self, place: NDArray[np.int64]) -> tuple[Joins, NDArray[np.int64]]:
        """Those that can be reached when flows have moved to `place`, or are gone (-1); and the new place of each join.

        What a join waits for is listed before what waits for the join.
        """
        kept = np.ones(len(self.host), dtype=np.bool_)
        kept[self.wait_join[(self.wait_flow >= 0) & (place[self.wait_flow] < 0)]] = False
        for wait in np.flatnonzero(self.wait_on >= 0):
            kept[self.wait_join[wait]] &= kept[self.wait_on[wait]]
        moved = np.where(kept, np.cumsum(kept) - 1, -1)
        waits = kept[self.wait_join]
        flow, on = self.wait_flow[waits], self.wait_on[waits]
        joins = Joins(
            self.host[kept],
            self.not_before_ns[kept],
            self.time_ns[kept],
            moved[self.wait_join[waits]],
            np.where(flow >= 0, place[flow], -1),
            np.where(on >= 0, moved[on], -1),
            self.wait_pause_ns[waits],
        )
        return joins, moved


_NO_TIMES, _NO_ROWS = np.zeros(0, np.uint64), np.zeros(0, np.int64)
NO_JOINS = Joins(np.zeros(0, np.uint32), _NO_TIMES, _NO_TIMES, _NO_ROWS, _NO_ROWS, _NO_ROWS, _NO_TIMES)


@dataclass(frozen=True)
class FlowList:
    """Flows in order of their start, with an array per column. Hosts are given by their index."""

    start_ns: UInt64
    src: NDArray[np.uint32]
    dst: NDArray[np.uint32]
    size_bytes: UInt64
    dscp: NDArray[np.uint8]
    extra_delay_ns: UInt64
    rate_bps: UInt64  # of the application; 0 is as fast as possible
    query: NDArray[np.bool_]  # part of a query: a separate group in results, no difference for the network
    ecn: NDArray[np.bool_]  # its hosts negotiate ECN, if the transport uses ECN
    # `after` is the row of an earlier flow whose end this flow waits for, or -1. The difference of their `start_ns` is
    # then the time from that end to the start of this flow. `same_connection`: it uses the connection of that flow.
    after: NDArray[np.int64]
    same_connection: NDArray[np.bool_]
    control: NDArray[np.uint8]  # place in OWN_TRANSPORTS from 1 on, or 0: the transport of the run
    # `after_join` is the join that this flow waits for, or -1; the difference counts from the join's `time_ns`.
    after_join: NDArray[np.int64]
    # Iteration of a job (`prepare.jobs`) that it belongs to, by its number among those of all jobs; -1 if to none.
    iteration: NDArray[np.int64]
    joins: Joins = NO_JOINS

    def __len__(self) -> int:
        return len(self.start_ns)

    @property
    def endless(self) -> NDArray[np.bool_]:
        """Mask of the endless flows."""
        return np.asarray(self.size_bytes >= ENDLESS_BYTES)

    @property
    def waiting(self) -> NDArray[np.bool_]:
        """Mask of the flows that wait for the end of another flow, or for a join."""
        return np.asarray((self.after >= 0) | (self.after_join >= 0))

    def columns(self) -> dict[str, NDArray[np.generic]]:
        """Columns for the network, by the engine's names, without columns that only hold their default."""
        left_out = {"query", "iteration"}
        left_out |= {"ecn"} if self.ecn.all() else set()
        left_out |= set() if (self.after >= 0).any() else {"after"}
        left_out |= set() if len(self.joins.host) else {"after_join"}
        left_out |= set() if self.same_connection.any() else {"same_connection"}
        left_out |= set() if self.control.any() else {"control"}
        return {name: np.ascontiguousarray(getattr(self, name)) for name in _COLUMNS if name not in left_out}

    def for_engine(self) -> dict[str, Any]:
        """What the engine takes of a list. If a flow waits, its `start_ns` counts from the end of what it waits for."""
        joins, after_join = self.joins, self.after_join
        begun_ns = np.where(self.after >= 0, self.start_ns[self.after], np.uint64(0))
        if len(joins.host):
            begun_ns = np.where(after_join >= 0, joins.time_ns[after_join], begun_ns)
        after = np.where(after_join >= 0, len(self) + after_join, self.after)
        columns = {name: column for name, column in self.columns().items() if name != "after_join"}
        own = {
            "ecn": self.ecn,
            "same_connection": self.same_connection,
            "control": self.control,
            "after": after,
            "joins": joins.for_engine(len(self)),
        }
        return columns | own | {"start_ns": self.start_ns - begun_ns}

    def as_begun(self, start_ns: NDArray[np.int64]) -> tuple[FlowList, NDArray[np.intp]]:
        """The flows that have started, in order of the start times in `start_ns` (-1 is never), and their rows here."""
        rows = np.flatnonzero(start_ns >= 0)
        rows = rows[np.argsort(start_ns[rows], kind="stable")]
        none = np.full(len(self), -1)
        begun = replace(self, start_ns=start_ns.astype(np.uint64), after=none, after_join=none, joins=NO_JOINS)
        return begun.taken(rows), rows

    def taken(self, rows: NDArray[np.intp]) -> FlowList:
        """The flows of these rows, in their order; what one of them waits for must be among them."""
        columns: dict[str, Any] = {name: getattr(self, name)[rows] for name in _COLUMNS}
        taken = replace(self, joins=NO_JOINS, **columns)
        if not taken.waiting.any():
            return taken
        place = np.full(len(self), -1)
        place[rows] = np.arange(len(rows))
        joins, join_place = self.joins.taken(place)
        return replace(
            taken,
            after=np.where(taken.after >= 0, place[taken.after], -1),
            after_join=_moved(taken.after_join, join_place),
            joins=joins,
        )

    def started_later(self, by_ns: UInt64) -> FlowList:
        """The same flows, each started later by its own time; a flow that waits for another one keeps its distance.

        Without joins.
        """
        by_ns = by_ns.copy()
        for row in np.flatnonzero(self.waiting):
            by_ns[row] = by_ns[self.after[row]]
        later = replace(self, start_ns=self.start_ns + by_ns)
        return later.taken(np.argsort(later.start_ns, kind="stable"))

    def digest(self) -> str:
        """SHA-256 of the flow list; equal lists have the same digest on any machine."""
        state = hashlib.sha256()
        joins = (
            {} if not len(self.joins.host) else {f"joins.{name}": column for name, column in vars(self.joins).items()}
        )
        for name, column in (self.columns() | joins).items():
            state.update(name.encode())
            state.update(column.astype(column.dtype.newbyteorder("<")).tobytes())
        return state.hexdigest()


# Names of the columns of a flow list.
_COLUMNS = tuple(field.name for field in fields(FlowList) if field.name != "joins")


def _moved(places: NDArray[np.int64], to: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.where(places >= 0, to[places], -1) if len(to) else places


def make_flows(start_ns: UInt64, pairs: NDArray[np.uint32], size_bytes: UInt64, extra_delay_ns: UInt64) -> FlowList:
    """Make flows with code point 0, whose applications write as fast as they can. `pairs` has rows of (src, dst)."""
    none = np.zeros(len(start_ns), dtype=np.uint64)
    dscp, query, ecn = none.astype(np.uint8), none.astype(np.bool_), np.ones(len(start_ns), dtype=np.bool_)
    after = np.full(len(start_ns), -1)
    return FlowList(
        start_ns,
        src=pairs[:, 0],
        dst=pairs[:, 1],
        size_bytes=size_bytes,
        dscp=dscp,
        extra_delay_ns=extra_delay_ns,
        rate_bps=none,
        query=query,
        ecn=ecn,
        after=after,
        same_connection=query,
        after_join=after,
        iteration=after,
        control=dscp,
    )


def merged(lists: Sequence[FlowList]) -> FlowList:
    """Merge several lists in order of start; flows that start at the same time keep the order of the lists.

    Only the first list may have flows that wait for another one.
    """
    columns: dict[str, Any] = {name: np.concatenate([getattr(flows, name) for flows in lists]) for name in _COLUMNS}
    joined = replace(lists[0], **columns)
    return joined.taken(np.argsort(joined.start_ns, kind="stable"))


_REQUIRED = ("start_ns", "src", "dst", "size_bytes")
_OPTIONAL = ("dscp", "extra_delay_ns", "rate_bps")
_LARGEST = {"dscp": 63, "size_bytes": ENDLESS_BYTES}
# A number with so many digits is certainly too large. The limit is needed because Python reads a few thousand at most.
_DIGITS = 100


def read_flow_list(path: Path, hosts: Sequence[str]) -> FlowList:
    """Read a CSV file with the columns `start_ns,src,dst,size_bytes` and optionally `dscp,extra_delay_ns,rate_bps`.

    Raises BadInput, with the line, if the file is not such a list.
    """
    try:
        # Spreadsheet programs put a byte order mark at the beginning.
        with path.open(newline="", encoding="utf-8-sig") as file:
            reader = csv.DictReader(file)
            names = tuple(reader.fieldnames or ())
            _check_header(path, names)
            rows = [_row(path, number, row, hosts) for number, row in enumerate(reader, start=2)]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise BadInput(f"cannot read the flow list {path}: {getattr(error, 'strerror', None) or error}") from error
    if not rows:
        raise BadInput(f"{path} has no flows")
    types = {"src": np.uint32, "dst": np.uint32, "dscp": np.uint8}
    column = {
        name: np.array([row.get(name, 0) for row in rows], dtype=types.get(name, np.uint64))
        for name in _REQUIRED + _OPTIONAL
    }
    pairs = np.stack([column["src"], column["dst"]], axis=1)
    made = make_flows(column["start_ns"], pairs, column["size_bytes"], column["extra_delay_ns"])
    flows = replace(made, dscp=column["dscp"], rate_bps=column["rate_bps"])
    late = np.flatnonzero(np.diff(flows.start_ns.astype(np.int64)) < 0)
    if len(late):
        raise BadInput(f"{path}, line {late[0] + 3}: the flow starts before the one above it", "sort by start_ns")
    return flows


def _check_header(path: Path, names: Sequence[str]) -> None:
    missing = [name for name in _REQUIRED if name not in names]
    if missing:
        raise BadInput(f"{path} has no column `{missing[0]}`", f"its first line must name {', '.join(_REQUIRED)}")
    for name in names:
        if name not in _REQUIRED + _OPTIONAL:
            raise unknown(f"column of {path}:", name, _REQUIRED + _OPTIONAL)


def _row(path: Path, number: int, row: dict[str, str], hosts: Sequence[str]) -> dict[str, int]:
    where = f"{path}, line {number}"
    if None in row or None in row.values():
        raise BadInput(f"{where}: the line and the header must have the same number of cells")
    values = {name: _host(where, text, hosts) for name, text in row.items() if name in ("src", "dst")}
    for name in set(row) - set(values):
        values[name] = _number(where, name, row[name])
    if values["src"] == values["dst"]:
        raise BadInput(f"{where}: the flow goes from a host to itself")
    if values["size_bytes"] == 0:
        raise BadInput(f"{where}: the flow has no bytes")
    return values


def _number(where: str, name: str, text: str) -> int:
    if name == "size_bytes" and text.strip() == ENDLESS:
        return ENDLESS_BYTES
    if text.strip().isdecimal():
        value = int(text[:_DIGITS])
    elif name.endswith("_ns"):
        value = _with_unit(parse_time, where, name, text)
    elif name == "rate_bps":
        value = _with_unit(parse_rate, where, name, text)
    else:
        or_endless = f", or `{ENDLESS}`" if name == "size_bytes" else ""
        raise BadInput(f"{where}: `{text}` is not a {name}", f"a whole number, without a unit{or_endless}")
    if value > _LARGEST.get(name, 2**63 - 1):
        raise BadInput(f"{where}: a {name} of {text} is too large")
    return value


def _with_unit(parse: Callable[[str], int], where: str, name: str, text: str) -> int:
    try:
        return parse(text)
    except BadInput as error:
        raise BadInput(f"{where}: {name}: {error}", "a whole number, or one with its unit") from error


def _host(where: str, text: str, hosts: Sequence[str]) -> int:
    try:
        return find_host(text, hosts)
    except BadInput as error:
        raise BadInput(f"{where}: {error}", error.remedy) from error


def find_host(text: str | int, hosts: Sequence[str]) -> int:
    """The index of a host, given by name or number. Raises BadInput if there is no such host."""
    name = str(text).strip()
    if name in hosts:
        return hosts.index(name)
    if name.isdecimal() and int(name) < len(hosts):
        return int(name)
    error = unknown("host", name, hosts)
    raise BadInput(str(error), f"{error.remedy}; or an index 0..{len(hosts) - 1}")
