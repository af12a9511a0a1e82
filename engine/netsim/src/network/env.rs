// SPDX-License-Identifier: MIT OR Apache-2.0
//! What nodes use besides their own state: the time, pending events, unused frames and counts of their shard, and what is
//! the same for all and never changes during a run.

use std::sync::Arc;

use hdrhistogram::Histogram;
use marklab_units::{Duration, Framing, Time};

use super::RunError;
use super::event::Event;
use super::flows::Plan;
use super::outbox::Outbox;
use crate::config::{Connections, Dcqcn, Discipline, Nic, Pfc, Probe, Transport};
use crate::ecn::EcnInterference;
use crate::events::EventQueue;
use crate::flow_trace::FlowTrace;
use crate::frame::{FramePool, NetFrame};
use crate::ledger::{Ledger, Reason};
use crate::packet_trace::{Notable, PacketRow, PacketTrace, Stay, TracePackets};
use crate::sender_trace::SenderTrace;
use crate::tcp::SenderStats;
use crate::traffic::Flow;

/// Longest round-trip time of the histogram; longer ones count as this.
const LONGEST_RTT_NS: u64 = 60_000_000_000;

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
    pub(super) trace_senders: Option<Duration>,
    pub(super) trace_packets: Option<TracePackets>,
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

    /// Whether another flow follows on the connection of this one.
    pub(super) fn goes_on(&self, flow: u32) -> bool {
        let followers = self.plan.followers();
        followers
            .of(flow)
            .filter_map(|at| self.flows.get(followers.all[at].number as usize)?.after)
            .any(|after| after.same_connection)
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

/// Packets of a priority.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct PriorityStats {
    /// Packets with data that hosts have sent.
    pub sent: u64,
    /// Packets that arrived at a switch ECN capable and left it with congestion experienced.
    pub marked: u64,
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
    pub(super) packet_trace: Option<Box<PacketTrace>>,
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
            sender_trace: shared.trace_senders.map(|interval| Box::new(SenderTrace::new(interval, flows))),
            packet_trace: shared.trace_packets.as_ref().map(|traced| Box::new(PacketTrace::new(traced.last))),
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
        if let (Some(trace), Some(other)) = (&mut self.packet_trace, other.packet_trace) {
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
    pub(super) fn new(shared: &Arc<Shared>, trace_flows_ns: Option<u64>, events: EventQueue<Event>) -> Env {
        Env {
            now: Time::ZERO,
            events,
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

    /// Records a packet whose stay at a port of a switch has ended, if it is one of those that are recorded.
    #[cold]
    pub(super) fn trace_packet(&mut self, node: u32, port: Option<usize>, queue: usize, frame: &NetFrame, stay: Stay) {
        let (Some(traced), Some(trace)) = (&self.shared.trace_packets, &mut self.tally.packet_trace) else { return };
        let here = || port.is_some_and(|port| traced.ports.contains(&(node as usize, port)));
        let happened = |&what: &Notable| match what {
            Notable::Mark => matches!(stay, Stay::Sent { marked: true, .. }),
            Notable::Loss => matches!(stay, Stay::Lost(_)),
        };
        // Of connections that serve several flows, the flow is known after the run; it has the same hosts.
        let of_flow = |flow| {
            let hosts = |flow| [self.shared.flow(flow).src, self.shared.flow(flow).dst];
            self.shared.opener(frame.connection).is_some_and(|opener| hosts(opener) == hosts(flow))
        };
        if (traced.ports.is_empty() || here())
            && (traced.only.is_empty() || traced.only.iter().any(happened))
            && traced.flow.is_none_or(of_flow)
        {
            trace.add(PacketRow {
                time: self.now,
                node,
                port: port.map(|port| port as u16),
                queue: queue as u8,
                five_tuple: frame.five_tuple(),
                flow: None,
                bytes: frame.packet.len() as u32,
                stay,
            });
        }
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
