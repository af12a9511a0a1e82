# SPDX-License-Identifier: MIT OR Apache-2.0
"""The lab's controller: entries in the lab's form reach a switch as if they were added to it directly."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from marklab.catalog.choice import parse_choice
from marklab.catalog.description import Forwarding
from marklab.catalog.parameters import Setup
from marklab.catalog.scheme import find_scheme, known_schemes
from marklab.devices.queueing import Queues
from marklab.engine import binding as engine
from marklab.errors import BadInput, RunFailed
from marklab.p4runtime.client import Client, Count, connected
from marklab.p4runtime.server import Running, Server
from marklab.paths import PROGRAMS, REPOSITORY
from marklab.prepare.control import forwarding_entries, service_entries
from marklab.topology import LeafSpine, build
from marklab.traffic.rtt import parse_rtt
from p4runtime_server.controller import DEVICE, Switch, probe

SCHEME = PROGRAMS / "dctcp-red.p4"


@pytest.fixture
def controller(switch: Switch) -> Iterator[Client]:
    with connected(switch.address, device_id=DEVICE) as client:
        yield client


class Recorder:
    """A switch that records the entries that it gets, with full names, and passes them on."""

    def __init__(self, harness: engine.Harness, program: engine.CompiledProgram) -> None:
        self._harness = harness
        self._tables = {table["name"]: table for table in engine.describe(program)["tables"]}
        self.entries: list[dict[str, Any]] = []

    def add_entry(self, entry: str) -> int | None:
        self.entries.append(self.full(json.loads(entry)))
        return self._harness.add_entry(entry)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._harness, name)

    def full(self, entry: dict[str, Any]) -> dict[str, Any]:
        """The entry with full names, without keys that match everything, and with a priority only where it matters."""
        table = self._tables[named(entry["table"], self._tables)]
        keys = {key["name"]: key for key in table["keys"]}
        actions = [action["name"] for action in table["actions"]]
        found: dict[str, Any] = {
            "table": table["name"],
            "action": named(entry["action"], actions),
            "params": {name: number(value) for name, value in entry.get("params", {}).items()},
        }
        if "match" in entry:
            given = {name: compared(value, keys[name]["bits"]) for name, value in entry["match"].items()}
            found["match"] = {name: value for name, value in given.items() if value is not None}
            ranked = any(key["match"] in {"ternary", "range", "optional"} for key in keys.values())
            found["priority"] = entry.get("priority", 0) if ranked else 0
        return found


def named(name: str, known: Any) -> str:
    (found,) = [full for full in known if full == name or full.endswith(f".{name}")]
    return str(found)


def number(value: int | str) -> int:
    return int(value, 0) if isinstance(value, str) else value


def compared(match: dict[str, Any], bits: int) -> tuple[int, ...] | None:
    """Value and mask, or low and high; None for anything."""
    every = (1 << bits) - 1
    ((form, given),) = match.items()
    match form:
        case "exact":
            return number(given), every
        case "lpm":
            mask = every >> bits - given[1] << bits - given[1]
            return (number(given[0]) & mask, mask) if mask else None
        case "ternary":
            value, mask = number(given[0]), number(given[1])
            return (value & mask, mask) if mask else None
    low, high = number(given[0]), number(given[1])
    return None if (low, high) == (0, every) else (low, high)


def entries_of(scheme: str, tables: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """All entries that the lab gives the first leaf of a network with several paths."""
    found = find_scheme(parse_choice(scheme))
    needs = found.spec.needs.schedulers if found.spec else ()
    queues = Queues() if "fifo" in needs or not needs else Queues(scheduler=needs[0], count=4)
    setup = Setup(10**10, parse_rtt("70us..210us"), 1.0, 600, queues)
    network = build(LeafSpine(leaves=2, spines=2, hosts=2), 10**10, 70_000)
    own = found.fit(parse_choice(scheme), setup)
    services = [] if own.deals_out_queues else service_entries(found.program, tables, 4)
    return [*own.entries, *services, *forwarding_entries(network.graph, 0, Forwarding())]


@pytest.mark.parametrize("scheme", sorted(known_schemes()))
def test_a_switch_set_up_by_p4runtime_holds_what_one_set_up_directly_holds(scheme: str) -> None:
    source = known_schemes()[scheme]
    program = engine.compile_program(source)
    entries = entries_of(scheme, engine.describe(program)["tables"])
    # The engine accepts them unchanged.
    direct = engine.new_harness(program)
    for entry in entries:
        direct.add_entry(json.dumps(entry))
    recorder = Recorder(engine.new_harness(program), program)
    running = Running.load(source, program)
    with (
        Server(running, recorder, address="127.0.0.1:0") as server,
        connected(server.address) as client,
    ):
        client.set_pipeline(running.info)
        recorder.entries.clear()
        client.write(entries)
    assert len(entries) >= 7
    assert recorder.entries == [recorder.full(entry) for entry in entries]


def test_all_kinds_of_keys_and_the_priorities_decide_as_they_should(switch: Switch, controller: Client) -> None:
    def rule(port: int, priority: int, **match: Any) -> dict[str, Any]:
        return {
            "table": "rules",
            "match": match,
            "priority": priority,
            "action": "pace_to",
            "params": {"port": port},
        }

    controller.write(
        [
            {"table": "rules", "action": "pace_to", "params": {"port": 1}},
            rule(2, 7),
            rule(3, 6, a={"ternary": [0xF3, 0xF0]}),
            rule(4, 5, b={"range": [10, 20]}),
            rule(5, 4, c={"exact": 9}),
            rule(6, 3, a={"ternary": [0xFF, "0xff"]}, b={"range": [0, 0xFFFF]}, c="any"),
            {"table": "routes", "match": {"c": {"lpm": [0x0A0B0C0D, 8]}}, "action": "send", "params": {"port": 7}},
            {
                "table": "FeaturesIngress.routes",
                "match": {"c": {"lpm": [5, 0]}},
                "action": "send",
                "params": {"port": 8},
            },
            {"table": "keyless", "action": "send", "params": {"port": 9}},
        ]
    )
    assert switch.ports(probe(1)) == [2]
    assert switch.ports(probe(1, a=0xF0)) == [3]
    assert [switch.ports(probe(1, a=0xF0, b=b)) for b in (9, 10, 20, 21)] == [[3], [4], [4], [3]]
    assert switch.ports(probe(1, a=0xF0, b=10, c=9)) == [5]
    assert switch.ports(probe(1, a=0xFF, b=10, c=9)) == [6]
    assert [switch.ports(probe(0, c=c)) for c in (0x0AFFFFFF, 0x0B000000)] == [[7], [8]]
    assert switch.ports(probe(6)) == [9]


def test_counters_and_registers_are_read_back(switch: Switch, controller: Client) -> None:
    for kind, a, c in ((2, 0, 0), (8, 1, 0xFF), (8, 1, 0xFE)):
        switch.sent(probe(kind, a=a, c=c))
    # Kind 8 is beyond the counter's four cells.
    assert controller.counter("seen") == [Count(0, 0), Count(0, 0), Count(1, 0), Count(0, 0)]
    assert controller.register("notes") == [0, 0xFE, 0, 0]
    assert controller.register("FeaturesIngress.notes", 1) == [0xFE]
    # int<8>: the bits are unchanged.
    assert controller.register("degrees") == [0, 0xFE]
    with pytest.raises(RunFailed, match=r"has no cell 4"):
        controller.register("notes", 4)


WRONG = {"table": "rules", "match": {}, "action": "drop", "params": {}}


@pytest.mark.parametrize(
    ("entry", "why"),
    [
        ({"table": "rule"}, "unknown table `rule`"),
        ({"action": "flood"}, "unknown action of `rules` `flood`"),
        ({"action": "pace_to"}, "parameter `port` of `pace_to` has no value"),
        ({"params": {"port": 1}}, "unknown parameter of `drop` `port`"),
        ({"action": "pace_to", "params": {"port": 512}}, "parameter `port` of `pace_to`: 512 does not fit its 9 bits"),
        ({"match": {"d": {"exact": 1}}}, "unknown key of `FeaturesIngress.rules` `d`"),
        ({"match": {"a": {"exact": 1}}}, "key `a` of `FeaturesIngress.rules` is ternary, and the entry gives `exact`"),
        ({"match": {"a": {"ternary": [0, 256]}}}, "256 does not fit its 8 bits"),
        ({"match": {"b": {"range": [9, 8]}}}, "the range 9..8 is empty"),
        ({"match": {"c": {"exact": -1}}}, "-1 does not fit its 32 bits"),
        ({"table": "fixed", "match": {}}, "key `a` of `FeaturesIngress.fixed` is exact and has no value"),
        ({"table": "routes", "match": {"c": {"lpm": [0, 33]}}}, "33 bits is not in 0..32"),
    ],
)
def test_entries_that_do_not_fit_the_program_are_refused_before_anything_is_written(
    switch: Switch, controller: Client, entry: dict[str, Any], why: str
) -> None:
    before = {"table": "keyless", "action": "send", "params": {"port": 9}}
    with pytest.raises(BadInput) as refused:
        controller.write([before, WRONG | entry])
    assert why in str(refused.value)
    assert switch.ports(probe(6)) == [31]


def test_what_the_switch_refuses_is_told_by_table_and_key(switch: Switch, controller: Client) -> None:
    route = {"table": "routes", "match": {"c": {"lpm": [5, 32]}}, "action": "send", "params": {"port": 7}}
    other = route | {"match": {"c": {"lpm": [6, 32]}}}
    with pytest.raises(RunFailed) as refused:
        controller.write([route, route, other])
    assert f"the switch at {switch.address} refuses: entry of `routes` with c {{'lpm': [5, 32]}}" in str(refused.value)
    assert "has an entry with this key" in str(refused.value)
    assert str(refused.value).count("entry of") == 1
    # The others are there.
    assert [switch.ports(probe(0, c=c)) for c in (5, 6)] == [[7], [7]]


def test_more_entries_than_a_batch_has_arrive_and_more_refusals_than_can_be_shown_are_counted(
    switch: Switch, controller: Client
) -> None:
    rules = [
        {"table": "rules", "match": {"b": {"range": [n, n]}}, "action": "pace_to", "params": {"port": n % 500}}
        for n in range(600)
    ]
    controller.write(rules)
    assert [switch.ports(probe(1, b=n)) for n in (0, 255, 256, 599)] == [[0], [255], [256], [99]]
    with pytest.raises(RunFailed, match=r"; and 251 more$"):
        controller.write(rules)


def test_a_second_controller_is_told_that_there_is_one(switch: Switch, controller: Client) -> None:
    with (
        pytest.raises(RunFailed, match="has a primary controller of election id 1"),
        connected(switch.address, device_id=DEVICE, election_id=0),
    ):
        pass
    # A higher id takes over. The first controller learns of it when it writes.
    with (
        connected(switch.address, device_id=DEVICE, election_id=1 << 70),
        pytest.raises(RunFailed, match="PERMISSION_DENIED"),
    ):
        controller.write([{"table": "keyless", "action": "send", "params": {"port": 9}}])


def test_another_device_or_program_is_refused(switch: Switch, controller: Client) -> None:
    with (
        pytest.raises(RunFailed, match=f"there is no device {DEVICE + 1} here"),
        connected(switch.address, device_id=DEVICE + 1),
    ):
        pass
    other = Running.load(SCHEME, engine.compile_program(SCHEME)).info
    with pytest.raises(RunFailed, match=r"the P4Info is not that of features.p4"):
        controller.set_pipeline(other)
    # It still knows the running program.
    controller.write([{"table": "keyless", "action": "send", "params": {"port": 9}}])


def test_waiting_for_a_switch_ends_with_the_patience_or_the_reason_to_wait(tmp_path: Path) -> None:
    address = f"unix:{tmp_path}/none"
    in_vain = pytest.raises(RunFailed, match=rf"no switch serves P4Runtime at {address} \(0.2 s waited\)")
    with in_vain, connected(address, patience_s=0.2):
        pass

    def died() -> None:
        raise RunFailed("it died")

    with pytest.raises(RunFailed, match="it died"), connected(address, check=died):
        pass


def test_a_path_is_one_servers_and_is_free_after_it(tmp_path: Path, switch: Switch) -> None:
    address = f"unix:{tmp_path}/switch"
    with Server(switch.running, switch.harness, address=address, device_id=1):
        with pytest.raises(Exception, match="another process does"):
            Server(switch.running, switch.harness, address=address, device_id=2)
        with connected(address, device_id=1) as client:
            assert client.info == switch.running.info
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def process(tmp_path: Path) -> Iterator[Callable[[], subprocess.Popen[str]]]:
    """Start a switch in a separate process, at `unix:TMP/switch`."""
    command = [sys.executable, str(REPOSITORY / "orchestrator.py"), "switch", str(SCHEME), "--cpu-port", "3"]
    options = ["--grpc-server-addr", f"unix:{tmp_path}/switch"]
    started: list[subprocess.Popen[str]] = []

    def start() -> subprocess.Popen[str]:
        # Its output is not read, which must not block it.
        started.append(subprocess.Popen([*command, *options], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
        return started[-1]

    yield start
    for each in started:
        each.kill()
        each.wait()


def test_a_switch_that_is_just_starting_is_waited_for_and_takes_its_socket_along(
    tmp_path: Path, process: Callable[[], subprocess.Popen[str]]
) -> None:
    route = {
        "table": "ipv4_lpm",
        "match": {"dst_addr": {"lpm": [0x0A000001, 32]}},
        "action": "forward",
        "params": {"port": 3, "dst_addr": 1},
    }
    # The socket of a killed switch does not prevent the next start.
    for end in (signal.SIGKILL, signal.SIGTERM):
        running = process()
        with connected(f"unix:{tmp_path}/switch", patience_s=60) as client:
            client.write([route])
            running.send_signal(end)
            running.wait(20)
            with pytest.raises(RunFailed, match=f"the switch at unix:{tmp_path}/switch did not answer a write"):
                client.write([route])
    assert list(tmp_path.iterdir()) == []
