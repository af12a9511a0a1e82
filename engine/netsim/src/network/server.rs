// SPDX-License-Identifier: MIT OR Apache-2.0
//! The end of a connection that receives data.

use std::collections::VecDeque;

use marklab_tm::Chain;
use marklab_units::{Duration, Time};

use super::connection::{end_points, initial_sequences};
use super::env::{Env, Received, Shared};
use super::gro::Merged;
use super::handshake::{Answer, Asking, EcnFields, EcnMode, MarkedPackets};
use super::nic_queue::NicQueue;
use crate::config::Connections;
use crate::frame::NetFrame;
use crate::tcp::Receiver;
use crate::traffic::Flow;
use crate::wire::{Ecn, EndPoint, Header, Segment, Template, flags};

/// A flow that is being received.
#[derive(Clone, Copy, Debug)]
pub(super) struct Expected {
    pub(super) flow: u32,
    start: Time,
    /// Stream offset behind its last byte, and its bytes.
    pub(super) end: u64,
    size_bytes: u64,
    /// Packets that arrived with congestion experienced.
    pub(super) marked: u64,
    /// Packets that the receiver had repeated when the flow started.
    repeated_before: u64,
    /// Delivered bytes that are in the trace of flows.
    traced: u64,
}

impl Expected {
    pub(super) fn new(number: u32, flow: &Flow, start: Time, end: u64, repeated_before: u64) -> Expected {
        Expected { flow: number, start, end, size_bytes: flow.size_bytes, marked: 0, repeated_before, traced: 0 }
    }

    /// Bytes of the flow that have arrived in order, if the stream is complete up to `next`.
    pub(super) fn delivered(&self, next: u64) -> u64 {
        next.min(self.end).saturating_sub(self.end - self.size_bytes)
    }

    /// Records the bytes that were delivered since the last time, if the stream is complete up to `next`.
    #[cold]
    pub(super) fn trace(&mut self, env: &mut Env, next: u64) {
        let delivered = self.delivered(next);
        let before = std::mem::replace(&mut self.traced, delivered);
        if let Some(trace) = &mut env.tally.flow_trace {
            trace.delivered(env.now, self.flow, delivered - before);
        }
    }

    /// What is known of the flow, whose stream is complete up to `next`.
    pub(super) fn received(&self, next: u64, fct: Option<Duration>, repeated: u64) -> Received {
        let repeated = repeated - self.repeated_before;
        Received { flow: self.flow, fct, marked: self.marked, delivered_bytes: self.delivered(next), repeated }
    }

    /// Time since its start.
    pub(super) fn fct(&self, now: Time) -> Duration {
        now.since(self.start)
    }
}

/// The end of a connection that receives data.
#[derive(Debug)]
pub(super) struct Server {
    pub(super) connection: u32,
    /// How it uses ECN.
    pub(super) ecn: EcnMode,
    fields: EcnFields,
    pub(super) marked: MarkedPackets,
    ends: [EndPoint; 2],
    /// Initial sequence numbers of client and server. Stream offset 0 follows the client's.
    pub(super) initial: [u32; 2],
    pub(super) receiver: Receiver,
    /// The window that it advertises, unless it is tuned.
    window: u64,
    /// One-way delay of the latest data in ns, if its segment carried its departure time.
    pub(super) one_way_ns: Option<u32>,
    pub(super) template: Template,
    pub(super) messages: VecDeque<Expected>,
    /// Stream offset behind the last flow.
    pub(super) end: u64,
    /// What it does to open the connection and to ask for data; `None` if the client opens the connection.
    pub(super) asking: Option<Box<Asking>>,
    /// State of the answer to the client's SYN, if the answer has a timer.
    pub(super) answer: Option<Box<Answer>>,
    /// Packets of the handshake and requests that it has repeated.
    pub(super) repeated: u64,
    /// Stream offset at which the client's data ends, once its FIN has arrived.
    pub(super) fin_at: Option<u64>,
    /// Delay between NIC and TCP, and the frames in it.
    pub(super) extra_delay: Duration,
    pub(super) delay_line: Chain,
    /// Segments that the NIC has merged for TCP.
    pub(super) merged: Option<Box<Merged>>,
    pub(super) nic: NicQueue,
    /// Time of the earliest pending timer event.
    pub(super) pending: Option<Time>,
}

impl Server {
    /// The server of a connection that a flow opens, or that is `open` already.
    pub(super) fn new(shared: &Shared, connection: u32, flow: &Flow, open: bool) -> Server {
        let transport = shared.transport.of(flow);
        let ends = end_points(shared, connection, flow.src, flow.dst);
        let mut receiver = Receiver::new(transport.receiver(flow.ecn));
        let mut window = transport.receive_window_bytes;
        if transport.stack.window_autotuning {
            receiver.limit_window(transport.receive_window_bytes);
            receiver.limit_window(flow.receive_window_bytes);
        } else if flow.receive_window_bytes > 0 {
            window = flow.receive_window_bytes;
        }
        let asking = match shared.mode {
            Connections::Asked { request_bytes } => Some(Box::new(Asking::new(request_bytes, transport.rto()))),
            Connections::New | Connections::Persistent { .. } | Connections::Queued { .. } => None,
        };
        let ecn = EcnMode::of(&*transport.control(flow.ecn), open);
        Server {
            connection,
            ecn,
            fields: EcnFields::of(ecn, transport.control.ecn_control_packets()),
            marked: MarkedPackets::default(),
            ends,
            initial: initial_sequences(&ends),
            receiver,
            window,
            one_way_ns: None,
            template: Template::new(ends[1], ends[0], 0),
            messages: VecDeque::new(),
            end: 0,
            asking,
            answer: None,
            repeated: 0,
            fin_at: None,
            extra_delay: Duration::ZERO,
            delay_line: Chain::default(),
            merged: None,
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
                == (client.ip, client.port, server.ip, server.port)
    }

    /// Sequence number of stream offset 0.
    pub(super) fn first_data(&self) -> u32 {
        self.initial[0].wrapping_add(1)
    }

    /// Bytes of requests that it has sent.
    pub(super) fn asked_bytes(&self) -> u32 {
        self.asking.as_ref().map_or(0, |asking| asking.sent_bytes())
    }

    /// The window to advertise now.
    pub(super) fn select_window(&mut self) -> u64 {
        self.receiver.select_window().unwrap_or(self.window)
    }

    /// Whether the client's FIN and everything before it have arrived.
    pub(super) fn fin_received(&self) -> bool {
        self.fin_at.is_some_and(|end| self.receiver.rcv_nxt() >= end)
    }

    pub(super) fn record_unfinished(&self, env: &mut Env) {
        for message in &self.messages {
            env.tally.received.push(message.received(self.receiver.rcv_nxt(), None, self.repeated));
        }
    }

    /// Flags of an acknowledgement that echo marks.
    pub(super) fn echo_flags(&self, ece: bool) -> u16 {
        match self.ecn {
            EcnMode::Accurate(_) => self.marked.flags(),
            _ if ece => flags::ECE,
            _ => 0,
        }
    }

    /// ECN field of its packets, none of which have data.
    pub(super) fn control_ecn(&self) -> Ecn {
        self.fields.control
    }

    /// Reads the flags of a SYN or SYN-ACK. Returns whether it has to do with less ECN than it asked for.
    pub(super) fn negotiate(&mut self, env: &mut Env, segment: &Segment) -> bool {
        let gives_up = self.ecn.negotiate(env, segment);
        self.fields.agree(self.ecn);
        gives_up
    }

    /// A frame with this header.
    pub(super) fn frame(&mut self, env: &mut Env, header: &Header<'_>) -> Box<NetFrame> {
        if env.shared.pias.is_some() {
            // A request is the first data that its host sends.
            self.template.set_dscp(env.tag(0, header.payload > 0));
        }
        let mut frame = env.frames.take(self.connection, false, header.ecn);
        self.template.write(&mut frame.packet, header);
        frame
    }

    #[inline(always)]
    pub(super) fn deadline(&self) -> Option<Time> {
        match (&self.answer, &self.asking) {
            (None, None) => self.receiver.deadline(),
            _ => self.any_deadline(),
        }
    }

    #[cold]
    fn any_deadline(&self) -> Option<Time> {
        let answer = self.answer.as_ref().and_then(|answer| answer.deadline);
        let asking = self.asking.as_ref().and_then(|asking| asking.deadline);
        [answer, asking, self.receiver.deadline()].into_iter().flatten().min()
    }
}
