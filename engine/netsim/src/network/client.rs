// SPDX-License-Identifier: MIT OR Apache-2.0
//! The end of a connection that sends data.

use std::collections::VecDeque;

use marklab_units::{Duration, Rate, Time};

use super::connection::{blank_header, end_points, initial_sequences};
use super::env::{Env, Sent, Shared};
use super::handshake::{Answer, EcnFields, EcnMode, MarkedPackets};
use super::nic_queue::NicQueue;
use crate::config::Connections;
use crate::frame::NetFrame;
use crate::tcp::{Outgoing, Receiver, Sender, SenderStats, stream_offset, wire_sequence};
use crate::traffic::Flow;
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
    fields: EcnFields,
    marked: MarkedPackets,
    /// The flow that started last.
    pub(super) latest_flow: u32,
    /// Whether it closes when its flows are written.
    pub(super) closes: bool,
    /// Bytes of a request, and how many requests have arrived, if the server opens the connection.
    pub(super) asked: Option<(u32, u32)>,
    ends: [EndPoint; 2],
    /// Initial sequence numbers of client and server. Stream offset 0 follows the client's.
    pub(super) initial: [u32; 2],
    pub(super) sender: Sender,
    pub(super) template: Template,
    pub(super) messages: VecDeque<Message>,
    /// State of the answer to the server's SYN.
    pub(super) answer: Option<Box<Answer>>,
    pub(super) nic: NicQueue,
    /// Time of the earliest pending timer event.
    pub(super) pending: Option<Time>,
}

impl Client {
    /// Whether it has sent anything.
    pub(super) fn has_begun(&self) -> bool {
        self.state != State::Unopened
    }

    /// The client of a connection that a flow opens, or that is `open` already.
    pub(super) fn new(shared: &Shared, connection: u32, flow: &Flow, open: bool) -> Client {
        let transport = shared.transport.of(flow);
        let ends = end_points(shared, connection, flow.src, flow.dst);
        let mut control = transport.control(flow.ecn);
        if open && flow.base_delay_ns > 0 {
            control.know_base_delay(Duration::from_nanos(flow.base_delay_ns));
        }
        let ecn = EcnMode::of(&*control, open);
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
            Connections::New | Connections::Persistent { .. } | Connections::Queued { .. } => None,
        };
        Client {
            connection,
            state: if open { State::Open } else { State::Unopened },
            ecn,
            fields: EcnFields::of(ecn, transport.control.ecn_control_packets()),
            marked: MarkedPackets::default(),
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
    pub(super) fn first_data(&self) -> u32 {
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
    pub(super) fn close(&mut self) {
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
    pub(super) fn control_ecn(&self) -> Ecn {
        self.fields.control
    }

    /// Reads the flags of a SYN or SYN-ACK. Returns whether it has to do with less ECN than it asked for.
    pub(super) fn negotiate(&mut self, env: &mut Env, segment: &Segment) -> bool {
        let gives_up = self.ecn.negotiate(env, segment);
        self.fields.agree(self.ecn);
        gives_up
    }

    /// Flags of a segment that answer an echo, or count marks.
    pub(super) fn echo_flags(&self, cwr: bool) -> u16 {
        match self.ecn {
            EcnMode::Accurate(_) => self.marked.flags(),
            _ if cwr => flags::CWR,
            _ => 0,
        }
    }

    /// An acknowledgement up to this offset counts marked packets. Returns whether it counts more than those before.
    #[inline(never)]
    pub(super) fn hears_marks(&mut self, segment: &Segment, ack: u64) -> bool {
        if segment.ecn == Ecn::Ce {
            self.marked.count(1);
        }
        let una = self.sender.snd_una();
        if ack < una {
            return false; // overtaken by a later one
        }
        let acked = (ack - una).div_ceil(self.sender.window().mss);
        let packets = self.marked.heard(segment.flags, acked as u32);
        self.sender.hear_marks(packets);
        packets > 0
    }

    #[inline(always)]
    pub(super) fn deadline(&self, shared: &Shared) -> Option<Time> {
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

    /// A frame with data.
    pub(super) fn data(&mut self, env: &mut Env, outgoing: Outgoing) -> Box<NetFrame> {
        let shared = &env.shared;
        // RFC 3168 section 6.1.5: retransmissions are not ECN capable. In Linux's DCTCP, they are.
        let ecn = if outgoing.retransmission { self.fields.control } else { self.fields.data };
        let mut flags = flags::ACK | self.echo_flags(outgoing.cwr);
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
            ecn,
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
