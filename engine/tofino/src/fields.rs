// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bits of fields that are read and written.

use std::collections::BTreeMap;

use marklab_p4::ir::{Expr, ExprKind, ExternCall, Place, Program, SlotId, Stmt, StmtKind, visit};

/// Bits of fields. In fields wider than 128 bits, all bits count as used.
#[derive(Clone, Default, Debug)]
pub(crate) struct Fields(BTreeMap<SlotId, u128>);

impl Fields {
    pub(crate) fn add(&mut self, slot: SlotId, bits: u128) {
        *self.0.entry(slot).or_default() |= bits;
    }

    pub(crate) fn extend(&mut self, other: &Fields) {
        other.0.iter().for_each(|(slot, bits)| self.add(*slot, *bits));
    }

    /// The same bits, with slots renamed.
    pub(crate) fn renamed(&self, name: &dyn Fn(SlotId) -> SlotId) -> Fields {
        let mut renamed = Fields::default();
        self.0.iter().for_each(|(slot, bits)| renamed.add(name(*slot), *bits));
        renamed
    }

    pub(crate) fn overlaps(&self, other: &Fields) -> bool {
        self.0.iter().any(|(slot, bits)| other.0.get(slot).is_some_and(|others| bits & others != 0))
    }

    pub(crate) fn contains(&self, slot: SlotId) -> bool {
        self.0.contains_key(&slot)
    }

    pub(crate) fn slots(&self) -> impl Iterator<Item = SlotId> {
        self.0.keys().copied()
    }

    /// Bytes that the fields take if each starts at a byte.
    pub(crate) fn bytes(&self) -> u32 {
        self.0.values().map(|bits| bits.count_ones().div_ceil(8)).sum()
    }
}

fn ones(width: u32) -> u128 {
    if width >= 128 { u128::MAX } else { (1 << width) - 1 }
}

fn shifted(bits: u128, by: u32) -> u128 {
    if by >= 128 { u128::MAX } else { bits << by }
}

/// Adds the bits that an expression reads, if only some bits of its value are wanted.
pub(crate) fn read(expr: &Expr, wanted: u128, to: &mut Fields) {
    let all = |of: &Expr, to: &mut Fields| read(of, ones(of.ty.width), to);
    if wanted == 0 {
        return;
    }
    match &expr.kind {
        ExprKind::Load(Place { slot, index }) => {
            to.add(*slot, if expr.ty.width > 128 { u128::MAX } else { wanted });
            if let Some(index) = index {
                all(&index.expr, to);
            }
        }
        ExprKind::Slice { of, hi, lo } => read(of, shifted(wanted & ones(hi - lo + 1), *lo), to),
        ExprKind::Concat(high, low) => {
            read(low, wanted & ones(low.ty.width), to);
            let above = if low.ty.width >= 128 { u128::MAX } else { wanted >> low.ty.width };
            read(high, above & ones(high.ty.width), to);
        }
        ExprKind::Cast(of) => read(of, if of.ty.signed { ones(of.ty.width) } else { wanted & ones(of.ty.width) }, to),
        ExprKind::Unary(_, of) => all(of, to),
        ExprKind::Binary(_, left, right) => [left, right].into_iter().for_each(|of| all(of, to)),
        ExprKind::Mux { cond, then, otherwise } => {
            [cond, then, otherwise].into_iter().for_each(|of| all(of, to));
        }
        ExprKind::Const(_) | ExprKind::Lookahead { .. } | ExprKind::PacketLength => {}
    }
}

/// Adds all bits that an expression reads.
pub(crate) fn read_all(expr: &Expr, to: &mut Fields) {
    read(expr, ones(expr.ty.width), to);
}

/// Bits of a slot that an assignment does not change: those that it copies from their own position.
fn kept(slot: SlotId, expr: &Expr, at: u32) -> u128 {
    match &expr.kind {
        ExprKind::Concat(high, low) => kept(slot, low, at) | kept(slot, high, at + low.ty.width),
        ExprKind::Slice { of, lo, .. } if *lo == at => match &of.kind {
            ExprKind::Load(place) if place.slot == slot => shifted(ones(expr.ty.width), at),
            _ => 0,
        },
        ExprKind::Cast(of) if of.ty.width == expr.ty.width => kept(slot, of, at),
        _ => 0,
    }
}

/// Adds the bits that statements read and write, including nested statements and register actions.
pub(crate) fn uses(program: &Program, body: &[Stmt], reads: &mut Fields, writes: &mut Fields) {
    visit::statements(body, &mut |stmt| statement(program, stmt, reads, writes));
}

fn statement(program: &Program, stmt: &Stmt, reads: &mut Fields, writes: &mut Fields) {
    match &stmt.kind {
        StmtKind::Assign { dst, src } => {
            let width = src.ty.width;
            let written = if width > 128 { u128::MAX } else { ones(width) & !kept(dst.slot, src, 0) };
            read(src, written, reads);
            writes.add(dst.slot, written);
            if let Some(index) = &dst.index {
                read_all(&index.expr, reads);
            }
        }
        StmtKind::SetValid(header) | StmtKind::SetInvalid(header) => {
            writes.add(program.headers[header.header.index()].valid, 1);
        }
        _ => {
            visit::operands(stmt).into_iter().for_each(|operand| read_all(operand, reads));
            for slot in visit::written(stmt) {
                writes.add(slot, ones(program.slots[slot.index()].ty.width));
            }
            if let StmtKind::Extern(ExternCall::ExecuteRegister { action, .. }) = &stmt.kind {
                // The variables of its body are private.
                let body = &program.register_actions[action.index()].body;
                let (mut inner, mut own) = (Fields::default(), Fields::default());
                uses(program, body, &mut inner, &mut own);
                for value in &program.register_actions[action.index()].value {
                    own.add(*value, u128::MAX);
                }
                for (slot, bits) in inner.0 {
                    if !own.contains(slot) {
                        reads.add(slot, bits);
                    }
                }
            }
        }
    }
}
