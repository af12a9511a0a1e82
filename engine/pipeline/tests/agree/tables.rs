// SPDX-License-Identifier: MIT OR Apache-2.0
//! Behaviour of tables apart from the choice of the best entry: order, sizes, entries of the source, refusals.

use std::sync::Arc;

use marklab_pipeline::{ActionSpec, ControlError, EntryHandle, EntrySpec, KeyMatch, Layout, State};
use marklab_units::Time;
use num_bigint::BigUint;

use crate::twins::{PLAIN_PARSER, Twins, compiled, source};

fn number(value: u32) -> BigUint {
    BigUint::from(value)
}

fn set(value: u32) -> ActionSpec {
    ActionSpec { action: "set".into(), params: vec![("v".into(), number(value))] }
}

fn named(action: &str) -> ActionSpec {
    ActionSpec { action: action.into(), params: Vec::new() }
}

fn insert(
    state: &mut State,
    matches: &[(&str, KeyMatch)],
    call: ActionSpec,
    priority: u32,
) -> Result<EntryHandle, ControlError> {
    let matches = matches.iter().map(|(name, value)| (format!("hdr.h.{name}"), value.clone())).collect();
    state.insert_entry("t", &EntrySpec { matches, call, priority })
}

fn ternary(value: u32, mask: u32) -> KeyMatch {
    KeyMatch::Ternary { value: number(value), mask: number(mask) }
}

fn range(lo: u32, hi: u32) -> KeyMatch {
    KeyMatch::Range { lo: number(lo), hi: number(hi) }
}

/// A table whose action stores its parameter in `hdr.h.result`.
fn table(body: &str) -> Twins {
    Twins::new(PLAIN_PARSER, &ingress(body))
}

fn ingress(body: &str) -> String {
    format!("action set(bit<8> v) {{ hdr.h.result = v; }} table t {{ {body} }} apply {{ t.apply(); }}")
}

#[test]
fn of_equal_priorities_the_lower_handle_wins_and_the_lowest_is_given_first() {
    let mut twins = table("key = { hdr.h.a : ternary; } actions = { set; }");
    twins.control(|state| {
        for value in 0..3 {
            let handle = insert(state, &[("a", ternary(0, 1 << value))], set(value), 5).unwrap();
            assert_eq!(handle, EntryHandle(value + 1));
        }
    });
    assert_eq!(twins.result(Time::ZERO, 0, 0, 0), 0);
    // The entry that gets the freed handle comes first, although it is the newest.
    twins.control(|state| {
        let id = state.find_table("t").unwrap();
        state.table_mut(id).delete(EntryHandle(3)).unwrap();
        state.table_mut(id).delete(EntryHandle(1)).unwrap();
        assert_eq!(insert(state, &[("a", ternary(0, 8))], set(7), 5).unwrap(), EntryHandle(1));
    });
    assert_eq!(twins.result(Time::ZERO, 0, 0, 0), 7);
    assert_eq!(twins.result(Time::ZERO, 8, 0, 0), 1);
}

#[test]
fn ranges_and_optional_keys_overlap_by_priority() {
    let mut twins = table("key = { hdr.h.a : range; hdr.h.b : optional; } actions = { set; }");
    twins.control(|state| {
        insert(state, &[("a", range(10, 20))], set(1), 2).unwrap();
        insert(state, &[("a", range(20, 30)), ("b", KeyMatch::Exact(number(4)))], set(2), 1).unwrap();
        insert(state, &[], set(3), 3).unwrap();
    });
    let cases = [(9, 4, 3), (10, 4, 1), (19, 4, 1), (20, 4, 2), (20, 5, 1), (30, 4, 2), (30, 5, 3), (31, 4, 3)];
    for (a, b, expected) in cases {
        assert_eq!(twins.result(Time::ZERO, a, b, 0), expected, "{a} {b}");
    }
}

#[test]
fn a_table_takes_as_many_entries_as_its_size_says() {
    for (size, limit) in [("size = 2;", 2), ("size = 0;", 1024), ("", 1024)] {
        let mut twins = table(&format!("key = {{ hdr.h.c : exact; }} actions = {{ set; }} {size}"));
        let refusal = twins.control(|state| {
            let mut add = |key| insert(state, &[("c", KeyMatch::Exact(number(key)))], set(1), 0);
            assert!((0..limit).all(|key| add(key).is_ok()), "{size}");
            let refusal = add(limit).unwrap_err().to_string();
            let id = state.find_table("t").unwrap();
            state.table_mut(id).delete(EntryHandle(1)).unwrap();
            insert(state, &[("c", KeyMatch::Exact(number(limit)))], set(1), 0).unwrap();
            refusal
        });
        assert_eq!(refusal, format!("table `I.t` is full: its size is {limit}"));
    }
}

#[test]
fn an_entry_is_found_in_any_form_of_its_key() {
    let body = "key = { hdr.h.a : ternary; hdr.h.b : range; hdr.h.c : lpm; } actions = { set; }";
    let mut twins = table(body);
    let lpm = |value: u32, prefix_len| KeyMatch::Lpm { value: number(value), prefix_len };
    twins.control(|state| {
        let keys = [("a", ternary(0xff, 0x0f)), ("b", range(0, 255)), ("c", lpm(0x0a0b_0c0d, 16))];
        let handle = insert(state, &keys, set(1), 1).unwrap();
        let id = state.find_table("t").unwrap();
        let find = |a, b, c, priority| state.table(id).find(&[a, b, c], priority);
        assert_eq!(find(ternary(0x0f, 0x0f), KeyMatch::Any, lpm(0x0a0b_0000, 16), 1), Some(handle));
        assert_eq!(find(ternary(0x0f, 0x0f), KeyMatch::Any, lpm(0x0a0b_0000, 16), 2), None);
        assert_eq!(find(ternary(0x0f, 0x1f), KeyMatch::Any, lpm(0x0a0b_0000, 16), 1), None);
        assert_eq!(find(ternary(0x0f, 0x0f), range(0, 254), lpm(0x0a0b_0000, 16), 1), None);
        assert_eq!(find(ternary(0x0f, 0x0f), KeyMatch::Any, lpm(0x0a0b_0000, 15), 1), None);
        insert(state, &[("a", ternary(0xef, 0x0f)), ("c", lpm(0x0a0b_ffff, 16))], set(2), 1).unwrap_err();
    });
}

#[test]
fn entries_of_the_source_win_by_their_priorities_and_are_sealed() {
    let body = "key = { hdr.h.a : ternary; } actions = { set; @defaultonly NoAction; }
        const entries = {
            0x01 &&& 0x01 : set(1);
            0x03 &&& 0x03 : set(2) @priority(1);
            _ : set(3);
        }";
    let mut twins = table(body);
    // By their order in the source, priorities are 1, 2, 3. The annotation gives the second entry the priority of the
    // first, which still comes before it.
    assert_eq!([0, 1, 2, 3].map(|a| twins.result(Time::ZERO, a, 0, 0)), [3, 1, 3, 1]);
    let refusal = twins.control(|state| insert(state, &[], set(9), 0).unwrap_err().to_string());
    assert_eq!(refusal, "table `I.t`: its list of entries is const and cannot be changed");
}

#[test]
fn entries_with_priorities_of_their_own() {
    let body = |largest| {
        format!(
            "key = {{ hdr.h.a : ternary; }} actions = {{ set; }}
            largest_priority_wins = {largest};
            entries = {{
                const priority = 10 : 0x01 &&& 0x01 : set(1);
                priority = 20 : 0x02 &&& 0x02 : set(2);
            }}"
        )
    };
    for (largest, winner) in [(true, 2), (false, 1)] {
        assert_eq!(table(&body(largest)).result(Time::ZERO, 3, 0, 0), winner, "largest_priority_wins = {largest}");
    }
}

#[test]
fn actions_keep_to_their_place() {
    let body = "key = { hdr.h.a : exact; } actions = { @tableonly set; @defaultonly NoAction; }
        support_timeout = true; default_action = NoAction();";
    let mut twins = table(body);
    let refusals = twins.control(|state| {
        let entry = insert(state, &[("a", KeyMatch::Exact(number(1)))], named("NoAction"), 0).unwrap_err();
        let default = state.set_default_action("t", &set(1)).unwrap_err();
        [entry.to_string(), default.to_string()]
    });
    let problems = ["`NoAction`: it is @defaultonly", "`I.set`: it is @tableonly"];
    assert_eq!(refusals, problems.map(|problem| format!("table `I.t` cannot use action {problem}")));
}

#[test]
fn modifying_an_entry_keeps_its_key() {
    let mut twins = table("key = { hdr.h.a : exact; } actions = { set; NoAction; }");
    twins.control(|state| insert(state, &[("a", KeyMatch::Exact(number(1)))], set(5), 0).unwrap());
    assert_eq!(twins.result(Time::ZERO, 1, 0, 0), 5);
    twins.control(|state| {
        let id = state.find_table("t").unwrap();
        state.table_mut(id).modify(EntryHandle(1), 0, vec![number(6)]).unwrap();
        state.table_mut(id).modify(EntryHandle(1), 0, vec![number(256)]).unwrap_err();
        state.table_mut(id).modify(EntryHandle(2), 0, vec![number(6)]).unwrap_err();
    });
    assert_eq!(twins.result(Time::ZERO, 1, 0, 0), 6);
    twins.control(|state| {
        let id = state.find_table("t").unwrap();
        state.table_mut(id).clear().unwrap();
        state.set_default_action("t", &set(8)).unwrap();
    });
    assert_eq!(twins.result(Time::ZERO, 1, 0, 0), 8);
}

#[test]
fn an_entry_of_the_source_that_is_there_twice_is_refused() {
    let body = "key = { hdr.h.a : exact; } actions = { set; } const entries = { 1 : set(1); 1 : set(2); }";
    let program = compiled(&source(PLAIN_PARSER, &ingress(body)));
    let refusal = State::new(&program, &Arc::new(Layout::new(&program)), 0).unwrap_err().to_string();
    assert_eq!(refusal, "table `I.t` already has an entry with this key");
}

#[test]
fn a_direct_counter_counts_hits_whether_it_is_called_or_not() {
    let ingress = "direct_counter(CounterType.bytes) c;
        action called(bit<8> v) { c.count(); hdr.h.result = v; }
        action set(bit<8> v) { hdr.h.result = v; }
        table t { key = { hdr.h.a : exact; } actions = { called; set; } default_action = called(3); counters = c; }
        apply { t.apply(); }";
    let mut twins = Twins::new(PLAIN_PARSER, ingress);
    let called = || ActionSpec { action: "called".into(), ..set(1) };
    let [first, second] = [(1, called()), (2, set(2))].map(|(key, call)| {
        twins.control(|state| insert(state, &[("a", KeyMatch::Exact(number(key)))], call.clone(), 0).unwrap())
    });
    for a in [1, 2, 2, 3] {
        twins.result(Time::ZERO, a, 0, 0);
    }
    let counts = |twins: &mut Twins, handle| {
        twins.control(|state| {
            let count = state.table(state.find_table("t").unwrap()).direct_count(handle).unwrap();
            (count.packets, count.bytes)
        })
    };
    // A frame has 7 bytes. BMv2 counts packets and bytes for any counter type. It does not count the miss.
    assert_eq!((counts(&mut twins, first), counts(&mut twins, second)), ((1, 7), (2, 14)));
    twins.control(|state| {
        let id = state.find_table("t").unwrap();
        state.table_mut(id).modify(second, 0, vec![number(9)]).unwrap();
    });
    assert_eq!(counts(&mut twins, second), (2, 14), "another action is no other entry");
    twins.control(|state| {
        let id = state.find_table("t").unwrap();
        state.table_mut(id).delete(second).unwrap();
        assert_eq!(insert(state, &[("a", KeyMatch::Exact(number(2)))], set(2), 0).unwrap(), second);
    });
    assert_eq!(counts(&mut twins, second), (0, 0), "a new entry counts from 0");
}

/// So many entries that the test would take minutes if adding one examined all others.
#[test]
fn many_overlapping_entries_are_added_found_and_deleted() {
    const MANY: u32 = 100_000;
    let mut twins = table("key = { hdr.h.c : ternary; } actions = { set; } size = 100000;");
    let key = |value| KeyMatch::Ternary { value: number(value), mask: number(u32::MAX) };
    for priority in [|_| 5, |value| MANY - value] {
        twins.control(|state| {
            for value in 0..MANY {
                insert(state, &[("c", key(value))], set(value % 251), priority(value)).unwrap();
            }
            assert!(insert(state, &[("c", key(7))], set(0), priority(7)).is_err());
        });
        assert_eq!(twins.result(Time::ZERO, 0, 0, MANY - 1), ((MANY - 1) % 251) as u8);
        twins.control(|state| {
            let id = state.find_table("t").unwrap();
            let mut table = state.table_mut(id);
            for value in 0..MANY {
                let handle = table.find(&[key(value)], priority(value)).unwrap();
                table.delete(handle).unwrap();
            }
            assert_eq!(table.entries().count(), 0);
        });
    }
}
