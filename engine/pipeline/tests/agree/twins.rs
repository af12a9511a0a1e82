// SPDX-License-Identifier: MIT OR Apache-2.0
//! Both engines side by side on a program from source. Each has a state of its own; both states get the same control
//! operations.

use std::path::Path;
use std::sync::Arc;

use marklab_p4::ir::Program;
use marklab_p4::loader::Memory;
use marklab_pipeline::{Effects, Engine, Interpreter, Jit, Layout, Packet, Phv, Stage, State};
use marklab_units::Time;

/// Packet, packet state, faults, effects.
type Outcome = (Vec<u8>, Phv, u64, Effects);

pub(crate) struct Twins {
    engines: [Box<dyn Engine>; 2],
    states: [State; 2],
    program: Arc<Program>,
    layout: Arc<Layout>,
}

impl Twins {
    /// A program with `header h_t { bit<8> a; bit<8> b; bit<32> c; bit<8> result; }` as `hdr.h`. `parser_states` are
    /// the states of its parser, and `ingress` is the body of its ingress control.
    pub(crate) fn new(parser_states: &str, ingress: &str) -> Twins {
        Twins::from_source(&source(parser_states, ingress))
    }

    pub(crate) fn from_source(source: &str) -> Twins {
        let program = compiled(source);
        let layout = Arc::new(Layout::new(&program));
        let state = || State::new(&program, &layout, 1).expect("the program can be loaded");
        let jit = Jit::compile(&program, &layout).expect("the JIT takes the program");
        let engines: [Box<dyn Engine>; 2] = [Box::new(Interpreter::new(&program, &layout)), Box::new(jit)];
        Twins { engines, states: [state(), state()], program, layout }
    }

    /// Makes the same change by the control plane in both states. Returns the result, which must be the same.
    pub(crate) fn control<T: PartialEq + std::fmt::Debug>(&mut self, mut change: impl FnMut(&mut State) -> T) -> T {
        let [interpreter, jit] = &mut self.states;
        let (meant, compiled) = (change(interpreter), change(jit));
        assert_eq!(meant, compiled, "left: state of the interpreter, right: of the JIT");
        compiled
    }

    /// Sends a frame through all stages. Returns the resulting frame, which must be the same in both engines.
    pub(crate) fn send(&mut self, now: Time, frame: &[u8]) -> Vec<u8> {
        let stages = Stage::of_packets(&self.program);
        self.run(&stages, now, frame).0
    }

    /// Runs stages on a frame. Returns the resulting frame and the effects, which must be the same in both engines.
    pub(crate) fn run(&mut self, stages: &[Stage], now: Time, frame: &[u8]) -> (Vec<u8>, Effects) {
        let mut outcomes = self.engines.iter().zip(&mut self.states).map(|(engine, state)| {
            let (mut packet, mut phv) = (Packet::new(frame, 0), self.layout.phv());
            phv.set_arrival_bytes(frame.len() as u64);
            state.now = now;
            for &stage in stages {
                engine.run(stage, state, &mut packet, &mut phv);
            }
            (packet.to_vec(), phv, state.faults, state.effects.take())
        });
        let (Some(meant), Some(compiled)): (Option<Outcome>, _) = (outcomes.next(), outcomes.next()) else {
            unreachable!("there are two engines")
        };
        assert_eq!(meant, compiled, "left: interpreter, right: JIT");
        (compiled.0, compiled.3)
    }

    /// [`Twins::send`] of `hdr.h` with these fields. Returns `hdr.h.result`, which is 99 at first.
    pub(crate) fn result(&mut self, now: Time, a: u8, b: u8, c: u32) -> u8 {
        let mut frame = vec![a, b];
        frame.extend(c.to_be_bytes());
        frame.push(99);
        self.send(now, &frame)[6]
    }
}

pub(crate) fn compiled(source: &str) -> Arc<Program> {
    let files = Memory::single("test.p4", source);
    let compilation = marklab_p4::compile_with(Path::new("test.p4"), &marklab_p4::Options::default(), &files);
    let messages = compilation.render(false);
    Arc::new(compilation.program.unwrap_or_else(|| panic!("{messages}")))
}

pub(crate) fn source(parser_states: &str, ingress: &str) -> String {
    format!(
        "#include <core.p4>
#include <v1model.p4>
header h_t {{ bit<8> a; bit<8> b; bit<32> c; bit<8> result; }}
struct headers {{ h_t h; h_t absent; }}
struct metadata {{ bit<8> seen; }}
parser P(packet_in packet, out headers hdr, inout metadata meta, inout standard_metadata_t standard_metadata) {{
    {parser_states}
}}
control V(inout headers hdr, inout metadata meta) {{ apply {{ }} }}
control I(inout headers hdr, inout metadata meta, inout standard_metadata_t standard_metadata) {{
    {ingress}
}}
control E(inout headers hdr, inout metadata meta, inout standard_metadata_t standard_metadata) {{ apply {{ }} }}
control C(inout headers hdr, inout metadata meta) {{ apply {{ }} }}
control D(packet_out packet, in headers hdr) {{ apply {{ packet.emit(hdr.h); }} }}
V1Switch(P(), V(), I(), E(), C(), D()) main;
"
    )
}

/// A parser that extracts `hdr.h` and accepts.
pub(crate) const PLAIN_PARSER: &str = "state start { packet.extract(hdr.h); transition accept; }";
