// SPDX-License-Identifier: MIT OR Apache-2.0
//! Types as the control plane names them.

use crate::ast;
use crate::lower::names;
use crate::token::Name;
use crate::typed::Program;
use crate::types::{Args, FieldsId, Type};

use super::annotation;
use super::{Enum, Field, Fields, FieldsKind, NewType, TypeRef, Value};

/// Describes types, and collects the specialized ones, which have no declaration of their own.
#[derive(Debug)]
pub(super) struct Types<'a> {
    program: &'a Program,
    /// Specialized generic structs.
    specialized: Vec<(FieldsId, Args)>,
}

impl<'a> Types<'a> {
    pub(super) fn new(program: &'a Program) -> Types<'a> {
        Types { program, specialized: Vec::new() }
    }

    pub(super) fn describe(&mut self, ty: &Type) -> TypeRef {
        let program = self.program;
        match ty {
            Type::Bool => TypeRef::Bool,
            Type::Error => TypeRef::Error,
            Type::Bits { width, signed: false } => TypeRef::Bit(*width),
            Type::Bits { width, signed: true } => TypeRef::Int(*width),
            Type::Varbit(width) => TypeRef::Varbit(*width),
            Type::Fields(id, args) => {
                if !args.is_empty() && !self.specialized.iter().any(|known| known.0 == *id && known.1 == *args) {
                    self.specialized.push((*id, args.clone()));
                }
                TypeRef::Fields(self.fields_name(*id, args))
            }
            Type::Enum(id) => {
                let decl = &program.enums[id.index()];
                TypeRef::Enum(declared(&decl.name, &decl.annotations))
            }
            Type::New(id) => {
                let decl = &program.newtypes[id.index()];
                TypeRef::New(declared(&decl.name, &decl.annotations))
            }
            Type::Stack(element, size) => TypeRef::Stack(Box::new(self.describe(element)), *size),
            Type::Tuple(parts) | Type::Sequence(parts, false) => {
                TypeRef::Tuple(parts.iter().map(|part| self.describe(part)).collect())
            }
            other => TypeRef::Other(other.show(program)),
        }
    }

    /// A type with arguments has p4c's name for it: `pair<bit<8>>` is `pair_bit8`.
    fn fields_name(&self, id: FieldsId, args: &Args) -> String {
        let decl = self.program.fields(id);
        let mut name = declared(&decl.name, &decl.annotations);
        for arg in args.iter() {
            let arg = arg.show(self.program).replace(['<', '>', ' '], "").replace([',', '.'], "_");
            name = format!("{name}_{arg}");
        }
        name
    }

    /// All structs, headers and unions, generic ones for each list of arguments that was described.
    pub(super) fn fields(&mut self) -> Vec<Fields> {
        let mut out = Vec::new();
        for (index, decl) in self.program.fields.iter().enumerate() {
            if decl.type_params.is_empty() {
                out.push(self.one(FieldsId(index as u32), &[].into()));
            }
        }
        // The fields of one may use another.
        let mut done = 0;
        while let Some((id, args)) = self.specialized.get(done).cloned() {
            out.push(self.one(id, &args));
            done += 1;
        }
        out
    }

    fn one(&mut self, id: FieldsId, args: &Args) -> Fields {
        let decl = self.program.fields(id);
        let fields = decl.fields.iter().enumerate().map(|(index, field)| Field {
            name: declared(&field.name, &field.annotations),
            ty: self.describe(&self.program.field_type(id, args, index)),
            annotations: annotation::describe(self.program, &field.annotations),
        });
        let fields = fields.collect();
        let kind = match decl.kind {
            ast::FieldsKind::Struct => FieldsKind::Struct,
            ast::FieldsKind::Header => FieldsKind::Header,
            ast::FieldsKind::Union => FieldsKind::Union,
        };
        let annotations = annotation::describe(self.program, &decl.annotations);
        Fields { kind, name: self.fields_name(id, args), annotations, fields }
    }

    pub(super) fn enums(&mut self) -> Vec<Enum> {
        let mut out = Vec::with_capacity(self.program.enums.len());
        for decl in &self.program.enums {
            let underlying = decl.underlying.as_ref().map(|ty| self.describe(ty));
            let members = decl.members.iter();
            let members = members.map(|member| (member.name.to_string(), Value::Number(member.value.to_string())));
            out.push(Enum { name: declared(&decl.name, &decl.annotations), underlying, members: members.collect() });
        }
        out
    }

    pub(super) fn new_types(&mut self) -> Vec<NewType> {
        let mut out = Vec::with_capacity(self.program.newtypes.len());
        for decl in &self.program.newtypes {
            out.push(NewType {
                name: declared(&decl.name, &decl.annotations),
                annotations: annotation::describe(self.program, &decl.annotations),
                ty: self.describe(&decl.ty),
            });
        }
        out
    }
}

/// The control-plane name of a declaration at top level, or of a field.
pub(super) fn declared(name: &Name, annotations: &[ast::Annotation]) -> String {
    names::control_plane("", name, annotations)
}
