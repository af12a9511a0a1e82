// SPDX-License-Identifier: MIT OR Apache-2.0
//! Statements.

use num_bigint::{BigInt, BigUint};

use crate::ast::BinaryOp as Op;
use crate::ir::{self, StmtKind, Ty};
use crate::source::Span;
use crate::typed::{Call, Callee, Expr, ExprKind, Stmt, StmtKind as Typed, SwitchCase, TableId, VarId};
use crate::types::Type;

use super::expr::has_effects;
use super::fold;
use super::storage::{Lvalue, Storage};
use super::value::Value;
use super::{Binding, FrameKind, Lowered, Lowerer};

impl Lowerer<'_> {
    pub(super) fn stmt(&mut self, stmt: &Stmt) -> Lowered<()> {
        let outer = std::mem::replace(&mut self.span, stmt.span);
        let result = self.stmt_kind(stmt);
        self.span = outer;
        result
    }

    fn stmt_kind(&mut self, stmt: &Stmt) -> Lowered<()> {
        let span = stmt.span;
        match &stmt.kind {
            Typed::Var(var, init) => self.declare_var(*var, init.as_ref(), span),
            Typed::Assign(dst, src) => self.assign(dst, src, span),
            Typed::Compound(dst, op, src) => self.compound(dst, *op, src, span),
            Typed::Call(call) => {
                // An unused value is still computed: `lookahead` may end the parser.
                if let Value::Scalar(expr) = self.expr(call)?
                    && is_lookahead(&expr)
                {
                    self.freeze_scalar(expr)?;
                }
                Ok(())
            }
            Typed::Block(body) => self.stmts(body),
            Typed::If(cond, then, otherwise) => self.if_stmt(cond, then, otherwise),
            Typed::Return(value) => self.return_stmt(value.as_ref(), span),
            Typed::Exit => self.exit(span),
            Typed::Break | Typed::Continue => {
                let Some(&(end, next)) = self.loops.last() else { return self.internal(span, "outside of a loop") };
                self.emit(StmtKind::Break(if matches!(stmt.kind, Typed::Break) { end } else { next }));
                Ok(())
            }
            Typed::SwitchAction { apply, cases } => self.switch_action(apply, cases, span),
            Typed::SwitchValue { value, cases } => self.switch_value(value, cases, span),
            Typed::For { init, cond, update, body } => {
                if !self.in_action() {
                    self.loop_runs_once(span);
                }
                self.for_loop(init, cond, update, body)
            }
            Typed::ForIn { var, collection, body } => {
                let help = "for both, count with `for (init; condition; step)` in an action";
                self.beyond_bmv2("`for` over a range or collection", Some(help), span);
                self.for_in(*var, collection, body, span)
            }
        }
    }

    /// Creates a variable. Without an initializer, its headers are invalid and its other parts keep the slots' values.
    pub(super) fn declare_var(&mut self, var: VarId, init: Option<&Expr>, span: Span) -> Lowered<()> {
        let value = init.map(|init| self.expr(init)).transpose()?;
        let decl = &self.program.vars[var.index()];
        let (name, ty) = (decl.name.to_string(), self.concrete(&decl.ty));
        let place = Lvalue::from(self.allocate(&ty, &name, self.local())?);
        match value {
            Some(value) => self.store(&place, value, span)?,
            None => self.reset_headers(&place, span)?,
        }
        self.bindings[var.index()] = Some(Binding::Place(place));
        Ok(())
    }

    fn assign(&mut self, dst: &Expr, src: &Expr, span: Span) -> Lowered<()> {
        let mut place = self.place(dst)?;
        if has_effects(src) {
            place = self.freeze_place(place)?;
        }
        let mut value = self.expr(src)?;
        // `{ a, b } = { b, a }` and similar assignments must not read what they have written.
        if !self.is_place(src) && !matches!(value, Value::Scalar(_) | Value::Int(_)) && !value.is_constant() {
            value = self.freeze(value, &src.ty)?;
        }
        self.store(&place, value, span)
    }

    fn compound(&mut self, dst: &Expr, op: Op, src: &Expr, span: Span) -> Lowered<()> {
        let place = self.place(dst)?;
        let place = if has_effects(src) { self.freeze_place(place)? } else { place };
        let Value::Scalar(old) = self.read(&place, span)? else {
            return self.internal(span, "only numbers are combined");
        };
        let old = if has_effects(src) { self.freeze_scalar(old)? } else { old };
        let src_value = self.expr(src)?;
        let src = match src_value {
            Value::Int(by) => fold::constant(&by, Ty::bits((by.bits() as u32).max(1)), span),
            value => self.scalar_of(value, old.ty, span)?,
        };
        let new = fold::binary(op, old, src, span);
        self.store(&place, Value::Scalar(new), span)
    }

    fn if_stmt(&mut self, cond: &Expr, then: &[Stmt], otherwise: &[Stmt]) -> Lowered<()> {
        let cond = self.scalar(cond)?;
        match fold::truth(&cond) {
            Some(true) => return self.stmts(then),
            Some(false) => return self.stmts(otherwise),
            None => {}
        }
        if self.parser.is_some() && (self.calls_parser(then) || self.calls_parser(otherwise)) {
            return self.branch_states(cond, then, otherwise);
        }
        let (then, ()) = self.collect(|lowerer| lowerer.stmts(then))?;
        let (otherwise, ()) = self.collect(|lowerer| lowerer.stmts(otherwise))?;
        self.emit(StmtKind::If { cond, then, otherwise });
        Ok(())
    }

    fn return_stmt(&mut self, value: Option<&Expr>, span: Span) -> Lowered<()> {
        let value = value.map(|value| self.expr(value)).transpose()?;
        let Some(frame) = self.frames.last() else { return self.internal(span, "nothing to return from") };
        let (label, result) = (frame.label, frame.result.clone());
        if let (Some(value), Some(result)) = (value, result) {
            self.store(&result, value, span)?;
        }
        self.emit(StmtKind::Break(label));
        Ok(())
    }

    /// Whether an action is being lowered, called by a table or directly.
    fn in_action(&self) -> bool {
        self.frames.iter().any(|frame| !matches!(frame.kind, FrameKind::Inline))
    }

    /// Ends the programmable block, after copying the results of open calls to their arguments (spec section 12.5).
    pub(super) fn exit(&mut self, span: Span) -> Lowered<()> {
        for depth in (0..self.frames.len()).rev() {
            let copies = self.frames[depth].copy_outs.clone();
            self.copy_out(&copies, span)?;
            if let FrameKind::TableAction { exit_flag: Some(flag) } = self.frames[depth].kind {
                let label = self.frames[depth].label;
                self.emit(StmtKind::Assign { dst: flag.into(), src: fold::boolean(true, span) });
                self.emit(StmtKind::Break(label));
                return Ok(());
            }
        }
        self.emit(StmtKind::Exit);
        Ok(())
    }

    /// The table that an expression applies.
    pub(super) fn applied_table(expr: &Expr) -> Option<TableId> {
        let ExprKind::Call(call) = &expr.kind else { return None };
        let Call { callee: Callee::Table(table), .. } = **call else { return None };
        Some(table)
    }

    /// `t.apply().hit`, `.miss` or `.action_run`
    pub(super) fn table_result(&mut self, of: &Expr, index: u32, span: Span) -> Lowered<Value> {
        let Some(table) = Self::applied_table(of) else { return self.internal(span, "a table was expected") };
        let applied = self.apply_table_for(table, index < 2, index == 2, span)?;
        let slot = applied.hit.or(applied.action_run);
        let Some(slot) = slot else { return self.internal(span, "a result was expected") };
        Ok(Value::Scalar(match index {
            0 => fold::load(slot, Ty::BOOL, span),
            1 => fold::not(fold::load(slot, Ty::BOOL, span)),
            _ => fold::load(slot, Ty::bits(32), span),
        }))
    }

    fn switch_action(&mut self, apply: &Expr, cases: &[SwitchCase<usize>], span: Span) -> Lowered<()> {
        let Some(table) = Self::applied_table(apply) else { return self.internal(span, "a table was expected") };
        let applied = self.apply_table_for(table, false, true, span)?;
        let Some(slot) = applied.action_run else { return self.internal(span, "a result was expected") };
        let value = fold::load(slot, Ty::bits(32), span);
        let labels = |labels: &[usize]| labels.iter().map(|label| BigUint::from(*label)).collect();
        let cases: Vec<(Vec<BigUint>, bool, &[Stmt])> =
            cases.iter().map(|case| (labels(&case.labels), case.default, &case.body[..])).collect();
        self.switch(value, &cases)
    }

    fn switch_value(&mut self, value: &Expr, cases: &[SwitchCase<Expr>], span: Span) -> Lowered<()> {
        let value_expr = self.expr(value)?;
        let Value::Scalar(value) = value_expr else {
            return self.unsupported(span, "`switch` on an `int`");
        };
        let mut lowered: Vec<(Vec<BigUint>, bool, &[Stmt])> = Vec::with_capacity(cases.len());
        for case in cases {
            let mut labels = Vec::with_capacity(case.labels.len());
            for label in &case.labels {
                let expr = self.scalar(label)?;
                let ir::ExprKind::Const(image) = fold::cast(expr, value.ty, label.span).kind else {
                    return self.fail(label.span, crate::diagnostics::Problem::NotConstant {});
                };
                labels.push(image);
            }
            lowered.push((labels, case.default, &case.body));
        }
        self.switch(value, &lowered)
    }

    fn switch(&mut self, value: ir::Expr, cases: &[(Vec<BigUint>, bool, &[Stmt])]) -> Lowered<()> {
        let (mut arms, mut otherwise) = (Vec::with_capacity(cases.len()), Vec::new());
        for (labels, default, body) in cases {
            let (code, ()) = self.collect(|lowerer| lowerer.stmts(body))?;
            if *default {
                otherwise.clone_from(&code);
            }
            if !labels.is_empty() && !*default {
                arms.push((labels.clone(), code));
            }
        }
        self.emit(StmtKind::Switch { value, cases: arms, default: otherwise });
        Ok(())
    }

    fn for_loop(&mut self, init: &[Stmt], cond: &Expr, update: &[Stmt], body: &[Stmt]) -> Lowered<()> {
        self.stmts(init)?;
        let end = self.label();
        let next = self.label();
        let (code, ()) = self.collect(|lowerer| {
            let cond = lowerer.scalar(cond)?;
            let leave = ir::Stmt { kind: StmtKind::Break(end), span: lowerer.span };
            lowerer.emit(StmtKind::If { cond: fold::not(cond), then: vec![leave], otherwise: Vec::new() });
            lowerer.loop_body(end, next, body)?;
            lowerer.stmts(update)
        })?;
        self.emit(StmtKind::Loop { label: end, body: code });
        Ok(())
    }

    /// The body of a loop; `continue` is a jump to its end.
    fn loop_body(&mut self, end: ir::Label, next: ir::Label, body: &[Stmt]) -> Lowered<()> {
        self.loops.push((end, next));
        let code = self.collect(|lowerer| lowerer.stmts(body));
        self.loops.pop();
        let (code, ()) = code?;
        self.seal(next, code);
        Ok(())
    }

    fn for_in(&mut self, var: VarId, collection: &Expr, body: &[Stmt], span: Span) -> Lowered<()> {
        let decl = &self.program.vars[var.index()];
        let (name, ty) = (decl.name.to_string(), self.concrete(&decl.ty));
        let place = Lvalue::from(self.allocate(&ty, &name, self.local())?);
        self.bindings[var.index()] = Some(Binding::Place(place.clone()));
        if let ExprKind::Range(lo, hi) = &collection.kind {
            return self.for_range(&place, lo, hi, body, span);
        }
        let elements = match self.expr(collection)? {
            Value::Stack { elements, .. } | Value::List(elements) | Value::Struct(elements) => elements,
            _ => return self.unsupported(span, "`for` over this collection"),
        };
        let end = self.label();
        let (code, ()) = self.collect(|lowerer| {
            for element in elements {
                let next = lowerer.label();
                lowerer.store(&place, element, span)?;
                lowerer.loop_body(end, next, body)?;
            }
            Ok(())
        })?;
        self.seal(end, code);
        Ok(())
    }

    /// `for (x in lo .. hi)`: the range includes both bounds, which are evaluated once.
    fn for_range(&mut self, place: &Lvalue, lo: &Expr, hi: &Expr, body: &[Stmt], span: Span) -> Lowered<()> {
        let operands = self.operands(&[lo, hi])?;
        let [lo, hi] = <[Value; 2]>::try_from(operands).expect("two operands");
        let Lvalue::Storage(Storage::Scalar(slot), _) = place else {
            return self.unsupported(span, "a range of values that are not numbers");
        };
        let ty = self.out.slots[slot.index()].ty;
        let (lo, hi) = (self.scalar_of(lo, ty, span)?, self.scalar_of(hi, ty, span)?);
        let counter = self.temp(ty);
        let last = self.freeze_scalar(hi)?;
        self.emit(StmtKind::Assign { dst: counter.into(), src: lo });
        let here = fold::load(counter, ty, span);
        let (end, next) = (self.label(), self.label());
        let (code, ()) = self.collect(|lowerer| {
            lowerer.store(place, Value::Scalar(here.clone()), span)?;
            lowerer.loop_body(end, next, body)?;
            // The test comes before the step, so that the last value of the type can be in the range.
            let leave = ir::Stmt { kind: StmtKind::Break(end), span };
            let done = fold::equal(here.clone(), last.clone(), span);
            lowerer.emit(StmtKind::If { cond: done, then: vec![leave], otherwise: Vec::new() });
            let one = fold::constant(&BigInt::from(1), ty, span);
            let step = fold::binary(Op::Add, here.clone(), one, span);
            lowerer.emit(StmtKind::Assign { dst: counter.into(), src: step });
            Ok(())
        })?;
        let body = ir::Stmt { kind: StmtKind::Loop { label: end, body: code }, span };
        let nonempty = fold::binary(Op::Le, here, last, span);
        self.emit(StmtKind::If { cond: nonempty, then: vec![body], otherwise: Vec::new() });
        Ok(())
    }

    /// The scalar type of a type, with the current type arguments.
    pub(super) fn scalar_type_of(&self, ty: &Type) -> Option<Ty> {
        self.scalar_ty(&self.concrete(ty))
    }
}

fn is_lookahead(expr: &ir::Expr) -> bool {
    match &expr.kind {
        ir::ExprKind::Lookahead { .. } => true,
        ir::ExprKind::Cast(of) => is_lookahead(of),
        _ => false,
    }
}
