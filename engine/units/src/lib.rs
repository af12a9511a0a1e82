// SPDX-License-Identifier: MIT OR Apache-2.0
//! Units of the engine: a point in time, a length of time, a line rate; and the bytes and time that frames take on
//! lines ([`Framing`], [`Transmitter`]).
//!
//! Points and lengths are different types: the difference of two points is a length, two points cannot be added.
//! Everything is an integer (ns, bit/s, bytes), so that the same run gives the same bytes on every machine.

mod line;

use std::fmt;
use std::ops::{Add, AddAssign, Sub};

pub use line::{Framing, Transmitter};

/// A point in virtual or switch-local time, in ns since the start.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct Time(u64);

/// A length of time in ns.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct Duration(u64);

/// A line rate in bit/s; never 0.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Rate(u64);

impl Time {
    /// The start of the clock.
    pub const ZERO: Time = Time(0);
    /// Later than any event.
    pub const MAX: Time = Time(u64::MAX);

    /// The point `ns` after the start.
    pub const fn from_nanos(ns: u64) -> Time {
        Time(ns)
    }

    /// ns since the start.
    pub const fn nanos(self) -> u64 {
        self.0
    }

    /// Whole microseconds since the start, rounded down: BMv2's clock.
    pub const fn micros(self) -> u64 {
        self.0 / 1_000
    }

    /// The point `length` before `self`, but not before the start of the clock.
    pub const fn before(self, length: Duration) -> Time {
        Time(self.0.saturating_sub(length.0))
    }

    /// Start of the interval that contains `self`. Intervals are consecutive, from the start of the clock on.
    pub const fn start_of(self, interval: Duration) -> Time {
        Time(self.0 - self.0 % interval.0)
    }

    /// The length from `earlier` to `self`; zero if `earlier` is later.
    pub const fn since(self, earlier: Time) -> Duration {
        Duration(self.0.saturating_sub(earlier.0))
    }
}

impl Duration {
    /// No time.
    pub const ZERO: Duration = Duration(0);

    /// `ns` nanoseconds.
    pub const fn from_nanos(ns: u64) -> Duration {
        Duration(ns)
    }

    /// `us` microseconds.
    pub const fn from_micros(us: u64) -> Duration {
        Duration(us * 1_000)
    }

    /// Length in ns.
    pub const fn nanos(self) -> u64 {
        self.0
    }

    /// `factor` times this length, saturated.
    pub const fn saturating_mul(self, factor: u64) -> Duration {
        Duration(self.0.saturating_mul(factor))
    }
}

impl Rate {
    /// A rate of `bps` bit/s, or `None` for 0.
    pub const fn from_bps(bps: u64) -> Option<Rate> {
        if bps == 0 { None } else { Some(Rate(bps)) }
    }

    /// The rate in bit/s.
    pub const fn bps(self) -> u64 {
        self.0
    }

    /// Time that `bytes` take on a line of this rate in whole ns, and the remainder in units of 1/`bps` ns.
    ///
    /// `carry` is the remainder of the previous transmission, if the line was busy. Adding it keeps the long-run rate
    /// exact, although each single transmission ends at a whole ns.
    pub const fn transmission(self, bytes: u64, carry: u64) -> (Duration, u64) {
        const NS_BITS: u64 = 8 * 1_000_000_000;
        // Frames are far below this limit. The wide division costs several times as much.
        if bytes < 1 << 30 {
            let scaled = bytes * NS_BITS + carry;
            return (Duration(scaled / self.0), scaled % self.0);
        }
        let scaled = bytes as u128 * NS_BITS as u128 + carry as u128;
        (Duration((scaled / self.0 as u128) as u64), (scaled % self.0 as u128) as u64)
    }

    /// Bytes that this rate carries in `time`, rounded down.
    pub const fn bytes_in(self, time: Duration) -> u64 {
        (self.0 as u128 * time.0 as u128 / 8_000_000_000) as u64
    }
}

// Time that wraps around would order events wrongly without a word, so that sums and differences panic.

impl Add<Duration> for Time {
    type Output = Time;
    fn add(self, length: Duration) -> Time {
        Time(self.0.strict_add(length.0))
    }
}

impl AddAssign<Duration> for Time {
    fn add_assign(&mut self, length: Duration) {
        self.0 = self.0.strict_add(length.0);
    }
}

impl Sub<Duration> for Time {
    type Output = Time;
    fn sub(self, length: Duration) -> Time {
        Time(self.0.strict_sub(length.0))
    }
}

impl Add for Duration {
    type Output = Duration;
    fn add(self, other: Duration) -> Duration {
        Duration(self.0.strict_add(other.0))
    }
}

impl AddAssign for Duration {
    fn add_assign(&mut self, other: Duration) {
        self.0 = self.0.strict_add(other.0);
    }
}

impl Sub for Duration {
    type Output = Duration;
    fn sub(self, other: Duration) -> Duration {
        Duration(self.0.strict_sub(other.0))
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ns", self.0)
    }
}

impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ns", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[should_panic(expected = "overflow")]
    fn time_does_not_wrap_around() {
        let _ = Time::from_nanos(u64::MAX) + Duration::from_nanos(1);
    }

    #[test]
    #[should_panic(expected = "overflow")]
    fn time_before_the_beginning_does_not_exist() {
        let _ = Time::from_nanos(1) - Duration::from_nanos(2);
    }

    #[test]
    fn transmission_time_is_exact_in_the_long_run() {
        // 1538 B at 10 Gb/s take 1230.4 ns: five of them take 6152 ns, not 5 * 1230.
        let rate = Rate::from_bps(10_000_000_000).unwrap();
        let mut carry = 0;
        let mut total = Duration::ZERO;
        for _ in 0..5 {
            let (time, rest) = rate.transmission(1538, carry);
            carry = rest;
            total += time;
        }
        assert_eq!((total, carry), (Duration::from_nanos(6152), 0));
    }

    #[test]
    fn long_transmissions_are_as_exact_as_short_ones() {
        let rate = Rate::from_bps(3).unwrap();
        for bytes in [(1 << 30) - 1, 1 << 30, (1 << 30) + 1] {
            let (time, rest) = rate.transmission(bytes, 2);
            let scaled = u128::from(bytes) * 8_000_000_000 + 2;
            assert_eq!((u128::from(time.nanos()), u128::from(rest)), (scaled / 3, scaled % 3));
        }
    }

    #[test]
    fn a_rate_of_zero_does_not_exist() {
        assert_eq!(Rate::from_bps(0), None);
    }

    #[test]
    fn an_interval_holds_its_start_and_not_its_end() {
        let starts = [99, 100, 199, 200].map(|ns| Time(ns).start_of(Duration(100)).nanos());
        assert_eq!(starts, [0, 100, 100, 200]);
    }

    #[test]
    fn micros_round_down_at_the_boundary() {
        assert_eq!(Time::from_nanos(1_999).micros(), 1);
        assert_eq!(Time::from_nanos(2_000).micros(), 2);
    }

    #[test]
    fn bytes_in_inverts_transmission() {
        let rate = Rate::from_bps(10_000_000_000).unwrap();
        assert_eq!(rate.bytes_in(Duration::from_micros(200)), 250_000);
    }
}
