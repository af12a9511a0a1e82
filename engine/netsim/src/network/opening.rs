// SPDX-License-Identifier: MIT OR Apache-2.0
//! Opening of connections, by the host that sends data or by the host that asks for data, and negotiation of ECN.
//!
//! This code is separate from the code for data segments, which ran a fifth slower when it contained the handshake.

use super::client::State;
use super::connection::{advertised, blank_header};
use super::env::Env;
use super::handshake::{Answer, syn_ack, syn_options};
use super::hosts::Host;
use super::nic_queue::Owner;
use crate::tcp::congestion::{EcnStar, Reno};
use crate::tcp::{EchoMode, wire_sequence};
use crate::wire::{Header, Segment, flags};

impl Host {
    /// Opens a connection that has data to send. If the receiver opens it, the data wait for the request.
    #[cold]
    #[inline(never)]
    pub(super) fn open(&mut self, env: &mut Env, number: u32) {
        let client = self.client(number);
        if client.asked.is_none() {
            client.state = State::Opening { since: env.now, attempts: 0 };
            self.send_syn(env, number);
        }
    }

    // The opening host

    /// The client sends a SYN, for the first time or again.
    #[cold]
    #[inline(never)]
    pub(super) fn send_syn(&mut self, env: &mut Env, number: u32) {
        let options = syn_options(&env.shared);
        let client = self.client(number);
        if let State::Opening { attempts, .. } = &mut client.state {
            *attempts += 1;
        }
        let header = Header {
            sequence: client.initial[0],
            flags: flags::SYN | client.ecn.syn_flags(),
            window: u16::MAX,
            ecn: client.control_ecn(),
            options: &options,
            ..blank_header(&env.shared)
        };
        let frame = client.frame(env, &header);
        self.enqueue(env, Owner::Client(number), frame);
        self.arm_client(env, number);
    }

    /// The server sends its pending SYN or request.
    #[cold]
    #[inline(never)]
    pub(super) fn ask_for_data(&mut self, env: &mut Env, number: u32) {
        let options = syn_options(&env.shared);
        let server = self.server(number);
        let (ecn, echo) = (server.control_ecn(), server.echo_flags(false));
        let (first_data, initial, blank) = (server.first_data(), server.initial[1], blank_header(&env.shared));
        let Some(asking) = &mut server.asking else { return };
        asking.on_sent(env.now);
        let header = if asking.opening() {
            let flags = flags::SYN | server.ecn.syn_flags();
            Header { sequence: initial, flags, window: u16::MAX, ecn, options: &options, ..blank }
        } else {
            Header {
                sequence: initial.wrapping_add(1 + asking.sent_bytes() - asking.request_bytes),
                ack: wire_sequence(first_data, server.receiver.rcv_nxt()),
                flags: flags::ACK | flags::PSH | echo,
                window: server.receiver.select_window().map_or(blank.window, advertised),
                ecn,
                payload: asking.request_bytes,
                ..blank
            }
        };
        let frame = server.frame(env, &header);
        self.enqueue(env, Owner::Server(number), frame);
        self.arm_server(env, number);
    }

    // The answering host

    /// The client answers a SYN, for the first time or again.
    fn client_answers(&mut self, env: &mut Env, number: u32) {
        let transport = env.shared.transport;
        let options = syn_options(&env.shared);
        let client = self.client(number);
        let answer = client.answer.get_or_insert_with(|| Box::new(Answer::new(transport.rto())));
        // RFC 5681 section 3.1: the answering host begins with one segment if its answer, or the SYN, was lost.
        if transport.stack.begins_with_one_segment(answer.times + 1) && client.state == State::Unopened {
            client.sender.on_lost_handshake();
        }
        answer.sent(env.now, transport.syn_ack_timer);
        let ecn = client.control_ecn();
        let header = syn_ack(&env.shared, client.ecn, client.initial, ecn, &options);
        let frame = client.frame(env, &header);
        self.enqueue(env, Owner::Client(number), frame);
        if transport.syn_ack_timer {
            self.arm_client(env, number);
        }
    }

    /// The server answers a SYN, for the first time or again.
    fn server_answers(&mut self, env: &mut Env, number: u32) {
        let transport = env.shared.transport;
        let options = syn_options(&env.shared);
        let server = self.server(number);
        if transport.syn_ack_timer {
            let answer = server.answer.get_or_insert_with(|| Box::new(Answer::new(transport.rto())));
            answer.sent(env.now, true);
        }
        let ecn = server.control_ecn();
        let [client, own] = server.initial;
        let header = syn_ack(&env.shared, server.ecn, [own, client], ecn, &options);
        let frame = server.frame(env, &header);
        self.enqueue(env, Owner::Server(number), frame);
        if transport.syn_ack_timer {
            self.arm_server(env, number);
        }
    }

    /// Retransmits the client's answer if its deadline has passed.
    #[cold]
    #[inline(never)]
    pub(super) fn client_answer_timer(&mut self, env: &mut Env, number: u32) {
        let client = self.client(number);
        if let Some(answer) = &mut client.answer
            && answer.is_overdue(env.now)
        {
            client.sender.on_repeated();
            self.client_answers(env, number);
        }
    }

    /// Retransmits the server's answer, whose deadline has passed.
    #[cold]
    #[inline(never)]
    pub(super) fn server_answer_timer(&mut self, env: &mut Env, number: u32) {
        let server = self.server(number);
        if let Some(answer) = &mut server.answer
            && answer.is_overdue(env.now)
        {
            server.repeated += 1;
            self.server_answers(env, number);
        }
    }

    // Receiving

    /// The server receives a SYN, and answers it, or the SYN-ACK for its own SYN.
    #[cold]
    #[inline(never)]
    pub(super) fn server_receives_syn(&mut self, env: &mut Env, number: u32, segment: &Segment) {
        let server = self.server(number);
        if server.negotiate(env, segment) {
            server.receiver.set_echo(if server.ecn.agreed() { EchoMode::Latched } else { EchoMode::None });
        }
        match &mut server.asking {
            None => self.server_answers(env, number),
            Some(asking) if asking.opening() => {
                asking.opened(env.now);
                self.ask_for_data(env, number);
            }
            // A repeated SYN-ACK (RFC 9293 section 3.10.7.4: a segment outside the window is acknowledged).
            Some(_) => {
                let next = server.receiver.rcv_nxt();
                self.send_ack(env, number, next, false);
            }
        }
    }

    /// The client receives a SYN, and answers it, or the SYN-ACK for its own SYN.
    #[cold]
    #[inline(never)]
    pub(super) fn client_receives_syn(&mut self, env: &mut Env, number: u32, segment: &Segment) {
        let client = self.client(number);
        // Without ECN, senders fall back to Reno, as Linux's DCTCP does (`dctcp_init` in net/ipv4/tcp_dctcp.c). Without
        // AccECN, marks are few and count as losses.
        if client.negotiate(env, segment) {
            client.sender.set_control(if client.ecn.agreed() { Box::new(EcnStar) } else { Box::new(Reno) });
        }
        if client.asked.is_some() {
            return self.client_answers(env, number);
        }
        if let State::Opening { since, attempts } = client.state {
            client.state = State::Open;
            if attempts == 1 {
                client.sender.rtt_mut().sample(env.now.since(since));
            }
        }
        self.send_client_ack(env, number, false);
        self.send_segments(env, number);
        if env.shared.trace_senders.is_some() {
            self.trace_sender(env, number);
        }
    }

    /// The client receives a request, perhaps a repeated one.
    #[cold]
    #[inline(never)]
    pub(super) fn client_receives_request(&mut self, env: &mut Env, number: u32, segment: &Segment) {
        let client = self.client(number);
        let expected = client.initial[1].wrapping_add(1 + client.heard_bytes());
        let Some((_, heard)) = &mut client.asked else { return };
        if segment.sequence != expected {
            return self.send_client_ack(env, number, false);
        }
        *heard += 1;
        if *heard > 1 {
            // The request acknowledges earlier data. The data of this request are not written yet.
            self.client_receives(env, number, &Segment { payload: 0, ..*segment });
            return self.write_more(env, number);
        }
        client.state = State::Open;
        if let Some(answer) = &mut client.answer {
            if let Some(round_trip) = answer.round_trip(env.now) {
                client.sender.rtt_mut().sample(round_trip);
            }
            answer.acknowledged();
        }
        self.write_more(env, number);
    }
}
