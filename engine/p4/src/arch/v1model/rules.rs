// SPDX-License-Identifier: MIT OR Apache-2.0
//! Limits of simple_switch, checked on the lowered program: what p4c's back end refuses is reported here.

use super::graph::tables_beyond_bmv2;
use crate::arch::rules::{duplicate_names, header_widths, tables};
use crate::diagnostics::Problem;
use crate::ir::{
    Arch, BinaryOp, Block, BlockBody, Class, Expr, ExprKind, ExternCall, MatchKind, Place, StmtKind, visit,
};
use crate::lower::{Lowered, Lowerer};
use crate::source::Span;

/// Maximum width of a shift amount that is not constant, in bits.
const MAX_SHIFT_WIDTH: u32 = 8;
/// Largest constant shift amount.
const MAX_SHIFT: u32 = 256;

/// Checks all rules, also after an error.
pub(super) fn check(lowerer: &mut Lowerer<'_>, arch: &Arch) -> Lowered<()> {
    let Arch::V1Model { verify_checksum, compute_checksum, deparser, .. } = *arch else { return Ok(()) };
    let errors = lowerer.diagnostics.errors();
    header_widths(lowerer);
    tables(lowerer);
    duplicate_names(lowerer);
    ignored_defaults(lowerer);
    narrow_prefixes(lowerer);
    let mut found = Vec::new();
    for body in visit::bodies(&lowerer.out.blocks, &lowerer.out.actions, &[]) {
        visit::statements(body, &mut |stmt| {
            for operand in visit::operands(stmt) {
                visit::parts(operand, &mut |expr| arithmetic(expr, &mut found));
            }
        });
    }
    for key in visit::keys(&lowerer.out.blocks, &lowerer.out.tables) {
        visit::parts(key, &mut |expr| arithmetic(expr, &mut found));
    }
    for (span, problem) in found {
        lowerer.diagnostics.error(span, problem);
    }
    let mut beyond = Vec::new();
    for id in [verify_checksum, compute_checksum] {
        checksum_block(lowerer, &lowerer.out.blocks[id.index()], &mut beyond);
    }
    if let BlockBody::Control(body) = &lowerer.out.blocks[deparser.index()].body {
        let other = body.iter().filter(|stmt| !matches!(stmt.kind, StmtKind::Emit(_)));
        beyond.extend(other.map(|stmt| (stmt.span, "a deparser that does more than `emit`")));
    }
    for (span, what) in beyond {
        lowerer.beyond_bmv2(what, None, span);
    }
    for (span, what) in tables_beyond_bmv2(lowerer) {
        lowerer.beyond_bmv2(what, Some("declare a second table of this kind"), span);
    }
    if lowerer.diagnostics.errors() > errors { Err(crate::lower::Failed) } else { Ok(()) }
}

/// Warns that BMv2 ignores the default action of a table with an `implementation`.
fn ignored_defaults(lowerer: &mut Lowerer<'_>) {
    let mut found = Vec::new();
    for table in lowerer.out.tables.iter().filter(|table| table.profile.is_some()) {
        let default = &table.actions[table.default_action.action as usize];
        if lowerer.out.actions[default.action.index()].name != "NoAction" {
            found.push((table.span, Problem::DefaultIgnored { table: table.name.as_str().into() }));
        }
    }
    for (span, problem) in found {
        let help = "test `hit` and call the action yourself, or set a default member through the control plane";
        lowerer.diagnostics.warning(span, problem).help(help);
    }
}

/// BMv2 counts the bits of a prefix from the highest one of the key's first byte.
fn narrow_prefixes(lowerer: &mut Lowerer<'_>) {
    let keys = lowerer.out.tables.iter().flat_map(|table| &table.keys);
    let narrow = keys.filter(|key| key.kind == MatchKind::Lpm && !key.expr.ty.width.is_multiple_of(8));
    let found: Vec<(Span, u32)> = narrow.map(|key| (key.expr.span, key.expr.ty.width)).collect();
    for (span, width) in found {
        let help = "simple_switch counts the prefix from the highest bit of a byte: use a key of whole bytes";
        lowerer.diagnostics.warning(span, Problem::PrefixOfOddWidth { width }).help(help);
    }
}

/// BMv2 has no division, and limits shift amounts.
fn arithmetic(expr: &Expr, found: &mut Vec<(Span, Problem)>) {
    let ExprKind::Binary(op, _, right) = &expr.kind else { return };
    match (op, &right.kind) {
        (BinaryOp::Div | BinaryOp::Mod, _) => found.push((expr.span, Problem::RunTimeDivision {})),
        (BinaryOp::Shl | BinaryOp::Shr, ExprKind::Const(by)) if *by > MAX_SHIFT.into() => {
            found.push((expr.span, Problem::ShiftAmount { limit: MAX_SHIFT }));
        }
        (BinaryOp::Shl | BinaryOp::Shr, kind)
            if !matches!(kind, ExprKind::Const(_)) && right.ty.width > MAX_SHIFT_WIDTH =>
        {
            found.push((right.span, Problem::ShiftAmountWidth { width: right.ty.width, limit: MAX_SHIFT_WIDTH }));
        }
        _ => {}
    }
}

/// On BMv2 a checksum control can only call checksum functions on plain fields. A local copy of a field is fine.
fn checksum_block(lowerer: &Lowerer<'_>, block: &Block, beyond: &mut Vec<(Span, &'static str)>) {
    const COMPUTED: &str = "a computed value in a checksum";
    let BlockBody::Control(body) = &block.body else { return };
    let is_local = |place: &Place| matches!(lowerer.out.slots[place.slot.index()].class, Class::Local(_));
    let is_plain = |expr: &Expr| matches!(expr.kind, ExprKind::Load(_) | ExprKind::Const(_));
    for stmt in body {
        match &stmt.kind {
            StmtKind::Extern(ExternCall::VerifyChecksum(sum) | ExternCall::UpdateChecksum(sum)) => {
                let computed = sum.data.iter().filter(|field| !is_plain(&field.expr));
                beyond.extend(computed.map(|field| (field.expr.span, COMPUTED)));
            }
            StmtKind::Assign { dst, src } if is_local(dst) && is_plain(src) => {}
            StmtKind::Assign { dst, src } if is_local(dst) => beyond.push((src.span, COMPUTED)),
            _ => beyond.push((stmt.span, "a checksum control that does more than call checksum functions")),
        }
    }
}
