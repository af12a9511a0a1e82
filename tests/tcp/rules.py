# SPDX-License-Identifier: MIT OR Apache-2.0
"""What holds for every sender at every event, whatever it chooses where the RFCs leave a choice."""

from __future__ import annotations

import math

from lockstep import MSS, Event, Game, View

LONGEST_RTO_NS = 60 * 10**9
LEAST = 2 * MSS


def loss_never_raises_a_window(game: Game, name: str, event: Event, before: View, after: View) -> str | None:
    """RFC 5681 section 3.1: to half of what was in flight, which was at most the window; or held."""
    if event.kind == "timeout" or after.state == "recovery" != before.state:
        rose = after.ssthresh > before.ssthresh or math.isinf(before.ssthresh)
        if rose and after.ssthresh > max(before.cwnd // 2, LEAST):
            return f"ssthresh from {before.ssthresh} to {after.ssthresh}, with a window of {before.cwnd}"
        if after.cwnd > before.cwnd:
            return f"cwnd from {before.cwnd} to {after.cwnd}"
    return None


def growth_is_bounded(game: Game, name: str, event: Event, before: View, after: View) -> str | None:
    """RFC 5681 section 3.1 with the bytes of RFC 3465; after a timeout a segment per ACK (RFC 3465 section 2.3).

    Bytes that were selectively acknowledged before do not count again. Slow start ends at ssthresh.
    """
    growth = after.cwnd - before.cwnd
    if event.kind != "ack" or growth <= 0:
        return None
    limit = event.new
    if before.state == "loss" or before.cwnd >= before.ssthresh:
        limit = MSS
    elif after.cwnd > after.ssthresh:
        limit = min(limit, int(after.ssthresh) - before.cwnd + MSS)
    if after.state in ("cwr", "recovery"):
        limit = 0
    return f"cwnd grew by {growth}, {limit} at most" if growth > limit else None


def bytes_are_conserved(game: Game, name: str, event: Event, before: View, after: View) -> str | None:
    """RFC 6675 section 4: the pipe is what the network holds, and what is lost and not known to be.

    Reordering and timeouts may take for lost what is not, and ACKs that arrive at the same time: then RFC 8985 section
    5.2 does not know what was sent first.
    """
    outstanding = sum(game.length[at] for at in game.outstanding(after))
    known = sum(
        length for at, length in game.length.items() if after.snd_una <= at < after.snd_nxt and at in game.known
    )
    if after.snd_nxt - after.snd_una - known != outstanding:
        return f"{outstanding} bytes in flight, {after.snd_nxt - after.snd_una - known} by SND.NXT and SND.UNA"
    if not 0 <= after.pipe <= outstanding:
        return f"pipe is {after.pipe}, {outstanding} bytes are in flight"
    taken_for_lost = outstanding - after.pipe
    reordered = game.two_acks_at_once or any(isinstance(fate, int) for _, _, fate in game.script.data)
    if not game.timeouts and not reordered and taken_for_lost > game.really_lost(after):
        return f"takes {taken_for_lost} bytes for lost, of which {game.really_lost(after)} are"
    return None


def never_stuck(game: Game, name: str, event: Event, before: View, after: View) -> str | None:
    """RFC 6298 section 5: the timer runs while data are unacknowledged. Data do not wait while nothing is in flight."""
    if event.kind != "sent":
        return None
    if after.snd_una == after.snd_nxt:
        if after.deadline_ns is not None:
            return "the timer runs, and nothing is in flight"
        return "nothing is in flight, and data wait" if after.snd_nxt < game.written else None
    if after.deadline_ns is None:
        return "data are in flight, and no timer runs"
    if not game.now_ns <= after.deadline_ns <= game.now_ns + LONGEST_RTO_NS:
        return f"the timer is at {after.deadline_ns} ns"
    return None


def marks_reduce_once_per_window(game: Game, name: str, event: Event, before: View, after: View) -> str | None:
    """RFC 3168 section 6.1.2: an echo of data that were sent before the last reduction reduces nothing; others do."""
    last = game.reduced_at.get(name)
    # With alpha at 0, or at the smallest window, a reduction changes nothing.
    enters = before.state != after.state == "cwr" or (before.state == "open" and after.state == "recovery")
    reduced = event.kind == "timeout" or after.cwnd < before.cwnd or enters
    broken = None
    if event.kind == "ack" and event.ece and game.script.control != "reno" and event.ack >= before.snd_una:
        old = last is not None and after.snd_una <= last
        if old and after.state == "cwr" and after.cwnd < before.cwnd:
            broken = f"a second reduction for data before {last}"
        if not old and after.state == "open":
            broken = f"no reduction, though the last one was at {last}"
    if event.kind in ("ack", "timeout") and reduced:
        game.reduced_at[name] = after.snd_nxt
    return broken


def losses_are_repaired_in_recovery(game: Game, name: str, event: Event, before: View, after: View) -> str | None:
    """RFC 6675 section 5: what counts as lost begins a recovery, which reduces the window; as in Linux at once."""
    if event.kind != "ack" or after.state != "open":
        return None
    outstanding = list(game.outstanding(after))
    again = sum(game.length[at] for at in outstanding if game.copies[at] > 1)
    taken_for_lost = sum(game.length[at] for at in outstanding) - after.pipe
    return f"{taken_for_lost} bytes count as lost, {again} were sent again" if taken_for_lost or again else None


RULES = {
    "a loss never raises ssthresh": loss_never_raises_a_window,
    "growth is bounded": growth_is_bounded,
    "bytes are conserved": bytes_are_conserved,
    "never stuck": never_stuck,
    "marks reduce once per window": marks_reduce_once_per_window,
    "losses are repaired in recovery": losses_are_repaired_in_recovery,
}
