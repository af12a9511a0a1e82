// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a program needs from its control plane beside table entries.

use marklab_p4::ir::visit::{any_statement, bodies};
use marklab_p4::ir::{ExternCall, Program, Request, StmtKind};
use thiserror::Error;

use crate::v1model::detours::may_set;

/// A setting of [`crate::replication::Replication`] without which the program's copies are lost.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum Need {
    /// For `clone` and `clone_preserving_field_list`, and for `Mirror` (TNA).
    #[error("it clones packets, which needs a mirror session")]
    MirrorSession,
    /// For a `mcast_grp`, `mcast_grp_a` or `mcast_grp_b` (TNA) other than 0.
    #[error("it multicasts packets, which needs a multicast group")]
    MulticastGroup,
}

impl Need {
    /// Name of the setting that fulfils it.
    pub fn setting(self) -> &'static str {
        match self {
            Need::MirrorSession => "mirrors",
            Need::MulticastGroup => "groups",
        }
    }
}

/// Everything that a program needs.
pub fn needs(program: &Program) -> Vec<Need> {
    let clones = |stmt: &StmtKind| {
        matches!(stmt, StmtKind::Extern(ExternCall::Request(Request::Clone { .. } | Request::MirrorEmit { .. })))
    };
    let clones = any_statement(bodies(&program.blocks, &program.actions, &program.register_actions), &clones);
    let groups = ["standard_metadata.mcast_grp", "ig_intr_md_for_tm.mcast_grp_a", "ig_intr_md_for_tm.mcast_grp_b"];
    let multicasts = groups.iter().any(|name| may_set(program, name));
    let needs = [(clones, Need::MirrorSession), (multicasts, Need::MulticastGroup)];
    needs.into_iter().filter_map(|(needed, need)| needed.then_some(need)).collect()
}
