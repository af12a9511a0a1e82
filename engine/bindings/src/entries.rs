// SPDX-License-Identifier: MIT OR Apache-2.0
//! Table entries as JSON.
//!
//! ```json
//! [{"table": "ipv4_lpm", "match": {"dst_addr": {"lpm": [167772161, 32]}}, "action": "forward", "params": {"port": 1}},
//!  {"table": "marking.params", "action": "set_params", "params": {"k_pkts": 167}}]
//! ```
//!
//! Without `match` the default action is set. Numbers beyond 64 bits are strings, decimal or with `0x`. A list of
//! entries that is set up before a run may also contain `set_filter` operations (see `objects.rs`).

use std::collections::BTreeMap;

use marklab_pipeline::{ActionSpec, EntryHandle, EntrySpec, State};
use pyo3::PyResult;
use serde::Deserialize;

use crate::matches::{Match, Number};
use crate::objects::Operation;
use crate::refuse;

/// An entry, or a default action.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Entry {
    table: String,
    #[serde(default, rename = "match")]
    matches: Option<BTreeMap<String, Match>>,
    action: String,
    #[serde(default)]
    params: BTreeMap<String, Number>,
    #[serde(default)]
    priority: u32,
}

/// An entry or an operation that is set up before a run.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "serde_json::Value")]
pub(crate) enum Setting {
    Entry(Entry),
    Operation(Operation),
}

impl TryFrom<serde_json::Value> for Setting {
    type Error = serde_json::Error;

    fn try_from(value: serde_json::Value) -> Result<Setting, serde_json::Error> {
        // Chosen by its key, so that error messages are about the intended kind.
        if value.get("set_filter").is_some() {
            return serde_json::from_value(value).map(Setting::Operation);
        }
        serde_json::from_value(value).map(Setting::Entry)
    }
}

/// Reads a list of entries and other settings.
pub(crate) fn parse(json: &str) -> PyResult<Vec<Setting>> {
    serde_json::from_str(json).map_err(|error| refuse(format!("table entries: {error}")))
}

/// Reads one entry.
pub(crate) fn parse_one(json: &str) -> PyResult<Entry> {
    serde_json::from_str(json).map_err(|error| refuse(format!("table entry: {error}")))
}

/// Puts entries into a switch's tables, and performs the operations among them.
pub(crate) fn install(state: &mut State, settings: &[Setting]) -> PyResult<()> {
    settings.iter().try_for_each(|setting| match setting {
        Setting::Entry(entry) => entry.install(state).map(|_| ()),
        Setting::Operation(operation) => operation.perform(state).map(|_| ()).map_err(refuse),
    })
}

impl Entry {
    /// Puts it into its table. Returns its handle, or `None` for a default action.
    pub(crate) fn install(&self, state: &mut State) -> PyResult<Option<EntryHandle>> {
        let call = self.call();
        let Some(matches) = &self.matches else {
            return state.set_default_action(&self.table, &call).map(|()| None).map_err(refuse);
        };
        let matches = matches.iter().map(|(name, value)| (name.clone(), value.key())).collect();
        let entry = EntrySpec { matches, call, priority: self.priority };
        state.insert_entry(&self.table, &entry).map(Some).map_err(refuse)
    }

    /// Sets the action of the entry with that handle to this one's action.
    pub(crate) fn modify(&self, state: &mut State, handle: EntryHandle) -> PyResult<()> {
        state.modify_entry(&self.table, handle, &self.call()).map_err(refuse)
    }

    fn call(&self) -> ActionSpec {
        let params = self.params.iter().map(|(name, value)| (name.clone(), value.0.clone())).collect();
        ActionSpec { action: self.action.clone(), params }
    }
}
