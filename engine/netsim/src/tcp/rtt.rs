// SPDX-License-Identifier: MIT OR Apache-2.0
//! Retransmission timeout (RFC 6298).

use marklab_units::Duration;

use super::stack::RtoEstimator;

/// Bounds of the timeout.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RtoConfig {
    /// Smallest timeout. RFC 6298 asks for 1 s; data centres use milliseconds.
    pub min: Duration,
    /// Largest timeout, also after backing off.
    pub max: Duration,
    /// Timeout while there is no sample yet.
    pub initial: Duration,
    /// How samples become a timeout.
    pub estimator: RtoEstimator,
}

/// The estimate, in ns, once there is a sample.
#[derive(Clone, Copy, Debug)]
enum Estimate {
    Rfc6298 {
        srtt: u64,
        rttvar: u64,
    },
    /// As Linux has it: `srtt` is scaled by 8, `mdev` and the others by 4. `mdev_max` is the largest of this round,
    /// which ends when data beyond `round_end` are acknowledged.
    Linux {
        srtt8: u64,
        mdev4: u64,
        mdev_max4: u64,
        rttvar4: u64,
        round_end: u64,
    },
}

impl Estimate {
    fn first(config: &RtoConfig, rtt: u64, snd_nxt: u64) -> Estimate {
        match config.estimator {
            RtoEstimator::Rfc6298 => Estimate::Rfc6298 { srtt: rtt, rttvar: rtt / 2 },
            RtoEstimator::Linux => {
                let rttvar4 = (2 * rtt).max(config.min.nanos());
                Estimate::Linux { srtt8: 8 * rtt, mdev4: 2 * rtt, mdev_max4: rttvar4, rttvar4, round_end: snd_nxt }
            }
        }
    }

    /// Takes another sample. `floor` is Linux's smallest variation, scaled as it is.
    #[inline]
    fn improve(&mut self, rtt: u64, snd_una: u64, snd_nxt: u64, floor: u64) {
        match self {
            Estimate::Rfc6298 { srtt, rttvar } => {
                *rttvar = (3 * *rttvar + srtt.abs_diff(rtt)) / 4;
                *srtt = (7 * *srtt + rtt) / 8;
            }
            Estimate::Linux { srtt8, mdev4, mdev_max4, rttvar4, round_end } => {
                let error = rtt as i64 - (*srtt8 >> 3) as i64;
                let change = error.abs() - (*mdev4 >> 2) as i64;
                // A round trip that gets shorter is no reason for a longer timeout. Without a branch, since half of all
                // samples are shorter.
                let scale = if error < 0 && change > 0 { 3 } else { 0 };
                *srtt8 = (*srtt8 as i64 + error).max(1) as u64;
                *mdev4 = (*mdev4 as i64 + (change >> scale)) as u64;
                *mdev_max4 = (*mdev_max4).max(*mdev4);
                *rttvar4 = (*rttvar4).max(*mdev_max4);
                if snd_una > *round_end {
                    *rttvar4 -= rttvar4.saturating_sub(*mdev_max4) >> 2;
                    (*mdev_max4, *round_end) = (floor, snd_nxt);
                }
            }
        }
    }
}

/// Smoothed round-trip time, its variation and the resulting timeout.
#[derive(Clone, Debug)]
pub struct RttEstimator {
    config: RtoConfig,
    estimate: Option<Estimate>,
    minimum: Option<Duration>,
    /// Number of timeouts in a row.
    backoff: u32,
    /// What follows from these: the timeout without and with backing off. All are asked for more often than they change.
    srtt: Option<Duration>,
    base: Duration,
    rto: Duration,
}

impl RttEstimator {
    /// An estimator without samples.
    pub fn new(config: RtoConfig) -> RttEstimator {
        let base = config.initial.min(config.max);
        RttEstimator { config, estimate: None, minimum: None, backoff: 0, srtt: None, base, rto: base }
    }

    /// Takes a sample outside the data of a stream.
    pub fn sample(&mut self, rtt: Duration) {
        self.sample_of(rtt, 0, 0);
    }

    /// Takes a sample (RFC 6298 section 2), which also ends the back-off. The stream offsets are those after the
    /// acknowledgement that gave it.
    pub fn sample_of(&mut self, rtt: Duration, snd_una: u64, snd_nxt: u64) {
        self.note_minimum(rtt);
        let rtt = rtt.nanos();
        let RtoConfig { min, max, .. } = self.config;
        let estimate = match &mut self.estimate {
            Some(estimate) => {
                estimate.improve(rtt, snd_una, snd_nxt, min.nanos());
                estimate
            }
            None => self.estimate.insert(Estimate::first(&self.config, rtt, snd_nxt)),
        };
        let (srtt, timeout) = match *estimate {
            Estimate::Rfc6298 { srtt, rttvar } => (srtt, (srtt + 4 * rttvar).max(min.nanos())),
            Estimate::Linux { srtt8, rttvar4, .. } => (srtt8 >> 3, (srtt8 >> 3) + rttvar4),
        };
        self.srtt = Some(Duration::from_nanos(srtt));
        self.base = Duration::from_nanos(timeout).min(max);
        self.rto = self.base;
        self.backoff = 0;
    }

    /// Notes a round trip that may be the shortest, though it gives no sample.
    pub fn note_minimum(&mut self, rtt: Duration) {
        self.minimum = Some(self.minimum.map_or(rtt, |minimum| minimum.min(rtt)));
    }

    /// Doubles the timeout (section 5.5).
    pub fn back_off(&mut self) {
        self.backoff = (self.backoff + 1).min(32);
        self.rto = self.base.saturating_mul(1 << self.backoff).min(self.config.max);
    }

    /// The smoothed round-trip time, if there is a sample.
    pub fn srtt(&self) -> Option<Duration> {
        self.srtt
    }

    /// The shortest sample.
    pub fn minimum(&self) -> Option<Duration> {
        self.minimum
    }

    /// The smallest timeout.
    pub fn floor_rto(&self) -> Duration {
        self.config.min
    }

    /// The timeout.
    pub fn rto(&self) -> Duration {
        self.rto
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn estimator(min_us: u64) -> RttEstimator {
        let us = Duration::from_micros;
        RttEstimator::new(RtoConfig {
            min: us(min_us),
            max: us(1_000_000),
            initial: us(3_000),
            estimator: RtoEstimator::Rfc6298,
        })
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
