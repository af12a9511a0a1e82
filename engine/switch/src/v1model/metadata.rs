// SPDX-License-Identifier: MIT OR Apache-2.0
//! Metadata that a packet keeps when it is copied or starts again.

use std::collections::{BTreeMap, BTreeSet};

use marklab_p4::ir::{Class, ExternCall, Program, Request, SlotId, StmtKind, visit};
use marklab_pipeline::{Field, Layout, Phv};

/// Metadata of a program: all fields of a packet state that are not part of headers.
#[derive(Debug)]
pub(super) struct Metadata {
    fields: Vec<Field>,
    /// Members of each field list, by its number.
    lists: BTreeMap<u32, Vec<Field>>,
}

impl Metadata {
    pub(super) fn new(program: &Program, layout: &Layout) -> Metadata {
        let headers = header_slots(program);
        let is_metadata =
            |slot: &SlotId| program.slots[slot.index()].class == Class::Packet && !headers.contains(&slot.index());
        let slots = (0..program.slots.len() as u32).map(SlotId).filter(is_metadata);
        let members = |list| program.field_list(list).filter_map(|slot| layout.field(slot)).collect();
        Metadata {
            fields: slots.filter_map(|slot| layout.field(slot)).collect(),
            lists: field_lists(program).into_iter().map(|list| (list, members(list))).collect(),
        }
    }

    /// Sets all metadata to 0.
    pub(super) fn clear(&self, phv: &mut Phv) {
        self.fields.iter().for_each(|&field| phv.clear_field(field));
    }

    /// Copies the members of a field list.
    pub(super) fn keep(&self, list: Option<u32>, from: &Phv, to: &mut Phv) {
        let members = list.and_then(|list| self.lists.get(&list));
        members.into_iter().flatten().for_each(|&field| to.copy_field(from, field));
    }
}

/// Slots of headers: validity, fields, widths of `varbit`s, and the parser's place in stacks.
fn header_slots(program: &Program) -> BTreeSet<usize> {
    let fields = program.headers.iter().flat_map(|header| header.fields.iter().chain([&header.valid]));
    let widths = program.slots.iter().filter_map(|slot| slot.varbit_width.as_ref());
    let stacks = program.stacks.iter().map(|stack| &stack.next_index);
    fields.chain(widths).chain(stacks).map(|slot| slot.index()).collect()
}

/// Numbers of the field lists that calls name.
fn field_lists(program: &Program) -> BTreeSet<u32> {
    let mut lists = BTreeSet::new();
    for body in visit::bodies(&program.blocks, &program.actions, &program.register_actions) {
        visit::statements(body, &mut |stmt| {
            if let StmtKind::Extern(ExternCall::Request(
                Request::Clone { field_list: Some(list), .. }
                | Request::Resubmit { field_list: list }
                | Request::Recirculate { field_list: list },
            )) = &stmt.kind
            {
                lists.insert(*list);
            }
        });
    }
    lists
}
