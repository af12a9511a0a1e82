// SPDX-License-Identifier: MIT OR Apache-2.0
//! The programs of this repository, loaded in both engines.

use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};

use marklab_p4::ir::{Class, Program, SlotId};
use marklab_p4::{Options, compile};
use marklab_pipeline::{Engine, Field, Interpreter, Jit, Layout, Packet, Phv, Stage, State};

use crate::bytes::Bytes;
use crate::home;

/// Folders with programs that compile. Inputs of the corpus refer to programs by number, so new folders must come last.
const FOLDERS: [&str; 3] = ["../../p4src/v1model", "../p4/tests/ok", "../../tests/p4"];

/// A program, loaded in both engines.
pub(crate) struct Loaded {
    pub(crate) program: Arc<Program>,
    layout: Arc<Layout>,
    engines: [Box<dyn Engine>; 2],
    /// Metadata that a switch would set.
    signals: Vec<Field>,
    /// Validity of headers, which distinguishes paths through the program.
    validity: Vec<Field>,
}

/// The states of a program, one for each engine.
pub(crate) struct Pair {
    pub(crate) states: [State; 2],
}

/// Paths of the programs: folder by folder, by name.
pub(crate) fn paths() -> Vec<PathBuf> {
    FOLDERS.iter().flat_map(|folder| programs_of(&home().join(folder))).collect()
}

fn programs_of(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("the folders of this repository");
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "p4"));
    paths.sort();
    paths
}

/// All programs that both engines can load.
pub(crate) static PROGRAMS: LazyLock<Vec<Loaded>> = LazyLock::new(|| {
    let loaded: Vec<Loaded> =
        paths().iter().filter_map(|path| load(compile(path, &Options::default()).program?)).collect();
    assert!(!loaded.is_empty(), "no program can be loaded");
    loaded
});

/// The program whose number the input begins with.
pub(crate) fn chosen(input: &mut Bytes<'_>) -> (u8, &'static Loaded) {
    let which = input.below(PROGRAMS.len());
    (which as u8, &PROGRAMS[which])
}

/// Loads a program in both engines; `None` if a switch cannot load it, or the JIT cannot compile it.
pub(crate) fn load(program: Program) -> Option<Loaded> {
    let program = Arc::new(program);
    let layout = Arc::new(Layout::new(&program));
    State::new(&program, &layout, 0).ok()?;
    let jit = Jit::compile(&program, &layout).ok()?;
    let narrow = |slot: SlotId| layout.field(slot).filter(|_| program.slots[slot.index()].ty.width <= 64);
    let signals = program.intrinsics.iter().filter(|(name, _)| name.starts_with("standard_metadata."));
    let signals = signals.filter_map(|&(_, slot)| narrow(slot)).collect();
    let validity = program.headers.iter().filter(|header| program.slots[header.valid.index()].class == Class::Packet);
    let validity = validity.filter_map(|header| narrow(header.valid)).collect();
    let interpreter = Interpreter::new(&program, &layout);
    Some(Loaded { engines: [Box::new(interpreter), Box::new(jit)], signals, validity, program, layout })
}

impl Loaded {
    /// Fresh state for both engines.
    pub(crate) fn states(&self) -> Pair {
        Pair { states: [0, 1].map(|_| State::new(&self.program, &self.layout, 7).expect("it was loaded before")) }
    }

    /// Sends a packet through both engines. An error describes where they differ. Otherwise the result is the feature:
    /// the validity of headers after each stage, and the number of faults.
    pub(crate) fn send(&self, pair: &mut Pair, input: &mut Bytes<'_>) -> Result<Vec<u8>, String> {
        let (stored, zeros) = (input.below(120), input.below(1600));
        let packet = Packet::new(input.take(stored), zeros);
        let signals: Vec<u64> = self.signals.iter().map(|_| input.byte().into()).collect();
        let mut packets = [packet.clone(), packet];
        let mut phvs = [self.layout.phv(), self.layout.phv()];
        let mut feature = Vec::new();
        for stage in Stage::of_packets(&self.program) {
            for which in 0..2 {
                let (phv, state) = (&mut phvs[which], &mut pair.states[which]);
                if stage == Stage::Ingress {
                    phv.set_arrival_bytes(packets[which].len() as u64);
                }
                if stage != Stage::Deparse {
                    self.set_signals(phv, &signals);
                }
                state.effects.take();
                self.engines[which].run(stage, state, &mut packets[which], phv);
            }
            self.compare(stage, &phvs, &packets, pair)?;
            feature.extend(self.validity.iter().map(|&field| phvs[0].get(field) as u8));
        }
        feature.push(pair.states[0].faults.min(3) as u8);
        Ok(feature)
    }

    /// Sets metadata. A field of one byte may have a single bit, so its value is cut to one bit.
    fn set_signals(&self, phv: &mut Phv, signals: &[u64]) {
        for (&field, &value) in self.signals.iter().zip(signals) {
            phv.set(field, if field.size == 1 { value & 1 } else { value });
        }
    }

    fn compare(&self, stage: Stage, phvs: &[Phv; 2], packets: &[Packet; 2], pair: &Pair) -> Result<(), String> {
        let [meant, compiled] = phvs;
        for (number, slot) in self.program.slots.iter().enumerate() {
            let Some(field) = self.layout.field(SlotId(number as u32)) else { continue };
            let (meant, compiled) = (meant.get_wide(field), compiled.get_wide(field));
            if meant != compiled {
                return Err(self.differ(stage, &slot.name, &meant, &compiled));
            }
        }
        let [meant, compiled] = packets;
        if meant != compiled {
            return Err(self.differ(stage, "packet", &meant.to_vec(), &compiled.to_vec()));
        }
        let [meant, compiled] = &pair.states;
        if (&meant.effects, meant.faults) != (&compiled.effects, compiled.faults) {
            let of = |state: &State| format!("{:?}, {} faults", state.effects, state.faults);
            return Err(self.differ(stage, "effects", &of(meant), &of(compiled)));
        }
        Ok(())
    }

    fn differ(&self, stage: Stage, what: &str, meant: &dyn std::fmt::Debug, compiled: &dyn std::fmt::Debug) -> String {
        format!("{}, {stage:?}: {what} is {meant:?} in the interpreter, {compiled:?} in the JIT", self.program.name)
    }
}

impl Pair {
    /// Checks that both states have the same registers and counters.
    pub(crate) fn compare(&self) -> Result<(), String> {
        let [meant, compiled] = self.states.each_ref().map(contents);
        if meant == compiled { Ok(()) } else { Err(format!("interpreter and JIT leave {meant:?} and {compiled:?}")) }
    }
}

/// Registers, counters and direct counters, as text.
fn contents(state: &State) -> Vec<String> {
    use marklab_p4::ir::{CounterId, RegisterId, TableId};
    let program = state.program();
    let cells = |size: u64| 0..size.min(256);
    let registers = program.registers.iter().zip(0..).flat_map(|(register, id)| {
        cells(register.size).map(move |cell| format!("{:?}", state.register(RegisterId(id), cell)))
    });
    let counters = program.counters.iter().zip(0..).flat_map(|(counter, id)| {
        cells(counter.size.unwrap_or(0)).map(move |cell| format!("{:?}", state.counter(CounterId(id), cell)))
    });
    let direct = (0..program.tables.len() as u32).flat_map(|id| {
        let table = state.table(TableId(id));
        table.entries().map(move |(handle, _)| format!("{:?}", table.direct_count(handle)))
    });
    registers.chain(counters).chain(direct).collect()
}
