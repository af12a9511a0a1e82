// SPDX-License-Identifier: MIT OR Apache-2.0
//! What operators compute, on values of any width.
//!
//! The interpreter uses nothing else. The JIT computes in registers what fits and comes here for the rest.

use marklab_p4::ir::{BinaryOp, Expr, ExprKind, Ty, UnaryOp};
use num_bigint::{BigInt, BigUint};
use num_traits::{Signed, Zero};

use crate::words::mask;

/// An operator without its operands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Operator {
    Unary(UnaryOp),
    Binary(BinaryOp),
    /// Bits `hi..=lo`.
    Slice {
        hi: u32,
        lo: u32,
    },
    Concat,
    Cast,
}

impl Operator {
    /// The operator of an expression and its operands; `None` for what is not computed from operands alone.
    pub(crate) fn of(expr: &Expr) -> Option<(Operator, Vec<&Expr>)> {
        match &expr.kind {
            ExprKind::Unary(op, of) => Some((Operator::Unary(*op), vec![of])),
            ExprKind::Binary(op, left, right) => Some((Operator::Binary(*op), vec![left, right])),
            ExprKind::Slice { of, hi, lo } => Some((Operator::Slice { hi: *hi, lo: *lo }, vec![of])),
            ExprKind::Concat(left, right) => Some((Operator::Concat, vec![left, right])),
            ExprKind::Cast(of) => Some((Operator::Cast, vec![of])),
            ExprKind::Const(_)
            | ExprKind::Load(_)
            | ExprKind::Mux { .. }
            | ExprKind::Lookahead { .. }
            | ExprKind::PacketLength => None,
        }
    }

    /// The value of type `to` for these operands; `None` for a division by 0.
    ///
    /// # Panics
    ///
    /// If the number of operands is not the operator's.
    pub(crate) fn apply(self, operands: &[(BigUint, Ty)], to: Ty) -> Option<BigUint> {
        Some(match (self, operands) {
            (Operator::Unary(UnaryOp::Not), [(value, _)]) => value ^ mask(to.width),
            (Operator::Unary(UnaryOp::Neg), [(value, _)]) => wrap(&-BigInt::from(value.clone()), to.width),
            (Operator::Binary(op), [left, right]) => return binary(op, left, right),
            (Operator::Slice { hi, lo }, [(value, _)]) => (value >> lo) & mask(hi - lo + 1),
            (Operator::Concat, [(high, _), (low, ty)]) => (high << ty.width) | low,
            (Operator::Cast, [(value, from)]) => wrap(&signed(value, *from), to.width),
            _ => panic!("{self:?} of {} operand(s)", operands.len()),
        })
    }
}

/// The number that a bit pattern of this type stands for.
pub(crate) fn signed(value: &BigUint, ty: Ty) -> BigInt {
    let value = BigInt::from(value.clone());
    let negative = ty.signed && ty.width > 0 && value.bit(u64::from(ty.width) - 1);
    if negative { value - (BigInt::from(1) << ty.width) } else { value }
}

/// The bit pattern of a number in a type, modulo 2^width.
fn wrap(value: &BigInt, width: u32) -> BigUint {
    let modulus = BigInt::from(1) << width;
    let rest = value % &modulus;
    let rest = if rest.is_negative() { rest + modulus } else { rest };
    rest.magnitude().clone()
}

/// The number closest to `value` in the range of a type.
fn saturate(value: BigInt, ty: Ty) -> BigInt {
    let (lo, hi) = if ty.signed {
        let half = BigInt::from(1) << (ty.width.max(1) - 1);
        (-&half, half - 1)
    } else {
        (BigInt::zero(), (BigInt::from(1) << ty.width) - 1)
    };
    value.clamp(lo, hi)
}

fn binary(op: BinaryOp, (left, ty): &(BigUint, Ty), (right, right_ty): &(BigUint, Ty)) -> Option<BigUint> {
    let ty = *ty;
    let numbers = || (signed(left, ty), signed(right, *right_ty));
    let compare = |holds: fn(std::cmp::Ordering) -> bool| {
        let (left, right) = numbers();
        BigUint::from(u32::from(holds(left.cmp(&right))))
    };
    // An amount beyond the width shifts everything out; widths are far below 2^32.
    let amount = || u64::try_from(right).unwrap_or(u64::MAX).min(u64::from(ty.width));
    Some(match op {
        BinaryOp::Add => (left + right) & mask(ty.width),
        BinaryOp::Sub => {
            let (left, right) = numbers();
            wrap(&(left - right), ty.width)
        }
        BinaryOp::Mul => (left * right) & mask(ty.width),
        BinaryOp::Div | BinaryOp::Mod if right.is_zero() => return None,
        BinaryOp::Div => left / right,
        BinaryOp::Mod => left % right,
        BinaryOp::AddSat => {
            let (left, right) = numbers();
            wrap(&saturate(left + right, ty), ty.width)
        }
        BinaryOp::SubSat => {
            let (left, right) = numbers();
            wrap(&saturate(left - right, ty), ty.width)
        }
        BinaryOp::And => left & right,
        BinaryOp::Or => left | right,
        BinaryOp::Xor => left ^ right,
        BinaryOp::Shl => (left << amount()) & mask(ty.width),
        // On a negative BigInt `>>` rounds towards minus infinity, which is the arithmetic shift.
        BinaryOp::Shr => wrap(&(signed(left, ty) >> amount()), ty.width),
        BinaryOp::Eq => compare(|order| order.is_eq()),
        BinaryOp::Ne => compare(|order| order.is_ne()),
        BinaryOp::Lt => compare(|order| order.is_lt()),
        BinaryOp::Le => compare(|order| order.is_le()),
        BinaryOp::Gt => compare(|order| order.is_gt()),
        BinaryOp::Ge => compare(|order| order.is_ge()),
    })
}
