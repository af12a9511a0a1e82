// SPDX-License-Identifier: MIT OR Apache-2.0
//! Operations of the control plane on meters, filters, action profiles and value sets, as JSON.
//!
//! ```json
//! {"set_meter_rates": {"meter": "m", "index": 3, "committed": [0.1, 8], "peak": [0.2, 8]}}
//! {"set_filter": {"filter": "red", "index": 3, "gain_ns": 1000, "decay_ns": 1000, "drops": [100, 200, 0.5]}}
//! {"add_member": {"profile": "ecmp", "action": "forward", "params": {"port": 1}}}
//! {"add_to_group": {"profile": "ecmp", "member": 0, "group": 0}}
//! {"insert_value": {"set": "tunnels", "value": [{"exact": 4789}]}}
//! ```
//!
//! A filter is an `Lpf` or `Wred` of TNA, with time constants in ns. An `Lpf` has `scale_down`, in binary places. A
//! `Wred` has `drops`: minimum and maximum in the samples' unit, and the largest probability. Without `index` all cells
//! are set.
//!
//! A rate is tokens (packets or bytes) per microsecond and the bucket's depth, as in simple_switch_CLI. Entries of
//! tables with an `implementation` have the action `member` or `group` with the parameter `id`.

use marklab_p4::ir::{ProfileId, ValueSetId};
use marklab_pipeline::{
    ActionSpec, ControlError, DropSettings, FilterSettings, GroupId, KeyMatch, MemberId, MeterRate, MeterRates, State,
};
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;

use crate::matches::{Match, Number};

/// An operation of the control plane.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum Operation {
    SetMeterRates {
        meter: String,
        index: u64,
        committed: (f64, u64),
        peak: (f64, u64),
    },
    SetAllMeterRates {
        meter: String,
        committed: (f64, u64),
        peak: (f64, u64),
    },
    ClearMeterRates {
        meter: String,
        index: u64,
    },
    GetMeterRates {
        meter: String,
        index: u64,
    },
    SetFilter {
        filter: String,
        index: Option<u64>,
        gain_ns: f64,
        decay_ns: f64,
        #[serde(default)]
        scale_down: u8,
        drops: Option<(u64, u64, f64)>,
    },
    ClearFilter {
        filter: String,
        index: Option<u64>,
    },
    AddMember {
        profile: String,
        action: String,
        params: BTreeMap<String, Number>,
    },
    ModifyMember {
        profile: String,
        member: u32,
        action: String,
        params: BTreeMap<String, Number>,
    },
    DeleteMember {
        profile: String,
        member: u32,
    },
    AddGroup {
        profile: String,
    },
    DeleteGroup {
        profile: String,
        group: u32,
    },
    AddToGroup {
        profile: String,
        member: u32,
        group: u32,
    },
    RemoveFromGroup {
        profile: String,
        member: u32,
        group: u32,
    },
    InsertValue {
        set: String,
        value: Vec<Match>,
    },
    RemoveValue {
        set: String,
        value: Vec<Match>,
    },
    ClearValues {
        set: String,
    },
}

impl Operation {
    /// Performs it. Returns the number of a new member or group, the requested rates as `[committed, peak]`, or null.
    pub(crate) fn perform(&self, state: &mut State) -> Result<Value, ControlError> {
        match self {
            Operation::SetMeterRates { meter, index, committed, peak } => {
                let meter = state.find_meter(meter)?;
                state.set_meter_rates(meter, *index, Some(rates(*committed, *peak)))?;
            }
            Operation::SetAllMeterRates { meter, committed, peak } => {
                let meter = state.find_meter(meter)?;
                state.set_all_meter_rates(meter, Some(rates(*committed, *peak)))?;
            }
            Operation::ClearMeterRates { meter, index } => {
                let meter = state.find_meter(meter)?;
                state.set_meter_rates(meter, *index, None)?;
            }
            Operation::GetMeterRates { meter, index } => {
                let found = state.meter_rates(state.find_meter(meter)?, *index)?;
                let pair = |rate: MeterRate| (rate.units_per_us, rate.burst);
                return Ok(json!(found.map(|rates| (pair(rates.committed), pair(rates.peak)))));
            }
            Operation::SetFilter { filter, index, gain_ns, decay_ns, scale_down, drops } => {
                let filter = state.find_filter(filter)?;
                let drops = drops.map(|(min, max, max_probability)| DropSettings { min, max, max_probability });
                let settings =
                    FilterSettings { gain_ns: *gain_ns, decay_ns: *decay_ns, scale_down: *scale_down, drops };
                state.set_filter(filter, *index, Some(settings))?;
            }
            Operation::ClearFilter { filter, index } => {
                let filter = state.find_filter(filter)?;
                state.set_filter(filter, *index, None)?;
            }
            Operation::InsertValue { set, value } => {
                let set = state.find_value_set(set)?;
                change_set(state, set, value, |set, value| set.insert(value))?;
            }
            Operation::RemoveValue { set, value } => {
                let set = state.find_value_set(set)?;
                change_set(state, set, value, |set, value| set.remove(value))?;
            }
            Operation::ClearValues { set } => {
                let set = state.find_value_set(set)?;
                state.value_set_mut(set).clear();
            }
            Operation::AddMember { profile, .. }
            | Operation::ModifyMember { profile, .. }
            | Operation::DeleteMember { profile, .. }
            | Operation::AddGroup { profile }
            | Operation::DeleteGroup { profile, .. }
            | Operation::AddToGroup { profile, .. }
            | Operation::RemoveFromGroup { profile, .. } => {
                let profile = state.find_profile(profile)?;
                return self.change_profile(state, profile);
            }
        }
        Ok(Value::Null)
    }

    fn change_profile(&self, state: &mut State, profile: ProfileId) -> Result<Value, ControlError> {
        match self {
            Operation::AddMember { action, params, .. } => {
                return Ok(json!(state.add_member(profile, &call(action, params))?.0));
            }
            Operation::AddGroup { .. } => return Ok(json!(state.add_group(profile)?.0)),
            Operation::ModifyMember { member, action, params, .. } => {
                state.modify_member(profile, MemberId(*member), &call(action, params))?;
            }
            Operation::DeleteMember { member, .. } => state.delete_member(profile, MemberId(*member))?,
            Operation::DeleteGroup { group, .. } => state.delete_group(profile, GroupId(*group))?,
            Operation::AddToGroup { member, group, .. } => {
                state.add_to_group(profile, MemberId(*member), GroupId(*group))?;
            }
            Operation::RemoveFromGroup { member, group, .. } => {
                state.remove_from_group(profile, MemberId(*member), GroupId(*group))?;
            }
            _ => unreachable!("not an operation on a profile"),
        }
        Ok(Value::Null)
    }
}

fn rates(committed: (f64, u64), peak: (f64, u64)) -> MeterRates {
    let rate = |(units_per_us, burst)| MeterRate { units_per_us, burst };
    MeterRates { committed: rate(committed), peak: rate(peak) }
}

fn call(action: &str, params: &BTreeMap<String, Number>) -> ActionSpec {
    let params = params.iter().map(|(name, value)| (name.clone(), value.0.clone())).collect();
    ActionSpec { action: action.to_owned(), params }
}

fn change_set(
    state: &mut State,
    set: ValueSetId,
    value: &[Match],
    change: impl FnOnce(&mut marklab_pipeline::ValueSetMut<'_>, &[KeyMatch]) -> Result<(), marklab_pipeline::ValueSetError>,
) -> Result<(), ControlError> {
    let value: Vec<KeyMatch> = value.iter().map(Match::key).collect();
    Ok(change(&mut state.value_set_mut(set), &value)?)
}
