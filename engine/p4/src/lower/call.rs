// SPDX-License-Identifier: MIT OR Apache-2.0
//! Calls: inlining with copy-in and copy-out (spec section 6.7), and the lowering of externs and built-ins.

use crate::ast::Direction;
use crate::ir::{self, Label, StmtKind, Ty};
use crate::source::Span;
use crate::typed::{ActionId, Arg, Args, Builtin, Call, Callee, Expr, FunctionId, FunctionKind, Param, Stmt, VarId};
use crate::types::Type;

use super::expr::{Argument, has_effects};
use super::fold;
use super::storage::{Lvalue, Storage};
use super::value::{Object, ObjectId, Value};
use super::{Binding, Frame, FrameKind, Lowered, Lowerer};

/// Parameters prepared for a call.
#[derive(Default, Debug)]
pub(super) struct Prepared {
    pub(super) bindings: Vec<(VarId, Binding)>,
    /// Results: from the parameter, to the argument.
    pub(super) copy_outs: Vec<(Lvalue, Lvalue, Type)>,
}

impl Lowerer<'_> {
    pub(crate) fn call(&mut self, call: &Call, ty: &Type, span: Span) -> Lowered<Value> {
        match &call.callee {
            Callee::Function(id) => self.function_call(*id, call, ty, span),
            Callee::Method(object, method) => {
                let Value::Object(Object::Extern(object)) = self.expr(object)? else {
                    return self.internal(span, "a method of something that is not an extern");
                };
                self.architecture.call_method(self, &object, *method, call, ty, span)
            }
            Callee::Action(id) => self.action_call(*id, call, span),
            Callee::Table(table) => {
                self.apply_table(*table, span)?;
                Ok(Value::Void)
            }
            Callee::Block(object) => {
                let Value::Object(Object::Block(id)) = self.expr(object)? else {
                    return self.internal(span, "something is applied that is not a parser or control");
                };
                self.apply_block(id, &call.args, span)?;
                Ok(Value::Void)
            }
            Callee::Builtin(builtin, of) => self.builtin(*builtin, of, call, span),
        }
    }

    fn function_call(&mut self, id: FunctionId, call: &Call, ty: &Type, span: Span) -> Lowered<Value> {
        let function = &self.program.functions[id.index()];
        let FunctionKind::User(body) = &function.kind else {
            return self.architecture.call_function(self, id, call, ty, span);
        };
        let body = body.clone();
        let type_args: Vec<Type> = call.type_args.iter().map(|arg| self.concrete(arg)).collect();
        let params: Vec<(VarId, Type, Direction)> = function
            .params
            .iter()
            .map(|param| {
                let place = |id| function.type_params.iter().position(|known| *known == id);
                let ty = param.ty.substitute(&|id| place(id).and_then(|place| type_args.get(place).cloned()));
                (param.var, self.concrete(&ty), param.direction)
            })
            .collect();
        let prepared = self.prepare(&function.params, &params, &call.args, true, span)?;
        let types: Vec<_> = function.type_params.iter().copied().zip(type_args).collect();
        let returns = self.concrete(ty);
        let outer = self.bind_types(&types);
        let result = self.inline(FrameKind::Inline, prepared, &returns, |lowerer| lowerer.stmts(&body), span);
        self.unbind_types(outer);
        result
    }

    /// An action called like a function.
    fn action_call(&mut self, id: ActionId, call: &Call, span: Span) -> Lowered<Value> {
        let action = &self.program.actions[id.index()];
        let params: Vec<(VarId, Type, Direction)> = action
            .params
            .iter()
            .map(|param| {
                let direction = if param.direction == Direction::None { Direction::In } else { param.direction };
                (param.var, param.ty.clone(), direction)
            })
            .collect();
        let prepared = self.prepare(&action.params, &params, &call.args, false, span)?;
        let body = action.body.clone();
        if let [first, .., last] | [first @ last] = &body[..] {
            self.out.called_actions.push(first.span.to(last.span));
        }
        self.inline(FrameKind::Action, prepared, &Type::Void, |lowerer| lowerer.stmts(&body), span)
    }

    /// Evaluates arguments and binds parameters to them. With `by_reference`, places that do not overlap are bound
    /// directly. A callee that accesses only its parameters cannot distinguish this from copying.
    pub(super) fn prepare(
        &mut self,
        decls: &[Param],
        params: &[(VarId, Type, Direction)],
        args: &Args,
        by_reference: bool,
        span: Span,
    ) -> Lowered<Prepared> {
        let mut prepared = Prepared::default();
        let exprs: Vec<&Expr> =
            args.iter().filter_map(|(_, arg)| if let Arg::Expr(e) = arg { Some(e) } else { None }).collect();
        let last_effect = exprs.iter().rposition(|expr| has_effects(expr));
        let mut places = self.reference_places(params, args, by_reference && last_effect.is_none())?;
        let mut position = 0;
        let mut copies = Vec::new();
        for (index, arg) in args {
            let (var, ty, direction) = &params[*index];
            let later_effects = last_effect.is_some_and(|effect| position < effect);
            position += usize::from(matches!(arg, Arg::Expr(_)));
            if let Some(place) = places[*index].take() {
                if *direction == Direction::Out {
                    self.reset_headers(&place, span)?;
                }
                prepared.bindings.push((*var, Binding::Place(place)));
                continue;
            }
            match (arg, direction) {
                (Arg::Expr(expr), Direction::In | Direction::None) => {
                    let value = self.expr(expr)?;
                    let value = if later_effects { self.freeze(value, ty)? } else { value };
                    copies.push((*var, ty, Some(value), None));
                }
                (Arg::Expr(expr), _) => {
                    let place = self.place(expr)?;
                    let place = self.freeze_place(place)?;
                    let value = match direction {
                        Direction::Inout => {
                            let value = self.read(&place, expr.span)?;
                            Some(if later_effects { self.freeze(value, ty)? } else { value })
                        }
                        _ => None,
                    };
                    copies.push((*var, ty, value, Some(place)));
                }
                (Arg::Ignore, _) => copies.push((*var, ty, None, Some(Lvalue::Ignore))),
            }
        }
        // Nothing is written before this point, so that no argument reads the value of another parameter.
        for (var, ty, value, place) in copies {
            let binding = self.parameter(var, ty, value, span)?;
            if let (Some(place), Binding::Place(own)) = (place, &binding) {
                prepared.copy_outs.push((own.clone(), place, ty.clone()));
            }
            prepared.bindings.push((var, binding));
        }
        self.default_args(decls, params, args, &mut prepared, span)?;
        Ok(prepared)
    }

    /// Storage of a parameter, with its initial value.
    fn parameter(&mut self, var: VarId, ty: &Type, value: Option<Value>, span: Span) -> Lowered<Binding> {
        match value {
            Some(value) if value.is_constant() && self.is_read_only(var) => Ok(Binding::Value(value)),
            Some(Value::Object(object)) => Ok(Binding::Value(Value::Object(object))),
            value => {
                let name = self.program.vars[var.index()].name.to_string();
                let place = Lvalue::from(self.allocate(ty, &name, self.local())?);
                match value {
                    Some(value) => self.store(&place, value, span)?,
                    None => self.reset_headers(&place, span)?,
                }
                Ok(Binding::Place(place))
            }
        }
    }

    fn is_read_only(&self, var: VarId) -> bool {
        use crate::typed::VarKind;
        match self.program.vars[var.index()].kind {
            VarKind::Param(direction) => !direction.writes(),
            VarKind::ActionData | VarKind::Constructor => true,
            VarKind::Variable => false,
        }
    }

    fn default_args(
        &mut self,
        decls: &[Param],
        params: &[(VarId, Type, Direction)],
        args: &Args,
        prepared: &mut Prepared,
        span: Span,
    ) -> Lowered<()> {
        for (index, decl) in decls.iter().enumerate() {
            if args.iter().any(|(place, _)| *place == index) {
                continue;
            }
            let (var, ty, _) = &params[index];
            let value = match &decl.default {
                Some(default) => self.expr(default)?,
                None => continue,
            };
            let binding = self.parameter(*var, ty, Some(value), span)?;
            prepared.bindings.push((*var, binding));
        }
        Ok(())
    }

    /// For each parameter, the place that it can share with its argument, if any.
    fn reference_places(
        &mut self,
        params: &[(VarId, Type, Direction)],
        args: &Args,
        allowed: bool,
    ) -> Lowered<Vec<Option<Lvalue>>> {
        let mut places: Vec<Option<Lvalue>> = vec![None; params.len()];
        if !allowed {
            return Ok(places);
        }
        for (index, arg) in args {
            let Arg::Expr(expr) = arg else { continue };
            if self.is_place(expr) {
                let place = self.place(expr)?;
                if let Lvalue::Storage(_, None) = place {
                    places[*index] = Some(place);
                }
            }
        }
        let slots = |place: &Option<Lvalue>| {
            let mut slots = Vec::new();
            if let Some(Lvalue::Storage(storage, _)) = place {
                super::storage::flatten(storage, &mut slots);
            }
            slots
        };
        let all: Vec<Vec<ir::SlotId>> = places.iter().map(slots).collect();
        for (index, (_, _, direction)) in params.iter().enumerate() {
            let overlaps = |other: usize| {
                other != index
                    && (direction.writes() || params[other].2.writes())
                    && all[index].iter().any(|slot| all[other].contains(slot))
            };
            if (0..params.len()).any(overlaps) {
                places[index] = None;
            }
        }
        // A computed value may depend on a place that the callee writes.
        let computed = args
            .iter()
            .any(|(index, arg)| matches!(arg, Arg::Expr(_)) && places[*index].is_none() && params[*index].2.writes());
        if computed {
            places.fill(None);
        }
        Ok(places)
    }

    /// The body of a method that an instance implements, with its parameters bound to given places.
    pub(crate) fn method_body(
        &mut self,
        method: FunctionId,
        places: Vec<Lvalue>,
        span: Span,
    ) -> Lowered<Vec<ir::Stmt>> {
        let function = &self.program.functions[method.index()];
        let FunctionKind::User(body) = &function.kind else {
            return self.internal(span, "an implemented method was expected");
        };
        let body = body.clone();
        let params = function.params.iter().map(|param| param.var);
        let bindings = params.zip(places.into_iter().map(Binding::Place)).collect();
        let prepared = Prepared { bindings, copy_outs: Vec::new() };
        let (code, _) = self.collect(|lowerer| {
            lowerer.inline(FrameKind::Inline, prepared, &Type::Void, |lowerer| lowerer.stmts(&body), span)
        })?;
        Ok(code)
    }

    /// Lowers a body in place of a call, with `return` as a jump to its end.
    pub(super) fn inline(
        &mut self,
        kind: FrameKind,
        prepared: Prepared,
        returns: &Type,
        body: impl FnOnce(&mut Self) -> Lowered<()>,
        span: Span,
    ) -> Lowered<Value> {
        self.count_inlined(span)?;
        let returns = self.concrete(returns);
        let result = match returns {
            Type::Void => None,
            _ => Some(Lvalue::from(self.temp_storage(&returns)?)),
        };
        let old = self.bind(prepared.bindings);
        let label = self.label();
        let frame = Frame { kind, label, result: result.clone(), copy_outs: prepared.copy_outs };
        self.frames.push(frame);
        let loops = std::mem::take(&mut self.loops);
        let code = self.collect(body);
        self.loops = loops;
        let frame = self.frames.pop().expect("pushed above");
        self.unbind(old);
        let (code, ()) = code?;
        self.seal(label, code);
        self.copy_out(&frame.copy_outs, span)?;
        match result {
            Some(place) => self.read(&place, span),
            None => Ok(Value::Void),
        }
    }

    pub(super) fn copy_out(&mut self, copies: &[(Lvalue, Lvalue, Type)], span: Span) -> Lowered<()> {
        for (from, to, _) in copies {
            if matches!(to, Lvalue::Ignore) {
                continue;
            }
            let value = self.read(from, span)?;
            self.store(to, value, span)?;
        }
        Ok(())
    }

    /// Adds code as a block that `Break(label)` leaves; without the block if nothing breaks out of it.
    pub(super) fn seal(&mut self, label: Label, mut code: Vec<ir::Stmt>) {
        drop_final_breaks(&mut code, label);
        if breaks(&code, label) {
            self.emit(StmtKind::Block { label, body: code });
        } else {
            self.code.last_mut().expect("inside of a block").extend(code);
        }
    }

    /// Invalidates the headers of a new variable or `out` parameter.
    pub(super) fn reset_headers(&mut self, place: &Lvalue, span: Span) -> Lowered<()> {
        match place {
            Lvalue::Storage(Storage::Header(header), index) => {
                self.emit(StmtKind::SetInvalid(ir::HeaderRef { header: header.id, index: index.clone() }));
            }
            Lvalue::Storage(Storage::Struct(parts) | Storage::Union(parts), index) => {
                for part in parts.iter() {
                    self.reset_headers(&Lvalue::Storage(part.clone(), index.clone()), span)?;
                }
            }
            Lvalue::Storage(Storage::Stack(stack), None) => {
                for element in stack.elements.clone() {
                    self.reset_headers(&element.into(), span)?;
                }
                if let Some(next) = stack.next_index {
                    let zero = fold::constant(&0.into(), Ty::bits(32), span);
                    self.emit(StmtKind::Assign { dst: next.into(), src: zero });
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Arguments of an extern, one per parameter.
    pub(crate) fn extern_args(&mut self, params: &[Param], args: &Args) -> Lowered<Vec<Argument>> {
        let mut result: Vec<Argument> = params.iter().map(|_| Argument::Missing).collect();
        let exprs: Vec<&Expr> =
            args.iter().filter_map(|(_, arg)| if let Arg::Expr(e) = arg { Some(e) } else { None }).collect();
        let last_effect = exprs.iter().rposition(|expr| has_effects(expr));
        let mut position = 0;
        for (index, arg) in args {
            let later_effects = last_effect.is_some_and(|effect| position < effect);
            position += usize::from(matches!(arg, Arg::Expr(_)));
            result[*index] = match arg {
                Arg::Ignore => Argument::Place(Lvalue::Ignore),
                Arg::Expr(expr) if params[*index].direction.writes() => {
                    let place = self.place(expr)?;
                    Argument::Place(if later_effects { self.freeze_place(place)? } else { place })
                }
                Arg::Expr(expr) => {
                    let value = self.expr(expr)?;
                    Argument::Value(if later_effects { self.freeze(value, &expr.ty)? } else { value })
                }
            };
        }
        for (arg, param) in result.iter_mut().zip(params) {
            if let (Argument::Missing, Some(default)) = (&arg, &param.default) {
                *arg = Argument::Value(self.expr(default)?);
            }
        }
        Ok(result)
    }

    fn builtin(&mut self, builtin: Builtin, of: &Expr, call: &Call, span: Span) -> Lowered<Value> {
        match builtin {
            Builtin::IsValid => {
                let value = if self.is_place(of) {
                    let place = self.place(of)?;
                    self.read(&place, span)?
                } else {
                    self.expr(of)?
                };
                match value {
                    Value::Header { valid, .. } => Ok(Value::Scalar(valid)),
                    Value::Union(members) => {
                        let mut result = fold::boolean(false, span);
                        for member in members {
                            if let Value::Header { valid, .. } = member {
                                result = fold::or(result, valid);
                            }
                        }
                        Ok(Value::Scalar(result))
                    }
                    _ => self.internal(span, "a header was expected"),
                }
            }
            Builtin::SetValid | Builtin::SetInvalid => {
                let place = self.place(of)?;
                self.set_validity(&place, builtin == Builtin::SetValid, span)?;
                Ok(Value::Void)
            }
            Builtin::PushFront | Builtin::PopFront => {
                let stack = self.place(of)?;
                let Some((_, Arg::Expr(count))) = call.args.first() else {
                    return self.internal(span, "a count was expected");
                };
                let count = self.expr(count)?;
                let count = self.known_number(&count, span)?;
                let count = usize::try_from(&count).unwrap_or(usize::MAX);
                self.shift_stack(&stack, count, builtin == Builtin::PushFront, span)?;
                Ok(Value::Void)
            }
        }
    }

    pub(crate) fn set_validity(&mut self, place: &Lvalue, valid: bool, span: Span) -> Lowered<()> {
        if let Lvalue::Choice(index, places) = place {
            let mut cases = Vec::with_capacity(places.len());
            for (number, place) in places.iter().enumerate() {
                let (code, ()) = self.collect(|lowerer| lowerer.set_validity(place, valid, span))?;
                cases.push((vec![number.into()], code));
            }
            self.emit(StmtKind::Switch { value: (**index).clone(), cases, default: Vec::new() });
            return Ok(());
        }
        let (Lvalue::Storage(storage, index), Some(header)) = (place, place.header()) else {
            return self.internal(span, "a header was expected");
        };
        if valid {
            self.invalidate_siblings(storage, index.as_ref());
            self.emit(StmtKind::SetValid(header));
        } else {
            self.emit(StmtKind::SetInvalid(header));
        }
        Ok(())
    }

    /// `push_front` and `pop_front` (spec section 8.18).
    fn shift_stack(&mut self, stack: &Lvalue, count: usize, push: bool, span: Span) -> Lowered<()> {
        let Lvalue::Storage(Storage::Stack(storage), None) = stack else {
            return self.unsupported(span, "`push_front` and `pop_front` of a stack that is itself an element");
        };
        let elements: Vec<Lvalue> = storage.elements.iter().cloned().map(Lvalue::from).collect();
        let (len, count) = (elements.len(), count.min(elements.len()));
        // Each element is read before it is overwritten.
        let moves: Vec<(usize, usize)> = match push {
            true => (count..len).rev().map(|to| (to, to - count)).collect(),
            false => (0..len - count).map(|to| (to, to + count)).collect(),
        };
        for (to, from) in moves {
            let value = self.read(&elements[from], span)?;
            self.store(&elements[to], value, span)?;
        }
        let emptied = if push { 0..count } else { len - count..len };
        for place in &elements[emptied] {
            self.reset_headers(place, span)?;
        }
        if let Some(next) = storage.next_index {
            self.move_next_index(next, len, count, push, span);
        }
        Ok(())
    }

    fn move_next_index(&mut self, slot: ir::SlotId, len: usize, count: usize, push: bool, span: Span) {
        use crate::ast::BinaryOp as Op;
        let ty = Ty::bits(32);
        let (now, by) = (fold::load(slot, ty, span), fold::constant(&count.into(), ty, span));
        let next = if push {
            let limit = fold::constant(&(len - count).into(), ty, span);
            let full = fold::binary(Op::Gt, now.clone(), limit, span);
            fold::mux(full, fold::constant(&len.into(), ty, span), fold::binary(Op::Add, now, by, span), span)
        } else {
            fold::binary(Op::SubSat, now, by, span)
        };
        self.emit(StmtKind::Assign { dst: slot.into(), src: next });
    }

    /// The control or parser instance that a call applies, if it is named directly.
    pub(super) fn applied(&self, callee: &Callee) -> Option<ObjectId> {
        let Callee::Block(Expr { kind: crate::typed::ExprKind::Instance(id), .. }) = callee else { return None };
        match self.instance(*id) {
            Some(Object::Block(object)) => Some(object),
            _ => None,
        }
    }

    /// Lowers statements in order. After an error in one, the others are still lowered, unless it declares a variable
    /// that they may use.
    pub(super) fn stmts(&mut self, stmts: &[Stmt]) -> Lowered<()> {
        let mut result = Ok(());
        for stmt in stmts {
            let lowered = self.stmt(stmt);
            if lowered.is_err() && matches!(stmt.kind, crate::typed::StmtKind::Var(..)) {
                return lowered;
            }
            result = result.and(lowered);
        }
        result
    }
}

/// Removes jumps to the end of the code that are at its end.
fn drop_final_breaks(code: &mut Vec<ir::Stmt>, label: Label) {
    while matches!(code.last(), Some(ir::Stmt { kind: StmtKind::Break(target), .. }) if *target == label) {
        code.pop();
    }
    if let Some(ir::Stmt { kind: StmtKind::If { then, otherwise, .. }, .. }) = code.last_mut() {
        drop_final_breaks(then, label);
        drop_final_breaks(otherwise, label);
    }
    if let Some(ir::Stmt { kind: StmtKind::Switch { cases, default, .. }, .. }) = code.last_mut() {
        cases.iter_mut().for_each(|(_, body)| drop_final_breaks(body, label));
        drop_final_breaks(default, label);
    }
}

/// Whether some statement jumps to the label.
fn breaks(code: &[ir::Stmt], label: Label) -> bool {
    code.iter().any(|stmt| match &stmt.kind {
        StmtKind::Break(target) | StmtKind::Continue(target) => *target == label,
        StmtKind::If { then, otherwise, .. } => breaks(then, label) || breaks(otherwise, label),
        StmtKind::Switch { cases, default, .. } => {
            cases.iter().any(|(_, body)| breaks(body, label)) || breaks(default, label)
        }
        StmtKind::Block { body, .. } | StmtKind::Loop { body, .. } => breaks(body, label),
        _ => false,
    })
}
