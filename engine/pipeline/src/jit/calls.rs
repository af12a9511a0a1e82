// SPDX-License-Identifier: MIT OR Apache-2.0
//! Externs.

use std::mem::offset_of;

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value, types};
use marklab_p4::ir::{
    BinaryOp, Checksum, CounterId, DataField, Expr, ExternCall, HashAlgorithm, Place, RegisterActionId, RegisterId,
    Request, Ty,
};

use super::Result;
use super::context::{self, Cells, Context};
use super::generator::Generator;
use super::shapes::{is_wide, valid_place, value_type};
use crate::DROP_PORT;
use crate::hash::of_any_header;
use crate::words::words_for;
use marklab_p4::arith::Operator;

impl Generator<'_, '_> {
    pub(super) fn extern_call(&mut self, call: &ExternCall) -> Result<()> {
        match call {
            ExternCall::Request(request) => self.request(request),
            ExternCall::RegisterRead { register, dst, index } => self.register_read(*register, dst, index),
            ExternCall::RegisterWrite { register, index, value } => self.register_write(*register, index, value),
            ExternCall::ExecuteRegister { action, index, dst } => self.execute_register(*action, index, dst.as_ref()),
            ExternCall::Math { unit, dst, input } => {
                let (unit, x) = (self.iconst(unit.0.into()), self.number(input)?);
                let value = self.call_value(&context::MATH, &[self.context, unit, x])?;
                self.store_number(dst, value)
            }
            ExternCall::ChecksumAdd { sum, data, subtract } => self.checksum_add(sum, data, *subtract),
            ExternCall::Count { counter, index } => self.count(*counter, index),
            ExternCall::DirectCount { .. } => Ok(()),
            ExternCall::Random { dst, lo, hi } => self.random(dst, lo, hi),
            ExternCall::Hash { dst, algorithm, base, data, max } => {
                let (base, max) = (self.number(base)?, self.number(max)?);
                let hash = self.hash(*algorithm, data)?;
                // Without an algorithm (`random`) BMv2 refuses the program. Here the destination does not change.
                if *algorithm == HashAlgorithm::Random {
                    return Ok(());
                }
                let one = self.iconst(1);
                let max = self.b.ins().umax(max, one);
                let rest = self.b.ins().urem(hash, max);
                let value = self.b.ins().iadd(base, rest);
                self.store_number(dst, value)
            }
            ExternCall::VerifyChecksum(checksum) => self.verify_checksum(checksum),
            ExternCall::UpdateChecksum(checksum) => self.update_checksum(checksum),
            ExternCall::MarkToDrop => {
                let values = [("standard_metadata.egress_spec", DROP_PORT), ("standard_metadata.mcast_grp", 0)];
                for (name, value) in values {
                    if let Some(slot) = self.program.intrinsic(name) {
                        let value = self.iconst(value as i64);
                        self.write_slot(slot, value);
                    }
                }
                Ok(())
            }
            ExternCall::ExecuteMeter { meter, dst, index } => self.execute_meter(*meter, dst, index),
            ExternCall::Filter { filter, dst, value, index } => self.filter(*filter, dst, value, index),
            ExternCall::DirectMeterRead { dst, .. } => self.read_direct_meter(dst),
        }
    }

    /// Passes a request with its operands to Rust.
    fn request(&mut self, request: &Request) -> Result<()> {
        for operand in request.operands() {
            let value = self.eval(operand)?;
            let address = self.spill(value, operand.ty.width);
            let words = self.iconst(words_for(operand.ty.width) as i64);
            self.call(&context::OPERAND, &[self.context, address, words])?;
        }
        let number = self.iconst(self.referred.requests.len() as i64);
        self.referred.requests.push(request.clone());
        self.call(&context::REQUEST, &[self.context, number])?;
        Ok(())
    }

    /// Start and length of array `number` in the list at `offset` of the context.
    fn array(&mut self, offset: usize, number: u32) -> (Value, Value) {
        let arrays = self.load_context(offset);
        let at = (number as usize * size_of::<Cells>()) as i32;
        let field =
            |g: &mut Self, field: usize| g.b.ins().load(types::I64, g.regions.context, arrays, at + field as i32);
        (field(self, offset_of!(Cells, start)), field(self, offset_of!(Cells, len)))
    }

    /// Address of a cell, and whether it exists.
    fn cell(&mut self, offset: usize, number: u32, index: &Expr, bytes: usize) -> Result<(Value, Value)> {
        let index = self.number(index)?;
        let (start, len) = self.array(offset, number);
        let exists = self.b.ins().icmp(IntCC::UnsignedLessThan, index, len);
        let distance = self.b.ins().imul_imm_u(index, bytes as i64);
        Ok((self.b.ins().iadd(start, distance), exists))
    }

    fn register_cell(&mut self, register: RegisterId, index: &Expr) -> Result<(Value, Value)> {
        let width = self.program.registers[register.index()].ty.width;
        self.cell(offset_of!(Context, registers), register.0, index, words_for(width) * 8)
    }

    fn register_read(&mut self, register: RegisterId, dst: &Place, index: &Expr) -> Result<()> {
        let ty = self.program.registers[register.index()].ty;
        let (cell, exists) = self.register_cell(register, index)?;
        let after = self.when(exists);
        let value = self.load_cell(ty, cell);
        self.write(dst, value)?;
        self.b.ins().jump(after, &[]);
        self.b.switch_to_block(after);
        Ok(())
    }

    fn register_write(&mut self, register: RegisterId, index: &Expr, value: &Expr) -> Result<()> {
        let ty = self.program.registers[register.index()].ty;
        let (cell, exists) = self.register_cell(register, index)?;
        let value = self.eval(value)?;
        let after = self.when(exists);
        self.store_cell(ty, cell, value)?;
        self.b.ins().jump(after, &[]);
        self.b.switch_to_block(after);
        Ok(())
    }

    /// The value of a cell.
    fn load_cell(&mut self, ty: Ty, cell: Value) -> Value {
        match is_wide(ty.width) {
            true => cell,
            false => self.b.ins().load(value_type(ty.width), self.regions.cells, cell, 0),
        }
    }

    fn store_cell(&mut self, ty: Ty, cell: Value, value: Value) -> Result<()> {
        if is_wide(ty.width) {
            let bytes = self.iconst(words_for(ty.width) as i64 * 8);
            self.call(&context::COPY, &[cell, value, bytes])?;
        } else {
            self.b.ins().store(self.regions.cells, value, cell, 0);
        }
        Ok(())
    }

    /// Runs a register action on a cell. While it runs, the action's values are the parts of the cell.
    fn execute_register(&mut self, id: RegisterActionId, index: &Expr, dst: Option<&Place>) -> Result<()> {
        let action = &self.program.register_actions[id.index()];
        let register = &self.program.registers[action.register.index()];
        let (cell, exists) = self.register_cell(action.register, index)?;
        let (act, beyond, after) = (self.b.create_block(), self.b.create_block(), self.b.create_block());
        self.b.ins().brif(exists, act, &[], beyond, &[]);
        self.b.set_cold_block(beyond);
        self.b.switch_to_block(beyond);
        if let Some(dst) = dst {
            self.write_zero(dst)?;
        }
        self.b.ins().jump(after, &[]);

        self.b.switch_to_block(act);
        let whole = self.load_cell(register.ty, cell);
        let mut at = 0;
        for (&slot, part) in action.value.iter().zip(&register.parts) {
            let value = self.part_of(whole, register.ty, at, part.width)?;
            self.write_slot(slot, value);
            at += part.width;
        }
        if let Some(slot) = action.returned {
            self.write_zero(&slot.into())?;
        }
        if self.body(&action.body)? {
            let mut parts = Vec::new();
            for (&slot, &part) in action.value.iter().zip(&register.parts) {
                parts.push((self.read(&slot.into())?, part));
            }
            let value = self.joined(&parts)?;
            self.store_cell(register.ty, cell, value)?;
            if let (Some(dst), Some(slot)) = (dst, action.returned) {
                let value = self.read(&slot.into())?;
                self.write(dst, value)?;
            }
            self.b.ins().jump(after, &[]);
        }
        self.b.switch_to_block(after);
        Ok(())
    }

    /// `width` bits of a cell, from bit `at` on.
    fn part_of(&mut self, cell: Value, ty: Ty, at: u32, width: u32) -> Result<Value> {
        if width == ty.width {
            return Ok(cell);
        }
        if ty.width > 64 {
            return self.operate(Operator::Slice { hi: at + width - 1, lo: at }, &[(cell, ty)], Ty::bits(width));
        }
        let down = self.b.ins().ushr_imm_u(cell, i64::from(at));
        Ok(self.cut(down, width))
    }

    /// The value of a cell with these parts, the first in the lowest bits.
    fn joined(&mut self, parts: &[(Value, Ty)]) -> Result<Value> {
        let (mut cell, mut width) = (parts[0].0, parts[0].1.width);
        for &(part, ty) in &parts[1..] {
            let all = Ty::bits(width + ty.width);
            cell = if all.width > 64 {
                self.operate(Operator::Concat, &[(part, ty), (cell, Ty::bits(width))], all)?
            } else {
                let up = self.b.ins().ishl_imm_u(part, i64::from(width));
                self.b.ins().bor(cell, up)
            };
            width = all.width;
        }
        Ok(cell)
    }

    fn checksum_add(&mut self, sum: &Place, data: &[DataField], subtract: bool) -> Result<()> {
        let inverse = self.hash(HashAlgorithm::Csum16, &of_any_header(data))?;
        let added = match subtract {
            false => self.b.ins().bxor_imm_u(inverse, 0xffff),
            true => inverse,
        };
        let before = self.read(sum)?;
        let sum_of_both = self.b.ins().iadd(before, added);
        let (low, carry) = (self.b.ins().band_imm_u(sum_of_both, 0xffff), self.b.ins().ushr_imm_u(sum_of_both, 16));
        let folded = self.b.ins().iadd(low, carry);
        self.store_number(sum, folded)
    }

    fn count(&mut self, counter: CounterId, index: &Expr) -> Result<()> {
        let bytes = size_of::<crate::Count>();
        let (cell, exists) = self.cell(offset_of!(Context, counters), counter.0, index, bytes)?;
        let after = self.when(exists);
        let one = self.iconst(1);
        let bytes = self.arrival_bytes();
        for (offset, amount) in [(offset_of!(crate::Count, packets), one), (offset_of!(crate::Count, bytes), bytes)] {
            let old = self.b.ins().load(types::I64, self.regions.cells, cell, offset as i32);
            let new = self.b.ins().iadd(old, amount);
            self.b.ins().store(self.regions.cells, new, cell, offset as i32);
        }
        self.b.ins().jump(after, &[]);
        self.b.switch_to_block(after);
        Ok(())
    }

    fn random(&mut self, dst: &Place, lo: &Expr, hi: &Expr) -> Result<()> {
        let (lo, hi) = (self.number(lo)?, self.number(hi)?);
        let drawn = self.call_value(&context::DRAW, &[self.context, lo, hi])?;
        let after = self.when(drawn);
        let value = self.load_context(offset_of!(Context, drawn));
        self.store_number(dst, value)?;
        self.b.ins().jump(after, &[]);
        self.b.switch_to_block(after);
        Ok(())
    }

    /// Stores a 64-bit number, truncated or widened to the place's type.
    pub(super) fn store_number(&mut self, dst: &Place, value: Value) -> Result<()> {
        let value = self.number_as(value, self.program.slots[dst.slot.index()].ty.width)?;
        self.write(dst, value)
    }

    /// A 64-bit number as a value of `width` bits.
    fn number_as(&mut self, value: Value, width: u32) -> Result<Value> {
        if is_wide(width) {
            return self.operate(Operator::Cast, &[(value, Ty::bits(64))], Ty::bits(width));
        }
        let value = self.convert(value, value_type(width));
        Ok(self.cut(value, width))
    }

    /// Begins a block that runs if a checksum is to be verified or updated. Returns the block after it.
    fn when_present(&mut self, checksum: &Checksum) -> Result<cranelift_codegen::ir::Block> {
        let condition = self.eval(&checksum.condition)?;
        let wanted = match &checksum.header {
            Some(header) => {
                let valid = self.read(&valid_place(self.program, header))?;
                self.b.ins().band(condition, valid)
            }
            None => condition,
        };
        Ok(self.when(wanted))
    }

    fn verify_checksum(&mut self, checksum: &Checksum) -> Result<()> {
        let after = self.when_present(checksum)?;
        let expected = self.checksum_value(checksum)?;
        let found = self.read(&checksum.field)?;
        let ty = self.program.slots[checksum.field.slot.index()].ty;
        let expected = self.number_as(expected, ty.width)?;
        let wrong = match is_wide(ty.width) {
            true => self.compare(BinaryOp::Ne, expected, found, ty)?,
            false => self.b.ins().icmp(IntCC::NotEqual, expected, found),
        };
        if checksum.algorithm != HashAlgorithm::Random
            && let Some(slot) = self.program.intrinsic("standard_metadata.checksum_error")
        {
            let unequal = self.when(wrong);
            let one = self.iconst(1);
            self.write_slot(slot, one);
            self.b.ins().jump(unequal, &[]);
            self.b.switch_to_block(unequal);
        }
        self.b.ins().jump(after, &[]);
        self.b.switch_to_block(after);
        Ok(())
    }

    fn update_checksum(&mut self, checksum: &Checksum) -> Result<()> {
        let after = self.when_present(checksum)?;
        let value = self.checksum_value(checksum)?;
        if checksum.algorithm != HashAlgorithm::Random {
            self.store_number(&checksum.field, value)?;
        }
        self.b.ins().jump(after, &[]);
        self.b.switch_to_block(after);
        Ok(())
    }
}
