// SPDX-License-Identifier: MIT OR Apache-2.0
//! A control as a list of steps, each with the decisions that lead to it. It shows which steps exclude each other, and
//! which depend on each other.

use marklab_p4::ir::{
    ActionId, Expr, ExprKind, Label, Program, SlotId, Stmt, StmtKind, Table, TableId, UnaryOp, visit,
};
use marklab_p4::source::Span;

use crate::fields::{Fields, uses};

/// What a step does.
#[derive(Clone, Copy, Debug)]
pub(crate) enum What<'a> {
    /// Applies a table.
    Apply(TableId),
    /// Tests a condition, or the value of a `switch`.
    Test { value: &'a Expr, is_condition: bool },
    /// Any other statement: p4c makes tables of these, with one action and no key.
    Do(&'a Stmt),
}

/// Outcomes of a step, as a set of bits. For a condition: bit 0 if true, bit 1 if false. For a `switch`: the index of
/// the case. For a table: the index of the action, first for a hit, then for a miss.
pub(crate) type Outcomes = u128;

/// A step runs only after some outcomes of another step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Choice {
    /// Index of the step that decides.
    pub(crate) decision: usize,
    pub(crate) outcomes: Outcomes,
}

/// A step of a control.
#[derive(Clone, Debug)]
pub(crate) struct Step<'a> {
    pub(crate) what: What<'a>,
    /// All of these choices have to hold.
    pub(crate) within: Vec<Choice>,
    pub(crate) span: Span,
}

/// A control.
#[derive(Debug)]
pub(crate) struct Flow<'a> {
    program: &'a Program,
    pub(crate) steps: Vec<Step<'a>>,
    /// Slots with the result of a table: the table's step, and whether the result is the action that ran or a hit.
    results: Vec<(SlotId, usize, TableResult)>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum TableResult {
    Hit,
    ActionRun,
}

/// Bits for the actions of a table after a hit, and as many for those after a miss.
const ACTIONS: usize = 64;

impl<'a> Flow<'a> {
    /// The steps of a control's body.
    pub(crate) fn of(program: &'a Program, body: &'a [Stmt]) -> Flow<'a> {
        let mut flow = Flow { program, steps: Vec::new(), results: Vec::new() };
        flow.statements(body, &[]);
        flow
    }

    fn push(&mut self, what: What<'a>, within: &[Choice], span: Span) -> usize {
        self.steps.push(Step { what, within: within.to_vec(), span });
        self.steps.len() - 1
    }

    fn statements(&mut self, body: &'a [Stmt], within: &[Choice]) {
        let mut within = within.to_vec();
        for stmt in body {
            match &stmt.kind {
                StmtKind::Apply { table, hit, action_run } => {
                    let step = self.push(What::Apply(*table), &within, stmt.span);
                    self.results.extend(hit.map(|slot| (slot, step, TableResult::Hit)));
                    self.results.extend(action_run.map(|slot| (slot, step, TableResult::ActionRun)));
                }
                StmtKind::If { cond, then, otherwise } => {
                    let (decision, yes, no) = self.test(cond, &within);
                    let after = |outcomes| [&within[..], &[Choice { decision, outcomes }]].concat();
                    self.statements(then, &after(yes));
                    self.statements(otherwise, &after(no));
                    // If one branch leaves, the statements behind the `if` run only after the other branch.
                    match (leaves(then), leaves(otherwise)) {
                        (true, false) => within = after(no),
                        (false, true) => within = after(yes),
                        _ => {}
                    }
                }
                StmtKind::Switch { value, cases, default } => {
                    let (decision, sets, rest) = self.cases(value, cases, &within);
                    for ((_, body), outcomes) in cases.iter().zip(sets) {
                        self.statements(body, &[&within[..], &[Choice { decision, outcomes }]].concat());
                    }
                    self.statements(default, &[&within[..], &[Choice { decision, outcomes: rest }]].concat());
                }
                StmtKind::Block { body, .. } | StmtKind::Loop { body, .. } => self.statements(body, &within),
                StmtKind::Break(_) | StmtKind::Continue(_) | StmtKind::Exit => {}
                _ => {
                    self.push(What::Do(stmt), &within, stmt.span);
                }
            }
        }
    }

    /// The step that decides an `if`, and its outcomes for either branch. The step is a new test, or the table whose
    /// result is tested.
    fn test(&mut self, cond: &'a Expr, within: &[Choice]) -> (usize, Outcomes, Outcomes) {
        let (inner, negated) = match &cond.kind {
            ExprKind::Unary(UnaryOp::Not, of) => (&**of, true),
            _ => (cond, false),
        };
        if let Some((step, TableResult::Hit)) = self.asked(inner) {
            let table = self.table_of(step);
            let (hit, miss) = (hit_outcomes(table), miss_outcomes(table));
            return if negated { (step, miss, hit) } else { (step, hit, miss) };
        }
        (self.push(What::Test { value: cond, is_condition: true }, within, cond.span), 1, 2)
    }

    fn cases(
        &mut self,
        value: &'a Expr,
        cases: &'a [(Vec<num_bigint::BigUint>, Vec<Stmt>)],
        within: &[Choice],
    ) -> (usize, Vec<Outcomes>, Outcomes) {
        if let Some((step, TableResult::ActionRun)) = self.asked(value) {
            let table = self.table_of(step);
            let all = hit_outcomes(table) | miss_outcomes(table);
            let of = |label: &num_bigint::BigUint| u32::try_from(label).map_or(all, |action| ran(action as usize));
            let sets: Vec<Outcomes> =
                cases.iter().map(|(labels, _)| labels.iter().map(of).fold(0, |set, one| set | one) & all).collect();
            let rest = all & !sets.iter().fold(0, |set, one| set | one);
            return (step, sets, rest);
        }
        let step = self.push(What::Test { value, is_condition: false }, within, value.span);
        let sets = (0..cases.len()).map(|place| 1 << place.min(126)).collect();
        (step, sets, 1 << 127)
    }

    /// The step and kind of the table result that an expression reads; `None` if it reads none.
    fn asked(&self, expr: &Expr) -> Option<(usize, TableResult)> {
        let ExprKind::Load(place) = &expr.kind else { return None };
        let (_, step, result) = self.results.iter().rev().find(|(slot, ..)| *slot == place.slot)?;
        Some((*step, *result))
    }

    fn table_of(&self, step: usize) -> &'a Table {
        match self.steps[step].what {
            What::Apply(table) => &self.program.tables[table.index()],
            _ => unreachable!("only tables have results"),
        }
    }

    /// Whether an expression reads the result of a table.
    pub(crate) fn reads_result(&self, expr: &Expr) -> bool {
        let mut found = false;
        visit::loads(expr, &mut |slot| found |= self.results.iter().any(|(result, ..)| *result == slot));
        found
    }

    /// Whether a step writes to a slot.
    pub(crate) fn writes(&self, what: What<'_>, slot: SlotId) -> bool {
        let mut writes = Fields::default();
        match what {
            What::Apply(table) => {
                let actions = &self.program.tables[table.index()].actions;
                let bodies = actions.iter().map(|action| &self.program.actions[action.action.index()].body);
                bodies.for_each(|body| uses(self.program, body, &mut Fields::default(), &mut writes));
            }
            What::Do(stmt) => uses(self.program, std::slice::from_ref(stmt), &mut Fields::default(), &mut writes),
            What::Test { .. } => {}
        }
        writes.contains(slot)
    }

    /// The choices that lead to an action of the table that a step applies.
    pub(crate) fn within_action(&self, step: usize, action: ActionId) -> Vec<Choice> {
        let table = self.table_of(step);
        let places = table.actions.iter().enumerate().filter(|(_, one)| one.action == action).map(|(place, _)| place);
        let all = hit_outcomes(table) | miss_outcomes(table);
        let outcomes = places.map(ran).fold(0, |set, one| set | one) & all;
        [&self.steps[step].within[..], &[Choice { decision: step, outcomes }]].concat()
    }
}

/// Whether no packet can meet both lists of choices.
pub(crate) fn exclusive(one: &[Choice], other: &[Choice]) -> bool {
    one.iter().any(|a| other.iter().any(|b| a.decision == b.decision && a.outcomes & b.outcomes == 0))
}

/// Outcomes of a hit or a miss after which this action ran. Actions beyond [`ACTIONS`] count as all actions.
fn ran(action: usize) -> Outcomes {
    if action >= ACTIONS { Outcomes::MAX } else { 1 << action | 1 << (ACTIONS + action) }
}

fn hit_outcomes(table: &Table) -> Outcomes {
    if table.keys.is_empty() {
        return 0;
    }
    let places = table.actions.iter().enumerate().filter(|(_, action)| !action.default_only);
    places.fold(0, |set, (place, _)| set | if place >= ACTIONS { Outcomes::MAX } else { 1 << place })
}

fn miss_outcomes(table: &Table) -> Outcomes {
    let default = table.default_action.action as usize;
    let can_miss = |place: usize, table_only: bool| if table.const_default { place == default } else { !table_only };
    let places = table.actions.iter().enumerate().filter(|(place, action)| can_miss(*place, action.table_only));
    places.fold(0, |set, (place, _)| set | if place >= ACTIONS { Outcomes::MAX } else { 1 << (ACTIONS + place) })
}

/// Whether the code behind these statements never runs after them.
fn leaves(body: &[Stmt]) -> bool {
    leaves_beyond(body, &mut Vec::new())
}

fn leaves_beyond(body: &[Stmt], inner: &mut Vec<Label>) -> bool {
    body.iter().any(|stmt| match &stmt.kind {
        StmtKind::Exit => true,
        StmtKind::Break(label) | StmtKind::Continue(label) => !inner.contains(label),
        StmtKind::If { then, otherwise, .. } => leaves_beyond(then, inner) && leaves_beyond(otherwise, inner),
        StmtKind::Block { label, body } => {
            inner.push(*label);
            let leaves = leaves_beyond(body, inner);
            inner.pop();
            leaves
        }
        _ => false,
    })
}
