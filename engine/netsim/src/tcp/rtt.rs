// SPDX-License-Identifier: MIT OR Apache-2.0
//! Retransmission timeout (RFC 6298).

use marklab_units::Duration;

/// Bounds of the timeout.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RtoConfig {
    /// Smallest timeout. RFC 6298 asks for 1 s; data centres use milliseconds.
    pub min: Duration,
    /// Largest timeout, also after backing off.
    pub max: Duration,
    /// Timeout while there is no sample yet.
    pub initial: Duration,
}

/// Smoothed round-trip time, its variation and the resulting timeout.
#[derive(Clone, Debug)]
pub struct RttEstimator {
    config: RtoConfig,
    /// `srtt` and `rttvar` in ns, once there is a sample.
    smoothed: Option<(u64, u64)>,
    minimum: Option<Duration>,
    /// Number of timeouts in a row.
    backoff: u32,
}

impl RttEstimator {
    /// An estimator without samples.
    pub fn new(config: RtoConfig) -> RttEstimator {
        RttEstimator { config, smoothed: None, minimum: None, backoff: 0 }
    }

    /// Takes a sample (RFC 6298 section 2), which also ends the back-off.
    pub fn sample(&mut self, rtt: Duration) {
        self.minimum = Some(self.minimum.map_or(rtt, |minimum| minimum.min(rtt)));
        let rtt = rtt.nanos();
        self.smoothed = Some(match self.smoothed {
            None => (rtt, rtt / 2),
            Some((srtt, rttvar)) => {
                let rttvar = (3 * rttvar + srtt.abs_diff(rtt)) / 4;
                ((7 * srtt + rtt) / 8, rttvar)
            }
        });
        self.backoff = 0;
    }

    /// Doubles the timeout (section 5.5).
    pub fn back_off(&mut self) {
        self.backoff = (self.backoff + 1).min(32);
    }

    /// The smoothed round-trip time, if there is a sample.
    pub fn srtt(&self) -> Option<Duration> {
        self.smoothed.map(|(srtt, _)| Duration::from_nanos(srtt))
    }

    /// The shortest sample.
    pub fn minimum(&self) -> Option<Duration> {
        self.minimum
    }

    /// The timeout.
    pub fn rto(&self) -> Duration {
        let RtoConfig { min, max, initial } = self.config;
        let base = match self.smoothed {
            None => initial,
            Some((srtt, rttvar)) => Duration::from_nanos(srtt + 4 * rttvar).clamp(min, max),
        };
        base.saturating_mul(1 << self.backoff).min(max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn estimator(min_us: u64) -> RttEstimator {
        let us = Duration::from_micros;
        RttEstimator::new(RtoConfig { min: us(min_us), max: us(1_000_000), initial: us(3_000) })
    }

    #[test]
    fn the_first_sample_gives_three_times_the_rtt() {
        let mut rtt = estimator(0);
        assert_eq!(rtt.rto(), Duration::from_micros(3_000));
        rtt.sample(Duration::from_micros(100));
        assert_eq!(rtt.rto(), Duration::from_micros(300)); // srtt 100 + 4 * 50
        rtt.sample(Duration::from_micros(100));
        assert_eq!(rtt.rto(), Duration::from_micros(250)); // rttvar 3/4 of 50
    }

    #[test]
    fn the_minimum_and_backing_off_hold() {
        let mut rtt = estimator(10_000);
        rtt.sample(Duration::from_micros(100));
        assert_eq!(rtt.rto(), Duration::from_micros(10_000));
        rtt.back_off();
        rtt.back_off();
        assert_eq!(rtt.rto(), Duration::from_micros(40_000));
        for _ in 0..40 {
            rtt.back_off();
        }
        assert_eq!(rtt.rto(), Duration::from_micros(1_000_000));
        rtt.sample(Duration::from_micros(100));
        assert_eq!(rtt.rto(), Duration::from_micros(10_000));
    }
}
