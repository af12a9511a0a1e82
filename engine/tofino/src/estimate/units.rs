// SPDX-License-Identifier: MIT OR Apache-2.0
//! Logical tables of a control: tables that are applied, tables that p4c makes of statements, and gateways.

use marklab_p4::ir::{
    CounterId, ExternCall, FilterId, MeterId, ProfileId, Program, RegisterId, SlotId, Stmt, StmtKind, TableId, visit,
};
use marklab_p4::source::Span;

use crate::conditions::gateways;
use crate::fields::{Fields, read_all, uses};
use crate::flow::{Choice, Flow, What};

/// Kind of a logical table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    /// A table of the program.
    Table(TableId),
    /// Statements, as a table without a key.
    Statements,
    /// A condition, with its number of gateways.
    Condition(usize),
}

/// An object that is attached to a table, in the same stage.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Attached {
    Register(RegisterId),
    Counter(CounterId),
    Meter(MeterId),
    Filter(FilterId),
    Profile(ProfileId),
}

/// A logical table.
#[derive(Clone, Debug)]
pub(super) struct Unit {
    pub(super) kind: Kind,
    /// Control that the logical table belongs to.
    pub(super) flow: usize,
    /// First and last of its steps in the control.
    pub(super) steps: (usize, usize),
    pub(super) within: Vec<Choice>,
    /// Fields that must have their values before the look-up.
    pub(super) matches: Fields,
    /// Fields that its actions read.
    pub(super) reads: Fields,
    pub(super) writes: Fields,
    pub(super) attached: Vec<Attached>,
    /// Bits of the hash functions that it calculates.
    pub(super) hash_bits: u32,
    pub(super) span: Span,
}

/// The logical tables of a control, without the steps that are left out.
pub(super) fn units_of(program: &Program, number: usize, flow: &Flow<'_>, left_out: &[bool]) -> Vec<Unit> {
    let mut units: Vec<Unit> = Vec::new();
    let mut group: Option<Group<'_>> = None;
    for (place, step) in flow.steps.iter().enumerate().filter(|(place, _)| !left_out[*place]) {
        let new = |kind| Unit {
            kind,
            flow: number,
            steps: (place, place),
            within: step.within.clone(),
            matches: Fields::default(),
            reads: Fields::default(),
            writes: Fields::default(),
            attached: Vec::new(),
            hash_bits: 0,
            span: step.span,
        };
        if let What::Do(stmt) = step.what {
            let fresh = Group::new(program, stmt, new(Kind::Statements));
            match &mut group {
                Some(open) if open.takes(&fresh) => open.take(fresh),
                _ => units.extend(group.replace(fresh).map(|done| done.unit)),
            }
            continue;
        }
        units.extend(group.take().map(|open| open.unit));
        units.push(match step.what {
            What::Test { value, is_condition } => {
                let count = if is_condition { gateways(value).unwrap_or(1) } else { 1 };
                let mut unit = new(Kind::Condition(count));
                read_all(value, &mut unit.matches);
                unit
            }
            What::Apply(table) => applied(program, table, new(Kind::Table(table))),
            What::Do(_) => unreachable!("collected above"),
        });
    }
    units.extend(group.map(|open| open.unit));
    units
}

fn applied(program: &Program, id: TableId, mut unit: Unit) -> Unit {
    let table = &program.tables[id.index()];
    table.keys.iter().for_each(|key| read_all(&key.expr, &mut unit.matches));
    for entry in &table.actions {
        let action = &program.actions[entry.action.index()];
        uses(program, &action.body, &mut unit.reads, &mut unit.writes);
        attach(program, &action.body, &mut unit);
    }
    unit.attached.extend(table.direct_counter.map(Attached::Counter));
    unit.attached.extend(table.direct_meter.map(Attached::Meter));
    unit.attached.extend(table.profile.map(Attached::Profile));
    unit.attached.sort_unstable();
    unit.attached.dedup();
    unit
}

/// Adds the objects and hashes of statements.
fn attach(program: &Program, body: &[Stmt], unit: &mut Unit) {
    visit::statements(body, &mut |stmt| {
        let StmtKind::Extern(call) = &stmt.kind else { return };
        unit.attached.extend(match call {
            ExternCall::RegisterRead { register, .. } | ExternCall::RegisterWrite { register, .. } => {
                Some(Attached::Register(*register))
            }
            ExternCall::ExecuteRegister { action, .. } => {
                Some(Attached::Register(program.register_actions[action.index()].register))
            }
            ExternCall::Count { counter, .. } => Some(Attached::Counter(*counter)),
            ExternCall::ExecuteMeter { meter, .. } => Some(Attached::Meter(*meter)),
            ExternCall::Filter { filter, .. } => Some(Attached::Filter(*filter)),
            ExternCall::DirectCount { .. }
            | ExternCall::DirectMeterRead { .. }
            | ExternCall::Math { .. }
            | ExternCall::ChecksumAdd { .. }
            | ExternCall::Random { .. }
            | ExternCall::Hash { .. }
            | ExternCall::VerifyChecksum(_)
            | ExternCall::UpdateChecksum(_)
            | ExternCall::MarkToDrop
            | ExternCall::Request(_) => None,
        });
        if let ExternCall::Hash { dst, .. } = call {
            unit.hash_bits += program.slots[dst.slot.index()].ty.width;
        }
        // Inputs of hashes and of stateful ALUs go through the crossbar of matches.
        if matches!(call, ExternCall::Hash { .. } | ExternCall::ExecuteRegister { .. }) {
            uses(program, std::slice::from_ref(stmt), &mut unit.matches, &mut Fields::default());
        }
    });
}

/// Statements that p4c puts into one action (`bf-p4c/midend/action_synthesis_policy.h`): none reads or writes a field
/// that another one writes, except for the result of a hash, and at most one of them uses an extern other than a hash.
struct Group<'a> {
    unit: Unit,
    statements: Vec<&'a Stmt>,
    /// Results of hashes, which are available in the same step.
    hashes: Vec<SlotId>,
}

impl<'a> Group<'a> {
    fn new(program: &'a Program, stmt: &'a Stmt, mut unit: Unit) -> Group<'a> {
        let alone = std::slice::from_ref(stmt);
        uses(program, alone, &mut unit.reads, &mut unit.writes);
        attach(program, alone, &mut unit);
        let hashes = match &stmt.kind {
            StmtKind::Extern(ExternCall::Hash { dst, .. }) => vec![dst.slot],
            _ => Vec::new(),
        };
        Group { unit, statements: vec![stmt], hashes }
    }

    /// Adds other statements.
    fn take(&mut self, other: Group<'a>) {
        self.unit.reads.extend(&other.unit.reads);
        self.unit.writes.extend(&other.unit.writes);
        self.unit.attached.extend(other.unit.attached);
        self.unit.attached.dedup();
        self.unit.hash_bits += other.unit.hash_bits;
        self.unit.steps.1 = other.unit.steps.1;
        self.statements.extend(other.statements);
        self.hashes.extend(other.hashes);
    }

    /// Whether other statements can join.
    fn takes(&self, other: &Group<'_>) -> bool {
        if self.unit.within != other.unit.within {
            return false;
        }
        // Statements made from one statement of the source have the same place in it.
        if self.statements.last().is_some_and(|last| last.span == other.unit.span) {
            return true;
        }
        let slots = |fields: &Fields| fields.slots().collect::<Vec<_>>();
        let written = slots(&self.unit.writes);
        let touched = slots(&other.unit.reads).into_iter().chain(slots(&other.unit.writes));
        let depends = touched.into_iter().any(|slot| written.contains(&slot) && !self.hashes.contains(&slot));
        let externs = uses_extern(&self.statements) && uses_extern(&other.statements);
        reads_then_writes(&self.statements, &other.statements) || !depends && !externs
    }
}

fn uses_extern(statements: &[&Stmt]) -> bool {
    statements.iter().any(|stmt| match &stmt.kind {
        StmtKind::Extern(call) => !matches!(call, ExternCall::Hash { .. }),
        _ => false,
    })
}

/// A register that is read and then written is accessed once.
fn reads_then_writes(first: &[&Stmt], second: &[&Stmt]) -> bool {
    let read = first.iter().rev().find_map(|stmt| match &stmt.kind {
        StmtKind::Extern(ExternCall::RegisterRead { register, .. }) => Some(*register),
        _ => None,
    });
    let write = second.iter().find_map(|stmt| match &stmt.kind {
        StmtKind::Extern(ExternCall::RegisterWrite { register, .. }) => Some(*register),
        _ => None,
    });
    read.is_some() && read == write
}
