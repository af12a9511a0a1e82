// SPDX-License-Identifier: MIT OR Apache-2.0
//! Congestion control: how a sender's window reacts to acknowledgements, marks, delays and losses.

use marklab_units::Duration;

mod dctcp;
mod delay;
mod ecn_star;
mod reno;

pub use dctcp::{Alpha, Dctcp};
pub use delay::DelaySignal;
pub use ecn_star::EcnStar;
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
}

impl Window {
    /// A window in slow start.
    pub fn new(mss: u64, initial_segments: u64) -> Window {
        Window { cwnd: mss * initial_segments, ssthresh: u64::MAX, mss, bytes_acked: 0 }
    }

    /// Grows the window by slow start and congestion avoidance of RFC 5681, counting bytes (RFC 3465). In congestion
    /// avoidance, it grows by one segment per window of acknowledged bytes.
    pub fn grow_reno(&mut self, acked: u64) {
        if self.cwnd < self.ssthresh {
            self.cwnd += acked;
            return;
        }
        self.bytes_acked += acked;
        if self.bytes_acked >= self.cwnd {
            self.bytes_acked -= self.cwnd;
            self.cwnd += self.mss;
        }
    }

    /// Sets window and threshold after congestion, to at least two segments.
    pub fn reduce_to(&mut self, cwnd: u64) {
        self.cwnd = cwnd.max(2 * self.mss);
        self.ssthresh = self.cwnd;
        self.bytes_acked = 0;
    }
}

/// An acknowledgement of new data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Acked {
    /// Bytes newly acknowledged.
    pub bytes: u64,
    /// Whether it signals congestion.
    pub congested: bool,
    /// First unacknowledged byte after this acknowledgement.
    pub snd_una: u64,
    /// Next new byte to send.
    pub snd_nxt: u64,
}

/// A congestion control algorithm. One instance per connection.
pub trait CongestionControl: Send + std::fmt::Debug {
    /// Whether data packets are ECN capable.
    fn ecn(&self) -> bool;

    /// Whether all other packets are ECN capable too, as in Linux's DCTCP.
    fn ecn_control_packets(&self) -> bool {
        false
    }

    /// Whether it needs measurements of one-way delays.
    fn hears_delay(&self) -> bool {
        false
    }

    /// Whether an acknowledgement with this echo, and with this one-way delay of the acknowledged data, signals
    /// congestion. Called once for every acknowledgement.
    fn congested(&mut self, ece: bool, _one_way: Option<Duration>) -> bool {
        ece && self.ecn()
    }

    /// Called for every acknowledgement of new data, before the window reacts.
    fn on_ack(&mut self, _acked: Acked) {}

    /// Grows the window after an acknowledgement. With cwnd validation, called only if the window limited the sender.
    fn grow(&mut self, window: &mut Window, acked: u64) {
        window.grow_reno(acked);
    }

    /// Reduces the window after a sign of congestion other than a loss. Called at most once per window of data.
    fn on_congestion(&mut self, window: &mut Window);

    /// Reduces the window after a loss. Called at most once per window of data.
    fn on_loss(&mut self, window: &mut Window, flight: u64) {
        window.reduce_to(flight / 2);
    }

    /// Whether a loss reduces a window that marks have just reduced. By RFC 3168 section 6.1.2, it does not.
    fn loss_after_marks(&self) -> bool {
        false
    }

    /// The shortest one-way delay so far, with which other delays are compared.
    fn base_delay(&self) -> Option<Duration> {
        None
    }

    /// A number that describes the state: DCTCP's alpha.
    fn alpha(&self) -> Option<f64> {
        None
    }
}
