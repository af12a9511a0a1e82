// SPDX-License-Identifier: MIT OR Apache-2.0
//! What nodes use besides their own state: the time, pending events, unused frames and counts of their shard, and what is
//! the same for all and never changes during a run.

use std::sync::Arc;

use hdrhistogram::Histogram;
use marklab_prefetch::prefetch;
use marklab_units::{Duration, Framing, Time};

use super::flows::Plan;
use super::outbox::Outbox;
use super::pause::PauseFrame;
use super::{PriorityStats, RunError};
use crate::config::{Connections, Dcqcn, Discipline, Flow, Nic, Pfc, Probe, Transport};
use crate::ecn::EcnInterference;
use crate::events::{EventQueue, Form, Ranked};
use crate::flow_trace::FlowTrace;
use crate::frame::{FramePool, NetFrame};
use crate::ledger::{Ledger, Reason};
use crate::sender_trace::SenderTrace;
use crate::tcp::SenderStats;

/// Longest round-trip time of the histogram; longer ones count as this.
const LONGEST_RTT_NS: u64 = 60_000_000_000;

/// A future event of a node.
#[derive(Debug)]
pub(super) enum Event {
    /// A frame arrives at a port.
    Arrival { port: u16, node: u32, frame: Box<NetFrame> },
    /// A pause frame arrives at a port.
    Pause { port: u16, node: u32, frame: Box<PauseFrame> },
    /// The transmitter of a port becomes free.
    Free { port: u16, node: u32 },
    /// A pause frame leaves a port. What it says is fixed now.
    PauseLeaves { port: u16, node: u32 },
    /// Frames that a switch made wait at a port without a link, and are discarded.
    Discard { port: u16, node: u32 },
    /// The queues of a switch are sampled.
    Sample { node: u32 },
    /// The arrivals end: what the lines of a node have carried by now is noted.
    ArrivalsEnd { node: u32 },
    /// The next flow of a host starts.
    Start { node: u32 },
    /// A flow starts that waited for another flow on a connection.
    Follow { node: u32, flow: u32, connection: u32 },
    /// The host that starts a flow tells the other host of it: an application that has agreed on it by other means.
    Notice { open: bool, node: u32, flow: u32, connection: u32 },
    /// The receiver of a flow tells the sender that the flow's connection is free.
    Freed { node: u32, flow: u32, connection: u32 },
    /// A probe sends its next request.
    Probe { node: u32, number: u32 },
    /// A rate-limited application writes more.
    Write { node: u32, client: u32 },
    /// A sender's timer may have expired.
    ClientTimer { node: u32, client: u32 },
    /// A receiver's timer may have expired.
    ServerTimer { node: u32, server: u32 },
    /// The first frame in a receiver's delay line is due.
    Release { node: u32, server: u32 },
    /// The time may have passed that segments merged by a receiver's NIC wait.
    HandUp { node: u32, server: u32 },
    /// A queue pair's application writes more.
    PairWrite { node: u32, pair: u32 },
    /// A queue pair's sender handles an answer that arrived earlier.
    PairHear { node: u32, pair: u32 },
    /// A queue pair's timer may have expired.
    PairTimer { node: u32, pair: u32 },
    /// A queue pair of a host may send.
    Pace { node: u32 },
}

impl Ranked for Event {
    /// The order among events of a node at the same time must not depend on when they became known. What comes from other
    /// nodes is ordered by what it is, and a node's own events in the order in which it added them. Timers come before
    /// frames, and frames before the ends of transmissions: what arrives just then finds the queue as it was.
    ///
    /// Of frames that arrive by different ports, each is the first about as often as the others: a fixed order would favour
    /// the same hosts in every tie.
    #[inline(always)]
    fn rank(&self, time: Time) -> u64 {
        match *self {
            Event::Notice { flow, .. } | Event::Freed { flow, .. } | Event::Follow { flow, .. } => u64::from(flow),
            Event::Arrival { port, node, .. } | Event::Pause { port, node, .. } => {
                let node = u64::from(node);
                let shuffled = port ^ (shuffle(time, node) & PORT_BITS);
                1 << 63 | node << 16 | u64::from(shuffled)
            }
            Event::Free { .. } | Event::PauseLeaves { .. } | Event::Discard { .. } => LAST,
            Event::Sample { .. } | Event::ArrivalsEnd { .. } => LAST,
            _ => 1 << 62,
        }
    }
}

/// The rank of what comes after all else.
const LAST: u64 = u64::MAX;

/// Bits of the largest number of a port.
const PORT_BITS: u16 = (1 << 9) - 1;

/// Bits that depend on time and node as if drawn (Fibonacci hashing).
fn shuffle(time: Time, node: u64) -> u16 {
    ((time.nanos() ^ node << 40).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 48) as u16
}

impl Event {
    /// Prefetches what it will need.
    #[inline(always)]
    pub(super) fn prefetch(&self) {
        if let Event::Arrival { frame, .. } = self {
            prefetch(&**frame);
        }
    }

    /// The node whose event it is.
    pub(super) fn node(&self) -> u32 {
        match *self {
            Event::Arrival { node, .. }
            | Event::Pause { node, .. }
            | Event::Free { node, .. }
            | Event::PauseLeaves { node, .. }
            | Event::Discard { node, .. }
            | Event::Sample { node }
            | Event::ArrivalsEnd { node }
            | Event::Start { node }
            | Event::Follow { node, .. }
            | Event::Notice { node, .. }
            | Event::Freed { node, .. }
            | Event::Probe { node, .. }
            | Event::Write { node, .. }
            | Event::ClientTimer { node, .. }
            | Event::ServerTimer { node, .. }
            | Event::Release { node, .. }
            | Event::HandUp { node, .. }
            | Event::PairWrite { node, .. }
            | Event::PairHear { node, .. }
            | Event::PairTimer { node, .. }
            | Event::Pace { node } => node,
        }
    }
}

// Four to a cache line, with their times and places in lists two.
const _: () = assert!(size_of::<Event>() == 16);

/// What is the same for all nodes, and does not change during a run.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) framing: Framing,
    pub(super) transport: Transport,
    pub(super) nic: Nic,
    pub(super) mode: Connections,
    /// Rates of queue pairs, in runs that use them instead of connections.
    pub(super) rates: Option<Dcqcn>,
    pub(super) pfc: Option<Pfc>,
    /// Demotion thresholds in bytes, where hosts tag packets by the bytes that their flow has sent.
    pub(super) pias: Option<Vec<u64>>,
    pub(super) probes: Vec<Probe>,
    pub(super) flows: Vec<Flow>,
    pub(super) plan: Plan,
    /// Ethernet and IPv4 addresses of hosts, by node.
    pub(super) addresses: Vec<([u8; 6], u32)>,
    /// Whether NICs write the time into the segments that they send.
    pub(super) stamps: bool,
    pub(super) trace_flows: bool,
    pub(super) trace_senders: bool,
    pub(super) sample_interval: Duration,
    pub(super) sample_until: Time,
}

impl Shared {
    /// Whether NICs serve their connections in turn.
    pub(super) fn fair(&self) -> bool {
        self.nic.discipline == Discipline::Fair
    }

    /// The flow that opened a connection or queue pair; `None` for probes.
    #[inline(always)]
    pub(super) fn opener(&self, connection: u32) -> Option<u32> {
        connection.checked_sub(self.probes.len() as u32)
    }

    /// The number in frames of the connection or queue pair that a flow opens. Those of probes are the first.
    pub(super) fn connection_of(&self, flow: u32) -> u32 {
        flow + self.probes.len() as u32
    }

    pub(super) fn flow(&self, flow: u32) -> &Flow {
        &self.flows[flow as usize]
    }
}

/// What the sending host knows of a flow at its end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sent {
    pub(super) flow: u32,
    pub(super) sender: SenderStats,
    pub(super) base_delay: Option<Duration>,
}

/// What the receiving host knows of a flow at its end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Received {
    pub(super) flow: u32,
    /// `None` if the flow has not finished.
    pub(super) fct: Option<Duration>,
    pub(super) marked: u64,
    pub(super) delivered_bytes: u64,
    /// Packets of the handshake and requests that the receiver repeated.
    pub(super) repeated: u64,
}

/// Counts and records of the nodes of a shard. Those of all shards are put together in an order that does not depend on
/// the shards.
pub(super) struct Tally {
    pub(super) ledger: Ledger,
    pub(super) ecn: EcnInterference,
    pub(super) rtts: Histogram<u64>,
    pub(super) sent: Vec<Sent>,
    pub(super) received: Vec<Received>,
    /// Starts of flows that waited for another flow.
    pub(super) followed: Vec<(u32, Time)>,
    /// Flows that began on a connection that an earlier flow had opened: connection, time and flow.
    pub(super) reused: Vec<(u32, Time, u32)>,
    pub(super) flow_trace: Option<Box<FlowTrace>>,
    pub(super) sender_trace: Option<Box<SenderTrace>>,
    /// Packets per code point, where hosts tag packets.
    pub(super) priorities: Vec<PriorityStats>,
    /// Flows whose last byte has arrived, and the time of the last one.
    pub(super) finished: usize,
    pub(super) last_finish: Time,
    /// First failure, which ends the run: its time, its node and what it is.
    pub(super) failure: Option<(Time, u32, RunError)>,
}

impl Tally {
    pub(super) fn new(shared: &Shared, trace_flows_ns: Option<u64>) -> Tally {
        let flows = shared.flows.len();
        Tally {
            ledger: Ledger::default(),
            ecn: EcnInterference::default(),
            rtts: Histogram::new_with_max(LONGEST_RTT_NS, 2).expect("a range that a histogram can have"),
            sent: Vec::new(),
            received: Vec::new(),
            followed: Vec::new(),
            reused: Vec::new(),
            flow_trace: trace_flows_ns.map(|interval| Box::new(FlowTrace::new(interval, flows))),
            sender_trace: shared.trace_senders.then(|| Box::new(SenderTrace::new(flows))),
            priorities: vec![
                PriorityStats::default();
                shared.pias.as_ref().map_or(0, |thresholds| thresholds.len() + 1)
            ],
            finished: 0,
            last_finish: Time::ZERO,
            failure: None,
        }
    }

    /// Adds what other nodes have counted and recorded.
    pub(super) fn merge(&mut self, other: Tally) {
        self.ledger.merge(&other.ledger);
        self.ecn.merge(other.ecn);
        self.rtts.add(&other.rtts).expect("all have the same range");
        self.sent.extend(other.sent);
        self.received.extend(other.received);
        self.followed.extend(other.followed);
        self.reused.extend(other.reused);
        if let (Some(trace), Some(other)) = (&mut self.flow_trace, other.flow_trace) {
            trace.merge(*other);
        }
        if let (Some(trace), Some(other)) = (&mut self.sender_trace, other.sender_trace) {
            trace.merge(*other);
        }
        for (stats, other) in self.priorities.iter_mut().zip(other.priorities) {
            stats.sent += other.sent;
            stats.marked += other.marked;
        }
        self.finished += other.finished;
        self.last_finish = self.last_finish.max(other.last_finish);
        let at = |failure: &Option<(Time, u32, RunError)>| failure.as_ref().map(|&(time, node, _)| (time, node));
        let earlier = at(&other.failure).is_some_and(|theirs| at(&self.failure).is_none_or(|ours| theirs < ours));
        if earlier {
            self.failure = other.failure;
        }
    }
}

/// The surroundings of a node.
pub(super) struct Env {
    pub(super) now: Time,
    pub(super) events: EventQueue<Event>,
    pub(super) frames: FramePool,
    pub(super) shared: Arc<Shared>,
    pub(super) tally: Tally,
    /// Where events for later windows go, if there are any: that of the thread that serves the shard.
    pub(super) outbox: Option<Box<Outbox>>,
}

impl Env {
    pub(super) fn new(shared: &Arc<Shared>, trace_flows_ns: Option<u64>, form: Form) -> Env {
        Env {
            now: Time::ZERO,
            events: EventQueue::new(form),
            frames: FramePool::default(),
            shared: shared.clone(),
            tally: Tally::new(shared, trace_flows_ns),
            outbox: None,
        }
    }

    /// Adds an event of the node that is being served.
    #[inline(always)]
    pub(super) fn push(&mut self, time: Time, event: Event) {
        self.events.push(time, event);
    }

    /// Adds an event of any node.
    #[inline(always)]
    pub(super) fn deliver(&mut self, time: Time, node: u32, event: Event) {
        if let Some(outbox) = &mut self.outbox
            && time >= outbox.until
        {
            return outbox.put(time, node, event);
        }
        self.events.push(time, event);
    }

    /// Counts a lost frame. In a lossless switch, it has to be let go before.
    pub(super) fn lose(&mut self, node: u32, port: Option<usize>, reason: Reason, frame: Box<NetFrame>) {
        self.tally.ledger.add(node as usize, port, reason);
        self.frames.give(frame);
    }

    #[cold]
    pub(super) fn fail(&mut self, node: u32, error: RunError) {
        self.tally.failure.get_or_insert((self.now, node, error));
    }

    /// A flow begins on a connection that a flow has opened.
    pub(super) fn begins_on(&mut self, flow: u32, opener: u32, connection: u32) {
        if flow != opener {
            self.tally.reused.push((connection, self.now, flow));
        }
    }

    /// A flow's last byte has arrived.
    pub(super) fn finish(&mut self, received: Received) {
        self.tally.received.push(received);
        self.tally.finished += 1;
        self.tally.last_finish = self.now;
    }
}
