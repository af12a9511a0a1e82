// SPDX-License-Identifier: MIT OR Apache-2.0
//! Parsers and controls: parameters and local declarations (spec sections 13.2, 14).

use crate::ast::{BlockKind, BlockTypeDecl, ControlDecl, Decl, Direction, Param as AstParam, ParserDecl, ValueSetDecl};
use crate::diagnostics::Problem;
use crate::typed::{Block, BlockBody, BlockId, Local, Param, ValueSet, ValueSetId, VarKind};
use crate::types::Type;

use super::{Checker, Place, Symbol};

impl Checker<'_> {
    /// Checks the parts that parsers and controls have in common, and `body`.
    fn block(
        &mut self,
        ty: &BlockTypeDecl,
        constructor: &[AstParam],
        locals: &[Decl],
        body: impl FnOnce(&mut Self) -> BlockBody,
    ) {
        self.annotations(&ty.annotations);
        let id = BlockId(self.program.blocks.len() as u32);
        self.program.blocks.push(Block {
            kind: ty.kind,
            name: ty.name.name.clone(),
            span: ty.name.span,
            type_params: Vec::new(),
            params: Vec::new(),
            constructor: Vec::new(),
            locals: Vec::new(),
            body: BlockBody::Missing,
        });
        let outer = self.block.replace(id);
        let place = match ty.kind {
            BlockKind::Parser => Place::Parser,
            BlockKind::Control => Place::Control,
        };
        self.scoped(|checker| {
            let type_params = checker.type_params(&ty.type_params);
            let params = checker.params(&ty.params, VarKind::Param(Direction::None));
            checker.no_blocks(&params);
            let constructor = checker.constructor_params(constructor);
            checker.no_optional(&constructor);
            checker.no_foreign_blocks(ty.kind, &constructor);
            let block = &mut checker.program.blocks[id.index()];
            (block.type_params, block.params, block.constructor) = (type_params, params, constructor);
            checker.scoped(|checker| {
                checker.within(place, |checker| {
                    for local in locals {
                        checker.local(local, id);
                    }
                    let body = body(checker);
                    checker.program.blocks[id.index()].body = body;
                });
            });
        });
        self.block = outer;
        self.declare_constructible(&ty.name, Type::Block(id, [].into()));
    }

    /// Reports constructor parameters that are packages or blocks of the other kind: a parser applies only parsers, and
    /// a control only controls.
    fn no_foreign_blocks(&mut self, kind: BlockKind, constructor: &[Param]) {
        for param in constructor {
            let foreign = match param.ty {
                Type::Signature(id, _) => self.program.block_types[id.index()].kind != kind,
                Type::Package(..) => true,
                _ => false,
            };
            if foreign {
                let problem = Problem::ParamType { ty: self.show(&param.ty) };
                self.error(param.span, problem);
            }
        }
    }

    pub(super) fn control_decl(&mut self, decl: &ControlDecl) {
        self.block(&decl.ty, &decl.constructor, &decl.locals, |checker| {
            let outer = checker.returns.replace(Type::Void);
            let body = checker.within(Place::Apply, |checker| checker.block_statements(&decl.apply));
            checker.returns = outer;
            BlockBody::Control(body.into())
        });
    }

    pub(super) fn parser_decl(&mut self, decl: &ParserDecl) {
        self.block(&decl.ty, &decl.constructor, &decl.locals, |checker| checker.states(decl));
    }

    /// A local declaration of a parser or control.
    fn local(&mut self, decl: &Decl, block: BlockId) {
        let local = match decl {
            Decl::Const(decl) => return self.constant(decl),
            Decl::Var(decl) => {
                let Some((var, init)) = self.variable(decl) else { return };
                Local::Var(var, init)
            }
            Decl::Instance(decl) => {
                let Some(instance) = self.instance(decl) else { return };
                Local::Instance(instance)
            }
            Decl::Action(action) if self.place == Place::Control => Local::Action(self.action(action)),
            Decl::Table(table) if self.place == Place::Control => Local::Table(self.table(table)),
            Decl::ValueSet(decl) if self.place == Place::Parser => {
                let Some(set) = self.value_set(decl) else { return };
                Local::ValueSet(set)
            }
            Decl::Action(action) => {
                let problem = Problem::LocalKind { what: "an action", whole: "a parser" };
                return self.error(action.name.span, problem);
            }
            Decl::Table(table) => {
                let problem = Problem::LocalKind { what: "a table", whole: "a parser" };
                return self.error(table.name.span, problem);
            }
            Decl::ValueSet(set) => {
                let problem = Problem::LocalKind { what: "a value set", whole: "a control" };
                return self.error(set.name.span, problem);
            }
            _ => return,
        };
        self.program.blocks[block.index()].locals.push(local);
    }

    fn value_set(&mut self, decl: &ValueSetDecl) -> Option<ValueSetId> {
        self.annotations(&decl.annotations);
        let ty = self.ty(&decl.ty);
        let fits = match &ty {
            Type::Bits { .. } | Type::Bool | Type::Enum(_) | Type::New(_) | Type::Tuple(_) => true,
            Type::Fields(..) => self.is_struct(&ty),
            _ => false,
        };
        let size = self.expr(&decl.size);
        if !fits && !ty.is_poison() {
            let problem = Problem::ValueSetType { ty: self.show(&ty) };
            self.error(decl.ty.span, problem);
        }
        if !self.is_known(&size) || !matches!(size.ty, Type::Int | Type::Bits { .. } | Type::Poison) {
            self.error(decl.size.span, Problem::NotConstant {});
        }
        if !fits {
            self.declare(&decl.name, Symbol::Poison);
            return None;
        }
        let id = ValueSetId(self.program.value_sets.len() as u32);
        self.program.value_sets.push(ValueSet {
            name: decl.name.name.clone(),
            span: decl.name.span,
            annotations: decl.annotations.clone(),
            ty,
            size,
        });
        self.declare(&decl.name, Symbol::ValueSet(id));
        Some(id)
    }
}
