// SPDX-License-Identifier: MIT OR Apache-2.0
//! RDMA hosts: a NIC takes packets from its queue pairs in turn, each at the rate of its queue pair.
//!
//! Data wait in memory: the NIC makes a packet when it sends it. Answers go before data. The extra delay of a flow's
//! sender lies between its application and its NIC, and between its NIC and the handling of an answer. So packets leave
//! the NIC as they are paced.

use std::cmp::Reverse;

use marklab_units::{Duration, Time, Transmitter};

use super::client::Message;
use super::env::Env;
use super::event::Event;
use super::hosts::Host;
use super::queue_pairs::{QueuePairs, Receiving, Sending};
use super::server::Expected;
use crate::frame::NetFrame;
use crate::ledger::Reason;
use crate::rdma::{Heard, packet_number};
use crate::traffic::Flow;
use crate::wire::roce::{Kind, Roce};
use crate::wire::{Ecn, EndPoint};

impl Host {
    fn queue_pairs(&mut self) -> &mut QueuePairs {
        self.pairs.as_deref_mut().expect("a run with queue pairs")
    }

    // Flows

    /// Starts a flow on a queue pair.
    #[inline(never)]
    pub(super) fn start_message(&mut self, env: &mut Env, number: u32, flow: &Flow) {
        let connection = match self.pool(flow.dst).idle.pop() {
            Some(Reverse(connection)) => connection,
            None => env.shared.connection_of(number),
        };
        self.notify(env, flow.dst, number, connection, true);
        let pair = env.shared.opener(connection).expect("flows are not on the connections of probes");
        let at = env.shared.plan.client(pair);
        let line = self.line.rate();
        let end = self.queue_pairs().requesters[at as usize]
            .get_or_insert_with(|| Box::new(Sending::new(&env.shared, pair, flow, Transmitter::new(line))));
        end.extra_delay = Duration::from_nanos(flow.extra_delay_ns);
        end.dscp = flow.dscp;
        end.begun += flow.size_bytes;
        if let Some(before) = end.messages.back_mut() {
            before.is_followed(end.requester.stats);
        }
        end.messages.push_back(Message::new(number, flow, end.begun, end.requester.stats));
        end.requester.begin();
        env.begins_on(number, pair, connection);
        match flow.extra_delay_ns {
            0 => self.write_message(env, at),
            extra_ns => {
                let time = env.now + Duration::from_nanos(extra_ns);
                env.push(time, Event::PairWrite { node: self.node, pair: at });
            }
        }
    }

    /// A flow that its sender has started will arrive on a queue pair.
    pub(super) fn expect_message(&mut self, env: &mut Env, number: u32, flow: &Flow, connection: u32) {
        let start = Host::noticed_start(env, flow);
        let pair = env.shared.opener(connection).expect("flows are not on the connections of probes");
        let at = env.shared.plan.server(pair);
        let end = self.queue_pairs().responders[at as usize]
            .get_or_insert_with(|| Box::new(Receiving::new(&env.shared, pair, flow)));
        end.dscp = flow.dscp;
        end.begun += flow.size_bytes;
        end.messages.push_back(Expected::new(number, flow, start, end.begun, 0));
    }

    /// The application writes: all of a flow, or the next packet of a rate-limited flow.
    pub(super) fn write_message(&mut self, env: &mut Env, number: u32) {
        let mtu = u64::from(env.shared.transport.payload_bytes());
        let end = self.queue_pairs().requester(number);
        let Some(message) = end.messages.back_mut() else { return };
        let (bytes, pause) = message.write(mtu);
        end.requester.write(bytes);
        if let Some(pause) = pause {
            env.push(env.now + pause, Event::PairWrite { node: self.node, pair: number });
        }
        self.offer(env, number);
    }

    /// Finishes flows whose last byte has arrived.
    fn finish_messages(&mut self, env: &mut Env, number: u32) {
        loop {
            let end = self.queue_pairs().responder(number);
            let delivered = end.responder.delivered();
            let Some(message) = end.messages.pop_front_if(|message| delivered >= message.end) else { return };
            let connection = env.shared.connection_of(end.pair);
            env.finish(message.received(delivered, Some(message.fct(env.now)), 0));
            self.wake_followers(env, message.flow, connection);
            self.free(env, message.flow, connection);
        }
    }

    /// Records flows of which everything is acknowledged.
    fn finish_sent_messages(&mut self, env: &mut Env, number: u32) {
        let end = self.queue_pairs().requester(number);
        let acknowledged = end.requester.acknowledged();
        while let Some(message) = end.messages.pop_front_if(|message| acknowledged >= message.end) {
            env.tally.sent.push(message.sent(end.requester.stats, None));
        }
    }

    // NIC

    /// Queues a queue pair for sending, if it has a packet to send and is not queued yet.
    fn offer(&mut self, env: &mut Env, number: u32) {
        let pairs = self.queue_pairs();
        let end = pairs.requester(number);
        if end.waiting || !end.requester.has_next() {
            return;
        }
        let time = end.pacer.busy_until().max(env.now);
        pairs.enter(number, time);
        if time > env.now {
            self.wake(env, time);
        } else {
            self.start(env);
        }
    }

    /// Makes the NIC look for packets at a time.
    fn wake(&mut self, env: &mut Env, time: Time) {
        let wake = &mut self.queue_pairs().wake;
        if wake.is_none_or(|pending| pending > time) {
            *wake = Some(time);
            env.push(time, Event::Pace { node: self.node });
        }
    }

    /// A queue pair may send.
    #[inline(never)]
    pub(super) fn pace(&mut self, env: &mut Env) {
        let wake = &mut self.queue_pairs().wake;
        if *wake == Some(env.now) {
            *wake = None;
        }
        self.start(env);
    }

    /// The next frame of the queue pairs, and whether more are waiting.
    #[inline(never)]
    pub(super) fn queue_pair_next(&mut self, env: &mut Env) -> Option<(Box<NetFrame>, bool)> {
        let pairs = self.pairs.as_deref_mut().expect("a run with queue pairs");
        let answer = self.nic.queued.pop_front(&mut pairs.answers);
        let frame = answer.or_else(|| self.next_data(env))?;
        self.capture(env, &frame);
        Some((frame, self.has_more(env)))
    }

    /// Whether a packet can be sent now. Otherwise the NIC is woken when the next one is due.
    fn has_more(&mut self, env: &mut Env) -> bool {
        let pairs = self.queue_pairs();
        let answers = !pairs.answers.is_empty();
        match pairs.due.peek() {
            Some(&Reverse((time, ..))) if time > env.now => {
                self.wake(env, time);
                answers
            }
            due => answers || due.is_some(),
        }
    }

    /// The next packet of the queue pair whose turn it is.
    fn next_data(&mut self, env: &mut Env) -> Option<Box<NetFrame>> {
        loop {
            let pairs = self.queue_pairs();
            let &Reverse((time, _, number)) = pairs.due.peek()?;
            if time > env.now {
                self.wake(env, time);
                return None;
            }
            pairs.due.pop();
            let part = env.part_of(pairs.requester(number).pair);
            if let Some(aside) = pairs.held_back.get_mut(&part) {
                aside.push(number);
                continue;
            }
            let end = pairs.requester(number);
            end.waiting = false;
            // There may be none, if the packet to retransmit was acknowledged in the meantime.
            let Some(outgoing) = end.requester.next_packet(env.now) else { continue };
            let kind = Kind::Send { first: outgoing.first, last: outgoing.last, payload: outgoing.len };
            let frame = end.frame(env, outgoing.number, kind);
            end.pace(env.now, env.shared.framing.wire_bytes(frame.packet.len()));
            if end.requester.has_next() {
                let time = end.pacer.busy_until();
                pairs.enter(number, time);
            }
            self.arm_pair_timer(env, number);
            return Some(frame);
        }
    }

    // Pauses of a part of the line

    /// Makes the NIC hold back a part of its traffic.
    pub(super) fn hold_back(&mut self, part: u32) {
        self.queue_pairs().held_back.entry(part).or_default();
    }

    /// Lets the NIC send a part of its traffic again.
    pub(super) fn release_part(&mut self, env: &mut Env, part: u32) {
        for number in self.queue_pairs().held_back.remove(&part).into_iter().flatten() {
            self.queue_pairs().requester(number).waiting = false;
            self.offer(env, number);
        }
    }

    // Receiving

    /// The host receives a packet of a queue pair. It relies only on the bytes of the packet.
    #[inline(never)]
    pub(super) fn queue_pair_receives(&mut self, env: &mut Env, frame: Box<NetFrame>, roce: &Roce) {
        let Some(pair) = env.shared.opener(frame.connection) else {
            return env.lose(self.node, None, Reason::NoConnection, frame);
        };
        let is_here = |ends: &[EndPoint; 2], own: u32, [from, to]: [usize; 2]| {
            own == pair && (roce.src, roce.dst, roce.queue_pair) == (ends[from].ip, ends[to].ip, pair & 0xff_ffff)
        };
        if let Kind::Send { last, payload, .. } = roce.kind {
            let number = env.shared.plan.server(pair);
            let end = self.queue_pairs().responders.get(number as usize).and_then(Option::as_ref);
            if !end.is_some_and(|end| is_here(&end.ends, end.pair, [0, 1])) {
                return env.lose(self.node, None, Reason::NoConnection, frame);
            }
            env.tally.ecn.compare(frame.notes.due_as(), roce.ecn);
            env.frames.give(frame);
            return self.responder_receives(env, number, roce, last, payload);
        }
        let number = env.shared.plan.client(pair);
        let pairs = self.pairs.as_deref_mut().expect("a run with queue pairs");
        let Some(Some(end)) = pairs.requesters.get_mut(number as usize) else {
            return env.lose(self.node, None, Reason::NoConnection, frame);
        };
        if !is_here(&end.ends, end.pair, [1, 0]) {
            return env.lose(self.node, None, Reason::NoConnection, frame);
        }
        env.tally.ecn.compare(frame.notes.due_as(), roce.ecn);
        if end.extra_delay == Duration::ZERO && end.heard.is_empty() {
            env.frames.give(frame);
            return self.requester_hears(env, number, roce);
        }
        // Even if the delay is shorter than the previous flow's, answers must not overtake.
        let earliest = self.delayed.back(&end.heard).map_or(Time::ZERO, |&(time, _)| time);
        let time = (env.now + end.extra_delay).max(earliest);
        self.delayed.push_back(&mut end.heard, (time, frame));
        if end.heard.len() == 1 {
            env.push(time, Event::PairHear { node: self.node, pair: number });
        }
    }

    /// Handles the answers whose extra delay in the sending host is over.
    pub(super) fn hear(&mut self, env: &mut Env, number: u32) {
        loop {
            let end = self.pairs.as_deref_mut().expect("a run with queue pairs").requester(number);
            let Some(&(time, _)) = self.delayed.front(&end.heard) else { return };
            if time > env.now {
                return env.push(time, Event::PairHear { node: self.node, pair: number });
            }
            if let Some((_, frame)) = self.delayed.pop_front(&mut end.heard)
                && let Some(roce) = Roce::parse(&frame.packet)
            {
                env.frames.give(frame);
                self.requester_hears(env, number, &roce);
            }
        }
    }

    fn responder_receives(&mut self, env: &mut Env, number: u32, roce: &Roce, last: bool, payload: u32) {
        let end = self.queue_pairs().responder(number);
        let Some(psn) = packet_number(roce.psn, end.responder.expected()) else { return };
        let ce = roce.ecn == Ecn::Ce;
        if let (true, Some(message)) = (ce, end.messages.front_mut()) {
            message.marked += 1;
        }
        let heard = Heard { number: psn, len: payload, ack_request: last, ce };
        let answer = end.responder.on_packet(env.now, heard);
        let expected = end.responder.expected();
        if let (true, Some(message)) = (env.shared.trace_flows, end.messages.front_mut()) {
            message.trace(env, end.responder.delivered());
        }
        self.finish_messages(env, number);
        if answer.notification {
            self.answer(env, number, expected, Kind::Notification);
        }
        if answer.missing {
            self.answer(env, number, expected, Kind::Nack);
        } else if answer.acknowledge {
            self.answer(env, number, expected - 1, Kind::Ack);
        }
    }

    /// Sends an answer. Answers are not ECN capable: a mark on them would signal congestion on the return path.
    fn answer(&mut self, env: &mut Env, number: u32, psn: u64, kind: Kind) {
        let pairs = self.pairs.as_deref_mut().expect("a run with queue pairs");
        let frame = pairs.responder(number).frame(env, psn, kind);
        self.nic.queued.push_back(&mut pairs.answers, frame);
        self.start(env);
    }

    fn requester_hears(&mut self, env: &mut Env, number: u32, roce: &Roce) {
        let end = self.queue_pairs().requester(number);
        if roce.kind == Kind::Notification {
            end.reaction.on_notification(env.now);
            end.requester.stats.ecn_reductions += 1;
            return;
        }
        let Some(psn) = packet_number(roce.psn, end.requester.oldest()) else { return };
        let rtt = match roce.kind {
            Kind::Nack => end.requester.on_nack(env.now, psn),
            _ => end.requester.on_ack(env.now, psn + 1),
        };
        if let Some(rtt) = rtt {
            env.tally.rtts.saturating_record(rtt.nanos());
        }
        self.finish_sent_messages(env, number);
        self.arm_pair_timer(env, number);
        self.offer(env, number);
    }

    // Timers: if the deadline was postponed in the meantime, an event comes early, and is scheduled again.

    fn arm_pair_timer(&mut self, env: &mut Env, number: u32) {
        let end = self.queue_pairs().requester(number);
        if let Some(deadline) = end.requester.deadline()
            && end.pending.is_none_or(|time| time > deadline)
        {
            end.pending = Some(deadline);
            env.push(deadline, Event::PairTimer { node: self.node, pair: number });
        }
    }

    pub(super) fn pair_timer(&mut self, env: &mut Env, number: u32) {
        let end = self.queue_pairs().requester(number);
        if end.pending != Some(env.now) {
            return;
        }
        end.pending = None;
        if end.requester.deadline().is_some_and(|deadline| deadline <= env.now) {
            end.requester.on_timeout(env.now);
        }
        self.arm_pair_timer(env, number);
        self.offer(env, number);
    }
}
