// SPDX-License-Identifier: MIT OR Apache-2.0
//! Constants, with constructor parameters replaced by their arguments.

use num_bigint::BigInt;
use rustc_hash::FxHashMap;

use crate::arith;
use crate::ast::{BinaryOp, UnaryOp};
use crate::ir;
use crate::typed::{Expr, ExprKind, Program, VarId};
use crate::types::Type;

use super::Value;

/// Current values of constructor parameters.
pub(super) type Bound = FxHashMap<VarId, Value>;

/// The value of a constant expression: a number, `bool`, string or enum member; `None` if it is not constant.
pub(super) fn value(program: &Program, bound: &Bound, expr: &Expr) -> Option<Value> {
    let of = |expr: &Expr| value(program, bound, expr);
    let number = |expr: &Expr| number(program, bound, expr);
    match &expr.kind {
        ExprKind::Int(value) => Some(Value::Number(value.to_string())),
        ExprKind::Bool(value) => Some(Value::Bool(*value)),
        ExprKind::String(text) => Some(Value::Text(text.to_string())),
        ExprKind::Enum(id, member) => {
            let decl = &program.enums[id.index()];
            let member = &decl.members[*member as usize];
            Some(match decl.underlying {
                Some(_) => Value::Number(member.value.to_string()),
                None => Value::Member(member.name.to_string()),
            })
        }
        ExprKind::Error(member) => Some(Value::Member(program.errors[*member as usize].to_string())),
        ExprKind::Var(id) => bound.get(id).cloned(),
        ExprKind::Const(id) => of(&program.consts[id.index()].value),
        ExprKind::Field(whole, index) => of(part(program, whole, *index)?),
        ExprKind::Cast(inner) => cast(program, &expr.ty, of(inner)?),
        ExprKind::Slice(inner, hi, lo) => {
            let (width, _) = size(program, &inner.ty)?;
            Some(Value::Number(arith::slice(&number(inner)?, width, *hi, *lo).to_string()))
        }
        ExprKind::Mux(cond, then, otherwise) => match of(cond)? {
            Value::Bool(true) => of(then),
            Value::Bool(false) => of(otherwise),
            _ => None,
        },
        ExprKind::Unary(op, inner) => unary(program, *op, &expr.ty, of(inner)?),
        ExprKind::Binary(op @ (BinaryOp::And | BinaryOp::Or), left, right) => {
            let decided = Value::Bool(*op == BinaryOp::Or);
            match of(left)? {
                left if left == decided => Some(decided),
                _ => of(right),
            }
        }
        ExprKind::Binary(BinaryOp::Concat, left, right) => {
            let ((_, _), (width, _)) = (size(program, &left.ty)?, size(program, &right.ty)?);
            Some(Value::Number(arith::concat(&number(left)?, &number(right)?, width).to_string()))
        }
        ExprKind::Binary(op, left, right) if is_arithmetic(*op) => {
            let result = arith::binary(*op, size(program, &left.ty), &number(left)?, &number(right)?).ok()?;
            Some(Value::Number(result.to_string()))
        }
        ExprKind::Binary(op, left, right) => compare(*op, &of(left)?, &of(right)?).map(Value::Bool),
        _ => None,
    }
}

/// The value of a constant numeric expression.
pub(super) fn number(program: &Program, bound: &Bound, expr: &Expr) -> Option<BigInt> {
    as_number(&value(program, bound, expr)?)
}

fn as_number(value: &Value) -> Option<BigInt> {
    match value {
        Value::Number(digits) => digits.parse().ok(),
        _ => None,
    }
}

/// A part of a constant struct or tuple.
fn part<'a>(program: &'a Program, whole: &'a Expr, index: u32) -> Option<&'a Expr> {
    match &whole.kind {
        ExprKind::Aggregate(parts) => parts.get(index as usize),
        ExprKind::Const(id) => part(program, &program.consts[id.index()].value, index),
        ExprKind::Cast(inner) => part(program, inner, index),
        ExprKind::Field(outer, place) => part(program, part(program, outer, *place)?, index),
        _ => None,
    }
}

/// Width and sign of a type that holds bits.
fn size(program: &Program, ty: &Type) -> Option<(u32, bool)> {
    match ty {
        Type::Bits { width, signed } => Some((*width, *signed)),
        Type::New(id) => size(program, &program.newtypes[id.index()].ty),
        Type::Enum(id) => size(program, program.enums[id.index()].underlying.as_ref()?),
        _ => None,
    }
}

fn cast(program: &Program, ty: &Type, value: Value) -> Option<Value> {
    Some(match (value, size(program, ty)) {
        (Value::Bool(value), Some(_)) => Value::Number(u8::from(value).to_string()),
        (Value::Number(digits), None) if *ty == Type::Bool => Value::Bool(digits != "0"),
        (Value::Number(digits), Some((width, signed))) => {
            Value::Number(arith::wrap(&digits.parse().ok()?, width, signed).to_string())
        }
        (value, _) => value,
    })
}

fn unary(program: &Program, op: UnaryOp, ty: &Type, value: Value) -> Option<Value> {
    if let (UnaryOp::Not, Value::Bool(value)) = (op, &value) {
        return Some(Value::Bool(!value));
    }
    let exact = match op {
        UnaryOp::Minus => arith::unary(ir::UnaryOp::Neg, &as_number(&value)?),
        UnaryOp::Complement => arith::unary(ir::UnaryOp::Not, &as_number(&value)?),
        UnaryOp::Plus => as_number(&value)?,
        UnaryOp::Not => return None,
    };
    Some(Value::Number(match size(program, ty) {
        Some((width, signed)) => arith::wrap(&exact, width, signed).to_string(),
        None => exact.to_string(),
    }))
}

/// A comparison of two constants.
pub(super) fn compare(op: BinaryOp, left: &Value, right: &Value) -> Option<bool> {
    use BinaryOp as B;
    match (op, as_number(left), as_number(right)) {
        (op, Some(left), Some(right)) if op.is_comparison() => Some(arith::compare(op, &left, &right)),
        (B::Eq, ..) => Some(left == right),
        (B::Ne, ..) => Some(left != right),
        _ => None,
    }
}

/// Whether [`arith::binary`] supports the operator.
pub(super) fn is_arithmetic(op: BinaryOp) -> bool {
    use BinaryOp as B;
    let arithmetic = matches!(op, B::Mul | B::Div | B::Mod | B::Add | B::Sub | B::AddSat | B::SubSat);
    arithmetic || matches!(op, B::Shl | B::Shr | B::BitAnd | B::BitOr | B::BitXor)
}
