// SPDX-License-Identifier: MIT OR Apache-2.0
//! Extern objects of TNA, and the table properties that name them.

use num_bigint::BigUint;
use rustc_hash::FxHashMap;

use crate::arch::args::{enum_member, number, object, size};
use crate::arch::properties;
use crate::diagnostics::Problem;
use crate::externs::{self, NewAction, TableProperties, TnaHandle as Handle};
use crate::ir::{
    Annotation, Counter, CounterId, Filter, FilterId, HashAlgorithm, MathUnit, MathUnitId, Meter, MeterId, Profile,
    ProfileId, Register, RegisterId, Ty, Unit,
};
use crate::lower::{Lowered, Lowerer, NewExtern, Value, names};
use crate::source::Span;
use crate::typed::Table;
use crate::types::Type;

use super::hashes;

/// Creates an extern instance.
pub(crate) fn instantiate(lowerer: &mut Lowerer<'_>, new: &NewExtern<'_>) -> Lowered<Handle> {
    let (name, annotations) = (new.name.to_string(), names::annotations(new.annotations));
    Ok(match &*new.object {
        "Register" => register(lowerer, new, name, annotations)?,
        "RegisterAction" => register_action(lowerer, new, name)?,
        "MathUnit" => {
            let unit = math_unit(lowerer, new, name)?;
            lowerer.out.math_units.push(unit);
            Handle::MathUnit(MathUnitId(lowerer.out.math_units.len() as u32 - 1))
        }
        "CRCPolynomial" => Handle::Polynomial(hashes::polynomial(lowerer, new)?),
        "Hash" => Handle::Hash(hashes::algorithm(lowerer, new)?),
        "Random" => Handle::Random,
        "Counter" => {
            let (size, unit) = (Some(size(lowerer, new, 0)?), unit(lowerer, new, 1)?);
            Handle::Counter(counter(lowerer, Counter { name, unit, size, annotations }))
        }
        "DirectCounter" => {
            let unit = unit(lowerer, new, 0)?;
            Handle::DirectCounter(counter(lowerer, Counter { name, unit, size: None, annotations }))
        }
        "Meter" => {
            let (size, unit) = (Some(size(lowerer, new, 0)?), unit(lowerer, new, 1)?);
            let colours = colours(lowerer, new, 2)?;
            Handle::Meter(meter(lowerer, Meter { name, unit, size, annotations }, new.span), colours)
        }
        "DirectMeter" => {
            let unit = unit(lowerer, new, 0)?;
            let colours = colours(lowerer, new, 1)?;
            Handle::DirectMeter(meter(lowerer, Meter { name, unit, size: None, annotations }, new.span), colours)
        }
        "Lpf" | "Wred" => filter(lowerer, new, name, annotations)?,
        "ActionProfile" => {
            let size = size(lowerer, new, 0)?;
            Handle::Profile(profile(lowerer, Profile { name, size, selector: None, annotations }))
        }
        "ActionSelector" => selector(lowerer, new)?,
        "Checksum" => {
            lowerer.tna.sums.push(FxHashMap::default());
            Handle::Checksum(lowerer.tna.sums.len() - 1)
        }
        "Mirror" => Handle::Mirror,
        "Resubmit" => Handle::Resubmit,
        "Digest" => Handle::Digest,
        "ParserPriority" | "Alpm" | "Atcam" | "IdleTimeout" => Handle::Idle,
        other => return lowerer.unsupported(new.span, format!("`{other}`")),
    })
}

fn register(
    lowerer: &mut Lowerer<'_>,
    new: &NewExtern<'_>,
    name: String,
    annotations: Vec<Annotation>,
) -> Lowered<Handle> {
    let size = size(lowerer, new, 0)?;
    if size == 0 {
        return lowerer.fail(new.span, Problem::SizeNotPositive {});
    }
    let parts = cell(lowerer, new)?;
    let ty = match parts[..] {
        [ty] => ty,
        _ => Ty::bits(parts.iter().map(|part| part.width).sum()),
    };
    let initial = initial(lowerer, new, &parts)?;
    lowerer.out.registers.push(Register { name, ty, parts, initial, size, annotations });
    Ok(Handle::Register(RegisterId(lowerer.out.registers.len() as u32 - 1)))
}

fn register_action(lowerer: &mut Lowerer<'_>, new: &NewExtern<'_>, name: String) -> Lowered<Handle> {
    let Some(externs::Handle::Tna(Handle::Register(register))) = object(new, 0) else {
        return lowerer.internal(new.span, "a register was expected");
    };
    let Some(&apply) = new.methods.first() else {
        return lowerer.internal(new.span, "`apply` is missing");
    };
    let [value, _, returns] = &new.type_args[..] else {
        return lowerer.internal(new.span, "three type arguments were expected");
    };
    let (value, returns, span) = (value.clone(), returns.clone(), new.span);
    lowerer.tna.actions.push(NewAction { name, register, apply, value, returns, span, lowered: None });
    Ok(Handle::RegisterAction(lowerer.tna.actions.len() - 1))
}

fn filter(
    lowerer: &mut Lowerer<'_>,
    new: &NewExtern<'_>,
    name: String,
    annotations: Vec<Annotation>,
) -> Lowered<Handle> {
    let size = size(lowerer, new, 0)?;
    let ty = new.type_args.first().and_then(|ty| lowerer.scalar_ty(ty)).unwrap_or(Ty::bits(32));
    let wred = match &*new.object {
        "Wred" => Some((number(lowerer, new, 1)?, number(lowerer, new, 2)?)),
        _ => None,
    };
    lowerer.out.filters.push(Filter { name, ty, size, wred, annotations });
    Ok(Handle::Filter(FilterId(lowerer.out.filters.len() as u32 - 1)))
}

/// Fields of a cell, lowest first.
fn cell(lowerer: &mut Lowerer<'_>, new: &NewExtern<'_>) -> Lowered<Vec<Ty>> {
    let ty = new.type_args.first().cloned().unwrap_or(Type::Poison);
    let parts = match &ty {
        Type::Fields(..) => lowerer.part_types(&ty),
        _ => vec![ty.clone()],
    };
    let scalars: Option<Vec<Ty>> = parts.iter().map(|part| lowerer.scalar_ty(part)).collect();
    match scalars {
        Some(scalars) if matches!(scalars.len(), 1 | 2) => Ok(scalars),
        _ => {
            let problem = Problem::RegisterType { ty: lowerer.show(&ty) };
            lowerer.fail(new.span, problem)
        }
    }
}

/// The `initial_value` of a register.
fn initial(lowerer: &mut Lowerer<'_>, new: &NewExtern<'_>, parts: &[Ty]) -> Lowered<BigUint> {
    let values = match new.args.get(1).cloned().flatten() {
        None => return Ok(BigUint::ZERO),
        Some(Value::Struct(values) | Value::List(values)) => values,
        Some(value) => vec![value],
    };
    let (mut image, mut at) = (BigUint::ZERO, 0);
    for (value, part) in values.iter().zip(parts) {
        let number = lowerer.known_number(value, new.span)?;
        image |= crate::arith::image(&number, part.width) << at;
        at += part.width;
    }
    Ok(image)
}

fn counter(lowerer: &mut Lowerer<'_>, counter: Counter) -> CounterId {
    lowerer.out.counters.push(counter);
    CounterId(lowerer.out.counters.len() as u32 - 1)
}

fn meter(lowerer: &mut Lowerer<'_>, meter: Meter, span: Span) -> MeterId {
    lowerer.meter_spans.push(span);
    lowerer.out.meters.push(meter);
    MeterId(lowerer.out.meters.len() as u32 - 1)
}

fn profile(lowerer: &mut Lowerer<'_>, profile: Profile) -> ProfileId {
    lowerer.out.profiles.push(profile);
    ProfileId(lowerer.out.profiles.len() as u32 - 1)
}

/// Red, yellow and green of a meter.
fn colours(lowerer: &mut Lowerer<'_>, new: &NewExtern<'_>, first: usize) -> Lowered<[u8; 3]> {
    match new.args.get(first) {
        Some(Some(_)) => {
            Ok([number(lowerer, new, first)?, number(lowerer, new, first + 1)?, number(lowerer, new, first + 2)?])
        }
        _ => Ok([3, 1, 0]),
    }
}

/// A selector, which lets a plain profile choose by a hash or has a profile of its own.
fn selector(lowerer: &mut Lowerer<'_>, new: &NewExtern<'_>) -> Lowered<Handle> {
    let Some(externs::Handle::Tna(Handle::Hash(hash))) = object(new, 1) else {
        return lowerer.internal(new.span, "a hash was expected");
    };
    let hash = hash.unwrap_or(HashAlgorithm::Identity);
    if let Some(externs::Handle::Tna(Handle::Profile(id))) = object(new, 0) {
        lowerer.out.profiles[id.index()].selector = Some(hash);
        return Ok(Handle::Profile(id));
    }
    let size = size(lowerer, new, 0)?;
    let annotations = names::annotations(new.annotations);
    let made = Profile { name: new.name.to_string(), size, selector: Some(hash), annotations };
    Ok(Handle::Profile(profile(lowerer, made)))
}

/// `CounterType_t` or `MeterType_t`
fn unit(lowerer: &mut Lowerer<'_>, new: &NewExtern<'_>, arg: usize) -> Lowered<Unit> {
    let value = new.args.get(arg).and_then(Option::as_ref);
    match enum_member(lowerer, value, "CounterType_t").as_deref() {
        Some("PACKETS") => Ok(Unit::Packets),
        Some("BYTES") => Ok(Unit::Bytes),
        Some("PACKETS_AND_BYTES") => Ok(Unit::PacketsAndBytes),
        _ => lowerer.internal(new.span, "an unknown unit"),
    }
}

/// A math unit, from either of its constructors.
fn math_unit(lowerer: &mut Lowerer<'_>, new: &NewExtern<'_>, name: String) -> Lowered<MathUnit> {
    let first = new.args.first().and_then(Option::as_ref);
    if let Some(op) = enum_member(lowerer, first, "MathOp_t")
        && new.args.len() <= 3
    {
        let factor: u32 = number(lowerer, new, 1)?;
        let divisor: u32 = if new.args.len() == 3 { number(lowerer, new, 2)? } else { 1 };
        if factor == 0 || divisor == 0 {
            return lowerer.fail(new.span, Problem::SizeNotPositive {});
        }
        let (invert, shift, scale, table) = by_operation(&op, f64::from(factor) / f64::from(divisor));
        if op == "RSQR" {
            return lowerer.unsupported(new.span, "`MathOp_t.RSQR` (p4c computes its table wrong; give the table)");
        }
        return Ok(MathUnit { name, invert, shift, scale, table, span: new.span });
    }
    let invert: u8 = number(lowerer, new, 0)?;
    let (shift, scale) = (number(lowerer, new, 1)?, number(lowerer, new, 2)?);
    let Some(Some(Value::Struct(values) | Value::List(values))) = new.args.get(3).cloned() else {
        return lowerer.internal(new.span, "a table of 16 numbers was expected");
    };
    let mut table = [0; 16];
    for (place, value) in values.iter().enumerate() {
        let number = lowerer.known_number(value, new.span)?;
        // The program lists entry 15 first.
        table[15 - place] = u8::try_from(&number).unwrap_or(u8::MAX);
    }
    Ok(MathUnit { name, invert: invert != 0, shift, scale, table, span: new.span })
}

/// Configuration of `factor * op(x)`, as p4c computes it: entry i is f(i / 8) * factor / 2^scale, scaled so that the
/// largest fills 8 bits.
fn by_operation(op: &str, factor: f64) -> (bool, i8, i8, [u8; 16]) {
    type Function = fn(f64) -> f64;
    let (invert, shift, function): (bool, i8, Function) = match op {
        "SQR" => (false, 1, |x| x * x),
        "SQRT" => (false, -1, f64::sqrt),
        "DIV" => (true, 0, |x| 1.0 / x),
        "RSQRT" => (true, -1, |x| 1.0 / x.sqrt()),
        _ => (false, 0, |x| x),
    };
    // Entries below `first` would be large for inverse functions, and are never used.
    let first = if shift == -1 { 4 } else { 8 };
    let values: Vec<f64> = (first..16).map(|place| function(f64::from(place) / 8.0) * factor).collect();
    let largest = values.iter().copied().fold(0.0, f64::max);
    let mut scale = 0i8;
    while (largest / 2f64.powi(i32::from(scale))).round() > 255.0 && scale < 31 {
        scale += 1;
    }
    while (largest / 2f64.powi(i32::from(scale) - 1)).round() <= 255.0 && scale > -32 {
        scale -= 1;
    }
    let mut table = [0; 16];
    for (place, value) in (first..16).zip(values) {
        table[place as usize] = (value / 2f64.powi(i32::from(scale))).round_ties_even().clamp(0.0, 255.0) as u8;
    }
    (invert, shift, scale, table)
}

/// `size`, `counters`, `meters` and `implementation` of a table.
pub(crate) fn table_properties(lowerer: &mut Lowerer<'_>, table: &Table, name: &str) -> Lowered<TableProperties> {
    let mut properties = TableProperties::default();
    for property in &table.properties {
        if properties::size(lowerer, property, &mut properties)? {
            continue;
        }
        let mut object = || properties::object(lowerer, &property.value, name);
        match &*property.name {
            "counters" => match object()? {
                Some(externs::Handle::Tna(Handle::DirectCounter(id))) => properties.direct_counter = Some(id),
                _ => return properties::wrong_object(lowerer, property, "a `DirectCounter`"),
            },
            "meters" => match object()? {
                Some(externs::Handle::Tna(Handle::DirectMeter(id, _))) => properties.direct_meter = Some(id),
                _ => return properties::wrong_object(lowerer, property, "a `DirectMeter`"),
            },
            "implementation" => match object()? {
                Some(externs::Handle::Tna(Handle::Profile(id))) => properties.profile = Some(id),
                _ => return properties::wrong_object(lowerer, property, "an `ActionProfile` or `ActionSelector`"),
            },
            "registers" | "filters" => {
                return lowerer.unsupported(property.value.span, format!("the table property `{}`", property.name));
            }
            _ => {}
        }
    }
    Ok(properties)
}
