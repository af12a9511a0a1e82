// SPDX-License-Identifier: MIT OR Apache-2.0
//! The sending end of a connection. Its states are Linux's (net/ipv4/tcp_input.c); what other stacks do instead is a
//! setting ([`super::stack`]).

use marklab_units::{Duration, Time};

use super::congestion::{Acked, CongestionControl, Window};
use super::prr::{Progress, Prr};
use super::rtt::{RtoConfig, RttEstimator};
use super::scoreboard::{Change, Losses, Report, Scoreboard};
use super::stack::{
    Growth, IdleRestart, LossBase, LossDetection, Pipe, Recovery, RtoEstimator, Stack, Validation, WindowUnit,
};

/// Settings of a sender that do not depend on its congestion control.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct SenderConfig {
    /// Largest segment in bytes.
    pub mss: u32,
    /// Initial window in segments (RFC 6928: 10).
    pub initial_window: u32,
    /// Timeouts.
    pub rto: RtoConfig,
    /// Most unacknowledged bytes: the receiver's window.
    pub receive_window: u64,
    /// Whether the window grows only while it limits the sender, as the stack judges it.
    pub cwnd_validation: bool,
    /// Whether segments leave at the rate of the window, which may be a fraction of segments, below one as well. Only with
    /// [`Stack::pacing`], and windows of bytes.
    pub smooth: bool,
    /// What stacks do differently.
    pub stack: Stack,
}

impl SenderConfig {
    fn window(&self) -> Window {
        let mss = u64::from(self.mss);
        let unit = match self.stack.window_unit {
            WindowUnit::Bytes => 1,
            WindowUnit::Segments => mss,
        };
        let least = mss * u64::from(self.stack.min_window.max(1));
        let smallest = if self.smooth { (mss / SMALLEST_FRACTION).max(1) } else { least };
        Window { unit, smallest, growth: self.stack.growth, ..Window::new(mss, self.initial_window.into()) }
    }
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

/// State of the congestion window, with Linux's names and numbers (`enum tcp_ca_state`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CaState {
    /// Nothing unusual.
    Open = 0,
    /// Segments arrived out of order, or twice.
    Disorder = 1,
    /// Reduced because of marks or delays. Until data beyond `high_seq` are acknowledged, the window does not grow, and
    /// further marks do not reduce it.
    Cwr = 2,
    /// Repairing losses until `high_seq` is acknowledged.
    Recovery = 3,
    /// Repairing after a timeout until `high_seq` is acknowledged; the window grows by slow start.
    Loss = 4,
}

/// What a sender waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Timer {
    /// Retransmission timeout.
    Rto,
    /// Probe of the tail.
    Probe,
    /// End of the reordering window.
    Reordering,
}

/// A reduction that may turn out to be spurious.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Undo {
    /// `snd_una` when it began: later reports of duplicates are about it.
    since: u64,
    cwnd: u64,
    /// `None` if a mark came with the loss: then it was right.
    ssthresh: Option<u64>,
    /// Retransmissions that were not reported as duplicates; `None` if there was none.
    retransmitted: Option<u64>,
}

/// A probe of the tail that has no answer yet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Probe {
    /// `snd_nxt` after it.
    high_seq: u64,
    retransmission: bool,
    /// Whether it has left, or only its time has come.
    sent: bool,
}

/// F-RTO (RFC 5682 section 3.1), after a timeout.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Frto {
    Off,
    /// Step 2: the next acknowledgement decides.
    Started,
    /// Step 2b: new data go out in place of retransmissions.
    New,
}

/// Whether the window limited the sender: Linux's `tcp_cwnd_validate`.
#[derive(Clone, Copy, Debug, Default)]
struct Usage {
    /// Whether new segments have left since it was last looked at.
    pending: bool,
    limited: bool,
    /// Most segments that were in flight in this window of data, which ends at `until`.
    most: u64,
    until: u64,
    /// Linux's `snd_cwnd_used` and `snd_cwnd_stamp`: most segments that were in flight since the window was last limited,
    /// moved by an acknowledgement, or looked at.
    used: u64,
    stamp: Time,
}

/// Linux's pacing rate (`tcp_update_pacing_rate`), not divided yet: divisions are slow, and most acknowledgements come
/// and go without a need for one.
#[derive(Clone, Copy, Debug)]
struct PacingRate {
    /// Bytes and ns: what it sends in 1 ms of Linux's clock, times the round trip.
    byte_ns_per_ms: u64,
    srtt_ns: u64,
    min_rtt: Duration,
}

impl PacingRate {
    fn sends_in_ms(self, bytes: u64) -> bool {
        bytes * self.srtt_ns <= self.byte_ns_per_ms
    }
}

/// When the next segment may leave, with Linux's names (`tcp_update_skb_after_send`). See [`Stack::pacing`].
#[derive(Clone, Copy, Debug, Default)]
struct Pacer {
    /// Bytes per second; 0 until a round trip was measured.
    rate: u64,
    /// Linux's `tcp_wstamp_ns`.
    departure: Time,
    /// How long the sender has waited beyond its departure time: what it has not yet got back.
    credit_ns: u64,
    /// Bytes of a large segment that do not yet count in the departure time.
    bytes: u32,
    /// Segments sent, up to [`UNPACED_SEGMENTS`].
    segments: u8,
    /// Whether a segment, or a large one, begins next.
    begins: bool,
    /// Whether data wait for the departure time.
    holds: bool,
}

/// What an acknowledgement brought, for the steps that follow.
#[derive(Clone, Copy)]
struct News<'a> {
    now: Time,
    /// Bytes acknowledged in order.
    acked: u64,
    change: &'a Change,
    congested: bool,
    /// Whether the window was full before.
    full: bool,
    /// Whether a timeout was being repaired.
    after_timeout: bool,
}

/// So many segments leave before Linux paces: the last of them moves the departure time.
const UNPACED_SEGMENTS: u8 = 10;
/// The smallest window of a smooth sender is this part of a segment.
const SMALLEST_FRACTION: u64 = 64;
/// Memory that Linux counts for a frame, in percent of its bytes: 2,304 bytes for a full one.
pub(super) const TRUESIZE_PERCENT: u64 = 152;
/// `net.ipv4.tcp_tso_win_divisor` and `tcp_tso_rtt_log` of Linux, and the size of its largest segment.
const TSO_WIN_DIVISOR: u64 = 3;
const TSO_RTT_LOG: u32 = 9;
const GSO_BYTES: u64 = 65_536;

/// Sends a stream: keeps the window, the scoreboard and the retransmission timer.
#[derive(Debug)]
pub struct Sender {
    config: SenderConfig,
    control: Box<dyn CongestionControl>,
    window: Window,
    /// Bytes beyond the window that may be in flight, so that a part of a segment lets a whole one go.
    slack: u64,
    board: Scoreboard,
    rtt: RttEstimator,
    state: CaState,
    /// End of the data that were sent when the state was entered.
    high_seq: u64,
    prr: Prr,
    /// What is in the network in a recovery, if acknowledgements are counted ([`Pipe::Acks`]).
    ack_pipe: u64,
    undo: Option<Undo>,
    frto: Frto,
    probe: Option<Probe>,
    /// Timeouts since `snd_una` last advanced.
    timeouts: u32,
    usage: Usage,
    snd_una: u64,
    snd_nxt: u64,
    /// Stream offset of the end of written data.
    written: u64,
    /// Whether a recovery began, so that the first lost segment leaves whatever is in flight (RFC 6675 section 5, step
    /// 4.3).
    fast_retransmit: bool,
    /// Whether a recovery has had a partial acknowledgement.
    partial_ack: bool,
    /// Segments that may leave yet by [`Stack::max_burst`].
    burst_segments: u32,
    /// What may leave before the next look at [`Stack::tso_defer`].
    burst_bytes: u64,
    /// The largest segment on a short path.
    largest_bytes: u64,
    /// Whether segments have left since a probe of the tail was last scheduled.
    probe_pending: bool,
    /// `None` before the first acknowledgement of data.
    pacing_rate: Option<PacingRate>,
    /// A shortest round trip, and the bytes that it adds to a large segment.
    near: (Duration, u64),
    pacer: Pacer,
    /// [`Stack::kernel_ms`].
    kernel_ms: Duration,
    /// Whether the next new segment carries CWR.
    cwr: bool,
    /// Next new byte when the window was last reduced. Marks on earlier bytes are answered already.
    answered: Option<u64>,
    timer: Option<(Timer, Time)>,
    last_sent: Time,
    /// Counts so far.
    pub stats: SenderStats,
}

impl Sender {
    /// A sender on an established connection, with nothing to send.
    pub fn new(config: SenderConfig, control: Box<dyn CongestionControl>) -> Sender {
        Sender {
            window: config.window(),
            slack: if config.smooth { u64::from(config.mss) - 1 } else { 0 },
            board: Scoreboard::new(config.stack.loss_detection, config.stack.window_unit, config.mss),
            rtt: RttEstimator::new(config.rto),
            state: CaState::Open,
            high_seq: 0,
            prr: Prr::default(),
            ack_pipe: 0,
            undo: None,
            frto: Frto::Off,
            probe: None,
            timeouts: 0,
            usage: Usage::default(),
            snd_una: 0,
            snd_nxt: 0,
            written: 0,
            fast_retransmit: false,
            partial_ack: false,
            burst_segments: 0,
            burst_bytes: 0,
            largest_bytes: (GSO_BYTES / u64::from(config.mss)).max(2) * u64::from(config.mss),
            probe_pending: false,
            pacing_rate: None,
            near: (Duration::ZERO, GSO_BYTES),
            pacer: Pacer::default(),
            kernel_ms: config.stack.kernel_ms(),
            cwr: false,
            answered: None,
            timer: None,
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

    /// Replaces the congestion control, before any data are sent.
    pub fn set_control(&mut self, control: Box<dyn CongestionControl>) {
        debug_assert!(self.snd_nxt == 0, "data were sent under the other congestion control");
        self.control = control;
    }

    /// So many packets more were marked, by the acknowledgement that is handled next.
    pub fn hear_marks(&mut self, packets: u32) {
        self.control.hear_marks(packets);
    }

    /// The state of the window.
    pub fn state(&self) -> CaState {
        match self.state {
            CaState::Open if self.board.has_gaps() => CaState::Disorder,
            state => state,
        }
    }

    /// The congestion window.
    pub fn window(&self) -> Window {
        self.window
    }

    /// Estimate of what is in the network, in the unit of the window.
    pub fn pipe(&self) -> u64 {
        self.board.pipe()
    }

    /// The round-trip estimate.
    pub fn rtt_mut(&mut self) -> &mut RttEstimator {
        &mut self.rtt
    }

    /// The round-trip estimate.
    pub fn rtt(&self) -> &RttEstimator {
        &self.rtt
    }

    /// When [`Sender::on_timeout`] is due, unless acknowledgements arrive before. With pacing, it may be a departure time.
    pub fn deadline(&self) -> Option<Time> {
        let timer = self.timer.map(|(_, time)| time);
        if self.pacer.holds { timer.into_iter().chain([self.pacer.departure]).min() } else { timer }
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
        self.allow_burst();
    }

    fn allow_burst(&mut self) {
        if let Some(most) = self.config.stack.max_burst {
            self.burst_segments = most + u32::from(self.fast_retransmit);
        }
    }

    // Sending

    /// The next segment, if window and data allow one. The caller sends it.
    // Inlined, like `next_new`, so that the segment is not copied from call to call.
    #[inline(always)]
    pub fn next_segment(&mut self, now: Time) -> Option<Outgoing> {
        if self.board.is_empty() && self.config.stack.idle_restart != IdleRestart::Never {
            self.restart_if_idle(now);
        }
        if self.probe.is_some_and(|probe| !probe.sent) {
            return self.next_probe(now);
        }
        if self.config.stack.pacing && self.is_held(now) {
            self.end_burst(now);
            return None;
        }
        let outgoing = match self.frto {
            _ if self.burst_segments == 0 && self.config.stack.max_burst.is_some() => None,
            Frto::New => self.next_of_frto(now),
            // Lost segments go first.
            _ if self.board.has_lost() => self.next_lost(now),
            _ if self.repairs_like_ns3() => self.next_of_ns3(now),
            _ => self.next_new(now),
        };
        match outgoing {
            Some(outgoing) => self.note_sent(now, outgoing.len),
            None => self.end_burst(now),
        }
        self.burst_segments = self.burst_segments.saturating_sub(1);
        outgoing
    }

    fn note_sent(&mut self, now: Time, len: u32) {
        self.last_sent = now;
        if self.is_reducing() {
            self.prr.sent(self.board.weight(len));
        }
        self.ack_pipe += self.board.weight(len);
        if self.timer.is_none() {
            self.timer = Some((Timer::Rto, now + self.rtt.rto()));
        }
        self.probe_pending = true;
        if self.config.stack.pacing {
            self.pace(now, len);
        }
    }

    // Pacing

    /// Whether data wait for their departure time: Linux's `tcp_pacing_check`. Within a large segment nothing waits.
    #[inline(never)]
    fn is_held(&mut self, now: Time) -> bool {
        let lost = self.board.has_lost();
        if self.burst_bytes >= self.window.mss && !lost {
            return false;
        }
        self.pacer.begins = true;
        let sendable = |len| self.fits(self.snd_nxt, self.board.weight(len));
        self.pacer.holds = self.pacer.departure > now && (lost || self.new_len().is_some_and(sendable));
        self.pacer.holds
    }

    /// A segment of `len` bytes leaves: Linux's `tcp_update_skb_after_send`.
    #[inline(never)]
    fn pace(&mut self, now: Time, len: u32) {
        if self.pacer.rate == 0 {
            self.pacer.rate = self.bytes_per_s();
        }
        let pacer = &mut self.pacer;
        if std::mem::take(&mut pacer.begins) {
            pacer.credit_ns = now.since(pacer.departure).nanos();
            pacer.departure = pacer.departure.max(now);
            pacer.bytes = 0;
        }
        pacer.bytes += len;
        pacer.segments = (pacer.segments + 1).min(UNPACED_SEGMENTS);
        if pacer.rate == 0 || pacer.segments < UNPACED_SEGMENTS {
            return;
        }
        let len_ns = u64::from(std::mem::take(&mut pacer.bytes)) * 1_000_000_000 / pacer.rate;
        let back = (len_ns / 2).min(pacer.credit_ns);
        pacer.credit_ns -= back;
        pacer.departure += Duration::from_nanos(len_ns - back);
    }

    /// Linux's `tcp_update_pacing_rate`, in bytes per second; 0 before the first round trip is measured.
    fn bytes_per_s(&self) -> u64 {
        let Window { cwnd, ssthresh, mss, .. } = self.window;
        let Some(srtt) = self.rtt.srtt() else { return 0 };
        // A smooth sender has the rate of its window, whatever is out.
        let (above, packets_out) = if self.config.smooth { (100, 0) } else { (120, self.board.len() as u64 * mss) };
        let percent = if cwnd / mss < ssthresh / mss / 2 { 200 } else { above };
        let rate = cwnd.max(packets_out).saturating_mul(percent * (1_000_000_000 / 100)) / srtt.nanos().max(1);
        rate.max(1)
    }

    /// A window that was idle for longer than a timeout begins again (see [`IdleRestart`]).
    #[inline(never)]
    fn restart_if_idle(&mut self, now: Time) {
        let (rto, idle) = (self.rtt.rto(), now.since(self.last_sent));
        if idle <= rto || self.written == self.snd_nxt {
            return;
        }
        let initial = self.window.mss * u64::from(self.config.initial_window);
        self.window.ssthresh = self.ssthresh_kept();
        self.usage.used = 0;
        self.usage.stamp = now;
        let restart = self.window.cwnd.min(initial);
        if self.config.stack.idle_restart == IdleRestart::Rfc2861 {
            let mut left = idle.nanos();
            let mut cwnd = self.window.cwnd;
            while left > rto.nanos() && cwnd > restart {
                left -= rto.nanos();
                cwnd = self.window.half(cwnd);
            }
            self.window.cwnd = cwnd.max(restart);
        } else {
            self.window.cwnd = restart;
        }
    }

    /// The threshold that remembers a window which was not used: Linux's `tcp_current_ssthresh`.
    fn ssthresh_kept(&self) -> u64 {
        let Window { cwnd, ssthresh, .. } = self.window;
        match self.state {
            CaState::Cwr | CaState::Recovery => ssthresh,
            _ => ssthresh.max(self.window.half(cwnd) + self.window.scaled(cwnd, 1, 4)),
        }
    }

    #[inline(never)]
    fn next_lost(&mut self, now: Time) -> Option<Outgoing> {
        let (start, weight) = self.board.next_lost()?;
        if std::mem::take(&mut self.fast_retransmit) {
            self.ack_pipe = self.ack_pipe.saturating_sub(weight); // counted already
        } else if !self.fits(start, weight) {
            return None;
        }
        let (offset, len, first) = self.board.resend(now)?;
        self.note_retransmission();
        let restarts = matches!(self.config.stack.loss_detection, LossDetection::Rack | LossDetection::Holes);
        if first && restarts && !self.waits_for(Timer::Reordering) {
            self.timer = Some((Timer::Rto, now + self.rtt.rto()));
        }
        Some(self.again(offset, len))
    }

    fn again(&self, offset: u64, len: u32) -> Outgoing {
        let last = offset + u64::from(len) == self.written;
        Outgoing { offset, len, retransmission: true, cwr: false, last }
    }

    fn note_retransmission(&mut self) {
        self.stats.retransmissions += 1;
        if let Some(undo) = &mut self.undo {
            *undo.retransmitted.get_or_insert(0) += 1;
        }
    }

    #[inline(always)]
    fn next_new(&mut self, now: Time) -> Option<Outgoing> {
        let len = self.new_len()?;
        if !self.fits(self.snd_nxt, self.board.weight(len)) {
            self.usage.pending = true;
            return None;
        }
        if self.config.stack.tso_defer {
            if self.burst_bytes < self.window.mss && self.is_deferred(now) {
                return None;
            }
            self.burst_bytes -= self.window.mss;
        }
        Some(self.send_new(now, len))
    }

    /// Whether a segment waits for others to make a large segment for a NIC: Linux's `tcp_tso_should_defer` waits while
    /// little room is left, unless the next acknowledgement may be late. If not, a large segment begins.
    #[inline(never)]
    fn is_deferred(&mut self, now: Time) -> bool {
        let Window { cwnd, mss, .. } = self.window;
        let receivable = (self.snd_una + self.config.receive_window).saturating_sub(self.snd_nxt);
        let sendable = cwnd.saturating_sub(self.board.pipe());
        let room = sendable.min(receivable);
        // Less than a whole part of the window.
        let little = TSO_WIN_DIVISOR * (room + 1) <= cwnd.min(self.config.receive_window);
        let defers = little && self.may_defer(now);
        // A large segment has at least two whatever the rate, so that it matters only beyond.
        let most = if defers || room > 2 * mss { self.tso_bytes() } else { 2 * mss };
        if defers && room < most {
            if sendable < receivable && sendable <= (self.written - self.snd_nxt).min(GSO_BYTES) {
                self.usage.pending = false;
                self.note_usage(now, true);
            }
            return true;
        }
        self.burst_bytes = room.min(most).max(mss);
        false
    }

    fn may_defer(&self, now: Time) -> bool {
        let Some(head) = self.board.head_sent() else { return false };
        let late = now.since(head).nanos() < self.rtt.srtt().unwrap_or_default().nanos() / 2;
        let more = self.written - self.snd_nxt > self.window.mss;
        let stamp = self.last_sent.max(self.pacer.departure);
        !late && more && !self.is_repairing() && now.since(stamp) <= self.kernel_ms
    }

    /// Whether a NIC that has so many bytes of this connection takes more (see [`Stack::small_queues`]).
    #[inline]
    pub fn may_queue(&self, nic_bytes: u64) -> bool {
        !self.config.stack.small_queues
            || nic_bytes <= 2 * u64::from(self.config.mss)
            || self.pacing_rate().sends_in_ms(nic_bytes * TRUESIZE_PERCENT / 100)
    }

    fn pacing_rate(&self) -> PacingRate {
        self.pacing_rate.unwrap_or_else(|| self.present_rate())
    }

    fn present_rate(&self) -> PacingRate {
        let Window { cwnd, ssthresh, .. } = self.window;
        let (srtt, min_rtt) = self.round_trips();
        let percent = if cwnd < ssthresh / 2 { 200 } else { 120 };
        let share_ns = percent * self.kernel_ms.nanos() / 100;
        let bytes = cwnd.max(self.board.pipe());
        PacingRate { byte_ns_per_ms: bytes * share_ns, srtt_ns: srtt.nanos().max(1), min_rtt }
    }

    /// The largest segment that Linux hands to a NIC: 1 ms at its pacing rate, and more on short paths
    /// (`tcp_tso_autosize`); two segments or more.
    #[inline(never)]
    fn tso_bytes(&mut self) -> u64 {
        let PacingRate { byte_ns_per_ms, srtt_ns, min_rtt } = self.pacing_rate();
        if self.near.0 != min_rtt {
            self.near = (min_rtt, self.near_bytes(min_rtt));
        }
        let (mss, near) = (self.window.mss, self.near.1);
        if near >= GSO_BYTES {
            return self.largest_bytes;
        }
        let bytes = near + byte_ns_per_ms / srtt_ns;
        (bytes.min(GSO_BYTES) / mss).max(2) * mss
    }

    /// What `tcp_tso_autosize` adds on a path with this shortest round trip.
    fn near_bytes(&self, min_rtt: Duration) -> u64 {
        // On Linux's clock.
        let kernel_us = self.kernel_ms.nanos().div_ceil(1000);
        let shift = (min_rtt.nanos() / kernel_us.max(1)) >> TSO_RTT_LOG;
        if shift < 32 { GSO_BYTES >> shift } else { 0 }
    }

    /// Length of the next new segment, if there are data and the receiver has room. A segment cut short by the receive
    /// window waits for room (silly window, RFC 9293).
    fn new_len(&self) -> Option<u32> {
        let limit = self.written.min(self.snd_una + self.config.receive_window);
        let len = limit.saturating_sub(self.snd_nxt).min(self.config.mss.into()) as u32;
        let cut_short = self.snd_nxt + u64::from(len) < self.written && len < self.config.mss;
        (len > 0 && !cut_short).then_some(len)
    }

    fn send_new(&mut self, now: Time, len: u32) -> Outgoing {
        let offset = self.snd_nxt;
        self.board.push(offset, len, now);
        self.snd_nxt += u64::from(len);
        let cwr = std::mem::take(&mut self.cwr);
        self.usage.pending = true;
        Outgoing { offset, len, retransmission: false, cwr, last: self.snd_nxt == self.written }
    }

    fn repairs_like_ns3(&self) -> bool {
        self.state == CaState::Recovery && self.config.stack.recovery == Recovery::PrrNs3
    }

    /// What ns-3's recovery sends if no segment is lost (`TcpTxBuffer::NextSeg`, `TcpSocketBase::DoRetransmit`): new data, or
    /// else a segment that nothing is known of. A partial acknowledgement sends one whatever the window, and if there are
    /// no new data, the first one again.
    #[inline(never)]
    fn next_of_ns3(&mut self, now: Time) -> Option<Outgoing> {
        let forced = std::mem::take(&mut self.fast_retransmit);
        if let Some(len) = self.new_len() {
            let fits = self.fits(self.snd_nxt, self.board.weight(len));
            return (forced || fits).then(|| self.send_new(now, len));
        }
        let open = if forced { self.board.resend_first(now) } else { self.resend_open(now) };
        let (offset, len) = open?;
        self.note_retransmission();
        Some(self.again(offset, len))
    }

    /// Rule 3 of `NextSeg` (RFC 6675 section 4).
    fn resend_open(&mut self, now: Time) -> Option<(u64, u32)> {
        let (start, weight) = self.board.first_open()?;
        if self.fits(start, weight) { self.board.resend_at(start, now) } else { None }
    }

    /// A partial acknowledgement in a recovery of ns-3 sends a segment, unless what is missing next was retransmitted.
    fn note_partial_ack(&mut self, news: &News<'_>) {
        if self.repairs_like_ns3() && news.acked > 0 && !self.board.is_first_resent() {
            self.fast_retransmit = true;
        }
    }

    /// In step 2b of F-RTO: new data, if the window allows any; else retransmissions.
    #[inline(never)]
    fn next_of_frto(&mut self, now: Time) -> Option<Outgoing> {
        if let Some(outgoing) = self.next_new(now) {
            return Some(outgoing);
        }
        let sent = self.snd_nxt > self.high_seq;
        self.frto = if sent { Frto::Started } else { Frto::Off };
        if sent { None } else { self.next_lost(now) }
    }

    /// Whether the window has room for a segment that begins there; one segment may always be in flight, unless marks have
    /// brought the window below it.
    fn fits(&self, start: u64, weight: u64) -> bool {
        if self.is_below_a_segment() {
            return false;
        }
        let pipe = match (self.config.stack.pipe, self.state) {
            (Pipe::Rfc6675, _) => self.board.pipe(),
            (Pipe::Acks, CaState::Recovery) => self.ack_pipe,
            (Pipe::Acks, _) => start - self.snd_una,
        };
        pipe == 0 || pipe + weight <= self.window.cwnd + self.slack
    }

    /// Whether marks have brought the window below a segment ([`Stack::min_window`]): nothing leaves before a timeout.
    fn is_below_a_segment(&self) -> bool {
        self.config.stack.min_window == 0 && self.window.cwnd < self.window.mss
    }

    /// Counts an acknowledgement in a recovery: a segment has arrived, and if it advances, so has one that was lost.
    fn count_ack(&mut self, acked: u64) {
        let arrived = if acked > 0 { 2 } else { 1 };
        self.ack_pipe = self.ack_pipe.saturating_sub(arrived * self.window.mss);
    }

    // Window validation

    /// All segments that may leave now have left, or the NIC takes no more.
    pub fn end_burst(&mut self, now: Time) {
        if std::mem::take(&mut self.probe_pending) {
            self.schedule_probe(now, false);
        }
        if std::mem::take(&mut self.usage.pending) && self.config.cwnd_validation {
            self.note_usage(now, self.board.pipe() + self.window.mss > self.window.cwnd);
        }
    }

    fn note_usage(&mut self, now: Time, limited: bool) {
        let out = self.board.len() as u64;
        let usage = &mut self.usage;
        if self.snd_una >= usage.until || limited || (!usage.limited && out > usage.most) {
            (usage.limited, usage.most, usage.until) = (limited, out, self.snd_nxt);
        }
        if self.config.stack.idle_restart != IdleRestart::Rfc2861 {
            return;
        }
        if self.is_limited() {
            (self.usage.used, self.usage.stamp) = (0, now);
        } else {
            self.usage.used = self.usage.used.max(out);
            if now.since(self.usage.stamp) >= self.rtt.rto() {
                self.shrink_unused(now);
            }
        }
    }

    /// Linux's `tcp_cwnd_application_limited`: a window of which only a part was used for a timeout comes down half
    /// of the way to that part (RFC 2861 section 3).
    #[cold]
    fn shrink_unused(&mut self, now: Time) {
        if self.state() == CaState::Open {
            let used = self.window.mss * self.usage.used.max(self.config.initial_window.into());
            if used < self.window.cwnd {
                self.window.ssthresh = self.ssthresh_kept();
                self.window.cwnd = self.window.half(self.window.cwnd + used);
            }
            self.usage.used = 0;
        }
        self.usage.stamp = now;
    }

    fn may_grow(&self, news: &News<'_>) -> bool {
        if self.config.stack.growth == Growth::Acks && self.window.cwnd >= self.config.receive_window {
            return false;
        }
        !self.config.cwnd_validation
            // Data that wait for their departure would fill the window.
            || (self.config.smooth && self.pacer.holds)
            || match self.config.stack.validation {
                Validation::Full => news.full,
                Validation::Linux => self.is_limited(),
            }
    }

    /// Linux's `tcp_is_cwnd_limited`.
    fn is_limited(&self) -> bool {
        let Window { cwnd, ssthresh, mss, .. } = self.window;
        self.usage.limited || (cwnd < ssthresh && cwnd < 2 * mss * self.usage.most)
    }

    // Acknowledgements

    /// Handles an acknowledgement. Returns the round-trip time if it gives a sample.
    pub fn on_ack(&mut self, now: Time, event: AckEvent<'_>) -> Option<Duration> {
        if event.ack > self.snd_nxt || event.ack < self.snd_una {
            return None; // for data never sent, or overtaken by a later acknowledgement
        }
        let full = self.board.pipe() + self.window.mss > self.window.cwnd;
        self.burst_bytes = 0;
        let acked = event.ack - self.snd_una;
        self.snd_una = event.ack;
        let min_rtt = self.rtt.minimum().unwrap_or_default();
        let recovery = self.state == CaState::Recovery;
        let report = Report { now, una: event.ack, sacks: event.sacks, min_rtt, high_seq: self.high_seq, recovery };
        let change = self.board.acknowledge(&report);
        let rtt = self.sample(now, &change);
        let Sender { snd_una, snd_nxt, .. } = *self;
        let congested = self.control.congested(event.ece, event.one_way);
        if change.delivered > 0 {
            let srtt = self.rtt.srtt().unwrap_or_default();
            self.control.on_ack(Acked {
                bytes: acked,
                delivered: change.delivered,
                congested,
                now,
                srtt,
                snd_una,
                snd_nxt,
            });
        }
        if acked > 0 {
            self.timeouts = 0;
        }
        if self.config.stack.pipe == Pipe::Acks {
            self.count_ack(acked);
        }
        let news = News { now, acked, change: &change, congested, full, after_timeout: self.state == CaState::Loss };
        let plain = self.state == CaState::Open && !congested && event.sacks.is_empty() && self.probe.is_none();
        let losses = if plain && !self.board.has_gaps() { Losses::default() } else { self.alert(&news) };
        self.adjust_window(&news, &losses);
        self.set_timer(&news, &losses);
        self.allow_burst();
        if self.config.stack.tso_defer || self.config.stack.small_queues {
            self.pacing_rate = Some(self.present_rate());
        }
        if self.config.stack.pacing {
            self.pacer.rate = self.bytes_per_s();
        }
        if let Some(rtt) = rtt {
            self.stats.rtt_samples += 1;
            self.stats.rtt_ns += rtt.nanos();
            self.stats.cwnd_bytes += self.window.cwnd;
        }
        rtt
    }

    /// Takes a round-trip sample, if there is one. Returns the round trip of the segment that was sent last.
    fn sample(&mut self, now: Time, change: &Change) -> Option<Duration> {
        let latest = change.latest.map(|sent| now.since(sent));
        let sample = match self.config.rto.estimator {
            RtoEstimator::Rfc6298 => latest,
            // Linux takes the segment that waited longest, of those acknowledged in order if there are any. If one of these
            // was sent again, the others waited for it and say nothing (`tcp_clean_rtx_queue`: FLAG_RETRANS_DATA_ACKED).
            RtoEstimator::Linux => {
                let in_order = change.earliest.filter(|_| !change.resent);
                in_order.or(change.earliest_sacked).map(|sent| now.since(sent))
            }
        };
        if let (Some(sample), Some(latest)) = (sample, latest) {
            self.rtt.sample_of(sample, self.snd_una, self.snd_nxt);
            self.rtt.note_minimum(latest);
        }
        latest
    }

    /// The window grows, or comes down to the threshold.
    fn adjust_window(&mut self, news: &News<'_>, losses: &Losses) {
        let grows = self.state == CaState::Cwr && self.config.stack.growth == Growth::Acks && !news.congested;
        if self.is_reducing() && !grows {
            if self.config.stack.recovery.is_gradual() {
                let (advanced, repairing) = (news.acked > 0, self.state == CaState::Recovery);
                let safe = advanced && losses.lost == 0;
                self.come_down(Progress { delivered: news.change.delivered, advanced, safe, repairing });
            }
        } else if news.acked > 0 {
            self.usage.stamp = news.now;
            if !self.may_grow(news) {
                return;
            }
            // What was acknowledged selectively before has counted then. After a timeout, RFC 3465 section 2.3 counts at
            // most a segment, Linux all.
            let bytes = self.config.stack.window_unit == WindowUnit::Bytes;
            let limit = if bytes && news.after_timeout { self.window.mss } else { u64::MAX };
            let acked = news.change.delivered.min(limit);
            self.control.grow(&mut self.window, acked);
        }
    }

    /// A step of a gradual reduction.
    #[inline(never)]
    fn come_down(&mut self, progress: Progress) {
        let Window { ssthresh, mss, .. } = self.window;
        if let Some(cwnd) = self.prr.on_ack(progress, ssthresh, self.board.pipe(), mss) {
            self.window.cwnd = cwnd;
        }
    }

    /// Handles an acknowledgement that is not routine, in the order of Linux's `tcp_fastretrans_alert`: an earlier
    /// reduction is taken back or ends, losses are found, and only then may the next reduction begin.
    #[inline(never)]
    fn alert(&mut self, news: &News<'_>) -> Losses {
        self.note_duplicate(news);
        self.answer_probe(news);
        self.leave_reduction();
        if self.state == CaState::Loss {
            self.process_loss(news);
        } else if self.all_came_twice() {
            // Perhaps after the recovery is over. A reduction by marks has forgotten what was before.
            self.undo_reduction();
            self.state = CaState::Open;
        }
        let losses = self.find_losses(news.now);
        if losses.lost > 0 && self.is_newreno() && self.state == CaState::Recovery {
            self.fast_retransmit = true;
        }
        let repair = match self.state {
            CaState::Recovery => false,
            // Linux: a retransmission that is lost as well begins a recovery.
            CaState::Loss => losses.again && self.config.stack.loss_detection == LossDetection::Rack,
            CaState::Cwr if self.config.stack.marks_first => false,
            CaState::Open | CaState::Disorder | CaState::Cwr => self.board.is_repairing(),
        };
        if news.congested && self.config.stack.marks_first && self.is_repairing() && news.acked > 0 {
            self.enter_cwr();
        } else if repair {
            self.enter_recovery(news.congested, news.acked);
        } else if news.congested && self.state == CaState::Open && self.is_news() {
            match self.control.reduce_at_once(&mut self.window) {
                None => self.enter_cwr(),
                Some(reduced) => self.stats.ecn_reductions += u64::from(reduced),
            }
        } else {
            self.note_partial_ack(news);
        }
        losses
    }

    fn find_losses(&mut self, now: Time) -> Losses {
        if self.state == CaState::Open && self.is_of_last_reduction() {
            return Losses::default();
        }
        let (srtt, min_rtt) = self.round_trips();
        self.board.find_losses(now, self.is_repairing(), srtt, min_rtt)
    }

    fn round_trips(&self) -> (Duration, Duration) {
        (self.rtt.srtt().unwrap_or_default(), self.rtt.minimum().unwrap_or_default())
    }

    fn is_repairing(&self) -> bool {
        matches!(self.state, CaState::Recovery | CaState::Loss)
    }

    fn is_reducing(&self) -> bool {
        matches!(self.state, CaState::Recovery | CaState::Cwr)
    }

    /// Whether a mark is on data that were sent after the last reduction. Until the receiver has seen CWR, its
    /// acknowledgements repeat an echo that is answered already (RFC 3168 section 6.1.2). The last of these acknowledges
    /// exactly the data before the segment with CWR.
    fn is_news(&self) -> bool {
        self.config.stack.repeated_echo || self.answered.is_none_or(|answered| self.snd_una > answered)
    }

    /// Whether no later data were acknowledged than those before the last reduction. ns-2 does not repair losses then
    /// (`dupack_action`: `highest_ack_ > recover_`), nor does NewReno (RFC 6582 section 3.2 step 2).
    fn is_of_last_reduction(&self) -> bool {
        let waits = self.config.stack.loss_detection == LossDetection::Holes || self.is_newreno();
        waits && self.high_seq > 0 && self.snd_una <= self.high_seq
    }

    fn is_newreno(&self) -> bool {
        self.config.stack.loss_detection == LossDetection::Newreno
    }

    /// Ends a reduction if its data are acknowledged.
    fn leave_reduction(&mut self) {
        match self.state {
            // One byte more, so that CWR has reached the receiver.
            CaState::Cwr if self.snd_una > self.high_seq => {}
            CaState::Recovery if self.snd_una >= self.high_seq => {
                if self.was_needless() {
                    self.undo_reduction();
                }
            }
            _ => return,
        }
        let at_threshold = match self.config.stack.recovery {
            Recovery::Rfc6675 => false,
            Recovery::Prr => self.state == CaState::Cwr || self.undo.is_some(),
            Recovery::PrrNs3 => true,
        };
        if at_threshold {
            self.window.cwnd = self.window.ssthresh;
        }
        self.fast_retransmit = false;
        self.state = CaState::Open;
    }

    /// The window comes down to a new threshold.
    fn reduce_to(&mut self, ssthresh: u64) {
        self.window.ssthresh = ssthresh.max(self.window.smallest);
        self.window.restart_growth();
        let recovery = self.config.stack.recovery;
        let prior = if recovery == Recovery::PrrNs3 { self.snd_nxt - self.snd_una } else { self.window.cwnd };
        self.prr = Prr::new(recovery, prior);
        self.probe = None;
        if self.config.stack.recovery == Recovery::Rfc6675 {
            // The threshold has a lower bound, which a window of one segment is below: a reduction does not raise it.
            self.window.cwnd = self.window.cwnd.min(self.window.ssthresh);
        }
        self.answer_marks();
    }

    /// RFC 3168 section 6.1.2: the first new segment after a reduction for any reason carries CWR.
    fn answer_marks(&mut self) {
        self.cwr = self.control.ecn();
        self.answered = Some(self.snd_nxt);
    }

    fn enter_cwr(&mut self) {
        let ssthresh = self.control.ssthresh_after_marks(&self.window);
        self.reduce_to(ssthresh);
        if self.config.stack.min_window == 0 {
            self.window.cwnd = ssthresh;
        }
        self.undo = None;
        self.high_seq = self.snd_nxt;
        self.state = CaState::Cwr;
        self.stats.ecn_reductions += 1;
    }

    /// Enters fast recovery. The congestion control decides whether a window that marks have reduced is reduced again.
    /// `acked` bytes were in flight until now.
    fn enter_recovery(&mut self, marked: bool, acked: u64) {
        let Window { cwnd, .. } = self.window;
        // RFC 3168 section 6.1.2: if the segment with CWR is lost, the window is reduced again. Linux does not.
        let within =
            self.snd_una < self.high_seq || self.config.stack.recovery.is_gradual() || self.is_of_last_reduction();
        let reduced = self.state == CaState::Cwr && within;
        let kept = (!reduced && !marked).then(|| self.ssthresh_kept());
        self.undo = self.config.stack.undo.then(|| self.new_undo(cwnd, kept));
        let flight = self.snd_nxt - self.snd_una + acked;
        if !reduced {
            let base = self.loss_base(flight.min(cwnd));
            let ssthresh = self.control.ssthresh_after_loss(&self.window, base);
            self.reduce_to(ssthresh);
            self.high_seq = self.snd_nxt;
        } else {
            if self.control.loss_after_marks() {
                let base = self.loss_base(flight);
                let ssthresh = self.control.ssthresh_after_loss(&self.window, base).max(self.window.smallest);
                self.window.ssthresh = ssthresh.min(cwnd);
                if self.config.stack.recovery == Recovery::Rfc6675 {
                    self.window.cwnd = self.window.cwnd.min(ssthresh);
                    self.answer_marks();
                }
            }
            if self.config.stack.recovery == Recovery::Rfc6675 {
                self.high_seq = self.snd_nxt;
            }
        }
        self.stats.fast_recoveries += 1;
        // A gradual reduction lets a segment go when it begins. If marks have begun it, Linux retransmits in its turn.
        self.fast_retransmit = self.board.has_lost() && self.config.stack.recovery != Recovery::Prr;
        self.ack_pipe = self.board.not_sacked();
        self.partial_ack = false;
        self.state = CaState::Recovery;
    }

    /// What a loss halves. `flight` is at most the window if no reduction is under way: a long recovery sends more than a
    /// window, and data received after the gap still count as in flight.
    fn loss_base(&self, flight: u64) -> u64 {
        match self.config.stack.loss_base {
            LossBase::Cwnd => self.window.cwnd,
            LossBase::Flight => flight,
        }
    }

    // Losses after a timeout

    /// The deadline has passed. The caller asks for segments next. If it was a departure time, nothing else happens.
    pub fn on_timeout(&mut self, now: Time) {
        if std::mem::take(&mut self.pacer.holds) && self.timer.is_none_or(|(_, time)| time > now) {
            return;
        }
        self.allow_burst();
        match self.timer.take() {
            Some((Timer::Probe, _)) if self.probe.is_none() => {
                self.probe = Some(Probe { high_seq: self.snd_nxt, retransmission: false, sent: false });
                self.timer = Some((Timer::Rto, now + self.rtt.rto()));
            }
            Some((Timer::Probe, _)) => self.restart_rto_of_head(now),
            Some((Timer::Reordering, _)) => self.end_reordering(now),
            Some((Timer::Rto, _)) if self.board.is_empty() => self.begin_again(),
            Some((Timer::Rto, _)) | None => self.enter_loss(now),
        }
    }

    /// A window below a segment has waited for its timeout. Nothing is in flight, so that the connection counts as idle.
    fn begin_again(&mut self) {
        let idle = self.config.stack.idle_restart != IdleRestart::Never;
        let segments = if idle { self.config.initial_window } else { 1 };
        self.window.cwnd = self.window.mss * u64::from(segments);
        self.rtt.back_off();
        self.stats.timeouts += 1;
    }

    /// Everything in flight counts as lost (RFC 6298 section 5, RFC 5681 section 3.1). If the same data time out again,
    /// or are being repaired, the threshold stays.
    fn enter_loss(&mut self, now: Time) {
        let again = match self.state {
            _ if self.config.stack.timeouts_halve_again => false,
            CaState::Open | CaState::Disorder => false,
            CaState::Loss if self.timeouts == 0 => false,
            _ => self.snd_una < self.high_seq,
        };
        let repairing = self.is_repairing();
        if !again {
            let Window { cwnd, .. } = self.window;
            let flight = (self.snd_nxt - self.snd_una).min(cwnd);
            let (kept, base) = (self.ssthresh_kept(), self.loss_base(flight));
            self.undo = self.config.stack.undo.then(|| self.new_undo(cwnd, Some(kept)));
            let ssthresh = self.control.ssthresh_after_loss(&self.window, base);
            self.window.ssthresh = ssthresh.max(self.window.smallest);
        }
        self.control.on_timeout();
        self.board.lose_all(now);
        self.window.cwnd = self.board.pipe() + self.window.mss;
        self.window.restart_growth();
        self.frto = if self.config.stack.undo && (!repairing || self.timeouts > 0) { Frto::Started } else { Frto::Off };
        self.state = CaState::Loss;
        self.high_seq = self.snd_nxt;
        self.probe = None;
        self.fast_retransmit = false;
        self.answer_marks();
        self.timeouts += 1;
        self.rtt.back_off();
        self.stats.timeouts += 1;
        self.timer = Some((Timer::Rto, now + self.rtt.rto()));
    }

    /// An acknowledgement after a timeout: F-RTO (RFC 5682 section 3.1) finds out whether data were only late.
    fn process_loss(&mut self, news: &News<'_>) {
        let recovered = self.snd_una >= self.high_seq;
        if news.acked > 0 && self.was_needless() {
            return self.undo_timeout();
        }
        if self.frto != Frto::Off {
            if news.change.original {
                return self.undo_timeout();
            }
            if self.snd_nxt > self.high_seq {
                if news.change.sacked || news.acked == 0 {
                    self.frto = Frto::Off; // step 3a
                }
            } else if news.acked > 0 && !recovered {
                self.high_seq = self.snd_nxt;
                self.frto = if self.new_len().is_some() { Frto::New } else { Frto::Off }; // step 2b
            }
        }
        if recovered {
            self.state = CaState::Open;
            self.frto = Frto::Off;
        }
    }

    fn undo_timeout(&mut self) {
        self.board.forget_losses();
        self.undo_reduction();
        self.frto = Frto::Off;
        self.timeouts = 0;
        self.state = CaState::Open;
    }

    /// The time has passed that a segment may be late (RFC 8985 section 6.2 step 5).
    fn end_reordering(&mut self, now: Time) {
        let (srtt, min_rtt) = self.round_trips();
        let losses = self.board.find_late(now, self.is_repairing(), srtt, min_rtt);
        if losses.lost > 0 && self.state != CaState::Recovery {
            self.enter_recovery(false, 0);
            if self.config.stack.recovery.is_gradual() {
                self.come_down(Progress { delivered: self.window.mss, advanced: false, safe: false, repairing: true });
            }
        }
        self.restart_rto_of_head(now);
    }

    // Undo

    /// Retransmissions that are under way may be reported as duplicates too (Linux's `tcp_init_undo`).
    fn new_undo(&self, cwnd: u64, ssthresh: Option<u64>) -> Undo {
        let under_way = self.board.retransmissions();
        Undo { since: self.snd_una, cwnd, ssthresh, retransmitted: (under_way > 0).then_some(under_way) }
    }

    /// Whether nothing was retransmitted, or the receiver had all of it already.
    fn was_needless(&self) -> bool {
        self.undo.is_some_and(|undo| undo.retransmitted.is_none_or(|count| count == 0))
    }

    /// Whether the receiver reported all retransmissions as duplicates.
    fn all_came_twice(&self) -> bool {
        self.undo.is_some_and(|undo| undo.retransmitted == Some(0))
    }

    fn undo_reduction(&mut self) {
        let Some(undo) = self.undo.take() else { return };
        if let Some(ssthresh) = undo.ssthresh {
            self.window.cwnd = self.window.cwnd.max(undo.cwnd);
            if ssthresh > self.window.ssthresh {
                self.window.ssthresh = ssthresh;
                self.cwr = false;
            }
        }
    }

    /// Counts a segment that arrived twice (RFC 2883) against the retransmissions of the present reduction.
    fn note_duplicate(&mut self, news: &News<'_>) {
        if let (Some(undo), Some(end)) = (&mut self.undo, news.change.duplicate)
            && undo.since < end
            && let Some(count) = &mut undo.retransmitted
        {
            *count = count.saturating_sub(1);
        }
    }

    // Probes

    /// Schedules a probe of the tail after two round trips, unless the timeout is due before (RFC 8985 section 7.2, with
    /// Linux's bounds). `advanced` says that data were just acknowledged. Returns whether it did.
    #[inline]
    fn schedule_probe(&mut self, now: Time, advanced: bool) -> bool {
        self.config.stack.tail_loss_probe && self.probe_tail(now, advanced)
    }

    #[inline(never)]
    fn probe_tail(&mut self, now: Time, advanced: bool) -> bool {
        if !matches!(self.state(), CaState::Open | CaState::Cwr) || self.board.is_empty() {
            return false;
        }
        let rto = self.rtt.rto();
        let wait = match self.rtt.srtt() {
            Some(srtt) => {
                let delayed = if self.board.len() == 1 { self.rtt.floor_rto() } else { self.timeout_min() };
                Duration::from_nanos(2 * srtt.nanos() + delayed.nanos())
            }
            None => self.config.rto.initial,
        };
        let due = if advanced { now + rto } else { self.head_deadline(now) };
        self.timer = Some((Timer::Probe, due.min(now + wait)));
        true
    }

    /// The probe that is due: a new segment, whatever the window, or else the last one again.
    #[inline(never)]
    fn next_probe(&mut self, now: Time) -> Option<Outgoing> {
        let outgoing = match self.new_len() {
            Some(len) => self.send_new(now, len),
            None => {
                let Some((offset, len)) = self.board.probe(now) else {
                    self.probe = None;
                    return None;
                };
                self.note_retransmission();
                self.again(offset, len)
            }
        };
        let retransmission = outgoing.retransmission;
        self.probe = Some(Probe { high_seq: self.snd_nxt, retransmission, sent: true });
        self.last_sent = now;
        if self.config.stack.pacing {
            self.pacer.begins = true;
            self.pace(now, outgoing.len);
        }
        self.timer = Some((Timer::Rto, now + self.rtt.rto()));
        Some(outgoing)
    }

    /// Linux's `tcp_process_tlp_ack`: a probe that repaired a loss is answered by a reduction.
    fn answer_probe(&mut self, news: &News<'_>) {
        let Some(probe) = self.probe.filter(|probe| probe.sent && self.snd_una >= probe.high_seq) else { return };
        let duplicate = news.change.duplicate.is_some_and(|end| end == probe.high_seq);
        if !probe.retransmission || duplicate {
            self.probe = None;
        } else if self.snd_una > probe.high_seq {
            let ssthresh = self.control.ssthresh_after_marks(&self.window);
            self.reduce_to(ssthresh);
            self.window.cwnd = self.window.ssthresh;
            self.high_seq = self.snd_nxt;
            self.state = CaState::Open;
        } else if news.acked == 0 && !news.change.sacked {
            self.probe = None;
        }
    }

    // Timers

    fn set_timer(&mut self, news: &News<'_>, losses: &Losses) {
        let now = news.now;
        if self.board.is_empty() {
            self.timer = self.is_below_a_segment().then(|| (Timer::Rto, now + self.rtt.rto()));
            return;
        }
        if let Some(wait) = losses.look_again {
            self.timer = Some((Timer::Reordering, now + wait + self.timeout_min()));
            return;
        }
        let old = self.config.stack.loss_detection == LossDetection::Rack
            && news.change.earliest_sacked.is_some()
            && news.change.earliest_sacked < self.board.head_sent();
        // RFC 6582 section 3.2 step 3: of partial acknowledgements, only the first restarts the timer.
        let partial = news.acked > 0 && self.is_newreno() && self.state == CaState::Recovery;
        if partial && std::mem::replace(&mut self.partial_ack, true) {
            return;
        }
        if (news.acked > 0 || old) && !self.schedule_probe(now, true) {
            match self.timer {
                Some((Timer::Rto, _)) | None => self.timer = Some((Timer::Rto, now + self.rtt.rto())),
                Some(_) => self.restart_rto_of_head(now),
            }
        }
    }

    /// The timeout counts from the time when the first segment was last sent.
    fn restart_rto_of_head(&mut self, now: Time) {
        self.timer = (!self.board.is_empty()).then(|| (Timer::Rto, self.head_deadline(now)));
    }

    fn head_deadline(&self, now: Time) -> Time {
        let sent = self.board.head_sent().unwrap_or(now);
        (sent + self.rtt.rto()).max(now + Duration::from_nanos(1))
    }

    /// Lower bound of Linux's timers for probes and reordering: two ticks of 1 ms (`TCP_TIMEOUT_MIN_US`).
    fn timeout_min(&self) -> Duration {
        Duration::from_nanos(2 * self.kernel_ms.nanos())
    }

    fn waits_for(&self, timer: Timer) -> bool {
        self.timer.is_some_and(|(waits_for, _)| waits_for == timer)
    }

    // The connection

    /// Most unacknowledged bytes: the receiver's window.
    pub fn receive_window(&self) -> u64 {
        self.config.receive_window
    }

    /// Sets the receiver's window, unless the new value is 0.
    pub fn limit_to(&mut self, receive_window: u64) {
        if receive_window > 0 {
            self.config.receive_window = receive_window;
            if self.config.stack.growth == Growth::Acks {
                self.window.cwnd = self.window.cwnd.min(receive_window);
            }
        }
    }

    /// The receiver's window as an acknowledgement has it: Linux's `tcp_may_update_window`.
    pub fn hear_window(&mut self, ack: u64, receive_window: u64) {
        if ack > self.snd_una || (ack == self.snd_una && receive_window > self.config.receive_window) {
            self.config.receive_window = receive_window;
        }
    }

    /// Packets of the handshake were lost: the first window is one segment (RFC 5681 section 3.1).
    pub fn on_lost_handshake(&mut self) {
        self.window.cwnd = self.window.mss;
    }

    /// A packet of the handshake, or a request, was not answered in time and is retransmitted.
    pub fn on_repeated(&mut self) {
        self.stats.timeouts += 1;
        self.stats.retransmissions += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::super::congestion::{Dctcp, DctcpConfig, EcnStar, Reno};
    use super::*;

    const MSS: u32 = 1000;

    fn sender(control: impl CongestionControl + 'static) -> Sender {
        let us = Duration::from_micros;
        let config = SenderConfig {
            mss: MSS,
            initial_window: 10,
            rto: RtoConfig { min: us(1000), max: us(1_000_000), initial: us(3000), estimator: RtoEstimator::Rfc6298 },
            receive_window: 1 << 20,
            cwnd_validation: true,
            smooth: false,
            stack: Stack::default(),
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
        let (never, at_once, halving) = (IdleRestart::Never, IdleRestart::Rfc5681, IdleRestart::Rfc2861);
        for (restart, idle_us, cwnd) in [
            (at_once, 1000, 32_000),
            (at_once, 1001, 10_000),
            (halving, 1000, 32_000),
            (halving, 1001, 16_000),
            (halving, 2000, 16_000),
            (halving, 2001, 10_000),
            (never, 9999, 32_000),
        ] {
            let mut sender = sender(Reno);
            sender.config.stack.idle_restart = restart;
            sender.window.cwnd = 32_000;
            sender.window.ssthresh = 5_000;
            sender.write(1_000);
            send_all(&mut sender, at(0));
            ack(&mut sender, at(100), 1, &[], false); // a timeout is 1 ms from now on
            sender.write(50_000);
            assert_eq!(send_all(&mut sender, at(idle_us)).len() as u64, cwnd / 1000, "{idle_us} us");
            let ssthresh = if cwnd < 32_000 { 24_000 } else { 5_000 };
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
    fn a_nic_takes_what_the_rate_sends_in_a_millisecond_of_linux() {
        let acknowledged = |small_queues, clock_dilation| {
            let config = sender(Reno).config;
            let stack = Stack { small_queues, clock_dilation, ..config.stack };
            let mut sender = Sender::new(SenderConfig { stack, ..config }, Box::new(Reno));
            sender.write(1_000_000);
            send_all(&mut sender, at(0));
            ack(&mut sender, at(100), 1, &[], false);
            sender
        };
        // In slow start, twice the window of 11 segments in each round trip, and 100 us are one; 1.52 bytes of memory a byte.
        assert!(acknowledged(true, 10).may_queue(14_474));
        assert!(!acknowledged(true, 10).may_queue(14_475));
        assert!(acknowledged(true, 1_000_000).may_queue(2_000)); // two segments at least
        assert!(!acknowledged(true, 1_000_000).may_queue(2_001));
        assert!(acknowledged(false, 1_000_000).may_queue(1 << 30));
    }

    /// A sender that paces, with a round trip of 1 ms and a window of `cwnd` segments.
    fn paced(cwnd: u64, ssthresh: u64, stack: Stack) -> Sender {
        let config = sender(Reno).config;
        let mut sender = Sender::new(SenderConfig { stack: Stack { pacing: true, ..stack }, ..config }, Box::new(Reno));
        sender.rtt_mut().sample(Duration::from_micros(1000));
        (sender.window.cwnd, sender.window.ssthresh) = (cwnd * 1000, ssthresh * 1000);
        sender.write(1_000_000);
        sender
    }

    fn ns(ns: u64) -> Time {
        Time::from_nanos(ns)
    }

    #[test]
    fn the_pacing_rate_is_twice_the_window_a_round_trip_below_half_of_ssthresh_and_a_fifth_more_above() {
        for (ssthresh, percent) in [(39, 120), (40, 120), (41, 120), (42, 200), (43, 200)] {
            // tcp_update_pacing_rate: mss * cwnd / srtt in percent. 20 segments in 1 ms are 20 MB/s.
            assert_eq!(paced(20, ssthresh, Stack::default()).bytes_per_s(), 20_000_000 * percent / 100);
        }
        // `clock_dilation` does not change the rate: the network's clock counts.
        let dilated = Stack { clock_dilation: 1000, ..Stack::default() };
        assert_eq!(paced(20, 42, dilated).bytes_per_s(), 40_000_000);
        let mut first = paced(20, 40, Stack::default());
        first.rtt = RttEstimator::new(first.config.rto);
        assert_eq!(first.bytes_per_s(), 0);
    }

    #[test]
    fn nothing_is_paced_before_ten_segments_and_then_each_leaves_at_its_time() {
        let mut sender = paced(20, 40, Stack::default());
        // The tenth is the first to move the departure time: by 1,000 bytes at 24 MB/s.
        assert_eq!(send_all(&mut sender, ns(0)).len(), 10);
        assert_eq!(sender.deadline(), Some(ns(41_666)));
        for (time, sent) in [(41_665, 0), (41_666, 1), (41_667, 0), (83_331, 0), (83_332, 1)] {
            sender.on_timeout(ns(time));
            assert_eq!(send_all(&mut sender, ns(time)).len(), sent, "{time}");
        }
        assert_eq!((sender.stats.timeouts, sender.state()), (0, CaState::Open));
    }

    #[test]
    fn a_sender_gets_back_at_most_half_of_a_segment_that_left_late() {
        // len_ns -= min(len_ns / 2, credit), of 41,666 ns.
        for (late, moves) in [(0, 41_666), (1, 41_665), (20_832, 20_834), (20_833, 20_833), (20_834, 20_833)] {
            let mut sender = paced(20, 40, Stack::default());
            send_all(&mut sender, ns(0));
            let now = 41_666 + late;
            assert_eq!(send_all(&mut sender, ns(now)).len(), 1);
            assert_eq!(sender.deadline(), Some(ns(now + moves)), "{late} ns late");
        }
    }

    #[test]
    fn no_departure_time_is_awaited_without_data_or_room_and_a_timeout_is_still_one() {
        let mut sender = paced(10, 40, Stack::default());
        send_all(&mut sender, ns(0));
        assert_eq!(sender.deadline(), sender.timer.map(|(_, time)| time)); // the window is full
        let mut sender = paced(20, 40, Stack::default());
        send_all(&mut sender, ns(0));
        sender.on_timeout(at(3000));
        assert_eq!(sender.stats.timeouts, 1); // it was due as well
        let mut sender = paced(20, 40, Stack::default());
        sender.written = 10_000;
        send_all(&mut sender, ns(0));
        assert_eq!(sender.deadline(), sender.timer.map(|(_, time)| time)); // nothing is left to send
    }

    #[test]
    fn retransmissions_are_paced() {
        let mut sender = paced(20, 40, Stack::default());
        send_all(&mut sender, ns(0));
        ack(&mut sender, at(30), 0, &[(2, 9)], false);
        assert_eq!(send_all(&mut sender, ns(41_665)), [0u64; 0]);
        assert_eq!(send_all(&mut sender, ns(41_666)), [0]);
        assert!(sender.deadline() > Some(ns(41_666)) && sender.deadline() < Some(at(1000)));
    }

    #[test]
    fn a_large_segment_leaves_at_once_and_the_next_waits_for_all_of_it() {
        let mut sender = paced(40, 60, Stack { tso_defer: true, clock_dilation: 4, ..Stack::default() });
        // 48 MB/s; `tcp_tso_autosize` is at its most on a path this short: all that the window has room for.
        let sent = send_all(&mut sender, ns(0)).len() as u64;
        assert!(sent > 10, "{sent}");
        let rate = 48_000_000;
        assert_eq!(sender.pacer.rate, rate);
        // The whole segment counts, also what left before the tenth. Each division rounds down.
        let whole = sent * 1_000_000_000_000 / rate;
        assert!((whole - sent..=whole).contains(&sender.pacer.departure.nanos()));
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
        // Six of ten in flight (three sacked, one lost): above the window, but the lost segment leaves.
        assert_eq!(send_all(&mut sender, at(100)), [0]);
        ack(&mut sender, at(110), 0, &[(1, 6)], false);
        assert_eq!(send_all(&mut sender, at(110)), [0u64; 0]); // pipe 5
        ack(&mut sender, at(120), 0, &[(1, 7)], false);
        assert_eq!(send_all(&mut sender, at(120)), [10]);
        ack(&mut sender, at(200), 10, &[], false);
        assert_eq!((sender.stats.fast_recoveries, sender.stats.retransmissions), (1, 1));
        assert_eq!(sender.state, CaState::Open);
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
        assert_eq!((sender.deadline(), sender.state), (None, CaState::Open));
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

    /// What a window of two segments sends after marks on both, after one on the segment that follows, and at the timeout
    /// if it waits for one.
    fn sent_after_marks(min_window: u32) -> (Vec<u64>, Vec<u64>, Vec<u64>) {
        let mut sender = sender(EcnStar);
        let stack = &mut sender.config.stack;
        (stack.min_window, stack.pipe, stack.growth) = (min_window, Pipe::Acks, Growth::Acks);
        stack.idle_restart = IdleRestart::Rfc5681;
        sender.config.initial_window = 2;
        sender.window = sender.config.window();
        sender.write(1_000_000);
        assert_eq!(send_all(&mut sender, at(0)), [0, 1]);
        ack(&mut sender, at(100), 1, &[], true);
        ack(&mut sender, at(100), 2, &[], true);
        let first = send_all(&mut sender, at(100));
        ack(&mut sender, at(200), 3, &[], true);
        let second = send_all(&mut sender, at(200));
        let due = sender.deadline().expect("something is in flight, or the window waits");
        if second.is_empty() {
            assert_eq!((due, sender.window().cwnd), (at(200) + sender.rtt().rto(), 500));
            sender.on_timeout(due);
            assert_eq!((sender.stats.timeouts, sender.stats.retransmissions), (1, 0));
        }
        (first, second, send_all(&mut sender, due))
    }

    #[test]
    fn marks_bring_a_window_down_to_a_segment_or_below_it_where_it_waits_for_a_timeout() {
        assert_eq!(sent_after_marks(2), (vec![2, 3], vec![4], vec![]));
        assert_eq!(sent_after_marks(1), (vec![2], vec![3], vec![]));
        assert_eq!(sent_after_marks(0), (vec![2], vec![], vec![3, 4]));
    }

    #[test]
    fn a_window_below_a_segment_lets_go_of_nothing_that_is_written_while_it_waits() {
        let mut sender = sender(EcnStar);
        (sender.config.stack.min_window, sender.config.initial_window) = (0, 1);
        sender.window = sender.config.window();
        sender.write(1000);
        send_all(&mut sender, at(0));
        ack(&mut sender, at(100), 1, &[], true);
        sender.write(1000);
        assert!(send_all(&mut sender, at(150)).is_empty());
        let due = sender.deadline().expect("it waits");
        sender.on_timeout(due);
        assert_eq!((sender.window().cwnd, send_all(&mut sender, due)), (1000, vec![1]));
    }

    #[test]
    fn a_loss_in_a_window_already_reduced_reduces_again_only_where_it_is_told_to() {
        assert_eq!(window_after_mark_and_loss(false), (5_000, 5_000));
        assert_eq!(window_after_mark_and_loss(true), (5_000, 4_500)); // half of the nine in flight
    }

    /// The window after a mark, and after a loss of the same flight.
    fn window_after_mark_and_loss(loss_after_marks: bool) -> (u64, u64) {
        let mut sender = sender(Dctcp::new(DctcpConfig { loss_after_marks, ..DctcpConfig::default() }));
        sender.write(1_000_000);
        send_all(&mut sender, at(0));
        ack(&mut sender, at(100), 1, &[], true);
        let reduced = sender.window().cwnd;
        ack(&mut sender, at(110), 1, &[(2, 5)], true);
        assert_eq!(sender.stats.fast_recoveries, 1);
        (reduced, sender.window().cwnd)
    }

    /// A sender of ns-2, with ten segments in flight.
    fn ns2_sender() -> Sender {
        let mut sender = sender(Reno);
        let stack = &mut sender.config.stack;
        (stack.growth, stack.pipe, stack.loss_base) = (Growth::Acks, Pipe::Acks, LossBase::Cwnd);
        (stack.loss_detection, stack.timeouts_halve_again) = (LossDetection::Holes, true);
        sender.board = Scoreboard::new(LossDetection::Holes, WindowUnit::Bytes, MSS);
        sender.write(1_000_000);
        assert_eq!(send_all(&mut sender, at(0)).len(), 10);
        sender
    }

    #[test]
    fn where_acknowledgements_are_counted_nothing_leaves_before_a_recovery_and_then_one_for_each() {
        let mut sender = ns2_sender();
        let sent: Vec<_> = (2..=7)
            .map(|sacked| {
                ack(&mut sender, at(100), 0, &[(1, sacked)], false);
                send_all(&mut sender, at(100))
            })
            .collect();
        // The window is 5 at the third: 7 are in the network, and one less with each.
        assert_eq!(sent, [vec![], vec![], vec![0], vec![], vec![], vec![10]]);
    }

    #[test]
    fn a_hole_is_lost_in_a_recovery_once_a_segment_above_has_arrived() {
        let mut sender = ns2_sender();
        ack(&mut sender, at(100), 0, &[(1, 4)], false);
        assert_eq!(send_all(&mut sender, at(100)), [0]);
        for sacked in [(6, 7), (6, 8), (6, 9)] {
            ack(&mut sender, at(110), 0, &[(1, 4), sacked], false);
        }
        assert_eq!(send_all(&mut sender, at(110)), [4]); // 5 is lost too, and waits
    }

    #[test]
    fn a_loss_right_behind_a_recovery_waits_for_a_timeout_where_holes_are_repaired() {
        let mut sender = ns2_sender();
        ack(&mut sender, at(100), 0, &[(1, 10)], false);
        assert_eq!(send_all(&mut sender, at(100)), [0, 10, 11, 12, 13]);
        ack(&mut sender, at(200), 10, &[], false);
        send_all(&mut sender, at(200));
        ack(&mut sender, at(300), 10, &[(11, 14)], false);
        assert_eq!((sender.stats.fast_recoveries, sender.board.has_lost()), (1, false));
        sender.on_timeout(at(5000));
        assert_eq!(send_all(&mut sender, at(5000)), [10]);
    }

    #[test]
    fn timeouts_of_the_same_data_halve_again_where_they_do() {
        let mut sender = ns2_sender();
        sender.on_timeout(at(4000));
        assert_eq!((sender.window().cwnd, sender.window().ssthresh), (1_000, 5_000));
        send_all(&mut sender, at(4000));
        sender.on_timeout(at(20_000));
        assert_eq!((sender.window().cwnd, sender.window().ssthresh), (1_000, 2_000)); // the smallest
    }

    /// A sender of ns-3 with this many segments to send, ten of which are in flight, and 1 to 4 of which have arrived. So
    /// it repairs 0.
    fn ns3_sender(segments: u64) -> Sender {
        let config = sender(Reno).config;
        let (recovery, loss_detection) = (Recovery::PrrNs3, LossDetection::DupthreshOnce);
        let stack = Stack { recovery, loss_detection, ..config.stack };
        let mut sender = Sender::new(SenderConfig { stack, ..config }, Box::new(Reno));
        sender.write(segments * u64::from(MSS));
        assert_eq!(send_all(&mut sender, at(0)).len(), 10);
        ack(&mut sender, at(100), 0, &[(1, 5)], false);
        assert_eq!(send_all(&mut sender, at(100)), [0]);
        sender
    }

    #[test]
    fn a_partial_acknowledgement_of_ns3_sends_new_data_whatever_the_window() {
        let mut sender = ns3_sender(20);
        sender.window.ssthresh = 1_000; // so that PRR lets nothing leave
        ack(&mut sender, at(200), 5, &[], false);
        assert!(!sender.fits(10_000, 1_000));
        assert_eq!(send_all(&mut sender, at(200)), [10]);
    }

    #[test]
    fn a_partial_acknowledgement_of_ns3_without_new_data_sends_the_first_segment_again_once() {
        let mut sender = ns3_sender(10);
        sender.window.ssthresh = 1_000;
        ack(&mut sender, at(200), 5, &[], false);
        assert_eq!(send_all(&mut sender, at(200)), [5]);
        assert_eq!((sender.board.pipe(), sender.stats.retransmissions), (6_000, 2)); // both copies of it
        ack(&mut sender, at(210), 5, &[(6, 7)], false); // no progress
        assert_eq!(send_all(&mut sender, at(210)), [0u64; 0]);
    }

    #[test]
    fn a_recovery_of_ns3_without_new_data_sends_again_what_nothing_is_known_of() {
        let mut sender = ns3_sender(10);
        sender.window.cwnd = 9_000; // 6 are in the network
        assert_eq!(send_all(&mut sender, at(110)), [5, 6, 7]);
        assert_eq!(sender.board.pipe(), 9_000);
        ack(&mut sender, at(200), 10, &[], false);
        assert_eq!((sender.board.pipe(), sender.state()), (0, CaState::Open));
    }

    /// A sender of NewReno with ten segments in flight, of which the first and the fourth are lost.
    fn newreno_sender() -> Sender {
        let mut sender = sender(Reno);
        sender.config.stack.loss_detection = LossDetection::Newreno;
        sender.board = Scoreboard::new(LossDetection::Newreno, WindowUnit::Bytes, MSS);
        sender.write(1_000_000);
        assert_eq!(send_all(&mut sender, at(0)).len(), 10);
        sender
    }

    /// An acknowledgement of nothing new: a segment has arrived out of order.
    fn duplicate(sender: &mut Sender, now: Time) -> Vec<u64> {
        let una = sender.snd_una() / u64::from(MSS);
        ack(sender, now, una, &[(una + 1, una + 2)], false);
        send_all(sender, now)
    }

    #[test]
    fn an_acknowledgement_lets_at_most_a_burst_leave_besides_a_fast_retransmit() {
        for (most, sent) in [(1, 1), (2, 2), (10, 10), (11, 10)] {
            let mut sender = sender(Reno);
            sender.config.stack.max_burst = Some(most);
            sender.write(1_000_000);
            assert_eq!(send_all(&mut sender, at(0)).len(), sent, "{most}");
        }
        let mut sender = newreno_sender();
        sender.config.stack.max_burst = Some(1);
        ack(&mut sender, at(100), 5, &[], false);
        assert_eq!(send_all(&mut sender, at(100)), [10]);
        assert_eq!(send_all(&mut sender, at(100)), [0u64; 0]);
        let sent: Vec<_> = (0..3).map(|_| duplicate(&mut sender, at(200))).collect();
        assert_eq!(sent, [[11], [12], [5]]); // the window has no room for another
        sender.on_timeout(at(5_000));
        assert_eq!(send_all(&mut sender, at(5_000)), [5]);
    }

    #[test]
    fn without_sack_the_third_duplicate_loses_the_first_segment_and_each_partial_acknowledgement_the_next() {
        let mut sender = newreno_sender();
        assert_eq!(duplicate(&mut sender, at(100)), [10]); // limited transmit
        assert_eq!((duplicate(&mut sender, at(100)), sender.state()), (vec![11], CaState::Disorder));
        assert_eq!((duplicate(&mut sender, at(100)), sender.state()), (vec![0], CaState::Recovery));
        assert_eq!((sender.window().ssthresh, sender.pipe()), (5_000, 9_000));
        // The window has room once half of it has arrived (RFC 6582 section 3.2, steps 2 and 4).
        let sent: Vec<_> = (4..=8).map(|_| duplicate(&mut sender, at(110))).collect();
        assert_eq!(sent, [vec![], vec![], vec![], vec![], vec![12]]);
        // Up to the fourth: whatever the window, that one leaves.
        ack(&mut sender, at(200), 3, &[], false);
        assert_eq!((send_all(&mut sender, at(200)), sender.state()), (vec![3, 13], CaState::Recovery));
        // All that was in flight when the recovery began.
        ack(&mut sender, at(300), 12, &[], false);
        assert_eq!((sender.state(), sender.pipe(), sender.window().cwnd), (CaState::Open, 2_000, 5_000));
        assert_eq!((sender.stats.retransmissions, sender.stats.fast_recoveries), (2, 1));
    }

    #[test]
    fn without_sack_duplicates_after_a_timeout_let_nothing_leave_until_all_is_repaired() {
        let mut sender = newreno_sender();
        sender.on_timeout(at(5_000));
        assert_eq!(send_all(&mut sender, at(5_000)), [0]);
        // The nine others arrive only now.
        for _ in 0..9 {
            assert_eq!(duplicate(&mut sender, at(5_010)), [0u64; 0]);
        }
        assert_eq!((sender.pipe(), sender.state()), (1_000, CaState::Loss));
        // The fourth is lost as well: up to there the acknowledgement takes away what need not be sent again.
        ack(&mut sender, at(5_100), 3, &[], false);
        assert_eq!(send_all(&mut sender, at(5_100)), [3, 4]);
        ack(&mut sender, at(5_200), 9, &[], false);
        assert_eq!((send_all(&mut sender, at(5_200)), sender.state()), (vec![9, 10, 11], CaState::Loss));
        assert_eq!(duplicate(&mut sender, at(5_210)), [0u64; 0]);
        ack(&mut sender, at(5_300), 10, &[], false);
        send_all(&mut sender, at(5_300));
        let before = sender.pipe();
        duplicate(&mut sender, at(5_400));
        assert_eq!((sender.state(), sender.board.pipe()), (CaState::Disorder, before)); // one has left, one came
    }

    #[test]
    fn without_sack_an_acknowledgement_without_new_data_is_no_duplicate_unless_something_is_out_of_order() {
        let mut sender = newreno_sender();
        for _ in 0..3 {
            ack(&mut sender, at(100), 0, &[], false);
        }
        assert_eq!((sender.state(), sender.pipe()), (CaState::Open, 10_000));
    }

    #[test]
    fn without_sack_only_the_first_partial_acknowledgement_restarts_the_timer() {
        let mut sender = newreno_sender();
        let _: Vec<_> = (0..3).map(|_| duplicate(&mut sender, at(100))).collect();
        ack(&mut sender, at(200), 3, &[], false);
        let first = sender.deadline();
        assert!(first >= Some(at(1200)));
        ack(&mut sender, at(300), 4, &[], false);
        assert_eq!(sender.deadline(), first);
        ack(&mut sender, at(400), 12, &[], false);
        assert_eq!(sender.deadline(), None);
    }

    #[test]
    fn without_sack_duplicates_of_data_sent_before_the_last_recovery_begin_none() {
        let mut sender = newreno_sender();
        let _: Vec<_> = (0..3).map(|_| duplicate(&mut sender, at(100))).collect();
        ack(&mut sender, at(200), 12, &[], false);
        send_all(&mut sender, at(200));
        let _: Vec<_> = (0..3).map(|_| duplicate(&mut sender, at(300))).collect();
        assert_eq!((sender.snd_una(), sender.stats.fast_recoveries), (12_000, 1));
        ack(&mut sender, at(400), 13, &[], false);
        let _: Vec<_> = (0..3).map(|_| duplicate(&mut sender, at(400))).collect();
        assert_eq!(sender.stats.fast_recoveries, 2);
    }

    #[test]
    fn an_echo_in_a_recovery_reduces_again_only_where_marks_come_first() {
        for (marks_first, reductions) in [(false, 0), (true, 1)] {
            let mut sender = sender(Dctcp::new(DctcpConfig::default()));
            sender.config.stack.marks_first = marks_first;
            sender.write(1_000_000);
            send_all(&mut sender, at(0));
            ack(&mut sender, at(100), 0, &[(1, 5)], false);
            send_all(&mut sender, at(100));
            ack(&mut sender, at(200), 5, &[], true);
            assert_eq!((sender.stats.fast_recoveries, sender.stats.ecn_reductions), (1, reductions));
            assert_eq!(sender.state() == CaState::Cwr, marks_first);
        }
    }

    /// Linux's `tcp_xmit_recovery` retransmits as the reduction allows, which may have begun before the loss.
    #[test]
    fn a_loss_in_a_reduction_by_marks_is_repaired_in_its_turn() {
        let mut sender = sender(Dctcp::new(DctcpConfig::default()));
        sender.config.stack.recovery = Recovery::Prr;
        sender.write(1_000_000);
        send_all(&mut sender, at(0));
        // Of 10 segments, every second one that arrives lets one go.
        ack(&mut sender, at(100), 1, &[], true);
        assert_eq!((sender.state(), send_all(&mut sender, at(100))), (CaState::Cwr, vec![10]));
        for (end, sent) in [(3, vec![]), (4, vec![11]), (5, vec![]), (6, vec![1])] {
            ack(&mut sender, at(100), 1, &[(2, end)], false);
            assert_eq!(send_all(&mut sender, at(100)), sent, "{end}");
        }
        assert_eq!(sender.state(), CaState::Recovery);
    }

    /// Linux's `tcp_dsack_seen`.
    #[test]
    fn a_segment_that_came_twice_counts_as_delivered_where_losses_are_found_by_time() {
        for (detection, grown) in [(LossDetection::Rack, 3), (LossDetection::Dupthresh, 2)] {
            let mut sender = sender(Reno);
            sender.config.stack.growth = Growth::Acks;
            sender.config.stack.window_unit = WindowUnit::Segments;
            sender.board = Scoreboard::new(detection, WindowUnit::Segments, MSS);
            sender.write(1_000_000);
            send_all(&mut sender, at(0));
            ack(&mut sender, at(100), 4, &[], false);
            send_all(&mut sender, at(100));
            let before = sender.window().cwnd;
            ack(&mut sender, at(200), 6, &[(2, 3)], false);
            assert_eq!(sender.window().cwnd - before, grown * u64::from(MSS), "{detection:?}");
        }
    }

    /// `tcp_clean_rtx_queue`: FLAG_RETRANS_DATA_ACKED.
    #[test]
    fn a_segment_that_waited_for_a_retransmission_gives_no_sample_as_in_linux() {
        for (estimator, changes) in [(RtoEstimator::Linux, false), (RtoEstimator::Rfc6298, true)] {
            let mut sender = sender(Reno);
            sender.config.rto.estimator = estimator;
            sender.rtt = RttEstimator::new(sender.config.rto);
            sender.write(4_000);
            send_all(&mut sender, at(0));
            ack(&mut sender, at(100), 1, &[], false);
            let before = sender.rtt().srtt();
            sender.on_timeout(at(5_000));
            assert_eq!(send_all(&mut sender, at(5_000)), [1]);
            ack(&mut sender, at(5_100), 4, &[], false);
            assert_eq!(sender.rtt().srtt() != before, changes, "{estimator:?}");
        }
    }

    #[test]
    fn a_timeout_in_a_recovery_keeps_the_threshold() {
        let mut sender = sender(Reno);
        sender.write(1_000_000);
        send_all(&mut sender, at(0));
        ack(&mut sender, at(100), 0, &[(1, 10)], false);
        assert_eq!(send_all(&mut sender, at(100)), [0, 10, 11, 12, 13]);
        sender.on_timeout(at(4000));
        // 14 segments are not acknowledged; half of them would be 7.
        assert_eq!((sender.window().cwnd, sender.window().ssthresh), (1_000, 5_000));
        // The same data time out again, then later data do.
        sender.on_timeout(at(20_000));
        assert_eq!(sender.window().ssthresh, 5_000);
        send_all(&mut sender, at(20_000));
        ack(&mut sender, at(20_100), 10, &[], false);
        assert_eq!(send_all(&mut sender, at(20_100)).len(), 2);
        sender.on_timeout(at(60_000));
        assert!(sender.window().ssthresh < 5_000);
    }

    #[test]
    fn losses_beyond_a_recovery_that_is_not_over_reduce_the_window_when_it_ends() {
        let mut sender = sender(Reno);
        sender.write(1_000_000);
        send_all(&mut sender, at(0));
        ack(&mut sender, at(100), 0, &[(1, 10)], false);
        assert_eq!(send_all(&mut sender, at(100)), [0, 10, 11, 12, 13]);
        // Segment 10, sent in the recovery, is lost too. That is known before segment 0 has arrived.
        ack(&mut sender, at(200), 0, &[(11, 14), (1, 10)], false);
        assert_eq!((sender.window().cwnd, sender.stats.fast_recoveries), (5_000, 1));
        send_all(&mut sender, at(200));
        ack(&mut sender, at(210), 10, &[(11, 14)], false);
        assert_eq!((sender.window().cwnd, sender.stats.fast_recoveries), (2_500, 2));
    }

    #[test]
    fn an_echo_on_the_last_acknowledgement_reduces_the_window() {
        let mut sender = sender(Dctcp::new(DctcpConfig::default()));
        sender.write(10_000);
        send_all(&mut sender, at(0));
        ack(&mut sender, at(100), 10, &[], true);
        assert_eq!((sender.window().cwnd, sender.stats.ecn_reductions), (5_000, 1));
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
