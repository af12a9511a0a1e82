// SPDX-License-Identifier: MIT OR Apache-2.0
//! A trace of one packet among many.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use marklab_p4::ir::Program;

use crate::{Engine, Event, Field, Interpreter, Layout, Packet, Phv, Stage, State};

/// Interprets one packet and keeps its trace; all others go through another engine.
///
/// The packet is known by its address, so it must not move while it is lit. A simulator's frames are boxed.
pub struct Spotlight {
    others: Arc<dyn Engine>,
    interpreter: Interpreter,
    /// Address of the packet, or 0.
    lit: AtomicUsize,
    seen: Mutex<Seen>,
}

/// What the packet has done since it was lit, or since the last look.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct Seen {
    /// The stages that it went through.
    pub stages: Vec<Stage>,
    /// The steps of these stages.
    pub events: Vec<Event>,
}

impl Spotlight {
    /// On no packet yet. `others` must be an engine of the same program and layout.
    pub fn new(others: Arc<dyn Engine>, program: &Arc<Program>, layout: &Arc<Layout>) -> Spotlight {
        let interpreter = Interpreter::new(program, layout);
        Spotlight { others, interpreter, lit: AtomicUsize::new(0), seen: Mutex::default() }
    }

    /// Lights a packet, or none, and forgets what was seen.
    pub fn light(&self, packet: Option<&Packet>) {
        self.lit.store(packet.map_or(0, address), Ordering::Relaxed);
        self.take();
    }

    /// What was seen since the last call.
    pub fn take(&self) -> Seen {
        std::mem::take(&mut *self.seen())
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_lit(&self, packet: &Packet) -> bool {
        self.lit.load(Ordering::Relaxed) == address(packet)
    }
}

fn address(packet: &Packet) -> usize {
    std::ptr::from_ref(packet).addr()
}

impl Engine for Spotlight {
    fn run(&self, stage: Stage, state: &mut State, packet: &mut Packet, phv: &mut Phv) {
        if !self.is_lit(packet) {
            return self.others.run(stage, state, packet, phv);
        }
        let mut seen = self.seen();
        let before = state.trace.replace(std::mem::take(&mut seen.events));
        self.interpreter.run(stage, state, packet, phv);
        seen.events = std::mem::replace(&mut state.trace, before).unwrap_or_default();
        seen.stages.push(stage);
    }

    fn run_out(&self, state: &mut State, packet: &mut Packet, phv: &mut Phv, egress_spec: Field) -> bool {
        if !self.is_lit(packet) {
            return self.others.run_out(state, packet, phv, egress_spec);
        }
        self.run(Stage::Egress, state, packet, phv);
        let kept = phv.get(egress_spec) != crate::DROP_PORT;
        if kept {
            self.run(Stage::Deparse, state, packet, phv);
        }
        kept
    }
}
