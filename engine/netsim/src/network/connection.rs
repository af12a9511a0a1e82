// SPDX-License-Identifier: MIT OR Apache-2.0
//! A connection between two hosts: both TCP end points, and the queues and the delay line between TCP and the NICs.

use std::collections::VecDeque;

use marklab_tm::Chain;
use marklab_units::{Duration, Rate, Time};

use super::gro::Merged;
use super::handshake::{Answer, Asking, EcnMode};
use crate::config::{Flow, Transport};
use crate::tcp::{Receiver, Sender, SenderStats};
use crate::wire::{EndPoint, Template};

/// The end that sends data (client), or the end that receives it (server).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Side {
    Client = 0,
    Server = 1,
}

/// Life of a connection.
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

/// A flow on a connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct Message {
    pub(super) flow: u32,
    /// Stream offset behind its last byte.
    pub(super) end: u64,
    /// Bytes that the application has not written yet, and its rate.
    pub(super) unwritten: u64,
    pub(super) rate: Option<Rate>,
    /// Fraction of a ns that the time of its last write left over, in units of 1/rate ns.
    pub(super) carry: u64,
    /// Counts of the sender at the start of the flow.
    pub(super) before: SenderStats,
    /// Packets that arrived with congestion experienced.
    pub(super) marked: u64,
}

impl Message {
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

    /// Bytes of the flow that have arrived in order, if the stream is complete up to `next`.
    pub(super) fn delivered(&self, flow: &Flow, next: u64) -> u64 {
        next.min(self.end).saturating_sub(self.end - flow.size_bytes)
    }
}

/// Packets of one end that wait in its host's NIC.
#[derive(Debug, Default)]
pub(super) struct NicQueue {
    pub(super) waiting: Chain,
    /// Bytes in the NIC.
    pub(super) bytes: u64,
    /// Whether TCP has more to send and waits until one of these packets has left: Linux's `TSQ_THROTTLED`.
    pub(super) throttled: bool,
}

/// A connection. The client is the host that sends data.
#[derive(Debug)]
pub(super) struct Connection {
    /// Nodes of client and server.
    pub(super) hosts: [usize; 2],
    pub(super) ends: [EndPoint; 2],
    pub(super) state: State,
    /// How client and server use ECN.
    pub(super) ecn: [EcnMode; 2],
    pub(super) sender: Sender,
    pub(super) receiver: Receiver,
    /// One-way delay of the latest data in ns, if its segment carried its departure time.
    pub(super) one_way_ns: Option<u32>,
    /// Headers from the client, and from the server.
    pub(super) templates: [Template; 2],
    /// Initial sequence numbers. Stream offset 0 follows the client's.
    pub(super) initial: [u32; 2],
    pub(super) messages: VecDeque<Message>,
    /// The flow that started last.
    pub(super) latest_flow: Option<u32>,
    /// Whether it closes when its flows are written.
    pub(super) closes: bool,
    /// State of the server that asks for data; `None` if the client opens the connection.
    pub(super) asking: Option<Box<Asking>>,
    /// State of the answer to the SYN, if the answer has a timer or the server opens the connection.
    pub(super) answer: Option<Box<Answer>>,
    /// Stream offset at which the client's data ends, once its FIN has arrived at the server.
    pub(super) fin_at: Option<u64>,
    /// Delay between the server's NIC and its TCP, and the frames in it.
    pub(super) extra_delay: Duration,
    pub(super) delay_line: Chain,
    /// Segments that the server's NIC has merged for TCP.
    pub(super) merged: Option<Box<Merged>>,
    pub(super) nic: [NicQueue; 2],
    /// Times of the earliest pending timer events of sender and receiver.
    pub(super) pending: [Option<Time>; 2],
}

impl Connection {
    /// An open connection. With `ecn`, both ends take part in ECN, if the transport does.
    pub(super) fn new(hosts: [usize; 2], ends: [EndPoint; 2], transport: &Transport, ecn: bool) -> Connection {
        let [client, server] = ends;
        let (client_port, server_port) = (u32::from(client.port), u32::from(server.port));
        let control = transport.control(ecn);
        let mode = if control.ecn() { EcnMode::Classic } else { EcnMode::NotEcn };
        let mut connection = Connection {
            hosts,
            ends,
            state: State::Open,
            ecn: [mode; 2],
            sender: Sender::new(transport.sender(), control),
            receiver: Receiver::new(transport.receiver(ecn)),
            one_way_ns: None,
            templates: [Template::new(client, server, 0), Template::new(server, client, 0)],
            // Any value would do; values that differ between connections make captures easier to read.
            initial: [client_port << 16 | server_port, server_port << 16 | client_port],
            messages: VecDeque::new(),
            latest_flow: None,
            closes: false,
            asking: None,
            answer: None,
            fin_at: None,
            extra_delay: Duration::ZERO,
            delay_line: Chain::default(),
            merged: None,
            nic: [NicQueue::default(), NicQueue::default()],
            pending: [None; 2],
        };
        if transport.stack.window_autotuning {
            connection.limit_window(transport.receive_window_bytes);
        }
        connection
    }

    /// The same connection before its handshake.
    pub(super) fn unopened(self) -> Connection {
        Connection { state: State::Unopened, ecn: self.ecn.map(EcnMode::before_handshake), ..self }
    }

    /// Bounds the receiver's window, unless the bound is 0.
    pub(super) fn limit_window(&mut self, receive_window: u64) {
        let first = self.receiver.limit_window(receive_window);
        self.sender.limit_to(first.unwrap_or(receive_window));
    }

    /// The window that the server advertises now.
    pub(super) fn select_window(&mut self) -> u64 {
        self.receiver.select_window().unwrap_or_else(|| self.sender.receive_window())
    }

    /// Sets the code point of later packets of both ends.
    pub(super) fn set_dscp(&mut self, dscp: u8) {
        for template in &mut self.templates {
            template.set_dscp(dscp);
        }
    }

    /// Whether the application has written all of its flows.
    pub(super) fn fully_written(&self) -> bool {
        self.messages.iter().all(|message| message.unwritten == 0)
    }

    /// Whether the client's FIN and everything before it have arrived at the server.
    pub(super) fn fin_received(&self) -> bool {
        self.fin_at.is_some_and(|end| self.receiver.rcv_nxt() >= end)
    }

    /// Closes the connection, and frees memory that it no longer needs.
    pub(super) fn release(&mut self) {
        self.state = State::Closed;
        self.messages = VecDeque::new();
    }

    /// Bytes of requests that the server has sent.
    pub(super) fn asked_bytes(&self) -> u32 {
        self.asking.as_ref().map_or(0, |asking| asking.sent_bytes())
    }

    /// Bytes of requests that have arrived at the client.
    pub(super) fn heard_bytes(&self) -> u32 {
        self.asking.as_ref().map_or(0, |asking| asking.heard_bytes())
    }

    /// Sequence number of stream offset 0.
    pub(super) fn first_data(&self) -> u32 {
        self.initial[Side::Client as usize].wrapping_add(1)
    }
}
