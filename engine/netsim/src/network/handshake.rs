// SPDX-License-Identifier: MIT OR Apache-2.0
//! Opening of connections, by the host that sends data or by the host that asks for data, and negotiation of ECN.
//!
//! This code is separate from the code for data segments, which ran a fifth slower when it contained the handshake.

use marklab_units::{Duration, Time};

use super::Network;
use super::connection::{Side, State};
use super::hosts::advertised;
use crate::tcp::{RtoConfig, RttEstimator, WINDOW_SCALE, wire_sequence};
use crate::wire::{Ecn, Header, Segment, flags, options};

/// How an end of a connection uses ECN. The handshake decides it, for each end by what arrives there. The names are those
/// of RFC 9768, whose AccECN would be one more mode: a SYN asks for it by a third flag, and its SYN-ACK also says how the
/// SYN arrived (section 3.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum EcnMode {
    /// Not at all: its packets are Not-ECT, and it echoes no marks.
    NotEcn,
    /// As the first SYN or SYN-ACK says that arrives at this end.
    Pending,
    /// RFC 3168: ECE echoes marks, and CWR answers the echo.
    Classic,
}

impl EcnMode {
    /// The mode of an end before the handshake, if this would be its mode on a path that changes nothing.
    pub(super) fn before_handshake(self) -> EcnMode {
        if self == EcnMode::NotEcn { EcnMode::NotEcn } else { EcnMode::Pending }
    }

    /// Flags of a SYN that asks for ECN (RFC 3168 section 6.1.1: an ECN-setup SYN), or does not.
    fn syn_flags(self) -> u8 {
        if self == EcnMode::NotEcn { 0 } else { flags::ECE | flags::CWR }
    }

    /// Flags of a SYN-ACK that agrees, or does not. A host that only reflects flags would set both.
    fn syn_ack_flags(self) -> u8 {
        if self == EcnMode::Classic { flags::ECE } else { 0 }
    }

    /// The mode after a SYN or a SYN-ACK with these flags has arrived.
    fn after(self, received: u8) -> EcnMode {
        let expected = if received & flags::ACK == 0 { self.syn_flags() } else { EcnMode::Classic.syn_ack_flags() };
        match self {
            EcnMode::Pending if received & (flags::ECE | flags::CWR) == expected => EcnMode::Classic,
            EcnMode::Pending => EcnMode::NotEcn,
            decided => decided,
        }
    }
}

/// The server's part in a connection that it opens itself. It sends a SYN until it is answered, then a request until
/// its data arrive, and perhaps further requests after that.
#[derive(Debug)]
pub(super) struct Asking {
    request_bytes: u32,
    /// Requests that the server has sent, and requests that have arrived at the client.
    sent: u32,
    heard: u32,
    /// Stream offset at which the answer to the latest request begins: earlier data do not answer it.
    answer_at: u64,
    step: Step,
    rtt: RttEstimator,
    /// When the pending SYN or request was first sent, and how often it was sent.
    since: Time,
    attempts: u32,
    /// When it is retransmitted.
    pub(super) deadline: Option<Time>,
}

/// The event that the server waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Step {
    SynAck,
    Data,
    Nothing,
}

impl Asking {
    pub(super) fn new(request_bytes: u32, rto: RtoConfig) -> Asking {
        let rtt = RttEstimator::new(rto);
        let (since, step) = (Time::ZERO, Step::SynAck);
        Asking { request_bytes, sent: 0, heard: 0, answer_at: 0, step, rtt, since, attempts: 0, deadline: None }
    }

    /// Whether the SYN has no answer yet.
    fn opening(&self) -> bool {
        self.step == Step::SynAck
    }

    /// Bytes of all requests of the server.
    pub(super) fn sent_bytes(&self) -> u32 {
        self.sent.wrapping_mul(self.request_bytes)
    }

    /// Bytes of all requests that have arrived at the client.
    pub(super) fn heard_bytes(&self) -> u32 {
        self.heard.wrapping_mul(self.request_bytes)
    }

    /// The pending SYN or request is being sent, for the first time or again.
    fn on_sent(&mut self, now: Time) {
        if self.attempts == 0 {
            self.since = now;
        } else {
            self.rtt.back_off();
        }
        self.attempts += 1;
        self.deadline = Some(now + self.rtt.rto());
    }

    /// The SYN is answered; the request is next.
    fn opened(&mut self, now: Time) {
        self.answered(now);
        self.request(0);
    }

    /// Prepares the next request, for data that begin at this offset.
    fn request(&mut self, answer_at: u64) {
        (self.step, self.attempts, self.answer_at) = (Step::Data, 0, answer_at);
        self.sent += 1;
    }

    /// Data arrived up to this offset. If they belong to the answer, the request has arrived.
    pub(super) fn data_came(&mut self, now: Time, end: u64) {
        if self.step == Step::Data && end > self.answer_at {
            self.answered(now);
            (self.step, self.deadline) = (Step::Nothing, None);
        }
    }

    /// Takes a round-trip sample. Karn's rule: a packet that was sent twice gives no sample.
    fn answered(&mut self, now: Time) {
        if self.attempts == 1 {
            self.rtt.sample(now.since(self.since));
        }
    }
}

/// The answer to a SYN. It is retransmitted for each repeated SYN. With a timer, it is also retransmitted at timeouts
/// until it is acknowledged, as RFC 9293 requires of every segment that takes a sequence number.
#[derive(Debug)]
pub(super) struct Answer {
    /// When it was first sent, and how often it was sent.
    since: Time,
    times: u32,
    /// Only the timer's own timeouts double it. A repeated SYN restarts the timer, as in Linux.
    rto: RttEstimator,
    pub(super) deadline: Option<Time>,
    acknowledged: bool,
}

impl Answer {
    fn new(rto: RtoConfig) -> Answer {
        let rto = RttEstimator::new(rto);
        Answer { since: Time::ZERO, times: 0, rto, deadline: None, acknowledged: false }
    }

    fn sent(&mut self, now: Time, has_timer: bool) {
        if self.times == 0 {
            self.since = now;
        }
        self.times += 1;
        self.deadline = (has_timer && !self.acknowledged).then(|| now + self.rto.rto());
    }

    /// A segment other than a SYN has arrived.
    pub(super) fn acknowledged(&mut self) {
        (self.acknowledged, self.deadline) = (true, None);
    }

    /// The round-trip time up to now. Karn's rule: an answer that was sent twice gives no sample.
    fn round_trip(&self, now: Time) -> Option<Duration> {
        (self.times == 1).then(|| now.since(self.since))
    }
}

impl Network {
    /// Opens a connection that has data to send. If the receiver opens it, the data wait for the request.
    #[cold]
    #[inline(never)]
    pub(super) fn open(&mut self, connection: usize) {
        let state = &mut self.connections[connection];
        match &state.asking {
            Some(asking) if asking.opening() && asking.deadline.is_none() => self.ask_for_data(connection),
            Some(_) => {}
            None => {
                state.state = State::Opening { since: self.now, attempts: 0 };
                self.send_syn(connection);
            }
        }
    }

    // The opening host

    /// The client sends a SYN, for the first time or again.
    #[cold]
    #[inline(never)]
    pub(super) fn send_syn(&mut self, connection: usize) {
        let options = self.syn_options();
        let state = &mut self.connections[connection];
        if let State::Opening { attempts, .. } = &mut state.state {
            *attempts += 1;
        }
        let header = Header {
            sequence: state.initial[Side::Client as usize],
            flags: flags::SYN | state.ecn[Side::Client as usize].syn_flags(),
            window: u16::MAX,
            ecn: self.control_ecn(connection, Side::Client),
            options: &options,
            ..self.blank_header()
        };
        self.send(connection, Side::Client, &header);
        self.arm_sender_timer(connection);
    }

    /// The server sends its pending SYN or request.
    #[cold]
    #[inline(never)]
    pub(super) fn ask_for_data(&mut self, connection: usize) {
        if let Some(asking) = &mut self.connections[connection].asking {
            asking.on_sent(self.now);
        }
        let (options, ecn) = (self.syn_options(), self.control_ecn(connection, Side::Server));
        let blank = self.blank_header();
        let state = &mut self.connections[connection];
        let Some(asking) = &state.asking else { return };
        let initial = state.initial[Side::Server as usize];
        let header = if asking.opening() {
            Header {
                sequence: initial,
                flags: flags::SYN | state.ecn[Side::Server as usize].syn_flags(),
                window: u16::MAX,
                ecn,
                options: &options,
                ..blank
            }
        } else {
            Header {
                sequence: initial.wrapping_add(1 + asking.sent_bytes() - asking.request_bytes),
                ack: wire_sequence(state.first_data(), state.receiver.rcv_nxt()),
                flags: flags::ACK | flags::PSH,
                window: state.receiver.select_window().map_or(blank.window, advertised),
                ecn,
                payload: asking.request_bytes,
                ..blank
            }
        };
        self.send(connection, Side::Server, &header);
        self.arm_sender_timer(connection);
    }

    /// The server asks for the next flow on a connection that is open.
    #[cold]
    #[inline(never)]
    pub(super) fn ask_again(&mut self, connection: usize) {
        let state = &mut self.connections[connection];
        if let Some(asking) = &mut state.asking {
            asking.request(state.receiver.rcv_nxt());
            self.ask_for_data(connection);
        }
    }

    // The answering host

    /// Answers a SYN at once.
    fn answer_syn(&mut self, connection: usize) {
        let (rto, has_timer) = (self.transport.rto(), self.transport.syn_ack_timer);
        let state = &mut self.connections[connection];
        if state.asking.is_some() || has_timer {
            state.answer.get_or_insert_with(|| Box::new(Answer::new(rto)));
        }
        self.send_answer(connection);
    }

    fn send_answer(&mut self, connection: usize) {
        let (has_timer, stack) = (self.transport.syn_ack_timer, self.transport.stack);
        let state = &mut self.connections[connection];
        let side = if state.asking.is_some() { Side::Client } else { Side::Server };
        if let Some(answer) = &mut state.answer {
            // RFC 5681 section 3.1: the answering host begins with one segment if its answer, or the SYN, was lost.
            if stack.begins_with_one_segment(answer.times + 1) && state.state == State::Unopened {
                state.sender.on_lost_handshake();
            }
            answer.sent(self.now, has_timer);
        }
        self.send_syn_ack(connection, side);
        if has_timer {
            self.arm_receiver_timer(connection);
        }
    }

    /// Retransmits the answer if its deadline has passed.
    #[cold]
    #[inline(never)]
    pub(super) fn answer_timer(&mut self, connection: usize) {
        let now = self.now;
        let state = &mut self.connections[connection];
        let Some(answer) = &mut state.answer else { return };
        if answer.deadline.is_some_and(|deadline| deadline <= now) {
            answer.rto.back_off();
            state.sender.on_repeated();
            self.send_answer(connection);
        }
    }

    fn send_syn_ack(&mut self, connection: usize, side: Side) {
        let options = self.syn_options();
        let state = &self.connections[connection];
        let mode = state.ecn[side as usize];
        let opener = if side == Side::Server { Side::Client } else { Side::Server };
        let capable = mode == EcnMode::Classic && self.transport.ecn_plus;
        let header = Header {
            sequence: state.initial[side as usize],
            ack: state.initial[opener as usize].wrapping_add(1),
            flags: flags::SYN | flags::ACK | mode.syn_ack_flags(),
            window: u16::MAX,
            ecn: if capable { Ecn::Ect0 } else { self.control_ecn(connection, side) },
            options: &options,
            ..self.blank_header()
        };
        self.send(connection, side, &header);
    }

    // Receiving

    /// An end reads the flags of a SYN or SYN-ACK. Without ECN, senders fall back to Reno, as Linux's DCTCP does
    /// (`dctcp_init` in net/ipv4/tcp_dctcp.c), and receivers echo nothing.
    fn negotiate(&mut self, connection: usize, side: Side, received: u8) {
        let state = &mut self.connections[connection];
        let mode = &mut state.ecn[side as usize];
        let before = std::mem::replace(mode, mode.after(received));
        if before == *mode || *mode != EcnMode::NotEcn {
            return;
        }
        match side {
            Side::Client => state.sender.set_control(self.transport.control(false)),
            Side::Server => state.receiver.ignore_marks(),
        }
        // Counted by the host that asked. A SYN without the flags leads to such a SYN-ACK as well.
        self.ecn.refused += u64::from(received & flags::ACK != 0);
    }

    /// The server receives a SYN, and answers it, or the SYN-ACK for its own SYN.
    #[cold]
    #[inline(never)]
    pub(super) fn server_receives_syn(&mut self, connection: usize, flags: u8) {
        self.negotiate(connection, Side::Server, flags);
        let state = &mut self.connections[connection];
        match &mut state.asking {
            None => self.answer_syn(connection),
            Some(asking) if asking.opening() => {
                asking.opened(self.now);
                self.ask_for_data(connection);
            }
            // A repeated SYN-ACK (RFC 9293 section 3.10.7.4: a segment outside the window is acknowledged).
            Some(_) => {
                let next = state.receiver.rcv_nxt();
                self.send_ack(connection, next, false);
            }
        }
    }

    /// The client receives a SYN, and answers it, or the SYN-ACK for its own SYN.
    #[cold]
    #[inline(never)]
    pub(super) fn client_receives_syn(&mut self, connection: usize, flags: u8) {
        self.negotiate(connection, Side::Client, flags);
        let state = &mut self.connections[connection];
        if state.asking.is_some() {
            return self.answer_syn(connection);
        }
        if let State::Opening { since, attempts } = state.state {
            state.state = State::Open;
            if attempts == 1 {
                state.sender.rtt_mut().sample(self.now.since(since));
            }
        }
        self.send_client_ack(connection, false);
        self.send_segments(connection);
        if self.sender_trace.is_some() {
            self.trace_sender(connection);
        }
    }

    /// The client receives a request, perhaps a repeated one.
    #[cold]
    #[inline(never)]
    pub(super) fn client_receives_request(&mut self, connection: usize, segment: &Segment) {
        let now = self.now;
        let state = &mut self.connections[connection];
        let Some(asking) = &mut state.asking else { return };
        let expected = state.initial[Side::Server as usize].wrapping_add(1 + asking.heard_bytes());
        if segment.sequence != expected {
            return self.send_client_ack(connection, false);
        }
        asking.heard += 1;
        if asking.heard > 1 {
            // The request acknowledges earlier data. The data of this request are not written yet.
            self.client_receives(connection, &Segment { payload: 0, ..*segment });
            return self.write_more(connection);
        }
        state.state = State::Open;
        if let Some(answer) = &mut state.answer {
            if let Some(round_trip) = answer.round_trip(now) {
                state.sender.rtt_mut().sample(round_trip);
            }
            answer.acknowledged();
        }
        self.send_segments(connection);
    }

    fn syn_options(&self) -> [u8; 12] {
        options::syn(self.transport.mss_bytes.min(u16::MAX.into()) as u16, WINDOW_SCALE)
    }
}
