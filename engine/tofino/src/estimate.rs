// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a program needs of a chip: stages (by dependencies and by resources), memories, units, bits of the packet
//! header vector. This is an estimate: the modules have the simplifications.

mod dependency;
mod memory;
mod placement;
mod simplify;
mod units;

use std::collections::BTreeMap;

use marklab_p4::ir::{BlockBody, Class, Header, Program, RegisterId, SlotId, visit};
use marklab_p4::source::{SourceMap, Span};
use serde::Serialize;

use self::placement::Placement;
use self::units::{Kind, Unit};
use crate::chip::{self, Limits};
use crate::fields::{self, Fields, uses};
use crate::findings::{Findings, label};
use crate::flow::Flow;
use crate::limit::Limit;

/// What a program needs.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Estimate {
    /// Stages that it takes.
    pub stages_used: usize,
    /// Stages of the chip.
    pub stages: usize,
    /// Stages that dependencies alone require.
    pub stages_by_dependencies: usize,
    /// Tables and conditions of the longest chain of dependencies.
    pub longest_chain: Vec<String>,
    /// By stage.
    pub by_stage: Vec<StageUse>,
    /// Of all stages.
    pub total: Total,
    /// Register arrays by width.
    pub registers: Vec<RegisterArrays>,
    /// Bits of the packet header vector.
    pub vector: VectorBits,
}

/// Resources of a stage that are used.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct StageUse {
    /// Number, from 0.
    pub stage: usize,
    /// Names of tables, and places of the statements and conditions that become tables.
    pub tables: Vec<String>,
    /// Logical tables.
    pub logical_tables: usize,
    /// Gateways.
    pub gateways: usize,
    /// ALUs of registers, meters and filters.
    pub stateful_alus: usize,
    /// ALUs of counters.
    pub counter_alus: usize,
    /// Blocks of 16 KB.
    pub sram: usize,
    /// Blocks of 512 x 44 bits.
    pub tcam: usize,
    /// Map RAM blocks, which registers, counters and meters take in addition to SRAM.
    pub map_ram: usize,
    /// Bytes at the crossbar of exact matches, conditions and hashes.
    pub exact_bytes: u32,
    /// Bytes at the crossbar of ternary matches.
    pub ternary_bytes: u32,
    /// Bits that hash functions calculate.
    pub hash_bits: u32,
}

/// Resources of all stages that are used.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize)]
pub struct Total {
    /// Tables of the program.
    pub tables: usize,
    /// Logical tables, including those of statements and conditions.
    pub logical_tables: usize,
    /// Gateways.
    pub gateways: usize,
    /// ALUs of registers, meters and filters.
    pub stateful_alus: usize,
    /// Blocks of 16 KB.
    pub sram: usize,
    /// Blocks of 512 x 44 bits.
    pub tcam: usize,
    /// Map RAM blocks, which registers, counters and meters take in addition to SRAM.
    pub map_ram: usize,
    /// Bits that hash functions calculate.
    pub hash_bits: u32,
}

/// Register arrays of one width.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct RegisterArrays {
    /// Bits of an element.
    pub bits: u32,
    /// Arrays.
    pub arrays: usize,
    /// Elements of all of them.
    pub elements: u64,
}

/// Bits of the packet header vector, which both gresses share.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct VectorBits {
    /// Fields of headers that are parsed, written or emitted.
    pub headers: u32,
    /// Metadata of the program, including variables that live from one table to another.
    pub metadata: u32,
    /// Intrinsic metadata that the program reads or writes.
    pub intrinsic: u32,
    /// Bits available for tables.
    pub available: u32,
}

/// Estimates what a program needs, and reports resources that do not suffice.
pub(crate) fn estimate(
    program: &Program,
    sources: &SourceMap,
    flows: &[Flow<'_>],
    limits: &Limits,
    findings: &mut Findings,
) -> Estimate {
    let units = logical_tables(program, sources, flows);
    let edges = dependency::edges(&units);
    let (depth, chain) = dependency::longest_chain(&units, &edges);
    let placement = placement::place(program, &units, &edges);
    let name = |unit: &usize| name_of(program, sources, &units[*unit]);
    let longest_chain: Vec<String> = chain.iter().map(name).collect();
    too_many_stages(&units, &placement, &chain, &longest_chain, limits, findings);
    registers_apart(program, &units, &placement, findings);
    register_memory(program, &units, findings);
    let by_stage: Vec<StageUse> =
        placement.stages.iter().enumerate().map(|(number, stage)| stage_use(number, stage, &name)).collect();
    Estimate {
        stages_used: by_stage.len(),
        stages: limits.stages,
        stages_by_dependencies: depth,
        longest_chain,
        total: total(&units, &by_stage),
        by_stage,
        registers: register_arrays(program, &units),
        vector: vector_bits(program, &units),
    }
}

/// The logical tables of all controls, in the order of their statements.
fn logical_tables(program: &Program, sources: &SourceMap, flows: &[Flow<'_>]) -> Vec<Unit> {
    let aliases = simplify::aliases(sources, flows);
    let deparsers = program.arch.parts().into_iter().filter(|(part, _)| part.ends_with("deparser"));
    let mut after = Fields::default();
    for (_, block) in deparsers {
        if let BlockBody::Control(body) = &program.blocks[block.index()].body {
            after.extend(&simplify::read_after(program, body));
        }
    }
    let mut units = Vec::new();
    for (number, flow) in flows.iter().enumerate() {
        let left_out = simplify::left_out(program, sources, flow, &after);
        units.extend(units::units_of(program, number, flow, &left_out));
    }
    for unit in &mut units {
        for fields in [&mut unit.matches, &mut unit.reads, &mut unit.writes] {
            *fields = fields.renamed(&|slot| aliases.of(slot));
        }
    }
    units
}

fn stage_use(number: usize, stage: &placement::Stage, name: &dyn Fn(&usize) -> String) -> StageUse {
    StageUse {
        stage: number,
        tables: stage.units.iter().map(name).collect(),
        logical_tables: stage.tables,
        gateways: stage.gateways,
        stateful_alus: stage.memory.alus,
        counter_alus: stage.memory.counters,
        sram: stage.memory.sram,
        tcam: stage.memory.tcam,
        map_ram: stage.memory.map_ram,
        exact_bytes: stage.exact.bytes(),
        ternary_bytes: stage.ternary.bytes(),
        hash_bits: stage.hash_bits,
    }
}

fn total(units: &[Unit], by_stage: &[StageUse]) -> Total {
    let tables: std::collections::BTreeSet<_> = units
        .iter()
        .filter_map(|unit| match unit.kind {
            Kind::Table(table) => Some(table),
            _ => None,
        })
        .collect();
    let mut total = Total { tables: tables.len(), ..Total::default() };
    for stage in by_stage {
        total.logical_tables += stage.logical_tables;
        total.gateways += stage.gateways;
        total.stateful_alus += stage.stateful_alus;
        total.sram += stage.sram;
        total.tcam += stage.tcam;
        total.map_ram += stage.map_ram;
        total.hash_bits += stage.hash_bits;
    }
    total
}

/// The name of a table, or the place of the statement or condition that becomes one.
fn name_of(program: &Program, sources: &SourceMap, unit: &Unit) -> String {
    let place = |span: Span| {
        let file = sources.file(span.file).path.file_name().map_or(String::new(), |name| name.to_string_lossy().into());
        format!("{file}:{}", sources.line_column(span).0)
    };
    match unit.kind {
        Kind::Table(table) => program.tables[table.index()].name.clone(),
        Kind::Statements => place(unit.span),
        Kind::Condition(_) => format!("if {}", place(unit.span)),
    }
}

/// Checks the number of stages (`bf-asm/stage.cpp`).
fn too_many_stages(
    units: &[Unit],
    placement: &Placement,
    chain: &[usize],
    names: &[String],
    limits: &Limits,
    findings: &mut Findings,
) {
    let (found, limit) = (placement.stages.len(), limits.stages);
    let Some(beyond) = placement.stages.get(limit).and_then(|stage| stage.units.first()) else { return };
    let problem = Limit::Stages { found, limit, chain: names.join(", ") };
    let labels = chain.iter().map(|unit| label(units[*unit].span, "in the longest chain")).collect();
    findings.report_with(units[*beyond].span, problem, labels);
}

/// Checks that all tables that use a register can be in the register's stage.
fn registers_apart(program: &Program, units: &[Unit], placement: &Placement, findings: &mut Findings) {
    for (one, other) in &placement.apart {
        let shared = units[*other].attached.iter().find(|object| units[*one].attached.contains(object));
        if let Some(units::Attached::Register(id)) = shared {
            let name = &program.registers[id.index()].name;
            // Two accesses by one packet cannot be in one stage anyway.
            if !findings.contain(|limit| matches!(limit, Limit::AccessedTwice { register } if register == name)) {
                let problem = Limit::RegisterStages { register: name.clone() };
                findings.report_with(units[*other].span, problem, vec![label(units[*one].span, "also used here")]);
            }
        }
    }
}

/// Registers that tables use, each with the place of the first use.
fn used_registers(units: &[Unit]) -> BTreeMap<RegisterId, Span> {
    let mut used = BTreeMap::new();
    for unit in units {
        for object in &unit.attached {
            if let units::Attached::Register(id) = object {
                used.entry(*id).or_insert(unit.span);
            }
        }
    }
    used
}

/// Checks that one ALU can reach all blocks of a register (`bf-asm/stateful.cpp`).
fn register_memory(program: &Program, units: &[Unit], findings: &mut Findings) {
    for (id, span) in used_registers(units) {
        let found = memory::register_blocks(program, id);
        if found > chip::REGISTER_BLOCKS {
            let (register, limit) = (program.registers[id.index()].name.clone(), chip::REGISTER_BLOCKS);
            findings.report(span, Limit::RegisterMemory { register, found, limit });
        }
    }
}

fn register_arrays(program: &Program, units: &[Unit]) -> Vec<RegisterArrays> {
    let mut by_bits: BTreeMap<u32, RegisterArrays> = BTreeMap::new();
    for id in used_registers(units).into_keys() {
        let register = &program.registers[id.index()];
        let bits = register.ty.width;
        let arrays = by_bits.entry(bits).or_insert(RegisterArrays { bits, arrays: 0, elements: 0 });
        arrays.arrays += 1;
        arrays.elements += register.size;
    }
    by_bits.into_values().collect()
}

/// Bits that fields take in the packet header vector. Headers that are only parsed and emitted count here, although
/// they can lie in parts that tables do not see.
fn vector_bits(program: &Program, units: &[Unit]) -> VectorBits {
    let (mut reads, mut writes) = (Fields::default(), Fields::default());
    for body in visit::bodies(&program.blocks, &program.actions, &[]) {
        uses(program, body, &mut reads, &mut writes);
    }
    for key in visit::keys(&program.blocks, &program.tables) {
        fields::read_all(key, &mut reads);
    }
    let intrinsic: Vec<SlotId> = program.intrinsics.iter().map(|(_, slot)| *slot).collect();
    let in_header: Vec<SlotId> =
        program.headers.iter().flat_map(|header| header.fields.iter().copied().chain([header.valid])).collect();
    let width = |slot: SlotId| program.slots[slot.index()].ty.width;
    let mut bits = VectorBits { headers: 0, metadata: 0, intrinsic: 0, available: chip::VECTOR_BITS };
    // Copies of headers share the bits of their originals.
    let own = |header: &&Header| program.slots[header.valid.index()].class == Class::Packet;
    for header in program.headers.iter().filter(own).filter(|header| is_used(program, header, &reads, &writes)) {
        let own = header.fields.iter().filter(|field| !intrinsic.contains(field));
        let padded = header.fields.iter().filter(|field| intrinsic.contains(field) && reads.contains(**field));
        bits.headers += own.map(|field| width(*field)).sum::<u32>();
        bits.intrinsic += padded.map(|field| width(*field)).sum::<u32>();
    }
    for (index, slot) in program.slots.iter().enumerate() {
        let id = SlotId(index as u32);
        if in_header.contains(&id) {
            continue;
        }
        match slot.class {
            Class::Packet if intrinsic.contains(&id) => {
                bits.intrinsic += if reads.contains(id) || writes.contains(id) { slot.ty.width } else { 0 };
            }
            Class::Packet => bits.metadata += if reads.contains(id) && writes.contains(id) { slot.ty.width } else { 0 },
            Class::Local(_) => bits.metadata += if crosses(units, id) { slot.ty.width } else { 0 },
        }
    }
    bits
}

/// Whether a header is ever used: it is extracted, or one of its fields or its validity is read or written.
fn is_used(program: &Program, header: &Header, reads: &Fields, writes: &Fields) -> bool {
    let touched = |slot: &SlotId| reads.contains(*slot) || writes.contains(*slot);
    header.fields.iter().chain([&header.valid]).any(touched)
        || visit::any_statement(visit::bodies(&program.blocks, &[], &[]), &|stmt| match stmt {
            marklab_p4::ir::StmtKind::Extract { header: of, .. } => program.headers[of.header.index()] == *header,
            _ => false,
        })
}

/// Whether a variable is written by one table and read by another.
fn crosses(units: &[Unit], slot: SlotId) -> bool {
    let writers = units.iter().enumerate().filter(|(_, unit)| unit.writes.contains(slot));
    writers.into_iter().any(|(writer, _)| {
        units
            .iter()
            .enumerate()
            .any(|(reader, unit)| reader != writer && (unit.reads.contains(slot) || unit.matches.contains(slot)))
    })
}
