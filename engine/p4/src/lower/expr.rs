// SPDX-License-Identifier: MIT OR Apache-2.0
//! Expressions.

use num_bigint::BigInt;

use crate::arith;
use crate::ast::{BinaryOp as Op, UnaryOp};
use crate::diagnostics::Problem;
use crate::ir::{self, StmtKind, Ty};
use crate::source::Span;
use crate::typed::{Builtin, Callee, Expr, ExprKind};
use crate::types::Type;

use super::fold;
use super::place::bits_at;
use super::storage::Lvalue;
use super::value::Value;
use super::{Binding, Lowered, Lowerer};

/// An argument of an extern: a value, or a place for a result.
#[derive(Clone, Debug)]
pub(crate) enum Argument {
    Value(Value),
    Place(Lvalue),
    /// Not given.
    Missing,
}

impl Lowerer<'_> {
    /// Lowers an expression. Statements that must run before it has a value are added to the code.
    pub(crate) fn expr(&mut self, expr: &Expr) -> Lowered<Value> {
        let span = expr.span;
        match &expr.kind {
            ExprKind::Int(value) => Ok(self.number(value, &expr.ty, span)),
            ExprKind::Bool(value) => Ok(Value::Scalar(fold::boolean(*value, span))),
            ExprKind::String(text) => Ok(Value::String(text.clone())),
            ExprKind::Enum(id, member) => {
                let value = self.program.enums[id.index()].members[*member as usize].value.clone();
                Ok(self.number(&value, &expr.ty, span))
            }
            ExprKind::Error(code) | ExprKind::MatchKind(code) => Ok(self.number(&(*code).into(), &expr.ty, span)),
            ExprKind::Const(id) => {
                let program = self.program;
                self.expr(&program.consts[id.index()].value)
            }
            ExprKind::Var(id) => match &self.bindings[id.index()] {
                Some(Binding::Value(value)) => Ok(value.clone()),
                Some(Binding::Place(place)) => {
                    let place = place.clone();
                    self.read(&place, span)
                }
                None => {
                    let name = &self.program.vars[id.index()].name;
                    let what = format!("`{name}` is not bound");
                    self.internal(span, what)
                }
            },
            ExprKind::Instance(id) => match self.instance(*id) {
                Some(object) => Ok(Value::Object(object)),
                None => self.internal(span, "an instance is used before it is made"),
            },
            ExprKind::Construct(construct) => {
                let name = String::new();
                Ok(Value::Object(self.construct(construct, &expr.ty, &name, &[], &[], span)?))
            }
            ExprKind::Field(of, index) => self.field(of, *index, span),
            ExprKind::Element(..) | ExprKind::Next(_) | ExprKind::Last(_) => self.element_value(expr),
            ExprKind::LastIndex(of) => {
                let stack = self.place(of)?;
                Ok(Value::Scalar(self.last_index(&stack, span)?))
            }
            ExprKind::Slice(of, hi, lo) => {
                let of = self.scalar(of)?;
                Ok(Value::Scalar(fold::slice(of, *hi, *lo, span)))
            }
            ExprKind::PlusSlice(of, lo) => {
                let width = self.width_of(&expr.ty, span)?;
                let operands = self.operands(&[of, lo])?;
                let [of_value, lo_value] = <[Value; 2]>::try_from(operands).expect("two operands");
                let of_ty = self.scalar_ty(&self.concrete(&of.ty)).unwrap_or(Ty::bits(0));
                let of = self.scalar_of(of_value, of_ty, span)?;
                let lo = self.scalar_of(lo_value, Ty::bits(32), span)?;
                Ok(Value::Scalar(bits_at(of, lo, width, span)))
            }
            ExprKind::Unary(op, operand) => self.unary(*op, operand, span),
            ExprKind::Binary(op @ (Op::And | Op::Or), left, right) => self.logical(*op, left, right, span),
            ExprKind::Binary(op, left, right) => self.binary(*op, left, right, &expr.ty, span),
            ExprKind::Mux(cond, then, otherwise) => self.mux(cond, then, otherwise, &expr.ty, span),
            ExprKind::Cast(of) => self.cast(of, &expr.ty, span),
            ExprKind::Aggregate(parts) => {
                let ty = self.concrete(&expr.ty);
                let parts: Vec<&Expr> = parts.iter().collect();
                let values = self.operands(&parts)?;
                Ok(self.assemble(&ty, values, true, span))
            }
            ExprKind::InvalidHeader | ExprKind::Default => self.default_value(&expr.ty, span),
            ExprKind::Call(call) => self.call(call, &expr.ty, span),
            ExprKind::This => self.unsupported(span, "`this`"),
            ExprKind::Record(..) => self.unsupported(span, "a record of unknown type"),
            ExprKind::ValueSet(_) | ExprKind::Any | ExprKind::Mask(..) | ExprKind::Range(..) | ExprKind::Poison => {
                self.internal(span, "this has no value")
            }
        }
    }

    fn number(&mut self, value: &BigInt, ty: &Type, span: Span) -> Value {
        match self.scalar_ty(&self.concrete(ty)) {
            Some(ty) => Value::Scalar(fold::constant(value, ty, span)),
            None => Value::Int(value.clone()),
        }
    }

    fn width_of(&mut self, ty: &Type, span: Span) -> Lowered<u32> {
        match self.scalar_ty(&self.concrete(ty)) {
            Some(ty) => Ok(ty.width),
            None => self.internal(span, "a width was expected"),
        }
    }

    /// Lowers an expression that must be a scalar.
    pub(crate) fn scalar(&mut self, expr: &Expr) -> Lowered<ir::Expr> {
        let value = self.expr(expr)?;
        let ty = self.scalar_ty(&self.concrete(&expr.ty)).unwrap_or(Ty::bits(32));
        self.scalar_of(value, ty, expr.span)
    }

    /// Lowers several expressions from left to right. A value is frozen if a later one has side effects.
    pub(crate) fn operands(&mut self, exprs: &[&Expr]) -> Lowered<Vec<Value>> {
        let last_effect = exprs.iter().rposition(|expr| has_effects(expr));
        let mut values = Vec::with_capacity(exprs.len());
        for (place, expr) in exprs.iter().enumerate() {
            let mut value = self.expr(expr)?;
            if last_effect.is_some_and(|effect| place < effect) {
                value = self.freeze(value, &expr.ty)?;
            }
            values.push(value);
        }
        Ok(values)
    }

    fn field(&mut self, of: &Expr, index: u32, span: Span) -> Lowered<Value> {
        if let Type::TableResult(_) = of.ty {
            return self.table_result(of, index, span);
        }
        if self.is_place(of) {
            let place = self.place(of)?;
            if let Some(part) = place.part(index as usize) {
                return self.read(&part, span);
            }
        }
        let parts = match self.expr(of)? {
            Value::Struct(parts) | Value::Union(parts) | Value::List(parts) => parts,
            Value::Header { fields, .. } => fields,
            _ => return self.internal(span, "this has no fields"),
        };
        match parts.into_iter().nth(index as usize) {
            Some(part) => Ok(part),
            None => self.internal(span, "there is no such field"),
        }
    }

    /// An element of a stack, which may also be a value without storage.
    fn element_value(&mut self, expr: &Expr) -> Lowered<Value> {
        if let ExprKind::Element(of, index) = &expr.kind
            && !self.is_place(of)
        {
            let operands = self.operands(&[of, index])?;
            let [stack, index] = <[Value; 2]>::try_from(operands).expect("two operands");
            let index = self.scalar_of(index, Ty::bits(32), expr.span)?;
            let storage = self.temp_storage(&of.ty)?;
            self.store(&storage.clone().into(), stack, expr.span)?;
            let place = match fold::number(&index).and_then(|number| usize::try_from(&number).ok()) {
                Some(number) => Lvalue::from(storage).part(number),
                None => return self.unsupported(expr.span, "a run-time index into a value that is not a variable"),
            };
            return match place {
                Some(place) => self.read(&place, expr.span),
                None => self.internal(expr.span, "there is no such element"),
            };
        }
        let place = self.place(expr)?;
        self.read(&place, expr.span)
    }

    fn unary(&mut self, op: UnaryOp, operand: &Expr, span: Span) -> Lowered<Value> {
        let value = self.expr(operand)?;
        Ok(match (op, value) {
            (UnaryOp::Plus, value) => value,
            (UnaryOp::Minus, Value::Int(value)) => Value::Int(-value),
            (UnaryOp::Minus, Value::Scalar(expr)) => Value::Scalar(fold::unary(ir::UnaryOp::Neg, expr, span)),
            (UnaryOp::Not | UnaryOp::Complement, Value::Scalar(expr)) => {
                Value::Scalar(fold::unary(ir::UnaryOp::Not, expr, span))
            }
            _ => return self.internal(span, "an operand of the wrong kind"),
        })
    }

    fn binary(&mut self, op: Op, left: &Expr, right: &Expr, ty: &Type, span: Span) -> Lowered<Value> {
        let operands = self.operands(&[left, right])?;
        let [a, b] = <[Value; 2]>::try_from(operands).expect("two operands");
        if matches!(op, Op::Eq | Op::Ne) {
            let equal = self.values_equal(&a, &b, span)?;
            return Ok(Value::Scalar(if op == Op::Eq { equal } else { fold::not(equal) }));
        }
        match (a, b) {
            (Value::Int(a), Value::Int(b)) => self.int_binary(op, &a, &b, span),
            (Value::String(a), Value::String(b)) => Ok(Value::String(format!("{a}{b}").into())),
            (Value::Scalar(a), Value::Scalar(b)) if op == Op::Concat => {
                let signed = self.scalar_ty(&self.concrete(ty)).is_some_and(|ty| ty.signed);
                Ok(Value::Scalar(fold::concat(a, b, signed, span)))
            }
            (Value::Scalar(a), b @ (Value::Scalar(_) | Value::Int(_))) => {
                // A shift amount may be an `int`.
                let b = match b {
                    Value::Int(by) => shift_amount(&by, span),
                    Value::Scalar(b) => b,
                    _ => unreachable!("matched above"),
                };
                Ok(Value::Scalar(fold::binary(op, a, b, span)))
            }
            (Value::Int(a), Value::Scalar(b)) => match fold::number(&b) {
                Some(b) => self.int_binary(op, &a, &b, span),
                None => self.internal(span, "an `int` is combined with a run-time value"),
            },
            _ => self.internal(span, "operands of the wrong kind"),
        }
    }

    pub(super) fn int_binary(&mut self, op: Op, a: &BigInt, b: &BigInt, span: Span) -> Lowered<Value> {
        if matches!(op, Op::Lt | Op::Le | Op::Gt | Op::Ge) {
            return Ok(Value::Scalar(fold::boolean(arith::compare(op, a, b), span)));
        }
        match arith::binary(op, None, a, b) {
            Ok(value) => Ok(Value::Int(value)),
            Err(_) => self.fail(span, Problem::NoConstantResult {}),
        }
    }

    /// `&&` and `||`: the right side is evaluated only if the left one does not decide (spec section 8.6.1).
    fn logical(&mut self, op: Op, left: &Expr, right: &Expr, span: Span) -> Lowered<Value> {
        let left = self.scalar(left)?;
        if !has_effects(right) {
            let right = self.scalar(right)?;
            return Ok(Value::Scalar(fold::binary(op, left, right, span)));
        }
        if let Some(value) = fold::truth(&left) {
            return match value == (op == Op::Or) {
                true => Ok(Value::Scalar(left)),
                false => self.expr(right),
            };
        }
        let result = self.temp(Ty::BOOL);
        self.emit(StmtKind::Assign { dst: result.into(), src: left });
        let decided = fold::load(result, Ty::BOOL, span);
        let goes_on = if op == Op::And { decided } else { fold::not(decided) };
        let (then, ()) = self.collect(|lowerer| {
            let right = lowerer.scalar(right)?;
            lowerer.emit(StmtKind::Assign { dst: result.into(), src: right });
            Ok(())
        })?;
        self.emit(StmtKind::If { cond: goes_on, then, otherwise: Vec::new() });
        Ok(Value::Scalar(fold::load(result, Ty::BOOL, span)))
    }

    fn mux(&mut self, cond: &Expr, then: &Expr, otherwise: &Expr, ty: &Type, span: Span) -> Lowered<Value> {
        let cond = self.scalar(cond)?;
        if let Some(taken) = fold::truth(&cond) {
            return self.expr(if taken { then } else { otherwise });
        }
        if !has_effects(then) && !has_effects(otherwise) {
            let (then, otherwise) = (self.expr(then)?, self.expr(otherwise)?);
            return self.mux_values(&cond, then, otherwise, span);
        }
        let place = Lvalue::from(self.temp_storage(ty)?);
        let mut side = |expr: &Expr| {
            self.collect(|lowerer| {
                let value = lowerer.expr(expr)?;
                lowerer.store(&place, value, span)
            })
        };
        let ((then, ()), (otherwise, ())) = (side(then)?, side(otherwise)?);
        self.emit(StmtKind::If { cond, then, otherwise });
        self.read(&place, span)
    }

    fn cast(&mut self, of: &Expr, ty: &Type, span: Span) -> Lowered<Value> {
        let value = if of.ty == Type::Int { self.unbounded(of)? } else { self.expr(of)? };
        let ty = self.concrete(ty);
        let Some(scalar) = self.scalar_ty(&ty) else {
            return match (value, &ty) {
                (Value::Int(value), Type::Int) => Ok(Value::Int(value)),
                (Value::Scalar(expr), Type::Int) => match fold::number(&expr) {
                    Some(value) => Ok(Value::Int(value)),
                    None => self.fail(span, Problem::NotConstant {}),
                },
                (value, _) => Ok(value),
            };
        };
        let value = match value {
            Value::Int(value) if ty == Type::Bool => Value::Int(u8::from(value != BigInt::ZERO).into()),
            Value::Scalar(_) if of.ty == Type::Int && ty == Type::Bool => {
                return self.fail(span, Problem::NotConstant {});
            }
            other => other,
        };
        let expr = self.scalar_of(value, scalar, span)?;
        Ok(Value::Scalar(fold::cast(expr, scalar, span)))
    }

    /// Whether an expression names a place in storage.
    pub(crate) fn is_place(&self, expr: &Expr) -> bool {
        match &expr.kind {
            ExprKind::Var(id) => matches!(self.bindings[id.index()], Some(Binding::Place(_))),
            ExprKind::Next(of) | ExprKind::Last(of) | ExprKind::Field(of, _) | ExprKind::Element(of, _) => {
                self.is_place(of)
            }
            _ => false,
        }
    }

    /// The value of an `int` or constant, which must be known.
    pub(crate) fn known_number(&mut self, value: &Value, span: Span) -> Lowered<BigInt> {
        let number = match value {
            Value::Int(value) => Some(value.clone()),
            Value::Scalar(expr) => fold::number(expr),
            _ => None,
        };
        match number {
            Some(number) => Ok(number),
            None => self.fail(span, Problem::NotConstant {}),
        }
    }
}

/// A shift amount as a scalar that is wide enough.
fn shift_amount(by: &BigInt, span: Span) -> ir::Expr {
    let width = (by.bits() as u32).max(1);
    fold::constant(by, Ty::bits(width), span)
}

/// Whether evaluating an expression has side effects.
pub(crate) fn has_effects(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Call(call) => !matches!(&call.callee, Callee::Builtin(Builtin::IsValid, of) if !has_effects(of)),
        // It may end the parser.
        ExprKind::Next(_) => true,
        _ => expr.any_part(has_effects),
    }
}
