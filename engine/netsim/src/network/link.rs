//! One direction of a link.

use marklab_units::{Duration, Rate, Time};

/// Node and port.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    node: u32,
    port: u32,
}

impl Place {
    /// The numbers, as indices.
    pub(super) fn indices(self) -> (usize, usize) {
        (self.node as usize, self.port as usize)
    }
}

/// A transmitter and its line. Frames on it are events: those of their arrivals.
// What every frame needs is in the first cache line, the rest is only added to.
#[derive(Debug)]
#[repr(C, align(64))]
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
    /// A line between two ends, each a node and a port.
    pub(super) fn new(from: (usize, usize), to: (usize, usize), rate: Rate, delay: Duration) -> Line {
        let place = |(node, port)| Place { node: node as u32, port: port as u32 };
        Line {
            from: place(from),
            to: place(to),
            rate,
            delay,
            busy_until: Time::ZERO,
            carry: 0,
            free_pending: false,
            stats: LineStats::default(),
        }
    }

    pub(super) fn busy_until(&self) -> Time {
        self.busy_until
    }

    /// Begins to transmit a frame that takes `bytes` on the line. Gives the time of its arrival at the other end.
    pub(super) fn transmit(&mut self, now: Time, bytes: u64) -> Time {
        debug_assert!(now >= self.busy_until, "the transmitter is busy");
        let carry = if now == self.busy_until { self.carry } else { 0 };
        let (time, carry) = self.rate.transmission(bytes, carry);
        self.carry = carry;
        self.busy_until = now + time;
        self.stats.frames += 1;
        self.stats.bytes += bytes;
        self.stats.busy += time;
        self.busy_until + self.delay
    }
}
