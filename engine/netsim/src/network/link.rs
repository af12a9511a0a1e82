//! One direction of a link: a transmitter, and frames on the line.

use std::collections::VecDeque;

use marklab_units::{Duration, Rate, Time};

use crate::frame::NetFrame;

/// Node and port.
pub(super) type Place = (usize, usize);

/// A transmitter and its line. Frames arrive in the order in which they were sent.
#[derive(Debug)]
pub(super) struct Line {
    pub(super) from: Place,
    pub(super) to: Place,
    rate: Rate,
    delay: Duration,
    /// End of the transmission under way, or of the last one.
    busy_until: Time,
    /// Fraction of a ns left by the last transmission.
    carry: u64,
    /// Whether an event for the end of the transmission is pending.
    pub(super) free_pending: bool,
    on_line: VecDeque<(Time, Box<NetFrame>)>,
    pub(super) stats: LineStats,
}

/// What a transmitter did.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct LineStats {
    /// Frames whose transmission began.
    pub frames: u64,
    /// Their bytes on the line.
    pub bytes: u64,
    /// Time spent transmitting.
    pub busy: Duration,
}

impl Line {
    pub(super) fn new(from: Place, to: Place, rate: Rate, delay: Duration) -> Line {
        Line {
            from,
            to,
            rate,
            delay,
            busy_until: Time::ZERO,
            carry: 0,
            free_pending: false,
            on_line: VecDeque::new(),
            stats: LineStats::default(),
        }
    }

    pub(super) fn busy_until(&self) -> Time {
        self.busy_until
    }

    /// Begins to transmit a frame that takes `bytes` on the line. Gives the time of its arrival if it is the only one
    /// on the line; else its arrival is scheduled when that of the frame before it is handled.
    pub(super) fn transmit(&mut self, now: Time, bytes: u64, frame: Box<NetFrame>) -> Option<Time> {
        debug_assert!(now >= self.busy_until, "the transmitter is busy");
        let carry = if now == self.busy_until { self.carry } else { 0 };
        let (time, carry) = self.rate.transmission(bytes, carry);
        self.carry = carry;
        self.busy_until = now + time;
        self.stats.frames += 1;
        self.stats.bytes += bytes;
        self.stats.busy += time;
        let arrival = self.busy_until + self.delay;
        self.on_line.push_back((arrival, frame));
        (self.on_line.len() == 1).then_some(arrival)
    }

    /// The frame that arrives now, and when the next one does.
    pub(super) fn arrive(&mut self) -> Option<(Box<NetFrame>, Option<Time>)> {
        let (_, frame) = self.on_line.pop_front()?;
        Some((frame, self.on_line.front().map(|&(time, _)| time)))
    }
}
