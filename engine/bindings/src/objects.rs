//! Meters, filters, action profiles and value sets: what the control plane does to them, as JSON.
//!
//! ```json
//! {"set_meter_rates": {"meter": "m", "index": 3, "committed": [0.1, 8], "peak": [0.2, 8]}}
//! {"set_filter": {"filter": "red", "index": 3, "gain_ns": 1000, "decay_ns": 1000, "drops": [100, 200, 0.5]}}
//! {"add_member": {"profile": "ecmp", "action": "forward", "params": {"port": 1}}}
//! {"add_to_group": {"profile": "ecmp", "member": 0, "group": 0}}
//! {"insert_value": {"set": "tunnels", "value": [{"exact": 4789}]}}
//! ```
//!
//! A filter is an `Lpf` or `Wred` of TNA: time constants in ns, `scale_down` places for the former, `drops` for the latter:
//! minimum and maximum in the samples' unit, and the largest probability. Without `index` it is all cells.
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

use crate::entries::{Match, Number};

/// Something that the control plane does.
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
    /// Does it; gives the number of a new member or group, the rates asked for as `[committed, peak]`, or nothing.
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

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Arc;

    use marklab_p4::loader::Memory;
    use marklab_pipeline::Layout;

    use super::*;

    const SOURCE: &str = "#include <core.p4>
#include <v1model.p4>
header h_t { bit<8> a; }
struct headers { h_t h; }
struct metadata { bit<2> colour; }
parser P(packet_in packet, out headers hdr, inout metadata meta, inout standard_metadata_t standard_metadata) {
    value_set<bit<8>>(4) chosen;
    state start { packet.extract(hdr.h); transition select(hdr.h.a) { chosen : accept; default : accept; } }
}
control V(inout headers hdr, inout metadata meta) { apply { } }
control I(inout headers hdr, inout metadata meta, inout standard_metadata_t standard_metadata) {
    meter(2, MeterType.packets) m;
    action_selector(HashAlgorithm.crc16, 32w8, 32w8) s;
    action forward(bit<9> port) { standard_metadata.egress_spec = port; }
    table t { key = { hdr.h.a : selector; } actions = { forward; } implementation = s; }
    apply { m.execute_meter(32w0, meta.colour); t.apply(); }
}
control E(inout headers hdr, inout metadata meta, inout standard_metadata_t standard_metadata) { apply { } }
control C(inout headers hdr, inout metadata meta) { apply { } }
control D(packet_out packet, in headers hdr) { apply { packet.emit(hdr.h); } }
V1Switch(P(), V(), I(), E(), C(), D()) main;
";

    fn state() -> State {
        let files = Memory::single("test.p4", SOURCE);
        let compilation = marklab_p4::compile_with(Path::new("test.p4"), &marklab_p4::Options::default(), &files);
        let program = Arc::new(compilation.program.expect("the program compiles"));
        State::new(&program, &Arc::new(Layout::new(&program)), 0).expect("the program can be loaded")
    }

    fn perform(state: &mut State, operation: Value) -> Result<Value, String> {
        let operation: Operation = serde_json::from_value(operation).map_err(|error| error.to_string())?;
        operation.perform(state).map_err(|error| error.to_string())
    }

    #[test]
    fn meters_are_read_as_they_were_set() {
        let mut state = state();
        let get = |state: &mut State, index| perform(state, json!({"get_meter_rates": {"meter": "m", "index": index}}));
        let all = json!({"set_all_meter_rates": {"meter": "m", "committed": [0.5, 4], "peak": [1.0, 9]}});
        assert_eq!(get(&mut state, 0), Ok(Value::Null));
        assert_eq!(perform(&mut state, all), Ok(Value::Null));
        let one = json!({"set_meter_rates": {"meter": "I.m", "index": 1, "committed": [0.0, 0], "peak": [0.25, 1]}});
        assert_eq!(perform(&mut state, one), Ok(Value::Null));
        assert_eq!(get(&mut state, 0), Ok(json!([[0.5, 4], [1.0, 9]])));
        assert_eq!(get(&mut state, 1), Ok(json!([[0.0, 0], [0.25, 1]])));
        perform(&mut state, json!({"clear_meter_rates": {"meter": "m", "index": 1}})).unwrap();
        assert_eq!(get(&mut state, 1), Ok(Value::Null));
        assert_eq!(get(&mut state, 2), Err("meter `I.m` has no cell 2".to_owned()));
    }

    #[test]
    fn members_and_groups_come_and_go() {
        let mut state = state();
        let mut done = |operation| perform(&mut state, operation);
        let member = |port: u32| json!({"profile": "s", "action": "forward", "params": {"port": port}});
        assert_eq!(done(json!({"add_member": member(1)})), Ok(json!(0)));
        assert_eq!(done(json!({"add_member": member(2)})), Ok(json!(1)));
        assert_eq!(done(json!({"add_group": {"profile": "s"}})), Ok(json!(0)));
        let pair = json!({"profile": "s", "member": 1, "group": 0});
        assert_eq!(done(json!({"add_to_group": pair})), Ok(Value::Null));
        let delete = json!({"delete_member": {"profile": "s", "member": 1}});
        done(delete.clone()).unwrap_err();
        assert_eq!(done(json!({"remove_from_group": pair})), Ok(Value::Null));
        assert_eq!(done(delete), Ok(Value::Null));
        let modified = json!({"profile": "s", "member": 0, "action": "forward", "params": {"port": 3}});
        assert_eq!(done(json!({"modify_member": modified})), Ok(Value::Null));
        assert_eq!(done(json!({"delete_group": {"profile": "s", "group": 0}})), Ok(Value::Null));
        let profile = state.profile(state.find_profile("s").unwrap());
        assert_eq!(
            profile.members().map(|(id, member)| (id.0, member.args.clone())).collect::<Vec<_>>(),
            [(0, vec![3u32.into()])]
        );
        assert_eq!(profile.groups().count(), 0);
    }

    #[test]
    fn values_come_and_go() {
        let mut state = state();
        let value = |value: Value| json!({"set": "chosen", "value": [value]});
        perform(&mut state, json!({"insert_value": value(json!({"exact": 7}))})).unwrap();
        perform(&mut state, json!({"insert_value": value(json!({"range": [8, 9]}))})).unwrap();
        perform(&mut state, json!({"remove_value": value(json!({"exact": 7}))})).unwrap();
        let set = state.find_value_set("chosen").unwrap();
        assert_eq!(state.value_set(set).members().count(), 1);
        perform(&mut state, json!({"clear_values": {"set": "chosen"}})).unwrap();
        assert_eq!(state.value_set(set).members().count(), 0);
    }

    #[test]
    fn what_is_not_an_operation_is_refused() {
        let mut state = state();
        let unknown = perform(&mut state, json!({"reset_meter": {"meter": "m"}})).unwrap_err();
        assert!(unknown.contains("unknown variant `reset_meter`"), "{unknown}");
        let extra = json!({"add_group": {"profile": "s", "size": 3}});
        assert!(perform(&mut state, extra).unwrap_err().contains("unknown field `size`"));
        let absent = perform(&mut state, json!({"add_group": {"profile": "x"}})).unwrap_err();
        assert_eq!(absent, "the program has no action profile `x`; it has I.s");
    }
}
