// SPDX-License-Identifier: MIT OR Apache-2.0
//! Values that do not fit into registers: those of more than 128 bits, and `varbit`s.
//!
//! Generated code holds the address of such a value: of its words, least significant first, or of the bytes of a
//! `varbit`. Operators on them are calls of [`marklab_p4::arith`], which defines them. The value at an address does not
//! change before the end of the statement: expressions have no side effects, and a statement stores its result last.

use std::mem::offset_of;

use cranelift_codegen::ir::{InstBuilder, StackSlotData, StackSlotKind, Value, types};
use marklab_p4::ir::{BinaryOp, Place, Ty};
use num_bigint::BigUint;

use super::Result;
use super::context::{self, Context, Operation};
use super::generator::Generator;
use super::parse::Reader;
use super::shapes::{Room, is_wide, value_type};
use crate::layout::storage_bytes;
use crate::words::{limbs_of, words_for};
use marklab_p4::arith::Operator;

/// Bytes of the machine's stack that the code of a stage may take. Further memory is on the heap, since programs may
/// need more than the stack of a thread.
const STACK_BYTES: u32 = 16 << 10;

impl Generator<'_, '_> {
    pub(super) fn room(&mut self, bytes: u32) -> Room {
        let bytes = bytes.next_multiple_of(8);
        let rooms = &mut self.rooms;
        if bytes <= STACK_BYTES - rooms.stack_bytes {
            rooms.stack_bytes += bytes;
            let slot = StackSlotData::new(StackSlotKind::ExplicitSlot, bytes, 3);
            return Room::Stack(self.b.create_sized_stack_slot(slot));
        }
        let offset = rooms.scratch_bytes;
        rooms.scratch_bytes += bytes;
        rooms.most_scratch_bytes = rooms.most_scratch_bytes.max(rooms.scratch_bytes);
        Room::Scratch(offset)
    }

    pub(super) fn address(&mut self, room: Room) -> Value {
        match room {
            Room::Stack(slot) => self.b.ins().stack_addr(types::I64, slot, 0),
            Room::Scratch(offset) => {
                let scratch = self.load_context(offset_of!(Context, scratch));
                self.b.ins().iadd_imm_u(scratch, i64::from(offset))
            }
        }
    }

    /// Address of newly allocated memory.
    pub(super) fn fresh(&mut self, bytes: u32) -> Value {
        let room = self.room(bytes);
        self.address(room)
    }

    fn store_words(&mut self, words: impl IntoIterator<Item = Value>, address: Value) {
        for (number, word) in words.into_iter().enumerate() {
            self.b.ins().store(self.regions.stack, word, address, 8 * number as i32);
        }
    }

    pub(super) fn wide_constant(&mut self, value: &BigUint, width: u32) -> Value {
        let words: Vec<Value> =
            limbs_of(value, words_for(width)).into_iter().map(|word| self.iconst(word as i64)).collect();
        let address = self.fresh(8 * words.len() as u32);
        self.store_words(words, address);
        address
    }

    /// Address of `bytes` zero bytes.
    pub(super) fn zeros(&mut self, bytes: u32) -> Result<Value> {
        let address = self.fresh(bytes);
        let bytes = self.iconst(i64::from(bytes));
        self.call(&context::CLEAR, &[address, bytes])?;
        Ok(address)
    }

    /// The address of the words of a value of any width.
    pub(super) fn spill(&mut self, value: Value, width: u32) -> Value {
        if is_wide(width) {
            return value;
        }
        let address = self.fresh(8 * words_for(width) as u32);
        self.b.ins().store(self.regions.stack, value, address, 0);
        address
    }

    /// The result of an operator.
    pub(super) fn operate(&mut self, operator: Operator, operands: &[(Value, Ty)], ty: Ty) -> Result<Value> {
        let addresses: Vec<Value> = operands.iter().map(|&(value, ty)| self.spill(value, ty.width)).collect();
        let (&first, &last) = (addresses.first().expect("an operand"), addresses.last().expect("an operand"));
        let target = self.fresh(8 * words_for(ty.width) as u32);
        let number = self.iconst(self.referred.operations.len() as i64);
        let operands = operands.iter().map(|&(_, ty)| ty).collect();
        self.referred.operations.push(Operation { operator, operands, ty });
        self.call(&context::OPERATE, &[self.context, number, target, first, last])?;
        if is_wide(ty.width) {
            return Ok(target);
        }
        Ok(self.b.ins().load(value_type(ty.width), self.regions.stack, target, 0))
    }

    /// [`Generator::operate`] on two operands of equal type.
    pub(super) fn compare(&mut self, op: BinaryOp, left: Value, right: Value, of: Ty) -> Result<Value> {
        self.operate(Operator::Binary(op), &[(left, of), (right, of)], Ty::BOOL)
    }

    /// A wide value as a 64-bit number, saturated.
    pub(super) fn wide_number(&mut self, address: Value, width: u32) -> Value {
        let flags = self.regions.stack;
        let mut above = self.iconst(0);
        for word in 1..words_for(width) as i32 {
            let word = self.b.ins().load(types::I64, flags, address, 8 * word);
            above = self.b.ins().bor(above, word);
        }
        let low = self.b.ins().load(types::I64, flags, address, 0);
        let most = self.iconst(-1);
        self.b.ins().select(above, most, low)
    }

    /// `width` bits of the packet from bit `at` on.
    pub(super) fn wide_bits(&mut self, reader: &Reader, at: u32, width: u32) -> Value {
        let words = words_for(width) as u32;
        let words: Vec<Value> = (0..words)
            .map(|word| {
                let end = width - 64 * word;
                reader.bits(self, at + end.saturating_sub(64), end.min(64))
            })
            .collect();
        let address = self.fresh(8 * words.len() as u32);
        self.store_words(words, address);
        address
    }

    /// Address of the value of a place in memory, or of zeros if the index is out of range.
    pub(super) fn source(&mut self, address: Value, offset: i32, size: u32, in_range: Option<Value>) -> Result<Value> {
        let address = self.b.ins().iadd_imm_u(address, i64::from(offset));
        match in_range {
            None => Ok(address),
            Some(in_range) => {
                let zeros = self.zeros(size)?;
                Ok(self.b.ins().select(in_range, address, zeros))
            }
        }
    }

    // Varbits

    /// The place of the width of a `varbit`; `None` for other places.
    pub(super) fn varbit_width(&self, place: &Place) -> Option<Place> {
        let width = self.program.slots[place.slot.index()].varbit_width;
        width.map(|slot| Place { slot, index: place.index.clone() })
    }

    /// Current width of a `varbit` in bits. It never exceeds the field, whatever the packet state was set to.
    pub(super) fn varbit_bits(&mut self, place: &Place, width: &Place) -> Result<Value> {
        let bits = self.read(width)?;
        let most = self.iconst(self.program.slots[place.slot.index()].ty.width.into());
        Ok(self.b.ins().umin(bits, most))
    }

    /// A `varbit` as a number of its largest width.
    pub(super) fn varbit_number(&mut self, place: &Place, width: &Place) -> Result<Value> {
        let bits = self.varbit_bits(place, width)?;
        let bytes = self.b.ins().ushr_imm_u(bits, 3);
        let source = self.read(place)?;
        let max = self.program.slots[place.slot.index()].ty.width;
        let words = words_for(max) as u32;
        let target = self.fresh(8 * words);
        let count = self.iconst(i64::from(words));
        self.call(&context::VARBIT_NUMBER, &[target, count, source, bytes])?;
        if is_wide(max) {
            return Ok(target);
        }
        Ok(self.b.ins().load(value_type(max), self.regions.stack, target, 0))
    }

    /// Copies a `varbit` and its width.
    pub(super) fn assign_varbit(&mut self, dst: (&Place, &Place), src: (&Place, &Place)) -> Result<()> {
        let width = self.read(src.1)?;
        self.write(dst.1, width)?;
        let source = self.read(src.0)?;
        self.write(dst.0, source)
    }

    /// Stores `bytes` bytes of the packet, from bit `at` of an address on, as a `varbit`, followed by zeros.
    pub(super) fn read_varbit(&mut self, place: &Place, from: Value, at: u32, bytes: Value) -> Result<()> {
        let size = storage_bytes(&self.program.slots[place.slot.index()]);
        let value = self.zeros(size)?;
        let from = self.b.ins().iadd_imm_u(from, i64::from(at / 8));
        let (skipped_bits, bits) = (self.iconst(i64::from(at % 8)), self.b.ins().ishl_imm_u(bytes, 3));
        self.call(&context::GET_BITS, &[value, from, skipped_bits, bits])?;
        self.write(place, value)
    }
}
