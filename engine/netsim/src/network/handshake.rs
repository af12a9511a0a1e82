// SPDX-License-Identifier: MIT OR Apache-2.0
//! Opening of connections, by the host that sends data or by the host that asks for data, and negotiation of ECN.
//!
//! This code is separate from the code for data segments, which ran a fifth slower when it contained the handshake.

use marklab_units::{Duration, Time};

use super::client::{State, blank_header};
use super::env::{Env, Shared};
use super::hosts::Host;
use super::nic::Owner;
use super::server::advertised;
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
    /// The mode of an end whose transport uses ECN or does not, before or behind a handshake on a path that changes
    /// nothing.
    pub(super) fn of(ecn: bool, open: bool) -> EcnMode {
        match (ecn, open) {
            (false, _) => EcnMode::NotEcn,
            (true, false) => EcnMode::Pending,
            (true, true) => EcnMode::Classic,
        }
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
    /// Requests that the server has sent.
    sent: u32,
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
        Asking { request_bytes, sent: 0, answer_at: 0, step, rtt, since, attempts: 0, deadline: None }
    }

    /// Whether the SYN has no answer yet.
    pub(super) fn opening(&self) -> bool {
        self.step == Step::SynAck
    }

    /// Bytes of all requests of the server.
    pub(super) fn sent_bytes(&self) -> u32 {
        self.sent.wrapping_mul(self.request_bytes)
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
    pub(super) fn request(&mut self, answer_at: u64) {
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

    /// Whether it was not acknowledged in time. Then the next timeout is longer.
    fn is_overdue(&mut self, now: Time) -> bool {
        let overdue = self.deadline.is_some_and(|deadline| deadline <= now);
        if overdue {
            self.rto.back_off();
        }
        overdue
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
            ecn: client.control_ecn(&env.shared),
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
        let ecn = server.control_ecn(&env.shared);
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
                flags: flags::ACK | flags::PSH,
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
        let ecn = client.control_ecn(&env.shared);
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
        let ecn = server.control_ecn(&env.shared);
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
    pub(super) fn server_receives_syn(&mut self, env: &mut Env, number: u32, flags: u8) {
        let server = self.server(number);
        if server.ecn.negotiate(env, flags) {
            server.receiver.ignore_marks();
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
    pub(super) fn client_receives_syn(&mut self, env: &mut Env, number: u32, flags: u8) {
        let client = self.client(number);
        // Without ECN, senders fall back to Reno, as Linux's DCTCP does (`dctcp_init` in net/ipv4/tcp_dctcp.c).
        if client.ecn.negotiate(env, flags) {
            client.sender.set_control(env.shared.transport.control(false));
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
        if env.shared.trace_senders {
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

impl EcnMode {
    /// An end reads the flags of a SYN or SYN-ACK. Returns whether it gives up ECN because of them.
    fn negotiate(&mut self, env: &mut Env, received: u8) -> bool {
        let before = std::mem::replace(self, self.after(received));
        let gives_up = before != *self && *self == EcnMode::NotEcn;
        // Counted by the host that asked. A SYN without the flags leads to such a SYN-ACK as well.
        env.tally.ecn.refused += u64::from(gives_up && received & flags::ACK != 0);
        gives_up
    }
}

/// A SYN-ACK. `initial` are the sequence numbers of its sender and of the opener.
fn syn_ack<'a>(shared: &Shared, mode: EcnMode, [own, opener]: [u32; 2], control: Ecn, options: &'a [u8]) -> Header<'a> {
    let capable = mode == EcnMode::Classic && shared.transport.ecn_plus;
    Header {
        sequence: own,
        ack: opener.wrapping_add(1),
        flags: flags::SYN | flags::ACK | mode.syn_ack_flags(),
        window: u16::MAX,
        ecn: if capable { Ecn::Ect0 } else { control },
        options,
        payload: 0,
    }
}

fn syn_options(shared: &Shared) -> [u8; 12] {
    options::syn(shared.transport.mss_bytes.min(u16::MAX.into()) as u16, WINDOW_SCALE)
}
