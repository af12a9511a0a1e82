// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tables with an `implementation`: their entries point to members and groups of a profile.
//!
//! For its table, such an entry is a call of [`MEMBER`] or [`GROUP`] with the number as parameter. This module keeps
//! the members and groups in step with the profile. Members are rows in the table's own format, so engines read action
//! data from them as from any row.

use marklab_p4::ir::{ActionParam, SlotId, Ty};
use num_bigint::BigUint;

use super::Row;
use crate::action::{GroupId, Member, MemberId};
use crate::words::{push_limbs, words_for};

/// Index of the call of a member.
pub(crate) const MEMBER: u32 = 0;
/// Index of the call that does nothing. A miss runs it until the control plane sets a default: BMv2 ignores the
/// `default_action` of such a table.
pub(crate) const NOTHING: u32 = 1;
/// Index of the call of a group, in tables with a selector.
pub(crate) const GROUP: u32 = 2;

/// Action of the row that runs nothing; no table has this action.
pub(crate) const NO_ACTION: u64 = Row::ACTION;

/// Names of the calls above.
pub(crate) const CALLS: [&str; 3] = ["member", "nothing", "group"];

/// The calls that a table's entries may have, as if they were actions.
pub(super) fn calls(selector: bool) -> Vec<(String, Vec<ActionParam>)> {
    let number = || vec![ActionParam { name: "id".into(), slot: SlotId(0), ty: Ty::bits(32), annotations: Vec::new() }];
    let params = [number(), Vec::new(), number()];
    let calls = CALLS.into_iter().map(str::to_owned).zip(params);
    calls.take(if selector { 3 } else { 2 }).collect()
}

/// Members and groups in the form that a table's lookups need.
#[derive(Debug)]
pub(super) struct Indirect {
    /// Name and parameters of the actions that run.
    actions: Vec<(String, Vec<ActionParam>)>,
    /// Words per row.
    stride: usize,
    /// The row that runs nothing, then the rows of the members by number.
    rows: Vec<u64>,
    members: Vec<bool>,
    groups: Vec<Option<Vec<MemberId>>>,
}

impl Indirect {
    pub(super) fn new(actions: Vec<(String, Vec<ActionParam>)>) -> Indirect {
        let args = actions.iter().map(|(_, params)| params.iter().map(|param| words_for(param.ty.width)).sum());
        let stride = Row::ARGS + args.max().unwrap_or(0);
        let mut rows = vec![0; stride];
        rows[0] = NO_ACTION;
        Indirect { actions, stride, rows, members: Vec::new(), groups: Vec::new() }
    }

    /// Adds or changes a member, whose action has this name.
    pub(super) fn put_member(&mut self, id: MemberId, action: &str, member: &Member) {
        let number = id.0 as usize;
        self.members.resize(self.members.len().max(number + 1), false);
        self.members[number] = true;
        self.rows.resize(self.stride * (self.members.len() + 1), 0);
        let index = self.actions.iter().position(|(name, _)| name == action);
        let index = index.expect("tables of a profile have the same actions");
        let mut row = vec![Row::head(index as u32, None)];
        for (param, value) in self.actions[index].1.iter().zip(&member.args) {
            push_limbs(&mut row, value, words_for(param.ty.width));
        }
        let at = self.stride * (number + 1);
        self.rows[at..at + row.len()].copy_from_slice(&row);
    }

    pub(super) fn remove_member(&mut self, id: MemberId) {
        self.members[id.0 as usize] = false;
    }

    /// Adds, changes or removes a group.
    pub(super) fn put_group(&mut self, id: GroupId, members: Option<Vec<MemberId>>) {
        let number = id.0 as usize;
        self.groups.resize(self.groups.len().max(number + 1), None);
        self.groups[number] = members;
    }

    /// Checks that an entry, or the default, may be this call.
    pub(super) fn check(&self, call: u32, args: &[BigUint], as_default: bool) -> Result<(), String> {
        let number = args.first().and_then(|id| usize::try_from(id).ok()).unwrap_or(usize::MAX);
        match call {
            MEMBER if !self.members.get(number).copied().unwrap_or(false) => {
                Err(format!("its profile has no member {}", args[0]))
            }
            GROUP => match self.groups.get(number).and_then(Option::as_ref) {
                None => Err(format!("its profile has no group {}", args[0])),
                // As in BMv2: a default may point to an empty group, and groups may become empty later.
                Some(members) if members.is_empty() && !as_default => Err(format!("group {} is empty", args[0])),
                Some(_) => Ok(()),
            },
            NOTHING if !as_default => Err("it can only be the default action".to_owned()),
            _ => Ok(()),
        }
    }

    /// The row whose action runs, for the row of an entry or the default. `hash` chooses among the members of a group.
    pub(super) fn resolve(&self, row: &[u64], hash: u64) -> &[u64] {
        let number = row[Row::ARGS];
        let place = match (row[0] & Row::ACTION) as u32 {
            MEMBER => number as usize + 1,
            GROUP => match self.groups[number as usize].as_deref() {
                None | Some([]) => 0,
                // BMv2 converts the hash to an `unsigned int`.
                Some(members) => members[hash as u32 as usize % members.len()].0 as usize + 1,
            },
            _ => 0,
        };
        &self.rows[place * self.stride..][..self.stride]
    }
}
