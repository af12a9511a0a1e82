// SPDX-License-Identifier: MIT OR Apache-2.0
//! Implicit conversion of a value to the type that its context requires (spec sections 8.11.2, 8.12 to 8.14).

use crate::ast::{FieldsKind, Ident};
use crate::diagnostics::Problem;
use crate::source::Span;
use crate::token::Name;
use crate::typed::{Expr, ExprKind};
use crate::types::{Args, FieldsId, Type};

use super::Checker;

impl Checker<'_> {
    /// Whether a value of type `from` is accepted where `to` is required, by their types alone.
    pub(super) fn fits(&self, from: &Type, to: &Type) -> bool {
        match (from, to) {
            _ if from == to => true,
            (Type::Poison, _) | (_, Type::Poison | Type::DontCare) => true,
            (Type::Int, Type::Bits { .. }) | (Type::Bits { .. }, Type::Int) => true,
            (Type::Int, Type::New(_)) => matches!(self.unwrap_newtype(to), Type::Bits { .. }),
            (Type::Enum(_), Type::Bits { .. }) => self.underlying(from) == *to,
            (Type::Invalid, Type::Fields(id, _)) => self.program.fields(*id).kind != FieldsKind::Struct,
            (Type::Dots, _) => true,
            (Type::Sequence(parts, dots), _) => self.sequence_fits(parts, *dots, to),
            (Type::Record(fields, dots), Type::Fields(id, args)) => self.record_fits(fields, *dots, *id, args),
            (from, Type::Set(element)) => self.fits(from, element),
            _ => false,
        }
    }

    fn sequence_fits(&self, parts: &[Type], dots: bool, to: &Type) -> bool {
        let count = |wanted: usize| parts.len() == wanted || dots && parts.len() < wanted;
        match to {
            Type::Fields(id, args) => {
                let decl = self.program.fields(*id);
                decl.kind != FieldsKind::Union
                    && count(decl.fields.len())
                    && parts
                        .iter()
                        .enumerate()
                        .all(|(at, part)| self.fits(part, &self.program.field_type(*id, args, at)))
            }
            Type::Tuple(wanted) => {
                count(wanted.len()) && parts.iter().zip(wanted.iter()).all(|(part, wanted)| self.fits(part, wanted))
            }
            Type::Stack(element, len) => count(*len as usize) && parts.iter().all(|part| self.fits(part, element)),
            Type::List(element) => !dots && parts.iter().all(|part| self.fits(part, element)),
            _ => false,
        }
    }

    fn record_fits(&self, fields: &[(Name, Type)], dots: bool, id: FieldsId, args: &Args) -> bool {
        let decl = self.program.fields(id);
        decl.kind != FieldsKind::Union
            && (fields.len() == decl.fields.len() || dots)
            && fields.iter().all(|(name, ty)| {
                let place = decl.place(name);
                place.is_some_and(|place| self.fits(ty, &self.program.field_type(id, args, place)))
            })
    }

    /// Converts a value, or reports that this is impossible.
    pub(super) fn coerce(&mut self, expr: Expr, to: &Type) -> Expr {
        let expr = self.value_only(expr);
        if Self::alike(&expr.ty, to) {
            return expr;
        }
        let (span, from) = (expr.span, expr.ty.clone());
        match (expr.kind, &from, to) {
            (ExprKind::Int(value), Type::Int, &Type::Bits { width, signed }) => {
                self.int_of(&value, width, signed, span)
            }
            (ExprKind::Int(value), Type::Bits { .. }, Type::Int) => {
                Expr { kind: ExprKind::Int(value), ty: Type::Int, span }
            }
            (kind, Type::Int, Type::New(_)) if self.fits(&from, to) => {
                self.coerce_to_new(Expr { kind, ty: from, span }, to)
            }
            (kind, Type::Int, Type::Bits { .. }) | (kind, Type::Bits { .. }, Type::Int) => {
                Self::cast_node(Expr { kind, ty: from, span }, to)
            }
            (kind, Type::Enum(_), Type::Bits { .. }) if self.underlying(&from) == *to => {
                self.as_underlying(Expr { kind, ty: from, span })
            }
            (ExprKind::InvalidHeader, Type::Invalid, Type::Fields(id, _))
                if self.program.fields(*id).kind != FieldsKind::Struct =>
            {
                Expr { kind: ExprKind::InvalidHeader, ty: to.clone(), span }
            }
            (ExprKind::Default, Type::Dots, _)
                if !matches!(to, Type::List(_) | Type::Extern(..) | Type::Signature(..) | Type::Varbit(_)) =>
            {
                Expr { kind: ExprKind::Default, ty: to.clone(), span }
            }
            (ExprKind::Aggregate(parts), Type::Sequence(_, dots), _) => self.coerce_parts(parts, *dots, to, span),
            (ExprKind::Record(fields, dots), Type::Record(..), Type::Fields(id, args))
                if self.program.fields(*id).kind != FieldsKind::Union =>
            {
                self.coerce_record(fields, dots, *id, args, span)
            }
            (ExprKind::Mux(cond, then, otherwise), Type::Sequence(..) | Type::Record(..), _) => {
                let (then, otherwise) = (self.coerce(*then, to), self.coerce(*otherwise, to));
                let kind = ExprKind::Mux(cond, Box::new(then), Box::new(otherwise));
                Expr { kind, ty: to.clone(), span }
            }
            (kind, Type::Block(..) | Type::Signature(..), Type::Signature(..)) => {
                let fits = self.unify_blocks(to, &from);
                let expr = Expr { kind, ty: self.solved(&from), span };
                if fits { expr } else { self.mismatch(&expr, to) }
            }
            (kind, Type::Set(element), Type::Set(wanted)) if self.fits(element, wanted) => {
                Expr { kind, ty: to.clone(), span }
            }
            (kind, _, Type::Set(element)) if !matches!(from, Type::Set(_)) => {
                let expr = Expr { kind, ty: from, span };
                self.coerce(expr, element)
            }
            (kind, ..) => self.mismatch(&Expr { kind, ty: from, span }, to),
        }
    }

    /// Converts a number without a width to a `type`, as to its underlying type.
    fn coerce_to_new(&mut self, number: Expr, to: &Type) -> Expr {
        let below = self.unwrap_newtype(to);
        let number = self.coerce(number, &below);
        match number.kind {
            ExprKind::Int(_) => Expr { ty: to.clone(), ..number },
            _ => Self::cast_node(number, to),
        }
    }

    fn cast_node(expr: Expr, to: &Type) -> Expr {
        let span = expr.span;
        Expr { kind: ExprKind::Cast(Box::new(expr)), ty: to.clone(), span }
    }

    fn mismatch(&mut self, expr: &Expr, to: &Type) -> Expr {
        let problem = match expr.ty {
            Type::Void => Problem::NoValue {},
            _ => Problem::Mismatch { expected: self.show(to), found: self.show(&expr.ty) },
        };
        let explicit = self.can_cast_hint(&expr.ty, to);
        let help = explicit.then(|| format!("write an explicit cast: `({})`", self.show(to)));
        let entry = self.diagnostics.error(expr.span, problem);
        match help {
            Some(help) => entry.help(help).done(),
            None => entry.done(),
        }
        Self::poison(expr.span)
    }

    fn can_cast_hint(&self, from: &Type, to: &Type) -> bool {
        match (from, to) {
            (Type::Bits { width: a, signed: x }, Type::Bits { width: b, signed: y }) => a == b || x == y,
            (Type::Bits { width: 1, signed: false }, Type::Bool)
            | (Type::Bool, Type::Bits { width: 1, signed: false }) => true,
            (Type::New(id), to) => self.program.newtypes[id.index()].ty == *to,
            (Type::Bits { .. }, Type::Enum(_)) => self.underlying(to) == *from,
            (Type::Bits { .. } | Type::Int, Type::New(_)) => true,
            _ => false,
        }
    }

    /// `{ a, b }` as a struct, header, tuple, stack or list.
    fn coerce_parts(&mut self, parts: Vec<Expr>, dots: bool, to: &Type, span: Span) -> Expr {
        let wanted: Vec<Type> = match to {
            Type::Fields(id, args) if self.program.fields(*id).kind != FieldsKind::Union => {
                let count = self.program.fields(*id).fields.len();
                (0..count).map(|index| self.program.field_type(*id, args, index)).collect()
            }
            Type::Tuple(wanted) => wanted.to_vec(),
            Type::Stack(element, len) => vec![(**element).clone(); *len as usize],
            Type::List(element) => vec![(**element).clone(); parts.len()],
            Type::Sequence(wanted, _) => wanted.to_vec(),
            _ => {
                let ty = Type::Sequence(parts.iter().map(|part| part.ty.clone()).collect(), dots);
                return self.mismatch(&Expr { kind: ExprKind::Aggregate(parts), ty, span }, to);
            }
        };
        if parts.len() > wanted.len() || parts.len() < wanted.len() && !dots {
            let problem = Problem::PartCount { ty: self.show(to), wanted: wanted.len(), found: parts.len() };
            return self.refuse(span, problem);
        }
        let mut parts = parts.into_iter();
        let parts = wanted.iter().map(|wanted| match parts.next() {
            Some(part) => self.coerce(part, wanted),
            None => Expr { kind: ExprKind::Default, ty: wanted.clone(), span },
        });
        let parts: Vec<Expr> = parts.collect();
        if parts.iter().any(|part| part.ty.is_poison()) {
            return Self::poison(span);
        }
        Expr { kind: ExprKind::Aggregate(parts), ty: to.clone(), span }
    }

    /// `{ x = a, y = b }` as a struct or header. The values are put into the order of the fields, as in p4c. This may
    /// change the order of side effects, which are rare in records.
    fn coerce_record(&mut self, fields: Vec<(Ident, Expr)>, dots: bool, id: FieldsId, args: &Args, span: Span) -> Expr {
        let ty = Type::Fields(id, args.clone());
        let names: Vec<Name> = self.program.fields(id).fields.iter().map(|field| field.name.clone()).collect();
        for (name, _) in &fields {
            if !names.contains(&name.name) {
                let near = super::scope::nearest(&name.name, names.iter().map(|known| &**known));
                let problem = Problem::NoField { ty: self.show(&ty), field: name.name.clone() };
                let entry = self.diagnostics.error(name.span, problem);
                match near {
                    Some(near) => entry.help(format!("did you mean `{near}`?")).done(),
                    None => entry.done(),
                }
                return Self::poison(span);
            }
        }
        let mut parts = Vec::with_capacity(names.len());
        for (index, name) in names.iter().enumerate() {
            let wanted = self.program.field_type(id, args, index);
            parts.push(match fields.iter().find(|(known, _)| known.name == *name) {
                Some((_, value)) => self.coerce(value.clone(), &wanted),
                None if dots => Expr { kind: ExprKind::Default, ty: wanted, span },
                None => {
                    let problem = Problem::MissingField { ty: self.show(&ty), field: name.clone() };
                    let declared = self.program.fields(id).fields[index].span;
                    self.diagnostics.error(span, problem).label(declared, "declared here");
                    return Self::poison(span);
                }
            });
        }
        if parts.iter().any(|part| part.ty.is_poison()) {
            return Self::poison(span);
        }
        Expr { kind: ExprKind::Aggregate(parts), ty, span }
    }
}
