// SPDX-License-Identifier: MIT OR Apache-2.0
//! The host's side of connections on which it receives data: segments, acknowledgements, and timers.

use marklab_units::{Duration, Time};

use super::connection::{advertised, blank_header};
use super::env::Env;
use super::event::Event;
use super::gro::{Merged, is_last};
use super::hosts::Host;
use super::nic_queue::Owner;
use super::server::{Expected, Server};
use crate::frame::NetFrame;
use crate::tcp::{stream_offset, wire_sequence};
use crate::traffic::Flow;
use crate::wire::{Ecn, Header, MAX_OPTIONS, Segment, flags, options};

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
            self.wake_followers(env, message.flow, connection);
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
        let mut flags = flags::ACK | server.echo_flags(ece);
        if closing {
            flags |= flags::FIN;
        }
        let header = Header {
            sequence: server.initial[1].wrapping_add(1 + server.asked_bytes()),
            ack: wire_sequence(first, next + u64::from(closing)),
            flags,
            window: advertised(window),
            ecn: server.control_ecn(),
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
            return self.server_receives_syn(env, number, segment);
        }
        let now = env.now;
        let server = self.server(number);
        if let Some(answer) = &mut server.answer {
            answer.acknowledged();
        }
        let fin = segment.flags & flags::FIN != 0;
        let ce = segment.ecn == Ecn::Ce;
        if ce {
            server.marked.count(segments);
        }
        if segment.payload == 0 && !fin {
            return;
        }
        let Some(offset) = stream_offset(server.first_data(), segment.sequence, server.receiver.rcv_nxt()) else {
            return;
        };
        if let Some(asking) = &mut server.asking {
            asking.data_came(now, offset + u64::from(segment.payload));
        }
        let cwr = segment.flags & flags::CWR != 0;
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

    // Generic receive offload

    /// The server's NIC merges a segment with those before it, or hands them to TCP, and then the segment if none may
    /// follow it.
    #[inline(never)]
    pub(super) fn merge(&mut self, env: &mut Env, number: u32, segment: &Segment, arrived: Time) {
        let stack = env.shared.transport.stack;
        if let Some(merged) = &mut self.server(number).merged
            && merged.accepts(segment)
        {
            merged.add(segment);
            if merged.segments >= stack.gro_segments || is_last(segment, merged.size) {
                self.hand_up(env, number);
            }
            return;
        }
        let deadline = env.now + Duration::from_nanos(stack.gro_timeout_ns);
        self.hand_up(env, number);
        if segment.payload == 0 || is_last(segment, segment.payload) {
            return self.tcp_receives(env, number, segment, 1, arrived);
        }
        self.server(number).merged = Some(Box::new(Merged::new(segment.clone(), arrived, deadline)));
        env.push(deadline, Event::HandUp { node: self.node, server: number });
    }

    /// TCP receives what the NIC has merged.
    fn hand_up(&mut self, env: &mut Env, number: u32) {
        if let Some(merged) = self.server(number).merged.take() {
            self.tcp_receives(env, number, &merged.segment, merged.segments, merged.arrived);
        }
    }

    /// The time may have passed that merged segments wait. Those that this event was for may have been handed up before.
    #[cold]
    pub(super) fn merge_timer(&mut self, env: &mut Env, number: u32) {
        if self.server(number).merged.as_ref().is_some_and(|merged| merged.deadline <= env.now) {
            self.hand_up(env, number);
        }
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
