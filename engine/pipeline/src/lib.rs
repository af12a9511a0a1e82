// SPDX-License-Identifier: MIT OR Apache-2.0
//! Runs a P4 program on packets.
//!
//! - [`prune`] removes computations whose results are never used;
//! - [`Layout`] gives each slot of the program a place in a packet's state, the [`Phv`];
//! - [`State`] is what a switch keeps between packets: tables, registers, counters, meters, action profiles, value
//!   sets;
//! - an [`Engine`] runs one stage of the program on a `State`, a packet and its `Phv`. [`Interpreter`] defines what a
//!   program means; [`Jit`] compiles it to machine code. For equal input both leave equal `Phv`s, packets and `State`s.
//!   [`Spotlight`] traces one packet among many.
//!
//! This crate has no clock (the caller of a stage sets [`State::now`]), no ports and no queues. The architecture around
//! the program is `marklab-switch`.

mod action;
mod control;
mod effects;
mod filter;
mod fixed;
mod hash;
mod interpreter;
mod jit;
mod layout;
mod load_error;
mod math;
mod meter;
mod packet;
mod profile;
mod prune;
mod random;
mod rejection;
mod spotlight;
mod stage;
mod state;
mod table;
mod trace;
mod value_set;
mod words;

use std::sync::Arc;

use marklab_p4::ir::{ParserBody, Program, StateId, Target, Transition};

pub use action::{GroupId, Member, MemberId};
pub use control::{ActionSpec, ControlError, EntrySpec, lookup_name};
pub use effects::{CloneRequest, Digest, Effects, FailedAssertion, MirrorRequest};
pub use filter::{DropSettings, FilterError, FilterSettings};
pub use hash::{csum16, hash};
pub use interpreter::Interpreter;
pub use jit::{Jit, JitError};
use layout::LayoutId;
pub use layout::{Field, Layout, Phv, Standard};
pub use load_error::LoadError;
pub use meter::{MeterError, MeterRate, MeterRates};
pub use packet::{INLINE_BYTES, Packet};
pub use profile::{Profile, ProfileError};
pub use prune::prune;
pub use spotlight::{Seen, Spotlight};
pub use stage::Stage;
pub use state::State;
pub use table::{Count, EntryHandle, KeyMatch, Table, TableEntry, TableError, TableMut};
pub use trace::{Event, EventKind, FieldValue};
pub use value_set::{ValueSet, ValueSetError, ValueSetMut};

/// `egress_spec` of a packet that is to be dropped, as BMv2's default.
pub const DROP_PORT: u64 = 511;

/// Most rounds of loops and of parser states on a cycle in one run of a block; beyond that the block ends with a fault.
/// Real programs stay far below this limit. Without it, a program could stop the simulator.
pub(crate) const FUEL: u32 = 1 << 16;

/// Runs the stages of one program.
pub trait Engine: Send + Sync {
    /// Runs a stage on a packet. The stage's parser reads the packet, and its deparser changes it.
    ///
    /// # Panics
    ///
    /// If the program does not have the stage, or if `state` or `phv` was not made from the same program and layout as
    /// the engine. An equal program or layout is not the same one.
    fn run(&self, stage: Stage, state: &mut State, packet: &mut Packet, phv: &mut Phv);

    /// v1model: runs [`Stage::Egress`] and then, unless the program has set `egress_spec` to the drop port, [`Stage::Deparse`].
    /// Returns whether it deparsed.
    ///
    /// # Panics
    ///
    /// As [`Engine::run`].
    fn run_out(&self, state: &mut State, packet: &mut Packet, phv: &mut Phv, egress_spec: Field) -> bool {
        self.run(Stage::Egress, state, packet, phv);
        let kept = phv.get(egress_spec) != DROP_PORT;
        if kept {
            self.run(Stage::Deparse, state, packet, phv);
        }
        kept
    }
}

/// The program and layout of an engine, which each call compares with its arguments: generated code trusts tables,
/// registers and packet states to be where its program has them.
#[derive(Clone, Debug)]
pub(crate) struct Origin {
    program: Arc<Program>,
    layout: LayoutId,
}

impl Origin {
    /// # Panics
    ///
    /// If the layout is another program's.
    pub(crate) fn new(program: &Arc<Program>, layout: &Layout) -> Origin {
        assert!(layout.is_of(program), "the layout belongs to another program");
        Origin { program: program.clone(), layout: layout.id() }
    }

    #[inline(always)]
    pub(crate) fn check(&self, state: &State, phv: &Phv) {
        assert!(Arc::ptr_eq(&self.program, &state.program), "the state belongs to another program");
        assert!(self.layout == phv.layout_id(), "the packet state belongs to another layout");
    }
}

/// Returns which parser states lie on a cycle, or between two cycles: entering these costs fuel.
pub(crate) fn looping_states(parser: &ParserBody) -> Vec<bool> {
    let successors = |state: usize| -> Vec<usize> {
        let targets = match &parser.states[state].next {
            Transition::Goto(target) => vec![*target],
            Transition::Select { cases, .. } => cases.iter().map(|(_, target)| *target).collect(),
        };
        let states = targets.into_iter().filter_map(|target| match target {
            Target::State(StateId(state)) => Some(state as usize),
            Target::Accept | Target::Reject => None,
        });
        states.collect()
    };
    let forth: Vec<Vec<usize>> = (0..parser.states.len()).map(successors).collect();
    let mut back = vec![Vec::new(); forth.len()];
    for (state, successors) in forth.iter().enumerate() {
        for &next in successors {
            back[next].push(state);
        }
    }
    let mut looping = vec![true; forth.len()];
    // A state without predecessors is on no cycle. Without that state, neither is a state that only it leads to. The
    // same holds backwards.
    for (from, to) in [(&back, &forth), (&forth, &back)] {
        let mut open: Vec<usize> =
            from.iter().map(|edges| edges.iter().filter(|&&edge| looping[edge]).count()).collect();
        let mut ends: Vec<usize> = (0..open.len()).filter(|&state| looping[state] && open[state] == 0).collect();
        while let Some(state) = ends.pop() {
            looping[state] = false;
            for &next in &to[state] {
                open[next] -= 1;
                if looping[next] && open[next] == 0 {
                    ends.push(next);
                }
            }
        }
    }
    looping
}

#[cfg(test)]
mod tests {
    use marklab_p4::ir::{KeySet, State};
    use marklab_p4::source::Span;

    use super::*;

    #[test]
    fn states_on_and_between_cycles_loop() {
        // 0 -> 1 <-> 2 -> 3 -> 4 -> 4 or 5
        let edges: [&[u32]; 6] = [&[1], &[2], &[1, 3], &[4], &[4, 5], &[]];
        let state = |targets: &&[u32]| {
            let case = |&target: &u32| (vec![KeySet::Any], Target::State(StateId(target)));
            let cases = targets.iter().map(case).chain([(vec![KeySet::Any], Target::Accept)]).collect();
            let next = Transition::Select { keys: Vec::new(), cases, span: Span::default() };
            State { name: String::new(), body: Vec::new(), next, span: Span::default() }
        };
        let parser = ParserBody { states: edges.iter().map(state).collect(), start: StateId(0) };
        assert_eq!(looping_states(&parser), [false, true, true, true, true, false]);
    }
}
