//! What a program needs that a switch does not have.

use marklab_p4::ir::visit::{any_statement, bodies};
use marklab_p4::ir::{Expr, ExprKind, ExternCall, Program, StmtKind};
use thiserror::Error;

/// Something that a program uses and this switch lacks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum Unmet {
    /// `clone`, `clone_preserving_field_list`.
    #[error("it clones packets, which this switch does not do yet")]
    Clone,
    /// `resubmit_preserving_field_list`.
    #[error("it resubmits packets, which this switch does not do yet")]
    Resubmit,
    /// `recirculate_preserving_field_list`.
    #[error("it recirculates packets, which this switch does not do yet")]
    Recirculate,
    /// `digest`.
    #[error("it sends digests, which this switch does not do yet")]
    Digest,
    /// A multicast group other than 0.
    #[error("it multicasts packets, which this switch does not do yet")]
    Multicast,
    /// `truncate`.
    #[error("it truncates packets, which this switch does not do yet")]
    Truncate,
}

/// Everything that a program uses and this switch lacks.
pub fn unmet_needs(program: &Program) -> Vec<Unmet> {
    let mut unmet = Vec::new();
    let mut check = |need, used: bool| unmet.extend(used.then_some(need));
    check(Unmet::Clone, any_call(program, &|call| matches!(call, ExternCall::Clone { .. })));
    check(Unmet::Resubmit, any_call(program, &|call| matches!(call, ExternCall::Resubmit { .. })));
    check(Unmet::Recirculate, any_call(program, &|call| matches!(call, ExternCall::Recirculate { .. })));
    check(Unmet::Digest, any_call(program, &|call| matches!(call, ExternCall::Digest { .. })));
    check(Unmet::Truncate, any_call(program, &|call| matches!(call, ExternCall::Truncate(_))));
    let group = program.intrinsic("standard_metadata.mcast_grp");
    let multicasts =
        |stmt: &StmtKind| matches!(stmt, StmtKind::Assign { dst, src } if Some(dst.slot) == group && !is_zero(src));
    check(Unmet::Multicast, any_statement(bodies(&program.blocks, &program.actions), &multicasts));
    unmet
}

fn is_zero(expr: &Expr) -> bool {
    matches!(&expr.kind, ExprKind::Const(value) if value.bits() == 0)
}

fn any_call(program: &Program, holds: &dyn Fn(&ExternCall) -> bool) -> bool {
    any_statement(
        bodies(&program.blocks, &program.actions),
        &|stmt| matches!(stmt, StmtKind::Extern(call) if holds(call)),
    )
}
