// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tables: the key, the row that applies, and its action.

use std::mem::offset_of;

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, InstBuilder, Value, types};
use cranelift_frontend::Switch;
use marklab_p4::ir::{SlotId, TableId};

use super::context::{self, Context, TableView};
use super::generator::Generator;
use super::shapes::{is_wide, value_type};
use super::{Result, backend};
use crate::table::{KeyShape, MULTIPLIER, Recent, Row, SHIFT, compared_keys};
use crate::words::words_for;

impl Generator<'_, '_> {
    /// Looks up a table and runs the action found. Returns false if control never reaches the code behind it.
    pub(super) fn apply(&mut self, id: TableId, hit: Option<SlotId>, action_run: Option<SlotId>) -> Result<bool> {
        let spec = &self.program.tables[id.index()];
        let tables = self.load_context(offset_of!(Context, tables));
        let view = size_of::<TableView>() * id.index();
        let mut field = |offset| self.b.ins().load(types::I64, self.regions.context, tables, (view + offset) as i32);
        let table = field(offset_of!(TableView, table));
        let direct = field(offset_of!(TableView, direct));
        let row = self.look_up(table, direct, id)?;
        let head = self.b.ins().load(types::I64, self.regions.rows, row, 0);
        if spec.direct_counter.is_some() {
            let bytes = self.arrival_bytes();
            self.call(&context::COUNT_HIT, &[table, head, bytes])?;
        }
        if let Some(slot) = hit {
            let shifted = self.b.ins().ushr_imm_u(head, i64::from(Row::HIT.trailing_zeros()));
            let bit = self.b.ins().band_imm_u(shifted, 1);
            self.write_slot(slot, bit);
        }
        self.colour = None;
        if spec.direct_meter.is_some() {
            self.meter_hit(id, table, head)?;
        }
        let (row, head) = match spec.profile {
            None => (row, head),
            Some(_) => {
                let row = self.resolve(id, table, row)?;
                (row, self.b.ins().load(types::I64, self.regions.rows, row, 0))
            }
        };
        let action = self.b.ins().band_imm_u(head, Row::ACTION as i64);
        if let Some(slot) = action_run {
            self.write_slot(slot, action);
        }
        self.dispatch(id, action, row)
    }

    /// The row that applies. A table without keys has only one; other tables are searched.
    fn look_up(&mut self, table: Value, direct: Value, id: TableId) -> Result<Value> {
        let spec = &self.program.tables[id.index()];
        let shape = KeyShape::new(spec);
        let values = compared_keys(spec).map(|key| self.eval(&key.expr)).collect::<Result<Vec<Value>>>()?;
        match shape.words {
            0 => Ok(direct),
            1 => {
                let word = self.key_word(&shape, &values);
                self.look_up_word(table, direct, word, Row::words(self.program, spec))
            }
            words => {
                let address = self.key_in_memory(&shape, &values)?;
                let words = self.iconst(words as i64);
                self.call_value(&context::LOOKUP, &[table, address, words])
            }
        }
    }

    /// The one-word key whose components have these values.
    fn key_word(&mut self, shape: &KeyShape, values: &[Value]) -> Value {
        let mut word = self.iconst(0);
        for (part, &value) in shape.parts.iter().zip(values) {
            let placed = self.shift_left_by(value, part.shift);
            word = self.b.ins().bor(word, placed);
        }
        word
    }

    /// Address of the words of a key whose components have these values.
    pub(super) fn key_in_memory(&mut self, shape: &KeyShape, values: &[Value]) -> Result<Value> {
        let address = self.fresh(shape.words.max(1) as u32 * 8);
        if shape.words == 1 {
            let word = self.key_word(shape, values);
            self.b.ins().store(self.regions.stack, word, address, 0);
            return Ok(address);
        }
        for (part, &value) in shape.parts.iter().zip(values) {
            if is_wide(part.width) {
                let target = self.b.ins().iadd_imm_u(address, part.word as i64 * 8);
                let bytes = self.iconst(part.words as i64 * 8);
                self.call(&context::COPY, &[target, value, bytes])?;
            } else {
                self.b.ins().store(self.regions.stack, value, address, part.word as i32 * 8);
            }
        }
        Ok(address)
    }

    /// The row for a one-word key: the one found recently, or else the result of a call.
    fn look_up_word(&mut self, table: Value, places: Value, key: Value, row_words: usize) -> Result<Value> {
        let bytes = Recent::words(row_words) * size_of::<u64>();
        let multiplier = self.iconst(MULTIPLIER as i64);
        let product = self.b.ins().imul(key, multiplier);
        let place = self.b.ins().ushr_imm_u(product, i64::from(SHIFT));
        let offset = self.b.ins().ishl_imm_u(place, i64::from(bytes.trailing_zeros()));
        let recent = self.b.ins().iadd(places, offset);
        let held = self.b.ins().load(types::I64, self.regions.rows, recent, 0);
        let row = self.b.ins().iadd_imm_u(recent, (Recent::ROW * size_of::<u64>()) as i64);
        let other = self.b.ins().icmp(IntCC::NotEqual, held, key);
        let (search, found) = (self.b.create_block(), self.b.create_block());
        self.b.append_block_param(found, types::I64);
        self.b.set_cold_block(search);
        self.b.ins().brif(other, search, &[], found, &[row.into()]);
        self.b.switch_to_block(search);
        let searched = self.call_value(&context::LOOKUP_WORD, &[table, key])?;
        self.b.ins().jump(found, &[searched.into()]);
        self.b.switch_to_block(found);
        Ok(self.b.block_params(found)[0])
    }

    /// Runs the action with this index, with the parameters in a row.
    fn dispatch(&mut self, id: TableId, action: Value, row: Value) -> Result<bool> {
        let spec = &self.program.tables[id.index()];
        let actions = &spec.actions;
        self.count_statements(actions.len(), spec.span)?;
        let after = self.b.create_block();
        let blocks: Vec<Block> = actions.iter().map(|_| self.b.create_block()).collect();
        let (last, others) = match (spec.profile, blocks.split_last()) {
            // Possibly no action runs.
            (Some(_), _) => (after, &blocks[..]),
            (None, Some((&last, others))) => (last, others),
            (None, None) => return Err(backend("a table without actions")),
        };
        let mut switch = Switch::new();
        for (index, &block) in others.iter().enumerate() {
            switch.set_entry(index as u128, block);
        }
        switch.emit(&mut self.b, action, last);
        let mut reached = spec.profile.is_some();
        for (action, &block) in actions.iter().zip(&blocks) {
            self.b.switch_to_block(block);
            let action = &self.program.actions[action.action.index()];
            let mut at = Row::ARGS as i32 * 8;
            for param in &action.params {
                let value = match is_wide(param.ty.width) {
                    true => self.b.ins().iadd_imm_u(row, i64::from(at)),
                    false => self.b.ins().load(value_type(param.ty.width), self.regions.rows, row, at),
                };
                self.write_slot(param.slot, value);
                at += words_for(param.ty.width) as i32 * 8;
            }
            reached |= self.branch(&action.body, after)?;
        }
        self.b.switch_to_block(after);
        Ok(self.reachable(reached))
    }
}
