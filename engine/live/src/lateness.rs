// SPDX-License-Identifier: MIT OR Apache-2.0
//! How late events were handled.

use marklab_units::Duration;

/// Buckets per doubling: a quantile is exact within 1/16.
const PER_OCTAVE: u64 = 16;

/// A histogram of delays. Its size does not depend on their number.
#[derive(Clone, Debug)]
pub struct Lateness {
    counts: Vec<u64>,
    total: u64,
    max: Duration,
}

impl Default for Lateness {
    fn default() -> Lateness {
        Lateness { counts: vec![0; bucket(u64::MAX) + 1], total: 0, max: Duration::ZERO }
    }
}

impl Lateness {
    /// Counts an event that was handled late by this much.
    #[inline]
    pub(crate) fn record(&mut self, late: Duration) {
        self.counts[bucket(late.nanos())] += 1;
        self.total += 1;
        self.max = self.max.max(late);
    }

    /// Number of events.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// The largest delay.
    pub fn max(&self) -> Duration {
        self.max
    }

    /// The delay that a fraction `part` of events does not exceed, rounded up by 1/16 at most; `None` without events.
    pub fn quantile(&self, part: f64) -> Option<Duration> {
        let rank = ((self.total as f64 * part).ceil() as u64).max(1);
        let mut seen = 0;
        let reached = self.counts.iter().position(|count| {
            seen += count;
            seen >= rank
        })?;
        Some(Duration::from_nanos(largest_in(reached)).min(self.max))
    }
}

/// Bucket of a number: itself below 16, then 16 per octave.
fn bucket(ns: u64) -> usize {
    if ns < PER_OCTAVE {
        return ns as usize;
    }
    let octave = u64::from(ns.ilog2()) - u64::from(PER_OCTAVE.ilog2());
    ((octave + 1) * PER_OCTAVE + ((ns >> octave) - PER_OCTAVE)) as usize
}

/// Largest number in a bucket.
fn largest_in(bucket: usize) -> u64 {
    let bucket = bucket as u64;
    if bucket < PER_OCTAVE {
        return bucket;
    }
    let octave = bucket / PER_OCTAVE - 1;
    let first = (PER_OCTAVE + bucket % PER_OCTAVE) << octave;
    first + ((1 << octave) - 1)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn without_anything_there_is_no_quantile() {
        assert_eq!(Lateness::default().quantile(0.5), None);
    }

    #[test]
    fn a_bucket_ends_where_the_next_begins() {
        for ns in [0, 15, 16, 17, 31, 32, 33, 1_000, 1 << 40, u64::MAX - 1] {
            let end = largest_in(bucket(ns));
            assert!(end >= ns);
            assert_eq!(bucket(end), bucket(ns));
            assert!(end == u64::MAX || bucket(end + 1) == bucket(ns) + 1);
        }
    }

    proptest! {
        /// Oracle: the sorted numbers.
        #[test]
        fn quantiles_are_exact_within_a_sixteenth(
            mut all in prop::collection::vec(0..u64::MAX / 2, 1..200),
            part in 0.0..=1.0f64,
        ) {
            let mut lateness = Lateness::default();
            all.iter().for_each(|&ns| lateness.record(Duration::from_nanos(ns)));
            all.sort_unstable();
            let rank = ((all.len() as f64 * part).ceil() as usize).max(1);
            let exact = all[rank - 1];
            let found = lateness.quantile(part).unwrap().nanos();
            prop_assert!(found >= exact && found - exact <= exact / 16);
            prop_assert_eq!(lateness.max().nanos(), all[all.len() - 1]);
            prop_assert_eq!(lateness.total(), all.len() as u64);
        }
    }
}
