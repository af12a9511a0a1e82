// SPDX-License-Identifier: MIT OR Apache-2.0
//! Controls: programmable blocks, sub-controls, actions.

use rustc_hash::FxHashMap;

use crate::ast::{BlockKind, Direction};
use crate::ir::{self, BlockBody, BlockId, StmtKind};
use crate::source::Span;
use crate::typed::{self, ActionId, Args, Callee, ExprKind, Local, Stmt, StmtKind as Typed, VarId};
use crate::types::Type;

use super::call::Prepared;
use super::names;
use super::storage::Lvalue;
use super::value::{ObjectId, Value};
use super::{Binding, Frame, FrameKind, Lowered, Lowerer};

impl Lowerer<'_> {
    /// Lowers a parser or control as a programmable block of the architecture, with parameters bound to given places.
    pub(crate) fn block(&mut self, id: ObjectId, params: Vec<Binding>) -> Lowered<BlockId> {
        let program = self.program;
        let decl = &program.blocks[self.objects[id.0 as usize].decl.index()];
        let block = BlockId(self.out.blocks.len() as u32);
        self.out.blocks.push(ir::Block { name: decl.name.to_string(), body: BlockBody::Control(Vec::new()) });
        self.block = block;
        self.next_label = 0;
        self.next_temp = 0;
        self.span = decl.span;
        let bindings: Vec<(VarId, Binding)> = decl.params.iter().map(|param| param.var).zip(params).collect();
        let body = match decl.kind {
            BlockKind::Control => {
                let (code, ()) = self.collect(|lowerer| {
                    lowerer.objects[id.0 as usize].bindings = Some(bindings);
                    lowerer.apply_entered(id, decl.span)
                })?;
                BlockBody::Control(code)
            }
            BlockKind::Parser => {
                self.objects[id.0 as usize].bindings = Some(bindings);
                self.parser_block(id)?
            }
        };
        self.out.blocks[block.index()].body = body;
        Ok(block)
    }

    /// `instance.apply(args)` of a sub-control or sub-parser.
    pub(super) fn apply_block(&mut self, id: ObjectId, args: &Args, span: Span) -> Lowered<()> {
        self.applications.insert(self.span);
        let program = self.program;
        let decl = &program.blocks[self.objects[id.0 as usize].decl.index()];
        let params: Vec<(VarId, Type, Direction)> =
            decl.params.iter().map(|param| (param.var, self.type_in(id, &param.ty), param.direction)).collect();
        let once = self.applied_once(id);
        let first = self.objects[id.0 as usize].bindings.is_none();
        let prepared = match first {
            true => {
                let mut prepared = self.prepare(&decl.params, &params, args, once, span)?;
                if !once {
                    self.store_constants(&mut prepared.bindings, &params, span)?;
                }
                self.objects[id.0 as usize].bindings = Some(prepared.bindings.clone());
                prepared
            }
            false => self.prepare_again(id, &decl.params, &params, args, once, span)?,
        };
        let label = self.label();
        let copies = prepared.copy_outs.clone();
        self.frames.push(Frame { kind: FrameKind::Inline, label, result: None, copy_outs: prepared.copy_outs });
        let result = match decl.kind {
            BlockKind::Control => self.apply_entered(id, span),
            BlockKind::Parser => self.sub_parser(id, span),
        };
        self.frames.pop();
        result?;
        self.copy_out(&copies, span)
    }

    /// Gives storage to constant arguments, since the next call of the instance has other values.
    fn store_constants(
        &mut self,
        bindings: &mut [(VarId, Binding)],
        params: &[(VarId, Type, Direction)],
        span: Span,
    ) -> Lowered<()> {
        for (var, binding) in bindings {
            let Binding::Value(value) = binding else { continue };
            let Some((_, ty, _)) = params.iter().find(|(known, ..)| known == var) else { continue };
            if !matches!(value, Value::Object(_)) {
                let name = self.program.vars[var.index()].name.to_string();
                let place = Lvalue::from(self.allocate(ty, &name, self.local())?);
                self.store(&place, value.clone(), span)?;
                *binding = Binding::Place(place);
            }
        }
        Ok(())
    }

    /// Sets the parameters of an instance that was applied before to their values for another call. Tables and actions
    /// of the instance refer to its parameters, so the parameters keep their storage.
    fn prepare_again(
        &mut self,
        id: ObjectId,
        decls: &[typed::Param],
        params: &[(VarId, Type, Direction)],
        args: &Args,
        once: bool,
        span: Span,
    ) -> Lowered<Prepared> {
        let fresh = self.prepare(decls, params, args, once, span)?;
        let fixed = self.objects[id.0 as usize].bindings.clone().unwrap_or_default();
        let mut prepared = Prepared::default();
        for (var, binding) in fresh.bindings {
            let Some((_, old)) = fixed.iter().find(|(known, _)| *known == var) else { continue };
            let Binding::Place(old) = old else { continue };
            let new = match &binding {
                Binding::Place(new) => new,
                Binding::Value(value) => {
                    self.store(old, value.clone(), span)?;
                    continue;
                }
            };
            if let (Lvalue::Storage(a, None), Lvalue::Storage(b, None)) = (old, new)
                && a == b
            {
                continue;
            }
            let value = self.read(new, span)?;
            self.store(old, value, span)?;
            for (from, to, ty) in &fresh.copy_outs {
                if let (Lvalue::Storage(a, None), Lvalue::Storage(b, None)) = (from, new)
                    && a == b
                {
                    prepared.copy_outs.push((old.clone(), to.clone(), ty.clone()));
                }
            }
        }
        Ok(prepared)
    }

    /// Lowers the body of a control whose parameters are bound.
    fn apply_entered(&mut self, id: ObjectId, span: Span) -> Lowered<()> {
        let program = self.program;
        let decl = &program.blocks[self.objects[id.0 as usize].decl.index()];
        let entered = self.enter(id);
        let copies = self.frames.iter().any(|frame| !frame.copy_outs.is_empty());
        if copies && self.objects[id.0 as usize].exit_flag.is_none() {
            let flag = self.add_slot(format!("{}.$exit", decl.name), ir::Ty::BOOL, self.local());
            self.objects[id.0 as usize].exit_flag = Some(flag);
        }
        let label = self.label();
        self.frames.push(Frame { kind: FrameKind::Inline, label, result: None, copy_outs: Vec::new() });
        let code = self.collect(|lowerer| {
            lowerer.declare_locals(id)?;
            match &decl.body {
                typed::BlockBody::Control(body) => lowerer.stmts(body),
                _ => lowerer.internal(span, "a control was expected"),
            }
        });
        self.frames.pop();
        self.leave(entered);
        let (code, ()) = code?;
        self.seal(label, code);
        Ok(())
    }

    /// Creates the variables of an instance the first time, and sets their initial values each time.
    pub(super) fn declare_locals(&mut self, id: ObjectId) -> Lowered<()> {
        let program = self.program;
        let decl = &program.blocks[self.objects[id.0 as usize].decl.index()];
        for local in &decl.locals {
            let Local::Var(var, init) = local else { continue };
            let known = self.objects[id.0 as usize].bindings.iter().flatten().find(|(known, _)| known == var).cloned();
            let span = program.vars[var.index()].span;
            let Some((_, Binding::Place(place))) = known else {
                self.declare_var(*var, init.as_ref(), span)?;
                let binding = self.bindings[var.index()].clone();
                if let (Some(bindings), Some(binding)) = (&mut self.objects[id.0 as usize].bindings, binding) {
                    bindings.push((*var, binding));
                }
                continue;
            };
            match init {
                Some(init) => {
                    let value = self.expr(init)?;
                    self.store(&place, value, span)?;
                }
                None => self.reset_headers(&place, span)?,
            }
        }
        Ok(())
    }

    /// Whether an instance is applied in only one place, so that its parameters can share storage with the arguments.
    fn applied_once(&mut self, id: ObjectId) -> bool {
        let Some(owner) = self.object else { return false };
        let counted = &self.objects[owner.0 as usize].applied;
        if let Some(counts) = counted {
            return counts.get(&id) == Some(&1);
        }
        let decl = &self.program.blocks[self.objects[owner.0 as usize].decl.index()];
        let mut counts = FxHashMap::default();
        match &decl.body {
            typed::BlockBody::Control(body) => self.count_applies(body, &mut counts),
            typed::BlockBody::Parser(states) => {
                states.iter().for_each(|state| self.count_applies(&state.body, &mut counts));
            }
            typed::BlockBody::Missing => {}
        }
        let once = counts.get(&id) == Some(&1);
        self.objects[owner.0 as usize].applied = Some(counts);
        once
    }

    fn count_applies(&self, body: &[Stmt], to: &mut FxHashMap<ObjectId, u32>) {
        for stmt in body {
            match &stmt.kind {
                Typed::Call(call) => {
                    if let ExprKind::Call(call) = &call.kind
                        && let Some(id) = self.applied(&call.callee)
                    {
                        *to.entry(id).or_default() += 1;
                    }
                }
                Typed::Block(body) | Typed::ForIn { body, .. } => self.count_applies(body, to),
                Typed::If(_, then, otherwise) => {
                    self.count_applies(then, to);
                    self.count_applies(otherwise, to);
                }
                Typed::For { init, update, body, .. } => {
                    [init, update, body].into_iter().for_each(|part| self.count_applies(part, to));
                }
                Typed::SwitchAction { cases, .. } => cases.iter().for_each(|case| self.count_applies(&case.body, to)),
                Typed::SwitchValue { cases, .. } => cases.iter().for_each(|case| self.count_applies(&case.body, to)),
                _ => {}
            }
        }
    }

    /// Whether some statement applies a parser.
    pub(super) fn calls_parser(&self, body: &[Stmt]) -> bool {
        body.iter().any(|stmt| match &stmt.kind {
            Typed::Call(call) => {
                matches!(&call.kind, ExprKind::Call(call) if matches!(call.callee, Callee::Block(_)))
            }
            Typed::Block(body) => self.calls_parser(body),
            Typed::If(_, then, otherwise) => self.calls_parser(then) || self.calls_parser(otherwise),
            _ => false,
        })
    }

    /// The action of the IR for an action in a table's list. An action with arguments bound there is a separate copy.
    pub(super) fn table_action(&mut self, id: ActionId, bound: &Args) -> Lowered<ir::ActionId> {
        let decl = &self.program.actions[id.index()];
        let object = self.object.filter(|_| decl.owner.is_some());
        let known = match object {
            Some(object) => self.objects[object.0 as usize].actions.get(&id).copied(),
            None => self.global_actions.get(&(self.block, id)).copied(),
        };
        if let Some(known) = known.filter(|_| bound.is_empty()) {
            return Ok(known);
        }
        let action = self.lower_action(id, bound)?;
        if bound.is_empty() {
            match object {
                Some(object) => self.objects[object.0 as usize].actions.insert(id, action),
                None => self.global_actions.insert((self.block, id), action),
            };
        }
        Ok(action)
    }

    fn lower_action(&mut self, id: ActionId, bound: &Args) -> Lowered<ir::ActionId> {
        let program = self.program;
        let decl = &program.actions[id.index()];
        let path = match (self.object, decl.owner) {
            (Some(object), Some(_)) => self.objects[object.0 as usize].path.clone(),
            _ => String::new(),
        };
        let name = names::control_plane(&path, &decl.name, &decl.annotations);
        let outer_span = std::mem::replace(&mut self.span, decl.span);
        let mut params = Vec::new();
        let mut data = Vec::new();
        for param in decl.params.iter().filter(|param| param.direction == Direction::None) {
            let Some(ty) = self.scalar_type_of(&param.ty) else {
                let what = format!("an action parameter of type `{}`", self.show(&param.ty));
                return self.unsupported(param.span, what);
            };
            let slot = self.add_slot(param.name.to_string(), ty, self.local());
            let annotations = names::annotations(&param.annotations);
            let name = crate::check::annotation_string(&param.annotations, "name");
            let name = name.unwrap_or_else(|| param.name.to_string());
            params.push(ir::ActionParam { name, slot, ty, annotations });
            data.push((param.var, Binding::Place(super::Storage::Scalar(slot).into())));
        }
        let all: Vec<(VarId, Type, Direction)> =
            decl.params.iter().map(|param| (param.var, param.ty.clone(), param.direction)).collect();
        let flag = self.object.and_then(|object| self.objects[object.0 as usize].exit_flag);
        let frames = std::mem::take(&mut self.frames);
        let loops = std::mem::take(&mut self.loops);
        let code = self.collect(|lowerer| {
            let mut prepared = lowerer.prepare(&decl.params, &all, bound, false, decl.span)?;
            prepared.bindings.extend(data);
            let old = lowerer.bind(prepared.bindings);
            let label = lowerer.label();
            let kind = FrameKind::TableAction { exit_flag: flag };
            let copies = prepared.copy_outs.clone();
            lowerer.frames.push(Frame { kind, label, result: None, copy_outs: prepared.copy_outs });
            let body = lowerer.collect(|lowerer| lowerer.stmts(&decl.body));
            lowerer.frames.pop();
            lowerer.unbind(old);
            let (body, ()) = body?;
            lowerer.seal(label, body);
            lowerer.copy_out(&copies, decl.span)
        });
        self.frames = frames;
        self.loops = loops;
        self.span = outer_span;
        let (body, ()) = code?;
        let annotations = names::annotations(&decl.annotations);
        let action = ir::Action { name, params, body, annotations, span: decl.span };
        // An action without slots is the same in every block.
        if decl.owner.is_none()
            && action.params.is_empty()
            && action.body.is_empty()
            && let Some(place) = self.out.actions.iter().position(|known| *known == action)
        {
            return Ok(ir::ActionId(place as u32));
        }
        self.out.actions.push(action);
        Ok(ir::ActionId(self.out.actions.len() as u32 - 1))
    }

    /// Continues an `exit` in an action, after the table was applied.
    pub(super) fn resume_exit(&mut self, span: Span) -> Lowered<()> {
        let Some(flag) = self.object.and_then(|object| self.objects[object.0 as usize].exit_flag) else {
            return Ok(());
        };
        let (then, ()) = self.collect(|lowerer| lowerer.exit(span))?;
        let cond = super::fold::load(flag, ir::Ty::BOOL, span);
        self.emit(StmtKind::If { cond, then, otherwise: Vec::new() });
        Ok(())
    }
}
