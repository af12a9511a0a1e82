// SPDX-License-Identifier: MIT OR Apache-2.0
//! The end of a connection that sends data.

use std::collections::VecDeque;

use marklab_units::{Duration, Rate, Time};

use super::env::{Env, Event, Sent, Shared};
use super::handshake::{Answer, EcnMode};
use super::hosts::{Host, end_points};
use super::nic::{NicQueue, Owner};
use super::server::advertised;
use crate::config::{Connections, Flow};
use crate::frame::NetFrame;
use crate::tcp::{AckEvent, Outgoing, Receiver, Sender, SenderStats, WINDOW_SCALE, stream_offset, wire_sequence};
use crate::wire::{Ecn, EndPoint, Header, Segment, Template, flags, options};

/// Life of a client.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum State {
    /// Nothing sent yet.
    Unopened,
    /// SYN sent; with the time of the first SYN and the number of SYNs.
    Opening { since: Time, attempts: u32 },
    /// Data may flow.
    Open,
    /// Everything is acknowledged, including the FIN.
    Closed,
}

/// A flow that is being sent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Message {
    pub(super) flow: u32,
    /// Stream offset behind its last byte.
    pub(super) end: u64,
    /// Bytes that the application has not written yet, and its rate.
    unwritten: u64,
    rate: Option<Rate>,
    /// Fraction of a ns that the time of its last write left over, in units of 1/rate ns.
    carry: u64,
    /// Counts of the sender at the start of the flow, and at the start of the next one if that was before its end.
    before: SenderStats,
    after: Option<SenderStats>,
}

impl Message {
    /// A flow whose last byte is the one before `end`.
    pub(super) fn new(number: u32, flow: &Flow, end: u64, before: SenderStats) -> Message {
        let (unwritten, rate) = (flow.size_bytes, Rate::from_bps(flow.rate_bps));
        Message { flow: number, end, unwritten, rate, carry: 0, before, after: None }
    }

    /// The application writes all remaining bytes, or a segment of `segment` bytes if its rate is limited. Returns the
    /// bytes, and the time until its next write.
    pub(super) fn write(&mut self, segment: u64) -> (u64, Option<Duration>) {
        let Some(rate) = self.rate else { return (std::mem::take(&mut self.unwritten), None) };
        let bytes = self.unwritten.min(segment);
        self.unwritten -= bytes;
        if self.unwritten == 0 {
            return (bytes, None);
        }
        let (time, carry) = rate.transmission(bytes, self.carry);
        self.carry = carry;
        (bytes, Some(time))
    }

    /// What the sender has done for the flow.
    pub(super) fn sent(&self, stats: SenderStats, base_delay: Option<Duration>) -> Sent {
        Sent { flow: self.flow, sender: self.after.unwrap_or(stats).since(self.before), base_delay }
    }

    /// The next flow starts: what the sender does from now on counts for that.
    pub(super) fn is_followed(&mut self, stats: SenderStats) {
        self.after.get_or_insert(stats);
    }
}

/// The end of a connection that sends data.
#[derive(Debug)]
pub(super) struct Client {
    pub(super) connection: u32,
    pub(super) state: State,
    /// How it uses ECN.
    pub(super) ecn: EcnMode,
    /// The flow that started last.
    latest_flow: u32,
    /// Whether it closes when its flows are written.
    closes: bool,
    /// Bytes of a request, and how many requests have arrived, if the server opens the connection.
    pub(super) asked: Option<(u32, u32)>,
    ends: [EndPoint; 2],
    /// Initial sequence numbers of client and server. Stream offset 0 follows the client's.
    pub(super) initial: [u32; 2],
    pub(super) sender: Sender,
    pub(super) template: Template,
    messages: VecDeque<Message>,
    /// State of the answer to the server's SYN.
    pub(super) answer: Option<Box<Answer>>,
    pub(super) nic: NicQueue,
    /// Time of the earliest pending timer event.
    pending: Option<Time>,
}

impl Client {
    /// The client of a connection that a flow opens, or that is `open` already.
    fn new(shared: &Shared, connection: u32, flow: &Flow, open: bool) -> Client {
        let transport = &shared.transport;
        let ends = end_points(shared, connection, flow.src, flow.dst);
        let control = transport.control(flow.ecn);
        let ecn = EcnMode::of(control.ecn(), open);
        let mut sender = Sender::new(transport.sender(), control);
        if transport.stack.window_autotuning {
            let first = |limit| Receiver::new(transport.receiver(flow.ecn)).limit_window(limit);
            sender.limit_to(first(transport.receive_window_bytes).unwrap_or(0));
            sender.limit_to(first(flow.receive_window_bytes).unwrap_or(0));
        } else {
            sender.limit_to(flow.receive_window_bytes);
        }
        let asked = match shared.mode {
            Connections::Asked { request_bytes } => Some((request_bytes, 0)),
            Connections::New | Connections::Persistent { .. } => None,
        };
        Client {
            connection,
            state: if open { State::Open } else { State::Unopened },
            ecn,
            latest_flow: 0,
            closes: false,
            asked,
            ends,
            initial: initial_sequences(&ends),
            sender,
            template: Template::new(ends[0], ends[1], 0),
            messages: VecDeque::new(),
            answer: None,
            nic: NicQueue::default(),
            pending: None,
        }
    }

    /// Whether a segment is for this end of a connection.
    #[inline(always)]
    pub(super) fn is_end_of(&self, connection: u32, segment: &Segment) -> bool {
        let [client, server] = &self.ends;
        self.connection == connection
            && (segment.src, segment.src_port, segment.dst, segment.dst_port)
                == (server.ip, server.port, client.ip, client.port)
    }

    /// Sequence number of stream offset 0.
    fn first_data(&self) -> u32 {
        self.initial[0].wrapping_add(1)
    }

    /// Bytes of requests that have arrived.
    pub(super) fn heard_bytes(&self) -> u32 {
        self.asked.map_or(0, |(bytes, heard)| bytes.wrapping_mul(heard))
    }

    /// Whether the application has written all of its flows.
    fn fully_written(&self) -> bool {
        self.messages.iter().all(|message| message.unwritten == 0)
    }

    /// Closes the connection, and frees memory that it no longer needs.
    fn close(&mut self) {
        self.state = State::Closed;
        self.messages = VecDeque::new();
    }

    pub(super) fn record_unfinished(&self, env: &mut Env) {
        for message in &self.messages {
            env.tally.sent.push(message.sent(self.sender.stats, self.sender.control().base_delay()));
        }
    }

    /// Bytes that its flow has sent before these, by the offset of a packet's data.
    pub(super) fn sent_before(&self, shared: &Shared, sequence: u32) -> u64 {
        // A flow that is acknowledged completely has no message any more; its end is the end of the stream.
        let end = self.messages.back().map_or(self.sender.written(), |message| message.end);
        let offset = stream_offset(self.first_data(), sequence, self.sender.snd_una());
        // Retransmitted data of an earlier flow, which have arrived already, get the highest priority.
        offset.unwrap_or(0).saturating_sub(end - shared.flow(self.latest_flow).size_bytes)
    }

    /// ECN field of its packets that carry no data.
    pub(super) fn control_ecn(&self, shared: &Shared) -> Ecn {
        control_ecn(shared, self.ecn)
    }

    #[inline(always)]
    fn deadline(&self, shared: &Shared) -> Option<Time> {
        if self.state == State::Open && self.answer.is_none() {
            self.sender.deadline()
        } else {
            self.any_deadline(shared)
        }
    }

    #[cold]
    fn any_deadline(&self, shared: &Shared) -> Option<Time> {
        let answer = self.answer.as_ref().and_then(|answer| answer.deadline);
        match self.state {
            State::Unopened => answer,
            State::Closed => None,
            State::Open => [answer, self.sender.deadline()].into_iter().flatten().min(),
            State::Opening { since, attempts } => {
                let wait = shared.transport.stack.syn_wait(attempts);
                Some(since + shared.transport.rto().initial.saturating_mul(wait))
            }
        }
    }
}

/// Initial sequence numbers of client and server. Any value would do; values that differ between connections make captures
/// easier to read.
pub(super) fn initial_sequences(ends: &[EndPoint; 2]) -> [u32; 2] {
    let [client, server] = ends.map(|end| u32::from(end.port));
    [client << 16 | server, server << 16 | client]
}

/// ECN field of packets that carry no data.
pub(super) fn control_ecn(shared: &Shared, mode: EcnMode) -> Ecn {
    if mode != EcnMode::NotEcn && shared.transport.ecn_control_packets() { Ecn::Ect0 } else { Ecn::NotEct }
}

/// A header of an empty segment, without sequence number, acknowledgement and flags.
pub(super) fn blank_header(shared: &Shared) -> Header<'static> {
    Header {
        sequence: 0,
        ack: 0,
        flags: 0,
        window: advertised(shared.transport.receive_window_bytes),
        ecn: Ecn::NotEct,
        options: &[],
        payload: 0,
    }
}

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
            Connections::Persistent { .. } => false,
            Connections::Asked { .. } => {
                let next = shared.plan.follower(number).and_then(|next| shared.flow(next).after);
                next.is_none_or(|after| !after.same_connection)
            }
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
            flags: flags::ACK,
            ecn: client.control_ecn(&env.shared),
            ..blank_header(&env.shared)
        };
        let frame = client.frame(env, &header);
        self.enqueue(env, Owner::Client(number), frame);
    }

    // Receiving

    pub(super) fn client_receives(&mut self, env: &mut Env, number: u32, segment: &Segment) {
        let now = env.now;
        if segment.flags & flags::SYN != 0 {
            return self.client_receives_syn(env, number, segment.flags);
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
        let ece = segment.flags & flags::ECE != 0;
        let one_way = segment.timing.map(|one_way_ns| Duration::from_nanos(one_way_ns.into()));
        if let Some(rtt) = client.sender.on_ack(now, AckEvent { ack, sacks: &sacks[..count], ece, one_way }) {
            env.tally.rtts.saturating_record(rtt.nanos());
        }
        if env.shared.trace_senders {
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
                if env.shared.trace_senders {
                    self.trace_sender(env, number);
                }
            }
            _ => self.arm_client(env, number),
        }
    }
}

impl Client {
    /// A frame with data.
    fn data(&mut self, env: &mut Env, outgoing: Outgoing) -> Box<NetFrame> {
        let shared = &env.shared;
        // RFC 3168 section 6.1.5: retransmissions are not ECN capable. In Linux's DCTCP, they are.
        let capable =
            self.ecn == EcnMode::Classic && (!outgoing.retransmission || shared.transport.ecn_control_packets());
        let mut flags = flags::ACK;
        if outgoing.cwr {
            flags |= flags::CWR;
        }
        if outgoing.last {
            flags |= flags::PSH;
            if self.closes && self.fully_written() {
                flags |= flags::FIN;
            }
        }
        // The NIC fills in the time.
        let timing = options::timing(0);
        let options = if self.sender.control().hears_delay() { &timing[..] } else { &[] };
        let header = Header {
            sequence: wire_sequence(self.first_data(), outgoing.offset),
            ack: self.initial[1].wrapping_add(1 + self.heard_bytes()),
            flags,
            ecn: if capable { Ecn::Ect0 } else { Ecn::NotEct },
            options,
            payload: outgoing.len,
            ..blank_header(shared)
        };
        self.frame(env, &header)
    }

    /// A frame with this header.
    pub(super) fn frame(&mut self, env: &mut Env, header: &Header<'_>) -> Box<NetFrame> {
        if env.shared.pias.is_some() {
            let sent_before = if header.payload > 0 { self.sent_before(&env.shared, header.sequence) } else { 0 };
            self.template.set_dscp(env.tag(sent_before, header.payload > 0));
        }
        let mut frame = env.frames.take(self.connection, true, header.ecn);
        self.template.write(&mut frame.packet, header);
        frame
    }
}
