// SPDX-License-Identifier: MIT OR Apache-2.0
//! Declarations at top level, and of types (spec sections 7.2, 11.1).

use num_bigint::BigInt;
use rustc_hash::FxHashMap;

use crate::arith;
use crate::ast::{
    self, BlockTypeDecl, ConstDecl, Decl, Direction, EnumDecl, FieldsDecl, FieldsKind, Ident, PackageDecl, TypedefDecl,
    TypedefSource,
};
use crate::diagnostics::Problem;
use crate::named::Role;
use crate::source::Span;
use crate::typed::{
    BlockType, BlockTypeId, Const, ConstId, Enum, EnumId, EnumMember, Expr, ExprKind, Field, Fields, InstanceId,
    Newtype, NewtypeId, Package, PackageId, VarKind,
};
use crate::types::{FieldsId, Type};

use super::{Checker, Symbol};

impl Checker<'_> {
    pub(super) fn global(&mut self, decl: &Decl) {
        match decl {
            Decl::Const(decl) => self.constant(decl),
            Decl::Instance(decl) => {
                if let Some(id) = self.instance(decl) {
                    self.program.globals.push(id);
                    if &*decl.name.name == "main" {
                        self.main(id);
                    }
                }
            }
            Decl::Function(function) => _ = self.function(function),
            Decl::Action(action) => _ = self.action(action),
            Decl::Extern(decl) => self.extern_object(decl),
            Decl::ExternFunction(prototype) => self.extern_function(prototype),
            Decl::Parser(decl) => self.parser_decl(decl),
            Decl::Control(decl) => self.control_decl(decl),
            Decl::BlockType(decl) => self.block_type(decl),
            Decl::Package(decl) => self.package(decl),
            Decl::Fields(decl) => _ = self.fields(decl),
            Decl::Enum(decl) => _ = self.enumeration(decl),
            Decl::Typedef(decl) => self.typedef(decl),
            // Collected beforehand.
            Decl::Error(_) | Decl::MatchKind(_) => {}
            // Refused by the parser.
            Decl::Var(_) | Decl::Table(_) | Decl::ValueSet(_) => {}
        }
    }

    /// `main` is the program (spec section 11.1): it must be an instance of a package.
    fn main(&mut self, id: InstanceId) {
        let instance = &self.program.instances[id.index()];
        if matches!(instance.ty, Type::Package(..)) {
            self.program.main = Some(id);
        } else {
            let (span, problem) = (instance.span, Problem::MainNotPackage {});
            self.error(span, problem);
        }
    }

    pub(super) fn constant(&mut self, decl: &ConstDecl) {
        self.annotations(&decl.annotations);
        let ty = self.value_type(&decl.ty);
        if matches!(ty, Type::Extern(..) | Type::Signature(..) | Type::Block(..) | Type::Package(..) | Type::Void) {
            let problem = Problem::ConstType { ty: self.show(&ty) };
            self.error(decl.ty.span, problem);
            self.declare(&decl.name, Symbol::Poison);
            return;
        }
        let value = self.expr_as(&decl.value, &ty);
        if value.ty.is_poison() || ty.is_poison() {
            self.declare(&decl.name, Symbol::Poison);
            return;
        }
        let value = if self.is_known(&value) { value } else { self.refuse(value.span, Problem::NotConstant {}) };
        let id = ConstId(self.program.consts.len() as u32);
        self.program.consts.push(Const { name: decl.name.name.clone(), span: decl.name.span, value });
        self.declare(&decl.name, Symbol::Const(id));
    }

    fn block_type(&mut self, decl: &BlockTypeDecl) {
        self.annotations(&decl.annotations);
        let (type_params, params) = self.scoped(|checker| {
            let type_params = checker.type_params(&decl.type_params);
            (type_params, checker.params(&decl.params, VarKind::Param(Direction::None)))
        });
        self.no_blocks(&params);
        let id = BlockTypeId(self.program.block_types.len() as u32);
        self.program.block_types.push(BlockType { kind: decl.kind, name: decl.name.name.clone(), type_params, params });
        self.declare(&decl.name, Symbol::Type(Type::Signature(id, [].into())));
    }

    fn package(&mut self, decl: &PackageDecl) {
        self.annotations(&decl.annotations);
        let (type_params, params) = self.scoped(|checker| {
            let type_params = checker.type_params(&decl.type_params);
            (type_params, checker.constructor_params(&decl.params))
        });
        let id = PackageId(self.program.packages.len() as u32);
        let name = decl.name.name.clone();
        self.program.packages.push(Package { name, type_params, params });
        self.declare_constructible(&decl.name, Type::Package(id, [].into()));
    }

    /// A struct, header or header union.
    pub(super) fn fields(&mut self, decl: &FieldsDecl) -> Type {
        self.annotations(&decl.annotations);
        let (type_params, fields) = self.scoped(|checker| {
            let type_params = checker.type_params(&decl.type_params);
            let mut fields: Vec<Field> = Vec::with_capacity(decl.fields.len());
            let mut declared = FxHashMap::default();
            for field in &decl.fields {
                checker.annotations(&field.annotations);
                if field.name.is_underscore() {
                    continue;
                }
                let ty = checker.ty(&field.ty);
                checker.check_field_type(decl.kind, &ty, field.ty.span, field.name.span);
                let first = *declared.entry(field.name.name.clone()).or_insert(field.name.span);
                if first != field.name.span {
                    let problem = Problem::DuplicateField { field: field.name.name.clone() };
                    checker.diagnostics.error(field.name.span, problem).label(first, "first declared here");
                    continue;
                }
                let annotations = field.annotations.clone();
                checker.note(&field.name, Some(field.name.span), Role::Field);
                fields.push(Field { name: field.name.name.clone(), ty, span: field.name.span, annotations });
            }
            (type_params, fields)
        });
        let id = FieldsId(self.program.fields.len() as u32);
        let (kind, name, span) = (decl.kind, decl.name.name.clone(), decl.name.span);
        let annotations = decl.annotations.clone();
        let places = fields.iter().enumerate().map(|(place, field)| (field.name.clone(), place)).collect();
        self.program.fields.push(Fields { kind, name, span, annotations, type_params, fields, places });
        let ty = Type::Fields(id, [].into());
        self.declare(&decl.name, Symbol::Type(ty.clone()));
        ty
    }

    /// Checks whether a field may have a type (spec section 7.2.8).
    pub(super) fn check_field_type(&mut self, kind: FieldsKind, ty: &Type, span: Span, field: Span) -> bool {
        let below = self.unwrap_newtype(ty);
        let fits = match kind {
            _ if matches!(below, Type::Poison | Type::Param(_) | Type::DontCare) => true,
            FieldsKind::Header => matches!(below, Type::Varbit(_)) || self.is_plain(&below),
            FieldsKind::Union => self.is_header(&below),
            FieldsKind::Struct => matches!(
                below,
                Type::Bool
                    | Type::Bits { .. }
                    | Type::Varbit(_)
                    | Type::Error
                    | Type::Enum(_)
                    | Type::Fields(..)
                    | Type::Stack(..)
                    | Type::Tuple(_)
                    | Type::MatchKind
                    | Type::List(_)
            ),
        };
        if !fits {
            let whole = match kind {
                FieldsKind::Header => "a header",
                FieldsKind::Union => "a header union",
                FieldsKind::Struct => "a struct",
            };
            let problem = Problem::PartType { whole, ty: self.show(ty) };
            self.diagnostics.error(span, problem).label(field, "in this field");
        }
        fits
    }

    /// Whether a header can hold the type: bits, booleans, serializable enums, and structs and arrays of them.
    fn is_plain(&self, ty: &Type) -> bool {
        match self.unwrap_newtype(ty) {
            Type::Bits { .. } | Type::Bool | Type::Poison | Type::Param(_) => true,
            Type::Enum(id) => self.program.enums[id.index()].underlying.is_some(),
            Type::Stack(element, _) => self.is_plain(&element),
            Type::Fields(id, args) if self.program.fields(id).kind == FieldsKind::Struct => {
                let count = self.program.fields(id).fields.len();
                (0..count).all(|index| self.is_plain(&self.program.field_type(id, &args, index)))
            }
            _ => false,
        }
    }

    pub(super) fn enumeration(&mut self, decl: &EnumDecl) -> Type {
        self.annotations(&decl.annotations);
        let underlying = decl.underlying.as_ref().map(|ty| {
            let resolved = self.ty(ty);
            if !matches!(resolved, Type::Bits { .. } | Type::Poison) {
                let problem = Problem::EnumType { ty: self.show(&resolved) };
                self.error(ty.span, problem);
                return Type::Poison;
            }
            resolved
        });
        let id = EnumId(self.program.enums.len() as u32);
        let ty = Type::Enum(id);
        let (name, annotations) = (decl.name.name.clone(), decl.annotations.clone());
        self.program.enums.push(Enum { name, annotations, underlying: underlying.clone(), members: Vec::new() });
        self.declare(&decl.name, Symbol::Type(ty.clone()));
        for (name, value) in &decl.members {
            let members = &self.program.enums[id.index()].members;
            if members.iter().any(|known| known.name == name.name) {
                self.error(name.span, Problem::DuplicateMember { what: "enum", member: name.name.clone() });
                continue;
            }
            let value = match (value, &underlying) {
                (Some(value), Some(ty)) => {
                    let count = members.len();
                    self.scoped(|checker| {
                        checker.declare_members(id, count);
                        checker.enum_value(value, ty)
                    })
                }
                _ => BigInt::from(members.len()),
            };
            self.program.enums[id.index()].members.push(EnumMember { name: name.name.clone(), span: name.span, value });
        }
        ty
    }

    /// Makes the first `count` members visible by their bare names: the initializers of later members may use them.
    fn declare_members(&mut self, id: EnumId, count: usize) {
        for member in 0..count {
            let name = self.program.enums[id.index()].members[member].name.clone();
            let name = Ident { name, span: Span::default() };
            let value = Expr { kind: ExprKind::Enum(id, member as u32), ty: Type::Enum(id), span: name.span };
            let constant = ConstId(self.program.consts.len() as u32);
            self.program.consts.push(Const { name: name.name.clone(), span: name.span, value });
            self.declare(&name, Symbol::Const(constant));
        }
    }

    /// The value of a member of a serializable enum, which must be within the range of the type.
    fn enum_value(&mut self, value: &ast::Expr, ty: &Type) -> BigInt {
        let expr = self.expr(value);
        if expr.ty.is_poison() || ty.is_poison() {
            return BigInt::ZERO;
        }
        let Some(number) = self.int_value(&expr) else {
            let mismatch = !matches!(expr.ty, Type::Int | Type::Bits { .. });
            let problem = match mismatch {
                true => Problem::Mismatch { expected: self.show(ty), found: self.show(&expr.ty) },
                false => Problem::NotConstant {},
            };
            self.error(value.span, problem);
            return BigInt::ZERO;
        };
        if let &Type::Bits { width, signed } = ty {
            let (lo, hi) = arith::range(width, signed);
            if number < lo || number > hi {
                let problem = Problem::EnumValue { value: number.to_string(), ty: self.show(ty) };
                self.error(value.span, problem);
                return BigInt::ZERO;
            }
        }
        let expr = Expr { kind: ExprKind::Int(number), ..expr };
        let expr = self.coerce(expr, ty);
        self.int_value(&expr).unwrap_or_default()
    }

    fn typedef(&mut self, decl: &TypedefDecl) {
        self.annotations(&decl.annotations);
        let ty = match &decl.source {
            TypedefSource::Type(ty) => self.ty(ty),
            TypedefSource::Declaration { decl, name, stack } => {
                self.global(decl);
                self.named_stack(name, stack)
            }
        };
        let ty = if decl.is_new { self.newtype(decl, ty) } else { ty };
        self.declare(&decl.name, Symbol::Type(ty));
    }

    fn named_stack(&mut self, name: &Ident, stack: &[ast::Expr]) -> Type {
        let kind = ast::TypeKind::Name(ast::Path { absolute: false, name: name.clone() });
        let mut ty = ast::Type { kind, span: name.span };
        for size in stack {
            let kind = ast::TypeKind::Stack(Box::new(ty), Box::new(size.clone()));
            ty = ast::Type { kind, span: name.span };
        }
        self.ty(&ty)
    }

    /// `type T Name;`
    fn newtype(&mut self, decl: &TypedefDecl, ty: Type) -> Type {
        if !matches!(ty, Type::Bits { .. } | Type::Bool | Type::New(_) | Type::Poison) {
            let problem = Problem::NewtypeOf { ty: self.show(&ty) };
            self.error(decl.name.span, problem);
            return Type::Poison;
        }
        let id = NewtypeId(self.program.newtypes.len() as u32);
        let (name, annotations) = (decl.name.name.clone(), decl.annotations.clone());
        self.program.newtypes.push(Newtype { name, annotations, ty });
        Type::New(id)
    }
}
