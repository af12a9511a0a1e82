// SPDX-License-Identifier: MIT OR Apache-2.0
//! The sending end of a connection.

use marklab_units::{Duration, Time};

use super::congestion::{Acked, CongestionControl, Window};
use super::rtt::{RtoConfig, RttEstimator};
use super::scoreboard::Scoreboard;

/// Settings of a sender that do not depend on its congestion control.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SenderConfig {
    /// Largest segment in bytes.
    pub mss: u32,
    /// Initial window in segments (RFC 6928: 10).
    pub initial_window: u32,
    /// Timeouts.
    pub rto: RtoConfig,
    /// Most unacknowledged bytes: the receiver's window.
    pub receive_window: u64,
    /// Whether the window grows only while it limits the sender (RFC 7661, as in Linux).
    pub cwnd_validation: bool,
    /// Whether a window restarts at the initial window after it was idle for a timeout (RFC 2861, as in Linux).
    pub idle_restart: bool,
}

/// A segment to send.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Outgoing {
    /// First byte.
    pub offset: u64,
    /// Bytes; never 0.
    pub len: u32,
    /// Whether it was sent before.
    pub retransmission: bool,
    /// Whether it signals the receiver that the window was reduced (CWR).
    pub cwr: bool,
    /// Whether it ends with the last byte written so far.
    pub last: bool,
}

/// An acknowledgement that arrived.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AckEvent<'a> {
    /// Next byte that the receiver expects.
    pub ack: u64,
    /// Selectively acknowledged ranges.
    pub sacks: &'a [(u64, u64)],
    /// Congestion experienced echo.
    pub ece: bool,
    /// One-way delay of the acknowledged data, if it is measured.
    pub one_way: Option<Duration>,
}

/// Counts of a sender.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct SenderStats {
    /// Retransmitted segments, including SYNs.
    pub retransmissions: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Reductions because of marks or delays.
    pub ecn_reductions: u64,
    /// Entries into fast recovery.
    pub fast_recoveries: u64,
    /// Round trips measured.
    pub rtt_samples: u64,
    /// Their sum in ns.
    pub rtt_ns: u64,
    /// Sum of the windows at the ends of these round trips, in bytes.
    pub cwnd_bytes: u64,
}

impl SenderStats {
    /// Counts since an earlier time.
    #[must_use]
    pub fn since(self, earlier: SenderStats) -> SenderStats {
        SenderStats {
            retransmissions: self.retransmissions - earlier.retransmissions,
            timeouts: self.timeouts - earlier.timeouts,
            ecn_reductions: self.ecn_reductions - earlier.ecn_reductions,
            fast_recoveries: self.fast_recoveries - earlier.fast_recoveries,
            rtt_samples: self.rtt_samples - earlier.rtt_samples,
            rtt_ns: self.rtt_ns - earlier.rtt_ns,
            cwnd_bytes: self.cwnd_bytes - earlier.cwnd_bytes,
        }
    }
}

/// State of congestion control, by Linux's names (`tcp_ca_state`), in its order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CaState {
    /// Nothing is wrong.
    Open = 0,
    /// Segments have arrived out of order.
    Disorder = 1,
    /// The window was reduced because of marks.
    Cwr = 2,
    /// Losses are being repaired.
    Recovery = 3,
    /// A timeout is being repaired.
    Loss = 4,
}

/// Phase of the window after a reduction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    /// No reduction is under way.
    Open,
    /// Reduced because of marks or delays. Until this byte is acknowledged, the window does not grow, and further marks
    /// do not reduce it.
    Reduced(u64),
    /// Repairing losses until this byte is acknowledged.
    Recovery(u64),
    /// Repairing after a timeout until this byte is acknowledged; the window grows by slow start.
    Loss(u64),
}

/// Sends a stream: keeps the window, the scoreboard and the retransmission timer.
#[derive(Debug)]
pub struct Sender {
    config: SenderConfig,
    control: Box<dyn CongestionControl>,
    window: Window,
    board: Scoreboard,
    rtt: RttEstimator,
    phase: Phase,
    snd_una: u64,
    snd_nxt: u64,
    /// Stream offset of the end of written data.
    written: u64,
    /// Whether the next new segment carries CWR.
    cwr: bool,
    /// Next new byte when the window was last reduced. Marks on earlier bytes are answered already.
    answered: Option<u64>,
    deadline: Option<Time>,
    last_sent: Time,
    /// Counts so far.
    pub stats: SenderStats,
}

impl Sender {
    /// A sender on an established connection, with nothing to send.
    pub fn new(config: SenderConfig, control: Box<dyn CongestionControl>) -> Sender {
        Sender {
            window: Window::new(config.mss.into(), config.initial_window.into()),
            board: Scoreboard::default(),
            rtt: RttEstimator::new(config.rto),
            phase: Phase::Open,
            snd_una: 0,
            snd_nxt: 0,
            written: 0,
            cwr: false,
            answered: None,
            deadline: None,
            last_sent: Time::ZERO,
            stats: SenderStats::default(),
            config,
            control,
        }
    }

    /// The congestion control.
    pub fn control(&self) -> &dyn CongestionControl {
        &*self.control
    }

    /// The state of congestion control.
    pub fn state(&self) -> CaState {
        match self.phase {
            Phase::Open => CaState::Open,
            Phase::Reduced(_) => CaState::Cwr,
            Phase::Recovery(_) => CaState::Recovery,
            Phase::Loss(_) => CaState::Loss,
        }
    }

    /// The congestion window.
    pub fn window(&self) -> Window {
        self.window
    }

    /// The round-trip estimate.
    pub fn rtt_mut(&mut self) -> &mut RttEstimator {
        &mut self.rtt
    }

    /// The round-trip estimate.
    pub fn rtt(&self) -> &RttEstimator {
        &self.rtt
    }

    /// When [`Sender::on_timeout`] is due, unless acknowledgements arrive before.
    pub fn deadline(&self) -> Option<Time> {
        self.deadline
    }

    /// First unacknowledged byte.
    pub fn snd_una(&self) -> u64 {
        self.snd_una
    }

    /// Next new byte.
    pub fn snd_nxt(&self) -> u64 {
        self.snd_nxt
    }

    /// Stream offset of the end of written data.
    pub fn written(&self) -> u64 {
        self.written
    }

    /// The application writes more bytes.
    pub fn write(&mut self, bytes: u64) {
        self.written += bytes;
    }

    /// The next segment, if window and data allow one. The caller sends it.
    pub fn next_segment(&mut self, now: Time) -> Option<Outgoing> {
        if self.config.idle_restart && self.board.is_empty() {
            self.restart_if_idle(now);
        }
        let outgoing = self.next_lost(now).or_else(|| self.next_new(now))?;
        self.last_sent = now;
        if self.deadline.is_none() {
            self.deadline = Some(now + self.rtt.rto());
        }
        Some(outgoing)
    }

    fn restart_if_idle(&mut self, now: Time) {
        if now.since(self.last_sent) > self.rtt.rto() {
            let Window { cwnd, ssthresh, mss, .. } = self.window;
            self.window.ssthresh = ssthresh.max(cwnd / 4 * 3);
            self.window.cwnd = cwnd.min(mss * u64::from(self.config.initial_window));
        }
    }

    fn next_lost(&mut self, now: Time) -> Option<Outgoing> {
        let len = self.board.next_lost()?;
        if !self.fits(len) {
            return None;
        }
        let (offset, len) = self.board.resend(now)?;
        self.stats.retransmissions += 1;
        let last = offset + u64::from(len) == self.written;
        Some(Outgoing { offset, len, retransmission: true, cwr: false, last })
    }

    fn next_new(&mut self, now: Time) -> Option<Outgoing> {
        let limit = self.written.min(self.snd_una + self.config.receive_window);
        let len = limit.saturating_sub(self.snd_nxt).min(self.config.mss.into()) as u32;
        // Lost segments go first; a segment cut short by the receive window waits for room (silly window, RFC 9293).
        let cut_short = self.snd_nxt + u64::from(len) < self.written && len < self.config.mss;
        if len == 0 || self.board.has_lost() || cut_short || !self.fits(len) {
            return None;
        }
        let offset = self.snd_nxt;
        self.board.push(offset, len, now);
        self.snd_nxt += u64::from(len);
        let cwr = std::mem::take(&mut self.cwr);
        Some(Outgoing { offset, len, retransmission: false, cwr, last: self.snd_nxt == self.written })
    }

    /// Whether the window has room; one segment may always be in flight.
    fn fits(&self, len: u32) -> bool {
        let pipe = self.board.pipe();
        pipe == 0 || pipe + u64::from(len) <= self.window.cwnd
    }

    /// Handles an acknowledgement. Returns the round-trip time if it gives a sample.
    pub fn on_ack(&mut self, now: Time, event: AckEvent<'_>) -> Option<Duration> {
        if event.ack > self.snd_nxt || event.ack < self.snd_una {
            return None; // for data never sent, or overtaken by a later acknowledgement
        }
        let cwnd_limited = self.board.pipe() + u64::from(self.config.mss) > self.window.cwnd;
        let flight = self.snd_nxt - self.snd_una;
        let acked = event.ack - self.snd_una;
        self.snd_una = event.ack;
        let back_since = self.rtt.minimum().map_or(Time::ZERO, |minimum| now.before(minimum));
        let change = self.board.acknowledge(event.ack, event.sacks, back_since);
        let rtt = change.sent.map(|sent| now.since(sent));
        if let Some(rtt) = rtt {
            self.rtt.sample(rtt);
        }
        let Sender { snd_una, snd_nxt, .. } = *self;
        let congested = self.control.congested(event.ece, event.one_way);
        if acked > 0 {
            self.control.on_ack(Acked { bytes: acked, congested, snd_una, snd_nxt });
        }
        self.leave_phase();
        if change.new_loss {
            self.enter_recovery(flight);
        }
        if congested {
            self.react_to_congestion();
        }
        let may_grow = matches!(self.phase, Phase::Open | Phase::Loss(_));
        if acked > 0 && may_grow && (cwnd_limited || !self.config.cwnd_validation) {
            self.control.grow(&mut self.window, acked);
        }
        if self.board.is_empty() {
            self.deadline = None;
        } else if acked > 0 {
            self.deadline = Some(now + self.rtt.rto());
        }
        if let Some(rtt) = rtt {
            self.stats.rtt_samples += 1;
            self.stats.rtt_ns += rtt.nanos();
            self.stats.cwnd_bytes += self.window.cwnd;
        }
        rtt
    }

    fn leave_phase(&mut self) {
        if let Phase::Reduced(end) | Phase::Recovery(end) | Phase::Loss(end) = self.phase
            && self.snd_una >= end
        {
            self.phase = Phase::Open;
        }
    }

    /// Enters fast recovery. The congestion control decides whether a window that marks have reduced is reduced again.
    fn enter_recovery(&mut self, flight: u64) {
        match self.phase {
            Phase::Recovery(_) | Phase::Loss(_) => return,
            Phase::Open => {
                // A long recovery sends more than a window: data received after the gap still count as in flight.
                let used = flight.min(self.window.cwnd);
                self.control.on_loss(&mut self.window, used);
                self.tell_reduction();
            }
            Phase::Reduced(_) if self.control.loss_after_marks() => self.control.on_loss(&mut self.window, flight),
            Phase::Reduced(_) => {}
        }
        self.stats.fast_recoveries += 1;
        self.phase = Phase::Recovery(self.snd_nxt);
    }

    /// RFC 3168 section 6.1.2: the first new segment after a reduction for any reason carries CWR. Until the receiver
    /// has seen it, its acknowledgements repeat an echo that is answered already. The last of these acknowledges
    /// exactly the data before that segment.
    fn tell_reduction(&mut self) {
        self.cwr = self.control.ecn();
        self.answered = Some(self.snd_nxt);
    }

    fn react_to_congestion(&mut self) {
        let news = self.answered.is_none_or(|answered| self.snd_una > answered);
        if news && self.phase == Phase::Open && self.snd_nxt > self.snd_una {
            self.control.on_congestion(&mut self.window);
            self.stats.ecn_reductions += 1;
            self.tell_reduction();
            self.phase = Phase::Reduced(self.snd_nxt);
        }
    }

    /// Most unacknowledged bytes: the receiver's window.
    pub fn receive_window(&self) -> u64 {
        self.config.receive_window
    }

    /// Sets the receiver's window, unless the new value is 0.
    pub fn limit_to(&mut self, receive_window: u64) {
        if receive_window > 0 {
            self.config.receive_window = receive_window;
        }
    }

    /// A SYN was not answered in time and is retransmitted: the first window is one segment (RFC 5681 section 3.1).
    pub fn on_syn_timeout(&mut self) {
        self.on_lost_handshake();
        self.on_repeated();
    }

    /// A packet of the handshake was lost.
    pub fn on_lost_handshake(&mut self) {
        self.window.cwnd = self.window.mss;
    }

    /// A packet of the handshake, or a request, was not answered in time and is retransmitted.
    pub fn on_repeated(&mut self) {
        self.stats.timeouts += 1;
        self.stats.retransmissions += 1;
    }

    /// The deadline has passed: everything in flight counts as lost (RFC 6298 section 5, RFC 5681 section 3.1).
    pub fn on_timeout(&mut self, now: Time) {
        let flight = self.snd_nxt - self.snd_una;
        if !matches!(self.phase, Phase::Loss(_)) {
            let mut window = self.window;
            self.control.on_loss(&mut window, flight);
            self.window.ssthresh = window.ssthresh;
        }
        self.window.cwnd = self.window.mss;
        self.window.bytes_acked = 0;
        self.board.lose_all();
        self.phase = Phase::Loss(self.snd_nxt);
        self.tell_reduction();
        self.rtt.back_off();
        self.stats.timeouts += 1;
        self.deadline = Some(now + self.rtt.rto());
    }
}

#[cfg(test)]
mod tests {
    use super::super::congestion::{Dctcp, EcnStar, Reno};
    use super::*;

    const MSS: u32 = 1000;

    fn sender(control: impl CongestionControl + 'static) -> Sender {
        let us = Duration::from_micros;
        let config = SenderConfig {
            mss: MSS,
            initial_window: 10,
            rto: RtoConfig { min: us(1000), max: us(1_000_000), initial: us(3000) },
            receive_window: 1 << 20,
            cwnd_validation: true,
            idle_restart: false,
        };
        Sender::new(config, Box::new(control))
    }

    fn at(us: u64) -> Time {
        Time::from_nanos(us * 1000)
    }

    fn send_all(sender: &mut Sender, now: Time) -> Vec<u64> {
        std::iter::from_fn(|| sender.next_segment(now)).map(|segment| segment.offset / u64::from(MSS)).collect()
    }

    fn ack(sender: &mut Sender, now: Time, segments: u64, sacks: &[(u64, u64)], ece: bool) {
        let mss = u64::from(MSS);
        let sacks: Vec<_> = sacks.iter().map(|(start, end)| (start * mss, end * mss)).collect();
        sender.on_ack(now, AckEvent { ack: segments * mss, sacks: &sacks, ece, one_way: None });
    }

    #[test]
    fn the_initial_window_goes_out_at_once_and_the_last_segment_is_short() {
        let mut sender = sender(Reno);
        sender.write(3500);
        let segments: Vec<_> = std::iter::from_fn(|| sender.next_segment(at(0))).collect();
        assert_eq!(segments.iter().map(|segment| segment.len).collect::<Vec<_>>(), [1000, 1000, 1000, 500]);
        assert_eq!(segments.iter().map(|segment| segment.last).collect::<Vec<_>>(), [false, false, false, true]);
        sender.write(1_000_000);
        assert_eq!(send_all(&mut sender, at(0)).len(), 6); // 3.5 of 10 are in flight
    }

    #[test]
    fn the_window_grows_only_while_it_limits() {
        let mut sender = sender(Reno);
        sender.write(5_000);
        send_all(&mut sender, at(0));
        ack(&mut sender, at(100), 5, &[], false);
        assert_eq!(sender.window().cwnd, 10_000);
        sender.write(10_000);
        send_all(&mut sender, at(100));
        ack(&mut sender, at(200), 6, &[], false);
        assert_eq!(sender.window().cwnd, 11_000);
    }

    #[test]
    fn a_window_idle_for_longer_than_a_timeout_starts_again() {
        for (restart, idle_us, cwnd) in [(true, 1000, 16_000), (true, 1001, 10_000), (false, 1001, 16_000)] {
            let mut sender = sender(Reno);
            sender.config.idle_restart = restart;
            sender.window.cwnd = 16_000;
            sender.window.ssthresh = 5_000;
            sender.write(1_000);
            send_all(&mut sender, at(0));
            ack(&mut sender, at(100), 1, &[], false); // a timeout is 1 ms from now on
            sender.write(50_000);
            assert_eq!(send_all(&mut sender, at(idle_us)).len() as u64, cwnd / 1000, "{idle_us} us");
            let ssthresh = if cwnd == 10_000 { 12_000 } else { 5_000 };
            assert_eq!((sender.window.cwnd, sender.window.ssthresh), (cwnd, ssthresh));
        }
    }

    #[test]
    fn the_receive_window_is_never_exceeded() {
        let mut sender = sender(Reno);
        sender.config.receive_window = 2_500;
        sender.write(100_000);
        assert_eq!(send_all(&mut sender, at(0)), [0, 1]); // half a segment waits for room
        ack(&mut sender, at(1), 1, &[], false);
        assert_eq!(send_all(&mut sender, at(1)), [2]);
    }

    #[test]
    fn a_loss_is_repaired_once_and_halves_the_window() {
        let mut sender = sender(Reno);
        sender.write(1_000_000);
        send_all(&mut sender, at(0));
        for sacked in 2..=4 {
            ack(&mut sender, at(100), 0, &[(1, sacked)], false);
        }
        assert_eq!(sender.window().cwnd, 5_000);
        // Six of ten in flight (three sacked, one lost): above the window, so nothing is sent yet.
        assert_eq!(send_all(&mut sender, at(100)), [0u64; 0]);
        ack(&mut sender, at(110), 0, &[(1, 6)], false);
        assert_eq!(send_all(&mut sender, at(110)), [0]); // pipe 4 + 1
        ack(&mut sender, at(120), 0, &[(1, 7)], false);
        assert_eq!(send_all(&mut sender, at(120)), [10]);
        ack(&mut sender, at(200), 10, &[], false);
        assert_eq!((sender.stats.fast_recoveries, sender.stats.retransmissions), (1, 1));
        assert_eq!(sender.phase, Phase::Open);
    }

    #[test]
    fn a_loss_found_as_a_recovery_ends_halves_the_window_again() {
        let mut sender = sender(Reno);
        sender.write(1_000_000);
        send_all(&mut sender, at(0));
        ack(&mut sender, at(100), 0, &[(1, 10)], false);
        assert_eq!(send_all(&mut sender, at(100)), [0, 10, 11, 12, 13]);
        // 14 segments were not acknowledged, but 9 of them had arrived long ago; the window was 5.
        ack(&mut sender, at(200), 10, &[(11, 14)], false);
        assert_eq!((sender.window().cwnd, sender.stats.fast_recoveries), (2_500, 2));
    }

    #[test]
    fn a_timeout_sends_the_first_segment_again_and_backs_off() {
        let mut sender = sender(Reno);
        sender.write(10_000);
        send_all(&mut sender, at(0));
        assert_eq!(sender.deadline(), Some(at(3000)));
        sender.on_timeout(at(3000));
        assert_eq!(send_all(&mut sender, at(3000)), [0]);
        assert_eq!(sender.deadline(), Some(at(9000)));
        assert_eq!((sender.window().cwnd, sender.window().ssthresh), (1_000, 5_000));
        ack(&mut sender, at(3100), 1, &[], false);
        assert_eq!(send_all(&mut sender, at(3100)), [1, 2]); // slow start
        ack(&mut sender, at(3200), 10, &[], false);
        assert_eq!((sender.deadline(), sender.phase), (None, Phase::Open));
    }

    #[test]
    fn an_echo_reduces_once_per_window_and_is_answered_by_cwr() {
        let mut sender = sender(EcnStar);
        sender.write(1_000_000);
        send_all(&mut sender, at(0));
        for acked in 1..=9 {
            ack(&mut sender, at(100), acked, &[], true);
        }
        assert_eq!((sender.window().cwnd, sender.stats.ecn_reductions), (5_000, 1));
        let next: Vec<_> = std::iter::from_fn(|| sender.next_segment(at(100))).collect();
        assert_eq!(next.iter().map(|segment| segment.cwr).collect::<Vec<_>>(), [true, false, false, false]);
        ack(&mut sender, at(200), 11, &[], true);
        assert_eq!((sender.window().cwnd, sender.stats.ecn_reductions), (2_500, 2));
    }

    #[test]
    fn a_loss_in_a_window_already_reduced_reduces_again_only_where_it_is_told_to() {
        assert_eq!(window_after_mark_and_loss(false), (5_000, 5_000));
        assert_eq!(window_after_mark_and_loss(true), (5_000, 4_500)); // half of the nine in flight
    }

    /// The window after a mark, and after a loss of the same flight.
    fn window_after_mark_and_loss(loss_after_marks: bool) -> (u64, u64) {
        let mut sender = sender(Dctcp::new(4, loss_after_marks));
        sender.write(1_000_000);
        send_all(&mut sender, at(0));
        ack(&mut sender, at(100), 1, &[], true);
        let reduced = sender.window().cwnd;
        ack(&mut sender, at(110), 1, &[(2, 5)], true);
        assert_eq!(sender.stats.fast_recoveries, 1);
        (reduced, sender.window().cwnd)
    }

    #[test]
    fn old_and_impossible_acknowledgements_change_nothing() {
        let mut sender = sender(Reno);
        sender.write(5_000);
        send_all(&mut sender, at(0));
        ack(&mut sender, at(10), 2, &[], false);
        for bad in [1, 99] {
            ack(&mut sender, at(20), bad, &[(3, 5)], false);
            assert_eq!((sender.snd_una(), sender.board.pipe()), (2_000, 3_000));
        }
    }
}
