// SPDX-License-Identifier: MIT OR Apache-2.0
//! Placement of logical tables in stages. Each goes to the earliest stage that its dependencies and the resources of
//! the stage allow. The tables with the most stages after them come first. p4c weighs more criteria and backtracks;
//! this only estimates its result.

use std::collections::BTreeSet;

use marklab_p4::ir::{Program, TableId};

use super::dependency::{Edge, merged_conditions, urgency};
use super::memory::{self, Memory};
use super::units::{Attached, Kind, Unit};
use crate::chip;
use crate::fields::Fields;

/// Contents of a stage.
#[derive(Clone, Default, Debug)]
pub(super) struct Stage {
    pub(super) units: Vec<usize>,
    /// Logical tables.
    pub(super) tables: usize,
    pub(super) gateways: usize,
    pub(super) memory: Memory,
    pub(super) exact: Fields,
    pub(super) ternary: Fields,
    pub(super) ternary_tables: usize,
    pub(super) hash_bits: u32,
    known_tables: BTreeSet<TableId>,
    known_objects: BTreeSet<Attached>,
}

/// The stages, and the last stage of each table.
pub(super) struct Placement {
    pub(super) stages: Vec<Stage>,
    pub(super) last: Vec<usize>,
    /// Pairs of tables that have to be in one stage, but cannot be.
    pub(super) apart: Vec<(usize, usize)>,
}

const FULL: Memory = Memory {
    sram: chip::SRAM_BLOCKS,
    tcam: chip::TCAM_BLOCKS,
    map_ram: chip::MAP_RAMS,
    alus: chip::METER_ALUS,
    counters: chip::COUNTER_ALUS,
};

/// Places all tables.
pub(super) fn place(program: &Program, units: &[Unit], edges: &[Edge]) -> Placement {
    let merged = merged_conditions(units);
    let after = urgency(units, edges);
    let bundles = bundles(units);
    let mut placement = Placement { stages: Vec::new(), last: vec![0; units.len()], apart: Vec::new() };
    let mut placed = vec![false; units.len()];
    while let Some(bundle) = next(&bundles, &placed, edges, &after) {
        let earliest = |unit: usize, last: &[usize]| {
            let waits = edges.iter().filter(|edge| edge.to == unit && placed[edge.from]);
            waits.map(|edge| last[edge.from] + edge.stages).max().unwrap_or(0)
        };
        let mut stage = bundle.iter().map(|unit| earliest(*unit, &placement.last)).max().unwrap_or(0);
        loop {
            while placement.stages.len() <= stage {
                placement.stages.push(Stage::default());
            }
            let mut tried = placement.stages[stage].clone();
            if bundle.iter().all(|unit| tried.take(program, units, *unit, &merged)) || stage > chip::MOST_STAGES {
                placement.stages[stage] = tried;
                break;
            }
            if let [unit] = bundle[..]
                && let Some(end) = spread(program, units, unit, stage, &mut placement.stages)
            {
                stage = end;
                break;
            }
            stage += 1;
        }
        let together = bundles.iter().find(|all| all.contains(&bundle[0])).into_iter().flatten();
        let before = together.copied().find(|unit| placed[*unit] && placement.last[*unit] != stage);
        placement.apart.extend(before.map(|unit| (unit, bundle[0])));
        for unit in bundle {
            placement.last[unit] = stage;
            placed[unit] = true;
        }
    }
    placement.stages.retain(|stage| !stage.units.is_empty());
    placement
}

/// Groups of tables that have to be in one stage: applications of the same table, and tables that share an object.
fn bundles(units: &[Unit]) -> Vec<Vec<usize>> {
    let mut bundles: Vec<Vec<usize>> = Vec::new();
    for (index, unit) in units.iter().enumerate() {
        let joins = |other: &usize| {
            let other = &units[*other];
            let same_table = matches!(unit.kind, Kind::Table(_)) && unit.kind == other.kind;
            same_table || unit.attached.iter().any(|object| other.attached.contains(object))
        };
        let (with, without): (Vec<_>, Vec<_>) = bundles.into_iter().partition(|bundle| bundle.iter().any(joins));
        bundles = without;
        let mut bundle: Vec<usize> = with.into_iter().flatten().collect();
        bundle.push(index);
        bundle.sort_unstable();
        bundles.push(bundle);
    }
    bundles
}

/// The bundle to be placed next: its predecessors are placed, and the most stages have to come after it. If no bundle
/// is ready because tables wait for others of a bundle, a single table that can be placed.
fn next(bundles: &[Vec<usize>], placed: &[bool], edges: &[Edge], after: &[usize]) -> Option<Vec<usize>> {
    let waits = |unit: usize, for_all: &dyn Fn(usize) -> bool| {
        edges.iter().any(|edge| edge.to == unit && !placed[edge.from] && for_all(edge.from))
    };
    let open = |bundle: &&Vec<usize>| bundle.iter().any(|unit| !placed[*unit]);
    let urgent = |bundle: &Vec<usize>| bundle.iter().map(|unit| after[*unit]).max().unwrap_or(0);
    let ready = bundles
        .iter()
        .filter(open)
        .filter(|bundle| bundle.iter().all(|unit| placed[*unit] || !waits(*unit, &|from| !bundle.contains(&from))));
    if let Some(bundle) = ready.max_by_key(|bundle| (urgent(bundle), std::cmp::Reverse(bundle[0]))) {
        return Some(bundle.iter().copied().filter(|unit| !placed[*unit]).collect());
    }
    let first = (0..placed.len()).find(|unit| !placed[*unit] && !waits(*unit, &|_| true))?;
    Some(vec![first])
}

/// Spreads a table without objects over stages, from stage `from` on. Returns the last stage, or `None` if the table
/// has objects or fits into one stage.
fn spread(program: &Program, units: &[Unit], unit: usize, from: usize, stages: &mut Vec<Stage>) -> Option<usize> {
    let Kind::Table(table) = units[unit].kind else { return None };
    let mut rest = memory::of_table(program, table);
    if !units[unit].attached.is_empty() || rest.sram <= FULL.sram && rest.tcam <= FULL.tcam {
        return None; // fits into an empty stage as a whole
    }
    let mut stage = from;
    loop {
        while stages.len() <= stage {
            stages.push(Stage::default());
        }
        let here = &mut stages[stage];
        let part = Memory {
            sram: rest.sram.min(FULL.sram.saturating_sub(here.memory.sram)),
            tcam: rest.tcam.min(FULL.tcam.saturating_sub(here.memory.tcam)),
            ..Memory::default()
        };
        if here.tables < chip::LOGICAL_TABLES && part != Memory::default() {
            here.memory = here.memory + part;
            here.tables += 1;
            here.units.push(unit);
            rest.sram -= part.sram;
            rest.tcam -= part.tcam;
        }
        if rest == Memory::default() || stage > chip::MOST_STAGES {
            return Some(stage);
        }
        stage += 1;
    }
}

impl Stage {
    /// Adds a table to the stage. Returns whether the stage has room for it; if not, the stage must be discarded.
    fn take(&mut self, program: &Program, units: &[Unit], index: usize, merged: &[bool]) -> bool {
        let unit = &units[index];
        let mut ternary = false;
        match unit.kind {
            Kind::Condition(count) => {
                self.gateways += count;
                self.tables += count - usize::from(merged[index]);
            }
            Kind::Statements => self.tables += 1,
            Kind::Table(table) if self.known_tables.insert(table) => {
                self.tables += 1;
                self.memory = self.memory + memory::of_table(program, table);
                ternary = memory::is_ternary(&program.tables[table.index()]);
                self.ternary_tables += usize::from(ternary);
                self.hash_bits += if ternary { 0 } else { exact_hash_bits(program, table) };
            }
            Kind::Table(_) => {}
        }
        for object in &unit.attached {
            if self.known_objects.insert(*object) {
                self.memory = self.memory + memory::of_attached(program, *object);
            }
        }
        if ternary { &mut self.ternary } else { &mut self.exact }.extend(&unit.matches);
        self.hash_bits += unit.hash_bits;
        self.units.push(index);
        self.fits()
    }

    fn fits(&self) -> bool {
        let Memory { sram, tcam, map_ram, alus, counters } = self.memory;
        sram <= FULL.sram
            && tcam <= FULL.tcam
            && map_ram <= FULL.map_ram
            && alus <= FULL.alus
            && counters <= FULL.counters
            && self.tables <= chip::LOGICAL_TABLES
            && self.gateways <= chip::GATEWAYS
            && self.exact.bytes() <= chip::EXACT_BYTES
            && self.ternary.bytes() <= chip::TERNARY_BYTES
            && self.ternary_tables <= chip::TERNARY_TABLES
    }
}

/// Hash bits of an exact match: ten for the place in each of four ways.
fn exact_hash_bits(program: &Program, table: TableId) -> u32 {
    let table = &program.tables[table.index()];
    if table.keys.is_empty() { 0 } else { 10 * 4 }
}
