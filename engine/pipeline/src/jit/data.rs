//! Values put together in wire order: the deparser's output, the input of hashes and checksums.

use std::mem::offset_of;

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value, types};
use marklab_p4::ir::{
    BlockBody, Checksum, DataField, ExprKind, HashAlgorithm, HeaderId, HeaderRef, Place, Program, Stmt, StmtKind,
};
use marklab_p4::source::Span;

use super::context::{self, Context, algorithm_number};
use super::generator::{Generator, Home, valid_place};
use super::parse::fields;
use super::{Result, unsupported};
use crate::packet::SLACK;

/// The headers of a deparser that does nothing but emit them one after the other.
pub(super) fn plain_emits(body: &BlockBody) -> Option<Vec<HeaderId>> {
    let BlockBody::Control(body) = body else { return None };
    let headers = body.iter().map(|stmt| match stmt.kind {
        StmtKind::Emit(header) => Some(header),
        _ => None,
    });
    headers.collect()
}

/// Bytes that a deparser writes at most; `None` if it emits in a loop.
pub(super) fn emit_capacity(program: &Program, body: &BlockBody) -> Option<usize> {
    fn of(program: &Program, body: &[Stmt]) -> Option<usize> {
        let bytes = body.iter().map(|stmt| match &stmt.kind {
            StmtKind::Emit(header) => {
                let header = &program.headers[header.index()];
                Some(fields(program, header).map(|(_, slot)| slot.ty.width as usize).sum::<usize>().div_ceil(8))
            }
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

/// Some fields of one header, or of none, that are present or absent together.
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

/// The place of a field that is a `varbit`.
fn varbit<'d>(program: &Program, field: &'d DataField) -> Option<&'d Place> {
    match &field.expr.kind {
        ExprKind::Load(place) => program.slots[place.slot.index()].varbit_width.map(|_| place),
        _ => None,
    }
}

impl Generator<'_, '_> {
    pub(super) fn begin_emitting(&mut self, body: &BlockBody) -> Result<()> {
        let start = match plain_emits(body) {
            Some(headers) => self.place_in_front(&headers)?,
            None => self.load_context(offset_of!(Context, emitted)),
        };
        let cursor = self.b.declare_var(types::I64);
        self.b.def_var(cursor, start);
        self.emitted = Some((start, cursor));
        Ok(())
    }

    /// Where these headers end right before the payload.
    fn place_in_front(&mut self, headers: &[HeaderId]) -> Result<Value> {
        let mut total = self.iconst(0);
        for &header in headers {
            let bytes = self.header_bytes(header)?;
            total = self.b.ins().iadd(total, bytes);
        }
        let offset = crate::layout::reserved::PAYLOAD_OFFSET as i32;
        let consumed = self.b.ins().uload32(self.regions.phv, self.phv, offset);
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

    /// Bytes that a header takes in the packet: none if it is invalid.
    fn header_bytes(&mut self, header: HeaderId) -> Result<Value> {
        let spec = &self.program.headers[header.index()];
        let fixed: u32 = fields(self.program, spec)
            .filter(|(_, slot)| slot.varbit_width.is_none())
            .map(|(_, slot)| slot.ty.width)
            .sum();
        let mut bytes = self.iconst(i64::from(fixed / 8));
        for (_, slot) in fields(self.program, spec) {
            if let Some(width) = slot.varbit_width {
                let bits = self.read(&width.into())?;
                let varying = self.b.ins().ushr_imm_u(bits, 3);
                bytes = self.b.ins().iadd(bytes, varying);
            }
        }
        let valid = self.read(&spec.valid.into())?;
        let none = self.iconst(0);
        Ok(self.b.ins().select(valid, bytes, none))
    }

    pub(super) fn end_emitting(&mut self) {
        if let Some((start, cursor)) = self.emitted {
            let end = self.b.use_var(cursor);
            let bytes = self.b.ins().isub(end, start);
            let offset = offset_of!(Context, emitted_len) as i32;
            self.b.ins().store(self.regions.context, bytes, self.context, offset);
        }
    }

    /// Appends a header if it is valid.
    pub(super) fn emit(&mut self, header: HeaderId, span: Span) -> Result<()> {
        let Some((_, cursor)) = self.emitted else { return unsupported("`emit` outside of a deparser", span) };
        let spec = &self.program.headers[header.index()];
        let valid = self.read(&spec.valid.into())?;
        let after = self.when(valid);
        let mut packer = Packer::new(self.b.use_var(cursor));
        for (id, slot) in fields(self.program, spec) {
            if slot.varbit_width.is_some() {
                packer = self.pack_varbit(packer, &id.into(), span)?;
            } else {
                let value = self.read(&id.into())?;
                packer.push(self, value, slot.ty.width);
            }
        }
        let end = packer.finish(self);
        self.b.def_var(cursor, end);
        self.b.ins().jump(after, &[]);
        self.b.switch_to_block(after);
        Ok(())
    }

    /// Address of a `varbit`'s bytes and their number.
    fn varbit_bytes_at(&mut self, place: &Place, span: Span) -> Result<(Value, Value)> {
        let Some(width) = self.program.slots[place.slot.index()].varbit_width else {
            return unsupported("this varbit", span);
        };
        let bits = self.read(&Place { slot: width, index: place.index.clone() })?;
        let bytes = self.b.ins().ushr_imm_u(bits, 3);
        match self.home(place)? {
            Home::Memory { address, offset, .. } => Ok((self.b.ins().iadd_imm_u(address, i64::from(offset)), bytes)),
            Home::Ssa(_) => unsupported("a local varbit", span),
        }
    }

    /// Appends a `varbit`, which must begin on a byte.
    fn pack_varbit(&mut self, packer: Packer, place: &Place, span: Span) -> Result<Packer> {
        if !packer.bits.is_multiple_of(8) {
            return unsupported("a varbit that does not begin on a byte", span);
        }
        let end = packer.finish(self);
        let (from, bytes) = self.varbit_bytes_at(place, span)?;
        self.call(&context::COPY, &[end, from, bytes])?;
        Ok(Packer::new(self.b.ins().iadd(end, bytes)))
    }

    /// Stores bytes of the packet as a `varbit`, zeros behind them.
    pub(super) fn read_varbit(&mut self, place: &Place, from: Value, bytes: Value, span: Span) -> Result<()> {
        let Home::Memory { flags, address, offset, size, in_range: None } = self.home(place)? else {
            return unsupported("a varbit in a header stack", span);
        };
        let zero = self.iconst(0);
        for at in (0..size as i32).step_by(8) {
            self.b.ins().store(flags, zero, address, offset + at);
        }
        let target = self.b.ins().iadd_imm_u(address, i64::from(offset));
        self.call(&context::COPY, &[target, from, bytes])?;
        Ok(())
    }

    /// Writes fields to the stack in wire order; gives their address and the number of bytes.
    fn input(&mut self, data: &[DataField], span: Span) -> Result<(Value, Value)> {
        let bits: u32 = data.iter().map(|field| field.expr.ty.width.next_multiple_of(8)).sum();
        let buffer = self.stack_slot(bits / 8 + 2 * SLACK as u32);
        let start = self.b.ins().stack_addr(types::I64, buffer, 0);
        let end = self.b.declare_var(types::I64);
        self.b.def_var(end, start);
        let groups = groups(data);
        let last = groups.len().saturating_sub(1);
        for (number, group) in groups.iter().enumerate() {
            let after = match group.header {
                Some(header) => {
                    let valid = self.read(&valid_place(self.program, header))?;
                    Some(self.when(valid))
                }
                None => None,
            };
            let mut packer = Packer::new(self.b.use_var(end));
            for field in &group.fields {
                if let Some(place) = varbit(self.program, field) {
                    packer = self.pack_varbit(packer, place, span)?;
                } else {
                    let value = self.eval(&field.expr)?;
                    packer.push(self, value, field.expr.ty.width);
                }
            }
            if number != last && !packer.bits.is_multiple_of(8) {
                return unsupported("hash input in which one header's fields do not end on a byte", span);
            }
            let reached = packer.finish(self);
            self.b.def_var(end, reached);
            if let Some(after) = after {
                self.b.ins().jump(after, &[]);
                self.b.switch_to_block(after);
            }
        }
        let end = self.b.use_var(end);
        Ok((start, self.b.ins().isub(end, start)))
    }

    /// Hash of fields, as 64-bit number.
    pub(super) fn hash(&mut self, algorithm: HashAlgorithm, data: &[DataField], span: Span) -> Result<Value> {
        if algorithm == HashAlgorithm::Csum16
            && let Some(sum) = self.sum16(data)?
        {
            return Ok(sum);
        }
        let (start, bytes) = self.input(data, span)?;
        match algorithm {
            HashAlgorithm::Crc32 => self.call_value(&context::CRC32, &[start, bytes]),
            HashAlgorithm::Random => unsupported("HashAlgorithm.random", span),
            _ => {
                let number = self.iconst(algorithm_number(algorithm));
                self.call_value(&context::HASH, &[number, start, bytes])
            }
        }
    }

    /// Value that a checksum should have.
    pub(super) fn checksum_value(&mut self, checksum: &Checksum, span: Span) -> Result<Value> {
        let value = if checksum.with_payload {
            let (start, bytes) = self.input(&checksum.data, span)?;
            let number = self.iconst(algorithm_number(checksum.algorithm));
            let offset = crate::layout::reserved::PAYLOAD_OFFSET as i32;
            let payload = self.b.ins().uload32(self.regions.phv, self.phv, offset);
            self.call_value(&context::HASH_WITH_PAYLOAD, &[self.context, number, start, bytes, payload])?
        } else {
            self.hash(checksum.algorithm, &checksum.data, span)?
        };
        let width = self.program.slots[checksum.field.slot.index()].ty.width;
        Ok(self.cut(value, width.min(64)))
    }

    /// The Internet checksum without going through memory: a field that ends `k` bits before a 16-bit boundary adds
    /// its value times 2^k, because 2^16 is 1 in ones' complement arithmetic. `None` where fields may be shifted by
    /// others that are absent, or have no fixed width.
    fn sum16(&mut self, data: &[DataField]) -> Result<Option<Value>> {
        let groups = groups(data);
        let width = |group: &Group<'_>| group.fields.iter().map(|field| field.expr.ty.width).sum::<u32>();
        let last = groups.len().saturating_sub(1);
        let shifts = |(number, group): (usize, &Group<'_>)| number != last && !width(group).is_multiple_of(16);
        let any_varbit = data.iter().any(|field| varbit(self.program, field).is_some());
        // Each term is below 2^48, so that 2^16 of them fit 64 bits.
        if any_varbit || groups.iter().enumerate().any(shifts) || data.len() > 1 << 14 {
            return Ok(None);
        }
        let mut sum = self.iconst(0);
        for group in &groups {
            let mut part = self.iconst(0);
            let mut at = 0;
            for field in &group.fields {
                let value = self.eval(&field.expr)?;
                part = self.add_term(part, value, at, field.expr.ty.width);
                at += field.expr.ty.width;
            }
            if let Some(header) = group.header {
                let valid = self.read(&valid_place(self.program, header))?;
                let zero = self.iconst(0);
                part = self.b.ins().select(valid, part, zero);
            }
            sum = self.b.ins().iadd(sum, part);
        }
        for half in [32, 16, 16, 16] {
            let low = self.b.ins().band_imm_u(sum, (1i64 << half) - 1);
            let high = self.b.ins().ushr_imm_u(sum, half);
            sum = self.b.ins().iadd(low, high);
        }
        let complement = self.b.ins().bnot(sum);
        Ok(Some(self.b.ins().band_imm_u(complement, 0xffff)))
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

/// Writes bit fields one after the other from an address on, eight bytes at a time, and nothing beyond the end.
struct Packer {
    address: Value,
    /// Bits pushed.
    bits: u32,
    /// The bits of the last, incomplete word, most significant first.
    word: Option<Value>,
}

impl Packer {
    fn new(address: Value) -> Packer {
        Packer { address, bits: 0, word: None }
    }

    fn push(&mut self, g: &mut Generator<'_, '_>, value: Value, width: u32) {
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

    /// Stores what is left, in pieces of 4, 2 and 1 bytes; gives the address behind the last byte.
    fn finish(mut self, g: &mut Generator<'_, '_>) -> Value {
        if let Some(word) = self.word.take() {
            let mut rest = g.b.ins().bswap(word);
            let mut at = (self.bits / 64 * 8) as i32;
            let end = self.bits.div_ceil(8) as i32;
            for size in [4, 2, 1] {
                if end - at >= size {
                    let flags = g.regions.stack;
                    match size {
                        4 => g.b.ins().istore32(flags, rest, self.address, at),
                        2 => g.b.ins().istore16(flags, rest, self.address, at),
                        _ => g.b.ins().istore8(flags, rest, self.address, at),
                    };
                    rest = g.b.ins().ushr_imm_u(rest, i64::from(size) * 8);
                    at += size;
                }
            }
        }
        g.b.ins().iadd_imm_u(self.address, i64::from(self.bits.div_ceil(8)))
    }
}
