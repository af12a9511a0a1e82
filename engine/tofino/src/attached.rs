// SPDX-License-Identifier: MIT OR Apache-2.0
//! Objects that are attached to a table: the registers, meters and selectors of a table share one address, and its
//! counters share another (p4c's `bf-p4c/mau/attached_info.cpp`, and `SetupAttachedAddressing` in
//! `bf-p4c/mau/instruction_selection.cpp`).

use marklab_p4::ir::{
    Action, CounterId, Expr, ExprKind, ExternCall, FilterId, MeterId, Program, RegisterActionId, RegisterId, SlotId,
    Stmt, StmtKind, Table, TableAction, visit,
};
use marklab_p4::source::Span;

use crate::access::{is_plain, same};
use crate::findings::{Findings, label};
use crate::limit::Limit;

/// Address of an object: the counters of a table have one address, all other objects share another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Address {
    Counters,
    Others,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Object {
    Register(RegisterId),
    Counter(CounterId),
    Meter(MeterId),
    Filter(FilterId),
}

impl Object {
    fn address(self) -> Address {
        if matches!(self, Object::Counter(_)) { Address::Counters } else { Address::Others }
    }

    fn name(self, program: &Program) -> &str {
        match self {
            Object::Register(id) => &program.registers[id.index()].name,
            Object::Counter(id) => &program.counters[id.index()].name,
            Object::Meter(id) => &program.meters[id.index()].name,
            Object::Filter(id) => &program.filters[id.index()].name,
        }
    }

    /// Whether both can share an address: they must be of one kind, and registers of one width.
    fn goes_with(self, other: Object, program: &Program) -> bool {
        let is_direct = |counter: CounterId| program.counters[counter.index()].size.is_none();
        match (self, other) {
            (Object::Register(one), Object::Register(other)) => {
                program.registers[one.index()].parts == program.registers[other.index()].parts
            }
            (Object::Counter(one), Object::Counter(other)) => is_direct(one) == is_direct(other),
            (Object::Meter(one), Object::Meter(other)) => {
                program.meters[one.index()].size.is_none() == program.meters[other.index()].size.is_none()
            }
            // A filter is a kind of meter.
            (Object::Filter(_), Object::Filter(_)) => true,
            (Object::Meter(meter), Object::Filter(_)) | (Object::Filter(_), Object::Meter(meter)) => {
                program.meters[meter.index()].size.is_some()
            }
            _ => false,
        }
    }
}

/// A use of an object by an action.
struct Use<'a> {
    object: Object,
    /// `None` for direct objects.
    index: Option<&'a Expr>,
    /// The register action, if there is one.
    action: Option<RegisterActionId>,
    span: Span,
}

/// An action of a table, with the objects that it uses.
struct Part<'a> {
    entry: &'a TableAction,
    action: &'a Action,
    uses: Vec<Use<'a>>,
}

/// Checks all tables.
pub(crate) fn check(program: &Program, findings: &mut Findings) {
    for table in &program.tables {
        let parts: Vec<Part<'_>> = table
            .actions
            .iter()
            .map(|entry| {
                let action = &program.actions[entry.action.index()];
                Part { entry, action, uses: uses_of(program, &action.body) }
            })
            .collect();
        let objects = objects_of(&parts);
        one_kind(program, table, &objects, findings);
        all_or_none(program, &parts, &objects, findings);
        one_index(program, &parts, findings);
        in_every_action(program, table, &parts, &objects, findings);
    }
}

/// Uses of objects in the statements of an action. An index that is a copy is replaced by its source.
fn uses_of<'a>(program: &'a Program, body: &'a [Stmt]) -> Vec<Use<'a>> {
    let mut uses: Vec<Use<'a>> = Vec::new();
    let mut copies: Vec<(SlotId, &'a Expr)> = Vec::new();
    visit::statements(body, &mut |stmt| {
        if let StmtKind::Assign { dst, src } = &stmt.kind
            && is_plain(src)
        {
            copies.push((dst.slot, original(&copies, src)));
        }
        let StmtKind::Extern(call) = &stmt.kind else { return };
        let found = match call {
            ExternCall::RegisterRead { register, index, .. } | ExternCall::RegisterWrite { register, index, .. } => {
                Some((Object::Register(*register), Some(index), None))
            }
            ExternCall::ExecuteRegister { action, index, .. } => {
                let register = program.register_actions[action.index()].register;
                Some((Object::Register(register), Some(index), Some(*action)))
            }
            ExternCall::Count { counter, index } => Some((Object::Counter(*counter), Some(index), None)),
            ExternCall::DirectCount { counter } => Some((Object::Counter(*counter), None, None)),
            ExternCall::ExecuteMeter { meter, index, .. } => Some((Object::Meter(*meter), Some(index), None)),
            ExternCall::DirectMeterRead { meter, .. } => Some((Object::Meter(*meter), None, None)),
            ExternCall::Filter { filter, index, .. } => Some((Object::Filter(*filter), Some(index), None)),
            ExternCall::Math { .. }
            | ExternCall::ChecksumAdd { .. }
            | ExternCall::Random { .. }
            | ExternCall::Hash { .. }
            | ExternCall::VerifyChecksum(_)
            | ExternCall::UpdateChecksum(_)
            | ExternCall::MarkToDrop
            | ExternCall::Request(_) => None,
        };
        uses.extend(found.map(|(object, index, action)| {
            let index = index.map(|index| original(&copies, index));
            Use { object, index, action, span: stmt.span }
        }));
    });
    uses
}

/// The source of a copy; other expressions are returned as they are.
fn original<'a>(copies: &[(SlotId, &'a Expr)], expr: &'a Expr) -> &'a Expr {
    let ExprKind::Load(place) = &expr.kind else { return expr };
    copies.iter().rev().find(|(slot, _)| *slot == place.slot).map_or(expr, |(_, source)| source)
}

/// All objects of a table, each with its first use.
fn objects_of(parts: &[Part<'_>]) -> Vec<(Object, Span)> {
    let mut objects: Vec<(Object, Span)> = Vec::new();
    for one in parts.iter().flat_map(|part| &part.uses) {
        if !objects.iter().any(|(object, _)| *object == one.object) {
            objects.push((one.object, one.span));
        }
    }
    objects
}

/// Checks that objects that share an address are of one kind (`ValidateAttachedOfSingleTable::compatible`). A selector
/// is a kind of its own.
fn one_kind(program: &Program, table: &Table, objects: &[(Object, Span)], findings: &mut Findings) {
    for (place, (object, span)) in objects.iter().enumerate() {
        let same_address = |other: &&(Object, Span)| other.0.address() == object.address();
        if let Some((other, first)) =
            objects[..place].iter().filter(same_address).find(|(other, _)| !object.goes_with(*other, program))
        {
            let (one, two) = (other.name(program).to_string(), object.name(program).to_string());
            let problem = Limit::MixedObjects { table: table.name.clone(), one, other: two };
            findings.report_with(*span, problem, vec![label(*first, "the other one")]);
        }
        let selector = table.profile.map(|id| &program.profiles[id.index()]).filter(|one| one.selector.is_some());
        if let Some(selector) = selector
            && object.address() == Address::Others
        {
            let (one, two) = (selector.name.clone(), object.name(program).to_string());
            findings.report(*span, Limit::MixedObjects { table: table.name.clone(), one, other: two });
        }
    }
}

/// Checks that an action that uses one of the objects that share an address uses all of them (`ScanTables`). Actions
/// that run only on a miss are exempt.
fn all_or_none(program: &Program, parts: &[Part<'_>], objects: &[(Object, Span)], findings: &mut Findings) {
    for part in parts.iter().filter(|part| !part.entry.default_only) {
        for used in &part.uses {
            let shares = |other: &&(Object, Span)| {
                other.0.address() == used.object.address() && used.object.goes_with(other.0, program)
            };
            let unused =
                objects.iter().filter(shares).find(|(other, _)| !part.uses.iter().any(|one| one.object == *other));
            if let Some((unused, elsewhere)) = unused {
                let problem = Limit::NotAllObjects {
                    action: part.action.name.clone(),
                    used: used.object.name(program).to_string(),
                    unused: unused.name(program).to_string(),
                };
                findings.report_with(used.span, problem, vec![label(*elsewhere, "used by another action")]);
            }
        }
    }
}

/// Checks that all actions of a table use the same index for an object, and that each action uses one index for objects
/// that share an address. Indices from the entry can differ (`setup_index_operand`, `ScanTables`).
fn one_index(program: &Program, parts: &[Part<'_>], findings: &mut Findings) {
    let mut known: Vec<(Object, Span, &Expr)> = Vec::new();
    for part in parts {
        for (place, one) in part.uses.iter().enumerate() {
            let Some(index) = one.index else { continue };
            let shares = |other: &&Use<'_>| other.object != one.object && one.object.goes_with(other.object, program);
            let differs = |other: &&Use<'_>| other.index.is_some_and(|other| !same(index, other));
            if let Some(other) = part.uses[..place].iter().filter(shares).find(differs) {
                let object = one.object.name(program).to_string();
                findings.report_with(
                    one.span,
                    Limit::IndexDiffers { object },
                    vec![label(other.span, "the other index")],
                );
            }
            if !from_packet(index, part.action) {
                continue;
            }
            match known.iter().find(|(other, ..)| *other == one.object) {
                Some((_, first, other)) if !same(index, other) => {
                    let object = one.object.name(program).to_string();
                    let labels = vec![label(*first, "a different index here")];
                    findings.report_with(one.span, Limit::IndexDiffers { object }, labels);
                }
                Some(_) => {}
                None => known.push((one.object, one.span, index)),
            }
        }
    }
}

/// Whether an index comes from the packet: it is neither a constant nor from an entry.
fn from_packet(index: &Expr, action: &Action) -> bool {
    let mut of_entry = matches!(index.kind, ExprKind::Const(_));
    visit::loads(index, &mut |slot| of_entry |= action.params.iter().any(|param| param.slot == slot));
    !of_entry && is_plain(index)
}

/// Checks that every action uses the objects that no entry can enable, and in the same way. These are direct objects,
/// and objects with an index from the packet in a table without a key (`VerifyAttached`).
fn in_every_action(
    program: &Program,
    table: &Table,
    parts: &[Part<'_>],
    objects: &[(Object, Span)],
    findings: &mut Findings,
) {
    for (object, span) in objects {
        let uses = || parts.iter().flat_map(|part| part.uses.iter().map(move |one| (part, one)));
        let mine = || uses().filter(|(_, one)| one.object == *object);
        let always = mine().any(|(part, one)| match one.index {
            None => true,
            Some(index) => table.keys.is_empty() && from_packet(index, part.action),
        });
        if !always {
            continue;
        }
        let hit = parts.iter().filter(|part| !part.entry.default_only);
        let without = hit.into_iter().find(|part| !part.uses.iter().any(|one| one.object == *object));
        let first = mine().next().and_then(|(_, one)| one.action);
        let differs = mine().any(|(_, one)| one.action != first);
        if without.is_some() || differs {
            let problem = Limit::NotEveryAction { object: object.name(program).to_string(), table: table.name.clone() };
            let labels = without.map(|part| label(part.action.span, "does not use it")).into_iter().collect();
            findings.report_with(*span, problem, labels);
        }
    }
}
