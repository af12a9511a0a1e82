// SPDX-License-Identifier: MIT OR Apache-2.0
//! Memories and units that logical tables take (p4c's `bf-p4c/mau/resource_estimate.cpp`).

use marklab_p4::ir::{MatchKind, Program, Table, TableId, Unit as Counted};

use super::units::Attached;
use crate::chip;

/// Memories and ALUs that a stage has, or a table takes.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct Memory {
    pub(super) sram: usize,
    pub(super) tcam: usize,
    pub(super) map_ram: usize,
    /// Stateful ALUs, including those of meters and filters.
    pub(super) alus: usize,
    pub(super) counters: usize,
}

impl std::ops::Add for Memory {
    type Output = Memory;

    fn add(self, other: Memory) -> Memory {
        Memory {
            sram: self.sram + other.sram,
            tcam: self.tcam + other.tcam,
            map_ram: self.map_ram + other.map_ram,
            alus: self.alus + other.alus,
            counters: self.counters + other.counters,
        }
    }
}

/// Whether a table is matched in TCAMs.
pub(super) fn is_ternary(table: &Table) -> bool {
    let in_tcam = [MatchKind::Ternary, MatchKind::Range, MatchKind::Lpm, MatchKind::Optional];
    table.keys.iter().any(|key| in_tcam.contains(&key.kind))
}

/// Memory of a table's keys and action data.
pub(super) fn of_table(program: &Program, id: TableId) -> Memory {
    let table = &program.tables[id.index()];
    let data = action_data_bits(program, table);
    let keys: u64 =
        table.keys.iter().filter(|key| key.kind != MatchKind::Selector).map(|key| u64::from(key.expr.ty.width)).sum();
    if keys == 0 {
        // The default action has registers for 32 bits of data.
        return Memory { sram: usize::from(data > IMMEDIATE_BITS), ..Memory::default() };
    }
    let entries = if table.const_entries { table.entries.len() as u64 } else { table.size }.max(1);
    let choice = u64::from(table.actions.len().next_power_of_two().trailing_zeros());
    // A profile has the data, and the entry points to it.
    let (inline, apart) = match table.profile {
        Some(_) => (POINTER_BITS, 0),
        None if data <= IMMEDIATE_BITS => (data, 0),
        None => (0, data),
    };
    match is_ternary(table) {
        true => ternary(table, entries, inline + choice, apart),
        false => exact(keys, entries, inline + choice, apart),
    }
}

/// Bits of action data that fit into the entry itself.
const IMMEDIATE_BITS: u64 = 32;
/// Bits of a pointer to a profile's member.
const POINTER_BITS: u64 = 19;
/// Bits for the version of an entry, which makes changes of a table atomic.
const VERSION_BITS: u64 = 4;
/// Key bits that the place of an entry implies.
const GHOST_BITS: u64 = 10;
/// Smallest number of ways of an exact match.
const WAYS: u64 = 4;
/// Largest number of entries in a word.
const MOST_PER_WORD: u64 = 4;

/// Blocks for `entries` entries of `bits` bits each, which are rounded up to a power of two and packed into words.
fn words(bits: u64, entries: u64) -> usize {
    if bits == 0 {
        return 0;
    }
    let width = bits.next_power_of_two().max(8);
    let per_word = (chip::SRAM_WORD_BITS / width).max(1);
    let words_each = width.div_ceil(chip::SRAM_WORD_BITS);
    (entries.div_ceil(chip::SRAM_WORDS * per_word) * words_each) as usize
}

/// Memory of hashed entries in SRAM. Words hold the number of entries that takes the fewest blocks, including those of
/// separate action data.
fn exact(keys: u64, entries: u64, inline: u64, apart: u64) -> Memory {
    let bits = keys.saturating_sub(GHOST_BITS) + VERSION_BITS + inline;
    let width = bits.div_ceil(chip::SRAM_WORD_BITS) as usize;
    let most = (chip::SRAM_WORD_BITS / bits).clamp(1, MOST_PER_WORD);
    let blocks = |per_word: u64| {
        let deep = entries.div_ceil(chip::SRAM_WORDS * per_word);
        let ways = if keys <= GHOST_BITS && deep == 1 { 1 } else { deep.max(WAYS) };
        ways as usize * width + words(apart, ways * per_word * chip::SRAM_WORDS)
    };
    Memory { sram: (1..=most).map(blocks).min().unwrap_or(0), ..Memory::default() }
}

/// Memory of entries in TCAM, with their actions and data in SRAM.
fn ternary(table: &Table, entries: u64, inline: u64, apart: u64) -> Memory {
    let rows: u64 = table.keys.iter().filter(|key| key.kind == MatchKind::Range).fold(entries, |rows, key| {
        // Assumption: a quarter of the entries have ranges that need the largest number of rows.
        let nibbles = u64::from(key.expr.ty.width.div_ceil(4));
        rows + rows.div_ceil(4) * ((2 * nibbles).saturating_sub(1).min(8) - 1)
    });
    let bytes: u64 = table.keys.iter().map(|key| u64::from(key.expr.ty.width.div_ceil(8))).sum();
    // 11 bytes take two blocks side by side, up to 6 take one.
    let (pairs, rest) = (bytes / 11, bytes % 11);
    let wide = 2 * pairs + if rest > 6 { 2 } else { u64::from(rest > 0) };
    // Each byte of a range is matched twice, once for each half. All except the first take the next block for this.
    let halved = table.keys.iter().any(|key| key.kind == MatchKind::Range && key.expr.ty.width > 8);
    let wide = wide.max(1 + u64::from(halved));
    let tcam = (rows.div_ceil(chip::TCAM_ENTRIES) * wide) as usize;
    Memory { tcam, sram: words(inline, rows) + words(apart, rows), ..Memory::default() }
}

/// Largest number of bits of action data of a table's actions.
fn action_data_bits(program: &Program, table: &Table) -> u64 {
    let of = |action: &marklab_p4::ir::TableAction| -> u64 {
        program.actions[action.action.index()].params.iter().map(|param| u64::from(param.ty.width)).sum()
    };
    table.actions.iter().map(of).max().unwrap_or(0)
}

/// Blocks of a register: those for its words, and a spare one.
pub(super) fn register_blocks(program: &Program, register: marklab_p4::ir::RegisterId) -> usize {
    let register = &program.registers[register.index()];
    let per_word = chip::SRAM_WORD_BITS / u64::from(register.ty.width.max(1));
    register.size.div_ceil(chip::SRAM_WORDS * per_word.max(1)) as usize + 1
}

/// Memory and ALU of an object.
pub(super) fn of_attached(program: &Program, object: Attached) -> Memory {
    let with_spare = |cells: u64, per_word: u64| cells.div_ceil(chip::SRAM_WORDS * per_word) as usize + 1;
    match object {
        Attached::Register(id) => {
            let blocks = register_blocks(program, id);
            Memory { sram: blocks, map_ram: blocks, alus: 1, ..Memory::default() }
        }
        Attached::Counter(id) => {
            let counter = &program.counters[id.index()];
            let cells = counter.size.unwrap_or_else(|| direct_size(program, object));
            // Cells of 64 bits, or of 128 bits for packets and bytes.
            let per_word = if counter.unit == Counted::PacketsAndBytes { 1 } else { 2 };
            let blocks = with_spare(cells, per_word);
            Memory { sram: blocks, map_ram: blocks, counters: 1, ..Memory::default() }
        }
        Attached::Meter(id) => {
            let cells = program.meters[id.index()].size.unwrap_or_else(|| direct_size(program, object));
            let blocks = with_spare(cells, 1);
            Memory { sram: blocks, map_ram: blocks, alus: 1, ..Memory::default() }
        }
        Attached::Filter(id) => {
            let blocks = with_spare(program.filters[id.index()].size, 1);
            Memory { sram: blocks, map_ram: blocks, alus: 1, ..Memory::default() }
        }
        Attached::Profile(id) => {
            let profile = &program.profiles[id.index()];
            let bits = program
                .tables
                .iter()
                .filter(|table| table.profile == Some(id))
                .map(|table| action_data_bits(program, table))
                .max()
                .unwrap_or(0);
            let data = words(bits.max(8), profile.size);
            match profile.selector {
                // Groups take bits of a register in addition.
                Some(_) => {
                    let blocks = with_spare(profile.size, chip::SRAM_WORD_BITS);
                    Memory { sram: data + blocks, map_ram: blocks, alus: 1, ..Memory::default() }
                }
                None => Memory { sram: data, ..Memory::default() },
            }
        }
    }
}

/// Entries of the table that has a direct object.
fn direct_size(program: &Program, object: Attached) -> u64 {
    let has = |table: &&Table| match object {
        Attached::Counter(id) => table.direct_counter == Some(id),
        Attached::Meter(id) => table.direct_meter == Some(id),
        _ => false,
    };
    program.tables.iter().find(has).map_or(1, |table| table.size)
}
