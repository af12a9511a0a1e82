//! Extern objects of v1model, and the table properties that name them.

use num_bigint::BigInt;

use crate::arch::{self, TableProperties};
use crate::diagnostics::Problem;
use crate::ir::{
    Counter, CounterId, HashAlgorithm, Meter, MeterId, Profile, ProfileId, Register, RegisterId, Ty, Unit,
};
use crate::lower::{Lowered, Lowerer, NewExtern, Object, Value, names};
use crate::source::Span;
use crate::typed::{ExprKind, Table};
use crate::types::Type;

/// What became of an extern instance.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Handle {
    Register(RegisterId),
    Counter(CounterId),
    DirectCounter(CounterId),
    Meter(MeterId),
    DirectMeter(MeterId),
    Profile(ProfileId),
    Checksum16,
    /// Of a type that v1model does not have.
    Foreign,
}

/// Makes an extern instance.
pub(crate) fn instantiate(lowerer: &mut Lowerer<'_>, new: &NewExtern<'_>) -> Lowered<Handle> {
    let (name, annotations) = (new.name.to_string(), names::annotations(new.annotations));
    Ok(match &*new.object {
        "register" => {
            let size = size(lowerer, new, 0)?;
            if size == 0 {
                return lowerer.fail(new.span, Problem::SizeNotPositive {});
            }
            let ty = register_type(lowerer, new)?;
            lowerer.out.registers.push(Register { name, ty, size, annotations });
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

/// A number of cells.
fn size(lowerer: &mut Lowerer<'_>, new: &NewExtern<'_>, arg: usize) -> Lowered<u64> {
    let Some(Some(value)) = new.args.get(arg).cloned() else {
        return lowerer.internal(new.span, "a size was expected");
    };
    let number = lowerer.known_number(&value, new.span)?;
    match u64::try_from(&number) {
        Ok(size) => Ok(size),
        Err(_) => lowerer.fail(new.span, Problem::SizeNotPositive {}),
    }
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

/// The name of the member of an enum that a value is.
pub(super) fn enum_member(lowerer: &Lowerer<'_>, value: Option<&Value>, name: &str) -> Option<String> {
    let Value::Scalar(expr) = value? else { return None };
    let number: BigInt = lowerer.number_of(expr)?;
    let decl = lowerer.program.enums.iter().find(|decl| &*decl.name == name)?;
    let member = decl.members.iter().find(|member| member.value == number)?;
    Some(member.name.to_string())
}

pub(super) fn hash_algorithm(name: &str) -> Option<HashAlgorithm> {
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
        let span = property.span;
        match &*property.name {
            "size" => {
                let value = lowerer.expr(&property.value)?;
                let number = lowerer.known_number(&value, span)?;
                properties.size = u64::try_from(&number).ok();
                if properties.size.is_none() {
                    return lowerer.fail(property.value.span, Problem::SizeNotPositive {});
                }
            }
            "counters" => match object(lowerer, &property.value, name)? {
                Some(Handle::DirectCounter(id)) => properties.direct_counter = Some(id),
                _ => return wrong_object(lowerer, property, "a `direct_counter`"),
            },
            "meters" => match object(lowerer, &property.value, name)? {
                Some(Handle::DirectMeter(id)) => properties.direct_meter = Some(id),
                _ => return wrong_object(lowerer, property, "a `direct_meter`"),
            },
            "implementation" => match object(lowerer, &property.value, name)? {
                Some(Handle::Profile(id)) => properties.profile = Some(id),
                _ => return wrong_object(lowerer, property, "an `action_profile` or `action_selector`"),
            },
            _ => {}
        }
    }
    Ok(properties)
}

fn wrong_object<T>(lowerer: &mut Lowerer<'_>, property: &crate::typed::Property, wanted: &'static str) -> Lowered<T> {
    let problem = Problem::PropertyObject { name: property.name.clone(), wanted };
    lowerer.fail(property.value.span, problem)
}

/// The object that a property names or makes; a nameless one is named after its table.
fn object(lowerer: &mut Lowerer<'_>, value: &crate::typed::Expr, table: &str) -> Lowered<Option<Handle>> {
    let span: Span = value.span;
    let object = match &value.kind {
        ExprKind::Construct(construct) => lowerer.construct(construct, &value.ty, table, &[], span)?,
        _ => match lowerer.expr(value)? {
            Value::Object(object) => object,
            _ => return Ok(None),
        },
    };
    match object {
        Object::Extern(object) => match object.handle {
            arch::Handle::V1Model(handle) => Ok(Some(handle)),
            arch::Handle::Core(_) => Ok(None),
        },
        _ => Ok(None),
    }
}
