// SPDX-License-Identifier: MIT OR Apache-2.0
//! Probes: hosts that send echo requests at intervals, and the round-trip times of their replies.

use marklab_units::Duration;

use super::connection::end_points;
use super::env::Env;
use super::event::Event;
use super::hosts::{EchoRecord, Host};
use super::nic_queue::Owner;
use crate::frame::NetFrame;
use crate::ledger::Reason;
use crate::wire::roce::Roce;
use crate::wire::{Echo, Ecn, Malformed};

impl Host {
    /// Sends a request of a probe, and schedules the next one.
    pub(super) fn send_probe(&mut self, env: &mut Env, number: u32) {
        let probe = self.probes.get_mut(&number).expect("a probe of this host");
        let sequence = probe.records.len() as u16;
        probe.records.push(EchoRecord { sent: env.now, rtt: None });
        let interval = Duration::from_nanos(env.shared.probes[number as usize].interval_ns);
        env.push(env.now + interval, Event::Probe { node: self.node, number });
        self.send_echo(env, number, false, sequence);
    }

    fn send_echo(&mut self, env: &mut Env, number: u32, reply: bool, sequence: u16) {
        let spec = env.shared.probes[number as usize];
        let [client, server] = end_points(&env.shared, number, spec.src, spec.dst);
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
        let mut frame = env.frames.take(number, !reply, echo.ecn);
        echo.write(&mut frame.packet, &src, &dst);
        self.enqueue(env, Owner::Probe(number), frame);
    }

    /// A host receives a frame that is not a TCP segment: a packet of a queue pair, an echo, or an unreadable frame.
    #[cold]
    pub(super) fn receives_other(&mut self, env: &mut Env, frame: Box<NetFrame>, malformed: Malformed) {
        if self.pairs.is_some()
            && let Some(roce) = Roce::parse(&frame.packet)
        {
            return self.queue_pair_receives(env, frame, &roce);
        }
        match Echo::parse(&frame.packet).filter(|echo| self.is_expected(env, echo)) {
            Some(echo) => {
                env.tally.ecn.compare(frame.notes.due_as(), echo.ecn);
                env.frames.give(frame);
                self.echo_arrives(env, &echo);
            }
            None => env.lose(self.node, None, Reason::Malformed(malformed), frame),
        }
    }

    /// Whether an echo belongs to a probe, and has arrived at the right host.
    fn is_expected(&self, env: &Env, echo: &Echo) -> bool {
        let Some(probe) = env.shared.probes.get(usize::from(echo.identifier)) else { return false };
        let (to, from) = if echo.reply { (probe.src, probe.dst) } else { (probe.dst, probe.src) };
        let ip = |node: usize| env.shared.addresses[node].1;
        to == self.node as usize && (echo.src, echo.dst) == (ip(from), ip(to))
    }

    fn echo_arrives(&mut self, env: &mut Env, echo: &Echo) {
        let number = u32::from(echo.identifier);
        if !echo.reply {
            return self.send_echo(env, number, true, echo.sequence);
        }
        let records = &mut self.probes.get_mut(&number).expect("a probe of this host").records;
        // The latest request with that sequence number; there are 2^16 of them.
        let after = (records.len() as u16).wrapping_sub(echo.sequence.wrapping_add(1));
        if let Some(record) = records.iter_mut().rev().nth(after.into()) {
            record.rtt.get_or_insert(env.now.since(record.sent));
        }
    }
}
