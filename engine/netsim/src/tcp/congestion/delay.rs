// SPDX-License-Identifier: MIT OR Apache-2.0
//! Delay as a sign of congestion (EAR, APNet 2017, Eq. 2).

use marklab_units::Duration;

/// Signals congestion when a one-way delay exceeds the base delay by more than a threshold. The base is the shortest
/// delay so far, unless it is known before.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DelaySignal {
    threshold: Duration,
    base: Option<Duration>,
    known: bool,
}

impl DelaySignal {
    /// The signal of a connection without samples.
    pub fn new(threshold: Duration) -> DelaySignal {
        DelaySignal { threshold, base: None, known: false }
    }

    /// Knows the base delay of full segments from here on. Short segments, which are faster, do not lower it.
    pub fn know(&mut self, base: Duration) {
        (self.base, self.known) = (Some(base), true);
    }

    /// Takes a one-way delay, and returns whether it signals congestion.
    pub fn exceeds(&mut self, one_way: Duration) -> bool {
        let base = self.base.map_or(one_way, |base| if self.known { base } else { base.min(one_way) });
        self.base = Some(base);
        one_way > base + self.threshold
    }

    /// The base delay, if it is known or there was a delay.
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

    #[test]
    fn no_delay_changes_a_base_that_is_known() {
        let ns = Duration::from_nanos;
        let mut signal = DelaySignal::new(ns(100));
        signal.know(ns(50));
        for (delay, congested) in [(150, false), (151, true), (40, false), (150, false), (151, true)] {
            assert_eq!((signal.exceeds(ns(delay)), signal.base()), (congested, Some(ns(50))), "{delay}");
        }
    }
}
