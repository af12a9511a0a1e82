// SPDX-License-Identifier: MIT OR Apache-2.0
//! The end of a connection that receives data.

use std::collections::VecDeque;

use marklab_tm::Chain;
use marklab_units::{Duration, Time};

use super::client::{blank_header, control_ecn, initial_sequences};
use super::env::{Env, Event, Received, Shared};
use super::gro::Merged;
use super::handshake::{Answer, Asking, EcnMode};
use super::hosts::{Host, end_points};
use super::nic::{NicQueue, Owner};
use crate::config::{Connections, Flow};
use crate::frame::NetFrame;
use crate::tcp::{MAX_ADVERTISED, Receiver, WINDOW_SCALE, stream_offset, wire_sequence};
use crate::wire::{Ecn, EndPoint, Header, MAX_OPTIONS, Segment, Template, flags, options};

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
    ends: [EndPoint; 2],
    /// Initial sequence numbers of client and server. Stream offset 0 follows the client's.
    pub(super) initial: [u32; 2],
    pub(super) receiver: Receiver,
    /// The window that it advertises, unless it is tuned.
    window: u64,
    /// One-way delay of the latest data in ns, if its segment carried its departure time.
    one_way_ns: Option<u32>,
    pub(super) template: Template,
    messages: VecDeque<Expected>,
    /// Stream offset behind the last flow.
    end: u64,
    /// What it does to open the connection and to ask for data; `None` if the client opens the connection.
    pub(super) asking: Option<Box<Asking>>,
    /// State of the answer to the client's SYN, if the answer has a timer.
    pub(super) answer: Option<Box<Answer>>,
    /// Packets of the handshake and requests that it has repeated.
    pub(super) repeated: u64,
    /// Stream offset at which the client's data ends, once its FIN has arrived.
    fin_at: Option<u64>,
    /// Delay between NIC and TCP, and the frames in it.
    pub(super) extra_delay: Duration,
    pub(super) delay_line: Chain,
    /// Segments that the NIC has merged for TCP.
    pub(super) merged: Option<Box<Merged>>,
    pub(super) nic: NicQueue,
    /// Time of the earliest pending timer event.
    pending: Option<Time>,
}

impl Server {
    /// The server of a connection that a flow opens, or that is `open` already.
    fn new(shared: &Shared, connection: u32, flow: &Flow, open: bool) -> Server {
        let transport = &shared.transport;
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
            Connections::New | Connections::Persistent { .. } => None,
        };
        Server {
            connection,
            ecn: EcnMode::of(transport.control(flow.ecn).ecn(), open),
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
    fn fin_received(&self) -> bool {
        self.fin_at.is_some_and(|end| self.receiver.rcv_nxt() >= end)
    }

    pub(super) fn record_unfinished(&self, env: &mut Env) {
        for message in &self.messages {
            env.tally.received.push(message.received(self.receiver.rcv_nxt(), None, self.repeated));
        }
    }

    /// ECN field of its packets.
    pub(super) fn control_ecn(&self, shared: &Shared) -> Ecn {
        control_ecn(shared, self.ecn)
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
    fn deadline(&self) -> Option<Time> {
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

impl Host {
    /// Expects a flow on its connection, whose server is made if there is none. Returns the server.
    fn expect_flow(&mut self, env: &Env, number: u32, flow: &Flow, start: Time, connection: u32, open: bool) -> u32 {
        let shared = &env.shared;
        let opener = shared.opener(connection).expect("flows are not on the connections of probes");
        let at = shared.plan.server(opener);
        let server =
            self.servers[at as usize].get_or_insert_with(|| Box::new(Server::new(shared, connection, flow, open)));
        server.template.set_dscp(flow.dscp);
        server.extra_delay = Duration::from_nanos(flow.extra_delay_ns);
        server.end += flow.size_bytes;
        server.messages.push_back(Expected::new(number, flow, start, server.end, server.repeated));
        at
    }

    /// A flow that its sender has started will arrive on a connection.
    pub(super) fn receive_flow(&mut self, env: &Env, number: u32, flow: &Flow, connection: u32, open: bool) {
        self.expect_flow(env, number, flow, Host::noticed_start(env, flow), connection, open);
    }

    /// Starts a flow: opens a connection for it, or asks for it on one that is open.
    pub(super) fn ask_for_flow(&mut self, env: &mut Env, number: u32, flow: &Flow, connection: u32) {
        let at = self.expect_flow(env, number, flow, env.now, connection, false);
        let server = self.server(at);
        if let Some(asking) = &mut server.asking
            && !asking.opening()
        {
            asking.request(server.receiver.rcv_nxt());
        }
        self.ask_for_data(env, at);
    }

    /// Finishes flows whose last byte has arrived.
    fn finish_flows(&mut self, env: &mut Env, number: u32) {
        loop {
            let server = self.server(number);
            let next = server.receiver.rcv_nxt();
            let Some(message) = server.messages.pop_front_if(|message| next >= message.end) else { return };
            let connection = server.connection;
            env.finish(message.received(next, Some(message.fct(env.now)), server.repeated));
            self.wake_follower(env, message.flow, connection);
            self.free(env, message.flow, connection);
        }
    }

    /// Acknowledges everything before `next`, and reports the one-way delay of the latest data.
    pub(super) fn send_ack(&mut self, env: &mut Env, number: u32, next: u64, ece: bool) {
        let server = self.server(number);
        let window = server.select_window();
        let first = server.first_data();
        let closing = server.fin_received() && next == server.receiver.rcv_nxt();
        let blocks = server.receiver.sack_blocks();
        let wire =
            blocks.as_slice().iter().map(|&(start, end)| (wire_sequence(first, start), wire_sequence(first, end)));
        let mut space = [0; MAX_OPTIONS];
        let timed = match server.one_way_ns {
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
            sequence: server.initial[1].wrapping_add(1 + server.asked_bytes()),
            ack: wire_sequence(first, next + u64::from(closing)),
            flags,
            window: advertised(window),
            ecn: server.control_ecn(&env.shared),
            options: &space[..used],
            ..blank_header(&env.shared)
        };
        let frame = server.frame(env, &header);
        self.enqueue(env, Owner::Server(number), frame);
    }

    // Receiving

    /// The flow's extra delay lies between NIC and TCP: so the client's TCP sees how full its own NIC is, and lines carry
    /// frames in order.
    pub(super) fn delay(&mut self, env: &mut Env, number: u32, frame: Box<NetFrame>) {
        let node = self.node;
        let server = self.servers[number as usize].as_deref_mut().expect("a server that exists");
        // Even if the delay is shorter than the previous flow's, packets must not overtake.
        let earliest = self.delayed.back(&server.delay_line).map_or(Time::ZERO, |&(time, _)| time);
        let release = (env.now + server.extra_delay).max(earliest);
        self.delayed.push_back(&mut server.delay_line, (release, frame));
        if server.delay_line.len() == 1 {
            env.push(release, Event::Release { node, server: number });
        }
    }

    /// TCP receives the frames of a delay line that are due.
    pub(super) fn release(&mut self, env: &mut Env, number: u32) {
        loop {
            let server = self.servers[number as usize].as_deref_mut().expect("a server that exists");
            let Some(&(time, _)) = self.delayed.front(&server.delay_line) else { return };
            if time > env.now {
                return env.push(time, Event::Release { node: self.node, server: number });
            }
            // Later than that where it waited for an earlier flow's, or if the delay has changed since.
            let arrived = Time::from_nanos(env.now.nanos().saturating_sub(server.extra_delay.nanos()));
            if let Some((_, frame)) = self.delayed.pop_front(&mut server.delay_line)
                && let Ok(segment) = Segment::parse(&frame.packet)
            {
                env.frames.give(frame);
                self.server_receives(env, number, &segment, arrived);
            }
        }
    }

    /// The NIC receives a segment behind the delay line, where it `arrived`.
    pub(super) fn server_receives(&mut self, env: &mut Env, number: u32, segment: &Segment, arrived: Time) {
        if env.shared.transport.stack.merges() {
            return self.merge(env, number, segment, arrived);
        }
        self.tcp_receives(env, number, segment, 1, arrived);
    }

    /// TCP receives a segment that `arrived` at its NIC, or `segments` that the NIC has merged.
    pub(super) fn tcp_receives(&mut self, env: &mut Env, number: u32, segment: &Segment, segments: u32, arrived: Time) {
        if segment.flags & flags::SYN != 0 {
            return self.server_receives_syn(env, number, segment.flags);
        }
        let now = env.now;
        let server = self.server(number);
        if let Some(answer) = &mut server.answer {
            answer.acknowledged();
        }
        let fin = segment.flags & flags::FIN != 0;
        if segment.payload == 0 && !fin {
            return;
        }
        let Some(offset) = stream_offset(server.first_data(), segment.sequence, server.receiver.rcv_nxt()) else {
            return;
        };
        if let Some(asking) = &mut server.asking {
            asking.data_came(now, offset + u64::from(segment.payload));
        }
        let (ce, cwr) = (segment.ecn == Ecn::Ce, segment.flags & flags::CWR != 0);
        if let (true, Some(message)) = (ce, server.messages.front_mut()) {
            message.marked += u64::from(segments);
        }
        let plan = server.receiver.on_segments(now, offset, segment.payload, segments, ce, cwr);
        // The difference is correct even if the 32-bit clock has wrapped around in between.
        let one_way_ns = segment.timing.map(|sent_ns| (arrived.nanos() as u32).wrapping_sub(sent_ns));
        let before = std::mem::replace(&mut server.one_way_ns, one_way_ns);
        if fin {
            server.fin_at = Some(offset + u64::from(segment.payload));
        }
        if let (true, Some(message)) = (env.shared.trace_flows, server.messages.front_mut()) {
            message.trace(env, server.receiver.rcv_nxt());
        }
        let acknowledge = match plan.now {
            Some(ece) => Some(ece),
            None => server.fin_received().then(|| server.receiver.acknowledge()),
        };
        if let Some((next, ece)) = plan.earlier {
            server.one_way_ns = before;
            self.send_ack(env, number, next, ece);
            self.server(number).one_way_ns = one_way_ns;
        }
        self.finish_flows(env, number);
        if let Some(ece) = acknowledge {
            let next = self.server(number).receiver.rcv_nxt();
            self.send_ack(env, number, next, ece);
        }
        self.arm_server(env, number);
    }

    // Timers: if the deadline was postponed in the meantime, an event comes early, and is scheduled again.

    pub(super) fn arm_server(&mut self, env: &mut Env, number: u32) {
        let node = self.node;
        let server = self.server(number);
        if let Some(deadline) = server.deadline()
            && server.pending.is_none_or(|time| time > deadline)
        {
            server.pending = Some(deadline);
            env.push(deadline, Event::ServerTimer { node, server: number });
        }
    }

    pub(super) fn server_timer(&mut self, env: &mut Env, number: u32) {
        let past = |deadline: Option<Time>| deadline.is_some_and(|deadline| deadline <= env.now);
        let server = self.server(number);
        // Superseded events are ignored.
        if server.pending != Some(env.now) {
            return;
        }
        server.pending = None;
        let answer = server.answer.as_ref().is_some_and(|answer| past(answer.deadline));
        let asking = server.asking.as_ref().is_some_and(|asking| past(asking.deadline));
        let acknowledge = past(server.receiver.deadline());
        if asking {
            server.repeated += 1;
            self.ask_for_data(env, number);
        }
        if answer {
            self.server_answer_timer(env, number);
        }
        if acknowledge {
            let server = self.server(number);
            let ece = server.receiver.on_ack_timer();
            let next = server.receiver.rcv_nxt();
            self.send_ack(env, number, next, ece);
        }
        self.arm_server(env, number);
    }
}

/// A window as a header has it, scaled and limited to 16 bits.
pub(super) fn advertised(window_bytes: u64) -> u16 {
    (window_bytes.min(MAX_ADVERTISED) >> WINDOW_SCALE) as u16
}
