//! Expressions.

use marklab_p4::ir::{BinaryOp, Expr, ExprKind, Ty, UnaryOp};
use num_bigint::{BigInt, BigUint};
use num_traits::{Signed, Zero};

use super::{Frame, Jump, Step};
use crate::words::mask;

/// The number that a bit pattern of this type stands for.
pub(super) fn signed(value: &BigUint, ty: Ty) -> BigInt {
    let value = BigInt::from(value.clone());
    let negative = ty.signed && ty.width > 0 && value.bit(u64::from(ty.width) - 1);
    if negative { value - (BigInt::from(1) << ty.width) } else { value }
}

/// The bit pattern of a number in a type, modulo 2^width.
pub(super) fn wrap(value: &BigInt, width: u32) -> BigUint {
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

impl Frame<'_> {
    pub(super) fn truth(&mut self, expr: &Expr) -> Step<bool> {
        Ok(!self.eval(expr)?.is_zero())
    }

    pub(super) fn number(&mut self, expr: &Expr) -> Step<u64> {
        Ok(u64::try_from(self.eval(expr)?).unwrap_or(u64::MAX))
    }

    pub(super) fn eval(&mut self, expr: &Expr) -> Step<BigUint> {
        let width = expr.ty.width;
        Ok(match &expr.kind {
            ExprKind::Const(value) => value.clone(),
            ExprKind::Load(place) => self.read(place)?,
            ExprKind::Unary(UnaryOp::Not, of) => self.eval(of)? ^ mask(width),
            ExprKind::Unary(UnaryOp::Neg, of) => wrap(&-BigInt::from(self.eval(of)?), width),
            ExprKind::Binary(op, left, right) => {
                let left_value = self.eval(left)?;
                let right_value = self.eval(right)?;
                self.binary(*op, (left_value, left.ty), (right_value, right.ty))
            }
            ExprKind::Mux { cond, then, otherwise } => {
                let taken = if self.truth(cond)? { then } else { otherwise };
                self.eval(taken)?
            }
            ExprKind::Slice { of, hi, lo } => (self.eval(of)? >> *lo) & mask(hi - lo + 1),
            ExprKind::Concat(left, right) => (self.eval(left)? << right.ty.width) | self.eval(right)?,
            ExprKind::Cast(of) => {
                let value = self.eval(of)?;
                wrap(&signed(&value, of.ty), width)
            }
            ExprKind::Lookahead { offset } => {
                let end = self.cursor * 8 + *offset as usize + width as usize;
                if end > self.packet.len() * 8 {
                    return Err(Jump::Reject(self.error_code("PacketTooShort")));
                }
                self.packet_bits(self.cursor * 8 + *offset as usize, width)
            }
            ExprKind::PacketLength => BigUint::from(self.packet.len()),
        })
    }

    fn binary(&mut self, op: BinaryOp, (left, ty): (BigUint, Ty), (right, right_ty): (BigUint, Ty)) -> BigUint {
        let numbers = || (signed(&left, ty), signed(&right, right_ty));
        let compare = |holds: fn(std::cmp::Ordering) -> bool| {
            let (left, right) = numbers();
            BigUint::from(u32::from(holds(left.cmp(&right))))
        };
        // An amount beyond the width shifts everything out; widths are far below 2^32.
        let amount = || u64::try_from(&right).unwrap_or(u64::MAX).min(u64::from(ty.width));
        match op {
            BinaryOp::Add => (left + right) & mask(ty.width),
            BinaryOp::Sub => {
                let (left, right) = numbers();
                wrap(&(left - right), ty.width)
            }
            BinaryOp::Mul => (left * right) & mask(ty.width),
            BinaryOp::Div | BinaryOp::Mod if right.is_zero() => {
                self.state.faults += 1;
                BigUint::ZERO
            }
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
            BinaryOp::Shr => wrap(&(signed(&left, ty) >> amount()), ty.width),
            BinaryOp::Eq => compare(|order| order.is_eq()),
            BinaryOp::Ne => compare(|order| order.is_ne()),
            BinaryOp::Lt => compare(|order| order.is_lt()),
            BinaryOp::Le => compare(|order| order.is_le()),
            BinaryOp::Gt => compare(|order| order.is_gt()),
            BinaryOp::Ge => compare(|order| order.is_ge()),
        }
    }
}
