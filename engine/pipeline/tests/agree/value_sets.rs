// SPDX-License-Identifier: MIT OR Apache-2.0
//! Parser value sets.

use marklab_p4::ir::MatchKind;
use marklab_pipeline::{KeyMatch, State};
use marklab_units::Time;
use num_bigint::BigUint;
use proptest::prelude::*;

use crate::statements::{key_match, matches};
use crate::twins::Twins;

const PARSER: &str = "value_set<tuple<bit<8>, bit<32>>>(8) pairs;
    value_set<bit<8>>(2) ones;
    value_set<tuple<bit<72>, bit<8>>>(2) wide;
    value_set<tuple<bit<8>, bit<160>>>(2) widest;
    state start {
        packet.extract(hdr.h);
        transition select(hdr.h.a, hdr.h.c) { pairs : in_pairs; (200, _) : by_value; default : next; }
    }
    state next { transition select(hdr.h.b) { ones : in_ones; default : last; } }
    state last {
        transition select(hdr.h.c ++ hdr.h.c ++ hdr.h.a, hdr.h.b) { wide : in_wide; default : rest; }
    }
    state rest {
        transition select(hdr.h.b, hdr.h.c ++ hdr.h.c ++ hdr.h.c ++ hdr.h.c ++ hdr.h.c) {
            widest : in_widest;
            default : accept;
        }
    }
    state in_pairs { meta.seen = 1; transition accept; }
    state by_value { meta.seen = 2; transition accept; }
    state in_ones { meta.seen = 3; transition accept; }
    state in_wide { meta.seen = 4; transition accept; }
    state in_widest { meta.seen = 5; transition accept; }";

fn twins() -> Twins {
    Twins::new(PARSER, "apply { hdr.h.result = meta.seen; }")
}

fn insert(state: &mut State, set: &str, member: &[KeyMatch]) -> Result<(), String> {
    let set = state.find_value_set(set).unwrap();
    state.value_set_mut(set).insert(member).map_err(|error| error.to_string())
}

fn exact(value: u128) -> KeyMatch {
    KeyMatch::Exact(BigUint::from(value))
}

fn component(width: u32) -> impl Strategy<Value = KeyMatch> {
    let kinds = [MatchKind::Exact, MatchKind::Lpm, MatchKind::Ternary, MatchKind::Range, MatchKind::Optional];
    prop::sample::select(kinds.to_vec()).prop_flat_map(move |kind| key_match(kind, width))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// Oracle: tries every member.
    #[test]
    fn a_value_is_in_the_set_if_a_member_matches_it(
        members in prop::collection::vec((component(8), component(32)), 0..6),
        removed in any::<prop::sample::Index>(),
        probes in prop::collection::vec((0..200u8, any::<u32>()), 8),
    ) {
        let mut twins = twins();
        let mut live = Vec::new();
        for (a, c) in members {
            let member = [a, c];
            if twins.control(|state| insert(state, "pairs", &member)).is_ok() {
                live.push(member);
            }
        }
        if !live.is_empty() {
            let member = live.remove(removed.index(live.len()));
            twins.control(|state| {
                let set = state.find_value_set("P.pairs").unwrap();
                state.value_set_mut(set).remove(&member).unwrap();
            });
        }
        for (a, c) in probes {
            // Also the corner of a member, which random values rarely hit.
            let corners = live.iter().filter_map(|member| match member {
                [KeyMatch::Exact(a) | KeyMatch::Ternary { value: a, .. }, KeyMatch::Exact(c) | KeyMatch::Range { lo: c, .. }] => {
                    Some((u8::try_from(a).ok()?, u32::try_from(c).ok()?))
                }
                _ => None,
            });
            for (a, c) in corners.chain([(a, c)]).collect::<Vec<_>>() {
                let found = live.iter().any(|[first, second]| {
                    matches(first, a.into(), 8).is_some() && matches(second, c.into(), 32).is_some()
                });
                let expected = if found { 1 } else if a == 200 { 2 } else { 0 };
                prop_assert_eq!(twins.result(Time::ZERO, a, 0, c), expected, "{} {}", a, c);
            }
        }
    }
}

#[test]
fn a_set_of_one_word_and_a_set_of_many() {
    let mut twins = twins();
    twins.control(|state| {
        insert(state, "ones", &[exact(5)]).unwrap();
        let both = u128::from(0x0102_0304_u32);
        insert(state, "wide", &[exact((both << 40) | (both << 8) | 9), exact(6)]).unwrap();
    });
    assert_eq!(twins.result(Time::ZERO, 0, 5, 0), 3);
    assert_eq!(twins.result(Time::ZERO, 9, 6, 0x0102_0304), 4);
    for (a, b, c) in [(8, 6, 0x0102_0304), (9, 7, 0x0102_0304), (9, 6, 0x0102_0305)] {
        assert_eq!(twins.result(Time::ZERO, a, b, c), 0);
    }
    twins.control(|state| {
        let set = state.find_value_set("ones").unwrap();
        state.value_set_mut(set).clear();
    });
    assert_eq!(twins.result(Time::ZERO, 0, 5, 0), 0);
}

#[test]
fn a_component_wider_than_registers() {
    let mut twins = twins();
    let five_times = |word: u32| (0..5).fold(BigUint::ZERO, |value, _| (value << 32) + word);
    twins.control(|state| {
        let prefix = KeyMatch::Lpm { value: five_times(0x0102_0304), prefix_len: 159 };
        insert(state, "widest", &[exact(6), prefix]).unwrap();
        insert(state, "widest", &[KeyMatch::Any, KeyMatch::Range { lo: five_times(7), hi: five_times(9) }]).unwrap();
    });
    let cases =
        [(6, 0x0102_0304, 5), (7, 0x0102_0304, 0), (6, 0x0102_0305, 0), (0, 7, 5), (0, 9, 5), (0, 10, 0), (0, 6, 0)];
    for (b, c, expected) in cases {
        assert_eq!(twins.result(Time::ZERO, 0, b, c), expected, "{b} {c:#x}");
    }
}

#[test]
fn refusals_say_what_is_wrong() {
    let mut twins = twins();
    let refusals = twins.control(|state| {
        insert(state, "ones", &[exact(255)]).unwrap();
        let too_wide = insert(state, "ones", &[exact(256)]);
        let twice = insert(state, "ones", &[exact(255)]);
        insert(state, "ones", &[exact(2)]).unwrap();
        let full = insert(state, "ones", &[exact(3)]);
        let count = insert(state, "pairs", &[exact(1)]);
        let set = state.find_value_set("ones").unwrap();
        let absent = state.value_set_mut(set).remove(&[exact(3)]).map_err(|error| error.to_string());
        assert_eq!(state.value_set(set).members().collect::<Vec<_>>(), [[exact(255)], [exact(2)]]);
        [too_wide, twice, full, count, absent].map(Result::unwrap_err)
    });
    assert_eq!(
        refusals,
        [
            "value set `P.ones`, component 0: 0x100 does not fit 8 bits",
            "value set `P.ones` already has this member",
            "value set `P.ones` is full: its size is 2",
            "value set `P.pairs` has 2 component(s), the member has 1",
            "value set `P.ones` has no such member",
        ]
    );
}
