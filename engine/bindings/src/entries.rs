//! Table entries as JSON.
//!
//! ```json
//! [{"table": "ipv4_lpm", "match": {"dst_addr": {"lpm": [167772161, 32]}}, "action": "forward", "params": {"port": 1}},
//!  {"table": "marking.params", "action": "set_params", "params": {"k_pkts": 167}}]
//! ```
//!
//! Without `match` the default action is set. Numbers beyond 64 bits are strings, decimal or with `0x`.

use std::collections::BTreeMap;

use marklab_pipeline::{ActionSpec, EntrySpec, KeyMatch, State};
use num_bigint::BigUint;
use pyo3::PyResult;
use serde::Deserialize;

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

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Match {
    Exact(Number),
    Lpm(Number, u32),
    Ternary(Number, Number),
    Range(Number, Number),
    Any,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "RawNumber")]
pub(crate) struct Number(pub(crate) BigUint);

#[derive(Deserialize)]
#[serde(untagged)]
enum RawNumber {
    Small(u64),
    Text(String),
}

impl TryFrom<RawNumber> for Number {
    type Error = String;

    fn try_from(raw: RawNumber) -> Result<Number, String> {
        match raw {
            RawNumber::Small(value) => Ok(Number(value.into())),
            RawNumber::Text(text) => {
                let parsed = match text.strip_prefix("0x") {
                    Some(digits) => BigUint::parse_bytes(digits.as_bytes(), 16),
                    None => BigUint::parse_bytes(text.as_bytes(), 10),
                };
                parsed.map(Number).ok_or_else(|| format!("`{text}` is not a number"))
            }
        }
    }
}

impl Match {
    pub(crate) fn key(&self) -> KeyMatch {
        match self {
            Match::Exact(value) => KeyMatch::Exact(value.0.clone()),
            Match::Lpm(value, prefix_len) => KeyMatch::Lpm { value: value.0.clone(), prefix_len: *prefix_len },
            Match::Ternary(value, mask) => KeyMatch::Ternary { value: value.0.clone(), mask: mask.0.clone() },
            Match::Range(lo, hi) => KeyMatch::Range { lo: lo.0.clone(), hi: hi.0.clone() },
            Match::Any => KeyMatch::Any,
        }
    }
}

/// Reads a list of entries.
pub(crate) fn parse(json: &str) -> PyResult<Vec<Entry>> {
    serde_json::from_str(json).map_err(|error| refuse(format!("table entries: {error}")))
}

/// Puts entries into a switch's tables.
pub(crate) fn install(state: &mut State, entries: &[Entry]) -> PyResult<()> {
    for entry in entries {
        let params = entry.params.iter().map(|(name, value)| (name.clone(), value.0.clone())).collect();
        let call = ActionSpec { action: entry.action.clone(), params };
        match &entry.matches {
            None => state.set_default_action(&entry.table, &call).map_err(refuse)?,
            Some(matches) => {
                let matches = matches.iter().map(|(name, value)| (name.clone(), value.key())).collect();
                let entry_spec = EntrySpec { matches, call, priority: entry.priority };
                state.insert_entry(&entry.table, &entry_spec).map_err(refuse)?;
            }
        }
    }
    Ok(())
}
