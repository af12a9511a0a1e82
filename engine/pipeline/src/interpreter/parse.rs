// SPDX-License-Identifier: MIT OR Apache-2.0
//! Parser and deparser.

use marklab_p4::ir::{
    Expr, ExprKind, HeaderId, HeaderRef, Index, KeySet, ParserBody, Place, SlotId, StackId, State, StateId, Target,
    Transition, Ty, ValueSetId,
};
use num_bigint::BigUint;

use super::{Frame, Jump, Step};
use crate::EventKind;
use crate::rejection::{self, Rejection};
use crate::words::{Bits, mask};
use marklab_p4::arith::from_image;

impl<'a> Frame<'a> {
    /// Runs a parser. Headers that were extracted before an error stay valid. Returns false if the packet is refused.
    pub(super) fn parse(&mut self, parser: &'a ParserBody) -> bool {
        match self.parser_error(parser) {
            Some(error) if !self.reject(error) => false,
            _ => {
                // The deparser replaces the consumed bytes, so they have to be stored.
                self.packet.store(self.cursor);
                self.phv.set_payload_offset(self.cursor);
                true
            }
        }
    }

    /// Runs the states of a parser. Returns the code of the error that ends it, if any.
    fn parser_error(&mut self, parser: &'a ParserBody) -> Option<u32> {
        let looping = crate::looping_states(parser);
        let mut target = Target::State(parser.start);
        while let Target::State(StateId(state)) = target {
            if looping[state as usize] && !self.burn() {
                return Some(self.error_code("ParserTimeout"));
            }
            self.span = parser.states[state as usize].span;
            self.note_state(StateId(state));
            match self.parser_state(&parser.states[state as usize]) {
                Ok(next) => target = next,
                Err(Jump::Reject(error)) => return Some(error),
                Err(_) => return None,
            }
        }
        let unnamed = rejection::unnamed(self.program).filter(|_| target == Target::Reject);
        unnamed.map(|name| self.error_code(name))
    }

    fn parser_state(&mut self, state: &'a State) -> Step<Target> {
        self.span = state.span;
        self.run(&state.body)?;
        match &state.next {
            Transition::Goto(target) => Ok(*target),
            Transition::Select { keys, cases, span } => {
                self.span = *span;
                let values = keys.iter().map(|key| self.eval(key)).collect::<Step<Vec<_>>>()?;
                let case = cases.iter().find(|(sets, _)| {
                    sets.iter().enumerate().all(|(at, set)| match set {
                        KeySet::ValueSet(id) => self.in_value_set(*id, &values[at..]),
                        set => contains(set, &values[at], keys[at].ty),
                    })
                });
                // BMv2 ends parsing without an error here; P4_16 specifies NoMatch.
                let target = case.map_or(Target::Reject, |(_, target)| *target);
                self.note_selected(values, target);
                Ok(target)
            }
        }
    }

    /// Whether a value set contains the first of these values, as many as its members have components.
    fn in_value_set(&self, id: ValueSetId, values: &[BigUint]) -> bool {
        let set = &self.state.value_sets[id.index()];
        set.contains(&set.shape().key(values.iter().cloned()))
    }

    /// Ends parsing with an error. Returns false if the packet is refused.
    fn reject(&mut self, error: u32) -> bool {
        self.note(|| EventKind::Rejected(error));
        let rejection = Rejection::of(self.program, self.block);
        if let Some(slot) = rejection.slot {
            let code = rejection.codes(self.program).get(error as usize).copied().unwrap_or(error);
            self.locals_or_phv(slot, code.into());
        }
        if rejection.refuses {
            self.state.effects.refuse();
        }
        !rejection.refuses
    }

    /// Code of an error of the core library; 0 (`NoError`) in a program that does not declare it.
    pub(super) fn error_code(&self, name: &str) -> u32 {
        self.program.errors.iter().position(|known| known == name).unwrap_or(0) as u32
    }

    /// Bits of the packet, which must have them.
    pub(super) fn packet_bits(&mut self, start: usize, width: u32) -> BigUint {
        let end = start + width as usize;
        self.packet.store(end.div_ceil(8));
        let bytes = &self.packet.stored()[start / 8..end.div_ceil(8)];
        let excess = end.div_ceil(8) * 8 - end;
        (BigUint::from_bytes_be(bytes) >> excess) & mask(width)
    }

    pub(super) fn advance(&mut self, bits: &Expr) -> Step {
        let bits = self.number(bits)?;
        if !bits.is_multiple_of(8) {
            return Err(Jump::Reject(self.error_code("ParserInvalidArgument")));
        }
        let end = self.cursor as u64 + bits / 8;
        if end > self.packet.len() as u64 {
            return Err(Jump::Reject(self.error_code("PacketTooShort")));
        }
        self.cursor = end as usize;
        self.note(|| EventKind::Advanced(bits));
        Ok(())
    }

    pub(super) fn extract_next(&mut self, stack: StackId, varbit_width: Option<&Expr>) -> Step {
        let spec = &self.program.stacks[stack.index()];
        let next = self.slot(spec.next_index);
        if next >= spec.len.into() {
            return Err(Jump::Reject(self.error_code("StackOutOfBounds")));
        }
        let expr =
            Expr { kind: ExprKind::Const(next.clone()), ty: Ty::bits(32), span: marklab_p4::source::Span::default() };
        let header = HeaderRef { header: spec.first, index: Some(Index { stack, expr: Box::new(expr) }) };
        self.extract(&header, varbit_width)?;
        self.locals_or_phv(spec.next_index, next + 1u32);
        Ok(())
    }

    /// Reads a header. It becomes valid only if the packet has all of it.
    pub(super) fn extract(&mut self, header: &HeaderRef, varbit_width: Option<&Expr>) -> Step {
        let spec = &self.program.headers[header.header.index()];
        let varbit = match varbit_width {
            None => 0,
            Some(width) => self.varbit_width(width)?,
        };
        let fixed: usize = self.fixed_width(&spec.fields);
        let end = self.cursor as u64 + (fixed as u64 + varbit) / 8;
        if end > self.packet.len() as u64 {
            return Err(Jump::Reject(self.error_code("PacketTooShort")));
        }
        // As in BMv2, this check comes after the one of the packet's length.
        if varbit > self.varbit_limit(&spec.fields) {
            return Err(Jump::Reject(self.error_code("HeaderTooShort")));
        }
        let mut at = self.cursor * 8;
        for &slot in &spec.fields {
            let field = &self.program.slots[slot.index()];
            let width = if let Some(width_slot) = field.varbit_width {
                self.write(&Place { slot: width_slot, index: header.index.clone() }, varbit.into())?;
                varbit as u32
            } else {
                field.ty.width
            };
            let value = self.packet_bits(at, width);
            self.write(&self.header_place(header, slot), value)?;
            at += width as usize;
        }
        self.write(&self.header_place(header, spec.valid), BigUint::from(1u32))?;
        self.cursor = end as usize;
        self.note_extracted(header)
    }

    /// The width of a `varbit` field in bits. Rejects if it is not a multiple of 8.
    fn varbit_width(&mut self, width: &Expr) -> Step<u64> {
        let width = self.number(width)?;
        if !width.is_multiple_of(8) {
            return Err(Jump::Reject(self.error_code("ParserInvalidArgument")));
        }
        Ok(width)
    }

    /// Largest width in bits of the `varbit` among these fields, 0 if there is none.
    fn varbit_limit(&self, fields: &[SlotId]) -> u64 {
        let mut slots = fields.iter().map(|slot| &self.program.slots[slot.index()]);
        slots.find(|slot| slot.varbit_width.is_some()).map_or(0, |slot| slot.ty.width.into())
    }

    fn fixed_width(&self, fields: &[SlotId]) -> usize {
        let widths = fields.iter().map(|slot| &self.program.slots[slot.index()]);
        widths.filter(|slot| slot.varbit_width.is_none()).map(|slot| slot.ty.width as usize).sum()
    }

    pub(super) fn emit(&mut self, header: HeaderId) {
        let spec = &self.program.headers[header.index()];
        if self.slot(spec.valid) == BigUint::ZERO {
            return;
        }
        let mut bits = Bits::default();
        for &slot in &spec.fields {
            let width = match self.program.slots[slot.index()].varbit_width {
                None => self.program.slots[slot.index()].ty.width,
                Some(width) => u32::try_from(self.slot(width)).unwrap_or(0),
            };
            bits.push(&self.slot(slot), width);
        }
        self.state.emitted.extend(bits.into_bytes());
        self.note_emitted(header);
    }
}

/// Whether a value is in a set.
fn contains(set: &KeySet, value: &BigUint, ty: Ty) -> bool {
    match set {
        KeySet::Any => true,
        KeySet::Value(member) => value == member,
        KeySet::Mask { value: member, mask } => value & mask == *member,
        KeySet::Range { lo, hi } => {
            let number = |image| from_image(image, ty.width, ty.signed);
            (number(lo)..=number(hi)).contains(&number(value))
        }
        // A value set may take several keys, so the caller handles it.
        KeySet::ValueSet(_) => unreachable!("a value set may take several keys"),
    }
}
