// SPDX-License-Identifier: MIT OR Apache-2.0
//! Meters and direct meters.

use marklab_pipeline::{ActionSpec, EntryHandle, EntrySpec, KeyMatch, MeterRate, MeterRates, State};
use marklab_units::Time;
use num_bigint::BigUint;
use proptest::prelude::*;

use crate::twins::{PLAIN_PARSER, Twins};

/// Bytes of the frames that [`Twins::result`] sends.
const FRAME_BYTES: f64 = 7.0;

fn rates(committed: (f64, u64), peak: (f64, u64)) -> MeterRates {
    let rate = |(units_per_us, burst)| MeterRate { units_per_us, burst };
    MeterRates { committed: rate(committed), peak: rate(peak) }
}

fn set(state: &mut State, meter: &str, index: u64, rates: Option<MeterRates>) {
    let meter = state.find_meter(meter).unwrap();
    state.set_meter_rates(meter, index, rates).unwrap();
}

fn at_us(us: u64) -> Time {
    Time::from_nanos(us * 1000)
}

fn array() -> Twins {
    let ingress = "meter(4, MeterType.packets) m;
        meter(1, MeterType.bytes) in_bytes;
        apply {
            m.execute_meter((bit<32>)hdr.h.a, hdr.h.result);
            in_bytes.execute_meter(0, hdr.h.b);
        }";
    Twins::new(PLAIN_PARSER, ingress)
}

#[test]
fn a_cell_out_of_range_leaves_the_destination() {
    let mut twins = array();
    let results = [3, 4, 255].map(|index| twins.result(Time::ZERO, index, 0, 0));
    assert_eq!(results, [0, 99, 99]);
}

#[test]
fn cells_are_set_one_by_one_or_all_at_once() {
    let mut twins = array();
    let none_at_all = rates((0.0, 0), (0.0, 0));
    twins.control(|state| set(state, "m", 2, Some(none_at_all)));
    assert_eq!([1, 2, 3].map(|index| twins.result(Time::ZERO, index, 0, 0)), [0, 2, 0]);
    twins.control(|state| {
        let meter = state.find_meter("I.m").unwrap();
        state.set_all_meter_rates(meter, Some(none_at_all)).unwrap();
        state.set_meter_rates(meter, 3, None).unwrap();
        assert_eq!(state.meter_rates(meter, 1).unwrap(), Some(none_at_all));
        assert_eq!(state.meter_rates(meter, 3).unwrap(), None);
        let missing = state.meter_rates(meter, 4).unwrap_err().to_string();
        assert_eq!(missing, "meter `I.m` has no cell 4");
    });
    assert_eq!([1, 2, 3].map(|index| twins.result(Time::ZERO, index, 0, 0)), [2, 2, 0]);
}

#[test]
fn rates_that_are_refused_change_nothing() {
    let mut twins = array();
    let good = rates((1.0, 1), (2.0, 1));
    twins.control(|state| {
        let meter = state.find_meter("m").unwrap();
        state.set_meter_rates(meter, 0, Some(good)).unwrap();
        state.set_meter_rates(meter, 0, Some(rates((1.0, 1), (0.5, 1)))).unwrap_err();
        assert_eq!(state.meter_rates(meter, 0).unwrap(), Some(good));
    });
}

#[test]
fn a_byte_meter_takes_the_length_at_arrival() {
    for (burst, colour) in [(FRAME_BYTES as u64 - 1, 2), (FRAME_BYTES as u64, 0)] {
        let mut twins = array();
        twins.control(|state| set(state, "in_bytes", 0, Some(rates((0.0, burst), (0.0, burst)))));
        assert_eq!(twins.send(Time::ZERO, &[0; FRAME_BYTES as usize])[1], colour, "burst of {burst} bytes");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// Oracle: over a long time, the committed rate pays for the green packets, and the peak rate for all that are not
    /// red.
    #[test]
    fn rates_hold_in_the_long_run(committed in 0.001..0.2f64, more in 0.001..0.2f64, gap_us in 1..20u64) {
        let mut twins = array();
        twins.control(|state| set(state, "m", 0, Some(rates((committed, 5), (committed + more, 5)))));
        let packets = 400;
        let colours: Vec<u8> = (0..packets).map(|number| twins.result(at_us(number * gap_us), 0, 0, 0)).collect();
        let share = |limit| colours.iter().filter(|&&colour| colour <= limit).count() as f64;
        let paid = |rate: f64| (5.0 + rate * (packets * gap_us) as f64).min(packets as f64);
        // A full bucket overflows, so a rate above the arrival rate pays for all packets. Below the arrival rate, all
        // tokens are taken.
        let (not_red, green) = (share(1), share(0));
        prop_assert!((not_red - paid(committed + more)).abs() <= 6.0, "{not_red} of {}", paid(committed + more));
        prop_assert!((green - paid(committed)).abs() <= 6.0, "{green} of {}", paid(committed));
    }
}

/// A table whose first action writes the destination and then reads the direct meter. The second action does neither.
fn direct() -> Twins {
    let ingress = "direct_meter<bit<8>>(MeterType.packets) m;
        action read() { meta.seen = 7; m.read(meta.seen); }
        action pass() { }
        table t { key = { hdr.h.a : exact; } actions = { read; pass; } default_action = pass(); meters = m; }
        apply { meta.seen = 50; t.apply(); hdr.h.result = meta.seen; }";
    Twins::new(PLAIN_PARSER, ingress)
}

fn insert(state: &mut State, key: u32, action: &str) -> EntryHandle {
    let matches = vec![("hdr.h.a".to_owned(), KeyMatch::Exact(BigUint::from(key)))];
    let call = ActionSpec { action: action.to_owned(), params: Vec::new() };
    state.insert_entry("t", &EntrySpec { matches, call, priority: 0 }).unwrap()
}

#[test]
fn a_direct_meter_runs_on_hits_whatever_the_action() {
    let mut twins = direct();
    let two = rates((0.0, 1), (0.0, 2));
    twins.control(|state| {
        for (key, action) in [(1, "read"), (2, "pass")] {
            let handle = insert(state, key, action);
            set(state, "m", handle.0.into(), Some(two));
        }
    });
    for key in [1, 2] {
        let colours = [(); 4].map(|()| twins.result(at_us(3), key, 0, 0));
        assert_eq!(colours, [0, 1, 2, 2], "key {key}");
    }
    assert_eq!(twins.result(at_us(3), 3, 0, 0), 50, "a miss leaves the destination");
}

#[test]
fn a_new_entry_has_a_meter_without_rates() {
    let mut twins = direct();
    let handle = twins.control(|state| {
        let handle = insert(state, 1, "read");
        set(state, "m", handle.0.into(), Some(rates((0.0, 0), (0.0, 0))));
        handle
    });
    assert_eq!(twins.result(Time::ZERO, 1, 0, 0), 2);
    twins.control(|state| {
        let (table, meter) = (state.find_table("t").unwrap(), state.find_meter("m").unwrap());
        state.table_mut(table).delete(handle).unwrap();
        let gone = state.meter_rates(meter, handle.0.into()).unwrap_err().to_string();
        assert_eq!(gone, format!("meter `I.m` has no cell {}", handle.0));
        assert_eq!(insert(state, 1, "read"), handle, "the number is used again");
    });
    assert_eq!(twins.result(Time::ZERO, 1, 0, 0), 0);
}
