// SPDX-License-Identifier: MIT OR Apache-2.0
//! Lines: the bytes and the time that frames take on them.

use serde::Deserialize;

use crate::{Duration, Rate, Time};

/// Bytes that frames take on a line, in addition to their own.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Framing {
    /// Shorter frames are padded to this length, which excludes the checksum.
    pub min_bytes: u32,
    /// Bytes added to each frame: checksum, preamble, gap. Negative if parts of the Ethernet header do not count.
    pub overhead_bytes: i32,
}

impl Framing {
    /// Bytes on the line for a frame of `bytes`, without its checksum.
    pub fn wire_bytes(self, bytes: usize) -> u64 {
        let bytes = (bytes as i64).max(self.min_bytes.into()) + i64::from(self.overhead_bytes);
        bytes.max(0) as u64
    }
}

/// The sending end of a line: it sends one frame after the other, at a rate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Transmitter {
    rate: Rate,
    busy_until: Time,
    /// Remainder of the last frame's time, in units of 1/rate ns. It keeps the rate of back-to-back frames exact.
    carry: u64,
}

impl Transmitter {
    /// An idle transmitter.
    pub const fn new(rate: Rate) -> Transmitter {
        Transmitter { rate, busy_until: Time::ZERO, carry: 0 }
    }

    /// Its rate.
    pub const fn rate(&self) -> Rate {
        self.rate
    }

    /// Time at which the last frame has passed.
    pub const fn busy_until(&self) -> Time {
        self.busy_until
    }

    /// Changes the rate of the frames that follow.
    pub fn set_rate(&mut self, rate: Rate) {
        if rate != self.rate {
            (self.rate, self.carry) = (rate, 0);
        }
    }

    /// Sends `bytes` at time `now`, or after the frames under way. Returns the time that they take.
    #[inline]
    pub fn send(&mut self, now: Time, bytes: u64) -> Duration {
        let begin = now.max(self.busy_until);
        let carry = if begin == self.busy_until { self.carry } else { 0 };
        let (time, carry) = self.rate.transmission(bytes, carry);
        self.carry = carry;
        self.busy_until = begin + time;
        time
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FRAMING: Framing = Framing { min_bytes: 60, overhead_bytes: 24 };

    #[test]
    fn short_frames_are_padded() {
        let on_line = |bytes| FRAMING.wire_bytes(bytes);
        assert_eq!([on_line(59), on_line(60), on_line(61), on_line(1514)], [84, 84, 85, 1538]);
        // Negative overhead: only the IP packet counts, and the result is never below 0.
        let bare = Framing { min_bytes: 0, overhead_bytes: -14 };
        assert_eq!([bare.wire_bytes(1514), bare.wire_bytes(14), bare.wire_bytes(13)], [1500, 0, 0]);
    }

    #[test]
    fn frames_back_to_back_keep_the_rate() {
        let mut transmitter = Transmitter::new(Rate::from_bps(3_000_000_000).expect("a rate"));
        // 100 bytes at 3 Gb/s take 266 2/3 ns.
        for frame in 1..=3 {
            transmitter.send(Time::ZERO, 100);
            assert_eq!(transmitter.busy_until(), Time::from_nanos(frame * 800 / 3));
        }
    }

    #[test]
    fn a_pause_or_another_rate_begins_anew() {
        let fast = Rate::from_bps(3_000_000_000).expect("a rate");
        let mut transmitter = Transmitter::new(fast);
        let time = transmitter.send(Time::ZERO, 100);
        assert_eq!(time, Duration::from_nanos(266));
        // After one ns of idle line the remainder is gone.
        assert_eq!(transmitter.send(Time::from_nanos(267), 100), Duration::from_nanos(266));
        transmitter.set_rate(fast);
        assert_eq!(transmitter.send(transmitter.busy_until(), 100), Duration::from_nanos(267));
        transmitter.set_rate(Rate::from_bps(1_000_000_000).expect("a rate"));
        assert_eq!(transmitter.send(transmitter.busy_until(), 100), Duration::from_nanos(800));
    }
}
