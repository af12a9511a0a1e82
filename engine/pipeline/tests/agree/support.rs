// SPDX-License-Identifier: MIT OR Apache-2.0
//! Programs built by hand, and the comparison of both engines on them.

use std::sync::Arc;

use marklab_p4::ir::*;
use marklab_p4::source::Span;
use marklab_pipeline::{Engine, Interpreter, Jit, Layout, Packet, Phv, Stage, State};
use num_bigint::BigUint;

pub(crate) const PARSER: BlockId = BlockId(0);
pub(crate) const EGRESS: BlockId = BlockId(3);

/// A program whose blocks are empty.
pub(crate) fn program() -> Program {
    let control = |name: &str| Block { name: name.into(), body: BlockBody::Control(Vec::new()) };
    let start = State_ { name: "start".into(), body: Vec::new(), next: Transition::Goto(Target::Accept), span: span() };
    let parser = ParserBody { states: vec![start], start: StateId(0) };
    let errors = [
        "NoError",
        "PacketTooShort",
        "NoMatch",
        "StackOutOfBounds",
        "HeaderTooShort",
        "ParserTimeout",
        "ParserInvalidArgument",
    ];
    let mut program = Program {
        name: "test.p4".into(),
        arch: Arch::V1Model {
            parser: PARSER,
            verify_checksum: BlockId(1),
            ingress: BlockId(2),
            egress: EGRESS,
            compute_checksum: BlockId(4),
            deparser: BlockId(5),
        },
        slots: Vec::new(),
        headers: Vec::new(),
        stacks: Vec::new(),
        blocks: vec![
            Block { name: "P".into(), body: BlockBody::Parser(parser) },
            control("V"),
            control("I"),
            control("E"),
            control("C"),
            control("D"),
        ],
        actions: Vec::new(),
        called_actions: Vec::new(),
        tables: Vec::new(),
        registers: Vec::new(),
        register_actions: Vec::new(),
        math_units: Vec::new(),
        filters: Vec::new(),
        counters: Vec::new(),
        meters: Vec::new(),
        profiles: Vec::new(),
        value_sets: Vec::new(),
        foreign: Vec::new(),
        errors: errors.map(String::from).to_vec(),
        intrinsics: Vec::new(),
    };
    for (name, width) in [("parser_error", 32), ("checksum_error", 1), ("egress_spec", 9), ("mcast_grp", 16)] {
        let slot = add_slot(&mut program, &format!("standard_metadata.{name}"), Ty::bits(width), Class::Packet);
        program.intrinsics.push((format!("standard_metadata.{name}"), slot));
    }
    program
}

pub(crate) use marklab_p4::ir::State as State_;

pub(crate) fn add_slot(program: &mut Program, name: &str, ty: Ty, class: Class) -> SlotId {
    program.slots.push(Slot { name: name.into(), ty, varbit_width: None, class });
    SlotId(program.slots.len() as u32 - 1)
}

/// A header with fields of these widths; `varbit` is the index of the field that is a `varbit`.
pub(crate) fn add_header(
    program: &mut Program,
    name: &str,
    widths: &[u32],
    varbit: Option<usize>,
    class: Class,
) -> HeaderId {
    let valid = add_slot(program, &format!("{name}.$valid"), Ty::BOOL, class);
    let mut fields = Vec::new();
    for (number, &width) in widths.iter().enumerate() {
        let present = (varbit == Some(number))
            .then(|| add_slot(program, &format!("{name}.f{number}.$width"), Ty::bits(32), class));
        let field = add_slot(program, &format!("{name}.f{number}"), Ty::bits(width), class);
        program.slots[field.index()].varbit_width = present;
        fields.push(field);
    }
    program.headers.push(Header { name: name.into(), valid, fields });
    HeaderId(program.headers.len() as u32 - 1)
}

pub(crate) fn add_stack(program: &mut Program, name: &str, widths: &[u32], len: u32, class: Class) -> StackId {
    let first = HeaderId(program.headers.len() as u32);
    let before = program.slots.len();
    for element in 0..len {
        add_header(program, &format!("{name}[{element}]"), widths, None, class);
    }
    let stride = (program.slots.len() - before) as u32 / len;
    let next_index = add_slot(program, &format!("{name}.$next"), Ty::bits(32), class);
    program.stacks.push(Stack { name: name.into(), first, len, stride, next_index });
    StackId(program.stacks.len() as u32 - 1)
}

pub(crate) fn set_body(program: &mut Program, block: BlockId, body: Vec<Stmt>) {
    program.blocks[block.index()].body = BlockBody::Control(body);
}

pub(crate) fn span() -> Span {
    Span::default()
}

pub(crate) fn stmt(kind: StmtKind) -> Stmt {
    Stmt { kind, span: span() }
}

pub(crate) fn expr(kind: ExprKind, ty: Ty) -> Expr {
    Expr { kind, ty, span: span() }
}

pub(crate) fn load(program: &Program, slot: SlotId) -> Expr {
    expr(ExprKind::Load(slot.into()), program.slots[slot.index()].ty)
}

pub(crate) fn constant(value: u128, ty: Ty) -> Expr {
    expr(ExprKind::Const(BigUint::from(value) & mask(ty.width)), ty)
}

pub(crate) fn assign(dst: impl Into<Place>, src: Expr) -> Stmt {
    stmt(StmtKind::Assign { dst: dst.into(), src })
}

pub(crate) fn mask(width: u32) -> BigUint {
    (BigUint::from(1u32) << width) - 1u32
}

/// Result of a run.
#[derive(PartialEq, Debug)]
pub(crate) struct Outcome {
    pub(crate) phv: Phv,
    pub(crate) packet: Packet,
    pub(crate) registers: Vec<BigUint>,
    pub(crate) counters: Vec<marklab_pipeline::Count>,
    pub(crate) faults: u64,
    pub(crate) effects: marklab_pipeline::Effects,
}

/// Runs stages with one engine on fresh state.
pub(crate) fn run_with(
    engine: &dyn Engine,
    program: &Arc<Program>,
    layout: &Arc<Layout>,
    stages: &[Stage],
    packet: &Packet,
    set: &dyn Fn(&mut Phv, &mut State),
) -> Outcome {
    let mut state = State::new(program, layout, 7).expect("the program can be loaded");
    let mut phv = layout.phv();
    let mut packet = packet.clone();
    phv.set_arrival_bytes(packet.len() as u64);
    set(&mut phv, &mut state);
    for &stage in stages {
        engine.run(stage, &mut state, &mut packet, &mut phv);
    }
    let registers = program.registers.iter().enumerate().flat_map(|(number, register)| {
        let id = RegisterId(number as u32);
        (0..register.size).map(|cell| state.register(id, cell).expect("in range")).collect::<Vec<_>>()
    });
    let counters = program.counters.iter().enumerate().flat_map(|(number, counter)| {
        let id = CounterId(number as u32);
        (0..counter.size.unwrap_or(0)).map(|cell| state.counter(id, cell).expect("in range")).collect::<Vec<_>>()
    });
    let (registers, counters) = (registers.collect(), counters.collect());
    Outcome { phv, packet, registers, counters, faults: state.faults, effects: state.effects }
}

/// Runs stages with both engines, which must agree. Returns the outcome.
pub(crate) fn agreed(
    program: Program,
    stages: &[Stage],
    packet: &Packet,
    set: &dyn Fn(&mut Phv, &mut State),
) -> Outcome {
    let layout = Arc::new(Layout::new(&program));
    let program = Arc::new(program);
    let jit = Jit::compile(&program, &layout).expect("the JIT takes the program");
    let interpreter = Interpreter::new(&program, &layout);
    let meant = run_with(&interpreter, &program, &layout, stages, packet, set);
    let compiled = run_with(&jit, &program, &layout, stages, packet, set);
    let differences = program.slots.iter().enumerate().filter_map(|(number, slot)| {
        let field = layout.field(SlotId(number as u32))?;
        let (meant, compiled) = (meant.phv.get_wide(field), compiled.phv.get_wide(field));
        (meant != compiled).then(|| format!("{}: interpreter {meant:#x}, JIT {compiled:#x}", slot.name))
    });
    let differences: Vec<String> = differences.collect();
    assert_eq!(differences, [""; 0], "{:#?}", program.blocks);
    assert_eq!(meant, compiled, "left: interpreter, right: JIT");
    compiled
}
