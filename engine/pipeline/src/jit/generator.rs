// SPDX-License-Identifier: MIT OR Apache-2.0
//! Storage and control flow.

use std::mem::offset_of;

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{
    AbiParam, AliasRegionData, Block, FuncRef, Function, InstBuilder, MemFlagsData, Signature, Value, types,
};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext, Switch, Variable};
use cranelift_jit::JITModule;
use cranelift_module::{Linkage, Module};
use marklab_p4::ir::{
    BinaryOp, BlockBody, BlockId, Class, Expr, ExprKind, HeaderRef, Index, Label, Place, Program, Slot, SlotId, Stack,
    Stmt, StmtKind,
};
use marklab_p4::source::Span;
use num_bigint::BigUint;
use rustc_hash::FxHashMap;

use super::context::{self, Context, Import};
use super::shapes::{Emitting, Parsing, Room, Rooms, is_wide, valid_place, value_type};
use super::{Referred, Result, backend, unsupported};
use crate::layout::{Layout, storage_bytes};
use crate::{FUEL, Stage};

/// Memory regions that never overlap, so a store to one does not invalidate loads from another.
pub(super) struct Regions {
    pub(super) phv: MemFlagsData,
    pub(super) context: MemFlagsData,
    pub(super) rows: MemFlagsData,
    pub(super) cells: MemFlagsData,
    pub(super) packet: MemFlagsData,
    pub(super) stack: MemFlagsData,
}

impl Regions {
    fn new(function: &mut Function) -> Regions {
        let mut user_id = 0;
        let mut region = |description: &'static str| {
            user_id += 1;
            let region = AliasRegionData { user_id, description: description.into() };
            let region = function.dfg.alias_regions.insert(region);
            MemFlagsData::new().with_notrap().with_alias_region(Some(region))
        };
        Regions {
            phv: region("phv"),
            context: region("context"),
            rows: region("table rows"),
            cells: region("registers and counters"),
            packet: region("packet"),
            stack: region("stack"),
        }
    }
}

/// Largest number of statements of a stage; an action counts once for each table that runs it. The time for code
/// generation grows more than proportionally, and the interpreter runs larger programs as well.
const MAX_STATEMENTS: usize = 20_000;

/// Where a local slot lives.
#[derive(Clone, Copy)]
enum Local {
    Ssa(Variable),
    /// An element of a header stack, which run-time indices can choose, or a value too wide for a register.
    Memory(Room, i32),
}

/// Current location of a place.
pub(super) enum Home {
    Ssa(Variable),
    Memory {
        flags: MemFlagsData,
        address: Value,
        offset: i32,
        size: u32,
        /// With a run-time index: whether it is in range. If not, `address` is that of element 0.
        in_range: Option<Value>,
    },
}

/// A label in scope.
struct Scope {
    label: Label,
    /// Where `break` goes.
    end: Block,
    /// Where `continue` goes, in a loop.
    start: Option<Block>,
}

/// Generates the function of one stage.
pub(super) struct Generator<'a, 'f> {
    pub(super) b: FunctionBuilder<'f>,
    pub(super) program: &'a Program,
    pub(super) layout: &'a Layout,
    module: &'a mut JITModule,
    pub(super) referred: &'a mut Referred,
    imports: FxHashMap<&'static str, FuncRef>,
    pub(super) regions: Regions,
    pub(super) context: Value,
    pub(super) phv: Value,
    pub(super) rooms: Rooms,
    /// Statements, `switch` labels and parser states so far.
    statements: usize,
    locals: FxHashMap<SlotId, Local>,
    labels: Vec<Scope>,
    /// End of the programmable block.
    pub(super) exit: Block,
    fuel: Variable,
    pub(super) parsing: Option<Parsing>,
    /// Colour from the direct meter of the table whose action runs.
    pub(super) colour: Option<Value>,
    pub(super) emitting: Option<Emitting>,
}

impl<'a, 'f> Generator<'a, 'f> {
    pub(super) fn new(
        program: &'a Program,
        layout: &'a Layout,
        module: &'a mut JITModule,
        function: &'f mut Function,
        function_context: &'f mut FunctionBuilderContext,
        referred: &'a mut Referred,
    ) -> Generator<'a, 'f> {
        let regions = Regions::new(function);
        let mut b = FunctionBuilder::new(function, function_context);
        let entry = b.create_block();
        b.append_block_params_for_function_params(entry);
        b.switch_to_block(entry);
        let (context, phv) = (b.block_params(entry)[0], b.block_params(entry)[1]);
        let fuel = b.declare_var(types::I64);
        Generator {
            b,
            program,
            layout,
            module,
            referred,
            imports: FxHashMap::default(),
            regions,
            context,
            phv,
            rooms: Rooms::default(),
            statements: 0,
            locals: FxHashMap::default(),
            labels: Vec::new(),
            exit: entry,
            fuel,
            parsing: None,
            colour: None,
            emitting: None,
        }
    }

    /// Generates the code of a stage: its blocks one after the other.
    pub(super) fn stage(&mut self, stage: Stage) -> Result<()> {
        let (deparser, refused) = (stage.deparser(self.program), self.b.create_block());
        for block in stage.blocks(self.program) {
            if Some(block) == deparser {
                self.begin_emitting(&self.program.blocks[block.index()].body)?;
            }
            self.exit = self.b.create_block();
            let fuel = self.iconst(i64::from(FUEL));
            self.b.def_var(self.fuel, fuel);
            let scratch_bytes = self.rooms.scratch_bytes;
            self.declare_locals(block)?;
            let falls_through = match &self.program.blocks[block.index()].body {
                BlockBody::Parser(parser) => self.parser(block, parser, refused).map(|()| true)?,
                BlockBody::Control(body) => self.body(body)?,
            };
            if falls_through {
                self.b.ins().jump(self.exit, &[]);
            }
            self.b.switch_to_block(self.exit);
            self.rooms.scratch_bytes = scratch_bytes;
        }
        if deparser.is_some() {
            self.end_emitting();
        }
        self.b.ins().jump(refused, &[]);
        self.b.switch_to_block(refused);
        self.b.ins().return_(&[]);
        Ok(())
    }

    pub(super) fn finish(mut self) {
        self.referred.scratch_bytes = self.referred.scratch_bytes.max(self.rooms.most_scratch_bytes as usize);
        self.b.seal_all_blocks();
        self.b.finalize(self.module.target_config());
    }

    // Calls of Rust functions

    pub(super) fn call(&mut self, import: &'static Import, args: &[Value]) -> Result<Option<Value>> {
        let function = match self.imports.get(import.name) {
            Some(&function) => function,
            None => {
                let mut signature = Signature::new(self.module.isa().default_call_conv());
                signature.params.extend(vec![AbiParam::new(types::I64); import.params]);
                signature.returns.extend(import.returns.then(|| AbiParam::new(types::I64)));
                let id = self.module.declare_function(import.name, Linkage::Import, &signature).map_err(backend)?;
                let function = self.module.declare_func_in_func(id, self.b.func);
                self.imports.insert(import.name, function);
                function
            }
        };
        let call = self.b.ins().call(function, args);
        Ok(self.b.inst_results(call).first().copied())
    }

    /// [`Generator::call`] of a function that returns a value.
    pub(super) fn call_value(&mut self, import: &'static Import, args: &[Value]) -> Result<Value> {
        self.call(import, args)?.ok_or_else(|| backend(format!("`{}` returns nothing", import.name)))
    }

    // Storage

    /// Gives each local of a block a location and the value 0.
    fn declare_locals(&mut self, block: BlockId) -> Result<()> {
        for stack in &self.program.stacks {
            let base = stack_base(self.program, stack);
            if self.program.slots[base.index()].class == Class::Local(block) {
                let cell = cell_bytes(self.program, stack);
                let room = self.room(stack.stride * stack.len * cell);
                for number in 0..stack.stride * stack.len {
                    let local = Local::Memory(room, (number * cell) as i32);
                    self.locals.insert(SlotId(base.0 + number), local);
                }
            }
        }
        for (number, slot) in self.program.slots.iter().enumerate() {
            if slot.class != Class::Local(block) {
                continue;
            }
            let in_memory = in_memory(slot);
            if !self.locals.contains_key(&SlotId(number as u32)) {
                let local = match in_memory {
                    true => Local::Memory(self.room(storage_bytes(slot)), 0),
                    false => Local::Ssa(self.b.declare_var(value_type(slot.ty.width))),
                };
                self.locals.insert(SlotId(number as u32), local);
            }
            self.write_zero(&SlotId(number as u32).into())?;
        }
        Ok(())
    }

    /// Locates a place. A run-time index is checked, and the address is computed from it.
    pub(super) fn home(&mut self, place: &Place) -> Result<Home> {
        let slot = &self.program.slots[place.slot.index()];
        let (flags, address, offset, size, stride) = match self.layout.field(place.slot) {
            Some(field) => {
                let stride = place.index.as_ref().map(|index| self.layout.stride(index.stack));
                (self.regions.phv, self.phv, field.offset as i32, field.size, stride)
            }
            None => match self.locals.get(&place.slot) {
                Some(&Local::Ssa(variable)) => return Ok(Home::Ssa(variable)),
                Some(&Local::Memory(room, offset)) => {
                    let stride = place.index.as_ref().map(|index| {
                        let stack = &self.program.stacks[index.stack.index()];
                        stack.stride * cell_bytes(self.program, stack)
                    });
                    (self.regions.stack, self.address(room), offset, storage_bytes(slot), stride)
                }
                None => return Err(backend(format!("`{}` is used outside of its block", slot.name))),
            },
        };
        match (&place.index, stride) {
            (Some(index), Some(stride)) => {
                let (element, in_range) = self.element(index)?;
                let distance = self.b.ins().imul_imm_u(element, i64::from(stride));
                let address = self.b.ins().iadd(address, distance);
                Ok(Home::Memory { flags, address, offset, size, in_range: Some(in_range) })
            }
            _ => Ok(Home::Memory { flags, address, offset, size, in_range: None }),
        }
    }

    /// The element that an index chooses, or 0 if it is out of range, and whether it is in range.
    fn element(&mut self, index: &Index) -> Result<(Value, Value)> {
        let len = i64::from(self.program.stacks[index.stack.index()].len);
        let value = self.number(&index.expr)?;
        let in_range = self.b.ins().icmp_imm_u(IntCC::UnsignedLessThan, value, len);
        let zero = self.iconst(0);
        Ok((self.b.ins().select(in_range, value, zero), in_range))
    }

    /// Reads a place. The value is 0 if its index is out of range.
    pub(super) fn read(&mut self, place: &Place) -> Result<Value> {
        let slot = &self.program.slots[place.slot.index()];
        let ty = value_type(slot.ty.width);
        Ok(match self.home(place)? {
            Home::Ssa(variable) => self.b.use_var(variable),
            Home::Memory { address, offset, size, in_range, .. } if in_memory(slot) => {
                self.source(address, offset, size, in_range)?
            }
            Home::Memory { flags, address, offset, size, in_range } => {
                let value = self.load(flags, address, offset, size);
                match in_range {
                    None => value,
                    Some(in_range) => {
                        let zero = self.zero(ty);
                        self.b.ins().select(in_range, value, zero)
                    }
                }
            }
        })
    }

    /// Writes a place. Does nothing if its index is out of range.
    pub(super) fn write(&mut self, place: &Place, value: Value) -> Result<()> {
        let (flags, address, offset, size, in_range) = match self.home(place)? {
            Home::Ssa(variable) => {
                self.b.def_var(variable, value);
                return Ok(());
            }
            Home::Memory { flags, address, offset, size, in_range } => (flags, address, offset, size, in_range),
        };
        let after = in_range.map(|in_range| self.when(in_range));
        if in_memory(&self.program.slots[place.slot.index()]) {
            let (target, bytes) = (self.b.ins().iadd_imm_u(address, i64::from(offset)), self.iconst(i64::from(size)));
            self.call(&context::COPY, &[target, value, bytes])?;
        } else {
            self.store(flags, value, address, offset, size);
        }
        if let Some(after) = after {
            self.b.ins().jump(after, &[]);
            self.b.switch_to_block(after);
        }
        Ok(())
    }

    /// Writes 0, or an empty `varbit`, whose width is written separately.
    pub(super) fn write_zero(&mut self, place: &Place) -> Result<()> {
        let slot = &self.program.slots[place.slot.index()];
        let zero = match in_memory(slot) {
            true => self.zeros(storage_bytes(slot))?,
            false => self.constant(&BigUint::ZERO, slot.ty.width),
        };
        self.write(place, zero)
    }

    /// Writes a slot, which has no index that could be out of range.
    pub(super) fn write_slot(&mut self, slot: SlotId, value: Value) {
        // Only an index can fail to compile.
        self.write(&slot.into(), value).expect("a plain slot of the block that is being generated");
    }

    fn load(&mut self, flags: MemFlagsData, address: Value, offset: i32, size: u32) -> Value {
        let ins = self.b.ins();
        match size {
            1 => ins.uload8(types::I64, flags, address, offset),
            2 => ins.uload16(types::I64, flags, address, offset),
            4 => ins.uload32(flags, address, offset),
            8 => ins.load(types::I64, flags, address, offset),
            _ => ins.load(types::I128, flags, address, offset),
        }
    }

    fn store(&mut self, flags: MemFlagsData, value: Value, address: Value, offset: i32, size: u32) {
        let ins = self.b.ins();
        match size {
            1 => ins.istore8(flags, value, address, offset),
            2 => ins.istore16(flags, value, address, offset),
            4 => ins.istore32(flags, value, address, offset),
            _ => ins.store(flags, value, address, offset),
        };
    }

    /// Begins a block that runs if `condition` is not 0. Returns the block after it.
    pub(super) fn when(&mut self, condition: Value) -> Block {
        let (then, after) = (self.b.create_block(), self.b.create_block());
        self.b.ins().brif(condition, then, &[], after, &[]);
        self.b.switch_to_block(then);
        after
    }

    pub(super) fn load_context(&mut self, offset: usize) -> Value {
        self.b.ins().load(types::I64, self.regions.context, self.context, offset as i32)
    }

    // Statements

    /// Generates statements. Returns false if control never reaches their end.
    pub(super) fn body(&mut self, body: &[Stmt]) -> Result<bool> {
        for stmt in body {
            if !self.statement(stmt)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn statement(&mut self, stmt: &Stmt) -> Result<bool> {
        self.count_statements(1, stmt.span)?;
        let scratch_bytes = self.rooms.scratch_bytes;
        let falls_through = self.statement_in_scratch(stmt);
        self.rooms.scratch_bytes = scratch_bytes;
        falls_through
    }

    pub(super) fn count_statements(&mut self, count: usize, span: Span) -> Result<()> {
        self.statements += count;
        if self.statements > MAX_STATEMENTS {
            return unsupported(format!("a stage of more than {MAX_STATEMENTS} statements"), span);
        }
        Ok(())
    }

    fn statement_in_scratch(&mut self, stmt: &Stmt) -> Result<bool> {
        match &stmt.kind {
            StmtKind::Assign { dst, src } => self.assign(dst, src)?,
            StmtKind::SetValid(header) => self.set_valid(header)?,
            StmtKind::SetInvalid(header) => {
                let zero = self.iconst(0);
                self.write(&valid_place(self.program, header), zero)?;
            }
            StmtKind::If { cond, then, otherwise } => return self.if_(cond, then, otherwise),
            StmtKind::Switch { value, cases, default } => return self.switch(value, cases, default),
            StmtKind::Block { label, body } => return self.block(*label, body),
            StmtKind::Loop { label, body } => return self.loop_(*label, body),
            StmtKind::Break(label) => return self.leave(*label, |scope| Some(scope.end)),
            StmtKind::Continue(label) => return self.leave(*label, |scope| scope.start),
            StmtKind::Exit => {
                self.b.ins().jump(self.exit, &[]);
                return Ok(false);
            }
            StmtKind::Apply { table, hit, action_run } => return self.apply(*table, *hit, *action_run),
            StmtKind::Extern(call) => self.extern_call(call)?,
            StmtKind::Extract { header, varbit_width } => self.extract(header, varbit_width.as_ref())?,
            StmtKind::ExtractNext { stack, varbit_width } => self.extract_next(*stack, varbit_width.as_ref())?,
            StmtKind::Advance(bits) => self.advance(bits)?,
            StmtKind::Verify { cond, error } => self.verify(cond, error)?,
            StmtKind::Emit(header) => self.emit(*header, stmt.span)?,
        }
        Ok(true)
    }

    fn assign(&mut self, dst: &Place, src: &Expr) -> Result<()> {
        if let (Some(dst_width), ExprKind::Load(from)) = (self.varbit_width(dst), &src.kind)
            && let Some(src_width) = self.varbit_width(from)
        {
            return self.assign_varbit((dst, &dst_width), (from, &src_width));
        }
        let value = self.eval(src)?;
        self.write(dst, value)
    }

    fn set_valid(&mut self, header: &HeaderRef) -> Result<()> {
        let spec = &self.program.headers[header.header.index()];
        let valid = valid_place(self.program, header);
        let was = self.read(&valid)?;
        let invalid = self.b.ins().icmp_imm_u(IntCC::Equal, was, 0);
        let after = self.when(invalid);
        for &slot in &spec.fields {
            let place = Place { slot, index: header.index.clone() };
            if let Some(width) = self.varbit_width(&place) {
                self.write_zero(&width)?;
            }
            self.write_zero(&place)?;
        }
        let one = self.iconst(1);
        self.write(&valid, one)?;
        self.b.ins().jump(after, &[]);
        self.b.switch_to_block(after);
        Ok(())
    }

    fn if_(&mut self, cond: &Expr, then: &[Stmt], otherwise: &[Stmt]) -> Result<bool> {
        let condition = self.condition(cond)?;
        let (yes, no, after) = (self.b.create_block(), self.b.create_block(), self.b.create_block());
        self.b.ins().brif(condition, yes, &[], no, &[]);
        let mut reached = false;
        for (block, body) in [(yes, then), (no, otherwise)] {
            self.b.switch_to_block(block);
            reached |= self.branch(body, after)?;
        }
        self.b.switch_to_block(after);
        Ok(self.reachable(reached))
    }

    /// Generates a body that continues at `after`. Returns false if control never reaches `after`.
    pub(super) fn branch(&mut self, body: &[Stmt], after: Block) -> Result<bool> {
        let falls_through = self.body(body)?;
        if falls_through {
            self.b.ins().jump(after, &[]);
        }
        Ok(falls_through)
    }

    /// Ends the present block if it is unreachable.
    pub(super) fn reachable(&mut self, reached: bool) -> bool {
        if !reached {
            self.b.ins().jump(self.exit, &[]);
        }
        reached
    }

    fn switch(&mut self, value: &Expr, cases: &[(Vec<BigUint>, Vec<Stmt>)], default: &[Stmt]) -> Result<bool> {
        self.count_statements(cases.iter().map(|(values, _)| values.len()).sum(), value.span)?;
        let ty = value.ty;
        let value = self.eval(value)?;
        let (otherwise, after) = (self.b.create_block(), self.b.create_block());
        let blocks: Vec<Block> = cases.iter().map(|_| self.b.create_block()).collect();
        let targets =
            cases.iter().zip(&blocks).flat_map(|((values, _), &block)| values.iter().map(move |v| (v, block)));
        if ty.width <= 64 {
            let mut switch = Switch::new();
            for (case, block) in targets {
                switch.set_entry(case.iter_u64_digits().next().unwrap_or(0).into(), block);
            }
            switch.emit(&mut self.b, value, otherwise);
        } else {
            for (case, block) in targets {
                let case = self.constant(case, ty.width);
                let equal = self.compare(BinaryOp::Eq, value, case, ty)?;
                let next = self.b.create_block();
                self.b.ins().brif(equal, block, &[], next, &[]);
                self.b.switch_to_block(next);
            }
            self.b.ins().jump(otherwise, &[]);
        }
        let mut reached = false;
        for ((_, body), block) in cases.iter().zip(blocks) {
            self.b.switch_to_block(block);
            reached |= self.branch(body, after)?;
        }
        self.b.switch_to_block(otherwise);
        reached |= self.branch(default, after)?;
        self.b.switch_to_block(after);
        Ok(self.reachable(reached))
    }

    fn block(&mut self, label: Label, body: &[Stmt]) -> Result<bool> {
        let after = self.b.create_block();
        self.labels.push(Scope { label, end: after, start: None });
        self.branch(body, after)?;
        self.labels.pop();
        self.b.switch_to_block(after);
        // It is not tracked whether some `break` leads here: unreachable code costs nothing.
        Ok(true)
    }

    fn loop_(&mut self, label: Label, body: &[Stmt]) -> Result<bool> {
        let (start, after) = (self.b.create_block(), self.b.create_block());
        self.b.ins().jump(start, &[]);
        self.b.switch_to_block(start);
        self.burn(self.exit);
        self.labels.push(Scope { label, end: after, start: Some(start) });
        if self.body(body)? {
            self.b.ins().jump(start, &[]);
        }
        self.labels.pop();
        self.b.switch_to_block(after);
        Ok(true)
    }

    fn leave(&mut self, label: Label, target: fn(&Scope) -> Option<Block>) -> Result<bool> {
        let place = self.labels.iter().rev().find(|scope| scope.label == label).and_then(target);
        let place = place.ok_or_else(|| backend(format!("no target for {label:?}")))?;
        self.b.ins().jump(place, &[]);
        Ok(false)
    }

    /// Takes one unit of fuel. If none is left, counts a fault and jumps to `dry`.
    pub(super) fn burn(&mut self, dry: Block) {
        let fuel = self.b.use_var(self.fuel);
        let (empty, run) = (self.b.create_block(), self.b.create_block());
        self.b.ins().brif(fuel, run, &[], empty, &[]);
        self.b.set_cold_block(empty);
        self.b.switch_to_block(empty);
        self.count_fault();
        self.b.ins().jump(dry, &[]);
        self.b.switch_to_block(run);
        let rest = self.b.ins().iadd_imm_s(fuel, -1);
        self.b.def_var(self.fuel, rest);
    }

    pub(super) fn count_fault(&mut self) {
        let offset = offset_of!(Context, faults);
        let faults = self.load_context(offset);
        let more = self.b.ins().iadd_imm_u(faults, 1);
        self.b.ins().store(self.regions.context, more, self.context, offset as i32);
    }

    /// Length of the frame at arrival.
    pub(super) fn arrival_bytes(&mut self) -> Value {
        let offset = crate::layout::reserved::ARRIVAL_BYTES as i32;
        self.b.ins().uload32(self.regions.phv, self.phv, offset)
    }
}

/// Lowest slot of a stack's first element.
fn stack_base(program: &Program, stack: &Stack) -> SlotId {
    let first = &program.headers[stack.first.index()];
    first.fields.iter().copied().fold(first.valid, SlotId::min)
}

/// Whether the value of a slot is represented by its address.
fn in_memory(slot: &Slot) -> bool {
    slot.varbit_width.is_some() || is_wide(slot.ty.width)
}

/// Bytes between the slots of a local header stack.
fn cell_bytes(program: &Program, stack: &Stack) -> u32 {
    let base = stack_base(program, stack).index();
    let slots = &program.slots[base..base + stack.stride as usize];
    slots.iter().map(storage_bytes).max().unwrap_or(0).next_multiple_of(16)
}
