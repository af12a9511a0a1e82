// SPDX-License-Identifier: MIT OR Apache-2.0
//! Congestion control: how a sender's window reacts to acknowledgements, marks, delays and losses.

use marklab_units::{Duration, Time};

use super::stack::Growth;

mod cubic;
mod dctcp;
mod delay;
mod ecn_star;
mod prague;
mod reno;

pub use cubic::Cubic;
pub use dctcp::{Alpha, Dctcp, DctcpConfig};
pub use delay::DelaySignal;
pub use ecn_star::EcnStar;
pub use prague::{Prague, PragueConfig};
pub use reno::Reno;

/// A sender's congestion window, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Window {
    /// Bytes that may be in flight.
    pub cwnd: u64,
    /// Below this threshold, the window doubles every round trip.
    pub ssthresh: u64,
    /// Largest segment.
    pub mss: u64,
    /// Bytes acknowledged in congestion avoidance since the window last grew (RFC 3465).
    pub bytes_acked: u64,
    /// Windows are multiples of this: 1, or a segment if the window counts segments.
    pub unit: u64,
    /// Smallest window after a reduction.
    pub smallest: u64,
    /// How it grows.
    pub growth: Growth,
}

impl Window {
    /// A window of bytes in slow start. A reduction leaves two segments or more.
    pub fn new(mss: u64, initial_segments: u64) -> Window {
        Window {
            cwnd: mss * initial_segments,
            ssthresh: u64::MAX,
            mss,
            bytes_acked: 0,
            unit: 1,
            smallest: 2 * mss,
            growth: Growth::Rfc3465,
        }
    }

    /// Grows the window by slow start and congestion avoidance of RFC 5681, counting bytes (RFC 3465). Slow start ends
    /// at the threshold; in congestion avoidance, the window grows by one segment per window of acknowledged bytes.
    /// Windows that count acknowledgements grow as [`Growth::Acks`] says.
    pub fn grow_reno(&mut self, acked: u64) {
        if self.growth == Growth::Acks {
            return self.grow_by_acks();
        }
        match (self.slow_start(acked), self.growth) {
            (0, _) => {}
            (left, Growth::Rfc3465 | Growth::Acks) => self.avoid_congestion(left),
            (left, Growth::Ns3) => self.avoid_congestion_as_ns3(left),
        }
    }

    /// Grows the window by acknowledged bytes up to the threshold. Returns those that are left.
    pub fn slow_start(&mut self, acked: u64) -> u64 {
        let grown = acked.min(self.ssthresh.saturating_sub(self.cwnd));
        self.cwnd += grown;
        acked - grown
    }

    fn grow_by_acks(&mut self) {
        let slow_start = self.cwnd < self.ssthresh / self.mss * self.mss;
        self.cwnd += if slow_start { self.mss } else { self.mss * self.mss / self.cwnd.max(1) };
    }

    fn avoid_congestion(&mut self, acked: u64) {
        self.bytes_acked += acked;
        if self.bytes_acked >= self.cwnd {
            self.bytes_acked -= self.cwnd;
            self.cwnd += self.mss;
        }
    }

    /// `TcpLinuxReno::CongestionAvoidance` of ns-3.37. A count from before a reduction may exceed the window.
    fn avoid_congestion_as_ns3(&mut self, acked: u64) {
        let whole = (self.cwnd / self.mss).max(1) * self.mss;
        if self.bytes_acked >= whole {
            self.bytes_acked = 0;
            self.cwnd += self.mss;
        }
        self.bytes_acked += acked;
        self.cwnd += self.bytes_acked / whole * self.mss;
        self.bytes_acked %= whole;
    }

    /// Counts acknowledged bytes anew after a reduction, unless the stack counts on.
    pub fn restart_growth(&mut self) {
        if self.growth == Growth::Rfc3465 {
            self.bytes_acked = 0;
        }
    }

    /// `bytes` times a fraction, as a window can have it.
    pub fn scaled(&self, bytes: u64, numerator: u64, denominator: u64) -> u64 {
        let units = u128::from(bytes / self.unit) * u128::from(numerator) / u128::from(denominator);
        units as u64 * self.unit
    }

    /// Half of `bytes`, as a window can have it.
    pub fn half(&self, bytes: u64) -> u64 {
        self.scaled(bytes, 1, 2)
    }
}

/// An acknowledgement of new data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Acked {
    /// Bytes newly acknowledged in order.
    pub bytes: u64,
    /// Weight of the segments newly acknowledged, in order or selectively ([`super::stack::WindowUnit`]).
    pub delivered: u64,
    /// Whether it signals congestion.
    pub congested: bool,
    /// When it came.
    pub now: Time,
    /// Smoothed round trip; 0 before the first is measured.
    pub srtt: Duration,
    /// First unacknowledged byte after this acknowledgement.
    pub snd_una: u64,
    /// Next new byte to send.
    pub snd_nxt: u64,
}

/// A congestion control algorithm. One instance per connection.
pub trait CongestionControl: Send + Sync + std::fmt::Debug {
    /// Whether data packets are ECN capable.
    fn ecn(&self) -> bool;

    /// Whether it needs to know how many packets were marked (AccECN), and sends packets that are ECT(1).
    fn accurate_ecn(&self) -> bool {
        false
    }

    /// So many packets more were marked, by an acknowledgement that comes next.
    fn hear_marks(&mut self, _packets: u32) {}

    /// Whether it needs measurements of one-way delays.
    fn hears_delay(&self) -> bool {
        false
    }

    /// Tells it the one-way delay of a full segment in the empty network, which it does not have to learn then.
    fn know_base_delay(&mut self, _base: Duration) {}

    /// Whether an acknowledgement with this echo, and with this one-way delay of the acknowledged data, signals
    /// congestion. Called once for every acknowledgement.
    fn congested(&mut self, ece: bool, _one_way: Option<Duration>) -> bool {
        ece && self.ecn()
    }

    /// Called for every acknowledgement of data, before the window reacts.
    fn on_ack(&mut self, _acked: Acked) {}

    /// Grows the window after an acknowledgement. With cwnd validation, called only if the window limited the sender.
    fn grow(&mut self, window: &mut Window, acked: u64) {
        window.grow_reno(acked);
    }

    /// Answers a sign of congestion other than a loss at once, if that is its way, and returns whether the window came down.
    /// The window then goes on growing. With `None` the sender brings it to [`Self::ssthresh_after_marks`].
    fn reduce_at_once(&mut self, _window: &mut Window) -> Option<bool> {
        None
    }

    /// The threshold after a sign of congestion other than a loss; the sender brings the window there. Called at most
    /// once per window of data.
    fn ssthresh_after_marks(&mut self, window: &Window) -> u64;

    /// The threshold after a loss. `base` is what a loss halves. Called at most once per window of data.
    fn ssthresh_after_loss(&mut self, window: &Window, base: u64) -> u64 {
        window.half(base)
    }

    /// A timeout: the threshold is reduced, and the window begins again with a segment.
    fn on_timeout(&mut self) {}

    /// Whether a loss reduces a window that marks have just reduced. By RFC 3168 section 6.1.2, it does not.
    fn loss_after_marks(&self) -> bool {
        false
    }

    /// The shortest one-way delay so far, or the one that it was told, with which other delays are compared.
    fn base_delay(&self) -> Option<Duration> {
        None
    }

    /// A number that describes the state: DCTCP's alpha.
    fn alpha(&self) -> Option<f64> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Windows of 4.5 segments after each acknowledged one, and after a reduction to 2.5 segments.
    #[test]
    fn growth_counts_the_window_or_whole_segments_of_it() {
        for (growth, windows) in [
            (Growth::Rfc3465, [4_500, 4_500, 4_500, 4_500, 5_500, 2_500, 2_500, 3_500]),
            (Growth::Ns3, [4_500, 4_500, 4_500, 5_500, 5_500, 3_500, 3_500, 3_500]),
        ] {
            let mut window = Window { cwnd: 4_500, ssthresh: 0, growth, ..Window::new(1000, 10) };
            let mut seen = Vec::new();
            for step in 0..8 {
                if step == 5 {
                    window.cwnd = 1_500;
                    window.restart_growth();
                    window.cwnd = 2_500;
                }
                window.grow_reno(1000);
                seen.push(window.cwnd);
            }
            assert_eq!(seen, windows, "{growth:?}");
        }
    }
}
