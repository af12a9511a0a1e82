// SPDX-License-Identifier: MIT OR Apache-2.0
//! Actions with their parameters, in entries of tables and as members of profiles.

use marklab_p4::ir::{self, ActionParam, Program};
use num_bigint::BigUint;

/// Number of a member in its profile; valid until the member is deleted.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct MemberId(pub u32);

/// Number of a group in its profile; valid until the group is deleted.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct GroupId(pub u32);

/// An action with its parameters.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Member {
    /// Index into [`Profile::actions`].
    pub action: u32,
    /// One value per parameter.
    pub args: Vec<BigUint>,
}

/// Name and parameters of each action of a table.
pub(crate) fn actions_of(program: &Program, table: &ir::Table) -> Vec<(String, Vec<ActionParam>)> {
    let actions = table.actions.iter().map(|entry| &program.actions[entry.action.index()]);
    actions.map(|action| (action.name.clone(), action.params.clone())).collect()
}

/// Checks that `args` are values for an action's parameters.
pub(crate) fn check_args(params: &[ActionParam], args: &[BigUint]) -> Result<(), String> {
    if params.len() != args.len() {
        return Err(format!("it has {} parameter(s), {} given", params.len(), args.len()));
    }
    match params.iter().zip(args).find(|(param, value)| value.bits() > u64::from(param.ty.width)) {
        Some((param, value)) => Err(format!("{value} does not fit `{}` of {} bits", param.name, param.ty.width)),
        None => Ok(()),
    }
}
