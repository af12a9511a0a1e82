# SPDX-License-Identifier: MIT OR Apache-2.0
"""Scripts through ns-2: its Agent/TCP/FullTcp/Sack sends the flow, and its error models do what the script says.

ns-2's error models name packets by their number. A script names them by what they carry, which is known when they have
passed: so a script runs once for each of its events, each time with one packet more. ns-2 repeats itself exactly.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from marklab.devices.hosts import Transport
from marklab.errors import RunFailed, SetupError
from marklab.hosts.bottleneck import SEGMENT_NS
from marklab.hosts.capture import Captured, Packet
from marklab.hosts.rounds import flow_seen
from marklab.hosts.script import SCRIPTS, Case, Happening, Match, transport_of
from marklab.hosts.simulated import CaseSeen, size_bytes

# Of simulated hosts in a comparison. ns-2 does not look whether a window was used before it grows.
SETTINGS: Mapping[str, Any] = {"stack.profile": "ns-2", "stack.quick_acks": 0, "cwnd_validation": False}
RELEASE = "ns-2.35"
PACKAGE = "ns2"  # Debian's
CONTROLS = ("reno", "ecn-star")
RECORDING = SCRIPTS.parent / "script-results-ns2.json"
DIFFERENCES = SCRIPTS.parent / "script-differences-ns2.yaml"

_HEADER_BYTES = 40
_SECONDS = 60
_FIN, _SYN = 1, 2
# Directions, where they lead, and what may happen there. All packets pass a model that marks, and then one that drops.
_MODELS = (("data", "receiver", "drop"), ("data", "receiver", "mark"), ("acks", "sender", "drop"))
# ns-2 numbers nodes as they are made.
_RECEIVER = "2"
_NS = 10**9

# Times in s. The bottleneck is the node in the middle, with a quarter of the round trip on each side of it.
_NETWORK = """\
remove-all-packet-headers
add-packet-header Flags IP TCP
Trace set show_tcphdr_ 1
set ns [new Simulator]
set trace [open {trace} w]
foreach name {{sender switch receiver}} {{ set $name [$ns node] }}
proc line {{from to delay}} {{
    global ns
    $ns simplex-link $from $to 1000Gb $delay DropTail
    $ns queue-limit $from $to 1000000
}}
line $sender $switch {quarter}
line $switch $receiver {late_quarter}
line $receiver $switch {quarter}
line $switch $sender {quarter}
$ns trace-queue $switch $receiver $trace
$ns trace-queue $switch $sender $trace
proc happen {{to marks numbers}} {{
    global ns switch
    ErrorModel set markecn_ $marks
    set model [new ErrorModel/List]
    $model unit pkt
    $model droplist $numbers
    $model drop-target [new Agent/Null]
    set line [[$ns link $switch $to] link]
    $model target [$line target]
    $line target $model
}}
foreach {{name value}} {{{settings}}} {{ Agent/TCP set $name $value }}
foreach {{name value}} {{{full_settings}}} {{ Agent/TCP/FullTcp set $name $value }}
foreach name {{client server}} {{ set $name [new Agent/TCP/FullTcp/Sack] }}
$ns attach-agent $sender $client
$ns attach-agent $receiver $server
$server listen
$ns connect $client $server
"""


def is_there() -> bool:
    """Whether ns-2 is installed."""
    return shutil.which("ns") is not None


def check() -> None:
    """Refuse where ns-2 is not installed."""
    if not is_there():
        raise SetupError("ns-2 is not installed", f"apt-get install {PACKAGE}")


def can_run(case: Case) -> bool:
    """Whether ns-2 can: a flow without an application's rate or FIN, and losses and marks of data and its answers."""
    script = case.script
    names = {name for event in script.events for match in event.matches() for name, _ in match.numbers}
    delayed = any(event.action == "delay" for event in script.events)
    plain = not (script.flows or script.close or script.rate_bps or script.delayed_acks)
    return case.control in CONTROLS and plain and not delayed and not names & {"syn", "fin", "round", "place"}


def run(case: Case) -> CaseSeen:
    """Run a case through ns-2."""
    transport = transport_of(case, SETTINGS)
    done: dict[_Numbered, str] = {}
    while True:
        passed = _passed(case, transport, done)
        named = _next(case.script.events, passed, done)
        if named is None:
            break
        done |= named
    size = size_bytes(case.script, transport.mss_bytes)
    arrived = tuple(each.packet for each in passed if each.packet.is_data or done.get(each.numbered) != "drop")
    flow = flow_seen(Captured(0, arrived), size, case.script.rtt_ns, ())
    _check_writes(case, arrived, transport.mss_bytes)
    return CaseSeen(case, (flow,), tuple(_never(case.script.events, passed)))


# A direction, and the number of a packet in it, from 0.
_Numbered = tuple[str, int]


@dataclass(frozen=True)
class _Passed:
    """A packet that came to the bottleneck, and its numbers by the names that scripts have."""

    packet: Packet
    numbered: _Numbered
    names: Mapping[str, int]

    def is_of(self, event: Happening, match: Match) -> bool:
        """Whether it is the packet that an event is about."""
        same = all(self.names.get(name) == number for name, number in match.numbers)
        return self.numbered[0] == event.direction and same


def _next(
    events: Sequence[Happening], passed: Sequence[_Passed], done: Mapping[_Numbered, str]
) -> dict[_Numbered, str] | None:
    """What happens to the first packet that is named, and to which nothing has happened yet."""
    for each in passed:
        for event in events:
            if any(each.is_of(event, match) for match in event.matches()):
                if each.numbered not in done:
                    return {each.numbered: event.action}
                break
    return None


def _never(events: Sequence[Happening], passed: Sequence[_Passed]) -> list[str]:
    return [
        f"event {number} ({event.action} {event.direction}): there was no {match}"
        for number, event in enumerate(events, start=1)
        for match in event.matches()
        if not any(each.is_of(event, match) for each in passed)
    ]


def _passed(case: Case, transport: Transport, done: Mapping[_Numbered, str]) -> list[_Passed]:
    """The packets of a run in which this happens."""
    with tempfile.TemporaryDirectory(prefix="marklab-ns2-") as folder:
        script, trace = Path(folder) / "script.tcl", Path(folder) / "trace"
        script.write_text(_tcl(case, transport, trace, done), encoding="utf-8")
        ran = subprocess.run(  # noqa: S603
            ["ns", str(script)],  # noqa: S607
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
        )
        if ran.returncode != 0:
            raise RunFailed(f"ns-2 failed with {case}:\n{ran.stderr.strip()}")
        packets = [_packet(line.split()) for line in trace.read_text(encoding="utf-8").splitlines() if line[0] == "+"]
    counted: Counter[Any] = Counter()
    begin_ns = packets[0].time_ns
    packets = [replace(packet, time_ns=packet.time_ns - begin_ns) for packet in packets]
    return [_count(packet, counted, transport.mss_bytes) for packet in packets]


def _count(packet: Packet, counted: Counter[Any], mss_bytes: int) -> _Passed:
    """Number a packet among those before it."""
    direction = "data" if packet.is_data else "acks"

    def nth(*what: Any) -> int:
        counted[what] += 1
        return counted[what]

    number = nth(direction)
    names = {"packet": number}
    if packet.end > packet.begin:
        segment = packet.begin // mss_bytes + 1
        names |= {"segment": segment, "transmission": nth("segment", segment)}
        names |= {"cwr": nth("cwr")} if packet.cwr else {}
    elif not packet.is_data and not packet.syn:
        covered = packet.ack // mss_bytes
        names |= {"covering": covered, "copy": nth("covering", covered)}
        names |= {"ece": nth("ece")} if packet.ece else {}
    return _Passed(packet, (direction, number - 1), names)


def _packet(fields: Sequence[str]) -> Packet:
    """A packet of a line of a trace."""
    _, time, _, target, _, size, marks, _, _, _, sequence, _, ack, flags, header, _ = fields
    is_data = target == _RECEIVER
    syn = bool(int(flags, 16) & _SYN)
    begin = int(sequence) - 1 if is_data and not syn else 0
    return Packet(
        time_ns=round(float(time) * _NS),
        is_data=is_data,
        begin=begin,
        end=begin + (int(size) - int(header) if is_data and not syn else 0),
        ack=0 if is_data or syn else int(ack) - 1,
        syn=syn,
        fin=bool(int(flags, 16) & _FIN),
        rst=False,
        ece=marks[0] == "C",
        cwr=marks[3] == "A",
        ecn=0,
        sacks=(),
    )


def _tcl(case: Case, transport: Transport, trace: Path, done: Mapping[_Numbered, str]) -> str:
    """The simulation in ns-2's language."""
    script, quarter = case.script, case.script.rtt_ns / 4
    window = script.receive_window or transport.receive_window_bytes // transport.mss_bytes
    text = _NETWORK.format(
        trace=trace,
        quarter=quarter / _NS,
        late_quarter=(quarter + SEGMENT_NS) / _NS,
        settings=_list(
            windowInit_=transport.initial_window,
            window_=window,
            ecn_=int(case.control == "ecn-star"),
            minrto_=transport.min_rto_ns / _NS,
            rtxcur_init_=transport.initial_rto_ns / _NS,
        ),
        full_settings=_list(
            segsize_=transport.mss_bytes, segsperack_=transport.ack_every, interval_=transport.ack_delay_ns / _NS
        ),
    )
    for direction, target, action in _MODELS:
        chosen = sorted(number for (of, number), what in done.items() if (of, what) == (direction, action))
        if chosen:
            numbers = " ".join(map(str, chosen))
            text += f"happen ${target} {int(action == 'mark')} {{{numbers}}}\n"
    for write in script.written:
        text += f'$ns at {write.at_ns / _NS} "$client advance-bytes {write.segments * transport.mss_bytes}"\n'
    return text + f'$ns at {script.until_ns / _NS} "exit 0"\n$ns run\n'


def _list(**settings: float) -> str:
    return " ".join(f"{name} {value}" for name, value in settings.items())


def _check_writes(case: Case, packets: Sequence[Packet], mss_bytes: int) -> None:
    """Refuse a script whose writes would wait for each other: ns-2 takes them at their times."""
    written = 0
    for write in case.script.written:
        if any(
            not each.is_data and each.ack < written
            for each in packets
            if each.time_ns > write.at_ns - case.script.rtt_ns // 4 and not each.syn
        ):
            raise RunFailed(f"{case}: a write begins before the one before it has been acknowledged")
        written += write.segments * mss_bytes
