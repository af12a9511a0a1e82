// SPDX-License-Identifier: MIT OR Apache-2.0
//! What was observed in a run, put together from all nodes in an order that does not depend on how they were served.

use std::sync::Arc;

use marklab_observe::{Passage, PortTrace};
use marklab_units::{Duration, Time};

use super::env::{Env, Shared, Tally};
use super::pause::PausedLine;
use super::reused::Reused;
use super::shard::Node;
use super::{FlowRecord, LineReport, Outcome, PriorityStats, RunError};
use crate::events::EventQueue;
use crate::queue_samples::{QueueSamples, SampledPort};
use crate::traffic::Flow;

/// A network at the end of its run.
pub(super) struct Ended {
    pub(super) nodes: Vec<Node>,
    pub(super) tally: Tally,
    pub(super) lines: Vec<[(usize, usize); 2]>,
    pub(super) traces: Vec<(usize, usize)>,
    pub(super) sampled: bool,
    pub(super) events: u64,
    pub(super) end: Time,
}

impl Ended {
    /// The outcome of the run.
    ///
    /// # Errors
    ///
    /// If a capture could not be written.
    pub(super) fn outcome(mut self, shared: &Arc<Shared>, trace_flows_ns: Option<u64>) -> Result<Outcome, RunError> {
        self.record_unfinished(shared, trace_flows_ns);
        self.finish_captures()?;
        let lines: Vec<_> = self.lines.iter().map(|&[from, to]| self.line(shared, from, to)).collect();
        let transmissions = self.transmissions();
        let starts = self.starts(shared);
        let flows = self.flows(shared.flows.len());
        let reused = Reused::of(&self.tally);
        let traces = self.traces(shared, &reused);
        self.end_packet_trace(shared, &reused);
        let probes = self.probes(shared);
        let queue_samples = self.sampled.then(|| self.samples());
        let switches = self.nodes.into_iter().filter_map(|node| match node {
            Node::Switch(switch) => Some(switch.report()),
            Node::Host(_) | Node::Elsewhere => None,
        });
        let tally = self.tally;
        Ok(Outcome {
            flows,
            starts,
            ledger: tally.ledger,
            ecn: tally.ecn,
            lines,
            switches: switches.collect(),
            traces,
            flow_trace: tally.flow_trace.map(|trace| *trace),
            sender_trace: tally.sender_trace.map(|trace| *trace),
            packet_trace: tally.packet_trace.map(|trace| *trace),
            probes,
            rtts: tally.rtts,
            queue_samples,
            priorities: shared.pias.is_some().then(|| from_highest(tally.priorities)),
            link_transmissions: transmissions,
            events: self.events,
            arrivals_end: if self.end < shared.plan.arrivals_end { Time::ZERO } else { shared.plan.arrivals_end },
            end: self.end,
        })
    }

    /// What hosts know of flows that are not complete.
    fn record_unfinished(&mut self, shared: &Arc<Shared>, trace_flows_ns: Option<u64>) {
        let mut last = Env::new(shared, trace_flows_ns, EventQueue::new());
        last.now = self.end;
        for node in &self.nodes {
            if let Node::Host(host) = node {
                host.record_unfinished(&mut last);
            }
        }
        self.tally.merge(last.tally);
    }

    fn finish_captures(&mut self) -> Result<(), RunError> {
        for node in &mut self.nodes {
            match node {
                Node::Host(host) => host.capture.take().map_or(Ok(()), |capture| capture.finish())?,
                Node::Switch(switch) => {
                    let records = switch.ports.iter_mut().filter_map(|port| port.records.as_mut());
                    for capture in records.filter_map(|records| records.capture.take()) {
                        capture.finish()?;
                    }
                }
                Node::Elsewhere => {}
            }
        }
        Ok(())
    }

    /// Frames whose transmission has ended.
    fn transmissions(&self) -> u64 {
        let now = self.end;
        let of_line = |line: &super::line::Line, pauses: Option<&PausedLine>| {
            let sends_data = line.busy_until() > now && pauses.is_none_or(|pauses| !pauses.sends(now));
            line.stats().frames - u64::from(sends_data)
        };
        let of_node = |node: &Node| match node {
            Node::Host(host) => of_line(&host.line, host.pauses.as_deref()),
            Node::Switch(switch) => {
                let lines = switch.ports.iter().filter_map(|port| Some((port.line.as_ref()?, port.pauses.as_deref())));
                lines.map(|(line, pauses)| of_line(line, pauses.map(|pauses| &pauses.line))).sum()
            }
            Node::Elsewhere => 0,
        };
        self.nodes.iter().map(of_node).sum()
    }

    fn line(&self, shared: &Shared, from: (usize, usize), to: (usize, usize)) -> LineReport {
        let other_end = match &self.nodes[to.0] {
            Node::Switch(switch) => switch.ports[to.1].pauses.as_deref(),
            Node::Host(_) | Node::Elsewhere => None,
        };
        let (line, busy_during_arrivals, pauses) = match &self.nodes[from.0] {
            Node::Host(host) => (Some(&host.line), host.busy_during_arrivals, host.pauses.as_deref()),
            Node::Switch(switch) => {
                let port = &switch.ports[from.1];
                (port.line.as_ref(), port.busy_during_arrivals, port.pauses.as_ref().map(|pauses| &pauses.line))
            }
            Node::Elsewhere => (None, Duration::ZERO, None),
        };
        let none = PausedLine::default();
        LineReport {
            from,
            to,
            stats: line.map_or_else(Default::default, |line| line.stats()),
            busy_during_arrivals,
            pauses: shared.pfc.map(|_| pauses.unwrap_or(&none).stats(self.end, other_end)),
        }
    }

    /// When each flow started.
    fn starts(&self, shared: &Shared) -> Vec<Option<Time>> {
        let planned = |flow: &Flow| {
            let start = Time::from_nanos(flow.start_ns);
            (flow.after.is_none() && start <= self.end).then_some(start)
        };
        let mut starts: Vec<_> = shared.flows.iter().map(planned).collect();
        for &(flow, time) in &self.tally.followed {
            starts[flow as usize] = Some(time);
        }
        starts
    }

    /// What both hosts know of each flow.
    fn flows(&self, count: usize) -> Vec<FlowRecord> {
        let mut records = vec![FlowRecord::default(); count];
        for sent in &self.tally.sent {
            let record = &mut records[sent.flow as usize];
            (record.sender, record.base_delay) = (sent.sender, sent.base_delay);
        }
        for received in &self.tally.received {
            let record = &mut records[received.flow as usize];
            record.fct = received.fct;
            record.marked = received.marked;
            record.delivered_bytes = received.delivered_bytes;
            record.sender.timeouts += received.repeated;
            record.sender.retransmissions += received.repeated;
        }
        records
    }

    fn end_packet_trace(&mut self, shared: &Shared, reused: &Reused) {
        if let (Some(trace), Some(traced)) = (&mut self.tally.packet_trace, &shared.trace_packets) {
            trace.finish(traced.flow, |connection, time| reused.flow(shared, connection, time));
        }
    }

    /// The traces, with the flows of the packets in them.
    fn traces(&mut self, shared: &Shared, reused: &Reused) -> Vec<PortTrace> {
        let flow_of = |passage: &Passage| reused.flow(shared, passage.five_tuple / 2, passage.departed);
        let mut taken = Vec::with_capacity(self.traces.len());
        for &(node, port) in &self.traces {
            let records = self.nodes[node].switch().ports[port].records.as_mut();
            if let Some(mut trace) = records.and_then(|records| records.trace.take()) {
                trace.name_flows(flow_of);
                taken.push(trace);
            }
        }
        taken
    }

    fn probes(&mut self, shared: &Shared) -> Vec<Vec<super::EchoRecord>> {
        let records = |(number, probe): (usize, &crate::config::Probe)| {
            let end = self.nodes[probe.src].host().probes.remove(&(number as u32));
            end.map_or_else(Vec::new, |end| end.records)
        };
        shared.probes.iter().enumerate().map(records).collect()
    }

    fn samples(&mut self) -> QueueSamples {
        let mut ports = Vec::new();
        for node in &mut self.nodes {
            let Node::Switch(switch) = node else { continue };
            let samples = switch.samples.take().unwrap_or_default();
            let linked = samples.into_iter().enumerate().filter(|(port, _)| switch.ports[*port].line.is_some());
            ports.extend(linked.map(|(port, [seen, flows])| SampledPort {
                node: switch.node as usize,
                port,
                seen,
                flows,
            }));
        }
        QueueSamples { ports }
    }
}

/// Counts by code point, as priorities: the highest first.
fn from_highest(mut priorities: Vec<PriorityStats>) -> Vec<PriorityStats> {
    priorities.reverse();
    priorities
}
