// SPDX-License-Identifier: MIT OR Apache-2.0
//! Probes: hosts that send echo requests at intervals, and the round-trip times of their replies.

use marklab_units::{Duration, Time};

use super::connection::Side;
use super::{Event, Network};
use crate::config::Probe;
use crate::frame::NetFrame;
use crate::ledger::Reason;
use crate::wire::roce::Roce;
use crate::wire::{Echo, Ecn, Malformed};

/// A request of a probe.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EchoRecord {
    /// When it was sent.
    pub sent: Time,
    /// Time until its reply; `None` if no reply arrived.
    pub rtt: Option<Duration>,
}

/// A probe and its requests so far.
#[derive(Debug)]
pub(super) struct ProbeState {
    spec: Probe,
    /// Never opened: it only holds the probe's packets in the NICs of both hosts.
    connection: u32,
    pub(super) records: Vec<EchoRecord>,
}

impl Network {
    /// Prepares the probes, and schedules the first request of each.
    pub(super) fn plan_probes(&mut self, probes: &[Probe]) {
        for (number, &spec) in probes.iter().enumerate() {
            let connection = self.connect((spec.src, spec.dst), false, false, true) as u32;
            self.probes.push(ProbeState { spec, connection, records: Vec::new() });
            self.events.push(Time::from_nanos(spec.start_ns), Event::Probe(number as u32));
        }
    }

    /// Sends a request of a probe, and schedules the next one.
    pub(super) fn send_probe(&mut self, number: u32) {
        let now = self.now;
        let probe = &mut self.probes[number as usize];
        let sequence = probe.records.len() as u16;
        probe.records.push(EchoRecord { sent: now, rtt: None });
        self.events.push(now + Duration::from_nanos(probe.spec.interval_ns), Event::Probe(number));
        self.send_echo(number, Side::Client, sequence);
    }

    fn send_echo(&mut self, number: u32, from: Side, sequence: u16) {
        let ProbeState { spec, connection, .. } = self.probes[number as usize];
        let [client, server] = self.connections[connection as usize].ends;
        let reply = from == Side::Server;
        let (src, dst) = if reply { (server, client) } else { (client, server) };
        let echo = Echo {
            src: src.ip,
            dst: dst.ip,
            dscp: spec.dscp,
            ecn: Ecn::NotEct,
            reply,
            identifier: number as u16,
            sequence,
            data: spec.frame_bytes - Echo::HEADERS as u32,
        };
        let mut frame = self.frames.take(connection, !reply, echo.ecn);
        echo.write(&mut frame.packet, &src, &dst);
        self.enqueue(connection as usize, from, frame);
    }

    /// A host receives a frame that is not a TCP segment: a packet of a queue pair, an echo, or an unreadable frame.
    #[cold]
    pub(super) fn host_receives_other(&mut self, node: usize, frame: Box<NetFrame>, malformed: Malformed) {
        if self.rdma.is_some()
            && let Some(roce) = Roce::parse(&frame.packet)
        {
            return self.queue_pair_receives(node, frame, &roce);
        }
        match Echo::parse(&frame.packet).filter(|echo| self.is_expected(node, echo)) {
            Some(echo) => {
                self.ecn.compare(frame.notes.due_as(), echo.ecn);
                self.frames.give(frame);
                self.echo_arrives(&echo);
            }
            None => self.lose(node, None, Reason::Malformed(malformed), frame),
        }
    }

    /// Whether an echo belongs to a probe, and has arrived at the right host.
    fn is_expected(&self, node: usize, echo: &Echo) -> bool {
        let Some(probe) = self.probes.get(usize::from(echo.identifier)) else { return false };
        let connection = &self.connections[probe.connection as usize];
        let (to, from) = if echo.reply { (Side::Client, Side::Server) } else { (Side::Server, Side::Client) };
        let ip = |side: Side| connection.ends[side as usize].ip;
        connection.hosts[to as usize] == node && (echo.src, echo.dst) == (ip(from), ip(to))
    }

    fn echo_arrives(&mut self, echo: &Echo) {
        let number = u32::from(echo.identifier);
        if !echo.reply {
            return self.send_echo(number, Side::Server, echo.sequence);
        }
        let (now, records) = (self.now, &mut self.probes[number as usize].records);
        // The latest request with that sequence number; there are 2^16 of them.
        let after = (records.len() as u16).wrapping_sub(echo.sequence.wrapping_add(1));
        if let Some(record) = records.iter_mut().rev().nth(after.into()) {
            record.rtt.get_or_insert(now.since(record.sent));
        }
    }
}
