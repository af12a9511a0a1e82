# SPDX-License-Identifier: MIT OR Apache-2.0
"""A toy network between TCP end points: all implementations get the same events, and must decide the same.

The first implementation of each end drives the network. A script says what the network does to which transmission.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

import rfc_receiver
import rfc_sender

from marklab.engine.binding import TcpReceiver, TcpSender, new_tcp_receiver, new_tcp_sender

MSS = 1000
US = 1000
ONE_WAY_US = 50
# No script needs as many events, unless its connection never ends.
MOST_EVENTS = 3000

Fate = str | int  # drop, mark (data only), or a further delay in us
Fates = tuple[tuple[int, int, Fate], ...]  # first transmission, their number, fate


@dataclass(frozen=True)
class Script:
    """A host's settings, what its application does, and what the network does. Times are in us."""

    writes: tuple[tuple[int, int], ...]  # time since the last write, and bytes
    data: Fates = ()
    holes: tuple[tuple[int, int], ...] = ()  # segment of the stream, and how many of its transmissions are dropped
    acks: Fates = ()
    control: str = "reno"
    initial_window: int = 10
    min_rto_us: int = 1000
    initial_rto_us: int = 3000
    ack_every: int = 1
    ack_delay_us: int = 500
    receive_window: int = 1000 * MSS
    cwnd_validation: bool = True
    idle_restart: bool = False
    loss_after_marks: bool = True
    spacing_us: int = 1  # of segments at the bottleneck

    def __str__(self) -> str:
        """As it can be written in a test: without what is as usual."""
        shown = [
            f"{name.name}={value!r}" for name in fields(self) if (value := getattr(self, name.name)) != name.default
        ]
        return f"Script({', '.join(shown)})"

    def transport(self) -> dict[str, Any]:
        """As the engine reads it."""
        return {
            "control": self.control,
            "mss_bytes": MSS,
            "initial_window_segments": self.initial_window,
            "min_rto_ns": self.min_rto_us * US,
            "initial_rto_ns": self.initial_rto_us * US,
            "ack_every_segments": self.ack_every,
            "ack_delay_ns": self.ack_delay_us * US,
            "receive_window_bytes": self.receive_window,
            "cwnd_validation": self.cwnd_validation,
            "stack": {"idle_restart": "rfc5681" if self.idle_restart else "never"},
            "dctcp_gain_shift": 4,
            "dctcp_loss_after_marks": self.loss_after_marks,
        }

    def sender(self) -> rfc_sender.Settings:
        """As the sender from the RFCs reads it."""
        return rfc_sender.Settings(
            control=self.control,
            mss=MSS,
            initial_window=self.initial_window,
            min_rto_ns=self.min_rto_us * US,
            initial_rto_ns=self.initial_rto_us * US,
            receive_window=self.receive_window,
            cwnd_validation=self.cwnd_validation,
            idle_restart=self.idle_restart,
            gain_shift=4,
            loss_after_marks=self.loss_after_marks,
        )

    def receiver(self) -> rfc_receiver.Settings:
        """As the receiver from the RFCs reads it."""
        echo = {"reno": "none", "ecn-star": "latched", "dctcp": "exact"}[self.control]
        return rfc_receiver.Settings(echo, self.ack_every, self.ack_delay_us * US)


Sender = TcpSender | rfc_sender.RfcSender
Receiver = TcpReceiver | rfc_receiver.RfcReceiver
# Makes a sender; None is the engine's.
Senders = Mapping[str, Callable[[rfc_sender.Settings], Sender] | None]


class Difference(AssertionError):  # noqa: N818 - not an error of ours
    """Two implementations decided differently, or one broke a rule; the text has the events up to there."""


@dataclass(frozen=True)
class View:
    """A sender's state."""

    state: str
    cwnd: int
    ssthresh: float
    snd_una: int
    snd_nxt: int
    pipe: int
    alpha: float | None
    deadline_ns: int | None

    def __str__(self) -> str:
        ssthresh = "unlimited" if math.isinf(self.ssthresh) else kilo(int(self.ssthresh))
        alpha = "" if self.alpha is None else f" alpha={self.alpha:.6f}"
        timer = "none" if self.deadline_ns is None else clock(self.deadline_ns)
        return (
            f"{self.state} cwnd={kilo(self.cwnd)} ssthresh={ssthresh} "
            f"una={kilo(self.snd_una)} nxt={kilo(self.snd_nxt)} pipe={kilo(self.pipe)}{alpha} timer={timer}"
        )


def view(sender: Sender) -> View:
    """Its state, with `disorder` as `open`: it has no rule of its own."""
    return View(
        state="open" if sender.state == "disorder" else sender.state,
        cwnd=sender.cwnd,
        ssthresh=math.inf if sender.ssthresh is None else sender.ssthresh,
        snd_una=sender.snd_una,
        snd_nxt=sender.snd_nxt,
        pipe=sender.pipe,
        alpha=sender.alpha,
        deadline_ns=sender.deadline_ns,
    )


def kilo(length: int) -> str:
    """Bytes in segments, as scripts count them."""
    return f"{length / MSS:g}"


def clock(ns: int) -> str:
    return f"{ns / US:g}us"


def ranges_text(ranges: list[tuple[int, int]]) -> str:
    return "".join(f" {kilo(start)}..{kilo(end)}" for start, end in ranges)


def fate_text(fate: Fate) -> str:
    return "" if fate == 0 else f"  [{f'{fate} us late' if isinstance(fate, int) else fate}]"


@dataclass
class Event:
    """What happened to the connection: arrivals, timers and writes. Properties look at it with the states around it."""

    kind: str  # write, segment, ack, ack timer, timeout
    at_ns: int
    ack: int = 0
    sacks: list[tuple[int, int]] = field(default_factory=list)
    ece: bool = False
    new: int = 0  # bytes of whose arrival an ACK is the first to tell


Property = Callable[["Game", str, Event, View, View], str | None]


class Game:
    """A connection of each pair of implementations through one network."""

    def __init__(self, script: Script, senders: Senders, rules: Mapping[str, Property]) -> None:
        self.script, self.rules = script, rules
        self.senders: dict[str, Sender] = {
            name: new(script.sender()) if new else new_tcp_sender(script.transport()) for name, new in senders.items()
        }
        self.receivers: dict[str, Receiver] = {
            "engine": new_tcp_receiver(script.transport()),
            "rfc": rfc_receiver.RfcReceiver(script.receiver()),
        }
        self.now_ns = 0
        self.queue: list[tuple[int, int, str, tuple[Any, ...]]] = []  # time, order, kind, what arrives
        self.order = self.data_sent = self.acks_sent = 0
        self.line_free_ns = 0
        self.written = 0
        self.trace: list[str] = []  # the events so far, as a failure shows them
        # What the network knows: copies of segments under way, what has arrived, and what of it the sender knows.
        self.holes = {segment * MSS: copies for segment, copies in script.holes}
        self.copies: dict[int, int] = {}  # transmissions by first byte
        self.flying: dict[int, int] = {}  # copies by first byte
        self.arrived: set[int] = set()
        self.known: set[int] = set()
        self.length: dict[int, int] = {}
        self.timeouts = 0
        self.ack_ns = -1
        self.two_acks_at_once = False
        self.reduced_at: dict[str, int] = {}  # SND.NXT of each sender at its last reduction
        at_us = 0
        for gap_us, length in script.writes:
            at_us += gap_us
            self._push(at_us * US, "write", (length,))

    # The network

    def _push(self, at_ns: int, kind: str, what: tuple[Any, ...]) -> None:
        heapq.heappush(self.queue, (at_ns, self.order, kind, what))
        self.order += 1

    def _fate(self, fates: Fates, number: int) -> Fate:
        return next((fate for first, count, fate in fates if first <= number < first + count), 0)

    def _transmit(self, offset: int, length: int, again: bool, cwr: bool) -> None:
        fate = self._fate(self.script.data, self.data_sent)
        self.copies[offset] = self.copies.get(offset, 0) + 1
        if self.copies[offset] <= self.holes.get(offset, 0):
            fate = "drop"
        flags = f"{' again' if again else ''}{' CWR' if cwr else ''}{fate_text(fate)}"
        self._note(f"    sends #{self.data_sent} {kilo(offset)}..{kilo(offset + length)}{flags}")
        self.data_sent += 1
        self.length[offset] = length
        if fate == "drop":
            return
        self.flying[offset] = self.flying.get(offset, 0) + 1
        self.line_free_ns = max(self.line_free_ns, self.now_ns) + self.script.spacing_us * US
        # Marks need ECT, which retransmissions lack (RFC 3168 section 6.1.5), except in Linux's DCTCP.
        ce = fate == "mark" and (self.script.control == "dctcp" or (self.script.control == "ecn-star" and not again))
        delay_us = ONE_WAY_US + (fate if isinstance(fate, int) else 0)
        self._push(self.line_free_ns + delay_us * US, "segment", (offset, length, ce, cwr))

    def _acknowledge(self, ack: int, ece: bool, sacks: list[tuple[int, int]]) -> None:
        fate = self._fate(self.script.acks, self.acks_sent)
        flags = f"{' ECE' if ece else ''}{ranges_text(sacks)}{fate_text(fate)}"
        self._note(f"    acknowledges #{self.acks_sent} {kilo(ack)}{flags}")
        self.acks_sent += 1
        if fate == "drop":
            return
        delay_us = ONE_WAY_US + (fate if isinstance(fate, int) else 0)
        self._push(self.now_ns + delay_us * US, "ack", (ack, ece, sacks))

    # The game

    def play(self) -> None:
        """Until everything has arrived and no event is left."""
        for _ in range(MOST_EVENTS):
            if not self._step():
                break
        else:
            raise self._difference("the connection does not end")
        for name, sender in self.senders.items():
            if not sender.snd_una == sender.snd_nxt == self.written:
                raise self._difference(
                    f"{name}: stuck, with {kilo(sender.snd_una)} of {kilo(self.written)} acknowledged"
                )

    def _step(self) -> bool:
        timers = [
            (self._same_deadline(self.receivers), 1, "ack timer"),
            (self._same_deadline(self.senders), 2, "timeout"),
        ]
        due = [(at, order, kind) for at, order, kind in timers if at is not None]
        if self.queue:
            due.append((self.queue[0][0], 0, self.queue[0][2]))
        if not due:
            return False
        at_ns, _, kind = min(due)
        self.now_ns = max(self.now_ns, at_ns)
        what = heapq.heappop(self.queue)[3] if kind in ("write", "segment", "ack") else ()
        if kind in ("segment", "ack timer"):
            self._receiver_event(kind, what)
        else:
            self._sender_event(kind, what)
        return True

    def _same_deadline(self, ends: Mapping[str, Sender | Receiver]) -> int | None:
        return self._agreed("timers", {name: end.deadline_ns for name, end in ends.items()})

    def _receiver_event(self, kind: str, what: tuple[Any, ...]) -> None:
        now = self.now_ns
        if kind == "ack timer":
            self._note("the receiver's timer")
            answers = {name: [receiver.on_ack_timer(now)] for name, receiver in self.receivers.items()}
        else:
            offset, length, ce, cwr = what
            self._note(f"{kilo(offset)}..{kilo(offset + length)} arrives{' CE' if ce else ''}{' CWR' if cwr else ''}")
            self.flying[offset] -= 1
            self.arrived.add(offset)
            answers = {name: receiver.on_segment(now, *what) for name, receiver in self.receivers.items()}
        for ack, ece, sacks in self._agreed("ACKs", answers):
            self._acknowledge(ack, ece, sacks)

    def _sender_event(self, kind: str, what: tuple[Any, ...]) -> None:
        before = {name: view(sender) for name, sender in self.senders.items()}
        event = Event(kind, self.now_ns)
        if kind == "write":
            self._note(f"writes {kilo(what[0])}")
            self.written += what[0]
        elif kind == "ack":
            event.ack, event.ece, event.sacks = what
            self._note(f"ACK {kilo(event.ack)}{' ECE' if event.ece else ''}{ranges_text(event.sacks)}")
            # An ACK below one that has arrived before is dropped, with what it tells.
            current = event.ack >= next(iter(before.values())).snd_una
            covers = [(0, event.ack), *event.sacks] if current else []
            told = {at for at, length in self.length.items() if any(a <= at and at + length <= b for a, b in covers)}
            event.new = sum(self.length[at] for at in told - self.known)
            self.known |= told
            self.two_acks_at_once |= self.now_ns == self.ack_ns
            self.ack_ns = self.now_ns
        else:
            self._note("timeout")
            self.timeouts += 1
        for sender in self.senders.values():
            if kind == "write":
                sender.write(*what)
            elif kind == "ack":
                sender.on_ack(self.now_ns, event.ack, event.sacks, event.ece)
            else:
                sender.on_timeout(self.now_ns)
        self._check(event, before)
        # One at a time: what the network holds is part of the rules.
        while segment := self._agreed(
            "segments", {name: sender.next_segment(self.now_ns) for name, sender in self.senders.items()}
        ):
            self._transmit(*segment[:4])
        self._check(Event("sent", self.now_ns), {})

    def _check(self, event: Event, before: Mapping[str, View]) -> None:
        """States agree, and rules hold."""
        states = {name: view(sender) for name, sender in self.senders.items()}
        if event.kind != "sent":
            self.trace.append(f"{'':>10}     -> {next(iter(states.values()))}")
        for name, after in states.items():
            for rule, holds in self.rules.items():
                if broken := holds(self, name, event, before.get(name, after), after):
                    raise self._difference(f"{name} breaks `{rule}`: {broken}")
        self._agreed("states", states)

    def _agreed(self, what: str, answers: Mapping[str, Any]) -> Any:
        (first, answer), *others = answers.items()
        for name, other in others:
            if other != answer:
                raise self._difference(f"different {what}:\n  {first}: {answer}\n  {name}: {other}")
        return answer

    def _note(self, text: str) -> None:
        self.trace.append(f"{clock(self.now_ns):>10} {text}")

    def _difference(self, text: str) -> Difference:
        return Difference("\n".join([str(self.script), *self.trace, text]))

    # What the rules ask

    def outstanding(self, after: View) -> Iterator[int]:
        """First bytes of the segments that were sent, and of whose arrival the sender does not know."""
        return (at for at in self.length if after.snd_una <= at < after.snd_nxt and at not in self.known)

    def really_lost(self, after: View) -> int:
        """Bytes of those of which no copy is under way, and none has arrived."""
        return sum(
            self.length[at] for at in self.outstanding(after) if not self.flying.get(at) and at not in self.arrived
        )


def play(script: Script, senders: Senders, rules: Mapping[str, Property] | None = None) -> Game:
    """Play a script with these senders and both receivers. Raises Difference."""
    game = Game(script, senders, rules or {})
    game.play()
    return game
