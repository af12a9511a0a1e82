// SPDX-License-Identifier: MIT OR Apache-2.0
//! Meters: two rates, three colours (RFC 2698), colour blind, with BMv2's arithmetic (`src/bm_sim/meters.cpp`).
//!
//! The total credit of a bucket is `rate * now`, rounded down once, so rounding errors do not add up. Its clock ticks
//! in microseconds. The bucket of the peak rate comes first. A packet that it refuses is red and takes nothing from the
//! other bucket.

use marklab_p4::ir::{self, ExternCall, Place, Program, StmtKind, Unit, visit};
use marklab_units::Time;
use thiserror::Error;

/// Rate and depth of a token bucket, in the unit of the meter: packets or bytes.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct MeterRate {
    /// Tokens per microsecond, as in BMv2's control plane.
    pub units_per_us: f64,
    /// Largest number of tokens.
    pub burst: u64,
}

/// Settings of a meter cell.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct MeterRates {
    /// Packets above this rate are yellow.
    pub committed: MeterRate,
    /// Packets above this rate are red.
    pub peak: MeterRate,
}

/// Why a meter refused an operation.
#[derive(Clone, PartialEq, Debug, Error)]
pub enum MeterError {
    /// The index is out of range, or the table has no such entry.
    #[error("meter `{meter}` has no cell {index}")]
    NoCell {
        /// Meter.
        meter: String,
        /// Cell asked for.
        index: u64,
    },
    /// Rates that no meter can have.
    #[error("meter `{meter}`: {problem}")]
    Rates {
        /// Meter.
        meter: String,
        /// What is wrong with them.
        problem: String,
    },
}

impl MeterRates {
    /// Checks that both rates are numbers and the peak rate is not below the committed one.
    pub(crate) fn check(&self, meter: &str) -> Result<(), MeterError> {
        let refuse = |problem: String| Err(MeterError::Rates { meter: meter.to_owned(), problem });
        let (committed, peak) = (self.committed.units_per_us, self.peak.units_per_us);
        for rate in [committed, peak] {
            if !rate.is_finite() || rate < 0.0 {
                return refuse(format!("a rate must be a finite number of at least 0, not {rate}"));
            }
        }
        if peak < committed {
            return refuse(format!("the peak rate {peak} is below the committed rate {committed}"));
        }
        Ok(())
    }
}

/// Colours as numbers, as a program sees them.
pub(crate) mod colour {
    pub(crate) const GREEN: u64 = 0;
    pub(crate) const YELLOW: u64 = 1;
    pub(crate) const RED: u64 = 2;
}

#[derive(Clone, Debug)]
struct Bucket {
    rate: MeterRate,
    tokens: u64,
    /// Tokens credited since time 0, including those that did not fit.
    credited: u64,
}

impl Bucket {
    fn full(rate: MeterRate) -> Bucket {
        Bucket { rate, tokens: rate.burst, credited: 0 }
    }

    /// Takes `amount` tokens, if there are enough; returns whether there were.
    fn take(&mut self, now: Time, amount: u64) -> bool {
        let credited = (now.micros() as f64 * self.rate.units_per_us) as u64;
        let new = credited.saturating_sub(self.credited);
        self.credited = credited;
        self.tokens = self.tokens.saturating_add(new).min(self.rate.burst);
        let enough = amount <= self.tokens;
        if enough {
            self.tokens -= amount;
        }
        enough
    }
}

/// One cell of a meter. All packets are green until it is configured.
#[derive(Clone, Default, Debug)]
pub(crate) struct Meter(Option<Box<Buckets>>);

#[derive(Clone, Debug)]
struct Buckets {
    committed: Bucket,
    peak: Bucket,
}

impl Meter {
    pub(crate) fn set_rates(&mut self, rates: Option<MeterRates>) {
        self.0 = rates.map(|MeterRates { committed, peak }| {
            Box::new(Buckets { committed: Bucket::full(committed), peak: Bucket::full(peak) })
        });
    }

    pub(crate) fn rates(&self) -> Option<MeterRates> {
        self.0.as_ref().map(|buckets| MeterRates { committed: buckets.committed.rate, peak: buckets.peak.rate })
    }

    /// Colour of a packet that takes `amount` tokens.
    pub(crate) fn execute(&mut self, now: Time, amount: u64) -> u64 {
        let Some(buckets) = &mut self.0 else { return colour::GREEN };
        if !buckets.peak.take(now, amount) {
            colour::RED
        } else if !buckets.committed.take(now, amount) {
            colour::YELLOW
        } else {
            colour::GREEN
        }
    }
}

/// The cells of a `meter`, or of a `direct_meter`: one for each entry of its table.
#[derive(Clone, Debug)]
pub(crate) struct Meters {
    unit: Unit,
    pub(crate) cells: Vec<Meter>,
}

impl Meters {
    pub(crate) fn new(unit: Unit, cells: usize) -> Meters {
        Meters { unit, cells: vec![Meter::default(); cells] }
    }

    /// Colour of a packet of `bytes` bytes, or `None` if the index is out of range.
    pub(crate) fn execute(&mut self, index: u64, now: Time, bytes: u64) -> Option<u64> {
        let amount = if self.unit == Unit::Bytes { bytes } else { 1 };
        let cell = self.cells.get_mut(usize::try_from(index).ok()?)?;
        Some(cell.execute(now, amount))
    }
}

/// Places for the colour of a table's direct meter on a hit. They get it even if the action that runs does not read it:
/// BMv2 stores the colour before the action, in the destination that the table's actions name.
pub(crate) fn colour_places(program: &Program, table: &ir::Table) -> Vec<Place> {
    let mut places: Vec<Place> = Vec::new();
    for action in &table.actions {
        visit::statements(&program.actions[action.action.index()].body, &mut |stmt| {
            if let StmtKind::Extern(ExternCall::DirectMeterRead { meter, dst }) = &stmt.kind
                && table.direct_meter == Some(*meter)
                && !places.contains(dst)
            {
                places.push(dst.clone());
            }
        });
    }
    places
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn rates(committed: (f64, u64), peak: (f64, u64)) -> MeterRates {
        let rate = |(units_per_us, burst)| MeterRate { units_per_us, burst };
        MeterRates { committed: rate(committed), peak: rate(peak) }
    }

    fn meter(rates: MeterRates) -> Meter {
        let mut meter = Meter::default();
        meter.set_rates(Some(rates));
        meter
    }

    fn at_us(us: u64) -> Time {
        Time::from_nanos(us * 1000)
    }

    #[test]
    fn an_unconfigured_meter_is_green() {
        assert_eq!(Meter::default().execute(Time::ZERO, u64::MAX), colour::GREEN);
    }

    #[test]
    fn a_burst_is_green_then_yellow_then_red() {
        let mut meter = meter(rates((0.0, 2), (0.0, 3)));
        let colours = [(); 5].map(|()| meter.execute(at_us(1), 1));
        // The third packet takes the last token of the peak bucket; the others find it empty.
        assert_eq!(colours, [0, 0, 1, 2, 2]);
    }

    #[test]
    fn a_token_comes_back_at_its_microsecond_and_not_before() {
        // One packet every 4 us; the clock ticks in whole microseconds.
        let colour = |ns| {
            let mut meter = meter(rates((0.25, 1), (1e6, 1000)));
            meter.execute(Time::from_nanos(4_000), 1);
            meter.execute(Time::from_nanos(ns), 1)
        };
        assert_eq!([7_999, 8_000, 8_001].map(colour), [colour::YELLOW, colour::GREEN, colour::GREEN]);
    }

    #[test]
    fn rates_must_be_numbers_in_order() {
        let problem = |rates: MeterRates| rates.check("m").err().map(|error| error.to_string());
        assert_eq!(problem(rates((1.0, 1), (1.0, 1))), None);
        let below = "meter `m`: the peak rate 0.5 is below the committed rate 1";
        assert_eq!(problem(rates((1.0, 1), (0.5, 1))).as_deref(), Some(below));
        for rate in [f64::NAN, f64::INFINITY, -1.0] {
            assert!(problem(rates((rate, 1), (1.0, 1))).is_some());
        }
    }

    /// `Meter::execute` of BMv2, line by line. Its rates are in BMv2's order, peak first.
    fn bmv2(state: &mut [(f64, u64, u64, u64); 2], now_us: u64, input: u64) -> u64 {
        let mut colour = 0;
        for (number, (info_rate, burst_size, tokens, tokens_last)) in state.iter_mut().enumerate() {
            let tokens_since_init = (now_us as f64 * *info_rate) as u64;
            let new_tokens = tokens_since_init - *tokens_last;
            *tokens_last = tokens_since_init;
            *tokens = (*tokens + new_tokens).min(*burst_size);
            if *tokens < input {
                colour = 2 - number as u64;
                break;
            }
            *tokens -= input;
        }
        colour
    }

    proptest! {
        #[test]
        fn colours_are_those_of_bmv2(
            committed in (0.0..20.0, 0..20_000u64),
            more in (0.0..20.0, 0..20_000u64),
            packets in prop::collection::vec((0..3_000_000u64, 64..9000u64), 1..60),
        ) {
            let peak = (committed.0 + more.0, more.1);
            let mut meter = meter(rates(committed, peak));
            let mut model = [peak, committed].map(|(rate, burst)| (rate, burst, burst, 0));
            let mut now = Time::ZERO;
            for (gap_ns, bytes) in packets {
                now = Time::from_nanos(now.nanos() + gap_ns);
                prop_assert_eq!(meter.execute(now, bytes), bmv2(&mut model, now.micros(), bytes));
            }
        }
    }
}
