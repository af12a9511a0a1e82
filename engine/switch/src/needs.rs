//! What a program needs from whoever programs its switch, beside table entries.

use marklab_p4::ir::visit::{any_statement, bodies};
use marklab_p4::ir::{ExternCall, Program, StmtKind};
use thiserror::Error;

use crate::v1model::detours::may_set;

/// Something that must be set up in [`crate::replication::Replication`], or the program's copies go nowhere.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum Need {
    /// For `clone` and `clone_preserving_field_list`.
    #[error("it clones packets, which needs a mirror session")]
    MirrorSession,
    /// For a `mcast_grp` other than 0.
    #[error("it multicasts packets, which needs a multicast group")]
    MulticastGroup,
}

/// Everything that a program needs.
pub fn needs(program: &Program) -> Vec<Need> {
    let clones = |stmt: &StmtKind| matches!(stmt, StmtKind::Extern(ExternCall::Clone { .. }));
    let clones = any_statement(bodies(&program.blocks, &program.actions, &program.register_actions), &clones);
    let multicasts = may_set(program, "mcast_grp");
    let needs = [(clones, Need::MirrorSession), (multicasts, Need::MulticastGroup)];
    needs.into_iter().filter_map(|(needed, need)| needed.then_some(need)).collect()
}
