// SPDX-License-Identifier: MIT OR Apache-2.0
//! Statements that are still in the IR, but that p4c removes before it makes tables of statements.

use marklab_p4::ir::{Class, Expr, ExprKind, Program, SlotId, Stmt, StmtKind, visit};
use marklab_p4::source::SourceMap;
use rustc_hash::FxHashMap;

use crate::fields::{Fields, read_all, uses};
use crate::flow::{Choice, Flow, What, exclusive};

/// Slots that are the same variable: parameters of controls and their arguments. p4c replaces the parameter by the
/// argument; our front end copies it where arguments overlap.
#[derive(Default, Debug)]
pub(super) struct Aliases(FxHashMap<SlotId, SlotId>);

impl Aliases {
    /// The slot that stands for all slots of the same variable.
    pub(super) fn of(&self, slot: SlotId) -> SlotId {
        let mut slot = slot;
        while let Some(next) = self.0.get(&slot) {
            slot = *next;
        }
        slot
    }

    fn join(&mut self, one: SlotId, other: SlotId) {
        let (one, other) = (self.of(one), self.of(other));
        if one != other {
            self.0.insert(one.max(other), one.min(other));
        }
    }
}

/// Aliases from the copies for parameters in all controls.
pub(super) fn aliases(sources: &SourceMap, flows: &[Flow<'_>]) -> Aliases {
    let mut aliases = Aliases::default();
    for flow in flows {
        for step in &flow.steps {
            if let What::Do(stmt) = step.what
                && let Some((to, from)) = parameter_copy(sources, stmt)
            {
                aliases.join(to, from);
            }
        }
    }
    aliases
}

/// Target and source of a copy for a parameter; its place in the source is the application of a control.
fn parameter_copy(sources: &SourceMap, stmt: &Stmt) -> Option<(SlotId, SlotId)> {
    let StmtKind::Assign { dst, src: Expr { kind: ExprKind::Load(from), .. } } = &stmt.kind else { return None };
    let text = &sources.file(stmt.span.file).text;
    let text = text.get(stmt.span.start as usize..stmt.span.end as usize)?;
    (dst.index.is_none() && from.index.is_none() && text.contains(".apply(")).then_some((dst.slot, from.slot))
}

/// For each step of a control, whether p4c removes it: copies for parameters, and assignments that are never read.
pub(super) fn left_out(program: &Program, sources: &SourceMap, flow: &Flow<'_>, after: &Fields) -> Vec<bool> {
    let step = |place: usize| match flow.steps[place].what {
        What::Do(stmt) => parameter_copy(sources, stmt).is_some() || is_dead(program, flow, place, stmt, after),
        _ => false,
    };
    (0..flow.steps.len()).map(step).collect()
}

/// Whether the value of an assignment is overwritten before any step reads it, or is never read.
fn is_dead(program: &Program, flow: &Flow<'_>, place: usize, stmt: &Stmt, after: &Fields) -> bool {
    let StmtKind::Assign { dst, .. } = &stmt.kind else { return false };
    if dst.index.is_some() {
        return false;
    }
    let within = &flow.steps[place].within;
    for later in &flow.steps[place + 1..] {
        if exclusive(within, &later.within) {
            continue;
        }
        let (reads, certain) = read_and_written(program, later.what);
        if reads.contains(dst.slot) {
            return false;
        }
        if certain.contains(&dst.slot) && follows(within, &later.within) {
            return true;
        }
    }
    !after.contains(dst.slot)
}

/// Whether every packet that meets the choices `one` also meets `other`: these have no further choice.
fn follows(one: &[Choice], other: &[Choice]) -> bool {
    other.iter().all(|choice| one.contains(choice))
}

/// Fields that a step reads, and the slots that it always writes.
fn read_and_written(program: &Program, what: What<'_>) -> (Fields, Vec<SlotId>) {
    let mut reads = Fields::default();
    let mut certain = Vec::new();
    match what {
        What::Test { value, .. } => read_all(value, &mut reads),
        What::Do(stmt) => {
            uses(program, std::slice::from_ref(stmt), &mut reads, &mut Fields::default());
            certain.extend(whole_destination(stmt));
        }
        What::Apply(id) => {
            let table = &program.tables[id.index()];
            table.keys.iter().for_each(|key| read_all(&key.expr, &mut reads));
            for (place, entry) in table.actions.iter().enumerate() {
                let body = &program.actions[entry.action.index()].body;
                uses(program, body, &mut reads, &mut Fields::default());
                let here: Vec<SlotId> = body.iter().filter_map(whole_destination).collect();
                if place == 0 {
                    certain = here;
                } else {
                    certain.retain(|slot| here.contains(slot));
                }
            }
        }
    }
    (reads, certain)
}

/// The slot that a statement writes as a whole.
fn whole_destination(stmt: &Stmt) -> Option<SlotId> {
    let place = visit::destination(stmt)?;
    place.index.is_none().then_some(place.slot)
}

/// Fields that are read after the control: fields of headers, intrinsic metadata, and fields that the deparser reads.
pub(super) fn read_after(program: &Program, deparser: &[Stmt]) -> Fields {
    let mut after = Fields::default();
    uses(program, deparser, &mut after, &mut Fields::default());
    let in_header = program.headers.iter().flat_map(|header| header.fields.iter().chain([&header.valid]));
    let intrinsic = program.intrinsics.iter().map(|(_, slot)| slot);
    for slot in in_header.chain(intrinsic) {
        if matches!(program.slots[slot.index()].class, Class::Packet) {
            after.add(*slot, u128::MAX);
        }
    }
    after
}
