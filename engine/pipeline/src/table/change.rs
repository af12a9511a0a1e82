// SPDX-License-Identifier: MIT OR Apache-2.0
//! Changes that the control plane may make to a table of a state.

use std::ops::Deref;

use num_bigint::BigUint;

use super::{EntryHandle, Table, TableEntry, TableError};

/// A table of a [`State`](crate::State), mutable.
///
/// It is not a `&mut Table`, which could replace the table by one of another program: generated code relies on the
/// addresses of tables and the format of their rows.
#[derive(Debug)]
pub struct TableMut<'a>(pub(crate) &'a mut Table);

impl Deref for TableMut<'_> {
    type Target = Table;

    fn deref(&self) -> &Table {
        self.0
    }
}

impl TableMut<'_> {
    /// Adds an entry, and stores its keys in canonical form.
    pub fn insert(&mut self, entry: TableEntry) -> Result<EntryHandle, TableError> {
        self.0.insert(entry)
    }

    /// Changes the action of an entry.
    pub fn modify(&mut self, handle: EntryHandle, action: u32, args: Vec<BigUint>) -> Result<(), TableError> {
        self.0.modify(handle, action, args)
    }

    /// Removes an entry.
    pub fn delete(&mut self, handle: EntryHandle) -> Result<(), TableError> {
        self.0.delete(handle)
    }

    /// Removes all entries.
    pub fn clear(&mut self) -> Result<(), TableError> {
        self.0.clear()
    }

    /// Changes the default action, which runs on a miss.
    pub fn set_default(&mut self, action: u32, args: &[BigUint]) -> Result<(), TableError> {
        self.0.set_default(action, args)
    }
}
