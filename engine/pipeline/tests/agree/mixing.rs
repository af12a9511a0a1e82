// SPDX-License-Identifier: MIT OR Apache-2.0
//! Engines refuse states, layouts and packets that do not belong to their program: generated code would read and write
//! beyond them.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use marklab_p4::ir::*;
use marklab_pipeline::{Engine, Field, Interpreter, Jit, Layout, Packet, Phv, Stage, Standard, State};

use crate::support::*;

/// A program whose parser extracts a header of `header_bits` bits and `varbit_bytes` bytes of a `varbit` of at most
/// four bytes. Its deparser emits the header.
fn program_with(header_bits: u32, varbit_bytes: u32) -> Arc<Program> {
    let mut program = program();
    let header = add_header(&mut program, "h", &[header_bits, 32], Some(1), Class::Packet);
    let extract = StmtKind::Extract {
        header: HeaderRef { header, index: None },
        varbit_width: Some(constant((8 * varbit_bytes).into(), Ty::bits(32))),
    };
    let start = State_ {
        name: "start".into(),
        body: vec![stmt(extract)],
        next: Transition::Goto(Target::Accept),
        span: span(),
    };
    program.blocks[PARSER.index()].body = BlockBody::Parser(ParserBody { states: vec![start], start: StateId(0) });
    set_body(&mut program, BlockId(5), vec![stmt(StmtKind::Emit(header))]);
    Arc::new(program)
}

/// A program with everything that it needs to run.
struct Ready {
    program: Arc<Program>,
    layout: Arc<Layout>,
    engines: [Box<dyn Engine>; 2],
}

impl Ready {
    fn new(program: &Arc<Program>) -> Ready {
        let layout = Arc::new(Layout::new(program));
        let jit = Jit::compile(program, &layout).unwrap();
        let engines: [Box<dyn Engine>; 2] = [Box::new(Interpreter::new(program, &layout)), Box::new(jit)];
        Ready { program: program.clone(), layout, engines }
    }

    fn state(&self) -> State {
        State::new(&self.program, &self.layout, 1).unwrap()
    }
}

/// Message of the panic with which `run` ends.
fn panic_of<T>(run: impl FnOnce() -> T) -> String {
    let Err(panic) = catch_unwind(AssertUnwindSafe(run)) else { panic!("it was not refused") };
    let text = panic.downcast_ref::<String>().cloned();
    text.or_else(|| panic.downcast_ref::<&str>().map(|&text| text.to_owned())).expect("a panic with a text")
}

/// Messages of both engines for a state and a packet state, in `run` and in `run_out`.
fn refusals(ready: &Ready, state: impl Fn() -> State, phv: &Phv) -> Vec<String> {
    let runs = ready.engines.iter().flat_map(|engine| {
        let (mut first, mut second) = (state(), state());
        let egress_spec = Standard::EGRESS_SPEC.field();
        [
            panic_of(|| engine.run(Stage::Ingress, &mut first, &mut Packet::default(), &mut phv.clone())),
            panic_of(|| engine.run_out(&mut second, &mut Packet::default(), &mut phv.clone(), egress_spec)),
        ]
    });
    runs.collect()
}

#[test]
fn a_state_of_another_program_is_refused_even_if_the_programs_are_equal() {
    let ready = Ready::new(&program_with(16, 0));
    for other in [program_with(16, 0), program_with(1600, 0)] {
        let other = Ready::new(&other);
        let said = refusals(&ready, || other.state(), &ready.layout.phv());
        assert_eq!(said, ["the state belongs to another program"; 4]);
    }
}

#[test]
fn a_packet_state_of_another_layout_is_refused_even_if_the_layouts_are_equal() {
    let ready = Ready::new(&program_with(1600, 0));
    let small = Ready::new(&program_with(16, 0));
    for phv in [small.layout.phv(), Ready::new(&ready.program).layout.phv()] {
        let said = refusals(&ready, || ready.state(), &phv);
        assert_eq!(said, ["the packet state belongs to another layout"; 4]);
    }
}

#[test]
fn a_layout_is_of_one_program() {
    let (program, other) = (program_with(1600, 0), program_with(16, 0));
    let layout = Arc::new(Layout::new(&other));
    let said = [
        panic_of(|| State::new(&program, &layout, 1)),
        panic_of(|| Interpreter::new(&program, &layout)),
        panic_of(|| Jit::compile(&program, &layout)),
    ];
    assert_eq!(said, ["the layout belongs to another program"; 3]);
}

/// The parser consumed 200 bytes, but the packet passed to the deparser has only two.
#[test]
fn a_deparser_refuses_another_packet_than_the_parsers() {
    let ready = Ready::new(&program_with(1600, 0));
    for engine in &ready.engines {
        let (mut state, mut phv) = (ready.state(), ready.layout.phv());
        engine.run(Stage::Ingress, &mut state, &mut Packet::new(&[7; 200], 0), &mut phv);
        let mut other = Packet::new(&[1, 2], 0);
        let said = panic_of(|| engine.run(Stage::Deparse, &mut state, &mut other, &mut phv));
        assert_eq!(said, "a deparser got a packet that the parser before it did not read");
    }
}

/// A caller can write any width of a `varbit` to a packet state. The deparser emits at most the field's 32 bits.
#[test]
fn generated_code_takes_no_more_of_a_varbit_than_there_is() {
    let ready = Ready::new(&program_with(16, 4));
    let width = ready.program.slots.iter().find_map(|slot| slot.varbit_width).unwrap();
    let width: Field = ready.layout.field(width).unwrap();
    for bits in [32, 40, 1 << 20, u32::MAX] {
        let (mut state, mut phv) = (ready.state(), ready.layout.phv());
        let mut packet = Packet::new(&[1, 2, 3, 4, 5, 6, 7], 0);
        let [_, jit] = &ready.engines;
        jit.run(Stage::Ingress, &mut state, &mut packet, &mut phv);
        phv.set(width, bits.into());
        jit.run(Stage::Deparse, &mut state, &mut packet, &mut phv);
        assert_eq!(packet.to_vec(), [1, 2, 3, 4, 5, 6, 7], "{bits}");
    }
}
