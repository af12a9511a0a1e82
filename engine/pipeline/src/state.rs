// SPDX-License-Identifier: MIT OR Apache-2.0
//! State that a switch keeps between packets: tables, registers, counters, meters, action profiles, value sets, the
//! random stream.

mod context;

use std::sync::Arc;

use marklab_p4::ir::{CounterId, ProfileId, Program, RegisterId, TableId, Ty};
use marklab_units::Time;
use num_bigint::BigUint;
use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::effects::Effects;
use crate::filter::{Cell as FilterCell, Filter};
use crate::fixed::Fixed;
use crate::layout::Layout;
use crate::load_error::LoadError;
use crate::meter::{Meter, Meters};
use crate::profile::Profile;
use crate::table::{Count, Table, TableMut};
use crate::value_set::ValueSet;
use crate::words::{limbs, limbs_of, words_for};
pub(crate) use context::{Cells, Context, Operation, Referred, TableView, Views};

/// Limit for the 64-bit words of all arrays of a program: 1 GB.
const MAX_WORDS: u64 = 1 << 27;

/// Limit for the bytes of a packet's state: 64 MiB. Every packet in a queue has such a state.
const MAX_PHV_BYTES: usize = 1 << 26;

/// A `register` array; a cell takes whole 64-bit words.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct RegisterArray {
    pub(crate) ty: Ty,
    pub(crate) words: Vec<u64>,
    pub(crate) cells: u64,
}

impl RegisterArray {
    /// Value of a cell, or `None` if the index is out of range.
    pub(crate) fn read(&self, index: u64) -> Option<BigUint> {
        let width = words_for(self.ty.width);
        (index < self.cells).then(|| limbs(&self.words[index as usize * width..][..width]))
    }

    /// Sets a cell. Does nothing if the index is out of range.
    pub(crate) fn write(&mut self, index: u64, value: &BigUint) {
        let width = words_for(self.ty.width);
        if index < self.cells {
            self.words[index as usize * width..][..width].copy_from_slice(&limbs_of(value, width));
        }
    }
}

/// State of one switch running a program.
#[derive(Debug)]
pub struct State {
    pub(crate) program: Arc<Program>,
    pub(crate) layout: Arc<Layout>,
    pub(crate) tables: Vec<Fixed<Table>>,
    pub(crate) registers: Vec<RegisterArray>,
    pub(crate) counters: Vec<Vec<Count>>,
    /// `meter` arrays. Those of direct meters are empty: tables have their cells.
    pub(crate) meters: Vec<Meters>,
    pub(crate) filters: Vec<Filter>,
    pub(crate) profiles: Vec<Profile>,
    pub(crate) value_sets: Vec<ValueSet>,
    /// Time at which the next stage runs. The caller of the stage sets it; meters and filters read it.
    pub now: Time,
    pub(crate) random: Xoshiro256PlusPlus,
    /// What the program asked for in the last stage that ran, apart from changes of packet state.
    pub effects: Effects,
    /// Number of operations without a meaning (division by 0, an endless loop). Never reset.
    pub faults: u64,
    /// Events of the interpreter, if it is traced.
    pub trace: Option<Vec<crate::Event>>,
    /// Output of the deparser.
    pub(crate) emitted: Vec<u8>,
    /// Memory for generated code.
    pub(crate) scratch: Vec<u8>,
    /// Operands of the next effect, as generated code evaluates them.
    pub(crate) operands: Vec<BigUint>,
    /// The fields above as generated code sees them.
    pub(crate) context: Context,
    #[expect(dead_code, reason = "owns what the context points to")]
    views: Views,
}

/// Number of words that objects of a program may still take.
struct Room {
    words: u64,
}

impl Room {
    /// Takes `size` cells of `words_per_cell` words each.
    fn take_words(&mut self, name: &str, size: u64, words_per_cell: usize) -> Result<usize, LoadError> {
        let limit = self.words / words_per_cell as u64;
        if size > limit {
            return Err(LoadError::TooLarge { name: name.to_owned(), size, limit });
        }
        self.words -= size * words_per_cell as u64;
        Ok(size as usize)
    }

    /// Takes `size` cells of a type.
    fn take<T>(&mut self, name: &str, size: u64) -> Result<usize, LoadError> {
        self.take_words(name, size, size_of::<T>() / size_of::<u64>())
    }
}

fn registers(program: &Program, room: &mut Room) -> Result<Vec<RegisterArray>, LoadError> {
    let arrays = program.registers.iter().map(|register| {
        let words_per_cell = words_for(register.ty.width);
        let cells = room.take_words(&register.name, register.size, words_per_cell)?;
        let initial = limbs_of(&register.initial, words_per_cell);
        let words = if initial.iter().all(|&word| word == 0) {
            // Memory that no packet has touched yet costs neither time nor space.
            vec![0; words_per_cell * cells]
        } else {
            initial.repeat(cells)
        };
        Ok(RegisterArray { ty: register.ty, words, cells: cells as u64 })
    });
    arrays.collect()
}

fn counters(program: &Program, room: &mut Room) -> Result<Vec<Vec<Count>>, LoadError> {
    let arrays = program.counters.iter().map(|counter| {
        let cells = room.take::<Count>(&counter.name, counter.size.unwrap_or(0))?;
        Ok(vec![Count::default(); cells])
    });
    arrays.collect()
}

impl State {
    /// Fresh state at time 0: entries and defaults of the source, registers as declared, counters at 0, meters
    /// unconfigured, `random` seeded.
    ///
    /// # Panics
    ///
    /// If the layout is another program's.
    pub fn new(program: &Arc<Program>, layout: &Arc<Layout>, seed: u64) -> Result<State, LoadError> {
        if let Some(name) = program.foreign.first() {
            return Err(LoadError::Foreign { name: name.clone() });
        }
        assert!(layout.is_of(program), "the layout belongs to another program");
        if layout.bytes() > MAX_PHV_BYTES {
            return Err(LoadError::PacketState { bytes: layout.bytes(), limit: MAX_PHV_BYTES });
        }
        let mut room = Room { words: MAX_WORDS };
        let mut registers = registers(program, &mut room)?;
        let mut counters = counters(program, &mut room)?;
        let meters = program.meters.iter().map(|meter| {
            let cells = room.take::<Meter>(&meter.name, meter.size.unwrap_or(0))?;
            Ok(Meters::new(meter.unit, cells))
        });
        let meters = meters.collect::<Result<Vec<_>, LoadError>>()?;
        let filters = program.filters.iter().map(|filter| {
            let cells = room.take::<FilterCell>(&filter.name, filter.size)?;
            Ok(Filter::new(filter, cells))
        });
        let filters = filters.collect::<Result<Vec<_>, LoadError>>()?;
        let profiles = (0..program.profiles.len()).map(|number| Profile::new(program, ProfileId(number as u32)));
        let profiles = profiles.collect::<Result<Vec<_>, LoadError>>()?;
        let tables = program.tables.iter().map(|table| Ok(Fixed::new(Table::new(program, table)?)));
        let tables = tables.collect::<Result<Vec<_>, LoadError>>()?;
        let views = Views::new(&tables, &mut registers, &mut counters);
        Ok(State {
            context: Context::new(&views),
            views,
            tables,
            registers,
            counters,
            meters,
            filters,
            profiles,
            value_sets: program.value_sets.iter().map(ValueSet::new).collect(),
            now: Time::ZERO,
            random: Xoshiro256PlusPlus::seed_from_u64(seed),
            program: program.clone(),
            layout: layout.clone(),
            effects: Effects::default(),
            faults: 0,
            trace: None,
            emitted: Vec::new(),
            scratch: Vec::new(),
            operands: Vec::new(),
        })
    }

    /// The program.
    pub fn program(&self) -> &Arc<Program> {
        &self.program
    }

    /// Layout of the program's packet state.
    pub fn layout(&self) -> &Arc<Layout> {
        &self.layout
    }

    /// A table.
    pub fn table(&self, table: TableId) -> &Table {
        &self.tables[table.index()]
    }

    /// A table, mutable.
    pub fn table_mut(&mut self, table: TableId) -> TableMut<'_> {
        TableMut(&mut self.tables[table.index()])
    }

    /// Value of a register cell, or `None` if the index is out of range.
    pub fn register(&self, register: RegisterId, index: u64) -> Option<BigUint> {
        self.registers[register.index()].read(index)
    }

    /// Sets a register cell to a value, truncated to the cell's width. Does nothing if the index is out of range.
    pub fn set_register(&mut self, register: RegisterId, index: u64, value: &BigUint) {
        let array = &mut self.registers[register.index()];
        array.write(index, &(value & crate::words::mask(array.ty.width)));
    }

    /// Sets all cells of a register to their initial value.
    pub fn reset_register(&mut self, register: RegisterId) {
        let initial = &self.program.registers[register.index()].initial;
        let array = &mut self.registers[register.index()];
        (0..array.cells).for_each(|index| array.write(index, initial));
    }

    /// Sets a counter cell. Does nothing if the index is out of range.
    pub fn set_counter(&mut self, counter: CounterId, index: u64, count: Count) {
        let cells = &mut self.counters[counter.index()];
        if let Some(cell) = usize::try_from(index).ok().and_then(|index| cells.get_mut(index)) {
            *cell = count;
        }
    }

    /// A counter cell, or `None` if the index is out of range.
    pub fn counter(&self, counter: CounterId, index: u64) -> Option<Count> {
        self.counters[counter.index()].get(usize::try_from(index).ok()?).copied()
    }
}
