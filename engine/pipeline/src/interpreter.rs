// SPDX-License-Identifier: MIT OR Apache-2.0
//! The reference interpreter, which defines what a program means.
//!
//! Plain recursion over the IR, with values of any size. It is slow and meant to be read; the JIT is compared with it.

mod calls;
mod expr;
mod parse;
mod tracing;

use std::sync::Arc;

use marklab_p4::ir::{
    BlockBody, BlockId, Class, HeaderRef, Index, Label, Place, Program, SlotId, Stmt, StmtKind, TableId,
};
use marklab_p4::source::Span;
use num_bigint::BigUint;

use crate::layout::Layout;
use crate::table::KeyShape;
use crate::{Engine, EventKind, FUEL, Origin, Packet, Phv, Stage, State};

/// Runs a program by walking its IR.
#[derive(Clone, Debug)]
pub struct Interpreter {
    program: Arc<Program>,
    layout: Arc<Layout>,
    origin: Origin,
}

impl Interpreter {
    /// An interpreter of the program, with this layout of packet states.
    ///
    /// # Panics
    ///
    /// If the layout is another program's.
    pub fn new(program: &Arc<Program>, layout: &Arc<Layout>) -> Interpreter {
        let origin = Origin::new(program, layout);
        Interpreter { program: program.clone(), layout: layout.clone(), origin }
    }
}

impl Engine for Interpreter {
    fn run(&self, stage: Stage, state: &mut State, packet: &mut Packet, phv: &mut Phv) {
        self.origin.check(state, phv);
        state.emitted.clear();
        for block in stage.blocks(&self.program) {
            let locals = vec![BigUint::ZERO; self.program.slots.len()];
            let program = &*self.program;
            let mut frame = Frame {
                program,
                layout: &self.layout,
                state,
                packet,
                phv,
                block,
                locals,
                cursor: 0,
                fuel: FUEL,
                colour: None,
                span: Span::default(),
            };
            frame.note_block();
            match &program.blocks[block.index()].body {
                BlockBody::Parser(parser) => {
                    if !frame.parse(parser) {
                        return;
                    }
                }
                BlockBody::Control(body) => {
                    // However a control ends, the stage goes on with the next block.
                    let _ = frame.run(body);
                }
            }
        }
        if stage.deparser(&self.program).is_some() {
            packet.replace_front(phv.payload_offset(), &state.emitted);
        }
    }
}

/// Why execution does not go on with the next statement.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Jump {
    Break(Label),
    Continue(Label),
    /// Leave the block.
    Exit,
    /// Leave the parser, with this error code.
    Reject(u32),
}

type Step<T = ()> = Result<T, Jump>;

/// One run of one block.
struct Frame<'a> {
    program: &'a Program,
    layout: &'a Layout,
    state: &'a mut State,
    packet: &'a mut Packet,
    phv: &'a mut Phv,
    block: BlockId,
    /// Values of all slots; only those of class `Local` are used.
    locals: Vec<BigUint>,
    /// Bytes that the parser consumed.
    cursor: usize,
    fuel: u32,
    /// Colour from the direct meter of the table whose action runs.
    colour: Option<u64>,
    /// Place in the source of the present statement.
    span: Span,
}

impl<'a> Frame<'a> {
    fn run(&mut self, body: &'a [Stmt]) -> Step {
        body.iter().try_for_each(|stmt| self.step(stmt))
    }

    fn step(&mut self, stmt: &'a Stmt) -> Step {
        self.span = stmt.span;
        match &stmt.kind {
            StmtKind::Assign { dst, src } => self.assign(dst, src)?,
            StmtKind::SetValid(header) => {
                self.set_valid(header)?;
                self.note_validity(header, true)?;
            }
            StmtKind::SetInvalid(header) => {
                let valid = self.header_place(header, self.program.headers[header.header.index()].valid);
                self.write(&valid, BigUint::ZERO)?;
                self.note_validity(header, false)?;
            }
            StmtKind::If { cond, then, otherwise } => {
                let holds = self.truth(cond)?;
                self.note(|| EventKind::Branch(holds));
                self.run(if holds { then } else { otherwise })?;
            }
            StmtKind::Switch { value, cases, default } => {
                let value = self.eval(value)?;
                let case = cases.iter().find(|(values, _)| values.contains(&value));
                self.run(case.map_or(default, |(_, body)| body))?;
            }
            StmtKind::Block { label, body } => match self.run(body) {
                Err(Jump::Break(target)) if target == *label => {}
                other => other?,
            },
            StmtKind::Loop { label, body } => self.run_loop(*label, body)?,
            StmtKind::Break(label) => return Err(Jump::Break(*label)),
            StmtKind::Continue(label) => return Err(Jump::Continue(*label)),
            StmtKind::Exit => {
                self.note(|| EventKind::Exited);
                return Err(Jump::Exit);
            }
            StmtKind::Apply { table, hit, action_run } => self.apply(*table, *hit, *action_run)?,
            StmtKind::Extern(call) => self.call(call)?,
            StmtKind::Extract { header, varbit_width } => self.extract(header, varbit_width.as_ref())?,
            StmtKind::ExtractNext { stack, varbit_width } => self.extract_next(*stack, varbit_width.as_ref())?,
            StmtKind::Advance(bits) => self.advance(bits)?,
            StmtKind::Verify { cond, error } => {
                if !self.truth(cond)? {
                    let error = self.eval(error)?;
                    return Err(Jump::Reject(error.try_into().unwrap_or(0)));
                }
            }
            StmtKind::Emit(header) => self.emit(*header),
        }
        Ok(())
    }

    fn run_loop(&mut self, label: Label, body: &'a [Stmt]) -> Step {
        loop {
            if !self.burn() {
                return Err(Jump::Exit);
            }
            match self.run(body) {
                Err(Jump::Break(target)) if target == label => return Ok(()),
                Err(Jump::Continue(target)) if target == label => {}
                other => other?,
            }
        }
    }

    /// Takes one unit of fuel. If none is left, counts a fault and returns false.
    fn burn(&mut self) -> bool {
        if self.fuel == 0 {
            self.state.faults += 1;
            return false;
        }
        self.fuel -= 1;
        true
    }

    fn apply(&mut self, table: TableId, hit: Option<SlotId>, action_run: Option<SlotId>) -> Step {
        let spec = &self.program.tables[table.index()];
        let parts = crate::table::compared_keys(spec).map(|key| self.eval(&key.expr)).collect::<Step<Vec<_>>>()?;
        let compared = self.state.trace.is_some().then(|| parts.clone());
        let key = KeyShape::new(spec).key(parts);
        let mut row = self.state.tables[table.index()].lookup(&key).to_vec();
        let head = row[0];
        self.state.tables[table.index()].count_hit(head, self.phv.arrival_bytes());
        self.meter_hit(table, head)?;
        if spec.profile.is_some() {
            let hash = self.selection_hash(spec)?;
            row = self.state.tables[table.index()].resolve(&row, hash).to_vec();
        }
        let action = row[0] & crate::table::Row::ACTION;
        if let Some(slot) = hit {
            self.locals_or_phv(slot, u64::from(head & crate::table::Row::HIT != 0).into());
        }
        if let Some(slot) = action_run {
            self.locals_or_phv(slot, action.into());
        }
        if action == crate::table::NO_ACTION {
            if let Some(key) = compared {
                self.note_lookup(table, key, head, None);
            }
            return Ok(());
        }
        let action_id = spec.actions[action as usize].action;
        let action = &self.program.actions[action_id.index()];
        let mut at = crate::table::Row::ARGS;
        for param in &action.params {
            let words = crate::words::words_for(param.ty.width);
            self.locals_or_phv(param.slot, crate::words::limbs(&row[at..at + words]));
            at += words;
        }
        if let Some(key) = compared {
            self.note_lookup(table, key, head, Some(action_id));
        }
        self.run(&action.body)
    }

    /// The hash of a table's `selector` keys, which chooses among the members of a group.
    fn selection_hash(&mut self, table: &'a marklab_p4::ir::Table) -> Step<u64> {
        let Some((algorithm, data)) = crate::profile::selection(self.program, table) else { return Ok(0) };
        let input = self.data(&data)?.into_bytes();
        Ok(crate::hash::hash(algorithm, &input).unwrap_or(0))
    }

    /// Runs the direct meter of the entry that matched, and stores the colour.
    fn meter_hit(&mut self, table: TableId, head: u64) -> Step {
        let (now, bytes) = (self.state.now, self.phv.arrival_bytes());
        self.colour = self.state.tables[table.index()].meter_hit(head, now, bytes);
        if let Some(colour) = self.colour {
            for place in crate::meter::colour_places(self.program, &self.program.tables[table.index()]) {
                self.store_number(&place, colour)?;
            }
        }
        Ok(())
    }

    /// The element that a run-time index chooses, or `None` if the index is out of range.
    fn element(&mut self, index: Option<&Index>) -> Step<Option<u32>> {
        let Some(index) = index else { return Ok(Some(0)) };
        let element = u32::try_from(self.eval(&index.expr)?).unwrap_or(u32::MAX);
        Ok((element < self.program.stacks[index.stack.index()].len).then_some(element))
    }

    /// The slot of a place, or `None` if its index is out of range.
    fn resolve(&mut self, place: &Place) -> Step<Option<SlotId>> {
        let element = self.element(place.index.as_ref())?;
        let stride = place.index.as_ref().map_or(0, |index| self.program.stacks[index.stack.index()].stride);
        Ok(element.map(|element| SlotId(place.slot.0 + element * stride)))
    }

    fn read(&mut self, place: &Place) -> Step<BigUint> {
        Ok(self.resolve(place)?.map_or(BigUint::ZERO, |slot| self.slot(slot)))
    }

    fn write(&mut self, place: &Place, value: BigUint) -> Step {
        if let Some(slot) = self.resolve(place)? {
            self.locals_or_phv(slot, value);
        }
        Ok(())
    }

    fn slot(&self, slot: SlotId) -> BigUint {
        let spec = &self.program.slots[slot.index()];
        let Some(field) = self.layout.field(slot) else { return self.locals[slot.index()].clone() };
        match spec.varbit_width {
            None => self.phv.get_wide(field),
            // Wire bytes, left aligned.
            Some(width) => {
                let bytes = usize::try_from(self.slot(width)).unwrap_or(0).div_ceil(8);
                BigUint::from_bytes_be(&self.phv.bytes()[field.offset as usize..][..bytes])
            }
        }
    }

    fn locals_or_phv(&mut self, slot: SlotId, value: BigUint) {
        let spec = &self.program.slots[slot.index()];
        debug_assert!(value.bits() <= u64::from(spec.ty.width), "{} does not fit {}", value, spec.name);
        match (spec.class, self.layout.field(slot), spec.varbit_width) {
            (Class::Packet, Some(field), None) => self.phv.set_wide(field, &value),
            (Class::Packet, Some(field), Some(width)) => self.set_varbit(field, width, &value),
            _ => self.locals[slot.index()] = value,
        }
    }

    /// Stores a `varbit` with the current width in its width slot.
    fn set_varbit(&mut self, field: crate::Field, width: SlotId, value: &BigUint) {
        let bytes = usize::try_from(self.slot(width)).unwrap_or(0).div_ceil(8);
        let digits = value.to_bytes_be();
        let target = &mut self.phv.bytes_mut()[field.offset as usize..][..field.size as usize];
        target.fill(0);
        if *value != BigUint::ZERO {
            target[bytes - digits.len()..bytes].copy_from_slice(&digits);
        }
    }

    fn assign(&mut self, dst: &Place, src: &'a marklab_p4::ir::Expr) -> Step {
        let value = self.eval(src)?;
        // Assigning a varbit also assigns its width. The source of such an assignment is always a load.
        if let (Some(dst_width), marklab_p4::ir::ExprKind::Load(from)) =
            (self.program.slots[dst.slot.index()].varbit_width, &src.kind)
            && let Some(src_width) = self.program.slots[from.slot.index()].varbit_width
        {
            let width = self.read(&Place { slot: src_width, index: from.index.clone() })?;
            self.write(&Place { slot: dst_width, index: dst.index.clone() }, width)?;
        }
        self.note_assigned(dst, &value)?;
        self.write(dst, value)
    }

    /// The place of a slot of a header that may have a run-time index.
    fn header_place(&self, header: &HeaderRef, slot: SlotId) -> Place {
        Place { slot, index: header.index.clone() }
    }

    fn is_valid(&mut self, header: &HeaderRef) -> Step<bool> {
        let valid = self.header_place(header, self.program.headers[header.header.index()].valid);
        Ok(self.read(&valid)? != BigUint::ZERO)
    }

    fn set_valid(&mut self, header: &HeaderRef) -> Step {
        if self.is_valid(header)? {
            return Ok(());
        }
        let spec = &self.program.headers[header.header.index()];
        for &slot in &spec.fields {
            if let Some(width) = self.program.slots[slot.index()].varbit_width {
                self.write(&self.header_place(header, width), BigUint::ZERO)?;
            }
            self.write(&self.header_place(header, slot), BigUint::ZERO)?;
        }
        self.write(&self.header_place(header, spec.valid), BigUint::from(1u32))
    }
}
