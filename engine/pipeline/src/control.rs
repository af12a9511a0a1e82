// SPDX-License-Identifier: MIT OR Apache-2.0
//! The control plane: access to tables, registers, counters and other objects by name.
//!
//! A name is the full control-plane name (`Egress.marking.params`), or the part of it behind any dot, if that is
//! unique.

mod filters;
mod meters;
mod profiles;
mod value_sets;

use marklab_p4::ir::{ActionParam, CounterId, RegisterId, TableId};
use num_bigint::BigUint;
use thiserror::Error;

use crate::State;
use crate::filter::FilterError;
use crate::meter::MeterError;
use crate::profile::ProfileError;
use crate::table::{EntryHandle, KeyMatch, Table, TableEntry, TableError, compared_keys};
use crate::value_set::ValueSetError;

/// An action with its parameters, by name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ActionSpec {
    /// Action.
    pub action: String,
    /// Parameters; all of them, in any order.
    pub params: Vec<(String, BigUint)>,
}

/// A table entry, by name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EntrySpec {
    /// Key components. Those that may match anything can be left out.
    pub matches: Vec<(String, KeyMatch)>,
    /// Action that runs.
    pub call: ActionSpec,
    /// If entries overlap, the one with the smaller number wins.
    pub priority: u32,
}

/// Why a control operation was refused.
#[derive(Clone, PartialEq, Debug, Error)]
pub enum ControlError {
    /// No object has that name, or the names of several objects end with it.
    #[error("the program has no {kind} `{name}`{}", known_names(.known))]
    Unknown {
        /// Kind of object.
        kind: &'static str,
        /// Name asked for.
        name: String,
        /// Names of the program's objects of this kind.
        known: Vec<String>,
    },
    /// A required key component or parameter is missing.
    #[error("{object}: {kind} `{name}` is missing")]
    Missing {
        /// Table or action profile.
        object: String,
        /// Key component or parameter.
        kind: &'static str,
        /// Its name.
        name: String,
    },
    /// The table refused the operation.
    #[error(transparent)]
    Table(#[from] TableError),
    /// The meter refused the operation.
    #[error(transparent)]
    Meter(#[from] MeterError),
    /// The filter refused the operation.
    #[error(transparent)]
    Filter(#[from] FilterError),
    /// The action profile refused the operation.
    #[error(transparent)]
    Profile(#[from] ProfileError),
    /// The value set refused the operation.
    #[error(transparent)]
    ValueSet(#[from] ValueSetError),
}

fn known_names(known: &[String]) -> String {
    if known.is_empty() { String::new() } else { format!("; it has {}", known.join(", ")) }
}

/// Index of a name in a list of full control-plane names: of the name itself, else of the only one that ends with
/// `.name`. `None` if no name ends so, or several do.
pub fn lookup_name<'a>(names: impl Iterator<Item = &'a str> + Clone, name: &str) -> Option<usize> {
    if let Some(exact) = names.clone().position(|known| known == name) {
        return Some(exact);
    }
    let ends_so = |known: &str| known.strip_suffix(name).is_some_and(|prefix| prefix.ends_with('.'));
    let mut suffixed = names.enumerate().filter(|(_, known)| ends_so(known));
    match (suffixed.next(), suffixed.next()) {
        (Some((at, _)), None) => Some(at),
        _ => None,
    }
}

fn find<'a>(
    kind: &'static str,
    names: impl Iterator<Item = &'a str> + Clone,
    name: &str,
) -> Result<usize, ControlError> {
    lookup_name(names.clone(), name).ok_or_else(|| ControlError::Unknown {
        kind,
        name: name.to_owned(),
        known: names.map(str::to_owned).collect(),
    })
}

impl State {
    /// The table of that name.
    ///
    /// # Errors
    ///
    /// [`ControlError::Unknown`], as in all functions here that look for a name.
    pub fn find_table(&self, name: &str) -> Result<TableId, ControlError> {
        let names = self.program.tables.iter().map(|table| table.name.as_str());
        find("table", names, name).map(|at| TableId(at as u32))
    }

    /// The register array of that name.
    pub fn find_register(&self, name: &str) -> Result<RegisterId, ControlError> {
        let names = self.program.registers.iter().map(|register| register.name.as_str());
        find("register", names, name).map(|at| RegisterId(at as u32))
    }

    /// The counter array of that name.
    pub fn find_counter(&self, name: &str) -> Result<CounterId, ControlError> {
        let names = self.program.counters.iter().map(|counter| counter.name.as_str());
        find("counter", names, name).map(|at| CounterId(at as u32))
    }

    /// Adds an entry to the table of that name.
    pub fn insert_entry(&mut self, table: &str, entry: &EntrySpec) -> Result<EntryHandle, ControlError> {
        let id = self.find_table(table)?;
        let keys = self.tables[id.index()].keys_of(&entry.matches)?;
        let (action, args) = self.tables[id.index()].call_of(&entry.call)?;
        Ok(self.tables[id.index()].insert(TableEntry { keys, action, args, priority: entry.priority })?)
    }

    /// Changes the action of an entry of the table of that name.
    pub fn modify_entry(&mut self, table: &str, entry: EntryHandle, call: &ActionSpec) -> Result<(), ControlError> {
        let id = self.find_table(table)?;
        let (action, args) = self.tables[id.index()].call_of(call)?;
        Ok(self.tables[id.index()].modify(entry, action, args)?)
    }

    /// Removes an entry from the table of that name.
    pub fn delete_entry(&mut self, table: &str, entry: EntryHandle) -> Result<(), ControlError> {
        let id = self.find_table(table)?;
        Ok(self.tables[id.index()].delete(entry)?)
    }

    /// Sets the default action of the table of that name.
    pub fn set_default_action(&mut self, table: &str, call: &ActionSpec) -> Result<(), ControlError> {
        let id = self.find_table(table)?;
        let (action, args) = self.tables[id.index()].call_of(call)?;
        Ok(self.tables[id.index()].set_default(action, &args)?)
    }
}

impl Table {
    /// Key components in the table's order.
    fn keys_of(&self, matches: &[(String, KeyMatch)]) -> Result<Vec<KeyMatch>, ControlError> {
        let names = || compared_keys(self.spec()).map(|key| key.name.as_str());
        let mut keys: Vec<Option<KeyMatch>> = vec![None; names().count()];
        for (name, value) in matches {
            keys[find("key", names(), name)?] = Some(value.clone());
        }
        let complete = compared_keys(self.spec()).zip(keys).map(|(key, value)| match value {
            Some(value) => Ok(value),
            None if key.kind == marklab_p4::ir::MatchKind::Exact => {
                Err(missing("table", self.name(), "key", &key.name))
            }
            None => Ok(KeyMatch::Any),
        });
        complete.collect()
    }

    /// Index of an action, and its parameters in order.
    fn call_of(&self, call: &ActionSpec) -> Result<(u32, Vec<BigUint>), ControlError> {
        call_of("table", self.name(), self.actions(), call)
    }
}

/// Index of an action of an object, and its parameters in order.
fn call_of(
    kind: &str,
    object: &str,
    actions: &[(String, Vec<ActionParam>)],
    call: &ActionSpec,
) -> Result<(u32, Vec<BigUint>), ControlError> {
    let action = find("action", actions.iter().map(|(name, _)| name.as_str()), &call.action)?;
    let params = &actions[action].1;
    let mut values: Vec<Option<BigUint>> = vec![None; params.len()];
    for (name, value) in &call.params {
        values[find("parameter", params.iter().map(|param| param.name.as_str()), name)?] = Some(value.clone());
    }
    let complete = params.iter().zip(values);
    let values = complete.map(|(param, value)| value.ok_or_else(|| missing(kind, object, "parameter", &param.name)));
    Ok((action as u32, values.collect::<Result<_, _>>()?))
}

fn missing(object_kind: &str, object: &str, kind: &'static str, name: &str) -> ControlError {
    ControlError::Missing { object: format!("{object_kind} `{object}`"), kind, name: name.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_suffix_must_be_unique_and_whole() {
        let names = ["MyIngress.fwd.lpm", "MyEgress.lpm", "MyEgress.marks"];
        let find = |name| lookup_name(names.iter().copied(), name);
        assert_eq!(find("MyEgress.lpm"), Some(1));
        assert_eq!(find("marks"), Some(2));
        assert_eq!(find("fwd.lpm"), Some(0));
        assert_eq!(find("lpm"), None);
        assert_eq!(find("arks"), None);
        assert_eq!(find("other"), None);
    }
}
