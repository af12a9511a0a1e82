// SPDX-License-Identifier: MIT OR Apache-2.0
//! Values concatenated in wire order: the output of deparsers, the input of hashes and checksums.

use std::mem::offset_of;

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, InstBuilder, Value, types};
use marklab_p4::ir::{
    BlockBody, Checksum, DataField, ExprKind, ExternCall, HashAlgorithm, HeaderId, HeaderRef, Place, Program, SlotId,
    Stmt, StmtKind, visit,
};
use marklab_p4::source::Span;

use super::context::{self, Context};
use super::generator::Generator;
use super::shapes::{Emitting, fields, is_wide, valid_place};
use super::{Result, unsupported};
use crate::packet::SLACK;
use crate::words::words_for;

/// The headers that a deparser emits, if their validity is known at its start: it emits them one after the other, and
/// its other statements do not change the validity or length of headers.
pub(super) fn plain_emits(program: &Program, body: &BlockBody) -> Option<Vec<HeaderId>> {
    let BlockBody::Control(body) = body else { return None };
    let mut headers = Vec::new();
    for stmt in body {
        match stmt.kind {
            StmtKind::Emit(header) => headers.push(header),
            _ if keeps_headers(program, stmt) => {}
            _ => return None,
        }
    }
    Some(headers)
}

/// Whether a statement emits nothing, and changes neither the packet nor the lengths of headers.
fn keeps_headers(program: &Program, stmt: &Stmt) -> bool {
    let is_length = |slot: &SlotId| {
        program.headers.iter().any(|header| header.valid == *slot)
            || program.slots.iter().any(|other| other.varbit_width == Some(*slot))
            || program.slots[slot.index()].varbit_width.is_some()
    };
    let mut keeps = true;
    visit::statements(std::slice::from_ref(stmt), &mut |stmt| {
        keeps &= match &stmt.kind {
            StmtKind::Extern(ExternCall::UpdateChecksum(checksum) | ExternCall::VerifyChecksum(checksum))
                if checksum.with_payload =>
            {
                false
            }
            StmtKind::Assign { .. } | StmtKind::Extern(_) | StmtKind::If { .. } => {
                !visit::written(stmt).iter().any(is_length)
            }
            _ => false,
        };
    });
    keeps
}

/// Largest number of bytes that a deparser writes; `None` if it emits in a loop.
pub(super) fn emit_capacity(program: &Program, body: &BlockBody) -> Option<usize> {
    fn of(program: &Program, body: &[Stmt]) -> Option<usize> {
        let bytes = body.iter().map(|stmt| match &stmt.kind {
            StmtKind::Emit(header) => Some(most_bytes(program, *header)),
            StmtKind::If { then, otherwise, .. } => Some(of(program, then)? + of(program, otherwise)?),
            StmtKind::Switch { cases, default, .. } => {
                cases.iter().try_fold(of(program, default)?, |sum, (_, body)| Some(sum + of(program, body)?))
            }
            StmtKind::Block { body, .. } => of(program, body),
            StmtKind::Loop { body, .. } => (of(program, body)? == 0).then_some(0),
            _ => Some(0),
        });
        bytes.sum()
    }
    match body {
        BlockBody::Control(body) => of(program, body),
        BlockBody::Parser(_) => Some(0),
    }
}

/// Bytes of a header with the longest possible `varbit`.
fn most_bytes(program: &Program, header: HeaderId) -> usize {
    let header = &program.headers[header.index()];
    fields(program, header).map(|(_, slot)| slot.ty.width as usize).sum::<usize>().div_ceil(8)
}

/// Fields of one header, or of none, that are present or absent together.
struct Group<'d> {
    header: Option<&'d HeaderRef>,
    fields: Vec<&'d DataField>,
}

fn groups(data: &[DataField]) -> Vec<Group<'_>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    for field in data {
        match groups.last_mut() {
            Some(group) if group.header == field.header.as_ref() => group.fields.push(field),
            _ => groups.push(Group { header: field.header.as_ref(), fields: vec![field] }),
        }
    }
    groups
}

/// Places of a `varbit` field and of its width; `None` for other fields.
fn varbit<'d>(program: &Program, field: &'d DataField) -> Option<(&'d Place, Place)> {
    match &field.expr.kind {
        ExprKind::Load(place) => {
            let width = program.slots[place.slot.index()].varbit_width;
            width.map(|slot| (place, Place { slot, index: place.index.clone() }))
        }
        _ => None,
    }
}

impl Generator<'_, '_> {
    pub(super) fn begin_emitting(&mut self, body: &BlockBody) -> Result<()> {
        let in_place = plain_emits(self.program, body);
        let start = match &in_place {
            Some(headers) => self.place_in_front(headers)?,
            None => self.load_context(offset_of!(Context, emitted)),
        };
        let cursor = self.b.declare_var(types::I64);
        self.b.def_var(cursor, start);
        let grows = emit_capacity(self.program, body).is_none();
        self.emitting = Some(Emitting { in_place: in_place.is_some().then_some(start), cursor, grows });
        Ok(())
    }

    /// Address at which these headers start, if they end right before the payload.
    fn place_in_front(&mut self, headers: &[HeaderId]) -> Result<Value> {
        let mut total = self.iconst(0);
        for &header in headers {
            let bytes = self.header_bytes(header)?;
            total = self.b.ins().iadd(total, bytes);
        }
        let offset = crate::layout::reserved::PAYLOAD_OFFSET as i32;
        let consumed = self.b.ins().uload32(self.regions.phv, self.phv, offset);
        // If more was consumed than is stored, the packet is not the one that was parsed. `Packet::move_front` detects
        // that later; until then, nothing may be written beyond the packet.
        let stored = self.load_context(offset_of!(Context, stored));
        let consumed = self.b.ins().umin(consumed, stored);
        let headroom = self.load_context(offset_of!(Context, headroom));
        let room = self.b.ins().iadd(consumed, headroom);
        let grows = self.b.ins().icmp(IntCC::UnsignedGreaterThan, total, room);
        let after = self.when(grows);
        let needed = self.b.ins().isub(total, consumed);
        self.call(&context::MAKE_ROOM, &[self.context, needed])?;
        self.b.ins().jump(after, &[]);
        self.b.switch_to_block(after);
        let packet = self.load_context(offset_of!(Context, packet_bytes));
        let payload = self.b.ins().iadd(packet, consumed);
        Ok(self.b.ins().isub(payload, total))
    }

    /// Bytes that a header takes in the packet: 0 if it is invalid.
    fn header_bytes(&mut self, header: HeaderId) -> Result<Value> {
        let spec = &self.program.headers[header.index()];
        let fixed: u32 = fields(self.program, spec)
            .filter(|(_, slot)| slot.varbit_width.is_none())
            .map(|(_, slot)| slot.ty.width)
            .sum();
        let mut bytes = self.iconst(i64::from(fixed / 8));
        for (id, _) in fields(self.program, spec) {
            let field = Place::from(id);
            if let Some(width) = self.varbit_width(&field) {
                let bits = self.varbit_bits(&field, &width)?;
                let varying = self.b.ins().ushr_imm_u(bits, 3);
                bytes = self.b.ins().iadd(bytes, varying);
            }
        }
        let valid = self.read(&spec.valid.into())?;
        let none = self.iconst(0);
        Ok(self.b.ins().select(valid, bytes, none))
    }

    pub(super) fn end_emitting(&mut self) {
        if let Some(Emitting { in_place, cursor, .. }) = self.emitting {
            let start = in_place.unwrap_or_else(|| self.load_context(offset_of!(Context, emitted)));
            let end = self.b.use_var(cursor);
            let bytes = self.b.ins().isub(end, start);
            let offset = offset_of!(Context, emitted_len) as i32;
            self.b.ins().store(self.regions.context, bytes, self.context, offset);
        }
    }

    /// Appends a header if it is valid.
    pub(super) fn emit(&mut self, header: HeaderId, span: Span) -> Result<()> {
        let Some(Emitting { cursor, grows, .. }) = self.emitting else {
            return unsupported("`emit` outside of a deparser", span);
        };
        let spec = &self.program.headers[header.index()];
        let valid = self.read(&spec.valid.into())?;
        let after = self.when(valid);
        let mut start = self.b.use_var(cursor);
        if grows {
            let bytes = self.iconst(most_bytes(self.program, header) as i64);
            start = self.call_value(&context::RESERVE, &[self.context, start, bytes])?;
        }
        let mut packer = Packer::new(start);
        for (id, slot) in fields(self.program, spec) {
            packer = match self.varbit_width(&id.into()) {
                Some(width) => self.pack_varbit(packer, &id.into(), &width)?,
                None => {
                    let value = self.read(&id.into())?;
                    packer.push(self, value, slot.ty.width);
                    packer
                }
            };
        }
        let end = packer.finish(self);
        self.b.def_var(cursor, end);
        self.b.ins().jump(after, &[]);
        self.b.switch_to_block(after);
        Ok(())
    }

    /// Appends a `varbit`.
    fn pack_varbit(&mut self, packer: Packer, place: &Place, width: &Place) -> Result<Packer> {
        let begun = packer.bits % 8;
        let bits = self.varbit_bits(place, width)?;
        let from = self.read(place)?;
        let end = packer.finish(self);
        let bytes = self.b.ins().ushr_imm_u(bits, 3);
        if begun == 0 {
            self.call(&context::COPY, &[end, from, bytes])?;
            return Ok(Packer::new(self.b.ins().iadd(end, bytes)));
        }
        // Whole bytes that begin in the middle of a byte end in the middle of a byte.
        let last = self.b.ins().iadd_imm_s(end, -1);
        let at = self.iconst(i64::from(begun));
        self.call(&context::PUT_BITS, &[last, at, from, bits])?;
        let last = self.b.ins().iadd(last, bytes);
        Ok(Packer::resume(self, last, begun))
    }

    /// Writes fields to memory in wire order. Returns their address and the number of bytes.
    fn input(&mut self, data: &[DataField]) -> Result<(Value, Value)> {
        let bits: u32 = data.iter().map(|field| field.expr.ty.width.next_multiple_of(8)).sum();
        let start = self.fresh(bits / 8 + 2 * SLACK as u32);
        let groups = groups(data);
        let width = |group: &Group<'_>| group.fields.iter().map(|field| field.expr.ty.width).sum::<u32>();
        let others = groups.len().saturating_sub(1);
        if groups[..others].iter().any(|group| !width(group).is_multiple_of(8)) {
            return self.input_bit_by_bit(data, start);
        }
        let end = self.b.declare_var(types::I64);
        self.b.def_var(end, start);
        for group in &groups {
            let after = self.when_valid(group.header)?;
            let mut packer = Packer::new(self.b.use_var(end));
            for field in &group.fields {
                packer = match varbit(self.program, field) {
                    Some((place, width)) => self.pack_varbit(packer, place, &width)?,
                    None => {
                        let value = self.eval(&field.expr)?;
                        packer.push(self, value, field.expr.ty.width);
                        packer
                    }
                };
            }
            let reached = packer.finish(self);
            self.b.def_var(end, reached);
            self.end_when(after);
        }
        let end = self.b.use_var(end);
        Ok((start, self.b.ins().isub(end, start)))
    }

    /// [`Generator::input`] for data in which the bit offsets of fields depend on the validity of headers before them.
    fn input_bit_by_bit(&mut self, data: &[DataField], start: Value) -> Result<(Value, Value)> {
        let end_bit = self.b.declare_var(types::I64);
        let zero = self.iconst(0);
        self.b.def_var(end_bit, zero);
        for field in data {
            let after = self.when_valid(field.header.as_ref())?;
            let (value, width) = match varbit(self.program, field) {
                Some((place, width)) => (self.read(place)?, self.varbit_bits(place, &width)?),
                None => {
                    let (value, width) = (self.eval(&field.expr)?, field.expr.ty.width);
                    let words = self.spill(value, width);
                    let bytes = self.fresh(width.div_ceil(64) * 8);
                    let bits = self.iconst(i64::from(width));
                    self.call(&context::WIRE_BITS, &[bytes, words, bits])?;
                    (bytes, bits)
                }
            };
            let at = self.b.use_var(end_bit);
            self.call(&context::PUT_BITS, &[start, at, value, width])?;
            let reached = self.b.ins().iadd(at, width);
            self.b.def_var(end_bit, reached);
            self.end_when(after);
        }
        let bits = self.b.use_var(end_bit);
        let rounded = self.b.ins().iadd_imm_u(bits, 7);
        Ok((start, self.b.ins().ushr_imm_u(rounded, 3)))
    }

    /// Begins a block that runs if the header is valid, if there is a header.
    fn when_valid(&mut self, header: Option<&HeaderRef>) -> Result<Option<Block>> {
        let Some(header) = header else { return Ok(None) };
        let valid = self.read(&valid_place(self.program, header))?;
        Ok(Some(self.when(valid)))
    }

    fn end_when(&mut self, after: Option<Block>) {
        if let Some(after) = after {
            self.b.ins().jump(after, &[]);
            self.b.switch_to_block(after);
        }
    }

    /// Hash of fields, as a 64-bit number.
    pub(super) fn hash(&mut self, algorithm: HashAlgorithm, data: &[DataField]) -> Result<Value> {
        if algorithm == HashAlgorithm::Csum16
            && let Some(sum) = self.sum16(data)?
        {
            return Ok(sum);
        }
        let (start, bytes) = self.input(data)?;
        match algorithm {
            HashAlgorithm::Crc32 => self.call_value(&context::CRC32, &[start, bytes]),
            _ => {
                let number = self.algorithm(algorithm);
                self.call_value(&context::HASH, &[self.context, number, start, bytes])
            }
        }
    }

    /// Number by which the code refers to an algorithm.
    fn algorithm(&mut self, algorithm: HashAlgorithm) -> Value {
        self.referred.algorithms.push(algorithm);
        self.iconst(self.referred.algorithms.len() as i64 - 1)
    }

    /// The correct value of a checksum.
    pub(super) fn checksum_value(&mut self, checksum: &Checksum) -> Result<Value> {
        if !checksum.with_payload {
            return self.hash(checksum.algorithm, &checksum.data);
        }
        let (start, bytes) = self.input(&checksum.data)?;
        let number = self.algorithm(checksum.algorithm);
        let offset = crate::layout::reserved::PAYLOAD_OFFSET as i32;
        let payload = self.b.ins().uload32(self.regions.phv, self.phv, offset);
        self.call_value(&context::HASH_WITH_PAYLOAD, &[self.context, number, start, bytes, payload])
    }

    /// The Internet checksum without going through memory: a field that ends `k` bits before a 16-bit boundary adds
    /// its value times 2^k, because 2^16 is 1 in ones' complement arithmetic. `None` if absent fields may shift others,
    /// or if fields are wide or have no fixed width.
    fn sum16(&mut self, data: &[DataField]) -> Result<Option<Value>> {
        let groups = groups(data);
        let width = |group: &Group<'_>| group.fields.iter().map(|field| field.expr.ty.width).sum::<u32>();
        let last = groups.len().saturating_sub(1);
        let shifts = |(number, group): (usize, &Group<'_>)| number != last && !width(group).is_multiple_of(16);
        let odd = |field: &DataField| is_wide(field.expr.ty.width) || varbit(self.program, field).is_some();
        // Each term is below 2^48, so 2^16 of them fit in 64 bits.
        if data.iter().any(odd) || groups.iter().enumerate().any(shifts) || data.len() > 1 << 14 {
            return Ok(None);
        }
        let mut sum = self.iconst(0);
        let mut largest = 0;
        for group in &groups {
            let mut part = self.iconst(0);
            let mut at = 0;
            for field in &group.fields {
                let value = self.eval(&field.expr)?;
                let width = field.expr.ty.width;
                part = self.add_term(part, value, at, width);
                largest += largest_term(at, width);
                at += width;
            }
            if let Some(header) = group.header {
                let valid = self.read(&valid_place(self.program, header))?;
                let zero = self.iconst(0);
                part = self.b.ins().select(valid, part, zero);
            }
            sum = self.b.ins().iadd(sum, part);
        }
        let sum = self.fold16(sum, largest);
        let complement = self.b.ins().bnot(sum);
        Ok(Some(self.b.ins().band_imm_u(complement, 0xffff)))
    }

    /// The ones' complement sum of the 16-bit parts of a number that is at most `largest`.
    fn fold16(&mut self, mut sum: Value, mut largest: u128) -> Value {
        while largest > u32::MAX.into() {
            let low = self.b.ins().band_imm_u(sum, 0xffff);
            let high = self.b.ins().ushr_imm_u(sum, 16);
            sum = self.b.ins().iadd(low, high);
            largest = 0xffff + (largest >> 16);
        }
        // Both halves added to both halves: the upper sum gets the carry of the lower one, as ones' complement wants.
        let halves = self.b.ins().ireduce(types::I32, sum);
        let swapped = self.b.ins().rotl_imm_u(halves, 16);
        let sums = self.b.ins().iadd(halves, swapped);
        let upper = self.b.ins().ushr_imm_u(sums, 16);
        self.b.ins().uextend(types::I64, upper)
    }

    /// Adds a field of `width` bits that begins at bit `at`.
    fn add_term(&mut self, sum: Value, value: Value, at: u32, width: u32) -> Value {
        let narrow = |g: &mut Self, value, shift: u32| {
            let down = g.b.ins().ushr_imm_u(value, i64::from(shift));
            g.convert(down, types::I64)
        };
        if width > 32 {
            let low_bits = if width > 64 { 64 } else { 32 };
            let high = narrow(self, value, low_bits);
            let sum = self.add_term(sum, high, at, width - low_bits);
            let low = self.convert(value, types::I64);
            let low = self.cut(low, low_bits);
            return self.add_term(sum, low, at + width - low_bits, low_bits);
        }
        let behind = (16 - (at + width) % 16) % 16;
        let term = self.b.ins().ishl_imm_u(value, i64::from(behind));
        self.b.ins().iadd(sum, term)
    }
}

/// The most that [`Generator::add_term`] adds for a field of `width` bits that begins at bit `at`.
fn largest_term(at: u32, width: u32) -> u128 {
    match width {
        0..=32 => ((1 << width) - 1) << ((16 - (at + width) % 16) % 16),
        _ => u128::from(width.div_ceil(32)) << 48,
    }
}

/// Writes bit fields one after the other, from an address on, eight bytes at a time. Writes nothing beyond their end.
struct Packer {
    address: Value,
    /// Number of bits pushed.
    bits: u32,
    /// The bits of the last, incomplete word, most significant first.
    word: Option<Value>,
}

impl Packer {
    fn new(address: Value) -> Packer {
        Packer { address, bits: 0, word: None }
    }

    /// Continues behind the first `bits` bits of the byte at the address; `bits` is less than eight.
    fn resume(g: &mut Generator<'_, '_>, address: Value, bits: u32) -> Packer {
        let byte = g.b.ins().uload8(types::I64, g.regions.stack, address, 0);
        Packer { address, bits, word: Some(g.b.ins().ishl_imm_u(byte, 56)) }
    }

    fn push(&mut self, g: &mut Generator<'_, '_>, value: Value, width: u32) {
        if is_wide(width) {
            for word in (0..words_for(width) as u32).rev() {
                let part = g.b.ins().load(types::I64, g.regions.stack, value, 8 * word as i32);
                self.push(g, part, (width - 64 * word).min(64));
            }
            return;
        }
        if width > 64 {
            let (low, high) = g.b.ins().isplit(value);
            self.push(g, high, width - 64);
            return self.push(g, low, 64);
        }
        if width == 0 {
            return;
        }
        let room = 64 - self.bits % 64;
        if width <= room {
            let placed = g.b.ins().ishl_imm_u(value, i64::from(room - width));
            self.merge(g, placed);
            self.bits += width;
            if width == room {
                self.flush(g);
            }
        } else {
            let rest = width - room;
            let first = g.b.ins().ushr_imm_u(value, i64::from(rest));
            self.merge(g, first);
            self.bits += room;
            self.flush(g);
            self.word = Some(g.b.ins().ishl_imm_u(value, i64::from(64 - rest)));
            self.bits += rest;
        }
    }

    fn merge(&mut self, g: &mut Generator<'_, '_>, placed: Value) {
        self.word = Some(match self.word {
            Some(word) => g.b.ins().bor(word, placed),
            None => placed,
        });
    }

    /// Stores the last word, which is full.
    fn flush(&mut self, g: &mut Generator<'_, '_>) {
        if let Some(word) = self.word.take() {
            let swapped = g.b.ins().bswap(word);
            let at = self.bits / 64 * 8 - 8;
            g.b.ins().store(g.regions.stack, swapped, self.address, at as i32);
        }
    }

    /// Stores the remaining bits, in pieces of 8, 4, 2 and 1 bytes. Returns the address behind the last byte.
    fn finish(mut self, g: &mut Generator<'_, '_>) -> Value {
        if let Some(word) = self.word.take() {
            let mut rest = g.b.ins().bswap(word);
            let mut at = (self.bits / 64 * 8) as i32;
            let end = self.bits.div_ceil(8) as i32;
            for size in [8, 4, 2, 1] {
                if end - at >= size {
                    let flags = g.regions.stack;
                    match size {
                        8 => g.b.ins().store(flags, rest, self.address, at),
                        4 => g.b.ins().istore32(flags, rest, self.address, at),
                        2 => g.b.ins().istore16(flags, rest, self.address, at),
                        _ => g.b.ins().istore8(flags, rest, self.address, at),
                    };
                    if size < 8 {
                        rest = g.b.ins().ushr_imm_u(rest, i64::from(size) * 8);
                    }
                    at += size;
                }
            }
        }
        g.b.ins().iadd_imm_u(self.address, i64::from(self.bits.div_ceil(8)))
    }
}
