// SPDX-License-Identifier: MIT OR Apache-2.0
//! Helpers for tests of switches of all architectures.

use std::path::Path;
use std::sync::Arc;

use marklab_p4::Options;
use marklab_p4::ir::Program;
use marklab_pipeline::{Engine, Interpreter, Jit, Layout, Packet, State};
use marklab_switch::Switch;
use marklab_tm::PortConfig;
use marklab_units::Time;

pub(crate) fn at(ns: u64) -> Time {
    Time::from_nanos(ns)
}

/// A program of the folder `programs`.
pub(crate) fn compiled(program: &str, options: &Options) -> Program {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs").join(program);
    let compilation = marklab_p4::compile(&path, options);
    let messages = compilation.render(false);
    compilation.program.unwrap_or_else(|| panic!("{messages}"))
}

/// A switch with such ports, once interpreted and once as machine code.
pub(crate) fn either_way<P: Clone + Into<PortConfig>>(program: Program, ports: &[P]) -> Vec<Switch<Packet>> {
    let program = Arc::new(program);
    let layout = Arc::new(Layout::new(&program));
    let engines: [Arc<dyn Engine>; 2] = [
        Arc::new(Interpreter::new(&program, &layout)),
        Arc::new(Jit::compile(&program, &layout).expect("the JIT takes the program")),
    ];
    let switch = |engine| Switch::new(engine, State::new(&program, &layout, 1).unwrap(), ports.iter().cloned());
    engines.map(switch).into()
}

/// Reads numbers of this many bytes each, from an offset on.
pub(crate) fn numbers(bytes: &[u8], mut at: usize) -> impl FnMut(usize) -> u64 {
    move |width| {
        at += width;
        bytes[at - width..at].iter().fold(0, |value, &byte| value << 8 | u64::from(byte))
    }
}
