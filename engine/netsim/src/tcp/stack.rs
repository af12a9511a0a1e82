// SPDX-License-Identifier: MIT OR Apache-2.0
//! Choices that the RFCs leave to a stack, or that stacks make differently. Profiles (docs/stacks.md) name sets of them.

use marklab_units::Duration;
use serde::Deserialize;

/// The choices of a stack. The default is the RFCs'.
#[derive(Clone, Copy, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Stack {
    /// How the window comes down.
    pub recovery: Recovery,
    /// How losses are found before a timeout.
    pub loss_detection: LossDetection,
    /// Whether the tail of the data is probed before a timeout (RFC 8985 section 7, as in Linux).
    pub tail_loss_probe: bool,
    /// Whether reductions are undone that turn out to be spurious: by F-RTO (RFC 5682) after timeouts, and by D-SACK
    /// (RFC 3708), as in Linux without timestamps.
    pub undo: bool,
    /// When a window that is validated may grow.
    pub validation: Validation,
    /// What windows count.
    pub window_unit: WindowUnit,
    /// What counts as in the network.
    pub pipe: Pipe,
    /// What a loss halves.
    pub loss_base: LossBase,
    /// Whether a timeout halves again what is being repaired. RFC 5681 section 3.1 and Linux keep the threshold.
    pub timeouts_halve_again: bool,
    /// Smallest window after a reduction, in segments (RFC 5681 section 3.1: 2). With 0, marks reduce it without a bound,
    /// and below a segment nothing leaves before a timeout, as RFC 3168 section 6.1.2 has it for a window of one segment.
    /// The connection then begins again, as ns-2's does (`TcpAgent::slowdown`, `FullTcpAgent::foutput`: `idle_restart`).
    /// Not with a gradual [`Recovery`].
    pub min_window: u32,
    /// Most segments that leave at an acknowledgement or a timeout, or when data are written, besides a fast retransmit;
    /// `None`: all that the window allows. ns-2 calls it `maxburst_`.
    pub max_burst: Option<u32>,
    /// The window after a pause longer than a timeout.
    pub idle_restart: IdleRestart,
    /// How samples become a timeout.
    pub rto_estimator: RtoEstimator,
    /// DCTCP: alpha of a new connection, in 0..=1; RFC 8257 section 4.2 recommends 1: assume congestion.
    pub initial_alpha: f64,
    /// DCTCP: whether alpha has Linux's precision, and counts what was acknowledged selectively as Linux does.
    pub linux_alpha: bool,
    /// DCTCP: whether a reduction uses alpha as it was before its acknowledgement, and alpha first counts the initial
    /// window, as in ns-3. Otherwise the first acknowledgement ends an empty window (RFC 8257 section 3.3).
    pub late_alpha: bool,
    /// DCTCP: what a loss takes from the window.
    pub loss_cut: LossCut,
    /// How the window grows.
    pub growth: Growth,
    /// Whether an echo reduces a window again that is being reduced for losses, and losses found while marks are
    /// answered begin no recovery, as in ns-3 (`TcpSocketBase::ReceivedAck`, `DupAck`).
    pub marks_first: bool,
    /// Whether a receiver hears marks only from segments above the last marked one, as in ns-3
    /// (`TcpSocketBase::ForwardUp`). The handshake's acknowledgement counts as marked: the first segment follows it.
    pub rising_marks: bool,
    /// Segments that the receiver acknowledges at once when a connection begins, before it delays acknowledgements.
    pub quick_acks: u32,
    /// Whether the receiver reports segments that arrive twice (RFC 2883).
    pub dsack: bool,
    /// Whether a sender waits for room for more than one segment, as Linux does for segmentation offload
    /// (`tcp_tso_should_defer`).
    pub tso_defer: bool,
    /// Whether a NIC has at most what the sender's rate sends in 1 ms, as Linux has it (`tcp_small_queue_check`).
    pub small_queues: bool,
    /// Whether segments leave at Linux's pacing rate, 1.2 or 2 windows in a round trip (`tcp_update_pacing_rate`). With
    /// `tso_defer`, a large segment leaves at once, and the next one waits.
    pub pacing: bool,
    /// Segments that a receiver's NIC merges into one at most, as Linux's GRO does (`tcp_gro_receive`); 0 and 1 are none.
    pub gro_segments: u32,
    /// How long the first of them waits for others at most, in ns, as `gro_flush_timeout` of Linux's NICs says.
    pub gro_timeout_ns: u64,
    /// Whether the receive window begins at 64 KiB and follows what arrives, as in Linux (`tcp_rcv_space_adjust`,
    /// `tcp_grow_window`), up to the transport's. Acknowledgements are then not delayed while it grows, instead of the
    /// first [`Stack::quick_acks`].
    pub window_autotuning: bool,
    /// How many times slower than Linux's clock the network runs: what Linux counts in milliseconds is so much shorter.
    pub clock_dilation: u32,
    /// Whether an echo counts that was under way when a reduction for losses began, once that is over. RFC 3168 section
    /// 6.1.2 counts one reduction per window of data.
    pub repeated_echo: bool,
    /// Timeouts of SYNs.
    pub syn_timeouts: SynTimeouts,
}

impl Stack {
    /// What lasts 1 ms on Linux's clock.
    pub fn kernel_ms(&self) -> Duration {
        Duration::from_nanos(1_000_000 / u64::from(self.clock_dilation.max(1)))
    }

    /// Whether a receiver's NIC merges segments.
    pub fn merges(&self) -> bool {
        self.gro_segments > 1
    }

    /// Time from the first SYN until the last of `attempts` SYNs times out, in initial timeouts.
    pub fn syn_wait(&self, attempts: u32) -> u64 {
        let doubled = |attempts: u32| (1u64 << attempts.min(32)) - 1;
        match self.syn_timeouts {
            // 1, 1 + 2, 1 + 2 + 4, ...
            SynTimeouts::Exponential => doubled(attempts),
            // 1, 2, 3, 4, 5, 5 + 2, 5 + 2 + 4, ...
            SynTimeouts::Linear => {
                let linear = attempts.min(LINEAR_SYN_TIMEOUTS + 1);
                u64::from(linear) + 2 * doubled(attempts - linear)
            }
        }
    }

    /// Whether so many SYNs of a connection, the first included, make it begin with one segment: RFC 5681 section 3.1,
    /// and tcp_init_transfer in Linux's net/ipv4/tcp_input.c.
    pub fn begins_with_one_segment(&self, syns: u32) -> bool {
        match self.syn_timeouts {
            SynTimeouts::Exponential => syns > 1,
            SynTimeouts::Linear => syns > 2,
        }
    }
}

/// Most segments that [`Stack::gro_segments`] allows: 44 of 1,460 bytes are what Linux merges in 64 KiB.
pub const MAX_GRO_SEGMENTS: u32 = 44;
/// `net.ipv4.tcp_syn_linear_timeouts` of Linux.
const LINEAR_SYN_TIMEOUTS: u32 = 4;

/// Timeouts of SYNs that are not answered.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SynTimeouts {
    /// Each is twice the one before (RFC 6298 section 5.5).
    #[default]
    Exponential,
    /// The first ones are equal, as in Linux since version 6.5.
    Linear,
}

impl Default for Stack {
    fn default() -> Stack {
        Stack {
            recovery: Recovery::default(),
            loss_detection: LossDetection::default(),
            tail_loss_probe: false,
            undo: false,
            validation: Validation::default(),
            window_unit: WindowUnit::default(),
            pipe: Pipe::default(),
            loss_base: LossBase::default(),
            timeouts_halve_again: false,
            min_window: 2,
            max_burst: None,
            idle_restart: IdleRestart::default(),
            rto_estimator: RtoEstimator::default(),
            initial_alpha: 1.0,
            linux_alpha: false,
            late_alpha: false,
            loss_cut: LossCut::default(),
            growth: Growth::default(),
            marks_first: false,
            rising_marks: false,
            quick_acks: 0,
            dsack: false,
            tso_defer: false,
            small_queues: false,
            pacing: false,
            gro_segments: 0,
            gro_timeout_ns: 0,
            window_autotuning: false,
            clock_dilation: 1,
            repeated_echo: false,
            syn_timeouts: SynTimeouts::default(),
        }
    }
}

/// The window after a reduction.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Recovery {
    /// The window is `ssthresh` at once, and segments leave when fewer are in flight (RFC 6675 section 5).
    #[default]
    Rfc6675,
    /// The window shrinks over a round trip, in proportion to what arrives: proportional rate reduction (RFC 6937, and
    /// as Linux has it, RFC 9937). It applies to reductions by marks as well.
    Prr,
    /// The same as ns-3 has it, with products of 32 bits (see [`super::prr`]). There, recoveries also send a segment for a
    /// partial acknowledgement, and segments that nothing is known of (`TcpSocketBase::ProcessAck`, `TcpTxBuffer::NextSeg`).
    PrrNs3,
}

impl Recovery {
    /// Whether the window comes down over a round trip.
    pub fn is_gradual(self) -> bool {
        self != Recovery::Rfc6675
    }
}

/// How losses are found before a timeout.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LossDetection {
    /// Three segments above were acknowledged (RFC 6675, DupThresh, counted in segments).
    #[default]
    Dupthresh,
    /// The same, but a retransmission that is lost is only found by the timeout, as in ns-3.
    DupthreshOnce,
    /// A segment sent later has arrived, and the reordering window has passed (RFC 8985, as in Linux: no window from
    /// three acknowledged segments on, and a quarter of the shortest round trip below).
    Rack,
    /// Three segments were acknowledged selectively: all holes below the highest of these are lost, and in a recovery so
    /// are new ones. A retransmission that is lost waits for a timeout, and so does a loss behind a recovery if nothing
    /// later was acknowledged (ns-2's `SackFullTcpAgent::nxt_tseq` and `dupack_action`).
    Holes,
    /// Three acknowledgements are duplicates, without looking at what they acknowledge selectively: the first segment is
    /// lost, and in the recovery that begins, the next one at each acknowledgement of more data (RFC 6582, NewReno).
    Newreno,
}

/// The window of a connection that was idle for longer than a timeout.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum IdleRestart {
    /// It stays.
    #[default]
    Never,
    /// It is the initial window (RFC 5681 section 4.1).
    Rfc5681,
    /// It is halved for each timeout that has passed, down to the initial window (RFC 2861 section 3, as in Linux).
    Rfc2861,
}

/// Whether a window limits its sender, so that it may grow.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Validation {
    /// It was full when the acknowledgement came (in the spirit of RFC 7661).
    #[default]
    Full,
    /// Linux's `tcp_is_cwnd_limited`: it was full in this window of data, or half full in slow start.
    Linux,
}

/// What a window counts.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WindowUnit {
    /// Bytes, as in the RFCs.
    #[default]
    Bytes,
    /// Segments, short ones like full ones, as in Linux.
    Segments,
}

/// What counts as in the network.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pipe {
    /// What was neither acknowledged, in order or selectively, nor found lost (RFC 6675 section 4).
    #[default]
    Rfc6675,
    /// What was not acknowledged in order: nothing leaves before a recovery begins. In a recovery, a segment less for each
    /// acknowledgement, and two for one that advances (ns-2's `SackFullTcpAgent`).
    Acks,
}

/// Flight or window that a loss halves.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LossBase {
    /// The bytes in flight, up to the window (RFC 5681 equation 4).
    #[default]
    Flight,
    /// The window, as in Linux.
    Cwnd,
}

/// What a loss takes from the window of DCTCP.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LossCut {
    /// Half (RFC 8257 section 3.5).
    #[default]
    Half,
    /// `alpha / 2` of it, as marks do.
    Alpha,
}

/// Growth of a window.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Growth {
    /// By a segment for each window that was acknowledged, counted anew after a reduction (RFC 3465 section 2.1).
    #[default]
    Rfc3465,
    /// As in ns-3's `TcpLinuxReno`: by a segment for each whole segments of the window that were acknowledged; the count
    /// goes on after a reduction.
    Ns3,
    /// By a segment in slow start, and by `mss * mss / cwnd` above, whatever is acknowledged (RFC 5681 equation 3; ns-2's
    /// `TcpAgent::opencwnd`), up to the receiver's window. After marks, any acknowledgement without an echo does.
    /// Thresholds are whole segments.
    Acks,
}

/// The timeout's estimator.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RtoEstimator {
    /// RFC 6298: the minimum bounds the timeout.
    #[default]
    Rfc6298,
    /// Linux: the minimum bounds the variation, which falls only once per round trip (tcp_rtt_estimator).
    Linux,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn syns_time_out_in_doubling_steps_or_in_equal_ones_first() {
        let waits = |syn_timeouts| {
            let stack = Stack { syn_timeouts, ..Stack::default() };
            (1..=8).map(|attempts| stack.syn_wait(attempts)).collect::<Vec<_>>()
        };
        assert_eq!(waits(SynTimeouts::Exponential), [1, 3, 7, 15, 31, 63, 127, 255]);
        assert_eq!(waits(SynTimeouts::Linear), [1, 2, 3, 4, 5, 7, 11, 19]);
    }
}
