// SPDX-License-Identifier: MIT OR Apache-2.0
//! Action profiles and selectors.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use marklab_p4::ir::HashAlgorithm;
use marklab_pipeline::{
    ActionSpec, ControlError, EntrySpec, GroupId, KeyMatch, Layout, LoadError, MemberId, State, hash,
};
use marklab_units::Time;
use num_bigint::BigUint;
use proptest::prelude::*;

use crate::twins::{PLAIN_PARSER, Twins, compiled, source};

/// Two tables that share a selector and list its actions in different orders.
const SHARED: &str = "action_selector(HashAlgorithm.crc32, 32w128, 32w16) s;
    action set(bit<8> v) { hdr.h.result = v; }
    action add(bit<8> v) { hdr.h.result = hdr.h.result + v; }
    table t {
        key = { hdr.h.a : exact; hdr.h.c : selector; hdr.absent.c : selector; }
        actions = { set; add; }
        implementation = s;
    }
    table u {
        key = { hdr.h.b : exact; hdr.h.c : selector; hdr.absent.c : selector; }
        actions = { add; set; }
        implementation = s;
    }
    apply { t.apply(); u.apply(); }";

const TABLES: [&str; 2] = ["t", "u"];
const KEYS: [&str; 2] = ["hdr.h.a", "hdr.h.b"];

fn call(add: bool, value: u8) -> ActionSpec {
    let action = if add { "add" } else { "set" };
    ActionSpec { action: action.to_owned(), params: vec![("v".to_owned(), BigUint::from(value))] }
}

fn entry(table: usize, key: u8, call: ActionSpec) -> EntrySpec {
    let matches = vec![(KEYS[table].to_owned(), KeyMatch::Exact(BigUint::from(key)))];
    EntrySpec { matches, call, priority: 0 }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Pointer {
    Member(u32),
    Group(u32),
    Nothing,
}

impl Pointer {
    fn spec(self) -> ActionSpec {
        match self {
            Pointer::Member(id) => ActionSpec::member(MemberId(id)),
            Pointer::Group(id) => ActionSpec::group(GroupId(id)),
            Pointer::Nothing => ActionSpec { action: "nothing".to_owned(), params: Vec::new() },
        }
    }
}

#[derive(Clone, Debug)]
enum Step {
    AddMember { add: bool, value: u8 },
    ModifyMember { member: u32, add: bool, value: u8 },
    DeleteMember(u32),
    AddGroup,
    DeleteGroup(u32),
    Join { member: u32, group: u32 },
    Leave { member: u32, group: u32 },
    Insert { table: usize, key: u8, to: Pointer },
    Modify { table: usize, key: u8, to: Pointer },
    Delete { table: usize, key: u8 },
    Default { table: usize, to: Pointer },
}

fn step() -> impl Strategy<Value = Step> {
    let member = || 0..5u32;
    let group = || 0..3u32;
    let place = || (0..2usize, 0..3u8);
    let to = || {
        prop_oneof![
            3 => member().prop_map(Pointer::Member),
            3 => group().prop_map(Pointer::Group),
            1 => Just(Pointer::Nothing)
        ]
    };
    prop_oneof![
        4 => (any::<bool>(), any::<u8>()).prop_map(|(add, value)| Step::AddMember { add, value }),
        2 => (member(), any::<bool>(), any::<u8>())
            .prop_map(|(member, add, value)| Step::ModifyMember { member, add, value }),
        1 => member().prop_map(Step::DeleteMember),
        2 => Just(Step::AddGroup),
        1 => group().prop_map(Step::DeleteGroup),
        6 => (member(), group()).prop_map(|(member, group)| Step::Join { member, group }),
        2 => (member(), group()).prop_map(|(member, group)| Step::Leave { member, group }),
        6 => (place(), to()).prop_map(|((table, key), to)| Step::Insert { table, key, to }),
        2 => (place(), to()).prop_map(|((table, key), to)| Step::Modify { table, key, to }),
        1 => place().prop_map(|(table, key)| Step::Delete { table, key }),
        2 => (0..2usize, to()).prop_map(|(table, to)| Step::Default { table, to }),
    ]
}

/// Model of members, groups and entries, as maps and sets.
#[derive(Default, Debug)]
struct Model {
    members: BTreeMap<u32, (bool, u8)>,
    groups: BTreeMap<u32, BTreeSet<u32>>,
    entries: BTreeMap<(usize, u8), Pointer>,
    defaults: [Option<Pointer>; 2],
}

fn lowest_free<T>(map: &BTreeMap<u32, T>) -> u32 {
    (0..).find(|number| !map.contains_key(number)).unwrap()
}

impl Model {
    fn is_used(&self, pointer: Pointer) -> bool {
        self.entries.values().chain(self.defaults.iter().flatten()).any(|used| *used == pointer)
    }

    fn can_point(&self, to: Pointer, as_default: bool) -> bool {
        match to {
            Pointer::Member(id) => self.members.contains_key(&id),
            Pointer::Group(id) => self.groups.get(&id).is_some_and(|members| as_default || !members.is_empty()),
            Pointer::Nothing => as_default,
        }
    }

    /// Does a step if it is acceptable. Returns whether it is.
    fn step(&mut self, step: &Step) -> bool {
        match *step {
            Step::AddMember { add, value } => self.members.insert(lowest_free(&self.members), (add, value)).is_none(),
            Step::ModifyMember { member, add, value } => {
                self.members.get_mut(&member).map(|known| *known = (add, value)).is_some()
            }
            Step::DeleteMember(id) => {
                let used = self.is_used(Pointer::Member(id)) || self.groups.values().any(|group| group.contains(&id));
                !used && self.members.remove(&id).is_some()
            }
            Step::AddGroup => self.groups.insert(lowest_free(&self.groups), BTreeSet::new()).is_none(),
            Step::DeleteGroup(id) => !self.is_used(Pointer::Group(id)) && self.groups.remove(&id).is_some(),
            Step::Join { member, group } => {
                self.members.contains_key(&member)
                    && self.groups.get_mut(&group).is_some_and(|members| members.insert(member))
            }
            Step::Leave { member, group } => self.groups.get_mut(&group).is_some_and(|members| members.remove(&member)),
            Step::Insert { table, key, to } => {
                let fine = self.can_point(to, false) && !self.entries.contains_key(&(table, key));
                if fine {
                    self.entries.insert((table, key), to);
                }
                fine
            }
            Step::Modify { table, key, to } => {
                let fine = self.can_point(to, false) && self.entries.contains_key(&(table, key));
                if fine {
                    self.entries.insert((table, key), to);
                }
                fine
            }
            Step::Delete { table, key } => self.entries.remove(&(table, key)).is_some(),
            Step::Default { table, to } => {
                let fine = self.can_point(to, true);
                if fine {
                    self.defaults[table] = Some(to);
                }
                fine
            }
        }
    }

    fn result(&self, a: u8, b: u8, c: u32) -> u8 {
        let mut result = 99u8;
        for (table, key) in [a, b].into_iter().enumerate() {
            let pointer = self.entries.get(&(table, key)).copied().or(self.defaults[table]);
            let member = match pointer {
                None | Some(Pointer::Nothing) => None,
                Some(Pointer::Member(id)) => Some(id),
                Some(Pointer::Group(id)) => {
                    let hash = hash(HashAlgorithm::Crc32, &c.to_be_bytes()).unwrap() as usize;
                    let members: Vec<u32> = self.groups[&id].iter().copied().collect();
                    (!members.is_empty()).then(|| members[hash % members.len()])
                }
            };
            result = match member.map(|id| self.members[&id]) {
                None => result,
                Some((true, value)) => result.wrapping_add(value),
                Some((false, value)) => value,
            };
        }
        result
    }
}

/// The step through the control API.
fn perform(state: &mut State, step: &Step) -> Result<(), ControlError> {
    let profile = state.find_profile("s").unwrap();
    match *step {
        Step::AddMember { add, value } => state.add_member(profile, &call(add, value)).map(|_| ()),
        Step::ModifyMember { member, add, value } => state.modify_member(profile, MemberId(member), &call(add, value)),
        Step::DeleteMember(id) => state.delete_member(profile, MemberId(id)),
        Step::AddGroup => state.add_group(profile).map(|_| ()),
        Step::DeleteGroup(id) => state.delete_group(profile, GroupId(id)),
        Step::Join { member, group } => state.add_to_group(profile, MemberId(member), GroupId(group)),
        Step::Leave { member, group } => state.remove_from_group(profile, MemberId(member), GroupId(group)),
        Step::Insert { table, key, to } => state.insert_entry(TABLES[table], &entry(table, key, to.spec())).map(|_| ()),
        Step::Modify { table, key, to } => {
            let id = state.find_table(TABLES[table])?;
            let handle = state.table(id).find(&[KeyMatch::Exact(BigUint::from(key))], 0);
            let spec = to.spec();
            let action = ["member", "nothing", "group"].iter().position(|&name| name == spec.action).unwrap();
            let args = spec.params.into_iter().map(|(_, value)| value).collect();
            let handle = handle.unwrap_or(marklab_pipeline::EntryHandle(u32::MAX));
            Ok(state.table_mut(id).modify(handle, action as u32, args)?)
        }
        Step::Delete { table, key } => {
            let id = state.find_table(TABLES[table])?;
            let handle = state.table(id).find(&[KeyMatch::Exact(BigUint::from(key))], 0);
            let handle = handle.unwrap_or(marklab_pipeline::EntryHandle(u32::MAX));
            Ok(state.table_mut(id).delete(handle)?)
        }
        Step::Default { table, to } => state.set_default_action(TABLES[table], &to.spec()),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// Oracle: a model of maps and sets.
    #[test]
    fn entries_run_the_members_they_point_to(
        steps in prop::collection::vec(step(), 1..80),
        packets in prop::collection::vec((0..4u8, 0..4u8, any::<u32>()), 12),
    ) {
        let mut twins = Twins::new(PLAIN_PARSER, SHARED);
        let mut model = Model::default();
        for (number, step) in steps.iter().enumerate() {
            let outcome = twins.control(|state| perform(state, step));
            prop_assert_eq!(outcome.is_ok(), model.step(step), "{:?}: {:?}", step, outcome);
            // Between steps as well, since tables remember recent look-ups.
            if number % 5 == 0 {
                let (a, b, c) = packets[number % packets.len()];
                prop_assert_eq!(twins.result(Time::ZERO, a, b, c), model.result(a, b, c));
            }
        }
        for (a, b, c) in packets {
            prop_assert_eq!(twins.result(Time::ZERO, a, b, c), model.result(a, b, c), "{:?}", model);
        }
    }
}

#[test]
fn a_miss_does_nothing_whatever_the_default_action_of_the_source() {
    let ingress = "action_profile(16) p;
        action set(bit<8> v) { hdr.h.result = v; }
        table t {
            key = { hdr.h.a : exact; }
            actions = { set; }
            default_action = set(5);
            implementation = p;
        }
        apply { if (t.apply().hit) { hdr.h.b = 1; } }";
    let mut twins = Twins::new(PLAIN_PARSER, ingress);
    twins.control(|state| {
        let profile = state.find_profile("p").unwrap();
        let value = ActionSpec { action: "set".into(), params: vec![("v".into(), BigUint::from(7u32))] };
        let member = state.add_member(profile, &value).unwrap();
        state.insert_entry("t", &entry(0, 1, ActionSpec::member(member))).unwrap();
    });
    assert_eq!(twins.send(Time::ZERO, &[2, 0, 0, 0, 0, 0, 99])[..], [2, 0, 0, 0, 0, 0, 99]);
    assert_eq!(twins.send(Time::ZERO, &[1, 0, 0, 0, 0, 0, 99])[..], [1, 1, 0, 0, 0, 0, 7]);
}

#[test]
fn refusals_name_what_is_in_the_way() {
    let mut twins = Twins::new(PLAIN_PARSER, SHARED);
    let messages = twins.control(|state| {
        let profile = state.find_profile("I.s").unwrap();
        let member = state.add_member(profile, &call(false, 1)).unwrap();
        let group = state.add_group(profile).unwrap();
        let empty = state.insert_entry("t", &entry(0, 1, ActionSpec::group(group))).unwrap_err();
        state.add_to_group(profile, member, group).unwrap();
        state.insert_entry("u", &entry(1, 1, ActionSpec::group(group))).unwrap();
        let no_action = ActionSpec { action: "NoAction".into(), params: Vec::new() };
        let refusals = [
            empty,
            state.delete_member(profile, member).unwrap_err(),
            state.delete_group(profile, group).unwrap_err(),
            state.add_to_group(profile, member, group).unwrap_err(),
            state.delete_member(profile, MemberId(9)).unwrap_err(),
            state.remove_from_group(profile, member, GroupId(9)).unwrap_err(),
            state.add_member(profile, &no_action).unwrap_err(),
            state.insert_entry("t", &entry(0, 1, ActionSpec::member(MemberId(3)))).unwrap_err(),
            state.insert_entry("t", &entry(0, 1, call(false, 1))).unwrap_err(),
        ];
        refusals.map(|refusal| refusal.to_string())
    });
    assert_eq!(
        messages,
        [
            "table `I.t` cannot use action `group`: group 0 is empty",
            "profile `I.s`: member 0 cannot be deleted before group 0, which points to it",
            "profile `I.s`: group 0 cannot be deleted before an entry or the default of table `I.u`, which points to it",
            "profile `I.s`: member 0 is in group 0 already",
            "profile `I.s` has no member 9",
            "profile `I.s` has no group 9",
            "profile `I.s` cannot use action `NoAction`: it is @defaultonly",
            "table `I.t` cannot use action `member`: its profile has no member 3",
            "the program has no action `set`; it has member, nothing, group",
        ]
    );
}

#[test]
fn only_a_selector_has_groups() {
    let ingress = "action_profile(16) p;
        table t { key = { hdr.h.a : exact; } actions = { NoAction; } implementation = p; }
        apply { t.apply(); }";
    let mut twins = Twins::new(PLAIN_PARSER, ingress);
    let refusal = twins.control(|state| {
        let profile = state.find_profile("p").unwrap();
        state.add_group(profile).unwrap_err().to_string()
    });
    assert_eq!(refusal, "profile `I.p` has no groups: it is not an `action_selector`");
}

#[test]
fn tables_that_share_a_profile_have_the_same_actions() {
    let ingress = "action_profile(16) p;
        action set(bit<8> v) { hdr.h.result = v; }
        table t { key = { hdr.h.a : exact; } actions = { set; NoAction; } implementation = p; }
        table u { key = { hdr.h.a : exact; } actions = { NoAction; } implementation = p; }
        apply { t.apply(); u.apply(); }";
    let program = compiled(&source(PLAIN_PARSER, ingress));
    let refusal = State::new(&program, &Arc::new(Layout::new(&program)), 0).unwrap_err();
    assert!(matches!(&refusal, LoadError::Unsupported { name, .. } if name == "I.p"), "{refusal}");
}
