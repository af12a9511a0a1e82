// SPDX-License-Identifier: MIT OR Apache-2.0
//! Hosts: NICs, flows and connections.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use marklab_switch::Frame;
use marklab_tm::Chain;
use marklab_units::{Duration, Time};

use super::connection::{Connection, Message, Side, State};
use super::handshake::{Asking, EcnMode};
use super::{Event, FlowRecord, Network};
use crate::config::Connections;
use crate::frame::NetFrame;
use crate::ledger::Reason;
use crate::tcp::{AckEvent, MAX_ADVERTISED, Outgoing, Sender, WINDOW_SCALE, stream_offset, wire_sequence};
use crate::wire::{Ecn, EndPoint, Header, MAX_OPTIONS, Segment, flags, options, stamp};

/// Client ports begin above the well-known ports. Each connection has its own pair of client and server port.
const FIRST_CLIENT_PORT: usize = 1_024;
const CLIENT_PORTS: usize = 64_000;
const FIRST_SERVER_PORT: usize = 5_001;

/// A host.
#[derive(Debug)]
pub(super) struct Host {
    pub(super) mac: [u8; 6],
    pub(super) ip: u32,
    pub(super) line: Option<u32>,
    pub(super) capture: Option<u32>,
    /// Packets in the NIC.
    waiting: u64,
    /// First come, first served.
    fifo: Chain,
    /// Connection ends with waiting packets, in the order of their turns.
    turns: VecDeque<(u32, Side)>,
}

impl Host {
    pub(super) fn new(mac: [u8; 6], ip: u32) -> Host {
        Host { mac, ip, line: None, capture: None, waiting: 0, fifo: Chain::default(), turns: VecDeque::new() }
    }
}

/// Persistent connections between two hosts.
#[derive(Debug, Default)]
pub(super) struct Pool {
    /// Connections that carry no flow. The connection opened first is used first.
    idle: BinaryHeap<Reverse<u32>>,
    /// Connections made so far.
    made: u32,
}

impl Network {
    fn host(&mut self, node: usize) -> &mut Host {
        self.nodes[node].host()
    }

    // Flows

    /// The connection that carries a flow: a new one, or an idle one from the pool.
    pub(super) fn connection_for(&mut self, flow: usize) -> usize {
        let flow = self.flows[flow];
        let pair = (flow.src, flow.dst);
        if let Connections::Persistent { per_pair } = self.mode {
            let pool = self.pools.entry(pair).or_default();
            if let Some(Reverse(connection)) = pool.idle.pop() {
                return connection as usize;
            }
            pool.made += 1;
            let open_before_the_run = pool.made <= per_pair;
            let connection = self.connect(pair, open_before_the_run, false, flow.ecn);
            self.connections[connection].limit_window(flow.receive_window_bytes);
            return connection;
        }
        let connection = self.connect(pair, false, true, flow.ecn);
        self.connections[connection].limit_window(flow.receive_window_bytes);
        if let Connections::Asked { request_bytes } = self.mode {
            self.connections[connection].asking = Some(Box::new(Asking::new(request_bytes, self.transport.rto())));
        }
        connection
    }

    /// Makes a connection, which is open already if `open`. Otherwise its SYN is sent when the flow is written.
    pub(super) fn connect(&mut self, (src, dst): (usize, usize), open: bool, closes: bool, ecn: bool) -> usize {
        let number = self.connections.len();
        let ports = (FIRST_CLIENT_PORT + number % CLIENT_PORTS, FIRST_SERVER_PORT + number / CLIENT_PORTS);
        let end = |host: &Host, port| EndPoint { mac: host.mac, ip: host.ip, port };
        let client = end(self.host(src), ports.0 as u16);
        let server = end(self.host(dst), ports.1 as u16);
        let mut connection = Connection::new([src, dst], [client, server], &self.transport, ecn);
        connection.closes = closes;
        self.connections.push(if open { connection } else { connection.unopened() });
        number
    }

    /// The application writes: all of a flow, or the next segment of a rate-limited flow.
    pub(super) fn write_more(&mut self, connection: usize) {
        let mss = u64::from(self.transport.payload_bytes());
        let state = &mut self.connections[connection];
        let Some(message) = state.messages.back_mut() else { return };
        let (bytes, pause) = message.write(mss);
        if let Some(pause) = pause {
            self.events.push(self.now + pause, Event::Write(connection as u32));
        }
        state.sender.write(bytes);
        match state.state {
            State::Unopened => self.open(connection),
            _ => self.send_segments(connection),
        }
    }

    /// Finishes flows whose last byte has arrived.
    fn finish_flows(&mut self, connection: usize) {
        loop {
            let state = &mut self.connections[connection];
            let Some(&message) = state.messages.front() else { return };
            if state.receiver.rcv_nxt() < message.end {
                return;
            }
            state.messages.pop_front();
            let flow = self.flows[message.flow as usize];
            self.records[message.flow as usize] = FlowRecord {
                fct: Some(self.now.since(Time::from_nanos(flow.start_ns))),
                ..record(&message, &state.sender, flow.size_bytes)
            };
            self.finished += 1;
            self.wake_follower(message.flow, connection);
            if let Connections::Persistent { .. } = self.mode {
                let pool = self.pools.entry((flow.src, flow.dst)).or_default();
                pool.idle.push(Reverse(connection as u32));
            }
        }
    }

    /// Records the results of unfinished flows.
    pub(super) fn record_unfinished(&mut self) {
        for state in &self.connections {
            for message in &state.messages {
                let delivered = message.delivered(&self.flows[message.flow as usize], state.receiver.rcv_nxt());
                self.records[message.flow as usize] = record(message, &state.sender, delivered);
            }
        }
    }

    // Sending

    /// Sends the segments that window and NIC allow.
    pub(super) fn send_segments(&mut self, connection: usize) {
        loop {
            let state = &mut self.connections[connection];
            if state.state != State::Open {
                break;
            }
            let nic = &mut state.nic[Side::Client as usize];
            nic.throttled = nic.bytes >= self.nic.budget_bytes || !state.sender.may_queue(nic.bytes);
            if nic.throttled {
                state.sender.end_burst(self.now);
                break;
            }
            let Some(outgoing) = state.sender.next_segment(self.now) else { break };
            self.send_data(connection, outgoing);
        }
        self.arm_sender_timer(connection);
    }

    /// A packet of the client has left its NIC.
    pub(super) fn nic_has_room(&mut self, connection: usize) {
        if self.connections[connection].nic[Side::Client as usize].throttled {
            self.send_segments(connection);
        }
    }

    fn send_data(&mut self, connection: usize, outgoing: Outgoing) {
        let state = &self.connections[connection];
        // RFC 3168 section 6.1.5: retransmissions are not ECN capable. In Linux's DCTCP, they are.
        let capable = state.ecn[Side::Client as usize] == EcnMode::Classic
            && (!outgoing.retransmission || self.transport.ecn_control_packets());
        let mut flags = flags::ACK;
        if outgoing.cwr {
            flags |= flags::CWR;
        }
        if outgoing.last {
            flags |= flags::PSH;
            if state.closes && state.fully_written() {
                flags |= flags::FIN;
            }
        }
        // The NIC fills in the time.
        let timing = options::timing(0);
        let options = if state.sender.control().hears_delay() { &timing[..] } else { &[] };
        let header = Header {
            sequence: wire_sequence(state.first_data(), outgoing.offset),
            ack: state.initial[Side::Server as usize].wrapping_add(1 + state.heard_bytes()),
            flags,
            ecn: if capable { Ecn::Ect0 } else { Ecn::NotEct },
            options,
            payload: outgoing.len,
            ..self.blank_header()
        };
        self.send(connection, Side::Client, &header);
    }

    /// A header of an empty segment, without sequence number, acknowledgement and flags.
    pub(super) fn blank_header(&self) -> Header<'static> {
        Header {
            sequence: 0,
            ack: 0,
            flags: 0,
            window: advertised(self.transport.receive_window_bytes),
            ecn: Ecn::NotEct,
            options: &[],
            payload: 0,
        }
    }

    /// ECN field of an end's packets that carry no data.
    pub(super) fn control_ecn(&self, connection: usize, side: Side) -> Ecn {
        let mode = self.connections[connection].ecn[side as usize];
        if mode != EcnMode::NotEcn && self.transport.ecn_control_packets() { Ecn::Ect0 } else { Ecn::NotEct }
    }

    /// The client acknowledges the server's SYN, request or FIN.
    pub(super) fn send_client_ack(&mut self, connection: usize, fin: bool) {
        let state = &self.connections[connection];
        let sent = state.sender.snd_nxt() + u64::from(fin);
        let header = Header {
            sequence: wire_sequence(state.first_data(), sent),
            ack: state.initial[Side::Server as usize].wrapping_add(1 + state.heard_bytes() + u32::from(fin)),
            flags: flags::ACK,
            ecn: self.control_ecn(connection, Side::Client),
            ..self.blank_header()
        };
        self.send(connection, Side::Client, &header);
    }

    /// The server acknowledges everything before `next`, and reports the one-way delay of the latest data.
    pub(super) fn send_ack(&mut self, connection: usize, next: u64, ece: bool) {
        let state = &mut self.connections[connection];
        let window = state.select_window();
        let first = state.first_data();
        let closing = state.fin_received() && next == state.receiver.rcv_nxt();
        let blocks = state.receiver.sack_blocks();
        let wire =
            blocks.as_slice().iter().map(|&(start, end)| (wire_sequence(first, start), wire_sequence(first, end)));
        let mut space = [0; MAX_OPTIONS];
        let timed = match state.one_way_ns {
            Some(one_way_ns) => {
                space[..options::TIMING_BYTES].copy_from_slice(&options::timing(one_way_ns));
                options::TIMING_BYTES
            }
            None => 0,
        };
        let used = timed + options::sack(wire, &mut space[timed..]);
        let mut flags = flags::ACK;
        if ece {
            flags |= flags::ECE;
        }
        if closing {
            flags |= flags::FIN;
        }
        let header = Header {
            sequence: state.initial[Side::Server as usize].wrapping_add(1 + state.asked_bytes()),
            ack: wire_sequence(first, next + u64::from(closing)),
            flags,
            window: advertised(window),
            ecn: self.control_ecn(connection, Side::Server),
            options: &space[..used],
            ..self.blank_header()
        };
        self.send(connection, Side::Server, &header);
    }

    /// Makes a frame and sends it.
    pub(super) fn send(&mut self, connection: usize, side: Side, header: &Header<'_>) {
        if self.pias.is_some() {
            self.tag(connection, side, header);
        }
        let mut frame = self.frames.take(connection as u32, side == Side::Client, header.ecn);
        let state = &mut self.connections[connection];
        state.templates[side as usize].write(&mut frame.packet, header);
        self.enqueue(connection, side, frame);
    }

    // NIC

    pub(super) fn enqueue(&mut self, connection: usize, side: Side, frame: Box<NetFrame>) {
        let (limit, fair) = (self.nic.limit_packets, self.fair());
        let state = &mut self.connections[connection];
        let node = state.hosts[side as usize];
        let host = self.nodes[node].host();
        if host.waiting >= limit {
            return self.lose(node, None, Reason::NicFull, frame);
        }
        let line = host.line.expect("every host is linked") as usize;
        if host.waiting == 0 && self.lines[line].is_free(self.now) && self.rdma.is_none() {
            return self.send_at_once(node, line, frame);
        }
        host.waiting += 1;
        let queue = &mut state.nic[side as usize];
        queue.bytes += frame.packet.len() as u64;
        if fair {
            self.queued.push_back(&mut queue.waiting, frame);
            if queue.waiting.len() == 1 {
                host.turns.push_back((connection as u32, side));
            }
        } else {
            self.queued.push_back(&mut host.fifo, frame);
        }
        self.start(line);
    }

    /// Sends a frame that finds an empty NIC and a free line: what the NIC's queue and [`Network::transmit`] would do.
    // A queue would write the frame's place to memory only to read it again at once, which a processor has to wait for.
    #[inline(never)]
    fn send_at_once(&mut self, node: usize, line: usize, mut frame: Box<NetFrame>) {
        self.leave_nic(node, &mut frame);
        let (connection, by_client) = (frame.connection as usize, frame.notes.by_client());
        self.put_on_line(line, frame);
        if by_client {
            self.nic_has_room(connection);
        }
    }

    /// A frame leaves its host.
    #[inline(always)]
    fn leave_nic(&mut self, node: usize, frame: &mut NetFrame) {
        if self.stamps && frame.notes.by_client() {
            stamp(&mut frame.packet, self.now.nanos() as u32);
        }
        let capture = self.nodes[node].host().capture;
        self.capture(capture, frame);
    }

    /// The next frame that a host sends, and whether more are waiting.
    pub(super) fn host_next(&mut self, node: usize) -> Option<(Box<NetFrame>, bool)> {
        let fair = self.fair();
        let host = self.nodes[node].host();
        let mut frame = if fair {
            let &(connection, side) = host.turns.front()?;
            let queue = &mut self.connections[connection as usize].nic[side as usize];
            let frame = self.queued.pop_front(&mut queue.waiting)?;
            match self.queued.front(&queue.waiting) {
                None => _ = host.turns.pop_front(),
                Some(next) => {
                    next.touch();
                    if host.turns.len() > 1 {
                        host.turns.rotate_left(1);
                    }
                }
            }
            queue.bytes -= frame.packet.len() as u64;
            frame
        } else {
            let frame = self.queued.pop_front(&mut host.fifo)?;
            let side = if frame.notes.by_client() { Side::Client } else { Side::Server };
            self.connections[frame.connection as usize].nic[side as usize].bytes -= frame.packet.len() as u64;
            frame
        };
        host.waiting -= 1;
        let more = host.waiting > 0;
        self.leave_nic(node, &mut frame);
        Some((frame, more))
    }

    // Receiving

    /// A host receives a frame. It relies only on the bytes of the frame.
    pub(super) fn host_receives(&mut self, node: usize, frame: Box<NetFrame>) {
        let capture = self.host(node).capture;
        self.capture(capture, &frame);
        // Not moved out of the result: a copy directly after the stores of its fields would have to wait for them.
        let parsed = Segment::parse(&frame.packet);
        let segment = match &parsed {
            Ok(segment) => segment,
            Err(malformed) => return self.host_receives_other(node, frame, *malformed),
        };
        let connection = frame.connection as usize;
        let state = &self.connections[connection];
        let between = |from: Side, to: Side| {
            let (from, to) = (state.ends[from as usize], state.ends[to as usize]);
            (segment.src, segment.src_port, segment.dst, segment.dst_port) == (from.ip, from.port, to.ip, to.port)
        };
        let to = if state.hosts[Side::Server as usize] == node && between(Side::Client, Side::Server) {
            Side::Server
        } else if state.hosts[Side::Client as usize] == node && between(Side::Server, Side::Client) {
            Side::Client
        } else {
            return self.lose(node, None, Reason::NoConnection, frame);
        };
        self.ecn.compare(frame.notes.due_as(), segment.ecn);
        let delayed = state.extra_delay != Duration::ZERO || !state.delay_line.is_empty();
        if to == Side::Server && delayed {
            return self.delay(connection, frame);
        }
        self.frames.give(frame);
        match to {
            Side::Server => self.server_receives(connection, segment, self.now),
            Side::Client => self.client_receives(connection, segment),
        }
    }

    /// The flow's extra delay lies between the server's NIC and its TCP: so the client's TCP sees how full its own NIC is,
    /// and lines carry frames in order.
    fn delay(&mut self, connection: usize, frame: Box<NetFrame>) {
        let state = &mut self.connections[connection];
        // Even if the delay is shorter than the previous flow's, packets must not overtake.
        let earliest = self.delayed.back(&state.delay_line).map_or(Time::ZERO, |&(time, _)| time);
        let release = (self.now + state.extra_delay).max(earliest);
        self.delayed.push_back(&mut state.delay_line, (release, frame));
        if state.delay_line.len() == 1 {
            self.events.push(release, Event::Release(connection as u32));
        }
    }

    /// The server's TCP receives the frames of a connection's delay line that are due.
    pub(super) fn release(&mut self, connection: usize) {
        while let Some(&(time, _)) = self.delayed.front(&self.connections[connection].delay_line) {
            if time > self.now {
                self.events.push(time, Event::Release(connection as u32));
                return;
            }
            let state = &mut self.connections[connection];
            // Later than that where it waited for an earlier flow's, or if the delay has changed since.
            let arrived = Time::from_nanos(self.now.nanos().saturating_sub(state.extra_delay.nanos()));
            if let Some((_, frame)) = self.delayed.pop_front(&mut state.delay_line)
                && let Ok(segment) = Segment::parse(&frame.packet)
            {
                self.frames.give(frame);
                self.server_receives(connection, &segment, arrived);
            }
        }
    }

    /// The server's NIC receives a segment behind the delay line, where it `arrived`.
    fn server_receives(&mut self, connection: usize, segment: &Segment, arrived: Time) {
        if self.transport.stack.merges() {
            return self.merge(connection, segment, arrived);
        }
        self.tcp_receives(connection, segment, 1, arrived);
    }

    /// The server's TCP receives a segment that `arrived` at its NIC, or `segments` that the NIC has merged.
    pub(super) fn tcp_receives(&mut self, connection: usize, segment: &Segment, segments: u32, arrived: Time) {
        if segment.flags & flags::SYN != 0 {
            return self.server_receives_syn(connection, segment.flags);
        }
        let now = self.now;
        let state = &mut self.connections[connection];
        if let Some(answer) = &mut state.answer {
            answer.acknowledged();
        }
        let fin = segment.flags & flags::FIN != 0;
        if segment.payload == 0 && !fin {
            return;
        }
        let Some(offset) = stream_offset(state.first_data(), segment.sequence, state.receiver.rcv_nxt()) else {
            return;
        };
        if let Some(asking) = &mut state.asking {
            asking.data_came(now, offset + u64::from(segment.payload));
        }
        let (ce, cwr) = (segment.ecn == Ecn::Ce, segment.flags & flags::CWR != 0);
        if let (true, Some(message)) = (ce, state.messages.front_mut()) {
            message.marked += u64::from(segments);
        }
        let plan = state.receiver.on_segments(now, offset, segment.payload, segments, ce, cwr);
        // The difference is correct even if the 32-bit clock has wrapped around in between.
        let one_way_ns = segment.timing.map(|sent_ns| (arrived.nanos() as u32).wrapping_sub(sent_ns));
        let before = std::mem::replace(&mut state.one_way_ns, one_way_ns);
        if fin {
            state.fin_at = Some(offset + u64::from(segment.payload));
        }
        if self.flow_trace.is_some() {
            self.trace_delivery(connection);
        }
        let state = &mut self.connections[connection];
        let acknowledge = match plan.now {
            Some(ece) => Some(ece),
            None => state.fin_received().then(|| state.receiver.acknowledge()),
        };
        if let Some((next, ece)) = plan.earlier {
            self.connections[connection].one_way_ns = before;
            self.send_ack(connection, next, ece);
            self.connections[connection].one_way_ns = one_way_ns;
        }
        self.finish_flows(connection);
        if let Some(ece) = acknowledge {
            let next = self.connections[connection].receiver.rcv_nxt();
            self.send_ack(connection, next, ece);
        }
        self.arm_receiver_timer(connection);
    }

    /// Records the bytes that a connection's flow has delivered so far.
    #[cold]
    fn trace_delivery(&mut self, connection: usize) {
        let state = &self.connections[connection];
        if let (Some(trace), Some(message)) = (&mut self.flow_trace, state.messages.front()) {
            let delivered = message.delivered(&self.flows[message.flow as usize], state.receiver.rcv_nxt());
            trace.delivered(self.now, message.flow, delivered);
        }
    }

    /// Records the state of a connection's sender.
    #[cold]
    pub(super) fn trace_sender(&mut self, connection: usize) {
        let state = &self.connections[connection];
        if let (Some(trace), Some(flow)) = (&mut self.sender_trace, state.latest_flow) {
            trace.look(self.now, flow, &state.sender);
        }
    }

    pub(super) fn client_receives(&mut self, connection: usize, segment: &Segment) {
        let now = self.now;
        if segment.flags & flags::SYN != 0 {
            return self.client_receives_syn(connection, segment.flags);
        }
        let state = &mut self.connections[connection];
        if state.asking.is_some() {
            if segment.payload > 0 {
                return self.client_receives_request(connection, segment);
            }
            if let Some(answer) = &mut state.answer {
                answer.acknowledged();
            }
        }
        let first = state.first_data();
        let una = state.sender.snd_una();
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
        let ack = ack.min(state.sender.snd_nxt());
        if self.transport.stack.window_autotuning {
            state.sender.hear_window(ack, u64::from(segment.window) << WINDOW_SCALE);
        }
        let ece = segment.flags & flags::ECE != 0;
        let one_way = segment.timing.map(|one_way_ns| Duration::from_nanos(one_way_ns.into()));
        if let Some(rtt) = state.sender.on_ack(now, AckEvent { ack, sacks: &sacks[..count], ece, one_way }) {
            self.rtts.saturating_record(rtt.nanos());
        }
        if self.sender_trace.is_some() {
            self.trace_sender(connection);
        }
        if segment.flags & flags::FIN != 0 {
            self.send_client_ack(connection, true);
            self.connections[connection].release();
        } else {
            self.send_segments(connection);
        }
    }

    // Timers: if the deadline was postponed in the meantime, an event comes early, and is scheduled again.

    fn sender_deadline(&self, connection: usize) -> Option<Time> {
        let state = &self.connections[connection];
        match state.state {
            State::Unopened => state.asking.as_ref().and_then(|asking| asking.deadline),
            State::Closed => None,
            State::Open => match &state.asking {
                None => state.sender.deadline(),
                Some(asking) => [asking.deadline, state.sender.deadline()].into_iter().flatten().min(),
            },
            State::Opening { since, attempts } => {
                let wait = self.transport.stack.syn_wait(attempts);
                Some(since + self.transport.rto().initial.saturating_mul(wait))
            }
        }
    }

    pub(super) fn arm_sender_timer(&mut self, connection: usize) {
        let deadline = self.sender_deadline(connection);
        self.arm(connection, Side::Client, deadline);
    }

    pub(super) fn arm_receiver_timer(&mut self, connection: usize) {
        let state = &self.connections[connection];
        let deadline = match &state.answer {
            None => state.receiver.deadline(),
            Some(answer) => [answer.deadline, state.receiver.deadline()].into_iter().flatten().min(),
        };
        self.arm(connection, Side::Server, deadline);
    }

    fn arm(&mut self, connection: usize, side: Side, deadline: Option<Time>) {
        let pending = &mut self.connections[connection].pending[side as usize];
        if let Some(deadline) = deadline
            && pending.is_none_or(|time| time > deadline)
        {
            *pending = Some(deadline);
            let event = match side {
                Side::Client => Event::SenderTimer(connection as u32),
                Side::Server => Event::ReceiverTimer(connection as u32),
            };
            self.events.push(deadline, event);
        }
    }

    /// Whether a timer event is the pending one. Superseded events are ignored.
    fn take_pending(&mut self, connection: usize, side: Side) -> bool {
        let pending = &mut self.connections[connection].pending[side as usize];
        let current = *pending == Some(self.now);
        if current {
            *pending = None;
        }
        current
    }

    pub(super) fn sender_timer(&mut self, connection: usize) {
        if !self.take_pending(connection, Side::Client) {
            return;
        }
        let now = self.now;
        let past = |deadline: Option<Time>| deadline.is_some_and(|deadline| deadline <= now);
        let state = &mut self.connections[connection];
        if state.asking.as_ref().is_some_and(|asking| past(asking.deadline)) && state.state != State::Closed {
            state.sender.on_repeated();
            self.ask_for_data(connection);
            if !past(self.connections[connection].sender.deadline()) {
                return;
            }
        }
        let due = past(self.sender_deadline(connection));
        match (due, self.connections[connection].state) {
            (true, State::Opening { attempts, .. }) => {
                let sender = &mut self.connections[connection].sender;
                sender.on_repeated();
                if self.transport.stack.begins_with_one_segment(attempts + 1) {
                    sender.on_lost_handshake();
                }
                self.send_syn(connection);
            }
            (true, State::Open) => {
                self.connections[connection].sender.on_timeout(self.now);
                self.send_segments(connection);
                if self.sender_trace.is_some() {
                    self.trace_sender(connection);
                }
            }
            _ => self.arm_sender_timer(connection),
        }
    }

    pub(super) fn receiver_timer(&mut self, connection: usize) {
        if !self.take_pending(connection, Side::Server) {
            return;
        }
        if self.connections[connection].answer.is_some() {
            self.answer_timer(connection);
        }
        let state = &mut self.connections[connection];
        if state.receiver.deadline().is_some_and(|deadline| deadline <= self.now) {
            let ece = state.receiver.on_ack_timer();
            let next = state.receiver.rcv_nxt();
            self.send_ack(connection, next, ece);
        }
        self.arm_receiver_timer(connection);
    }
}

/// A window as a header has it, scaled and limited to 16 bits.
pub(super) fn advertised(window_bytes: u64) -> u16 {
    (window_bytes.min(MAX_ADVERTISED) >> WINDOW_SCALE) as u16
}

fn record(message: &Message, sender: &Sender, delivered_bytes: u64) -> FlowRecord {
    let during = sender.stats.since(message.before);
    let base_delay = sender.control().base_delay();
    FlowRecord { fct: None, sender: during, marked: message.marked, delivered_bytes, base_delay }
}
