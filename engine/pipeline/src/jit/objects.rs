// SPDX-License-Identifier: MIT OR Apache-2.0
//! Meters, filters, action profiles and value sets. They run in Rust, and generated code uses the results.

use std::mem::offset_of;

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value};
use marklab_p4::ir::{Expr, FilterId, MeterId, Place, TableId, Ty, ValueSetId};

use super::Result;
use super::context::{self, Context, NO_COLOUR};
use super::generator::Generator;
use crate::meter::colour_places;
use crate::profile::selection;
use crate::table::KeyShape;

impl Generator<'_, '_> {
    pub(super) fn execute_meter(&mut self, meter: MeterId, dst: &Place, index: &Expr) -> Result<()> {
        let (number, index, bytes) = (self.iconst(meter.0.into()), self.number(index)?, self.arrival_bytes());
        let colour = self.call_value(&context::EXECUTE_METER, &[self.context, number, index, bytes])?;
        self.store_colour(std::slice::from_ref(dst), colour)
    }

    pub(super) fn filter(&mut self, filter: FilterId, dst: &Place, value: &Expr, index: &Expr) -> Result<()> {
        let (number, value, index) = (self.iconst(filter.0.into()), self.number(value)?, self.number(index)?);
        let exists = self.call_value(&context::FILTER, &[self.context, number, index, value])?;
        let after = self.when(exists);
        let value = self.load_context(offset_of!(Context, drawn));
        self.store_number(dst, value)?;
        self.b.ins().jump(after, &[]);
        self.b.switch_to_block(after);
        Ok(())
    }

    /// Runs the direct meter of the entry whose row has this first word, and stores the colour.
    pub(super) fn meter_hit(&mut self, id: TableId, table: Value, head: Value) -> Result<()> {
        let bytes = self.arrival_bytes();
        let colour = self.call_value(&context::METER_HIT, &[self.context, table, head, bytes])?;
        self.colour = Some(colour);
        self.store_colour(&colour_places(self.program, &self.program.tables[id.index()]), colour)
    }

    pub(super) fn read_direct_meter(&mut self, dst: &Place) -> Result<()> {
        match self.colour {
            Some(colour) => self.store_colour(std::slice::from_ref(dst), colour),
            None => Ok(()),
        }
    }

    /// The row of the action that runs, for a row found in a table with an `implementation`.
    pub(super) fn resolve(&mut self, id: TableId, table: Value, row: Value) -> Result<Value> {
        let spec = &self.program.tables[id.index()];
        let hash = match selection(self.program, spec) {
            Some((algorithm, data)) => self.hash(algorithm, &data)?,
            None => self.iconst(0),
        };
        self.call_value(&context::RESOLVE, &[table, row, hash])
    }

    /// Whether a value set contains the first of these values, as many as its members have components.
    pub(super) fn in_value_set(&mut self, id: ValueSetId, values: &[(Value, Ty)]) -> Result<Value> {
        let tys = &self.program.value_sets[id.index()].tys;
        let shape = KeyShape::of_widths(tys.iter().map(|ty| ty.width));
        let values: Vec<Value> = values.iter().map(|&(value, _)| value).collect();
        let key = self.key_in_memory(&shape, &values)?;
        let number = self.iconst(id.0.into());
        self.call_value(&context::IN_VALUE_SET, &[self.context, number, key])
    }

    /// Stores a colour, if there is one.
    fn store_colour(&mut self, places: &[Place], colour: Value) -> Result<()> {
        let some = self.b.ins().icmp_imm_s(IntCC::NotEqual, colour, NO_COLOUR as i64);
        let after = self.when(some);
        for place in places {
            self.store_number(place, colour)?;
        }
        self.b.ins().jump(after, &[]);
        self.b.switch_to_block(after);
        Ok(())
    }
}
