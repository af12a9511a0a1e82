// SPDX-License-Identifier: MIT OR Apache-2.0
//! Delay as a sign of congestion (EAR, APNet 2017, Eq. 2).

use marklab_units::Duration;

/// Signals congestion when a one-way delay exceeds the shortest delay so far by more than a threshold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DelaySignal {
    threshold: Duration,
    base: Option<Duration>,
}

impl DelaySignal {
    /// The signal of a connection without samples.
    pub fn new(threshold: Duration) -> DelaySignal {
        DelaySignal { threshold, base: None }
    }

    /// Takes a one-way delay, and returns whether it signals congestion.
    pub fn exceeds(&mut self, one_way: Duration) -> bool {
        let base = self.base.map_or(one_way, |base| base.min(one_way));
        self.base = Some(base);
        one_way > base + self.threshold
    }

    /// The shortest delay so far.
    pub fn base(&self) -> Option<Duration> {
        self.base
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_threshold_itself_is_no_congestion() {
        let ns = Duration::from_nanos;
        let mut signal = DelaySignal::new(ns(100));
        assert_eq!(signal.base(), None);
        for (delay, congested, base) in
            [(50, false, 50), (150, false, 50), (151, true, 50), (40, false, 40), (141, true, 40), (140, false, 40)]
        {
            assert_eq!((signal.exceeds(ns(delay)), signal.base()), (congested, Some(ns(base))), "{delay}");
        }
    }
}
