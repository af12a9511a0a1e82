// SPDX-License-Identifier: MIT OR Apache-2.0
//! Operators and casts (spec sections 8.5 to 8.12).

use crate::arith::{self, ArithError};
use crate::ast::{self, BinaryOp, UnaryOp};
use crate::diagnostics::Problem;
use crate::source::Span;
use crate::typed::{Expr, ExprKind};
use crate::types::Type;

use super::Checker;

impl Checker<'_> {
    /// A member of a serializable enum as its number; other values unchanged.
    pub(super) fn as_underlying(&mut self, expr: Expr) -> Expr {
        let ty = self.underlying(&expr.ty);
        if ty == expr.ty {
            return expr;
        }
        let span = expr.span;
        let kind = match self.int_value(&expr) {
            Some(value) => ExprKind::Int(value),
            None => ExprKind::Cast(Box::new(expr)),
        };
        Expr { kind, ty, span }
    }

    pub(super) fn unary(&mut self, op: UnaryOp, operand: &ast::Expr, span: Span) -> Expr {
        let operand = self.expr(operand);
        let operand = self.as_underlying(operand);
        let fits = match (op, &operand.ty) {
            (_, Type::Poison) => return Self::poison(span),
            (UnaryOp::Not, ty) => *ty == Type::Bool,
            (UnaryOp::Complement, ty) => matches!(ty, Type::Bits { .. }),
            (UnaryOp::Minus | UnaryOp::Plus, ty) => matches!(ty, Type::Bits { .. } | Type::Int),
        };
        if !fits {
            let text = match op {
                UnaryOp::Not => "!",
                UnaryOp::Complement => "~",
                UnaryOp::Minus => "-",
                UnaryOp::Plus => "+",
            };
            let problem = Problem::UnaryType { op: text, ty: self.show(&operand.ty) };
            return self.refuse(span, problem);
        }
        let ty = operand.ty.clone();
        let kind = match self.fold_unary(op, &ty, &operand) {
            Some(kind) => kind,
            None => ExprKind::Unary(op, Box::new(operand)),
        };
        Expr { kind, ty, span }
    }

    pub(super) fn binary(&mut self, op: BinaryOp, left: &ast::Expr, right: &ast::Expr, span: Span) -> Expr {
        let (left, right) = (self.expr(left), self.expr(right));
        let (left, right) = (self.value_only(left), self.value_only(right));
        if left.ty.is_poison() || right.ty.is_poison() {
            return Self::poison(span);
        }
        self.binary_on(op, left, right, span)
    }

    /// A binary operator on checked operands.
    pub(super) fn binary_on(&mut self, op: BinaryOp, left: Expr, right: Expr, span: Span) -> Expr {
        match op {
            BinaryOp::Eq | BinaryOp::Ne => self.equality(op, left, right, span),
            BinaryOp::And | BinaryOp::Or => self.logical(op, left, right, span),
            BinaryOp::Shl | BinaryOp::Shr => self.shift(op, left, right, span),
            BinaryOp::Concat => self.concat(left, right, span),
            BinaryOp::Lt | BinaryOp::Le | BinaryOp::Gt | BinaryOp::Ge => {
                match self.same_numbers(op, left, right, span) {
                    Ok((left, right, _)) => self.comparison(op, left, right, span),
                    Err(poison) => poison,
                }
            }
            _ => match self.same_numbers(op, left, right, span) {
                Ok((left, right, ty)) => self.arithmetic(op, left, right, ty, span),
                Err(poison) => poison,
            },
        }
    }

    fn bad_operands(&mut self, op: BinaryOp, left: &Expr, right: &Expr, span: Span) -> Expr {
        let problem = Problem::BinaryTypes { op: op.text(), left: self.show(&left.ty), right: self.show(&right.ty) };
        let widths = matches!((&left.ty, &right.ty), (Type::Bits { .. }, Type::Bits { .. }));
        let newtype = matches!(left.ty, Type::New(_)) || matches!(right.ty, Type::New(_));
        let entry = self.diagnostics.error(span, problem);
        match (widths, newtype) {
            (true, _) => entry.help("cast one operand to the type of the other").done(),
            (_, true) => entry.help("a `type` has no operators: cast to its underlying type").done(),
            _ => entry.done(),
        }
        Self::poison(span)
    }

    /// Converts two numbers to a common type.
    fn same_numbers(&mut self, op: BinaryOp, left: Expr, right: Expr, span: Span) -> Result<(Expr, Expr, Type), Expr> {
        let (left, right) = (self.as_underlying(left), self.as_underlying(right));
        if matches!(op, BinaryOp::Div | BinaryOp::Mod)
            && let Some(problem) = self.bad_divisor(&left, &right)
        {
            return Err(self.refuse(span, problem));
        }
        let ty = match (&left.ty, &right.ty) {
            (Type::Int, Type::Int) => Type::Int,
            (ty @ Type::Bits { .. }, Type::Int) | (Type::Int, ty @ Type::Bits { .. }) => ty.clone(),
            (a @ Type::Bits { .. }, b @ Type::Bits { .. }) if a == b => a.clone(),
            _ => return Err(self.bad_operands(op, &left, &right, span)),
        };
        let (left, right) = (self.coerce(left, &ty), self.coerce(right, &ty));
        Ok((left, right, ty))
    }

    fn arithmetic(&mut self, op: BinaryOp, left: Expr, right: Expr, ty: Type, span: Span) -> Expr {
        let divides = matches!(op, BinaryOp::Div | BinaryOp::Mod);
        let saturates = matches!(op, BinaryOp::AddSat | BinaryOp::SubSat);
        if divides && matches!(ty, Type::Bits { signed: true, .. }) || saturates && ty == Type::Int {
            return self.bad_operands(op, &left, &right, span);
        }
        self.fold_or(op, left, right, ty, span)
    }

    /// The fault of a division, as far as its operands are known.
    fn bad_divisor(&self, left: &Expr, right: &Expr) -> Option<Problem> {
        let (left, right) = (self.int_value(left), self.int_value(right));
        let zero = num_bigint::BigInt::ZERO;
        if right.as_ref() == Some(&zero) {
            return Some(Problem::DivisionByZero {});
        }
        (left.is_some_and(|left| left < zero) || right.is_some_and(|right| right < zero))
            .then_some(Problem::NegativeDivision {})
    }

    /// The value of an operation on constants, or the operation.
    fn fold_or(&mut self, op: BinaryOp, left: Expr, right: Expr, ty: Type, span: Span) -> Expr {
        let size = match ty {
            Type::Bits { width, signed } => Some((width, signed)),
            _ => None,
        };
        if let (Some(a), Some(b)) = (self.int_value(&left), self.int_value(&right)) {
            return match arith::binary(op, size, &a, &b) {
                Ok(value) => Expr { kind: ExprKind::Int(value), ty, span },
                Err(error) => {
                    let problem = match error {
                        ArithError::DivisionByZero => Problem::DivisionByZero {},
                        ArithError::NegativeOperand => Problem::NegativeDivision {},
                        ArithError::NegativeShift => Problem::NegativeShift { by: b.to_string() },
                        ArithError::TooLarge => Problem::NumberTooLarge {},
                    };
                    self.refuse(span, problem)
                }
            };
        }
        Expr { kind: ExprKind::Binary(op, Box::new(left), Box::new(right)), ty, span }
    }

    fn comparison(&mut self, op: BinaryOp, left: Expr, right: Expr, span: Span) -> Expr {
        let kind = match (self.int_value(&left), self.int_value(&right)) {
            (Some(a), Some(b)) => ExprKind::Bool(arith::compare(op, &a, &b)),
            _ => ExprKind::Binary(op, Box::new(left), Box::new(right)),
        };
        Expr { kind, ty: Type::Bool, span }
    }

    fn logical(&mut self, op: BinaryOp, left: Expr, right: Expr, span: Span) -> Expr {
        if left.ty != Type::Bool || right.ty != Type::Bool {
            return self.bad_operands(op, &left, &right, span);
        }
        // The right side is not evaluated if the left one decides (spec section 8.6.1).
        if let Some(value) = self.bool_value(&left) {
            let decided = value == (op == BinaryOp::Or);
            return Expr { span, ..if decided { left } else { right } };
        }
        Expr { kind: ExprKind::Binary(op, Box::new(left), Box::new(right)), ty: Type::Bool, span }
    }

    fn shift(&mut self, op: BinaryOp, left: Expr, right: Expr, span: Span) -> Expr {
        let (left, right) = (self.as_underlying(left), self.as_underlying(right));
        let by = self.int_value(&right);
        if let Some(by) = by.as_ref().filter(|by| **by < num_bigint::BigInt::ZERO) {
            return self.refuse(right.span, Problem::NegativeShift { by: by.to_string() });
        }
        let numeric = matches!(left.ty, Type::Bits { .. } | Type::Int);
        let amount = match right.ty {
            Type::Bits { signed, .. } => !signed || by.is_some(),
            Type::Int => self.is_known(&right),
            _ => false,
        };
        let sized = left.ty != Type::Int || self.is_known(&right);
        if !numeric || !amount || !sized {
            return self.bad_operands(op, &left, &right, span);
        }
        let ty = left.ty.clone();
        if let (Type::Bits { width, .. }, Some(by)) = (&ty, &by)
            && *by >= (*width).into()
        {
            self.diagnostics.warning(span, Problem::ShiftTooFar { by: by.to_string(), width: *width });
        }
        self.fold_or(op, left, right, ty, span)
    }

    fn concat(&mut self, left: Expr, right: Expr, span: Span) -> Expr {
        let (left, right) = (self.as_underlying(left), self.as_underlying(right));
        match (&left.ty, &right.ty) {
            // A string is always known, but a constructor parameter is known only at the call of the constructor.
            (Type::String, Type::String) => {
                let kind = match (self.literal(&left), self.literal(&right)) {
                    (Some(ExprKind::String(a)), Some(ExprKind::String(b))) => {
                        ExprKind::String(format!("{a}{b}").into())
                    }
                    _ => ExprKind::Binary(BinaryOp::Concat, Box::new(left), Box::new(right)),
                };
                Expr { kind, ty: Type::String, span }
            }
            (&Type::Bits { width: a, signed }, &Type::Bits { width: b, .. }) => {
                let ty = Type::Bits { width: a + b, signed };
                let kind = match (self.int_value(&left), self.int_value(&right)) {
                    (Some(high), Some(low)) => {
                        ExprKind::Int(arith::wrap(&arith::concat(&high, &low, b), a + b, signed))
                    }
                    _ => ExprKind::Binary(BinaryOp::Concat, Box::new(left), Box::new(right)),
                };
                Expr { kind, ty, span }
            }
            _ => {
                let no_width = left.ty == Type::Int || right.ty == Type::Int;
                let problem = Problem::BinaryTypes { op: "++", left: self.show(&left.ty), right: self.show(&right.ty) };
                let entry = self.diagnostics.error(span, problem);
                if no_width {
                    entry.help("give the number a width, as in `8w1`").done();
                }
                Self::poison(span)
            }
        }
    }

    fn equality(&mut self, op: BinaryOp, left: Expr, right: Expr, span: Span) -> Expr {
        let (left, right) = match (&left.ty, &right.ty) {
            (a, b) if a == b => (left, right),
            _ => (self.as_underlying(left), self.as_underlying(right)),
        };
        let comparable = self.common_type(&left.ty, &right.ty).filter(|ty| self.is_comparable(ty));
        let Some(ty) = comparable else { return self.bad_operands(op, &left, &right, span) };
        let (left, right) = (self.coerce(left, &ty), self.coerce(right, &ty));
        if left.ty.is_poison() || right.ty.is_poison() {
            return Self::poison(span);
        }
        if let (Some(a), Some(b)) = (self.int_value(&left), self.int_value(&right)) {
            return Expr { kind: ExprKind::Bool(arith::compare(op, &a, &b)), ty: Type::Bool, span };
        }
        let equal = match (self.literal(&left), self.literal(&right)) {
            (Some(ExprKind::Bool(a)), Some(ExprKind::Bool(b))) => Some(a == b),
            (Some(ExprKind::String(a)), Some(ExprKind::String(b))) => Some(a == b),
            (Some(ExprKind::Enum(_, a)), Some(ExprKind::Enum(_, b))) => Some(a == b),
            (Some(ExprKind::Error(a)), Some(ExprKind::Error(b))) => Some(a == b),
            _ => None,
        };
        let kind = match equal {
            Some(equal) => ExprKind::Bool(equal == (op == BinaryOp::Eq)),
            None => ExprKind::Binary(op, Box::new(left), Box::new(right)),
        };
        Expr { kind, ty: Type::Bool, span }
    }

    /// Whether values of the type can be compared for equality.
    fn is_comparable(&self, ty: &Type) -> bool {
        match ty {
            Type::Bool | Type::Int | Type::Bits { .. } | Type::Varbit(_) | Type::String | Type::Error => true,
            Type::Enum(_) | Type::New(_) | Type::MatchKind => true,
            Type::Fields(id, args) => {
                let count = self.program.fields(*id).fields.len();
                (0..count).all(|index| self.is_comparable(&self.program.field_type(*id, args, index)))
            }
            Type::Stack(element, _) => self.is_comparable(element),
            Type::Tuple(parts) | Type::Sequence(parts, false) => parts.iter().all(|part| self.is_comparable(part)),
            _ => false,
        }
    }

    /// `(ty) operand`
    pub(super) fn cast(&mut self, ty: &ast::Type, operand: &ast::Expr, span: Span) -> Expr {
        let ty = self.ty(ty);
        let operand = self.expr_hinted(operand, Some(&ty));
        let operand = self.value_only(operand);
        self.cast_to(operand, &ty, span)
    }

    pub(super) fn cast_to(&mut self, operand: Expr, ty: &Type, span: Span) -> Expr {
        if ty.is_poison() || operand.ty.is_poison() {
            return Self::poison(span);
        }
        if operand.ty == *ty || self.fits(&operand.ty, ty) {
            return Expr { span, ..self.coerce(operand, ty) };
        }
        if !self.can_cast(&operand.ty, ty) {
            let problem = Problem::CannotCast { from: self.show(&operand.ty), to: self.show(ty) };
            return self.refuse(span, problem);
        }
        let value = self.int_value(&operand).or_else(|| self.bool_value(&operand).map(Into::into));
        let kind = match (value, ty) {
            (Some(value), &Type::Bits { width, signed }) => match operand.ty {
                Type::Int => return self.int_of(&value, width, signed, span),
                _ => ExprKind::Int(arith::wrap(&value, width, signed)),
            },
            (Some(value), Type::Int) => ExprKind::Int(value),
            (Some(value), Type::Bool) if value == 0.into() || value == 1.into() => ExprKind::Bool(value == 1.into()),
            (Some(value), Type::Bool) => {
                let problem = Problem::CannotCast { from: value.to_string(), to: "bool".into() };
                return self.refuse(span, problem);
            }
            _ => ExprKind::Cast(Box::new(operand)),
        };
        Expr { kind, ty: ty.clone(), span }
    }

    /// Explicit casts (spec section 8.11.1) beyond the implicit ones.
    fn can_cast(&self, from: &Type, to: &Type) -> bool {
        match (from, to) {
            (Type::Bits { width: a, signed: x }, Type::Bits { width: b, signed: y }) => a == b || x == y,
            (Type::Bits { width: 1, signed: false }, Type::Bool) => true,
            (Type::Bool, Type::Bits { width: 1, signed: false }) => true,
            (Type::Bits { .. }, Type::Int) => true,
            (Type::Int, Type::Bits { .. } | Type::Bool) => true,
            (Type::Enum(_), Type::Enum(_)) => {
                let (a, b) = (self.underlying(from), self.underlying(to));
                matches!(a, Type::Bits { .. }) && a == b
            }
            (Type::Enum(_), Type::Bits { .. } | Type::Int) => {
                let below = self.underlying(from);
                below != *from && (below == *to || self.can_cast(&below, to))
            }
            (Type::Bits { .. } | Type::Int, Type::Enum(_)) => {
                let below = self.underlying(to);
                below != *to && (below == *from || *from == Type::Int)
            }
            (Type::Int, to @ Type::New(_)) => matches!(self.unwrap_newtype(to), Type::Bits { .. }),
            (from, Type::New(id)) if self.program.newtypes[id.index()].ty == *from => true,
            (Type::New(id), to) => self.program.newtypes[id.index()].ty == *to,
            _ => false,
        }
    }
}
