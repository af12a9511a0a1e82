// SPDX-License-Identifier: MIT OR Apache-2.0
//! Rules of all architectures, checked on the lowered program.

use std::collections::hash_map::Entry;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::diagnostics::Problem;
use crate::ir::{ExternCall, MatchKind, MeterId, StmtKind, visit};
use crate::lower::Lowerer;

/// Checks that headers are whole bytes.
pub(super) fn header_widths(lowerer: &mut Lowerer<'_>) {
    for (ty, header) in lowerer.header_types.clone() {
        let decl = lowerer.program.fields(ty);
        let (name, span) = (decl.name.clone(), decl.span);
        let fields = &lowerer.out.headers[header.index()].fields;
        let bits: u32 = fields.iter().map(|slot| lowerer.out.slots[slot.index()].ty.width).sum();
        if !bits.is_multiple_of(8) {
            let problem = Problem::HeaderBits { name, bits };
            lowerer.diagnostics.error(span, problem).help("add a padding field");
        }
    }
}

/// Checks that a table has at most one `lpm` key, and that a direct meter has a table, one of whose actions reads it.
pub(super) fn tables(lowerer: &mut Lowerer<'_>) {
    let mut found = Vec::new();
    for table in &lowerer.out.tables {
        if table.keys.iter().filter(|key| key.kind == MatchKind::Lpm).count() > 1 {
            found.push((table.span, Problem::TwoLpmKeys { table: table.name.as_str().into() }));
        }
        let Some(meter) = table.direct_meter else { continue };
        let actions = table.actions.iter().map(|entry| &lowerer.out.actions[entry.action.index()]);
        if !actions
            .into_iter()
            .any(|action| visit::any_statement([&action.body[..]], &|stmt| read_meter(stmt) == Some(meter)))
        {
            found.push((table.span, Problem::MeterUnread { table: table.name.as_str().into() }));
        }
    }
    let attached: FxHashSet<MeterId> = lowerer.out.tables.iter().filter_map(|table| table.direct_meter).collect();
    let mut used = FxHashSet::default();
    for action in &lowerer.out.actions {
        visit::statements(&action.body, &mut |stmt| used.extend(read_meter(&stmt.kind)));
    }
    for (index, meter) in lowerer.out.meters.iter().enumerate() {
        let id = MeterId(index as u32);
        if used.contains(&id) && !attached.contains(&id) {
            let span = lowerer.meter_spans.get(index).copied().unwrap_or_default();
            found.push((span, Problem::MeterUnattached { meter: meter.name.as_str().into() }));
        }
    }
    for (span, problem) in found {
        lowerer.diagnostics.error(span, problem);
    }
}

/// Reports two tables or two actions with the same name: the control plane cannot distinguish them.
pub(super) fn duplicate_names(lowerer: &mut Lowerer<'_>) {
    let mut found = Vec::new();
    let mut first = FxHashMap::default();
    for table in &lowerer.out.tables {
        // Also for one declaration, if its control is instantiated twice and its name is global.
        match first.entry(&table.name) {
            Entry::Occupied(first) => found.push((table.span, *first.get(), "tables", table.name.clone())),
            Entry::Vacant(place) => drop(place.insert(table.span)),
        }
    }
    first.clear();
    for action in &lowerer.out.actions {
        // An action occurs once for each table that runs it.
        let first = *first.entry(&action.name).or_insert(action.span);
        if first != action.span {
            found.push((action.span, first, "actions", action.name.clone()));
        }
    }
    for (span, first, what, name) in found {
        let problem = Problem::SameName { what, name: name.into() };
        let entry = lowerer.diagnostics.error(span, problem);
        match first == span {
            true => entry.help("its control is instantiated twice: remove the dot at the start of `@name`").done(),
            false => entry.label(first, "the other one").help("give one of them another `@name`").done(),
        }
    }
}

/// The direct meter that a statement reads.
fn read_meter(stmt: &StmtKind) -> Option<MeterId> {
    match stmt {
        StmtKind::Extern(ExternCall::DirectMeterRead { meter, .. }) => Some(*meter),
        _ => None,
    }
}
