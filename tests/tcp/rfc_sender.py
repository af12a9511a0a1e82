# SPDX-License-Identifier: MIT OR Apache-2.0
"""A TCP sender written from the RFCs: slow and plain, and without code of the engine.

It keeps a log of transmissions, and the segments that were selectively acknowledged. From these it works out at each
event what is lost and what is in flight. Where an RFC leaves a choice, `Freedoms` names it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

ALPHA_ONE = 2**20


@dataclass(frozen=True)
class Freedoms:
    """What the RFCs leave open, as the lab chooses, with the source of the choice."""

    # RFC 6675 section 4, IsLost: three separate ranges, or more than two segments' bytes. Linux counts segments of any
    # length, which finds a loss in no fewer cases.
    loss_in_segments: bool = True
    # RFC 6675 section 4, NextSeg rule 3: with nothing else to send, data below the highest selective acknowledgement
    # "SHOULD" be sent again although they do not count as lost. Linux has done without since version 4.11 (2017).
    sends_again_what_is_not_lost: bool = False
    # NextSeg rule 4: once per recovery the last segment "SHOULD" be. In Linux a probe of the tail (RFC 8985 section 7)
    # does that work.
    sends_the_last_again: bool = False
    # RFC 5681 section 3.2 takes FlightSize when the loss is found: with or without what this ACK acknowledges.
    flight_before_the_ack: bool = True
    # RFC 5681 section 3.2 leaves limited transmit out of FlightSize, and its section 3.1 wants half of what the network
    # held, for which the window is an upper bound. FlightSize has what arrived long ago in a long recovery, and what
    # was sent before a mark; half of it may be more than ssthresh.
    flight_at_most_cwnd: bool = True
    # RFC 8257 section 3.5 wants a loss to reduce a window that a mark has reduced: by half of FlightSize, where the
    # window is an upper bound of the result only.
    loss_after_marks_takes_all_in_flight: bool = True
    # RFC 5681 section 3.1: a timeout reduces ssthresh. Linux (tcp_enter_loss) holds it until the data are acknowledged
    # that were in flight when it was last reduced, by a loss or a mark.
    timeout_in_a_reduction_reduces: bool = False
    # RFC 5681 equation 4, for losses. RFC 3168 section 6.1.2 goes down to one segment for marks; Linux does not.
    min_window_segments: int = 2
    # Growth by an ACK in slow start: RFC 5681 section 3.1 recommends at most one segment, RFC 3465 section 2.3 two.
    # Linux counts all that is acknowledged. After a timeout it is one segment (RFC 3465 section 2.3).
    slow_start_limit_segments: float = math.inf
    # After a timeout, an ACK counts one segment in congestion avoidance as well.
    timeout_limits_avoidance: bool = True
    # RFC 5681 section 3.1 does not say what becomes of an ACK's bytes that bring the window beyond ssthresh. Linux
    # (tcp_slow_start) goes up to ssthresh, and counts the rest in congestion avoidance.
    slow_start_stops_at_ssthresh: bool = True
    # RFC 5681 section 3.1 and RFC 3465 section 2.1 count what is acknowledged in order. Linux (tcp_cong_avoid) counts
    # what the ACK is the first to tell of: not what was selectively acknowledged before, but what is now.
    growth_counts_what_is_new: bool = True
    # RFC 5681 section 3.1 lets any window grow. Linux (tcp_is_cwnd_limited, in the spirit of RFC 7661) looks whether it
    # limits the sender whenever it has sent what it may; in slow start, half of it has to have been in use. Otherwise:
    # whether it was full when the ACK came.
    validates_as_linux: bool = False
    # RFC 3465 section 2.1 counts bytes in congestion avoidance, and does not say what a reduction does to the count.
    reduction_forgets_counted_bytes: bool = True
    # RFC 5681 section 3.2 step 6 sets cwnd to ssthresh with the ACK that ends recovery. Here this ACK also counts for
    # growth, as after a mark.
    ending_ack_counts: bool = True
    # RFC 6298 section 2: the granularity of the clock. Time is virtual here.
    granularity_ns: int = 0
    # RFC 6298 section 3 speaks of ACKs; selective ones give samples as well, as in Linux.
    samples_from_sacks: bool = True
    # Of several segments that an ACK acknowledges, the one that was sent last gives the sample. Linux takes the first.
    samples_the_latest: bool = True
    # RFC 8985 section 6.2 step 2 compares with the shortest round trip. While there is none, Linux (tcp_rack_advance)
    # takes all ACKs for those of earlier copies; the lab takes none.
    acks_are_early_without_a_round_trip: bool = False
    # RFC 9293 section 3.10.7.4 ignores an ACK below SND.UNA. Linux still uses its selective acknowledgements.
    uses_old_acks: bool = False
    # RFC 3168 section 6.1.2: the ACK of exactly the data before CWR may repeat an echo that is answered.
    echo_up_to_cwr_is_old: bool = True
    # RFC 8257 section 3.3 ends an observation window with the first ACK beyond its last byte; Linux and ns-3 with the
    # ACK of its last byte.
    alpha_ends_with_the_last_byte: bool = True
    # RFC 3168 section 6.1.2 reduces once per window. Here its end is the ACK of its last byte, or as in Linux
    # (tcp_fastretrans_alert) one beyond it: then the receiver has seen CWR.
    mark_holds_the_window_until_cwr: bool = True
    # RFC 5681 section 4.1 leaves ssthresh alone when an idle window restarts. RFC 2861 keeps 3/4 of the window there;
    # Linux (tcp_current_ssthresh) not of one that a mark has just reduced.
    restart_keeps_three_quarters: bool = True
    # RFC 6675 section 5 (A) ends recovery, and the next duplicate ACK begins one if there are losses beyond the
    # recovery point. Linux does not wait for it.
    enters_again_at_once: bool = True


@dataclass(frozen=True)
class Settings:
    """What a host can choose; names are those of `transport`."""

    control: str  # reno, ecn-star, dctcp
    mss: int
    initial_window: int
    min_rto_ns: int
    initial_rto_ns: int
    receive_window: int
    cwnd_validation: bool
    idle_restart: bool
    gain_shift: int
    loss_after_marks: bool
    max_rto_ns: int = 60 * 10**9  # RFC 6298 section 2.5

    @property
    def ecn(self) -> bool:
        return self.control != "reno"


@dataclass(frozen=True)
class Sent:
    """A transmission."""

    number: int
    start: int
    end: int
    at_ns: int


@dataclass(frozen=True)
class Segment:
    """A segment that is not cumulatively acknowledged, as the log of transmissions shows it."""

    start: int
    end: int
    latest: Sent
    again: bool  # whether it was sent more than once

    @property
    def length(self) -> int:
        return self.end - self.start


class RfcSender:
    def __init__(self, settings: Settings, freedoms: Freedoms | None = None) -> None:
        self.settings, self.freedoms = settings, freedoms or Freedoms()
        self.log: list[Sent] = []  # without what is cumulatively acknowledged
        self.sent = 0
        self.sacked: set[int] = set()  # starts of segments
        self.written = self.snd_una = self.snd_nxt = 0
        self.cwnd = settings.initial_window * settings.mss  # RFC 6928; the number of segments is a setting
        self.ssthresh: float = math.inf  # RFC 5681 section 3.1: arbitrarily high
        self.counted = 0
        # Whether the window limits the sender: Linux's is_cwnd_limited, max_packets_out and cwnd_usage_seq.
        self.tried = self.limited = False
        self.most_out = self.usage_ends = 0
        self.state, self.state_ends = "open", 0
        # RFC 6675 section 5 step 4.3: the first retransmission of a recovery does not wait for room.
        self.fast_retransmit = self.rescued = False
        self.at_timeout = 0  # transmissions up to the last timeout
        self.una_at_timeout: int | None = None
        # RFC 8985 section 5.2: RACK.xmit_ts and RACK.end_seq of what was delivered, by its first byte.
        self.rack = (0, 0)
        # RFC 6298
        self.srtt: int | None = None
        self.rttvar = 0
        self.min_rtt: int | None = None
        self.backoff = 0
        self.deadline_ns: int | None = None
        self.last_sent_ns = 0
        # RFC 3168
        self.cwr_due = False
        self.answered: int | None = None  # SND.NXT at the last reduction
        # RFC 8257 section 3.3
        self.alpha_units = ALPHA_ONE
        self.bytes_acked = self.bytes_marked = self.window_end = 0

    # What is known, from the log

    def segments(self) -> list[Segment]:
        """Segments that are not cumulatively acknowledged."""
        found: dict[int, Segment] = {}
        for sent in self.log:
            if sent.end > self.snd_una:
                found[sent.start] = Segment(sent.start, sent.end, sent, sent.start in found)
        return sorted(found.values(), key=lambda segment: segment.start)

    def missing(self) -> list[tuple[Segment, bool]]:
        """Those that are not selectively acknowledged either, and whether they were lost and not sent again since."""
        missing: list[tuple[Segment, bool]] = []
        above: list[Segment] = []
        for segment in reversed(self.segments()):
            if segment.start in self.sacked:
                above.append(segment)
            else:
                missing.insert(0, (segment, self._is_lost(segment, above)))
        return missing

    def _is_lost(self, segment: Segment, above: list[Segment]) -> bool:
        # RFC 6298 section 5 and RFC 6675 section 5.1: a timeout makes everything before it lost.
        if segment.latest.number < self.at_timeout:
            return True
        # RFC 8985 section 6.2: what was sent before something that has arrived; here for retransmissions only, without
        # a reordering window, which is 0 in recovery until reordering is seen.
        if segment.again:
            return (segment.latest.at_ns, segment.start) < self.rack
        # RFC 6675 section 4, IsLost, with the segments that are selectively acknowledged above.
        if self.freedoms.loss_in_segments:
            return len(above) >= 3
        starts = {other.start for other in above}
        ranges = sum(other.end not in starts for other in above)
        return ranges >= 3 or sum(other.length for other in above) > 2 * self.settings.mss

    def lost(self) -> list[Segment]:
        """Segments to be sent again."""
        return [segment for segment, lost in self.missing() if lost]

    @property
    def pipe(self) -> int:
        """RFC 6675 section 4, SetPipe; of what is lost only the retransmission counts."""
        return sum(segment.length for segment, lost in self.missing() if not lost)

    @property
    def alpha(self) -> float | None:
        return self.alpha_units / ALPHA_ONE if self.settings.control == "dctcp" else None

    @property
    def rto_ns(self) -> int:
        """RFC 6298 sections 2 and 5.5."""
        s = self.settings
        base = s.initial_rto_ns
        if self.srtt is not None:
            base = min(max(self.srtt + max(self.freedoms.granularity_ns, 4 * self.rttvar), s.min_rto_ns), s.max_rto_ns)
        return min(base * 2**self.backoff, s.max_rto_ns)

    # Sending

    def write(self, length: int) -> None:
        self.written += length

    def next_segment(self, now_ns: int) -> tuple[int, int, bool, bool, bool] | None:
        self._restart_if_idle(now_ns)
        forced, self.fast_retransmit = self.fast_retransmit, False
        start, end = self._next_range()
        again = start < self.snd_nxt
        self.tried |= start < end and not again
        if start == end or not (self._has_room(end - start) or (forced and again)):
            self._note_usage()
            return None
        self.snd_nxt = max(self.snd_nxt, end)
        self.log.append(Sent(self.sent, start, end, now_ns))
        self.sent += 1
        self.last_sent_ns = now_ns
        if self.deadline_ns is None:
            self.deadline_ns = now_ns + self.rto_ns  # RFC 6298 (5.1)
        # RFC 3168 section 6.1.2: on the first new data after a reduction.
        cwr = self.cwr_due and not again
        self.cwr_due = self.cwr_due and again
        return start, end - start, again, cwr, end == self.written

    def _next_range(self) -> tuple[int, int]:
        """RFC 6675 section 4, NextSeg; an empty range if there is nothing."""
        if lost := self.lost():
            return lost[0].start, lost[0].end  # rule 1
        # Rule 2. A segment that the receiver's window cuts short waits (RFC 9293 section 3.8.6.2.1).
        end = min(self.snd_nxt + self.settings.mss, self.written)
        if self.snd_nxt < end <= self.snd_una + self.settings.receive_window:
            return self.snd_nxt, end
        once = [segment for segment, _ in self.missing() if not segment.again] if self.state == "recovery" else []
        if self.freedoms.sends_again_what_is_not_lost and once and self.sacked and once[0].start < max(self.sacked):
            return once[0].start, once[0].end  # rule 3
        if self.freedoms.sends_the_last_again and once and not self.rescued and self._has_room(once[-1].length):
            self.rescued = True
            return once[-1].start, once[-1].end  # rule 4
        return 0, 0

    def _has_room(self, length: int) -> bool:
        return self.pipe + length <= self.cwnd

    def _note_usage(self) -> None:
        """After new segments were sent, or had no room: Linux's tcp_cwnd_validate."""
        if not self.tried:
            return
        self.tried = False
        out, limited = len(self.segments()), not self._has_room(self.settings.mss)
        if limited or self.snd_una >= self.usage_ends or (not self.limited and out > self.most_out):
            self.limited, self.most_out, self.usage_ends = limited, out, self.snd_nxt

    def _may_grow(self, full: bool) -> bool:
        if not self.settings.cwnd_validation:
            return True
        if not self.freedoms.validates_as_linux:
            return full
        return self.limited or self.cwnd < min(self.ssthresh, 2 * self.settings.mss * self.most_out)

    def _restart_if_idle(self, now_ns: int) -> None:
        """RFC 5681 section 4.1, before it sends: nothing was sent for longer than a timeout."""
        s = self.settings
        waits = self.snd_una == self.snd_nxt < self.written
        if s.idle_restart and waits and now_ns - self.last_sent_ns > self.rto_ns:
            if self.freedoms.restart_keeps_three_quarters and self.state != "cwr":
                self.ssthresh = max(self.ssthresh, self.cwnd // 2 + self.cwnd // 4)
            self.cwnd = min(self.cwnd, s.initial_window * s.mss)

    # Acknowledgements

    def on_ack(self, now_ns: int, ack: int, sacks: list[tuple[int, int]], ece: bool) -> None:
        if ack > self.snd_nxt or (ack < self.snd_una and not self.freedoms.uses_old_acks):
            return
        echo = ece and self.settings.ecn
        self._note_usage()
        full = not self._has_room(self.settings.mss)
        flight = self.snd_nxt - self.snd_una
        news = self._delivered(ack, sacks)
        ack = max(ack, self.snd_una)
        acked, self.snd_una = ack - self.snd_una, ack
        self.log = [sent for sent in self.log if sent.end > ack]
        self.sacked |= {segment.start for segment in news if segment.end > ack}
        if not self.freedoms.flight_before_the_ack:
            flight = self.snd_nxt - self.snd_una
        self._sample(news, now_ns)
        self._note_arrivals(news, now_ns)
        if acked:
            self._estimate_alpha(acked, echo)
        before = self.state
        if before != "open" and self.snd_una >= self.state_ends + self._waits_for_cwr():
            self.state = "open"
        self._detect_loss(flight, bool(self.sacked & {segment.start for segment in news}))
        if echo:
            self._react_to_echo()
        counts = self.state in ("open", "loss") and (before in ("open", "loss") or self.freedoms.ending_ack_counts)
        if acked and counts and self._may_grow(full):
            new = sum(segment.length for segment in news) if self.freedoms.growth_counts_what_is_new else acked
            self._grow(new, before == "loss")
        # RFC 6298 (5.2) and (5.3).
        if self.snd_una == self.snd_nxt:
            self.deadline_ns = None
        elif acked:
            self.deadline_ns = now_ns + self.rto_ns

    def _waits_for_cwr(self) -> bool:
        return self.state == "cwr" and self.freedoms.mark_holds_the_window_until_cwr

    def _delivered(self, ack: int, sacks: list[tuple[int, int]]) -> list[Segment]:
        """Segments of whose arrival this ACK is the first to tell."""
        covers = [(0, ack), *sacks]
        return [
            segment for segment, _ in self.missing() if any(a <= segment.start and segment.end <= b for a, b in covers)
        ]

    def _note_arrivals(self, news: list[Segment], now_ns: int) -> None:
        """RFC 8985 section 6.2 step 2: an ACK that comes too early for a retransmission is that of an earlier copy."""
        free = self.freedoms
        min_rtt = self.min_rtt or (math.inf if self.min_rtt is None and free.acks_are_early_without_a_round_trip else 0)
        for segment in news:
            if not segment.again or now_ns - segment.latest.at_ns >= min_rtt:
                self.rack = max(self.rack, (segment.latest.at_ns, segment.start))

    def _sample(self, news: list[Segment], now_ns: int) -> None:
        """RFC 6298 section 2, in whole ns; section 3 (Karn): not of what was sent twice."""
        times = [
            segment.latest.at_ns
            for segment in news
            if not segment.again and (self.freedoms.samples_from_sacks or segment.end <= self.snd_una)
        ]
        if not times:
            return
        rtt = now_ns - (max(times) if self.freedoms.samples_the_latest else min(times))
        self.min_rtt = min(rtt, self.min_rtt if self.min_rtt is not None else rtt)
        if self.srtt is None:
            self.srtt, self.rttvar = rtt, rtt // 2
        else:
            self.rttvar = (3 * self.rttvar + abs(self.srtt - rtt)) // 4
            self.srtt = (7 * self.srtt + rtt) // 8
        self.backoff = 0

    def _estimate_alpha(self, acked: int, echo: bool) -> None:
        """RFC 8257 section 3.3, in units of 2^-20."""
        self.bytes_acked += acked
        self.bytes_marked += acked * echo
        if self.snd_una > self.window_end - self.freedoms.alpha_ends_with_the_last_byte:
            shift = self.settings.gain_shift
            fraction = self.bytes_marked * ALPHA_ONE // self.bytes_acked
            self.alpha_units += (fraction >> shift) - (self.alpha_units >> shift)
            self.bytes_acked = self.bytes_marked = 0
            self.window_end = self.snd_nxt

    # The window

    def _detect_loss(self, flight: int, duplicate: bool) -> None:
        """RFC 6675 section 5 steps 2 and 4; section 5.1: not before all that was sent before a timeout has arrived."""
        if self.state not in ("open", "cwr") or not self._has_unanswered_loss(duplicate):
            return
        before = self.cwnd
        # RFC 3168 section 6.1.2: a loss in a window that a mark has reduced does not reduce it again. RFC 8257
        # section 3.5 wants it to, as alpha may have reduced it by little.
        if not self._is_answered_by_a_mark():
            self._reduce(self._flight(flight) // 2)
        elif self.settings.control == "dctcp" and self.settings.loss_after_marks:
            takes_all = self.freedoms.loss_after_marks_takes_all_in_flight
            self._reduce((flight if takes_all else self._flight(flight)) // 2)
            self.ssthresh = min(self.ssthresh, before)
        self.state, self.state_ends = "recovery", self.snd_nxt
        self.fast_retransmit, self.rescued = True, False

    def _is_answered_by_a_mark(self) -> bool:
        """RFC 3168 section 6.1.2: not if the segment with CWR is lost, the first one after the reduction."""
        return self.state == "cwr" and self.snd_una < self.state_ends

    def _has_unanswered_loss(self, duplicate: bool) -> bool:
        """Whether segments were lost, of which the recovery before may have sent some again."""
        known = any(lost or segment.again for segment, lost in self.missing())
        return known and (duplicate or self.freedoms.enters_again_at_once)

    def _flight(self, flight: int) -> int:
        return min(flight, self.cwnd) if self.freedoms.flight_at_most_cwnd else flight

    def _react_to_echo(self) -> None:
        """RFC 3168 section 6.1.2: once per window. The reduction is RFC 8257's section 3.3, or half."""
        old = self.freedoms.echo_up_to_cwr_is_old
        if self.state == "open" and (self.answered is None or self.snd_una > self.answered - (not old)):
            cut = self.cwnd * self.alpha_units // (2 * ALPHA_ONE)
            self._reduce(self.cwnd - cut if self.settings.control == "dctcp" else self.cwnd // 2)
            self.state, self.state_ends = "cwr", self.snd_nxt

    def _reduce(self, window: int) -> None:
        self.ssthresh = max(window, self.freedoms.min_window_segments * self.settings.mss)
        self.cwnd = min(self.cwnd, int(self.ssthresh))
        if self.freedoms.reduction_forgets_counted_bytes:
            self.counted = 0
        self._note_reduction()

    def _note_reduction(self) -> None:
        # RFC 3168 section 6.1.2: CWR goes out after a reduction for any reason.
        self.cwr_due = self.settings.ecn
        self.answered = self.snd_nxt

    def _grow(self, acked: int, after_timeout: bool) -> None:
        """RFC 5681 section 3.1, counted in bytes (RFC 3465 section 2).

        Section 2.3 there: after a timeout an ACK may cover much that arrived before, and counts one segment.
        """
        free = self.freedoms
        limit = (1 if after_timeout else free.slow_start_limit_segments) * self.settings.mss
        if after_timeout and free.timeout_limits_avoidance:
            acked = int(min(acked, limit))
        if self.cwnd < self.ssthresh:
            room = self.ssthresh - self.cwnd if free.slow_start_stops_at_ssthresh else math.inf
            self.cwnd += int(min(acked, limit, room))
            acked = int(max(acked - room, 0))
        if not acked or self.cwnd < self.ssthresh:
            return
        self.counted += acked
        if self.counted >= self.cwnd:
            self.counted -= self.cwnd
            self.cwnd += self.settings.mss

    def on_timeout(self, now_ns: int) -> None:
        """RFC 6298 (5.4) to (5.6), and RFC 5681 section 3.1."""
        if self._timeout_reduces():
            least = self.freedoms.min_window_segments * self.settings.mss
            self.ssthresh = max(self._flight(self.snd_nxt - self.snd_una) // 2, least)
        self.cwnd = self.settings.mss  # the loss window
        self.counted = 0
        self.at_timeout, self.una_at_timeout = self.sent, self.snd_una
        self.state, self.state_ends = "loss", self.snd_nxt
        self.fast_retransmit = False
        self._note_reduction()
        self.backoff += 1
        self.deadline_ns = now_ns + self.rto_ns

    def _timeout_reduces(self) -> bool:
        """RFC 5681 section 3.1: ssthresh is held if the timer has sent this segment before."""
        if self.state in ("cwr", "recovery") and self.snd_una < self.state_ends:
            return self.freedoms.timeout_in_a_reduction_reduces
        return self.una_at_timeout != self.snd_una
