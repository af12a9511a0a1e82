// SPDX-License-Identifier: MIT OR Apache-2.0
//! The objects that the code of a parser or control uses, without branches that are never taken.

use rustc_hash::FxHashSet;

use crate::typed::{
    ActionId, Arg, Args, BlockBody, Call, Callee, Expr, ExprKind, FunctionId, FunctionKind, KeySet, Local, Program,
    State, Stmt, StmtKind, TableId, Target, Transition, ValueSetId,
};
use crate::types::Type;

use super::Value;
use super::scope::{Scope, ScopeId};
use super::value::{self, Bound};

/// A call of an extern function, in the instance whose type arguments apply.
pub(super) type ExternCall = (ScopeId, FunctionId, Vec<Type>);

/// The objects that were found, with the instance that uses each.
#[derive(Default, Debug)]
pub(super) struct Used {
    pub(super) applied: FxHashSet<ScopeId>,
    pub(super) tables: FxHashSet<(ScopeId, TableId)>,
    pub(super) value_sets: FxHashSet<(ScopeId, ValueSetId)>,
    /// Actions that code runs, once for each call.
    pub(super) actions: Vec<(ScopeId, ActionId)>,
    /// Calls outside of actions, in order.
    pub(super) calls: Vec<ExternCall>,
}

/// Walks over code.
pub(super) struct Scan<'a> {
    program: &'a Program,
    scopes: &'a [Scope],
    pub(super) used: Used,
    /// Functions and actions whose bodies were scanned: each is scanned only once.
    seen: FxHashSet<FunctionId>,
    seen_actions: FxHashSet<ActionId>,
    scope: ScopeId,
    /// Whether the code is an action's, in which calls of actions are inlined.
    in_action: bool,
}

/// Whether control flow continues after a statement.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Flow {
    On,
    Ends,
}

impl<'a> Scan<'a> {
    pub(super) fn new(program: &'a Program, scopes: &'a [Scope], scope: ScopeId) -> Scan<'a> {
        let (seen, seen_actions) = (FxHashSet::default(), FxHashSet::default());
        Scan { program, scopes, used: Used::default(), seen, seen_actions, scope, in_action: false }
    }

    /// Scans the code of an instance, and of the instances that it applies.
    pub(super) fn block(&mut self, scope: ScopeId) {
        if !self.used.applied.insert(scope) {
            return;
        }
        let outer = std::mem::replace(&mut self.scope, scope);
        let program = self.program;
        let block = &program.blocks[self.scopes[scope].block.index()];
        for local in &block.locals {
            if let Local::Var(_, Some(init)) = local {
                self.expr(init);
            }
        }
        match &block.body {
            BlockBody::Control(body) => _ = self.stmts(body),
            BlockBody::Parser(states) => self.states(states),
            BlockBody::Missing => {}
        }
        self.scope = outer;
    }

    /// Scans the code of an action.
    pub(super) fn action(&mut self, action: ActionId) {
        let outer = std::mem::replace(&mut self.in_action, true);
        if self.seen_actions.insert(action) {
            self.stmts(&self.program.actions[action.index()].body);
        }
        self.in_action = outer;
    }

    fn bound(&self) -> &'a Bound {
        &self.scopes[self.scope].bound
    }

    fn states(&mut self, states: &'a [State]) {
        let mut reached = vec![false; states.len()];
        let mut next: Vec<usize> = states.iter().position(|state| &*state.name == "start").into_iter().collect();
        while let Some(index) = next.pop() {
            if std::mem::replace(&mut reached[index], true) {
                continue;
            }
            self.stmts(&states[index].body);
            let mut go = |target: &Target| {
                if let Target::State(state) = target {
                    next.push(state.index());
                }
            };
            match &states[index].next {
                Transition::Goto(target) => go(target),
                Transition::Select { keys, cases, .. } => {
                    keys.iter().for_each(|key| self.expr(key));
                    for (set, target) in cases {
                        go(target);
                        match set {
                            KeySet::ValueSet(id) => _ = self.used.value_sets.insert((self.scope, *id)),
                            KeySet::Each(sets) => sets.iter().for_each(|set| self.expr(set)),
                            KeySet::Any => {}
                        }
                    }
                }
            }
        }
    }

    fn stmts(&mut self, stmts: &'a [Stmt]) -> Flow {
        for stmt in stmts {
            if self.stmt(stmt) == Flow::Ends {
                return Flow::Ends;
            }
        }
        Flow::On
    }

    fn stmt(&mut self, stmt: &'a Stmt) -> Flow {
        match &stmt.kind {
            StmtKind::Var(_, init) => init.iter().for_each(|init| self.expr(init)),
            StmtKind::Assign(dst, src) | StmtKind::Compound(dst, _, src) => {
                self.expr(dst);
                self.expr(src);
            }
            StmtKind::Call(call) => self.expr(call),
            StmtKind::Block(body) => return self.stmts(body),
            StmtKind::If(cond, then, otherwise) => return self.branch(cond, then, otherwise),
            StmtKind::Return(value) => {
                value.iter().for_each(|value| self.expr(value));
                return Flow::Ends;
            }
            // p4c keeps the code that follows an `exit`.
            StmtKind::Exit => {}
            StmtKind::Break | StmtKind::Continue => return Flow::Ends,
            StmtKind::SwitchAction { apply, cases } => {
                self.expr(apply);
                cases.iter().for_each(|case| _ = self.stmts(&case.body));
            }
            StmtKind::SwitchValue { value, cases } => {
                self.expr(value);
                cases.iter().for_each(|case| _ = self.stmts(&case.body));
            }
            StmtKind::For { init, cond, update, body } => {
                self.stmts(init);
                self.expr(cond);
                self.stmts(update);
                self.stmts(body);
            }
            StmtKind::ForIn { collection, body, .. } => {
                self.expr(collection);
                self.stmts(body);
            }
        }
        Flow::On
    }

    fn branch(&mut self, cond: &'a Expr, then: &'a [Stmt], otherwise: &'a [Stmt]) -> Flow {
        self.expr(cond);
        match value::value(self.program, self.bound(), cond) {
            Some(Value::Bool(true)) => self.stmts(then),
            Some(Value::Bool(false)) => self.stmts(otherwise),
            _ => match (self.stmts(then), self.stmts(otherwise)) {
                (Flow::Ends, Flow::Ends) => Flow::Ends,
                _ => Flow::On,
            },
        }
    }

    fn expr(&mut self, expr: &'a Expr) {
        match &expr.kind {
            ExprKind::Call(call) => self.call(call),
            ExprKind::Mux(cond, then, otherwise) => {
                self.expr(cond);
                match value::value(self.program, self.bound(), cond) {
                    Some(Value::Bool(true)) => self.expr(then),
                    Some(Value::Bool(false)) => self.expr(otherwise),
                    _ => [then, otherwise].into_iter().for_each(|part| self.expr(part)),
                }
            }
            ExprKind::ValueSet(id) => _ = self.used.value_sets.insert((self.scope, *id)),
            _ => {
                expr.any_part(|part| {
                    self.expr(part);
                    false
                });
            }
        }
    }

    fn args(&mut self, args: &'a Args) {
        for (_, arg) in args {
            if let Arg::Expr(value) = arg {
                self.expr(value);
            }
        }
    }

    fn call(&mut self, call: &'a Call) {
        self.args(&call.args);
        match &call.callee {
            Callee::Table(table) => {
                if self.used.tables.insert((self.scope, *table)) {
                    self.program.tables[table.index()].keys.iter().for_each(|key| self.expr(&key.expr));
                }
            }
            Callee::Action(action) if self.in_action => self.action(*action),
            Callee::Action(action) => self.used.actions.push((self.scope, *action)),
            Callee::Block(instance) => {
                if let Some(scope) = self.scopes[self.scope].applied(instance) {
                    self.block(scope);
                }
            }
            Callee::Function(function) => self.function(*function, &call.type_args),
            Callee::Method(object, _) | Callee::Builtin(_, object) => self.expr(object),
        }
    }

    fn function(&mut self, function: FunctionId, type_args: &[Type]) {
        match &self.program.functions[function.index()].kind {
            FunctionKind::User(body) => {
                if self.seen.insert(function) {
                    self.stmts(body);
                }
            }
            FunctionKind::Extern => self.used.calls.push((self.scope, function, type_args.to_vec())),
            FunctionKind::Method { .. } | FunctionKind::Constructor => {}
        }
    }
}
