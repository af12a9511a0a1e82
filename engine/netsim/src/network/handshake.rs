// SPDX-License-Identifier: MIT OR Apache-2.0
//! What an end of a connection keeps for its handshake, and the negotiation of ECN.

use marklab_units::{Duration, Time};

use super::env::{Env, Shared};
use crate::tcp::{RtoConfig, RttEstimator, WINDOW_SCALE};
use crate::wire::{Ecn, Header, flags, options};

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
    pub(super) fn syn_flags(self) -> u8 {
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

    /// An end reads the flags of a SYN or SYN-ACK. Returns whether it gives up ECN because of them.
    pub(super) fn negotiate(&mut self, env: &mut Env, received: u8) -> bool {
        let before = std::mem::replace(self, self.after(received));
        let gives_up = before != *self && *self == EcnMode::NotEcn;
        // Counted by the host that asked. A SYN without the flags leads to such a SYN-ACK as well.
        env.tally.ecn.refused += u64::from(gives_up && received & flags::ACK != 0);
        gives_up
    }
}

/// The server's part in a connection that it opens itself. It sends a SYN until it is answered, then a request until
/// its data arrive, and perhaps further requests after that.
#[derive(Debug)]
pub(super) struct Asking {
    pub(super) request_bytes: u32,
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
    pub(super) fn on_sent(&mut self, now: Time) {
        if self.attempts == 0 {
            self.since = now;
        } else {
            self.rtt.back_off();
        }
        self.attempts += 1;
        self.deadline = Some(now + self.rtt.rto());
    }

    /// The SYN is answered; the request is next.
    pub(super) fn opened(&mut self, now: Time) {
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
    pub(super) times: u32,
    /// Only the timer's own timeouts double it. A repeated SYN restarts the timer, as in Linux.
    rto: RttEstimator,
    pub(super) deadline: Option<Time>,
    acknowledged: bool,
}

impl Answer {
    pub(super) fn new(rto: RtoConfig) -> Answer {
        let rto = RttEstimator::new(rto);
        Answer { since: Time::ZERO, times: 0, rto, deadline: None, acknowledged: false }
    }

    pub(super) fn sent(&mut self, now: Time, has_timer: bool) {
        if self.times == 0 {
            self.since = now;
        }
        self.times += 1;
        self.deadline = (has_timer && !self.acknowledged).then(|| now + self.rto.rto());
    }

    /// Whether it was not acknowledged in time. Then the next timeout is longer.
    pub(super) fn is_overdue(&mut self, now: Time) -> bool {
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
    pub(super) fn round_trip(&self, now: Time) -> Option<Duration> {
        (self.times == 1).then(|| now.since(self.since))
    }
}

/// A SYN-ACK. `initial` are the sequence numbers of its sender and of the opener.
pub(super) fn syn_ack<'a>(
    shared: &Shared,
    mode: EcnMode,
    [own, opener]: [u32; 2],
    control: Ecn,
    options: &'a [u8],
) -> Header<'a> {
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

pub(super) fn syn_options(shared: &Shared) -> [u8; 12] {
    options::syn(shared.transport.mss_bytes.min(u16::MAX.into()) as u16, WINDOW_SCALE)
}
