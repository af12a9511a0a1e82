// SPDX-License-Identifier: MIT OR Apache-2.0
//! Expressions.

use marklab_p4::ir::{Expr, ExprKind};
use num_bigint::BigUint;
use num_traits::Zero;

use super::{Frame, Jump, Step};
use marklab_p4::arith::Operator;

impl Frame<'_> {
    pub(super) fn truth(&mut self, expr: &Expr) -> Step<bool> {
        Ok(!self.eval(expr)?.is_zero())
    }

    pub(super) fn number(&mut self, expr: &Expr) -> Step<u64> {
        Ok(u64::try_from(self.eval(expr)?).unwrap_or(u64::MAX))
    }

    pub(super) fn eval(&mut self, expr: &Expr) -> Step<BigUint> {
        Ok(match &expr.kind {
            ExprKind::Const(value) => value.clone(),
            ExprKind::Load(place) => self.read(place)?,
            ExprKind::Unary(op, of) => self.operate(Operator::Unary(*op), [of], expr)?,
            ExprKind::Binary(op, left, right) => self.operate(Operator::Binary(*op), [left, right], expr)?,
            ExprKind::Slice { of, hi, lo } => self.operate(Operator::Slice { hi: *hi, lo: *lo }, [of], expr)?,
            ExprKind::Concat(left, right) => self.operate(Operator::Concat, [left, right], expr)?,
            ExprKind::Cast(of) => self.operate(Operator::Cast, [of], expr)?,
            ExprKind::Mux { cond, then, otherwise } => {
                let taken = if self.truth(cond)? { then } else { otherwise };
                self.eval(taken)?
            }
            ExprKind::Lookahead { offset } => {
                let width = expr.ty.width;
                let end = self.cursor * 8 + *offset as usize + width as usize;
                if end > self.packet.len() * 8 {
                    return Err(Jump::Reject(self.error_code("PacketTooShort")));
                }
                self.packet_bits(self.cursor * 8 + *offset as usize, width)
            }
            ExprKind::PacketLength => BigUint::from(self.packet.len()),
        })
    }

    /// Evaluates the operands from left to right, then the operator on them.
    fn operate<const N: usize>(&mut self, operator: Operator, operands: [&Expr; N], expr: &Expr) -> Step<BigUint> {
        let mut values = [const { (BigUint::ZERO, marklab_p4::ir::Ty::BOOL) }; N];
        for (value, operand) in values.iter_mut().zip(operands) {
            *value = (self.eval(operand)?, operand.ty);
        }
        Ok(operator.apply(&values, expr.ty).unwrap_or_else(|| {
            self.state.faults += 1;
            BigUint::ZERO
        }))
    }
}
