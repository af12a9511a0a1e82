// SPDX-License-Identifier: MIT OR Apache-2.0
//! Actions: one step, in which all operations read the values from before the step (p4c's
//! `bf-p4c/mau/instruction_selection.cpp`, `bf-p4c/mau/action_analysis.cpp`).
//!
//! Variables of an action are replaced by their values, as p4c's copy propagation does. So only an operation that reads
//! a field written by the same action depends on another one. Here, each statement of an `apply` block is an action of
//! its own.

use marklab_p4::ir::{
    Action, BinaryOp, Class, Expr, ExprKind, ExternCall, Place, Program, SlotId, Stmt, StmtKind, Table, UnaryOp, visit,
};
use marklab_p4::source::Span;
use num_bigint::BigUint;
use rustc_hash::FxHashMap;

use crate::chip;
use crate::findings::{Findings, label};
use crate::flow::{Flow, What};
use crate::limit::Limit;

/// Checks all actions, and the statements of controls.
pub(crate) fn check(program: &Program, flows: &[Flow<'_>], findings: &mut Findings) {
    for action in &program.actions {
        let mut walker = Walker::new(program, Some(action), findings);
        walker.statements(&action.body);
        random_numbers(action, findings);
    }
    for table in &program.tables {
        needs_of_hash(program, table, findings);
    }
    for flow in flows {
        for step in &flow.steps {
            if let What::Do(stmt) = step.what {
                Walker::new(program, None, findings).statement(stmt);
            }
        }
    }
}

/// Content of a slot at a point of an action.
#[derive(Clone)]
enum Held {
    /// A copy of a value from before the step, or a variable's value.
    Value(Expr),
    /// A field that this step calculates.
    Calculated(Span),
    /// The result of an extern, which this step may use.
    Result,
}

struct Walker<'a> {
    program: &'a Program,
    /// The action; `None` for a statement of a control.
    action: Option<&'a Action>,
    held: FxHashMap<SlotId, Held>,
    findings: &'a mut Findings,
}

impl<'a> Walker<'a> {
    fn new(program: &'a Program, action: Option<&'a Action>, findings: &'a mut Findings) -> Walker<'a> {
        Walker { program, action, held: FxHashMap::default(), findings }
    }

    fn statements(&mut self, body: &[Stmt]) {
        for stmt in body {
            self.statement(stmt);
        }
    }

    fn statement(&mut self, stmt: &Stmt) {
        match &stmt.kind {
            StmtKind::Assign { dst, src } => {
                let src = self.resolved(src);
                self.reads(&src);
                let is_variable = matches!(self.program.slots[dst.slot.index()].class, Class::Local(_));
                if is_variable && self.action.is_some() {
                    self.held.insert(dst.slot, Held::Value(src));
                    return;
                }
                self.calculation(&src);
                let held = if is_move(&src) { Held::Value(src) } else { Held::Calculated(stmt.span) };
                self.held.insert(dst.slot, held);
            }
            StmtKind::If { cond, then, otherwise } => {
                self.condition(cond);
                self.statements(then);
                self.statements(otherwise);
            }
            StmtKind::Block { body, .. } | StmtKind::Loop { body, .. } => self.statements(body),
            StmtKind::Extern(call) => self.call(call, stmt),
            _ => {}
        }
    }

    fn call(&mut self, call: &ExternCall, stmt: &Stmt) {
        for operand in visit::operands(stmt) {
            let resolved = self.resolved(operand);
            self.reads(&resolved);
            // `access` checks indices that are calculations.
            let is_index = matches!(call, ExternCall::ExecuteRegister { .. } | ExternCall::RegisterRead { .. });
            let is_free = matches!(call, ExternCall::Hash { .. } | ExternCall::RegisterWrite { .. });
            if !is_free && (!is_index || is_move(operand)) {
                self.steps(&resolved, stmt.span);
            }
        }
        match call {
            ExternCall::Hash { data, .. } => {
                for field in data {
                    self.hashed(&field.expr);
                }
            }
            ExternCall::Filter { value, .. } if !matches!(low_part_of(value).kind, ExprKind::Load(_)) => {
                self.findings.report(value.span, Limit::FilterInput {});
            }
            ExternCall::ExecuteRegister { action, .. } => {
                // Its body reads values of the packet from before this step, too.
                for body in &self.program.register_actions[action.index()].body {
                    for operand in operands_within(body) {
                        self.reads(operand);
                    }
                }
            }
            _ => {}
        }
        for slot in visit::written(stmt) {
            self.held.insert(slot, Held::Result);
        }
    }

    /// An expression, with variables replaced by their values.
    fn resolved(&self, expr: &Expr) -> Expr {
        visit::rewritten(expr, &mut |part| match &part.kind {
            ExprKind::Load(Place { index: Some(_), .. }) => Some(part.clone()),
            ExprKind::Load(Place { slot, .. }) => match self.held.get(slot) {
                Some(Held::Value(value)) => Some(value.clone()),
                _ => None,
            },
            _ => None,
        })
    }

    /// Checks that an expression reads nothing that this step calculates (`action spanning multiple stages`).
    fn reads(&mut self, expr: &Expr) {
        let mut dependent = None;
        visit::loads(expr, &mut |slot| {
            if let Some(Held::Calculated(written)) = self.held.get(&slot) {
                dependent = dependent.or(Some((slot, *written)));
            }
        });
        if let Some((slot, written)) = dependent {
            let field = self.program.slots[slot.index()].name.clone();
            let labels = vec![label(written, "calculated here")];
            self.findings.report_with(expr.span, Limit::ReadsCalculated { field }, labels);
        }
    }

    /// Checks that a condition in an action only tests values from the table entry (Tofino 1 has no instruction that
    /// compares).
    fn condition(&mut self, cond: &Expr) {
        let Some(action) = self.action else { return };
        let mut fields = false;
        visit::loads(&self.resolved(cond), &mut |slot| {
            // The colour of a meter is not tested: it is stored as the number that the program chose for it.
            let comes = matches!(self.held.get(&slot), Some(Held::Result));
            fields |= !comes && !action.params.iter().any(|param| param.slot == slot);
        });
        if fields {
            self.findings.report(cond.span, Limit::ConditionInAction {});
        }
    }

    /// Checks that one instruction can calculate a value.
    fn calculation(&mut self, expr: &Expr) {
        let expr = low_part_of(expr);
        match &expr.kind {
            _ if is_move(expr) => {}
            ExprKind::Unary(_, of) => self.steps(of, expr.span),
            ExprKind::Binary(op, left, right) => self.operation(expr, *op, left, right),
            ExprKind::Mux { cond, then, otherwise } => self.choice(expr, cond, then, otherwise),
            // A write to part of a field.
            ExprKind::Concat(high, low) if is_move(high) => self.calculation(low),
            ExprKind::Concat(high, low) if is_move(low) => self.calculation(high),
            _ => self.steps(expr, expr.span),
        }
    }

    fn operation(&mut self, expr: &Expr, op: BinaryOp, left: &Expr, right: &Expr) {
        let width = expr.ty.width;
        let problem = match op {
            BinaryOp::Mul if is_power_of_two(left) || is_power_of_two(right) => None,
            BinaryOp::Mul => Some(Limit::NoInstruction { op: "*" }),
            BinaryOp::Div => Some(Limit::NoInstruction { op: "/" }),
            BinaryOp::Mod => Some(Limit::NoInstruction { op: "%" }),
            BinaryOp::Shl | BinaryOp::Shr if !is_constant(right) => Some(Limit::ShiftCount {}),
            BinaryOp::AddSat | BinaryOp::SubSat if width > chip::SATURATING_BITS => {
                Some(Limit::OperationWidth { width, limit: chip::SATURATING_BITS })
            }
            BinaryOp::Add | BinaryOp::Sub if width > chip::ADD_BITS => {
                Some(Limit::OperationWidth { width, limit: chip::ADD_BITS })
            }
            _ if self.comes_with_entry(left) && self.comes_with_entry(right) => Some(Limit::NoFieldOperand {}),
            BinaryOp::Sub | BinaryOp::SubSat if self.is_parameter(right) => Some(Limit::SubtractsParameter {}),
            BinaryOp::Eq | BinaryOp::Ne | BinaryOp::Lt | BinaryOp::Le | BinaryOp::Gt | BinaryOp::Ge => {
                self.condition(expr);
                return;
            }
            _ => None,
        };
        if let Some(problem) = problem {
            return self.findings.report(expr.span, problem);
        }
        let bitwise = matches!(op, BinaryOp::And | BinaryOp::Or | BinaryOp::Xor);
        for operand in [left, right] {
            // p4c adds up constants before (`frontends/p4/strengthReduction.cpp`).
            let folded = is_constant(right) && is_sum_with_constant(op, operand);
            if !(bitwise && is_masked(operand) || folded) {
                self.steps(operand, expr.span);
            }
            // The operand would have to be concatenated in an earlier step (`RewriteConcatToSlices`).
            if !bitwise && self.action.is_some() && is_put_together(operand) {
                self.findings.report(expr.span, Limit::MoreThanOneStep {});
            }
        }
    }

    /// Checks a choice. In the IR, `max` and `min` are choices by a comparison.
    fn choice(&mut self, expr: &Expr, cond: &Expr, then: &Expr, otherwise: &Expr) {
        if let ExprKind::Binary(BinaryOp::Ge | BinaryOp::Le, left, right) = &cond.kind
            && same(left, then)
            && same(right, otherwise)
        {
            self.steps(then, expr.span);
            return self.steps(otherwise, expr.span);
        }
        self.condition(cond);
        self.calculation(then);
        self.calculation(otherwise);
    }

    /// Checks that an operand exists before the step.
    fn steps(&mut self, operand: &Expr, span: Span) {
        if !is_move(operand) {
            self.findings.report(span, Limit::MoreThanOneStep {});
        }
    }

    fn is_parameter(&self, expr: &Expr) -> bool {
        let ExprKind::Load(place) = &low_part_of(expr).kind else { return false };
        self.action.is_some_and(|action| action.params.iter().any(|param| param.slot == place.slot))
    }

    fn comes_with_entry(&self, expr: &Expr) -> bool {
        is_constant(expr) || self.is_parameter(expr)
    }

    /// Checks that a hash has no input from an entry (`bf-p4c/mau/ixbar_expr.cpp`).
    fn hashed(&mut self, expr: &Expr) {
        let Some(action) = self.action else { return };
        let mut of_entry = false;
        visit::loads(expr, &mut |slot| of_entry |= action.params.iter().any(|param| param.slot == slot));
        if of_entry {
            self.findings.report(expr.span, Limit::HashedParameter {});
        }
    }
}

/// Operands of a statement and of the statements in it.
fn operands_within(stmt: &Stmt) -> Vec<&Expr> {
    let mut found = Vec::new();
    visit::statements(std::slice::from_ref(stmt), &mut |inner| found.extend(visit::operands(inner)));
    found
}

/// Checks that an action uses one random number (`bf-p4c/mau/instruction_selection.cpp`).
fn random_numbers(action: &Action, findings: &mut Findings) {
    let mut first: Option<Span> = None;
    visit::statements(&action.body, &mut |stmt| {
        if let StmtKind::Extern(ExternCall::Random { .. }) = &stmt.kind {
            match first {
                Some(first) => {
                    findings.report_with(stmt.span, Limit::TwoRandomNumbers {}, vec![label(first, "the other one")]);
                }
                None => first = Some(stmt.span),
            }
        }
    });
}

/// Checks that an action that runs on a miss needs neither a hash nor a random number. An index from the packet is a
/// hash (`DoTableLayout::preorder` in `bf-p4c/mau/table_layout.cpp`). A key of few bits can be looked up without a
/// match.
fn needs_of_hash(program: &Program, table: &Table, findings: &mut Findings) {
    let bits: u32 = table.keys.iter().map(|key| key.expr.ty.width).sum();
    let data = table.actions.iter().any(|entry| !program.actions[entry.action.index()].params.is_empty());
    for (place, entry) in table.actions.iter().enumerate() {
        let action = &program.actions[entry.action.index()];
        let Some(span) = needs_hash(action) else { continue };
        let (name, table_name) = (action.name.clone(), table.name.clone());
        let is_default = table.default_action.action as usize == place || entry.default_only;
        if table.keys.is_empty() && (table.actions.len() > 1 || data) {
            findings.report(span, Limit::KeylessNeedsHash { action: name, table: table_name });
        } else if bits > chip::HASH_ACTION_BITS && is_default {
            findings.report(span, Limit::DefaultNeedsHash { action: name, table: table_name });
        }
    }
}

/// Where an action needs a hash or a random number: in an assignment, or as an index that is neither a constant nor
/// from the entry.
fn needs_hash(action: &Action) -> Option<Span> {
    let mut of_entry: Vec<SlotId> = action.params.iter().map(|param| param.slot).collect();
    let mut hashes = Vec::new();
    let mut needs = None;
    visit::statements(&action.body, &mut |stmt| {
        let reads = |expr: &Expr, slots: &[SlotId]| {
            let mut found = false;
            visit::loads(expr, &mut |slot| found |= slots.contains(&slot));
            found
        };
        let here = match &stmt.kind {
            StmtKind::Extern(ExternCall::Hash { dst, .. }) => {
                hashes.push(dst.slot);
                false
            }
            StmtKind::Extern(ExternCall::Random { .. }) => true,
            StmtKind::Assign { dst, src } => {
                // A copy of a parameter comes from the entry, too.
                if is_move(src) && reads(src, &of_entry) {
                    of_entry.push(dst.slot);
                }
                reads(src, &hashes)
            }
            StmtKind::Extern(call) => call.index().is_some_and(|index| !is_constant(index) && !reads(index, &of_entry)),
            _ => false,
        };
        needs = needs.or(here.then_some(stmt.span));
    });
    needs
}

fn is_constant(expr: &Expr) -> bool {
    matches!(low_part_of(expr).kind, ExprKind::Const(_))
}

fn is_power_of_two(expr: &Expr) -> bool {
    matches!(&expr.kind, ExprKind::Const(value) if *value != BigUint::ZERO && value.bits() == value.trailing_zeros().unwrap_or(0) + 1)
}

/// Whether an expression is a move: fields and constants, parts of these and concatenations of these.
fn is_move(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Const(_) | ExprKind::Load(_) => true,
        ExprKind::Slice { of, .. } | ExprKind::Cast(of) => is_move(of),
        ExprKind::Concat(high, low) => is_move(high) && is_move(low),
        _ => false,
    }
}

/// Whether an operand is made of several fields. A constant in front of a field does not count as a field.
fn is_put_together(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Cast(of) | ExprKind::Slice { of, .. } => is_put_together(of),
        ExprKind::Concat(high, low) => !is_constant(high) || is_put_together(low),
        _ => false,
    }
}

/// Whether an expression is a field plus or minus constants, to which another constant can be added.
fn is_sum_with_constant(op: BinaryOp, expr: &Expr) -> bool {
    let is_sum = |op: BinaryOp| matches!(op, BinaryOp::Add | BinaryOp::Sub);
    match &expr.kind {
        ExprKind::Binary(inner, of, by) if is_sum(op) && is_sum(*inner) && is_constant(by) => {
            is_move(of) || is_sum_with_constant(op, of)
        }
        _ => false,
    }
}

/// Whether an operand of a bitwise operation is complemented, masked or shifted in the same instruction.
fn is_masked(expr: &Expr) -> bool {
    match &low_part_of(expr).kind {
        ExprKind::Unary(UnaryOp::Not, of) => is_move(of),
        ExprKind::Binary(BinaryOp::And | BinaryOp::Shl | BinaryOp::Shr, of, by) => is_move(of) && is_constant(by),
        _ => false,
    }
}

/// An expression without the casts and slices around it, which cost nothing in a move.
fn low_part_of(expr: &Expr) -> &Expr {
    match &expr.kind {
        ExprKind::Cast(of) | ExprKind::Slice { of, .. } => low_part_of(of),
        _ => expr,
    }
}

/// Whether two moves have the same source.
fn same(one: &Expr, other: &Expr) -> bool {
    match (&one.kind, &other.kind) {
        (ExprKind::Const(a), ExprKind::Const(b)) => a == b,
        (ExprKind::Load(a), ExprKind::Load(b)) => a == b,
        (ExprKind::Cast(a), ExprKind::Cast(b)) => same(a, b),
        (ExprKind::Slice { of: a, hi: c, lo: e }, ExprKind::Slice { of: b, hi: d, lo: f }) => {
            c == d && e == f && same(a, b)
        }
        (ExprKind::Concat(a, b), ExprKind::Concat(c, d)) => same(a, c) && same(b, d),
        _ => false,
    }
}
