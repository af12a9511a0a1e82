// SPDX-License-Identifier: MIT OR Apache-2.0
//! Extern objects of v1model, and the table properties that name them.

use crate::arch::args::{enum_member, size};
use crate::arch::properties;
use crate::diagnostics::Problem;
use crate::externs::{self, TableProperties, V1ModelHandle as Handle};
use crate::ir::{
    Counter, CounterId, HashAlgorithm, Meter, MeterId, Profile, ProfileId, Register, RegisterId, Ty, Unit,
};
use crate::lower::{Lowered, Lowerer, NewExtern, names};
use crate::typed::Table;
use crate::types::Type;

/// Creates an extern instance.
pub(crate) fn instantiate(lowerer: &mut Lowerer<'_>, new: &NewExtern<'_>) -> Lowered<Handle> {
    let (name, annotations) = (new.name.to_string(), names::annotations(new.annotations));
    Ok(match &*new.object {
        "register" => {
            let size = size(lowerer, new, 0)?;
            if size == 0 {
                return lowerer.fail(new.span, Problem::SizeNotPositive {});
            }
            let ty = register_type(lowerer, new)?;
            lowerer.out.registers.push(Register::new(name, ty, size, annotations));
            Handle::Register(RegisterId(lowerer.out.registers.len() as u32 - 1))
        }
        "counter" => {
            let size = Some(size(lowerer, new, 0)?);
            let unit = unit(lowerer, new, 1)?;
            lowerer.out.counters.push(Counter { name, unit, size, annotations });
            Handle::Counter(CounterId(lowerer.out.counters.len() as u32 - 1))
        }
        "direct_counter" => {
            let unit = unit(lowerer, new, 0)?;
            lowerer.out.counters.push(Counter { name, unit, size: None, annotations });
            Handle::DirectCounter(CounterId(lowerer.out.counters.len() as u32 - 1))
        }
        "meter" => {
            let size = Some(size(lowerer, new, 0)?);
            let unit = unit(lowerer, new, 1)?;
            lowerer.meter_spans.push(new.span);
            lowerer.out.meters.push(Meter { name, unit, size, annotations });
            Handle::Meter(MeterId(lowerer.out.meters.len() as u32 - 1))
        }
        "direct_meter" => {
            let unit = unit(lowerer, new, 0)?;
            lowerer.meter_spans.push(new.span);
            lowerer.out.meters.push(Meter { name, unit, size: None, annotations });
            Handle::DirectMeter(MeterId(lowerer.out.meters.len() as u32 - 1))
        }
        "action_profile" => {
            let size = size(lowerer, new, 0)?;
            lowerer.out.profiles.push(Profile { name, size, selector: None, annotations });
            Handle::Profile(ProfileId(lowerer.out.profiles.len() as u32 - 1))
        }
        "action_selector" => {
            let size = size(lowerer, new, 1)?;
            let algorithm = enum_member(lowerer, new.args.first().and_then(Option::as_ref), "HashAlgorithm");
            let Some(selector) = algorithm.as_deref().and_then(hash_algorithm) else {
                return lowerer.internal(new.span, "an unknown hash algorithm");
            };
            lowerer.out.profiles.push(Profile { name, size, selector: Some(selector), annotations });
            Handle::Profile(ProfileId(lowerer.out.profiles.len() as u32 - 1))
        }
        "Checksum16" => Handle::Checksum16,
        _ => Handle::Foreign,
    })
}

fn register_type(lowerer: &mut Lowerer<'_>, new: &NewExtern<'_>) -> Lowered<Ty> {
    let ty = new.type_args.first().cloned().unwrap_or(Type::Poison);
    let below = match &ty {
        Type::Bool => None,
        other => lowerer.scalar_ty(other),
    };
    match below {
        Some(ty) => Ok(ty),
        None => {
            let problem = Problem::RegisterType { ty: lowerer.show(&ty) };
            lowerer.fail(new.span, problem)
        }
    }
}

/// `CounterType` or `MeterType`
fn unit(lowerer: &mut Lowerer<'_>, new: &NewExtern<'_>, arg: usize) -> Lowered<Unit> {
    let value = new.args.get(arg).and_then(Option::as_ref);
    let member = enum_member(lowerer, value, "CounterType");
    match member.as_deref() {
        Some("packets") => Ok(Unit::Packets),
        Some("bytes") => Ok(Unit::Bytes),
        Some("packets_and_bytes") => Ok(Unit::PacketsAndBytes),
        _ => lowerer.internal(new.span, "an unknown unit"),
    }
}

pub(in crate::arch) fn hash_algorithm(name: &str) -> Option<HashAlgorithm> {
    Some(match name {
        "crc32" => HashAlgorithm::Crc32,
        "crc32_custom" => HashAlgorithm::Crc32Custom,
        "crc16" => HashAlgorithm::Crc16,
        "crc16_custom" => HashAlgorithm::Crc16Custom,
        "random" => HashAlgorithm::Random,
        "identity" => HashAlgorithm::Identity,
        "csum16" => HashAlgorithm::Csum16,
        "xor16" => HashAlgorithm::Xor16,
        _ => return None,
    })
}

/// `size`, `counters`, `meters` and `implementation` of a table. Other properties have no meaning here, as on BMv2.
pub(crate) fn table_properties(lowerer: &mut Lowerer<'_>, table: &Table, name: &str) -> Lowered<TableProperties> {
    let mut properties = TableProperties::default();
    for property in &table.properties {
        if properties::size(lowerer, property, &mut properties)? {
            continue;
        }
        let mut object = || properties::object(lowerer, &property.value, name);
        match &*property.name {
            "counters" => match object()? {
                Some(externs::Handle::V1Model(Handle::DirectCounter(id))) => properties.direct_counter = Some(id),
                _ => return properties::wrong_object(lowerer, property, "a `direct_counter`"),
            },
            "meters" => match object()? {
                Some(externs::Handle::V1Model(Handle::DirectMeter(id))) => properties.direct_meter = Some(id),
                _ => return properties::wrong_object(lowerer, property, "a `direct_meter`"),
            },
            "implementation" => match object()? {
                Some(externs::Handle::V1Model(Handle::Profile(id))) => properties.profile = Some(id),
                _ => return properties::wrong_object(lowerer, property, "an `action_profile` or `action_selector`"),
            },
            _ => {}
        }
    }
    Ok(properties)
}
