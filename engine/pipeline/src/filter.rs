// SPDX-License-Identifier: MIT OR Apache-2.0
//! Low-pass filters (TNA's `Lpf`), and low-pass filters followed by a random drop (`Wred`).
//!
//! The average a follows the samples v in continuous time: a += (v - a) * (1 - exp(-dt / tau)). If v > a, tau is the
//! time constant for gain, else the one for decay. The first sample becomes the average. Of Tofino's filters only the
//! names of these settings are known. This module implements their meaning in full precision, not the chip's
//! arithmetic.
//!
//! A `Wred` drops nothing while the average is below its minimum, and everything from its maximum on. Between them it
//! compares an 8-bit random number with a probability, which rises linearly from 0 to the largest probability.

use marklab_p4::ir;
use marklab_units::Time;
use rand_xoshiro::Xoshiro256PlusPlus;
use thiserror::Error;

use crate::random::draw;

/// Settings of a filter's cell.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct FilterSettings {
    /// Time constant in ns while samples are above the average.
    pub gain_ns: f64,
    /// Time constant in ns otherwise.
    pub decay_ns: f64,
    /// `Lpf`: places by which the average is shifted right.
    pub scale_down: u8,
    /// `Wred`: thresholds of its drops.
    pub drops: Option<DropSettings>,
}

/// Thresholds of a `Wred`, in the unit of the samples.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct DropSettings {
    /// Below this average it drops nothing.
    pub min: u64,
    /// From this average on it drops everything.
    pub max: u64,
    /// Probability right below the maximum, more than 0 and at most 1.
    pub max_probability: f64,
}

/// Why a filter refused an operation.
#[derive(Clone, PartialEq, Debug, Error)]
pub enum FilterError {
    /// The index is out of range.
    #[error("filter `{filter}` has no cell {index}")]
    NoCell {
        /// Filter.
        filter: String,
        /// Cell asked for.
        index: u64,
    },
    /// Settings that the filter cannot have.
    #[error("filter `{filter}`: {problem}")]
    Settings {
        /// Filter.
        filter: String,
        /// What is wrong with them.
        problem: &'static str,
    },
}

impl FilterSettings {
    /// Checks that a filter can have these settings: numbers within their ranges, and equal thresholds only with a
    /// probability of 1, as Tofino's driver requires.
    pub(crate) fn check(&self, filter: &ir::Filter) -> Result<(), FilterError> {
        let drops = self.drops;
        let problem = if ![self.gain_ns, self.decay_ns].iter().all(|tau| tau.is_finite() && *tau >= 0.0) {
            Some("a time constant must be a finite number of at least 0")
        } else if drops.is_some() != filter.wred.is_some() {
            Some("a `Wred` needs thresholds, and an `Lpf` has none")
        } else if self.scale_down > 63 || filter.wred.is_some() && self.scale_down > 0 {
            Some("only an `Lpf` scales down, by 63 places at most")
        } else if drops.is_some_and(|drops| drops.min > drops.max) {
            Some("the minimum is above the maximum")
        } else if drops.is_some_and(|drops| !(drops.max_probability > 0.0 && drops.max_probability <= 1.0)) {
            Some("the largest probability must be above 0 and at most 1")
        } else if drops.is_some_and(|drops| drops.min == drops.max && drops.max_probability < 1.0) {
            Some("equal thresholds need a largest probability of 1")
        } else {
            None
        };
        match problem {
            Some(problem) => Err(FilterError::Settings { filter: filter.name.clone(), problem }),
            None => Ok(()),
        }
    }
}

/// One cell. Until it is set, its output is its input, and it drops nothing.
#[derive(Clone, Default, Debug)]
pub(crate) struct Cell(Option<Box<Average>>);

#[derive(Clone, Debug)]
struct Average {
    settings: FilterSettings,
    /// The average, and the time of the last sample.
    latest: Option<(f64, Time)>,
}

impl Cell {
    pub(crate) fn set(&mut self, settings: Option<FilterSettings>) {
        self.0 = settings.map(|settings| Box::new(Average { settings, latest: None }));
    }

    /// Takes a sample. Returns the average, or for a `Wred` its value for a drop or for no drop.
    fn execute(&mut self, now: Time, sample: u64, wred: Option<(u8, u8)>, random: &mut Xoshiro256PlusPlus) -> u64 {
        let Some(cell) = &mut self.0 else { return wred.map_or(sample, |(_, no_drop)| no_drop.into()) };
        let average = cell.take(now, sample as f64);
        match (wred, cell.settings.drops) {
            (Some((drop, no_drop)), Some(settings)) => {
                u64::from(if settings.drops(average, random) { drop } else { no_drop })
            }
            _ => average as u64 >> cell.settings.scale_down,
        }
    }
}

impl Average {
    fn take(&mut self, now: Time, sample: f64) -> f64 {
        let average = match self.latest {
            None => sample,
            Some((average, then)) => {
                let tau = if sample > average { self.settings.gain_ns } else { self.settings.decay_ns };
                let elapsed = now.since(then).nanos() as f64;
                // With a time constant of 0 the average is the sample, even if no time has passed.
                let kept = if tau > 0.0 { (-elapsed / tau).exp() } else { 0.0 };
                average + (sample - average) * (1.0 - kept)
            }
        };
        self.latest = Some((average, now));
        average
    }
}

impl DropSettings {
    fn drops(&self, average: f64, random: &mut Xoshiro256PlusPlus) -> bool {
        let (min, max) = (self.min as f64, self.max as f64);
        if average < min || average >= max {
            return average >= max;
        }
        let probability = self.max_probability * (average - min) / (max - min);
        draw(random, 0, 255).is_some_and(|number| (number as f64) < probability * 256.0)
    }
}

/// The cells of an `Lpf` or `Wred`.
#[derive(Clone, Debug)]
pub(crate) struct Filter {
    wred: Option<(u8, u8)>,
    pub(crate) cells: Vec<Cell>,
}

impl Filter {
    pub(crate) fn new(filter: &ir::Filter, cells: usize) -> Filter {
        Filter { wred: filter.wred, cells: vec![Cell::default(); cells] }
    }

    /// Takes a sample. Returns `None` if the index is out of range.
    pub(crate) fn execute(
        &mut self,
        index: u64,
        now: Time,
        sample: u64,
        random: &mut Xoshiro256PlusPlus,
    ) -> Option<u64> {
        let cell = self.cells.get_mut(usize::try_from(index).ok()?)?;
        Some(cell.execute(now, sample, self.wred, random))
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;

    const LPF: FilterSettings = FilterSettings { gain_ns: 1000.0, decay_ns: 4000.0, scale_down: 0, drops: None };

    fn random() -> Xoshiro256PlusPlus {
        Xoshiro256PlusPlus::seed_from_u64(1)
    }

    fn set(settings: FilterSettings) -> Cell {
        let mut cell = Cell::default();
        cell.set(Some(settings));
        cell
    }

    fn wred(min: u64, max: u64, max_probability: f64) -> FilterSettings {
        let drops = Some(DropSettings { min, max, max_probability });
        FilterSettings { gain_ns: 0.0, decay_ns: 0.0, scale_down: 0, drops }
    }

    fn take(cell: &mut Cell, ns: u64, sample: u64) -> u64 {
        cell.execute(Time::from_nanos(ns), sample, None, &mut random())
    }

    /// A step from 0 to v is v (1 - exp(-t / tau)) after a time t, for any number of samples.
    #[test]
    fn a_step_is_followed_by_its_time_constant() {
        for samples in [1, 10, 1000] {
            let mut cell = set(LPF);
            take(&mut cell, 0, 0);
            let up = (1..=samples).map(|number| take(&mut cell, 2000 * number / samples, 1_000_000)).last().unwrap();
            let expected = 1e6 * (1.0 - (-2.0f64).exp());
            assert!((up as f64 - expected).abs() < 2.0, "{up}, not {expected}");
            let down = take(&mut cell, 6000, 0);
            assert!((down as f64 - expected * (-1.0f64).exp()).abs() < 2.0, "{down}");
        }
    }

    #[test]
    fn the_first_sample_is_the_average_and_the_output_is_scaled_down() {
        let mut cell = set(FilterSettings { scale_down: 3, ..LPF });
        assert_eq!(take(&mut cell, 5, 803), 100);
        assert_eq!(take(&mut Cell::default(), 5, 803), 803, "not set");
    }

    #[test]
    fn a_wred_of_one_threshold_drops_from_there_on() {
        let mut cell = set(wred(100, 100, 1.0));
        let mut drops = |sample| cell.execute(Time::ZERO, sample, Some((7, 3)), &mut random());
        assert_eq!([99, 100, 101].map(&mut drops), [3, 7, 7]);
        assert_eq!(Cell::default().execute(Time::ZERO, 1 << 20, Some((7, 3)), &mut random()), 3, "not set");
    }

    #[test]
    fn between_its_thresholds_a_wred_drops_in_proportion() {
        let mut random = random();
        for (sample, expected) in [(99, 0.0), (150, 0.1), (199, 0.2 * 0.99), (200, 1.0)] {
            let mut cell = set(wred(100, 200, 0.2));
            let mut execute = || cell.execute(Time::ZERO, sample, Some((1, 0)), &mut random);
            let dropped: u64 = (0..20_000).map(|_| execute()).sum();
            let share = dropped as f64 / 20_000.0;
            // Four standard deviations, and one step of an 8-bit number.
            assert!((share - expected).abs() < 4.0 * (0.25f64 / 20_000.0).sqrt() + 1.0 / 256.0, "{sample}: {share}");
        }
    }

    #[test]
    fn refusals_say_what_is_wrong() {
        let filter =
            |wred| ir::Filter { name: "f".into(), ty: ir::Ty::bits(32), size: 1, wred, annotations: Vec::new() };
        let (lpf, red) = (filter(None), filter(Some((1, 0))));
        assert_eq!(LPF.check(&lpf), Ok(()));
        assert_eq!(wred(5, 5, 1.0).check(&red), Ok(()));
        for (settings, filter) in [
            (FilterSettings { gain_ns: f64::NAN, ..LPF }, &lpf),
            (FilterSettings { decay_ns: -1.0, ..LPF }, &lpf),
            (FilterSettings { scale_down: 64, ..LPF }, &lpf),
            (LPF, &red),
            (wred(1, 2, 0.5), &lpf),
            (FilterSettings { scale_down: 1, ..wred(1, 2, 0.5) }, &red),
            (wred(3, 2, 0.5), &red),
            (wred(2, 2, 0.5), &red),
            (wred(1, 2, 0.0), &red),
            (wred(1, 2, 1.01), &red),
        ] {
            assert!(settings.check(filter).is_err(), "{settings:?}");
        }
    }
}
