// SPDX-License-Identifier: MIT OR Apache-2.0
//! Expressions (spec section 8).

use crate::ast::{self, ExprKind as Ast};
use crate::diagnostics::Problem;
use crate::source::Span;
use crate::typed::{Expr, ExprKind};
use crate::types::Type;

use super::{Checker, Place, Symbol};

impl Checker<'_> {
    pub(super) fn poison(span: Span) -> Expr {
        Expr { kind: ExprKind::Poison, ty: Type::Poison, span }
    }

    /// Reports a problem and returns the poisoned expression.
    pub(super) fn refuse(&mut self, span: Span, problem: Problem) -> Expr {
        self.error(span, problem);
        Self::poison(span)
    }

    /// Checks an expression whose context requires no type.
    pub(super) fn expr(&mut self, expr: &ast::Expr) -> Expr {
        self.expr_hinted(expr, None)
    }

    /// Checks an expression and converts it to the type that its context requires.
    pub(super) fn expr_as(&mut self, expr: &ast::Expr, ty: &Type) -> Expr {
        let value = self.expr_hinted(expr, Some(ty));
        self.coerce(value, ty)
    }

    /// `hint` is the type that the context requires; only the type inference of calls uses it.
    pub(super) fn expr_hinted(&mut self, expr: &ast::Expr, hint: Option<&Type>) -> Expr {
        let span = expr.span;
        match &expr.kind {
            Ast::Int(value, ty) => self.int_literal(value, *ty, span),
            Ast::Bool(value) => Expr { kind: ExprKind::Bool(*value), ty: Type::Bool, span },
            Ast::String(text) => Expr { kind: ExprKind::String(text.clone()), ty: Type::String, span },
            Ast::Path(path) => self.path(path, span),
            Ast::This => match self.method_owner.clone() {
                Some(ty) => Expr { kind: ExprKind::This, ty, span },
                None => self.refuse(span, Problem::ThisOutside {}),
            },
            Ast::InvalidHeader => Expr { kind: ExprKind::InvalidHeader, ty: Type::Invalid, span },
            Ast::Dots => Expr { kind: ExprKind::Default, ty: Type::Dots, span },
            Ast::Any => Expr { kind: ExprKind::Any, ty: Type::set(Type::DontCare), span },
            Ast::Index(of, index) => self.index(of, index, span),
            Ast::Slice(of, hi, lo) => self.slice(of, hi, lo, span),
            Ast::PlusSlice(of, lo, width) => self.plus_slice(of, lo, width, span),
            Ast::List(items) => self.list(items, span),
            Ast::Record { fields, dots } => self.record(fields, *dots, span),
            Ast::Unary(op, operand) => self.unary(*op, operand, span),
            Ast::Binary(op, left, right) => self.binary(*op, left, right, span),
            Ast::Mux(cond, then, otherwise) => self.mux(cond, then, otherwise, span),
            Ast::Member(of, member) => self.member(of, member, span),
            Ast::TypeMember(ty, member) => self.type_member(ty, member, span),
            Ast::Cast(ty, operand) => self.cast(ty, operand, span),
            Ast::Call(call) => self.call(call, span, hint),
            Ast::Construct(ty, args) => self.construct_expr(ty, args, span),
            Ast::Mask(value, mask) => self.set_of_two(value, mask, true, span),
            Ast::Range(lo, hi) => self.set_of_two(lo, hi, false, span),
        }
    }

    /// A name used as a value.
    fn path(&mut self, path: &ast::Path, span: Span) -> Expr {
        if self.scopes.find(&path.name.name, path.absolute).is_none()
            && let Some(kind) = self.program.match_kinds.iter().position(|kind| *kind == path.name.name)
        {
            return Expr { kind: ExprKind::MatchKind(kind as u32), ty: Type::MatchKind, span };
        }
        let Some(entry) = self.lookup(path) else { return Self::poison(span) };
        match entry.symbol {
            Symbol::Poison => Self::poison(span),
            Symbol::Var(id) => {
                let ty = self.program.vars[id.index()].ty.clone();
                Expr { kind: ExprKind::Var(id), ty, span }
            }
            Symbol::Const(id) => {
                let ty = self.program.consts[id.index()].value.ty.clone();
                let expr = Expr { kind: ExprKind::Const(id), ty, span };
                let kind = self.literal(&expr).unwrap_or(expr.kind);
                Expr { kind, ..expr }
            }
            Symbol::Instance(id) => {
                let ty = self.program.instances[id.index()].ty.clone();
                Expr { kind: ExprKind::Instance(id), ty, span }
            }
            Symbol::ValueSet(id) => {
                let ty = self.program.value_sets[id.index()].ty.clone();
                if self.place != Place::SelectCase {
                    return self.refuse(span, Problem::ValueSetOutside { name: path.name.name.clone() });
                }
                Expr { kind: ExprKind::ValueSet(id), ty: Type::set(ty), span }
            }
            Symbol::Type(_) | Symbol::Overloads(_) => self.refuse(span, Problem::TypeAsExpression {}),
            Symbol::Table(id) => Expr { kind: ExprKind::Poison, ty: Type::Table(id), span },
            Symbol::Action(id) => Expr { kind: ExprKind::Poison, ty: Type::Action(id), span },
            Symbol::Functions(_) => {
                let problem = Problem::NotAValue { name: path.name.name.clone(), what: entry.symbol.what() };
                self.refuse(span, problem)
            }
        }
    }

    /// Refuses tables and actions, which have a name but no value.
    pub(super) fn value_only(&mut self, expr: Expr) -> Expr {
        let (name, what) = match &expr.ty {
            Type::Table(id) => (self.program.tables[id.index()].name.clone(), "a table"),
            Type::Action(id) => (self.program.actions[id.index()].name.clone(), "an action"),
            _ => return expr,
        };
        self.refuse(expr.span, Problem::NotAValue { name, what })
    }

    fn index(&mut self, of: &ast::Expr, index: &ast::Expr, span: Span) -> Expr {
        let of = self.expr(of);
        let index = self.expr(index);
        let (element, len) = match &of.ty {
            Type::Poison => return Self::poison(span),
            Type::Stack(element, len) => ((**element).clone(), *len),
            Type::Tuple(parts) | Type::Sequence(parts, false) => {
                let parts = parts.clone();
                return self.tuple_element(of, &parts, &index, span);
            }
            other => {
                let problem = Problem::CannotIndex { ty: self.show(other) };
                return self.refuse(span, problem);
            }
        };
        let index = self.index_value(index, len);
        if index.ty.is_poison() {
            return Self::poison(span);
        }
        Expr { kind: ExprKind::Element(Box::new(of), Box::new(index)), ty: element, span }
    }

    /// The index of a stack of `len` elements.
    fn index_value(&mut self, index: Expr, len: u32) -> Expr {
        if let Some(value) = self.int_value(&index) {
            if value < 0.into() || value >= len.into() {
                let problem = Problem::IndexOutOfRange { index: value.to_string(), len };
                return self.refuse(index.span, problem);
            }
            return Expr { kind: ExprKind::Int(value), ty: Type::Int, ..index };
        }
        let ty = self.underlying(&index.ty);
        match ty {
            Type::Bits { .. } | Type::Int => self.coerce(index, &ty),
            Type::Poison => index,
            _ => {
                let problem = Problem::IndexType { ty: self.show(&index.ty) };
                self.refuse(index.span, problem)
            }
        }
    }

    fn tuple_element(&mut self, of: Expr, parts: &[Type], index: &Expr, span: Span) -> Expr {
        let Some(value) = self.int_value(index) else {
            if index.ty.is_poison() {
                return Self::poison(span);
            }
            return self.refuse(index.span, Problem::TupleIndex {});
        };
        let place = u32::try_from(&value).ok().filter(|&place| (place as usize) < parts.len());
        match place {
            Some(place) => {
                let ty = parts[place as usize].clone();
                Expr { kind: ExprKind::Field(Box::new(of), place), ty, span }
            }
            None => {
                let problem = Problem::IndexOutOfRange { index: value.to_string(), len: parts.len() as u32 };
                self.refuse(index.span, problem)
            }
        }
    }

    /// `left &&& right` or `left .. right`
    fn set_of_two(&mut self, left: &ast::Expr, right: &ast::Expr, mask: bool, span: Span) -> Expr {
        let (left, right) = (self.expr(left), self.expr(right));
        let (left_ty, right_ty) = (self.underlying(&left.ty), self.underlying(&right.ty));
        let element = match (&left_ty, &right_ty) {
            (Type::Poison, _) | (_, Type::Poison) => return Self::poison(span),
            (Type::Bits { .. }, Type::Bits { .. }) if left_ty == right_ty => left_ty.clone(),
            (Type::Bits { .. }, Type::Int) => left_ty.clone(),
            (Type::Int, Type::Bits { .. }) => right_ty.clone(),
            (Type::Int, Type::Int) => Type::Int,
            _ => {
                let op = if mask { "&&&" } else { ".." };
                let problem = Problem::BinaryTypes { op, left: self.show(&left.ty), right: self.show(&right.ty) };
                return self.refuse(span, problem);
            }
        };
        let (left, right) = (self.coerce(left, &element), self.coerce(right, &element));
        let (left, right) = (Box::new(left), Box::new(right));
        let kind = if mask { ExprKind::Mask(left, right) } else { ExprKind::Range(left, right) };
        Expr { kind, ty: Type::set(element), span }
    }

    fn mux(&mut self, cond: &ast::Expr, then: &ast::Expr, otherwise: &ast::Expr, span: Span) -> Expr {
        let cond = self.condition(cond);
        let (then, otherwise) = (self.expr(then), self.expr(otherwise));
        let (then, otherwise) = (self.value_only(then), self.value_only(otherwise));
        if then.ty == Type::Int && otherwise.ty == Type::Int && !self.is_known(&cond) {
            return self.refuse(span, Problem::MuxWidth {});
        }
        let Some(ty) = self.common_type(&then.ty, &otherwise.ty) else {
            let problem = Problem::MuxTypes { then: self.show(&then.ty), otherwise: self.show(&otherwise.ty) };
            return self.refuse(span, problem);
        };
        let (then, otherwise) = (self.coerce(then, &ty), self.coerce(otherwise, &ty));
        if let Some(cond) = self.bool_value(&cond)
            && self.is_known(&then)
            && self.is_known(&otherwise)
        {
            return Expr { span, ..if cond { then } else { otherwise } };
        }
        let kind = ExprKind::Mux(Box::new(cond), Box::new(then), Box::new(otherwise));
        Expr { kind, ty, span }
    }

    /// Checks a condition, which must be a `bool`.
    pub(super) fn condition(&mut self, expr: &ast::Expr) -> Expr {
        let value = self.expr(expr);
        match value.ty {
            Type::Bool | Type::Poison => value,
            _ => {
                let problem = Problem::NotABool { ty: self.show(&value.ty) };
                let entry = self.diagnostics.error(value.span, problem);
                if matches!(value.ty, Type::Bits { .. } | Type::Int) {
                    entry.help("compare it with a number: `!= 0`");
                }
                Self::poison(value.span)
            }
        }
    }

    /// The type to which both alternatives can be converted.
    pub(super) fn common_type(&self, a: &Type, b: &Type) -> Option<Type> {
        let untyped = |ty: &Type| {
            matches!(ty, Type::Int | Type::Sequence(..) | Type::Record(..) | Type::Invalid | Type::Dots | Type::Poison)
        };
        match (a, b) {
            _ if a == b => Some(a.clone()),
            (Type::Sequence(x, false), Type::Sequence(y, false)) if x.len() == y.len() => {
                let parts: Option<Vec<Type>> = x.iter().zip(y.iter()).map(|(x, y)| self.common_type(x, y)).collect();
                parts.map(Type::tuple)
            }
            (known, open) | (open, known) if untyped(open) && !untyped(known) => Some(known.clone()),
            (Type::Poison, other) | (other, Type::Poison) => Some(other.clone()),
            _ => None,
        }
    }
}
