// SPDX-License-Identifier: MIT OR Apache-2.0
//! Events that the interpreter records while a program is traced.

use marklab_p4::ir::{ActionId, BlockBody, HeaderId, HeaderRef, Place, SlotId, StateId, TableId, Target};
use num_bigint::BigUint;

use super::{Frame, Step};
use crate::table::Row;
use crate::{EntryHandle, Event, EventKind, FieldValue};

/// Whether a field of the architecture's metadata is shown at the start of a block. TNA's headers are shown where they
/// are extracted.
fn is_traced(name: &str) -> bool {
    ["standard_metadata.", "ig_intr_md_f", "eg_intr_md_f"].iter().any(|prefix| name.starts_with(prefix))
}

impl Frame<'_> {
    /// Records an event, which is built only if there is a trace.
    pub(super) fn note(&mut self, kind: impl FnOnce() -> EventKind) {
        if let Some(trace) = &mut self.state.trace {
            trace.push(Event { span: self.span, kind: kind() });
        }
    }

    fn traced(&self) -> bool {
        self.state.trace.is_some()
    }

    pub(super) fn note_block(&mut self) {
        if !self.traced() {
            return;
        }
        let block = self.block;
        let empty = matches!(&self.program.blocks[block.index()].body, BlockBody::Control(body) if body.is_empty());
        if empty {
            return;
        }
        let known = self.program.intrinsics.iter().filter(|(name, _)| is_traced(name));
        let values = known.map(|&(_, slot)| self.field_value(slot)).filter(|field| field.value != BigUint::ZERO);
        let metadata = values.collect();
        self.note(|| EventKind::Block { block, metadata });
    }

    pub(super) fn note_state(&mut self, state: StateId) {
        let block = self.block;
        self.note(|| EventKind::State { block, state });
    }

    pub(super) fn note_selected(&mut self, values: Vec<BigUint>, target: Target) {
        let block = self.block;
        self.note(|| EventKind::Selected { block, values, target });
    }

    /// Records an assignment. Locals are left out, since many of them come from the compiler.
    pub(super) fn note_assigned(&mut self, dst: &Place, value: &BigUint) -> Step {
        if self.traced()
            && let Some(slot) = self.resolve(dst)?
            && self.layout.field(slot).is_some()
        {
            let width = self.program.slots[slot.index()].ty.width;
            self.note(|| EventKind::Assigned(FieldValue { slot, width, value: value.clone() }));
        }
        Ok(())
    }

    pub(super) fn note_verified(&mut self, field: &Place, expected: &BigUint, found: &BigUint) -> Step {
        if self.traced()
            && let Some(slot) = self.resolve(field)?
        {
            self.note(|| EventKind::Verified { slot, expected: expected.clone(), found: found.clone() });
        }
        Ok(())
    }

    pub(super) fn note_validity(&mut self, header: &HeaderRef, valid: bool) -> Step {
        if self.traced()
            && let Some(header) = self.chosen(header)?
        {
            self.note(|| EventKind::Validity { header, valid });
        }
        Ok(())
    }

    pub(super) fn note_extracted(&mut self, header: &HeaderRef) -> Step {
        if self.traced()
            && let Some(header) = self.chosen(header)?
        {
            let fields = self.field_values(header);
            self.note(|| EventKind::Extracted { header, fields });
        }
        Ok(())
    }

    pub(super) fn note_emitted(&mut self, header: HeaderId) {
        if self.traced() {
            let fields = self.field_values(header);
            self.note(|| EventKind::Emitted { header, fields });
        }
    }

    /// `head` is the first word of the row found. The parameters of the action already have their values.
    pub(super) fn note_lookup(&mut self, table: TableId, key: Vec<BigUint>, head: u64, action: Option<ActionId>) {
        let entry = (head & Row::HIT != 0).then_some(EntryHandle((head >> 32) as u32));
        let params = action.map(|action| &self.program.actions[action.index()].params).into_iter().flatten();
        let args = params.map(|param| self.slot(param.slot)).collect();
        self.note(|| EventKind::LookedUp { table, key, entry, action, args });
    }

    /// The header that a run-time index chooses.
    fn chosen(&mut self, header: &HeaderRef) -> Step<Option<HeaderId>> {
        let element = self.element(header.index.as_ref())?;
        Ok(element.map(|element| HeaderId(header.header.0 + element)))
    }

    fn field_values(&self, header: HeaderId) -> Vec<FieldValue> {
        self.program.headers[header.index()].fields.iter().map(|&slot| self.field_value(slot)).collect()
    }

    fn field_value(&self, slot: SlotId) -> FieldValue {
        let spec = &self.program.slots[slot.index()];
        let width = match spec.varbit_width {
            None => spec.ty.width,
            Some(width) => u32::try_from(self.slot(width)).unwrap_or(0),
        };
        FieldValue { slot, width, value: self.slot(slot) }
    }
}
