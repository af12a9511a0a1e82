// SPDX-License-Identifier: MIT OR Apache-2.0
//! Constants: which expressions are known at compile time, and their values (spec section 18.1).

use num_bigint::BigInt;

use crate::ast::{Direction, UnaryOp};
use crate::typed::{Arg, Callee, Expr, ExprKind, FunctionKind, VarKind};
use crate::types::Type;

use super::Checker;

impl Checker<'_> {
    /// The value of a constant expression of integral type. Operators on constants are folded when they are checked, so
    /// only leaves remain.
    pub(super) fn int_value(&self, expr: &Expr) -> Option<BigInt> {
        match &expr.kind {
            ExprKind::Int(value) => Some(value.clone()),
            ExprKind::Enum(id, member) => {
                let decl = &self.program.enums[id.index()];
                decl.underlying.as_ref().map(|_| decl.members[*member as usize].value.clone())
            }
            ExprKind::Const(id) => self.int_value(&self.program.consts[id.index()].value),
            ExprKind::Cast(inner) if matches!(expr.ty, Type::New(_) | Type::Enum(_)) => self.int_value(inner),
            _ => None,
        }
    }

    /// The literal value of an expression, if it is a literal or the name of a constant of simple type.
    pub(super) fn literal(&self, expr: &Expr) -> Option<ExprKind> {
        match &expr.kind {
            ExprKind::Const(id) => self.literal(&self.program.consts[id.index()].value),
            kind @ (ExprKind::Int(_)
            | ExprKind::Bool(_)
            | ExprKind::String(_)
            | ExprKind::Enum(..)
            | ExprKind::Error(_)
            | ExprKind::MatchKind(_)) => Some(kind.clone()),
            _ => None,
        }
    }

    pub(super) fn bool_value(&self, expr: &Expr) -> Option<bool> {
        match self.literal(expr)? {
            ExprKind::Bool(value) => Some(value),
            _ => None,
        }
    }

    /// Whether the value is known at compile time. Constructor parameters are.
    pub(super) fn is_known(&self, expr: &Expr) -> bool {
        match &expr.kind {
            ExprKind::Var(id) => {
                let var = &self.program.vars[id.index()];
                matches!(var.kind, VarKind::Constructor | VarKind::ActionData | VarKind::Param(Direction::None))
            }
            ExprKind::Next(_) | ExprKind::Last(_) | ExprKind::LastIndex(_) => false,
            ExprKind::Call(call) => {
                let args = call.args.iter().all(|(_, arg)| matches!(arg, Arg::Expr(arg) if self.is_known(arg)));
                match &call.callee {
                    Callee::Function(id) => {
                        let function = &self.program.functions[id.index()];
                        let folds = matches!(expr.ty, Type::Extern(..))
                            || &*function.name == "static_assert"
                            || function.annotations.iter().any(|annotation| &*annotation.name.name == "pure");
                        args && folds && matches!(function.kind, FunctionKind::Extern)
                    }
                    _ => false,
                }
            }
            _ => !expr.any_part(|part| !self.is_known(part)),
        }
    }

    /// Whether the expression can stand on the left of an assignment (spec section 6.7).
    pub(super) fn is_lvalue(&self, expr: &Expr) -> bool {
        match &expr.kind {
            ExprKind::Poison => true,
            ExprKind::Var(id) => match self.program.vars[id.index()].kind {
                VarKind::Variable => true,
                VarKind::Param(direction) => direction.writes(),
                VarKind::ActionData | VarKind::Constructor => false,
            },
            ExprKind::Field(of, _) => self.is_lvalue(of) && !matches!(of.ty, Type::TableResult(_)),
            ExprKind::Element(of, _) | ExprKind::Slice(of, ..) | ExprKind::PlusSlice(of, _) | ExprKind::Next(of) => {
                self.is_lvalue(of)
            }
            _ => false,
        }
    }

    /// Folds a unary operation on a constant.
    pub(super) fn fold_unary(&self, op: UnaryOp, ty: &Type, operand: &Expr) -> Option<ExprKind> {
        match (op, self.literal(operand)?) {
            (UnaryOp::Not, ExprKind::Bool(value)) => Some(ExprKind::Bool(!value)),
            (UnaryOp::Minus | UnaryOp::Plus | UnaryOp::Complement, _) => {
                let value = self.int_value(operand)?;
                let value = match op {
                    UnaryOp::Minus => -value,
                    UnaryOp::Complement => -value - 1,
                    _ => value,
                };
                Some(ExprKind::Int(match ty {
                    Type::Bits { width, signed } => crate::arith::wrap(&value, *width, *signed),
                    _ => value,
                }))
            }
            _ => None,
        }
    }
}
