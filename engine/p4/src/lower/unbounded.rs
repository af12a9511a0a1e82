// SPDX-License-Identifier: MIT OR Apache-2.0
//! Run-time values of type `int`: expressions between a cast to `int` and the cast back.
//!
//! The language requires such expressions to be constants; p4c accepts others as well. They are calculated in as many
//! bits as their values can need, so that results are exact.

use crate::ast::{BinaryOp as Op, UnaryOp};
use crate::diagnostics::Problem;
use crate::ir::{self, Ty};
use crate::source::Span;
use crate::typed::{Expr, ExprKind};
use crate::types::Type;

use super::expr::has_effects;
use super::fold;
use super::value::Value;
use super::{Lowered, Lowerer};

/// Maximum width of a calculation, in bits.
const MAX_WIDTH: u32 = 1 << 12;

impl Lowerer<'_> {
    /// Lowers an expression of type `int`: to a number if it is constant, otherwise to a signed scalar.
    pub(super) fn unbounded(&mut self, expr: &Expr) -> Lowered<Value> {
        let span = expr.span;
        match &expr.kind {
            ExprKind::Cast(of) if of.ty != Type::Int => match self.expr(of)? {
                Value::Scalar(of) => Ok(match fold::number(&of) {
                    Some(number) => Value::Int(number),
                    None => Value::Scalar(widened(of, 0)),
                }),
                other => Ok(other),
            },
            ExprKind::Unary(UnaryOp::Minus, of) => match self.unbounded(of)? {
                Value::Scalar(of) => Ok(Value::Scalar(fold::unary(ir::UnaryOp::Neg, widened(of, 1), span))),
                Value::Int(number) => Ok(Value::Int(-number)),
                _ => self.internal(span, "a number was expected"),
            },
            ExprKind::Binary(op, left, right) if left.ty == Type::Int && right.ty == Type::Int => {
                let mut a = self.unbounded(left)?;
                if has_effects(right) {
                    a = self.freeze(a, &left.ty)?;
                }
                match (a, self.unbounded(right)?) {
                    (Value::Int(a), Value::Int(b)) => self.int_binary(*op, &a, &b, span),
                    (a, b) => self.unbounded_binary(*op, a, b, span),
                }
            }
            _ => self.expr(expr),
        }
    }

    fn unbounded_binary(&mut self, op: Op, a: Value, b: Value, span: Span) -> Lowered<Value> {
        let (a, b) = (self.signed(a, span)?, self.signed(b, span)?);
        let wider = a.ty.width.max(b.ty.width);
        let width = match op {
            Op::Add | Op::Sub => wider + 1,
            Op::Mul => a.ty.width + b.ty.width,
            _ => return self.fail(span, Problem::NotConstant {}),
        };
        if width > MAX_WIDTH {
            return self.unsupported(span, format!("an `int` of more than {MAX_WIDTH} bits at run time"));
        }
        let ty = Ty::int(width);
        Ok(Value::Scalar(fold::binary(op, fold::cast(a, ty, span), fold::cast(b, ty, span), span)))
    }

    fn signed(&mut self, value: Value, span: Span) -> Lowered<ir::Expr> {
        let bits = if let Value::Int(number) = &value { number.bits() as u32 + 1 } else { 0 };
        self.scalar_of(value, Ty::int(bits), span)
    }
}

/// The same number with a sign and `more` additional bits.
fn widened(expr: ir::Expr, more: u32) -> ir::Expr {
    let (Ty { width, signed }, span) = (expr.ty, expr.span);
    fold::cast(expr, Ty::int(width + u32::from(!signed) + more), span)
}
