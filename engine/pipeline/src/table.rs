// SPDX-License-Identifier: MIT OR Apache-2.0
//! Match-action tables: entries, and the search for them.
//!
//! A key is a sequence of 64-bit words (`shape`). So is an entry: [`Row`] defines the meaning of its words. The rows of
//! a table lie in one vector, the default action's row first. So compiled code reads action data at constant offsets
//! from the pointer that a lookup returns.

mod change;
mod check;
mod indirect;
mod key;
mod matcher;
mod recent;
mod rows;
mod shape;

use std::collections::BTreeSet;

use marklab_p4::ir;
use marklab_units::Time;
use num_bigint::BigUint;
use thiserror::Error;

use crate::action::{GroupId, Member, MemberId, actions_of, check_args};
use crate::meter::{Meter, Meters};
use crate::words::{limbs, push_limbs, words_for};
pub use change::TableMut;
pub(crate) use check::check_width;
use check::{check_key, check_use};
use indirect::Indirect;
pub(crate) use indirect::{CALLS, GROUP, MEMBER, NO_ACTION};
pub use key::KeyMatch;
use key::key_match;
pub(crate) use matcher::Matcher;
use recent::RecentRows;
pub(crate) use recent::{MULTIPLIER, Recent, SHIFT};
pub(crate) use shape::{KeyShape, compared_keys};

/// Why a table refused an operation.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum TableError {
    /// The table has as many entries as its `size` allows.
    #[error("table `{table}` is full: its size is {size}")]
    Full {
        /// Table.
        table: String,
        /// Its size.
        size: u64,
    },
    /// There is an equal entry.
    #[error("table `{table}` already has an entry with this key")]
    Duplicate {
        /// Table.
        table: String,
    },
    /// There is no entry with that handle or key.
    #[error("table `{table}` has no such entry")]
    NoEntry {
        /// Table.
        table: String,
    },
    /// The number of components is wrong.
    #[error("table `{table}` has {expected} key component(s), the entry has {given}")]
    KeyCount {
        /// Table.
        table: String,
        /// Components of the table.
        expected: usize,
        /// Components of the entry.
        given: usize,
    },
    /// A component does not fit its match kind or width.
    #[error("table `{table}`, key `{key}`: {problem}")]
    Key {
        /// Table.
        table: String,
        /// Name of the component.
        key: String,
        /// What is wrong with it.
        problem: String,
    },
    /// The action is unknown, or cannot be used here.
    #[error("table `{table}` cannot use action `{action}`: {problem}")]
    Action {
        /// Table.
        table: String,
        /// Action.
        action: String,
        /// What is wrong with it.
        problem: String,
    },
    /// The table's entries or default action are `const`.
    #[error("table `{table}`: its {part} is const and cannot be changed")]
    Const {
        /// Table.
        table: String,
        /// What cannot be changed.
        part: &'static str,
    },
}

/// Number of an entry in its table: the lowest number that is free when the entry is added. Valid until the entry is
/// deleted.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct EntryHandle(pub u32);

/// An entry as the control plane sees it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TableEntry {
    /// One per key component, without `selector` keys.
    pub keys: Vec<KeyMatch>,
    /// Index into [`Table::actions`].
    pub action: u32,
    /// One value per parameter.
    pub args: Vec<BigUint>,
    /// If entries overlap (ternary, range, optional), the one with the smaller number wins, as in BMv2. If these are
    /// equal, the one with the lower handle wins.
    pub priority: u32,
}

/// Packets and bytes counted.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[repr(C)]
pub struct Count {
    /// Packets.
    pub packets: u64,
    /// Bytes.
    pub bytes: u64,
}

/// Format of the words of an entry or default action.
///
/// Word 0: the action's index in the low 16 bits, [`Row::HIT`] for an entry, the handle in the high half. From word 1
/// on: the parameters, each in words of its own.
pub(crate) struct Row;

impl Row {
    /// Set in word 0 of entries, but not of the default action.
    pub(crate) const HIT: u64 = 1 << 31;
    /// Bits of word 0 that hold the action.
    pub(crate) const ACTION: u64 = 0xffff;
    /// First word of the parameters.
    pub(crate) const ARGS: usize = 1;

    /// Words of each row of a table.
    pub(crate) fn words(program: &ir::Program, spec: &ir::Table) -> usize {
        let actions = row_actions(program, spec);
        let args = actions.iter().map(|(_, params)| params.iter().map(|param| words_for(param.ty.width)).sum());
        Row::ARGS + args.max().unwrap_or(0)
    }

    fn head(action: u32, handle: Option<EntryHandle>) -> u64 {
        u64::from(action) | handle.map_or(0, |EntryHandle(number)| Row::HIT | u64::from(number) << 32)
    }
}

/// Name and parameters of each action that a table's rows may have.
fn row_actions(program: &ir::Program, spec: &ir::Table) -> Vec<(String, Vec<ir::ActionParam>)> {
    match spec.profile {
        None => actions_of(program, spec),
        Some(profile) => indirect::calls(program.profiles[profile.index()].selector.is_some()),
    }
}

/// A table with its entries.
#[derive(Debug)]
pub struct Table {
    recent: RecentRows,
    rows: Vec<u64>,
    /// Words per row.
    stride: usize,
    entries: Vec<Option<TableEntry>>,
    free: BTreeSet<u32>,
    live: u64,
    matcher: Matcher,
    counts: Option<Vec<Count>>,
    /// Direct meter: a cell for each row. The cell of the default action is never used.
    meters: Option<Meters>,
    spec: ir::Table,
    /// Keys that entries are compared with.
    keys: Vec<ir::Key>,
    /// With an `implementation`: the members and groups that entries point to.
    indirect: Option<Indirect>,
    /// Name and parameters of each action that an entry may have.
    actions: Vec<(String, Vec<ir::ActionParam>)>,
    sealed: bool,
}

impl Table {
    /// A table of a program, with the entries written in its source.
    pub(crate) fn new(program: &ir::Program, spec: &ir::Table) -> Result<Table, TableError> {
        let indirect = spec.profile.map(|_| Indirect::new(actions_of(program, spec)));
        let actions = row_actions(program, spec);
        let stride = Row::words(program, spec);
        let keys: Vec<ir::Key> = compared_keys(spec).cloned().collect();
        let mut table = Table {
            recent: RecentRows::new(if keys.is_empty() { 0 } else { stride }),
            rows: vec![0; stride],
            stride,
            entries: vec![None],
            free: BTreeSet::new(),
            live: 0,
            matcher: Matcher::new(&keys, KeyShape::new(spec)),
            counts: spec.direct_counter.map(|_| vec![Count::default()]),
            meters: spec.direct_meter.map(|meter| Meters::new(program.meters[meter.index()].unit, 1)),
            spec: spec.clone(),
            keys,
            indirect,
            actions,
            sealed: false,
        };
        match table.indirect {
            None => table.write_row(0, spec.default_action.action, None, &spec.default_action.args),
            Some(_) => table.write_row(0, indirect::NOTHING, None, &[]),
        }
        for entry in &spec.entries {
            let keys = table.keys.iter().zip(&entry.keys).map(|(key, set)| key_match(key, set)).collect();
            let call = &entry.call;
            let entry = TableEntry { keys, action: call.action, args: call.args.clone(), priority: entry.priority };
            table.insert(entry)?;
        }
        table.sealed = spec.const_entries;
        Ok(table)
    }

    /// Name in the control plane.
    pub fn name(&self) -> &str {
        &self.spec.name
    }

    /// The table in the program's IR.
    pub fn spec(&self) -> &ir::Table {
        &self.spec
    }

    /// Entries with their handles, in the order of the handles.
    pub fn entries(&self) -> impl Iterator<Item = (EntryHandle, &TableEntry)> {
        self.entries
            .iter()
            .enumerate()
            .filter_map(|(number, entry)| Some((EntryHandle(number as u32), entry.as_ref()?)))
    }

    /// Adds an entry, and stores its keys in canonical form.
    pub(crate) fn insert(&mut self, mut entry: TableEntry) -> Result<EntryHandle, TableError> {
        self.check_open()?;
        self.check_keys(&entry.keys)?;
        entry.keys = self.canonical(&entry.keys);
        self.check_action(entry.action, &entry.args, false)?;
        if self.live >= self.spec.size.max(self.spec.entries.len() as u64) {
            return Err(TableError::Full { table: self.spec.name.clone(), size: self.spec.size });
        }
        let number = self.free.first().copied().unwrap_or(self.entries.len() as u32);
        let handle = EntryHandle(number);
        if !self.matcher.insert(&entry.keys, entry.priority, number) {
            return Err(TableError::Duplicate { table: self.spec.name.clone() });
        }
        if !self.free.remove(&number) {
            self.entries.push(None);
            self.rows.resize(self.entries.len() * self.stride, 0);
            if let Some(counts) = &mut self.counts {
                counts.push(Count::default());
            }
            if let Some(meters) = &mut self.meters {
                meters.cells.push(Meter::default());
            }
        }
        self.recent.clear();
        self.write_row(number as usize, entry.action, Some(handle), &entry.args);
        if let Some(counts) = &mut self.counts {
            counts[number as usize] = Count::default();
        }
        if let Some(meters) = &mut self.meters {
            meters.cells[number as usize] = Meter::default();
        }
        self.entries[number as usize] = Some(entry);
        self.live += 1;
        Ok(handle)
    }

    /// Changes the action of an entry.
    pub(crate) fn modify(&mut self, handle: EntryHandle, action: u32, args: Vec<BigUint>) -> Result<(), TableError> {
        self.check_open()?;
        self.check_action(action, &args, false)?;
        self.entry(handle)?;
        self.recent.clear();
        self.write_row(handle.0 as usize, action, Some(handle), &args);
        if let Some(entry) = &mut self.entries[handle.0 as usize] {
            entry.action = action;
            entry.args = args;
        }
        Ok(())
    }

    /// Removes an entry.
    pub(crate) fn delete(&mut self, handle: EntryHandle) -> Result<(), TableError> {
        self.check_open()?;
        let entry = self.entry(handle)?.clone();
        self.matcher.remove(&entry.keys, entry.priority);
        self.recent.clear();
        self.entries[handle.0 as usize] = None;
        self.free.insert(handle.0);
        self.live -= 1;
        Ok(())
    }

    /// Removes all entries.
    pub(crate) fn clear(&mut self) -> Result<(), TableError> {
        let handles: Vec<_> = self.entries().map(|(handle, _)| handle).collect();
        handles.into_iter().try_for_each(|handle| self.delete(handle))
    }

    /// The entry with exactly these keys and this priority. Keys are equal if they match the same values, in any form.
    pub fn find(&self, keys: &[KeyMatch], priority: u32) -> Option<EntryHandle> {
        self.check_keys(keys).ok()?;
        let handle = EntryHandle(self.matcher.number_of(&self.canonical(keys), priority)?);
        self.entry(handle).is_ok_and(|entry| entry.priority == priority).then_some(handle)
    }

    /// Changes the default action, which runs on a miss.
    pub(crate) fn set_default(&mut self, action: u32, args: &[BigUint]) -> Result<(), TableError> {
        // BMv2 ignores the default action of a table with an `implementation`, and whether it is const.
        if self.spec.const_default && self.indirect.is_none() {
            return Err(TableError::Const { table: self.spec.name.clone(), part: "default action" });
        }
        self.check_action(action, args, true)?;
        self.recent.clear();
        self.write_row(0, action, None, args);
        Ok(())
    }

    /// The default action, which runs on a miss: its index and the values of its parameters.
    pub fn default_action(&self) -> (u32, Vec<BigUint>) {
        let action = (self.rows[0] & Row::ACTION) as u32;
        let mut at = Row::ARGS;
        let values = self.actions[action as usize].1.iter().map(|param| {
            let words = words_for(param.ty.width);
            at += words;
            limbs(&self.rows[at - words..at])
        });
        (action, values.collect())
    }

    /// Names of the actions that entries may have, and their parameters. In a table with an `implementation` these are
    /// `member` and, with a selector, `group`; `nothing` can only be the default.
    pub fn actions(&self) -> &[(String, Vec<ir::ActionParam>)] {
        &self.actions
    }

    /// Direct counter of an entry.
    pub fn direct_count(&self, handle: EntryHandle) -> Result<Count, TableError> {
        self.entry(handle)?;
        Ok(self.counts.as_ref().map(|counts| counts[handle.0 as usize]).unwrap_or_default())
    }

    /// The row that applies to a key: an entry's, or the default action's.
    pub(crate) fn lookup(&self, key: &[u64]) -> &[u64] {
        let at = self.place_of(key);
        &self.rows[at..at + self.stride]
    }

    /// Index of that row's first word.
    fn place_of(&self, key: &[u64]) -> usize {
        self.matcher.find(key).unwrap_or(0) as usize * self.stride
    }

    /// The row of the action that runs, for a row found in a table with an `implementation`. Its action is
    /// [`NO_ACTION`] if none runs. `hash` chooses among the members of a group.
    pub(crate) fn resolve<'a>(&'a self, row: &'a [u64], hash: u64) -> &'a [u64] {
        self.indirect.as_ref().map_or(row, |indirect| indirect.resolve(row, hash))
    }

    /// [`Table::lookup`] in a table whose key is one word, for compiled code that did not find the key in `recent`.
    pub(crate) fn lookup_word(&mut self, key: u64) -> *const u64 {
        let at = self.place_of(&[key]);
        self.recent.put(key, &self.rows[at..at + self.stride])
    }

    /// Address that compiled code reads without a call, and that never changes: of the recent look-ups, or for a table
    /// without keys, of its only row.
    pub(crate) fn direct(&self) -> *const u8 {
        if self.keys.is_empty() { self.rows.as_ptr().cast() } else { self.recent.start().cast() }
    }

    /// Counts a packet in the direct counter of the entry whose row has this first word. Does nothing on a miss.
    pub(crate) fn count_hit(&mut self, head: u64, bytes: u64) {
        if let (Some(counts), true) = (&mut self.counts, head & Row::HIT != 0) {
            let count = &mut counts[(head >> 32) as usize];
            count.packets += 1;
            count.bytes += bytes;
        }
    }

    /// Colour from the direct meter of the entry whose row has this first word. `None` on a miss, and without a meter.
    pub(crate) fn meter_hit(&mut self, head: u64, now: Time, bytes: u64) -> Option<u64> {
        let meters = self.meters.as_mut().filter(|_| head & Row::HIT != 0)?;
        meters.execute(head >> 32, now, bytes)
    }

    /// Direct meter of an entry; `None` if there is no meter or no entry.
    pub(crate) fn direct_meter(&self, index: u64) -> Option<&Meter> {
        let handle = EntryHandle(u32::try_from(index).ok()?);
        self.entry(handle).ok()?;
        self.meters.as_ref().map(|meters| &meters.cells[handle.0 as usize])
    }

    /// [`Table::direct_meter`], mutable.
    pub(crate) fn direct_meter_mut(&mut self, index: u64) -> Option<&mut Meter> {
        let handle = EntryHandle(u32::try_from(index).ok()?);
        self.entry(handle).ok()?;
        self.meters.as_mut().map(|meters| &mut meters.cells[handle.0 as usize])
    }

    /// Adds or changes a member in a table with an `implementation`. The member's action has this name.
    pub(crate) fn put_member(&mut self, id: MemberId, action: &str, member: &Member) {
        if let Some(indirect) = &mut self.indirect {
            indirect.put_member(id, action, member);
        }
    }

    /// Removes a member, to which nothing points, from a table with an `implementation`.
    pub(crate) fn remove_member(&mut self, id: MemberId) {
        if let Some(indirect) = &mut self.indirect {
            indirect.remove_member(id);
        }
    }

    /// Sets the members of a group in a table with an `implementation`, or removes the group, to which nothing points.
    pub(crate) fn put_group(&mut self, id: GroupId, members: Option<Vec<MemberId>>) {
        if let Some(indirect) = &mut self.indirect {
            indirect.put_group(id, members);
        }
    }

    /// Whether an entry or the default is this call ([`MEMBER`] or [`GROUP`]) with this number.
    pub(crate) fn points_to(&self, call: u32, number: u32) -> bool {
        let args = [BigUint::from(number)];
        let entries = || self.entries.iter().flatten();
        entries().any(|entry| entry.action == call && entry.args == args)
            || self.default_action() == (call, args.into())
    }

    fn entry(&self, handle: EntryHandle) -> Result<&TableEntry, TableError> {
        let entry = self.entries.get(handle.0 as usize).and_then(Option::as_ref);
        entry.ok_or_else(|| TableError::NoEntry { table: self.spec.name.clone() })
    }

    fn write_row(&mut self, number: usize, action: u32, handle: Option<EntryHandle>, args: &[BigUint]) {
        let mut row = vec![Row::head(action, handle)];
        for (param, value) in self.actions[action as usize].1.iter().zip(args) {
            push_limbs(&mut row, value, words_for(param.ty.width));
        }
        let at = number * self.stride;
        self.rows[at..at + row.len()].copy_from_slice(&row);
    }

    fn check_open(&self) -> Result<(), TableError> {
        if self.sealed {
            return Err(TableError::Const { table: self.spec.name.clone(), part: "list of entries" });
        }
        Ok(())
    }

    fn check_keys(&self, keys: &[KeyMatch]) -> Result<(), TableError> {
        let expected = self.keys.len();
        if keys.len() != expected || expected == 0 {
            return Err(TableError::KeyCount { table: self.spec.name.clone(), expected, given: keys.len() });
        }
        for (key, value) in self.keys.iter().zip(keys) {
            check_key(key, value).map_err(|problem| TableError::Key {
                table: self.spec.name.clone(),
                key: key.name.clone(),
                problem,
            })?;
        }
        Ok(())
    }

    fn canonical(&self, keys: &[KeyMatch]) -> Vec<KeyMatch> {
        self.keys.iter().zip(keys).map(|(key, value)| value.canonical(key.expr.ty.width)).collect()
    }

    fn check_action(&self, action: u32, args: &[BigUint], as_default: bool) -> Result<(), TableError> {
        let refuse = |name: &str, problem: String| {
            Err(TableError::Action { table: self.spec.name.clone(), action: name.to_owned(), problem })
        };
        let Some((name, params)) = self.actions.get(action as usize) else {
            return refuse(&format!("#{action}"), "the table has no such action".to_owned());
        };
        check_args(params, args)
            .and_then(|()| match &self.indirect {
                Some(indirect) => indirect.check(action, args, as_default),
                None => check_use(&self.spec.actions[action as usize], as_default),
            })
            .or_else(|problem| refuse(name, problem))
    }
}
