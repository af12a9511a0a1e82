// SPDX-License-Identifier: MIT OR Apache-2.0
//! The host's side of connections on which it sends data: segments, acknowledgements that arrive, and timers.

use marklab_units::{Duration, Time};

use super::client::{Client, Message, State};
use super::connection::blank_header;
use super::env::Env;
use super::event::Event;
use super::handshake::EcnMode;
use super::hosts::Host;
use super::nic_queue::Owner;
use crate::config::Connections;
use crate::tcp::{AckEvent, WINDOW_SCALE, stream_offset, wire_sequence};
use crate::traffic::Flow;
use crate::wire::{Header, Segment, flags};

impl Host {
    /// Prepares a flow on its connection, whose client is made if there is none. Returns the client.
    pub(super) fn send_flow(&mut self, env: &mut Env, number: u32, flow: &Flow, connection: u32, open: bool) -> u32 {
        let shared = &env.shared;
        let opener = shared.opener(connection).expect("flows are not on the connections of probes");
        let at = shared.plan.client(opener);
        let client =
            self.clients[at as usize].get_or_insert_with(|| Box::new(Client::new(shared, connection, flow, open)));
        client.template.set_dscp(flow.dscp);
        client.latest_flow = number;
        client.closes = match shared.mode {
            Connections::New => true,
            Connections::Persistent { .. } | Connections::Queued { .. } => false,
            Connections::Asked { .. } => !shared.goes_on(number),
        };
        let end = client.messages.back().map_or(client.sender.written(), |message| message.end) + flow.size_bytes;
        if let Some(before) = client.messages.back_mut() {
            before.is_followed(client.sender.stats);
        }
        client.messages.push_back(Message::new(number, flow, end, client.sender.stats));
        env.begins_on(number, opener, connection);
        at
    }

    /// The application writes: all of a flow, or the next segment of a rate-limited flow.
    pub(super) fn write_more(&mut self, env: &mut Env, number: u32) {
        let mss = u64::from(env.shared.transport.payload_bytes());
        let node = self.node;
        let client = self.client(number);
        let Some(message) = client.messages.back_mut() else { return };
        let (bytes, pause) = message.write(mss);
        if let Some(pause) = pause {
            env.push(env.now + pause, Event::Write { node, client: number });
        }
        client.sender.write(bytes);
        match client.state {
            State::Unopened => self.open(env, number),
            _ => self.send_segments(env, number),
        }
    }

    // Sending

    /// Sends the segments that window and NIC allow.
    pub(super) fn send_segments(&mut self, env: &mut Env, number: u32) {
        loop {
            let client = self.client(number);
            if client.state != State::Open {
                break;
            }
            let nic = &mut client.nic;
            nic.throttled = nic.bytes >= env.shared.nic.budget_bytes || !client.sender.may_queue(nic.bytes);
            if nic.throttled {
                client.sender.end_burst(env.now);
                break;
            }
            let Some(outgoing) = client.sender.next_segment(env.now) else { break };
            let frame = client.data(env, outgoing);
            self.enqueue(env, Owner::Client(number), frame);
        }
        self.arm_client(env, number);
    }

    /// A packet of a client has left the NIC.
    #[inline(always)]
    pub(super) fn nic_has_room(&mut self, env: &mut Env, number: u32) {
        if self.client(number).nic.throttled {
            self.send_segments(env, number);
        }
    }

    /// The client acknowledges the server's SYN, request or FIN.
    pub(super) fn send_client_ack(&mut self, env: &mut Env, number: u32, fin: bool) {
        let client = self.client(number);
        let sent = client.sender.snd_nxt() + u64::from(fin);
        let header = Header {
            sequence: wire_sequence(client.first_data(), sent),
            ack: client.initial[1].wrapping_add(1 + client.heard_bytes() + u32::from(fin)),
            flags: flags::ACK | client.echo_flags(false),
            ecn: client.control_ecn(),
            ..blank_header(&env.shared)
        };
        let frame = client.frame(env, &header);
        self.enqueue(env, Owner::Client(number), frame);
    }

    // Receiving

    pub(super) fn client_receives(&mut self, env: &mut Env, number: u32, segment: &Segment) {
        let now = env.now;
        if segment.flags & flags::SYN != 0 {
            return self.client_receives_syn(env, number, segment);
        }
        let client = self.client(number);
        if client.asked.is_some() {
            if segment.payload > 0 {
                return self.client_receives_request(env, number, segment);
            }
            if let Some(answer) = &mut client.answer {
                answer.acknowledged();
            }
        }
        let first = client.first_data();
        let una = client.sender.snd_una();
        let Some(ack) = stream_offset(first, segment.ack, una) else { return };
        let mut sacks = [(0, 0); 4];
        let mut count = 0;
        for &(start, end) in &segment.sacks[..segment.sack_count] {
            if let (Some(start), Some(end)) = (stream_offset(first, start, una), stream_offset(first, end, una)) {
                sacks[count] = (start, end);
                count += 1;
            }
        }
        // The FIN takes a sequence number, but is not part of the stream.
        let ack = ack.min(client.sender.snd_nxt());
        if env.shared.transport.stack.window_autotuning {
            client.sender.hear_window(ack, u64::from(segment.window) << WINDOW_SCALE);
        }
        let ece = match client.ecn {
            EcnMode::Accurate(_) => client.hears_marks(segment, ack),
            _ => segment.flags & flags::ECE != 0,
        };
        let one_way = segment.timing.map(|one_way_ns| Duration::from_nanos(one_way_ns.into()));
        if let Some(rtt) = client.sender.on_ack(now, AckEvent { ack, sacks: &sacks[..count], ece, one_way }) {
            env.tally.rtts.saturating_record(rtt.nanos());
        }
        if env.shared.trace_senders.is_some() {
            self.trace_sender(env, number);
        }
        let client = self.client(number);
        if client.messages.front().is_some_and(|message| client.sender.snd_una() >= message.end) {
            self.finish_sending(env, number);
        }
        if segment.flags & flags::FIN != 0 {
            self.send_client_ack(env, number, true);
            self.client(number).close();
        } else {
            self.send_segments(env, number);
        }
    }

    /// Records the flows of which everything is acknowledged.
    #[inline(never)]
    fn finish_sending(&mut self, env: &mut Env, number: u32) {
        let client = self.client(number);
        let una = client.sender.snd_una();
        while let Some(message) = client.messages.pop_front_if(|message| una >= message.end) {
            env.tally.sent.push(message.sent(client.sender.stats, client.sender.control().base_delay()));
        }
    }

    /// Records the state of a client's sender.
    #[cold]
    pub(super) fn trace_sender(&mut self, env: &mut Env, number: u32) {
        let client = self.client(number);
        if let Some(trace) = &mut env.tally.sender_trace {
            trace.look(env.now, client.latest_flow, &client.sender);
        }
    }

    // Timers: if the deadline was postponed in the meantime, an event comes early, and is scheduled again.

    pub(super) fn arm_client(&mut self, env: &mut Env, number: u32) {
        let node = self.node;
        let client = self.client(number);
        if let Some(deadline) = client.deadline(&env.shared)
            && client.pending.is_none_or(|time| time > deadline)
        {
            client.pending = Some(deadline);
            env.push(deadline, Event::ClientTimer { node, client: number });
        }
    }

    pub(super) fn client_timer(&mut self, env: &mut Env, number: u32) {
        let now = env.now;
        let past = |deadline: Option<Time>| deadline.is_some_and(|deadline| deadline <= now);
        let client = self.client(number);
        // Superseded events are ignored.
        if client.pending != Some(now) {
            return;
        }
        client.pending = None;
        if client.answer.is_some() {
            self.client_answer_timer(env, number);
        }
        let client = self.client(number);
        match client.state {
            State::Opening { attempts, .. } if past(client.deadline(&env.shared)) => {
                client.sender.on_repeated();
                if env.shared.transport.stack.begins_with_one_segment(attempts + 1) {
                    client.sender.on_lost_handshake();
                }
                self.send_syn(env, number);
            }
            State::Open if past(client.sender.deadline()) => {
                client.sender.on_timeout(now);
                self.send_segments(env, number);
                if env.shared.trace_senders.is_some() {
                    self.trace_sender(env, number);
                }
            }
            _ => self.arm_client(env, number),
        }
    }
}
