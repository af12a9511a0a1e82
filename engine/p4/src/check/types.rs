// SPDX-License-Identifier: MIT OR Apache-2.0
//! Types as written: names resolved, widths and sizes evaluated (spec section 7).

use std::rc::Rc;

use crate::ast::{self, TypeKind};
use crate::diagnostics::Problem;
use crate::lexer::MAX_WIDTH;
use crate::source::Span;
use crate::types::{Type, bits};

use super::{Checker, Symbol};

/// Largest number of elements of a stack.
const MAX_STACK: u32 = 4096;

impl Checker<'_> {
    /// Resolves a type as written; [`Type::Poison`] after an error.
    pub(super) fn ty(&mut self, ty: &ast::Type) -> Type {
        let resolved = self.open_type(ty);
        let missing = self.type_parameter_count(&resolved);
        if missing > 0 {
            let problem = Problem::TypeArguments { ty: self.show(&resolved), wanted: missing, found: 0 };
            self.error(ty.span, problem);
            return Type::Poison;
        }
        resolved
    }

    /// The type of a constant or variable, which must not contain `_`.
    pub(super) fn value_type(&mut self, ty: &ast::Type) -> Type {
        let resolved = self.ty(ty);
        if resolved.any(&|part| *part == Type::DontCare) {
            self.error(ty.span, Problem::DontCareType {});
            return Type::Poison;
        }
        resolved
    }

    /// Like [`Self::ty`], but a generic type may lack its arguments.
    pub(super) fn open_type(&mut self, ty: &ast::Type) -> Type {
        match &ty.kind {
            TypeKind::Bool => Type::Bool,
            TypeKind::Error => Type::Error,
            TypeKind::MatchKind => Type::MatchKind,
            TypeKind::String => Type::String,
            TypeKind::Int => Type::Int,
            TypeKind::Void => Type::Void,
            TypeKind::DontCare => Type::DontCare,
            TypeKind::Bit(None) => bits(1),
            TypeKind::Bit(Some(width)) => self.width(width, false).map_or(Type::Poison, bits),
            TypeKind::SignedInt(width) => {
                self.width(width, true).map_or(Type::Poison, |width| Type::Bits { width, signed: true })
            }
            TypeKind::Varbit(width) => self.width(width, false).map_or(Type::Poison, Type::Varbit),
            TypeKind::Name(path) => self.named_type(path),
            TypeKind::Specialized(path, args) => self.specialized(path, args, ty.span),
            TypeKind::Stack(element, size) => self.stack(element, size),
            TypeKind::Tuple(parts) => {
                let parts: Vec<Type> = parts.iter().map(|part| self.part_type(part, "a tuple")).collect();
                if parts.contains(&Type::Poison) { Type::Poison } else { Type::tuple(parts) }
            }
            TypeKind::List(element) => match self.part_type(element, "a list") {
                Type::Poison => Type::Poison,
                element => Type::List(Rc::new(element)),
            },
        }
    }

    /// The type of a part of a tuple or list.
    fn part_type(&mut self, ty: &ast::Type, whole: &'static str) -> Type {
        let part = self.ty(ty);
        let is_object = matches!(part, Type::Extern(..) | Type::Signature(..) | Type::Block(..) | Type::Package(..));
        if (is_object || part == Type::String) && whole == "a tuple" || part == Type::Void {
            let problem = Problem::PartType { whole, ty: self.show(&part) };
            self.error(ty.span, problem);
            return Type::Poison;
        }
        part
    }

    pub(super) fn named_type(&mut self, path: &ast::Path) -> Type {
        let entry = self.scopes.find(&path.name.name, path.absolute).cloned();
        if let Some(entry) = &entry {
            self.note_entry(&path.name, entry);
        }
        match entry.map(|entry| entry.symbol) {
            Some(Symbol::Type(ty)) => ty,
            Some(Symbol::Overloads(types)) => types.into_iter().next().unwrap_or(Type::Poison),
            Some(Symbol::Poison) => Type::Poison,
            Some(_) => {
                self.error(path.name.span, Problem::NotAType { name: path.name.name.clone() });
                Type::Poison
            }
            None if self.is_probe(&path.name, Self::visible) => Type::Poison,
            None => {
                let near = self.scopes.nearest(&path.name.name, |symbol| matches!(symbol, Symbol::Type(_)));
                let problem = Problem::UnknownType { name: path.name.name.clone() };
                self.unknown(&path.name, problem, near);
                Type::Poison
            }
        }
    }

    /// Number of type arguments that a type lacks.
    pub(super) fn type_parameter_count(&self, ty: &Type) -> usize {
        let program = &self.program;
        let (params, args) = match ty {
            Type::Fields(id, args) => (program.fields(*id).type_params.len(), args),
            Type::Extern(id, args) => (program.externs[id.index()].type_params.len(), args),
            Type::Signature(id, args) => (program.block_types[id.index()].type_params.len(), args),
            Type::Block(id, args) => (program.blocks[id.index()].type_params.len(), args),
            Type::Package(id, args) => (program.packages[id.index()].type_params.len(), args),
            _ => return 0,
        };
        if args.is_empty() { params } else { 0 }
    }

    fn specialized(&mut self, path: &ast::Path, args: &[ast::Type], span: Span) -> Type {
        let base = self.named_type(path);
        let args: Vec<Type> = args.iter().map(|arg| self.type_argument(arg)).collect();
        if base.is_poison() {
            return Type::Poison;
        }
        let wanted = self.type_parameter_count(&base);
        if wanted == 0 || wanted != args.len() {
            let problem = Problem::TypeArguments { ty: self.show(&base), wanted, found: args.len() };
            self.error(span, problem);
            return Type::Poison;
        }
        if let Some(arg) = args.iter().find(|arg| arg.any(&|part| Self::same_declaration(part, &base))) {
            let problem = Problem::SelfArgument { ty: self.show(&base), arg: self.show(arg) };
            self.error(span, problem);
            return Type::Poison;
        }
        let args = args.into();
        let ty = match base {
            Type::Fields(id, _) => Type::Fields(id, args),
            Type::Extern(id, _) => Type::Extern(id, args),
            Type::Signature(id, _) => Type::Signature(id, args),
            Type::Block(id, _) => Type::Block(id, args),
            Type::Package(id, _) => Type::Package(id, args),
            other => other,
        };
        if self.fields_fit(&ty, span) { ty } else { Type::Poison }
    }

    /// Whether two types have the same generic declaration, regardless of their arguments.
    fn same_declaration(a: &Type, b: &Type) -> bool {
        match (a, b) {
            (Type::Fields(a, _), Type::Fields(b, _)) => a == b,
            (Type::Extern(a, _), Type::Extern(b, _)) => a == b,
            _ => false,
        }
    }

    /// A type argument, which may be `_` or `void` but not a parser, control or package.
    pub(super) fn type_argument(&mut self, ty: &ast::Type) -> Type {
        let arg = self.ty(ty);
        if matches!(arg, Type::Signature(..) | Type::Block(..) | Type::Package(..)) {
            let problem = Problem::TypeArgumentKind { ty: self.show(&arg) };
            self.error(ty.span, problem);
            return Type::Poison;
        }
        arg
    }

    /// Checks the types of fields again when type arguments are known.
    fn fields_fit(&mut self, ty: &Type, span: Span) -> bool {
        let Type::Fields(id, args) = ty else { return true };
        let mut fit = true;
        for index in 0..self.program.fields(*id).fields.len() {
            let decl = self.program.fields(*id);
            let (kind, declared) = (decl.kind, decl.fields[index].span);
            let field = self.program.field_type(*id, args, index);
            fit &= self.check_field_type(kind, &field, span, declared);
        }
        fit
    }

    fn stack(&mut self, element: &ast::Type, size: &ast::Expr) -> Type {
        let element_type = self.ty(element);
        let size_expr = self.expr(size);
        let Some(size_value) = self.natural(&size_expr, Problem::StackSize {}) else { return Type::Poison };
        if size_value > MAX_STACK {
            self.error(size.span, Problem::StackTooLarge { limit: MAX_STACK });
            return Type::Poison;
        }
        let fits = !matches!(
            element_type,
            Type::Void
                | Type::String
                | Type::Int
                | Type::Signature(..)
                | Type::Block(..)
                | Type::Package(..)
                | Type::Set(_)
                | Type::MatchKind
                | Type::Varbit(_)
        );
        if !fits {
            let problem = Problem::PartType { whole: "a stack", ty: self.show(&element_type) };
            self.error(element.span, problem);
            return Type::Poison;
        }
        Type::Stack(Rc::new(element_type), size_value)
    }

    /// The width between the angles of `bit<...>`.
    fn width(&mut self, width: &ast::Expr, signed: bool) -> Option<u32> {
        let expr = self.expr(width);
        if expr.ty.is_poison() {
            return None;
        }
        let Some(value) = self.int_value(&expr) else {
            self.error(width.span, Problem::WidthNotConstant {});
            return None;
        };
        match u32::try_from(&value) {
            Ok(0) if signed => {
                self.error(width.span, Problem::BadWidth { width: value.to_string() });
                None
            }
            Ok(value) if value <= MAX_WIDTH => Some(value),
            Ok(_) => {
                self.error(width.span, Problem::WidthTooLarge { width: value.to_string(), limit: MAX_WIDTH });
                None
            }
            Err(_) => {
                self.error(width.span, Problem::BadWidth { width: value.to_string() });
                None
            }
        }
    }

    /// A constant number that must not be negative.
    pub(super) fn natural(&mut self, expr: &crate::typed::Expr, problem: Problem) -> Option<u32> {
        if expr.ty.is_poison() {
            return None;
        }
        let value = self.int_value(expr).and_then(|value| u32::try_from(&value).ok());
        if value.is_none() {
            self.error(expr.span, problem);
        }
        value
    }

    /// The type that underlies `type` declarations.
    pub(super) fn unwrap_newtype(&self, ty: &Type) -> Type {
        let mut ty = ty.clone();
        while let Type::New(id) = ty {
            ty = self.program.newtypes[id.index()].ty.clone();
        }
        ty
    }

    /// The underlying type of a serializable enum; other types unchanged.
    pub(super) fn underlying(&self, ty: &Type) -> Type {
        match ty {
            Type::Enum(id) => self.program.enums[id.index()].underlying.clone().unwrap_or_else(|| ty.clone()),
            _ => ty.clone(),
        }
    }
}
