// SPDX-License-Identifier: MIT OR Apache-2.0
//! What an end of a connection keeps for its handshake, and the negotiation of ECN.

use marklab_units::{Duration, Time};

use super::env::{Env, Shared};
use crate::tcp::congestion::CongestionControl;
use crate::tcp::{RtoConfig, RttEstimator, WINDOW_SCALE};
use crate::wire::{Ecn, Header, Segment, flags, options};

/// How an end of a connection uses ECN. The handshake decides it, for each end by what arrives there. The names are those
/// of RFC 9768.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum EcnMode {
    /// Not at all: its packets are Not-ECT, and it echoes no marks.
    NotEcn,
    /// As the first SYN or SYN-ACK says that arrives at this end.
    Pending,
    /// The same, for an end that would rather have AccECN.
    PendingAccurate,
    /// RFC 3168: ECE echoes marks, and CWR answers the echo.
    Classic,
    /// AccECN (RFC 9768), and packets that are ECT(1) (RFC 9331): three flags count marks. With the ECN field of the SYN
    /// or SYN-ACK that has arrived.
    Accurate(Ecn),
}

/// ECN fields of an end's packets, so that no segment asks how they came about.
#[derive(Clone, Copy, Debug)]
pub(super) struct EcnFields {
    /// Of packets without data, and of retransmissions.
    pub(super) control: Ecn,
    /// Of new data.
    pub(super) data: Ecn,
}

impl EcnFields {
    /// Those of an end; of its packets, `all` are ECN capable, or new data alone.
    pub(super) fn of(mode: EcnMode, all: bool) -> EcnFields {
        let data = if mode.agreed() { mode.capable() } else { Ecn::NotEct };
        EcnFields { control: if all { mode.capable() } else { Ecn::NotEct }, data }
    }

    /// The handshake has decided on a mode.
    pub(super) fn agree(&mut self, mode: EcnMode) {
        *self = EcnFields::of(mode, self.control != Ecn::NotEct);
    }
}

/// Flags of a SYN that asks for AccECN.
const ASKS_ACCURATE: u16 = flags::AE | flags::CWR | flags::ECE;

impl EcnMode {
    /// The mode of an end with this congestion control, before or behind a handshake on a path that changes nothing.
    pub(super) fn of(control: &dyn CongestionControl, open: bool) -> EcnMode {
        match (control.ecn(), control.accurate_ecn(), open) {
            (false, ..) => EcnMode::NotEcn,
            (true, false, false) => EcnMode::Pending,
            (true, false, true) => EcnMode::Classic,
            (true, true, false) => EcnMode::PendingAccurate,
            (true, true, true) => EcnMode::Accurate(Ecn::NotEct),
        }
    }

    /// ECN field of packets that are ECN capable.
    pub(super) fn capable(self) -> Ecn {
        match self {
            EcnMode::NotEcn => Ecn::NotEct,
            EcnMode::Pending | EcnMode::Classic => Ecn::Ect0,
            EcnMode::PendingAccurate | EcnMode::Accurate(_) => Ecn::Ect1,
        }
    }

    /// Whether the handshake has agreed on ECN.
    pub(super) fn agreed(self) -> bool {
        matches!(self, EcnMode::Classic | EcnMode::Accurate(_))
    }

    /// Flags of a SYN that asks for ECN (RFC 3168 section 6.1.1: an ECN-setup SYN; RFC 9768 section 3.1.1), or does not.
    pub(super) fn syn_flags(self) -> u16 {
        match self {
            EcnMode::NotEcn => 0,
            EcnMode::Pending | EcnMode::Classic => flags::ECE | flags::CWR,
            EcnMode::PendingAccurate | EcnMode::Accurate(_) => ASKS_ACCURATE,
        }
    }

    /// Flags of a SYN-ACK that agrees, or does not. A host that only reflects flags would set all of the SYN. By AccECN they
    /// say how the SYN arrived (RFC 9768 table 2).
    fn syn_ack_flags(self) -> u16 {
        match self {
            EcnMode::NotEcn | EcnMode::Pending | EcnMode::PendingAccurate => 0,
            EcnMode::Classic => flags::ECE,
            EcnMode::Accurate(Ecn::NotEct) => flags::CWR,
            EcnMode::Accurate(Ecn::Ect1) => flags::CWR | flags::ECE,
            EcnMode::Accurate(Ecn::Ect0) => flags::AE,
            EcnMode::Accurate(Ecn::Ce) => flags::AE | flags::CWR,
        }
    }

    /// The mode after a SYN or a SYN-ACK with these flags has arrived with this ECN field.
    fn after(self, received: u16, ecn: Ecn) -> EcnMode {
        let is_syn = received & flags::ACK == 0;
        // A host without AccECN does not look at its flag.
        let classic = if is_syn { flags::ECE | flags::CWR } else { flags::ECE };
        let agrees = received & (flags::ECE | flags::CWR) == classic;
        match self {
            EcnMode::Pending if agrees => EcnMode::Classic,
            EcnMode::Pending => EcnMode::NotEcn,
            EcnMode::PendingAccurate => match (is_syn, received & ASKS_ACCURATE) {
                (true, ASKS_ACCURATE) => EcnMode::Accurate(ecn),
                (true, _) if agrees => EcnMode::Classic,
                (false, flags::ECE) => EcnMode::Classic,
                // Reserved: its sender has at least RFC 3168's.
                (false, answer) if answer == flags::AE | flags::ECE => EcnMode::Classic,
                (false, answer) if answer != 0 && answer != ASKS_ACCURATE => EcnMode::Accurate(ecn),
                _ => EcnMode::NotEcn,
            },
            decided => decided,
        }
    }

    /// An end reads the flags of a SYN or SYN-ACK. Returns whether it has to do with less ECN than it asked for.
    pub(super) fn negotiate(&mut self, env: &mut Env, segment: &Segment) -> bool {
        let asked = *self;
        *self = asked.after(segment.flags, segment.ecn);
        let gives_up = match asked {
            EcnMode::Pending => *self == EcnMode::NotEcn,
            EcnMode::PendingAccurate => matches!(*self, EcnMode::NotEcn | EcnMode::Classic),
            EcnMode::NotEcn | EcnMode::Classic | EcnMode::Accurate(_) => false,
        };
        // Counted by the host that asked. A SYN without the flags leads to such a SYN-ACK as well.
        env.tally.ecn.refused += u64::from(gives_up && segment.flags & flags::ACK != 0);
        gives_up
    }
}

/// What one end of a connection with AccECN counts (RFC 9768 section 3.2): packets that arrived marked, and those of its
/// own that the other end has counted. Both begin at 5, so that no count is one of a handshake's flags.
#[derive(Clone, Copy, Debug)]
pub(super) struct MarkedPackets {
    /// r.cep.
    arrived: u32,
    /// s.cep.
    echoed: u32,
}

impl Default for MarkedPackets {
    fn default() -> MarkedPackets {
        MarkedPackets { arrived: 5, echoed: 5 }
    }
}

impl MarkedPackets {
    /// So many packets arrived with congestion experienced.
    pub(super) fn count(&mut self, packets: u32) {
        self.arrived = self.arrived.wrapping_add(packets);
    }

    /// The three flags with the low bits of the count, most significant first (the ACE field).
    pub(super) fn flags(self) -> u16 {
        let bit = |number: u32, flag: u16| if self.arrived >> number & 1 == 1 { flag } else { 0 };
        bit(2, flags::AE) | bit(1, flags::CWR) | bit(0, flags::ECE)
    }

    /// Marked packets that an acknowledgement with these flags tells of, if it newly acknowledges so many packets. If the
    /// count may have wrapped, it has (appendix A.2.1).
    pub(super) fn heard(&mut self, received: u16, acked: u32) -> u32 {
        let bit = |flag: u16| u32::from(received & flag != 0);
        let count = bit(flags::AE) << 2 | bit(flags::CWR) << 1 | bit(flags::ECE);
        let least = count.wrapping_sub(self.echoed) & 7;
        let marked = if acked > 7 { acked - (acked - least) % 8 } else { least };
        self.echoed = self.echoed.wrapping_add(marked);
        marked
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
    let capable = mode.agreed() && shared.transport.ecn_plus;
    Header {
        sequence: own,
        ack: opener.wrapping_add(1),
        flags: flags::SYN | flags::ACK | mode.syn_ack_flags(),
        window: u16::MAX,
        ecn: if capable { mode.capable() } else { control },
        options,
        payload: 0,
    }
}

pub(super) fn syn_options(shared: &Shared) -> [u8; 12] {
    options::syn(shared.transport.mss_bytes.min(u16::MAX.into()) as u16, WINDOW_SCALE)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MODES: [EcnMode; 4] = [
        EcnMode::Accurate(Ecn::NotEct),
        EcnMode::Accurate(Ecn::Ect1),
        EcnMode::Accurate(Ecn::Ect0),
        EcnMode::Accurate(Ecn::Ce),
    ];

    fn bits(accurate: u16, cwr: u16, ece: u16) -> u16 {
        (accurate * flags::AE) | (cwr * flags::CWR) | (ece * flags::ECE)
    }

    /// RFC 9768 table 2: AE, CWR and ECE of a SYN-ACK, and what a client that asked for AccECN makes of them.
    #[test]
    fn a_syn_ack_says_how_the_syn_arrived_or_what_its_sender_has() {
        let answers = MODES.map(EcnMode::syn_ack_flags);
        assert_eq!(answers, [bits(0, 1, 0), bits(0, 1, 1), bits(1, 0, 0), bits(1, 1, 0)]);
        let client = |answer| EcnMode::PendingAccurate.after(flags::SYN | flags::ACK | answer, Ecn::Ect1);
        assert!(answers.iter().all(|&answer| client(answer) == EcnMode::Accurate(Ecn::Ect1)));
        assert_eq!([bits(1, 0, 1), bits(0, 0, 1)].map(client), [EcnMode::Classic; 2]);
        assert_eq!([bits(0, 0, 0), bits(1, 1, 1)].map(client), [EcnMode::NotEcn; 2]);
    }

    /// The same table for the server.
    #[test]
    fn a_server_has_what_both_ends_have() {
        let server = |mode: EcnMode, asked| mode.after(flags::SYN | asked, Ecn::Ce);
        let asks = [bits(1, 1, 1), bits(0, 1, 1), bits(0, 0, 0)];
        let accurate = [EcnMode::Accurate(Ecn::Ce), EcnMode::Classic, EcnMode::NotEcn];
        assert_eq!(asks.map(|asked| server(EcnMode::PendingAccurate, asked)), accurate);
        // One that knows RFC 3168 only does not look at the third flag.
        assert_eq!(
            asks.map(|asked| server(EcnMode::Pending, asked)),
            [EcnMode::Classic, EcnMode::Classic, EcnMode::NotEcn]
        );
    }

    #[test]
    fn three_flags_count_packets_beyond_eight() {
        let (mut receiver, mut sender) = (MarkedPackets::default(), MarkedPackets::default());
        assert_eq!(receiver.flags(), bits(1, 0, 1));
        for (packets, acked) in [(0, 2), (1, 1), (7, 7), (2, 2), (0, 1), (3, 3)] {
            receiver.count(packets);
            assert_eq!(sender.heard(receiver.flags(), acked), packets);
        }
        // Appendix A.2.1: of 20 packets 2, 10 or 18 were marked.
        receiver.count(18);
        assert_eq!(sender.heard(receiver.flags(), 20), 18);
        receiver.count(2);
        assert_eq!(sender.heard(receiver.flags(), 20), 18);
    }
}
