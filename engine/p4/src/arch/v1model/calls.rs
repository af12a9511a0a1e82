// SPDX-License-Identifier: MIT OR Apache-2.0
//! Calls of v1model's externs.

use crate::ast::FieldsKind;
use crate::diagnostics::Problem;
use crate::ir::{self, Checksum, ExprKind, ExternCall, Place, Request, StmtKind, Ty};
use crate::lower::{Argument, ExternObject, Lowered, Lowerer, Lvalue, Storage, Value};
use crate::source::Span;
use crate::typed::{Call, Function};
use crate::types::Type;

use super::objects::hash_algorithm;
use crate::arch::args::{Args, result_type, with_result};
use crate::arch::data;
use crate::externs::{Part, V1ModelHandle as Handle};

/// The egress port that means "drop", BMv2's default.
const DROP_PORT: u32 = 511;

pub(crate) fn call_method(
    lowerer: &mut Lowerer<'_>,
    handle: &Handle,
    object: &ExternObject,
    method: &Function,
    call: &Call,
    returns: &Type,
    span: Span,
) -> Lowered<Value> {
    let values = lowerer.extern_args(&method.params, &call.args)?;
    let args = Args { args: &values, span };
    match (*handle, &*method.name) {
        (Handle::Register(register), "read") => {
            let (dst, index) = (args.place(lowerer, 0)?, args.scalar(lowerer, 1)?);
            let ty = lowerer.out.registers[register.index()].ty;
            with_result(lowerer, &dst, ty, span, |dst| ExternCall::RegisterRead { register, dst, index })?;
        }
        (Handle::Register(register), "write") => {
            let (index, value) = (args.scalar(lowerer, 0)?, args.scalar(lowerer, 1)?);
            let ty = lowerer.out.registers[register.index()].ty;
            let value = lowerer.cast_to(value, ty, span);
            lowerer.emit(StmtKind::Extern(ExternCall::RegisterWrite { register, index, value }));
        }
        (Handle::Counter(counter), "count") => {
            let index = args.scalar(lowerer, 0)?;
            lowerer.emit(StmtKind::Extern(ExternCall::Count { counter, index }));
        }
        (Handle::DirectCounter(counter), "count") => {
            lowerer.emit(StmtKind::Extern(ExternCall::DirectCount { counter }));
        }
        (Handle::Meter(meter), "execute_meter") => {
            let (index, dst) = (args.scalar(lowerer, 0)?, args.place(lowerer, 1)?);
            let ty = result_type(lowerer, &dst, Ty::bits(32), span)?;
            with_result(lowerer, &dst, ty, span, |dst| ExternCall::ExecuteMeter { meter, dst, index })?;
        }
        (Handle::DirectMeter(meter), "read") => {
            let dst = args.place(lowerer, 0)?;
            let ty = result_type(lowerer, &dst, Ty::bits(32), span)?;
            with_result(lowerer, &dst, ty, span, |dst| ExternCall::DirectMeterRead { meter, dst })?;
        }
        (Handle::Checksum16, "get") => {
            lowerer.beyond_bmv2("`Checksum16`", Some("call `hash` with `HashAlgorithm.csum16`"), span);
            let data = args.value(lowerer, 0)?;
            return checksum16(lowerer, data, span);
        }
        _ => {
            let ty = Type::Extern(object.id, object.type_args.clone());
            let name = lowerer.show(&ty);
            return foreign(lowerer, name, returns, span);
        }
    }
    Ok(Value::Void)
}

pub(crate) fn call_function(
    lowerer: &mut Lowerer<'_>,
    function: &Function,
    call: &Call,
    values: &[Argument],
    returns: &Type,
    span: Span,
) -> Lowered<Value> {
    let args = Args { args: values, span };
    let extern_call = match &*function.name {
        "mark_to_drop" if values.is_empty() => {
            lowerer.diagnostics.error(span, Problem::Unsupported { what: "`mark_to_drop` without metadata".into() });
            return Err(crate::lower::Failed);
        }
        "mark_to_drop" => return mark_to_drop(lowerer, &args, span),
        "random" => return random(lowerer, &args, span),
        "hash" => return hash(lowerer, &args, span),
        "verify_checksum" | "verify_checksum_with_payload" => {
            only_in(lowerer, function, &[Part::VerifyChecksum], "the `VerifyChecksum` control", span)?;
            ExternCall::VerifyChecksum(checksum(lowerer, function, &args, span)?)
        }
        "update_checksum" | "update_checksum_with_payload" => {
            only_in(lowerer, function, &[Part::ComputeChecksum], "the `ComputeChecksum` control", span)?;
            ExternCall::UpdateChecksum(checksum(lowerer, function, &args, span)?)
        }
        "clone" | "clone_preserving_field_list" => clone(lowerer, function, &args, span)?,
        "resubmit_preserving_field_list" => {
            only_in(lowerer, function, &[Part::Ingress], "ingress", span)?;
            ExternCall::Request(Request::Resubmit { field_list: args.number(lowerer, 0)? })
        }
        "recirculate_preserving_field_list" => {
            only_in(lowerer, function, &[Part::Egress], "egress", span)?;
            ExternCall::Request(Request::Recirculate { field_list: args.number(lowerer, 0)? })
        }
        "digest" => {
            only_in(lowerer, function, &[Part::Ingress], "ingress", span)?;
            let data = scalars(lowerer, &args, 1)?;
            ExternCall::Request(Request::Digest { name: digest_name(lowerer, call), data })
        }
        "truncate" => {
            let parts = [Part::Parser, Part::VerifyChecksum, Part::Ingress, Part::Egress];
            only_in(lowerer, function, &parts, "a block before the deparser", span)?;
            ExternCall::Request(Request::Truncate(args.scalar(lowerer, 0)?))
        }
        "assert" | "assume" => {
            ExternCall::Request(Request::Assert { cond: args.scalar(lowerer, 0)?, assume: &*function.name == "assume" })
        }
        "log_msg" => {
            let Value::String(format) = args.value(lowerer, 0)? else {
                return lowerer.internal(span, "a string was expected");
            };
            let data = if values.len() > 1 { scalars(lowerer, &args, 1)? } else { Vec::new() };
            ExternCall::Request(Request::LogMsg { format: format.to_string(), data })
        }
        name => return foreign(lowerer, name.to_string(), returns, span),
    };
    lowerer.emit(StmtKind::Extern(extern_call));
    Ok(Value::Void)
}

fn random(lowerer: &mut Lowerer<'_>, args: &Args<'_>, span: Span) -> Lowered<Value> {
    let (dst, lo, hi) = (args.place(lowerer, 0)?, args.scalar(lowerer, 1)?, args.scalar(lowerer, 2)?);
    let ty = result_type(lowerer, &dst, lo.ty, span)?;
    with_result(lowerer, &dst, ty, span, |dst| ExternCall::Random { dst, lo, hi })?;
    Ok(Value::Void)
}

fn hash(lowerer: &mut Lowerer<'_>, args: &Args<'_>, span: Span) -> Lowered<Value> {
    let dst = args.place(lowerer, 0)?;
    let algorithm = algorithm(lowerer, args, 1)?;
    let (base, max) = (args.scalar(lowerer, 2)?, args.scalar(lowerer, 4)?);
    let data = args.value(lowerer, 3)?;
    if matches!(data, Value::Scalar(_)) {
        lowerer.beyond_bmv2("a hash of something that is not a list", Some("put braces around it"), span);
    }
    let data = data::fields(lowerer, data, span)?;
    let ty = result_type(lowerer, &dst, base.ty, span)?;
    with_result(lowerer, &dst, ty, span, |dst| ExternCall::Hash { dst, algorithm, base, data, max })?;
    Ok(Value::Void)
}

/// The scalars of an argument, which is a value or a list.
fn scalars(lowerer: &mut Lowerer<'_>, args: &Args<'_>, place: usize) -> Lowered<Vec<ir::Expr>> {
    let mut data = Vec::new();
    let value = args.value(lowerer, place)?;
    data::scalars(lowerer, value, args.span, &mut data)?;
    Ok(data)
}

/// A call of an extern that v1model does not have. The call is omitted; its value is the default of its type.
fn foreign(lowerer: &mut Lowerer<'_>, name: String, returns: &Type, span: Span) -> Lowered<Value> {
    lowerer.diagnostics.warning(span, Problem::Foreign { name: name.clone() }).done();
    if !lowerer.out.foreign.contains(&name) {
        lowerer.out.foreign.push(name);
    }
    lowerer.default_value(returns, span)
}

/// `Checksum16.get`: the ones' complement sum of the data.
fn checksum16(lowerer: &mut Lowerer<'_>, data: Value, span: Span) -> Lowered<Value> {
    let data = data::fields(lowerer, data, span)?;
    let (ty, wide) = (Ty::bits(16), Ty::bits(64));
    let base = lowerer.scalar_of(Value::Int(0.into()), wide, span)?;
    let max = lowerer.scalar_of(Value::Int((1 << 16).into()), wide, span)?;
    let result = lowerer.temp(ty);
    let call = ExternCall::Hash { dst: result.into(), algorithm: ir::HashAlgorithm::Csum16, base, data, max };
    lowerer.emit(StmtKind::Extern(call));
    Ok(Value::Scalar(ir::Expr { kind: ExprKind::Load(result.into()), ty, span }))
}

/// Reports an extern in a block where BMv2 does not support it.
fn only_in(
    lowerer: &mut Lowerer<'_>,
    function: &Function,
    parts: &[Part],
    block: &'static str,
    span: Span,
) -> Lowered<()> {
    if parts.contains(&lowerer.part) {
        return Ok(());
    }
    lowerer.fail(span, Problem::WrongBlock { name: function.name.clone(), block })
}

/// `mark_to_drop`: the switch marks the packet's own metadata; a copy is marked field by field.
fn mark_to_drop(lowerer: &mut Lowerer<'_>, args: &Args<'_>, span: Span) -> Lowered<Value> {
    let copy = match args.args.first() {
        Some(Argument::Place(Lvalue::Storage(Storage::Struct(fields), None))) => Some(fields.clone()),
        _ => None,
    };
    let field = |lowerer: &Lowerer<'_>, name: &str| {
        let slot = lowerer.out.intrinsics.iter().find(|(known, _)| known == name)?.1;
        Some((slot, copy.as_ref()?.contains(&Storage::Scalar(slot))))
    };
    if copy.is_none() || matches!(field(lowerer, "standard_metadata.egress_spec"), Some((_, true))) {
        lowerer.emit(StmtKind::Extern(ExternCall::MarkToDrop));
        return Ok(Value::Void);
    }
    for (name, value) in [("egress_spec", DROP_PORT), ("mcast_grp", 0)] {
        let place = args.place(lowerer, 0)?;
        let Some(index) = standard_field(lowerer, name) else {
            return lowerer.internal(span, "standard metadata lacks a field");
        };
        let Some(place) = place.part(index) else { return lowerer.internal(span, "a struct was expected") };
        let ty = result_type(lowerer, &place, Ty::bits(32), span)?;
        let value = lowerer.scalar_of(Value::Int(value.into()), ty, span)?;
        lowerer.store(&place, Value::Scalar(value), span)?;
    }
    Ok(Value::Void)
}

/// The place of a field in `standard_metadata_t`.
fn standard_field(lowerer: &Lowerer<'_>, name: &str) -> Option<usize> {
    let decl = lowerer.program.fields.iter().find(|decl| &*decl.name == "standard_metadata_t")?;
    decl.place(name)
}

fn checksum(lowerer: &mut Lowerer<'_>, function: &Function, args: &Args<'_>, span: Span) -> Lowered<Checksum> {
    let condition = args.scalar(lowerer, 0)?;
    let data = args.value(lowerer, 1)?;
    let data = data::fields(lowerer, data, span)?;
    let field = match args.args.get(2) {
        Some(Argument::Place(Lvalue::Storage(Storage::Scalar(slot), index))) => {
            Some(Place { slot: *slot, index: index.clone() })
        }
        Some(Argument::Value(Value::Scalar(ir::Expr { kind: ExprKind::Load(place), .. }))) => Some(place.clone()),
        _ => None,
    };
    let Some(field) = field else { return lowerer.fail(span, Problem::FieldNeeded {}) };
    let header = data::header_of(lowerer, &field);
    let algorithm = algorithm(lowerer, args, 3)?;
    let with_payload = function.name.ends_with("_with_payload");
    Ok(Checksum { condition, data, field, header, algorithm, with_payload })
}

fn clone(lowerer: &mut Lowerer<'_>, function: &Function, args: &Args<'_>, span: Span) -> Lowered<ExternCall> {
    let egress = args.member(lowerer, 0, "CloneType")? == "E2E";
    let (part, block) = if egress { (Part::Egress, "egress") } else { (Part::Ingress, "ingress") };
    only_in(lowerer, function, &[part], block, span)?;
    let session = args.scalar(lowerer, 1)?;
    let field_list = match args.args.len() {
        2 => None,
        _ => Some(args.number(lowerer, 2)?),
    };
    Ok(ExternCall::Request(Request::Clone { egress, session, field_list }))
}

/// A digest is named after the struct that it sends.
fn digest_name(lowerer: &Lowerer<'_>, call: &Call) -> String {
    match call.type_args.first() {
        Some(Type::Fields(id, _)) if lowerer.program.fields(*id).kind == FieldsKind::Struct => {
            lowerer.program.fields(*id).name.to_string()
        }
        _ => "digest".to_string(),
    }
}

fn algorithm(lowerer: &mut Lowerer<'_>, args: &Args<'_>, index: usize) -> Lowered<ir::HashAlgorithm> {
    let member = args.member(lowerer, index, "HashAlgorithm")?;
    match hash_algorithm(&member) {
        Some(algorithm) => Ok(algorithm),
        None => lowerer.internal(args.span, "an unknown hash algorithm"),
    }
}
