// SPDX-License-Identifier: MIT OR Apache-2.0
//! Members of values and types (spec sections 8.2, 8.3, 8.16 to 8.19).

use crate::ast::{self, Ident};
use crate::diagnostics::Problem;
use crate::named::Role;
use crate::source::Span;
use crate::typed::{Expr, ExprKind};
use crate::types::{Type, bits};

use super::Checker;
use super::scope::nearest;

impl Checker<'_> {
    pub(super) fn member(&mut self, of: &ast::Expr, member: &Ident, span: Span) -> Expr {
        let of = self.expr(of);
        if self.is_probe(member, |checker| checker.members_of(&of.ty)) {
            return Self::poison(span);
        }
        match of.ty.clone() {
            Type::Poison => Self::poison(span),
            Type::Fields(id, args) => {
                let decl = self.program.fields(id);
                match decl.place(&member.name) {
                    Some(index) => {
                        let declared = decl.fields[index].span;
                        self.note(member, Some(declared), Role::Field);
                        let ty = self.program.field_type(id, &args, index);
                        self.field(of, index, ty, span)
                    }
                    None => {
                        let names: Vec<_> = decl.fields.iter().map(|field| field.name.clone()).collect();
                        self.no_member(&of, member, names.iter().map(|name| &**name))
                    }
                }
            }
            Type::Stack(element, size) => self.stack_member(of, &element, size, member, span),
            Type::TableResult(table) => {
                let (index, ty) = match &*member.name {
                    "hit" => (0, Type::Bool),
                    "miss" => (1, Type::Bool),
                    "action_run" => (2, Type::ActionRun(table)),
                    _ => return self.no_member(&of, member, ["hit", "miss", "action_run"].into_iter()),
                };
                Expr { kind: ExprKind::Field(Box::new(of), index), ty, span }
            }
            Type::Table(_) | Type::Action(_) => {
                let of = self.value_only(of);
                Self::poison(of.span)
            }
            _ => self.no_member(&of, member, std::iter::empty()),
        }
    }

    /// A field, or its value if the struct is constant.
    fn field(&mut self, of: Expr, index: usize, ty: Type, span: Span) -> Expr {
        if let Some(part) = self.constant_part(&of, index) {
            return Expr { span, ..part };
        }
        Expr { kind: ExprKind::Field(Box::new(of), index as u32), ty, span }
    }

    /// A simple constant that is part of a constant struct or tuple.
    fn constant_part(&self, of: &Expr, index: usize) -> Option<Expr> {
        let parts = match &of.kind {
            ExprKind::Const(id) => match &self.program.consts[id.index()].value.kind {
                ExprKind::Aggregate(parts) => parts,
                _ => return None,
            },
            _ => return None,
        };
        let part = parts.get(index)?;
        Some(Expr { kind: self.literal(part)?, ..part.clone() })
    }

    fn no_member<'a>(&mut self, of: &Expr, member: &Ident, names: impl Iterator<Item = &'a str>) -> Expr {
        let near = nearest(&member.name, names);
        let problem = Problem::NoField { ty: self.show(&of.ty), field: member.name.clone() };
        let entry = self.diagnostics.error(member.span, problem);
        match (&*member.name, near) {
            (method @ ("isValid" | "setValid" | "setInvalid" | "push_front" | "pop_front"), _) => {
                entry.help(format!("methods are called with parentheses: `{method}()`")).done();
            }
            (_, Some(near)) => entry.help(format!("did you mean `{near}`?")).done(),
            (_, None) => entry.done(),
        }
        Self::poison(member.span)
    }

    fn stack_member(&mut self, of: Expr, element: &Type, size: u32, member: &Ident, span: Span) -> Expr {
        let is_headers = self.is_header(element) || self.is_union(element);
        let name = &*member.name;
        if !is_headers && matches!(name, "next" | "last" | "lastIndex" | "size") {
            let problem = Problem::NotAHeaderStack { member: member.name.clone(), ty: self.show(&of.ty) };
            return self.refuse(member.span, problem);
        }
        if matches!(name, "next" | "last" | "lastIndex") && !self.in_parser() {
            return self.refuse(member.span, Problem::ParserOnly { member: member.name.clone() });
        }
        let of = Box::new(of);
        let (kind, ty) = match name {
            "next" => (ExprKind::Next(of), element.clone()),
            "last" => (ExprKind::Last(of), element.clone()),
            "lastIndex" => (ExprKind::LastIndex(of), bits(32)),
            "size" => (ExprKind::Int(size.into()), bits(32)),
            _ => return self.no_member(&of, member, ["next", "last", "lastIndex", "size"].into_iter()),
        };
        Expr { kind, ty, span }
    }

    /// `error.member`, `Enum.member`
    pub(super) fn type_member(&mut self, ty: &ast::Type, member: &Ident, span: Span) -> Expr {
        let ty = self.ty(ty);
        if self.is_probe(member, |checker| checker.members_of(&ty)) {
            return Self::poison(span);
        }
        let found = match &ty {
            Type::Poison => return Self::poison(span),
            Type::Error => {
                let place = self.program.errors.iter().position(|name| *name == member.name);
                place.map(|place| ExprKind::Error(place as u32))
            }
            Type::Enum(id) => {
                let members = &self.program.enums[id.index()].members;
                let place = members.iter().position(|known| known.name == member.name);
                place.map(|place| ExprKind::Enum(*id, place as u32))
            }
            _ => {
                let problem = Problem::TypeHasNoMembers { ty: self.show(&ty) };
                return self.refuse(span, problem);
            }
        };
        if let Some(kind) = found {
            let declared = match &kind {
                ExprKind::Enum(id, place) => Some(self.program.enums[id.index()].members[*place as usize].span),
                _ => None,
            };
            self.note(member, declared, Role::Constant);
            return Expr { kind, ty, span };
        }
        let names: Vec<_> = match &ty {
            Type::Enum(id) => self.program.enums[id.index()].members.iter().map(|known| known.name.clone()).collect(),
            _ => self.program.errors.clone(),
        };
        let near = nearest(&member.name, names.iter().map(|name| &**name));
        let problem = Problem::NoSuchConstant { ty: self.show(&ty), member: member.name.clone() };
        let entry = self.diagnostics.error(member.span, problem);
        match near {
            Some(near) => entry.help(format!("did you mean `{near}`?")).done(),
            None => entry.done(),
        }
        Self::poison(span)
    }

    pub(super) fn is_header(&self, ty: &Type) -> bool {
        matches!(ty, Type::Fields(id, _) if self.program.fields(*id).kind == ast::FieldsKind::Header)
    }

    pub(super) fn is_union(&self, ty: &Type) -> bool {
        matches!(ty, Type::Fields(id, _) if self.program.fields(*id).kind == ast::FieldsKind::Union)
    }

    pub(super) fn is_struct(&self, ty: &Type) -> bool {
        matches!(ty, Type::Fields(id, _) if self.program.fields(*id).kind == ast::FieldsKind::Struct)
    }
}
