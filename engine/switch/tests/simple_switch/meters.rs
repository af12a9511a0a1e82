// SPDX-License-Identifier: MIT OR Apache-2.0
//! Meters use the clock of the stage that runs them.

use marklab_pipeline::{MeterRate, MeterRates, Packet};
use marklab_tm::Limit;

use crate::support::*;

/// One packet per millisecond is green, any other yellow.
const RATES: MeterRates = MeterRates {
    committed: MeterRate { units_per_us: 0.001, burst: 1 },
    peak: MeterRate { units_per_us: 1.0, burst: 1000 },
};
const GREEN: u8 = 0;
const YELLOW: u8 = 1;

#[test]
fn ingress_meters_arrivals_and_egress_departures() {
    for mut switch in switches_with("meters.p4", &[Limit::Packets(10)]) {
        let state = switch.state_mut();
        for name in ["arrivals", "departures"] {
            let meter = state.find_meter(name).unwrap();
            state.set_meter_rates(meter, 0, Some(RATES)).unwrap();
        }
        for ns in [0, 999_999, 1_000_000] {
            assert_eq!(offer(&mut switch, ns, 0, Packet::new(&[9, 9], 58)), Ok(0));
        }
        let colours = [5_000_000, 6_000_000, 6_999_999].map(|ns| take(&mut switch, ns, 0).to_vec()[..2].to_vec());
        assert_eq!(colours, [[GREEN, GREEN], [YELLOW, GREEN], [GREEN, YELLOW]]);
    }
}
