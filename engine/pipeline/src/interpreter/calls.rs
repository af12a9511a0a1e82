// SPDX-License-Identifier: MIT OR Apache-2.0
//! Externs.

use marklab_p4::ir::{Checksum, DataField, Expr, ExprKind, ExternCall, Place, RegisterActionId};
use num_bigint::BigUint;

use super::{Frame, Step};
use crate::words::{Bits, mask};
use crate::{DROP_PORT, EventKind, State};

impl<'a> Frame<'a> {
    pub(super) fn call(&mut self, call: &'a ExternCall) -> Step {
        match call {
            ExternCall::Request(request) => {
                let values =
                    request.operands().into_iter().map(|operand| self.eval(operand)).collect::<Step<Vec<_>>>()?;
                self.note(|| EventKind::Called { name: request.name(), values: values.clone() });
                self.state.effects.keep(request, values);
            }
            ExternCall::RegisterRead { register, dst, index } => {
                let index = self.number(index)?;
                let value = self.state.registers[register.index()].read(index);
                self.note(|| EventKind::RegisterRead { register: *register, index, value: value.clone() });
                if let Some(value) = value {
                    self.write(dst, value)?;
                }
            }
            ExternCall::RegisterWrite { register, index, value } => {
                let index = self.number(index)?;
                let value = self.eval(value)?;
                self.note(|| EventKind::RegisterWritten { register: *register, index, value: value.clone() });
                self.state.registers[register.index()].write(index, &value);
            }
            ExternCall::ExecuteRegister { action, index, dst } => {
                self.execute_register(*action, index, dst.as_ref())?
            }
            ExternCall::Math { unit, dst, input } => {
                let x = self.number(input)?;
                self.store_number(dst, crate::math::evaluate(&self.program.math_units[unit.index()], x))?;
            }
            ExternCall::ChecksumAdd { sum, data, subtract } => {
                let data = crate::hash::of_any_header(data);
                let input = self.data(&data)?.into_bytes();
                let added = match subtract {
                    false => !crate::hash::csum16(&input),
                    true => crate::hash::csum16(&input),
                };
                let before = u64::try_from(self.read(sum)?).unwrap_or(0);
                self.store_number(sum, crate::hash::fold(before + u64::from(added)).into())?;
            }
            ExternCall::Count { counter, index } => {
                let index = self.number(index)?;
                self.note(|| EventKind::Counted { counter: *counter, index });
                let bytes = self.phv.arrival_bytes();
                let cells = &mut self.state.counters[counter.index()];
                if let Some(cell) = usize::try_from(index).ok().and_then(|index| cells.get_mut(index)) {
                    cell.packets += 1;
                    cell.bytes += bytes;
                }
            }
            ExternCall::DirectCount { .. } => {}
            ExternCall::ExecuteMeter { meter, dst, index } => {
                let (index, now, bytes) = (self.number(index)?, self.state.now, self.phv.arrival_bytes());
                let colour = self.state.meters[meter.index()].execute(index, now, bytes);
                self.note(|| EventKind::Metered { meter: *meter, index, colour });
                if let Some(colour) = colour {
                    self.store_number(dst, colour)?;
                }
            }
            ExternCall::Filter { filter, dst, value, index } => {
                let (value, index) = (self.number(value)?, self.number(index)?);
                let State { filters, random, now, .. } = &mut *self.state;
                if let Some(value) = filters[filter.index()].execute(index, *now, value, random) {
                    self.store_number(dst, value)?;
                }
            }
            ExternCall::DirectMeterRead { dst, .. } => {
                if let Some(colour) = self.colour {
                    self.store_number(dst, colour)?;
                }
            }
            ExternCall::Random { dst, lo, hi } => {
                let (lo, hi) = (self.number(lo)?, self.number(hi)?);
                if let Some(value) = crate::random::draw(&mut self.state.random, lo, hi) {
                    self.store_number(dst, value)?;
                }
            }
            ExternCall::Hash { dst, algorithm, base, data, max } => {
                let (base, max) = (self.number(base)?, self.number(max)?);
                let input = self.data(data)?.into_bytes();
                // Without an algorithm (`random`) BMv2 refuses the program. Here the destination does not change.
                if let Some(hash) = crate::hash::hash(*algorithm, &input) {
                    self.store_number(dst, base.wrapping_add(hash % max.max(1)))?;
                }
            }
            ExternCall::VerifyChecksum(checksum) => {
                if let Some(expected) = self.checksum(checksum)? {
                    let found = self.read(&checksum.field)?;
                    self.note_verified(&checksum.field, &expected, &found)?;
                    let slot = self.program.intrinsic("standard_metadata.checksum_error");
                    if let Some(slot) = slot.filter(|_| found != expected) {
                        self.locals_or_phv(slot, BigUint::from(1u32));
                    }
                }
            }
            ExternCall::UpdateChecksum(checksum) => {
                if let Some(value) = self.checksum(checksum)? {
                    self.note_assigned(&checksum.field, &value)?;
                    self.write(&checksum.field, value)?;
                }
            }
            ExternCall::MarkToDrop => {
                self.note(|| EventKind::Called { name: "mark_to_drop", values: Vec::new() });
                let values = [("standard_metadata.egress_spec", DROP_PORT), ("standard_metadata.mcast_grp", 0)];
                for (name, value) in values {
                    if let Some(slot) = self.program.intrinsic(name) {
                        self.locals_or_phv(slot, value.into());
                    }
                }
            }
        }
        Ok(())
    }

    /// Runs a register action on a cell. While it runs, the action's values are the parts of the cell.
    fn execute_register(&mut self, id: RegisterActionId, index: &Expr, dst: Option<&'a Place>) -> Step {
        let action = &self.program.register_actions[id.index()];
        let (register, parts) = (action.register, &self.program.registers[action.register.index()].parts);
        let index = self.number(index)?;
        let cell = self.state.registers[register.index()].read(index);
        self.note(|| EventKind::RegisterRead { register, index, value: cell.clone() });
        let mut returned = BigUint::ZERO;
        if let Some(mut cell) = cell {
            for (&slot, part) in action.value.iter().zip(parts) {
                self.locals_or_phv(slot, &cell & mask(part.width));
                cell >>= part.width;
            }
            if let Some(slot) = action.returned {
                self.locals_or_phv(slot, BigUint::ZERO);
            }
            self.run(&action.body)?;
            for (&slot, part) in action.value.iter().zip(parts).rev() {
                cell = (cell << part.width) | self.slot(slot);
            }
            self.note(|| EventKind::RegisterWritten { register, index, value: cell.clone() });
            self.state.registers[register.index()].write(index, &cell);
            returned = action.returned.map_or(BigUint::ZERO, |slot| self.slot(slot));
        }
        if let Some(dst) = dst {
            self.note_assigned(dst, &returned)?;
            self.write(dst, returned)?;
        }
        Ok(())
    }

    pub(super) fn store_number(&mut self, dst: &Place, value: u64) -> Step {
        let width = self.program.slots[dst.slot.index()].ty.width;
        let value = BigUint::from(value) & mask(width);
        self.note_assigned(dst, &value)?;
        self.write(dst, value)
    }

    /// The correct value of a checksum; `None` if it is not to be verified or updated.
    fn checksum(&mut self, checksum: &Checksum) -> Step<Option<BigUint>> {
        let present = match &checksum.header {
            Some(header) => self.is_valid(header)?,
            None => true,
        };
        if !self.truth(&checksum.condition)? || !present {
            return Ok(None);
        }
        let mut input = self.data(&checksum.data)?.into_bytes();
        if checksum.with_payload {
            let offset = self.phv.payload_offset();
            self.packet.store(self.packet.len());
            input.extend(&self.packet.stored()[offset..]);
        }
        let width = self.program.slots[checksum.field.slot.index()].ty.width;
        Ok(crate::hash::hash(checksum.algorithm, &input).map(|value| BigUint::from(value) & mask(width)))
    }

    /// The fields concatenated, without those of invalid headers.
    pub(super) fn data(&mut self, data: &[DataField]) -> Step<Bits> {
        let mut bits = Bits::default();
        for field in data {
            let present = match &field.header {
                Some(header) => self.is_valid(header)?,
                None => true,
            };
            if !present {
                continue;
            }
            let width = match &field.expr.kind {
                ExprKind::Load(place) => match self.program.slots[place.slot.index()].varbit_width {
                    Some(width) => {
                        let width = self.read(&Place { slot: width, index: place.index.clone() })?;
                        u32::try_from(width).unwrap_or(0)
                    }
                    None => field.expr.ty.width,
                },
                _ => field.expr.ty.width,
            };
            let value = self.eval(&field.expr)?;
            bits.push(&value, width);
        }
        Ok(bits)
    }
}
