// SPDX-License-Identifier: MIT OR Apache-2.0
//! Parser and deparser.
//!
//! The cursor is an SSA value in bytes: on a path without loops it folds to a constant. A field is read from the fewest
//! bytes that one load can read, the first byte most significant. A read may touch [`crate::packet::SLACK`] bytes beyond
//! the stored ones, but their values are never used. Headers are written eight bytes at a time.

use std::mem::offset_of;

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, InstBuilder, Value, types};
use marklab_p4::ir::{
    BinaryOp, BlockId, Expr, ExprKind, Header, HeaderRef, Index, KeySet, ParserBody, Place, StackId, StateId, Target,
    Transition, Ty,
};
use marklab_p4::source::Span;
use num_bigint::BigUint;

use super::Result;
use super::context::{self, Context};
use super::generator::Generator;
use super::shapes::{Parsing, fields, is_wide, valid_place};
use crate::layout::reserved;
use crate::rejection::{self, Rejection};
use marklab_p4::arith::Operator;

impl Generator<'_, '_> {
    fn parsing(&self) -> Parsing {
        self.parsing.clone().expect("the front end admits packet reads in parsers only")
    }

    /// Generates a parser. Control continues behind it, or at `refused` if the parser refuses the packet.
    pub(super) fn parser(&mut self, id: BlockId, parser: &ParserBody, refused: Block) -> Result<()> {
        let rejection = Rejection::of(self.program, id);
        let [bytes, stored, cursor] = [(); 3].map(|()| self.b.declare_var(types::I64));
        let (end, reject) = (self.b.create_block(), self.b.create_block());
        let error = self.b.append_block_param(reject, types::I64);
        self.parsing = Some(Parsing { bytes, stored, cursor, end, reject, unnamed: rejection::unnamed(self.program) });
        self.reload_packet();
        let zero = self.iconst(0);
        self.b.def_var(cursor, zero);

        let looping = crate::looping_states(parser);
        let blocks: Vec<Block> = parser.states.iter().map(|_| self.b.create_block()).collect();
        self.b.ins().jump(blocks[parser.start.index()], &[]);
        for ((state, &block), looping) in parser.states.iter().zip(&blocks).zip(looping) {
            self.count_statements(1, state.span)?;
            self.b.switch_to_block(block);
            if looping {
                let timeout = self.b.create_block();
                self.burn(timeout);
                let body = self.b.create_block();
                self.b.ins().jump(body, &[]);
                self.b.switch_to_block(timeout);
                self.reject_with("ParserTimeout");
                self.b.switch_to_block(body);
            }
            if self.body(&state.body)? {
                self.transition(&state.next, &blocks)?;
            }
        }

        self.b.switch_to_block(reject);
        self.b.set_cold_block(reject);
        if let Some(slot) = rejection.slot {
            let code = self.chosen(error, &rejection.codes(self.program));
            self.write_slot(slot, code);
        }
        if rejection.refuses {
            self.call(&context::REFUSE, &[self.context])?;
            self.b.ins().jump(refused, &[]);
        } else {
            self.b.ins().jump(end, &[]);
        }
        self.b.switch_to_block(end);
        let consumed = self.b.use_var(cursor);
        self.b.ins().istore32(self.regions.phv, consumed, self.phv, reserved::PAYLOAD_OFFSET as i32);
        self.parsing = None;
        Ok(())
    }

    /// The number at index `at` of a list. Entries that equal their index need no code.
    fn chosen(&mut self, at: Value, list: &[u32]) -> Value {
        let others = (0..).zip(list).filter(|(place, number)| place != *number);
        others.fold(at, |chosen, (place, &number)| {
            let here = self.b.ins().icmp_imm_u(IntCC::Equal, at, i64::from(place));
            let number = self.iconst(number.into());
            self.b.ins().select(here, number, chosen)
        })
    }

    fn reload_packet(&mut self) {
        let parsing = self.parsing();
        for (variable, offset) in
            [(parsing.bytes, offset_of!(Context, packet_bytes)), (parsing.stored, offset_of!(Context, stored))]
        {
            let value = self.load_context(offset);
            self.b.def_var(variable, value);
        }
    }

    /// Ends the present block by rejecting with an error of the core library.
    fn reject_with(&mut self, name: &str) {
        let code = self.program.errors.iter().position(|known| known == name).unwrap_or(0);
        let code = self.iconst(code as i64);
        let reject = self.parsing().reject;
        self.b.ins().jump(reject, &[code.into()]);
    }

    /// Continues only if `holds`; otherwise rejects.
    fn require(&mut self, holds: Value, error: &str) {
        let (fail, go_on) = (self.b.create_block(), self.b.create_block());
        self.b.ins().brif(holds, go_on, &[], fail, &[]);
        self.b.set_cold_block(fail);
        self.b.switch_to_block(fail);
        self.reject_with(error);
        self.b.switch_to_block(go_on);
    }

    /// Makes sure that the packet's bytes up to `end` can be read.
    fn require_bytes(&mut self, end: Value) -> Result<()> {
        let parsing = self.parsing();
        let stored = self.b.use_var(parsing.stored);
        let there = self.b.ins().icmp(IntCC::UnsignedLessThanOrEqual, end, stored);
        let (missing, go_on) = (self.b.create_block(), self.b.create_block());
        self.b.ins().brif(there, go_on, &[], missing, &[]);
        self.b.set_cold_block(missing);
        self.b.switch_to_block(missing);
        let got = self.call_value(&context::NEED_BYTES, &[self.context, end])?;
        self.require(got, "PacketTooShort");
        self.reload_packet();
        self.b.ins().jump(go_on, &[]);
        self.b.switch_to_block(go_on);
        Ok(())
    }

    pub(super) fn packet_length(&mut self) -> Value {
        self.load_context(offset_of!(Context, length))
    }

    fn goto(&mut self, target: Target, blocks: &[Block]) {
        let parsing = self.parsing();
        let block = match (target, parsing.unnamed) {
            (Target::State(StateId(state)), _) => blocks[state as usize],
            (Target::Reject, Some(error)) => return self.reject_with(error),
            (Target::Accept | Target::Reject, _) => parsing.end,
        };
        self.b.ins().jump(block, &[]);
    }

    fn transition(&mut self, transition: &Transition, blocks: &[Block]) -> Result<()> {
        let Transition::Select { keys, cases, .. } = transition else {
            if let Transition::Goto(target) = transition {
                self.goto(*target, blocks);
            }
            return Ok(());
        };
        let values = keys.iter().map(|key| Ok((self.eval(key)?, key.ty))).collect::<Result<Vec<_>>>()?;
        for (sets, target) in cases {
            let next = self.b.create_block();
            for (at, (set, &(value, ty))) in sets.iter().zip(&values).enumerate() {
                let matches = match set {
                    KeySet::ValueSet(id) => Some(self.in_value_set(*id, &values[at..])?),
                    set => self.contains(set, value, ty)?,
                };
                if let Some(matches) = matches {
                    let matched = self.b.create_block();
                    self.b.ins().brif(matches, matched, &[], next, &[]);
                    self.b.switch_to_block(matched);
                }
            }
            self.goto(*target, blocks);
            self.b.switch_to_block(next);
        }
        self.goto(Target::Reject, blocks);
        Ok(())
    }

    /// Whether a value is in a set; `None` if the set contains all values.
    fn contains(&mut self, set: &KeySet, value: Value, ty: Ty) -> Result<Option<Value>> {
        let width = ty.width;
        Ok(match set {
            KeySet::Any => None,
            // A value set may take several keys, so the caller handles it.
            KeySet::ValueSet(_) => unreachable!("a value set may take several keys"),
            _ if is_wide(width) => Some(self.contains_wide(set, value, ty)?),
            KeySet::Value(member) => {
                let member = self.constant(member, width);
                Some(self.b.ins().icmp(IntCC::Equal, value, member))
            }
            KeySet::Mask { value: member, mask } => {
                let (member, mask) = (self.constant(member, width), self.constant(mask, width));
                let masked = self.b.ins().band(value, mask);
                Some(self.b.ins().icmp(IntCC::Equal, masked, member))
            }
            KeySet::Range { lo, hi } => {
                // Signed order is unsigned order after flipping the sign bits.
                let flip = if ty.signed { BigUint::from(1u32) << (width - 1) } else { BigUint::ZERO };
                let (lo, hi) = (self.constant(&(lo ^ &flip), width), self.constant(&(hi ^ &flip), width));
                let flip = self.constant(&flip, width);
                let value = self.b.ins().bxor(value, flip);
                let above = self.b.ins().icmp(IntCC::UnsignedGreaterThanOrEqual, value, lo);
                let below = self.b.ins().icmp(IntCC::UnsignedLessThanOrEqual, value, hi);
                Some(self.b.ins().band(above, below))
            }
        })
    }

    fn contains_wide(&mut self, set: &KeySet, value: Value, ty: Ty) -> Result<Value> {
        match set {
            KeySet::Value(member) => {
                let member = self.constant(member, ty.width);
                self.compare(BinaryOp::Eq, value, member, ty)
            }
            KeySet::Mask { value: member, mask } => {
                let (member, mask) = (self.constant(member, ty.width), self.constant(mask, ty.width));
                let masked = self.operate(Operator::Binary(BinaryOp::And), &[(value, ty), (mask, ty)], ty)?;
                self.compare(BinaryOp::Eq, masked, member, ty)
            }
            KeySet::Range { lo, hi } => {
                let (lo, hi) = (self.constant(lo, ty.width), self.constant(hi, ty.width));
                let above = self.compare(BinaryOp::Ge, value, lo, ty)?;
                let below = self.compare(BinaryOp::Le, value, hi, ty)?;
                Ok(self.b.ins().band(above, below))
            }
            KeySet::Any | KeySet::ValueSet(_) => unreachable!("not a set of written values"),
        }
    }

    pub(super) fn verify(&mut self, cond: &Expr, error: &Expr) -> Result<()> {
        let condition = self.condition(cond)?;
        let (fail, go_on) = (self.b.create_block(), self.b.create_block());
        self.b.ins().brif(condition, go_on, &[], fail, &[]);
        self.b.switch_to_block(fail);
        let code = self.eval(error)?;
        let reject = self.parsing().reject;
        self.b.ins().jump(reject, &[code.into()]);
        self.b.switch_to_block(go_on);
        Ok(())
    }

    pub(super) fn advance(&mut self, bits: &Expr) -> Result<()> {
        let bits = self.number(bits)?;
        self.require_whole_bytes(bits);
        let bytes = self.b.ins().ushr_imm_u(bits, 3);
        let cursor = self.parsing().cursor;
        let start = self.b.use_var(cursor);
        let end = self.b.ins().iadd(start, bytes);
        self.require_bytes(end)?;
        self.b.def_var(cursor, end);
        Ok(())
    }

    fn require_whole_bytes(&mut self, bits: Value) {
        let rest = self.b.ins().band_imm_u(bits, 7);
        let whole = self.b.ins().icmp_imm_u(IntCC::Equal, rest, 0);
        self.require(whole, "ParserInvalidArgument");
    }

    pub(super) fn lookahead(&mut self, offset: u32, width: u32) -> Result<Value> {
        let parsing = self.parsing();
        let start = self.b.use_var(parsing.cursor);
        let end = self.b.ins().iadd_imm_u(start, i64::from((offset + width).div_ceil(8)));
        self.require_bytes(end)?;
        let bytes = self.b.use_var(parsing.bytes);
        let address = self.b.ins().iadd(bytes, start);
        let reader = Reader::new(address);
        Ok(reader.bits(self, offset, width))
    }

    pub(super) fn extract_next(&mut self, stack: StackId, varbit_width: Option<&Expr>) -> Result<()> {
        let spec = &self.program.stacks[stack.index()];
        let next = self.read(&spec.next_index.into())?;
        let fits = self.b.ins().icmp_imm_u(IntCC::UnsignedLessThan, next, i64::from(spec.len));
        self.require(fits, "StackOutOfBounds");
        let load = Expr { kind: ExprKind::Load(spec.next_index.into()), ty: Ty::bits(32), span: Span::default() };
        let header = HeaderRef { header: spec.first, index: Some(Index { stack, expr: Box::new(load) }) };
        self.extract(&header, varbit_width)?;
        let more = self.b.ins().iadd_imm_u(next, 1);
        self.write_slot(spec.next_index, more);
        Ok(())
    }

    /// Reads a header. It becomes valid only if the packet has all of it.
    pub(super) fn extract(&mut self, header: &HeaderRef, varbit_width: Option<&Expr>) -> Result<()> {
        let spec = &self.program.headers[header.header.index()];
        let varbit = match varbit_width {
            None => None,
            Some(width) => Some(self.varbit_bytes(width)?),
        };
        let fixed: u32 = fields(self.program, spec)
            .filter(|(_, slot)| slot.varbit_width.is_none())
            .map(|(_, slot)| slot.ty.width)
            .sum();
        let parsing = self.parsing();
        let start = self.b.use_var(parsing.cursor);
        let mut end = self.b.ins().iadd_imm_u(start, i64::from(fixed / 8));
        if let Some(bytes) = varbit {
            end = self.b.ins().iadd(end, bytes);
        }
        self.require_bytes(end)?;
        if let Some(bytes) = varbit {
            self.require_room(spec, bytes);
        }
        let bytes = self.b.use_var(parsing.bytes);
        let mut reader = Reader::new(self.b.ins().iadd(bytes, start));
        let none = self.iconst(0);
        let mut at = 0;
        for (id, slot) in fields(self.program, spec) {
            let place = Place { slot: id, index: header.index.clone() };
            if let Some(width) = self.varbit_width(&place) {
                let bytes = varbit.unwrap_or(none);
                let bits = self.b.ins().ishl_imm_u(bytes, 3);
                self.write(&width, bits)?;
                self.read_varbit(&place, reader.address, at, bytes)?;
                // The fields after it lie this many whole bytes further on.
                reader = Reader::new(self.b.ins().iadd(reader.address, bytes));
            } else {
                let value = reader.bits(self, at, slot.ty.width);
                self.write(&place, value)?;
                at += slot.ty.width;
            }
        }
        let one = self.iconst(1);
        self.write(&valid_place(self.program, header), one)?;
        self.b.def_var(parsing.cursor, end);
        Ok(())
    }

    /// Number of bytes of a `varbit` field. Rejects if the width is not a multiple of 8.
    fn varbit_bytes(&mut self, width: &Expr) -> Result<Value> {
        let bits = self.number(width)?;
        self.require_whole_bytes(bits);
        Ok(self.b.ins().ushr_imm_u(bits, 3))
    }

    /// Continues only if the header's `varbit` field can hold this many bytes. As in BMv2, this check comes after the
    /// one of the packet's length.
    fn require_room(&mut self, header: &Header, bytes: Value) {
        let limit = fields(self.program, header).find(|(_, slot)| slot.varbit_width.is_some());
        let limit = limit.map_or(0, |(_, slot)| slot.ty.width);
        let fits = self.b.ins().icmp_imm_u(IntCC::UnsignedLessThanOrEqual, bytes, i64::from(limit / 8));
        self.require(fits, "HeaderTooShort");
    }
}

/// Reads bit fields relative to an address.
pub(super) struct Reader {
    address: Value,
}

impl Reader {
    pub(super) fn new(address: Value) -> Reader {
        Reader { address }
    }

    /// The number in `bytes` bytes (1, 2, 4 or 8) from byte `at` on, the first byte most significant.
    fn load(&self, g: &mut Generator<'_, '_>, at: u32, bytes: u32) -> Value {
        let (flags, at) = (g.regions.packet, at as i32);
        let ty = match bytes {
            1 => return g.b.ins().uload8(types::I64, flags, self.address, at),
            2 => types::I16,
            4 => types::I32,
            _ => types::I64,
        };
        let raw = g.b.ins().load(ty, flags, self.address, at);
        let value = g.b.ins().bswap(raw);
        if ty == types::I64 { value } else { g.b.ins().uextend(types::I64, value) }
    }

    /// `width` bits from bit `at` on. Most headers have whole bytes at whole bytes, which need neither shift nor mask.
    pub(super) fn bits(&self, g: &mut Generator<'_, '_>, at: u32, width: u32) -> Value {
        if is_wide(width) {
            return g.wide_bits(self, at, width);
        }
        if width > 64 {
            let high = self.bits(g, at, width - 64);
            let low = self.bits(g, at + width - 64, 64);
            return g.b.ins().iconcat(low, high);
        }
        if width == 0 {
            return g.iconst(0);
        }
        let (byte, before) = (at / 8, at % 8);
        if before + width > 64 {
            // Nine bytes.
            let behind = before + width - 64;
            let high = self.bits(g, at, width - behind);
            let low = self.bits(g, at + width - behind, behind);
            let high = g.b.ins().ishl_imm_u(high, i64::from(behind));
            return g.b.ins().bor(high, low);
        }
        // Up to three bytes more than the field has.
        let bytes = (before + width).div_ceil(8).next_power_of_two();
        let mut value = self.load(g, byte, bytes);
        let behind = 8 * bytes - before - width;
        if behind > 0 {
            value = g.b.ins().ushr_imm_u(value, i64::from(behind));
        }
        if before > 0 { g.cut(value, width) } else { value }
    }
}
