# SPDX-License-Identifier: MIT OR Apache-2.0
"""The web's flows: sessions of pages, pages of objects, each object a flow that its client asks for.

Times do not depend on the network, as in a trace that is replayed (ECN+ paper, section 4.2): so many sessions are
active all the time, each with one page after the other. A page's objects begin one by one; when the last has begun the
reader thinks, and then the next page begins. Think times are Pareto's, and a session is somewhere in one of them when
the run begins, as if it had been there for ever.

In a closed loop the same times count from the end of the object before, so that a slow network is asked for less (the
customers of section 7): the list has what readers would ask for of a network that takes no time. In a loop of a page
only its objects wait for each other, and pages begin at their times.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from marklab.errors import BadInput
from marklab.prepare.delivered import Wire, calibrated
from marklab.spec.description import Spec
from marklab.statistics.randomness import Floats, exp, exponential, integers, log, uniform
from marklab.topology import Network
from marklab.traffic.description import Sessions
from marklab.traffic.flows import FlowList, UInt64, make_flows

# Of what is expected in the time; the rest is cut off.
_SPARE = 1.3
# A century.
_NEVER_NS = 3.2e18
# No reader had begun a page so many mean pages before the run: fewer than one in 20,000 is longer.
_RUN_UP_PAGES = 10


def web_flows(spec: Spec, sessions: Sessions, network: Network, seed: int, wire: Wire) -> FlowList:
    """The first flows of so many sessions that they make up the load, in order of their start.

    The load is that of the very objects that are drawn, whose mean is far from the distribution's where its tail is
    heavy, or of what an empty line delivers of them. `wire` gives the bytes on a line of flows, by their sizes.
    """
    sizes = spec.workload.sizes(uniform(seed, "sizes", spec.flows))
    count = _active(spec, sessions, network, float(np.mean(wire(sizes))))
    return calibrated(
        spec, network, seed, wire, lambda times: _of(spec, sessions, network, seed, sizes, max(1, round(times * count)))
    )


def _of(spec: Spec, sessions: Sessions, network: Network, seed: int, sizes: UInt64, count: int) -> FlowList:
    """The first flows of so many sessions."""
    end_ns = _SPARE * spec.flows * sessions.cycle_ns / (count * sessions.objects)
    end_ns += _RUN_UP_PAGES * sessions.objects * sessions.gap_ns
    session, page, start_ns = _objects(sessions, count, seed, end_ns)
    # Pages were under way as well when the run began.
    before_ns = np.uint64(_RUN_UP_PAGES * sessions.objects * sessions.gap_ns)
    there = start_ns >= before_ns
    session, page, start_ns = session[there], page[there], start_ns[there] - before_ns
    first = np.argsort(start_ns, kind="stable")[: spec.flows]
    if len(first) < spec.flows:
        raise BadInput(
            f"{count} session(s) are too few for {spec.flows:,} flows", "a higher load, or a shorter `think`"
        )
    session, page = session[first], page[first]
    pairs = integers(uniform(seed, "pairs", count), len(network.pairs))
    flows = make_flows(
        start_ns=start_ns[first],
        pairs=network.pairs.take(pairs[session]),
        size_bytes=sizes,
        extra_delay_ns=spec.rtt.extra_delays(uniform(seed, "rtt", count))[session],
    )
    if spec.ecn_share is not None:
        # Clients are few and sessions many, so that it is sessions that take part in ECN or do not.
        flows = replace(flows, ecn=(uniform(seed, "ecn", count) < spec.ecn_share)[session])
    if not sessions.closed_loop:
        return flows
    after = _before(session)
    same_page = (after >= 0) & (page == page[after])
    if sessions.closed_loop == "page":
        after = np.where(same_page, after, -1)
    return _to_the_end(spec, replace(flows, after=after, same_connection=same_page & sessions.persistent))


def _before(session: NDArray[np.intp]) -> NDArray[np.int64]:
    """The row of the object before each in its session, or -1."""
    after = np.full(len(session), -1)
    by_session = np.argsort(session, kind="stable")
    alike = session[by_session][1:] == session[by_session][:-1]
    after[by_session[1:][alike]] = by_session[:-1][alike]
    return after


def _to_the_end(spec: Spec, flows: FlowList) -> FlowList:
    """Refuse a run with an end that readers do not reach even if the network takes no time."""
    end_ns, last_ns = spec.until_ns or 0, int(flows.start_ns[-1])
    if last_ns < end_ns:
        needed = math.ceil(1.1 * spec.flows * end_ns / max(last_ns, 1))
        raise BadInput(
            f"readers have asked for {spec.flows:,} flows after {last_ns / 1e9:.1f} s, before the run ends",
            f"--flows {needed}, or an `until` of less",
        )
    return flows


def _active(spec: Spec, sessions: Sessions, network: Network, mean_wire_bytes: float) -> int:
    """How many sessions make up the load."""
    bits = sessions.objects * mean_wire_bytes * 8 * network.bottleneck_share
    count = round(spec.load * network.bottleneck_bps * sessions.cycle_ns / 1e9 / bits)
    if count < 1:
        raise BadInput(f"a load of {spec.load:g} is less than one session makes", "a higher load, or a shorter `think`")
    return count


def _objects(
    sessions: Sessions, count: int, seed: int, end_ns: float
) -> tuple[NDArray[np.intp], NDArray[np.intp], UInt64]:
    """Session, page and start of each object of the pages that begin before the end, page by page."""
    session, page_ns = np.arange(count), _left_of_think(sessions, uniform(seed, "web begin", count))
    found: list[tuple[NDArray[np.intp], NDArray[np.intp], UInt64]] = []
    turn = 0
    while (there := page_ns < end_ns).any():
        session, page_ns = session[there], page_ns[there]
        objects = _numbers(sessions, uniform(seed, f"web objects {turn}", count)[session])
        page = np.repeat(np.arange(len(session)), objects)
        gaps_ns = _whole(exponential(uniform(seed, f"web gaps {turn}", len(page))) * sessions.gap_ns)
        firsts = np.cumsum(objects) - objects
        gaps_ns[firsts] = 0
        passed_ns = np.cumsum(gaps_ns)
        start_ns = page_ns[page] + passed_ns - passed_ns[firsts][page]
        found.append((session[page], np.full(len(page), turn), start_ns))
        lasts = firsts + objects - 1
        page_ns = start_ns[lasts] + _think(sessions, uniform(seed, f"web think {turn}", count)[session])
        turn += 1
    if not found:
        return session[:0], session[:0], page_ns[:0]
    each, pages, starts = (np.concatenate(column) for column in zip(*found, strict=True))
    return each, pages, starts


def _numbers(sessions: Sessions, draws: Floats) -> NDArray[np.int64]:
    """Objects of pages: geometric, one at least."""
    if sessions.objects == 1:
        return np.ones(len(draws), dtype=np.int64)
    last = np.array([1 - 1 / sessions.objects])
    return 1 + np.floor(log(1.0 - draws) / log(last)).astype(np.int64)


def _think(sessions: Sessions, draws: Floats) -> UInt64:
    """Pareto's distribution of the mean and shape."""
    shape = sessions.think_shape
    shortest = sessions.think_ns * (shape - 1) / shape
    return _whole(shortest * exp(log(1.0 - draws) / -shape))


def _left_of_think(sessions: Sessions, draws: Floats) -> UInt64:
    """What is left of a think time under way: P(left <= t) is the integral of P(think > u) over u < t, by the mean."""
    shape, mean = sessions.think_shape, float(sessions.think_ns)
    shortest = mean * (shape - 1) / shape
    tail = np.minimum(shape * (1.0 - draws), 1.0)
    return _whole(np.where(draws < (shape - 1) / shape, draws * mean, shortest * exp(log(tail) / (1 - shape))))


def _whole(times_ns: Floats) -> UInt64:
    return np.floor(np.minimum(times_ns, _NEVER_NS) + 0.5).astype(np.uint64)
