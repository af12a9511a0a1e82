// SPDX-License-Identifier: MIT OR Apache-2.0
//! Calls of TNA's externs.

use num_bigint::BigInt;

use crate::arch::args::Args;
use crate::arch::data;
use crate::ast::BinaryOp;
use crate::diagnostics::Problem;
use crate::externs::TnaHandle as Handle;
use crate::ir::{
    self, Class, ExternCall, FilterId, HashAlgorithm, MathUnitId, MeterId, Place, RegisterAction, RegisterActionId,
    RegisterId, Request, SlotId, StmtKind, Ty,
};
use crate::lower::{Argument, ExternObject, Lowered, Lowerer, Lvalue, Storage, Value, flatten, fold};
use crate::source::Span;
use crate::typed::{Call, Function};
use crate::types::Type;

/// Size in bits of the port metadata, which follows the intrinsic header in front of a packet at the ingress parser.
const PORT_METADATA_BITS: u32 = 64;

/// Widest result of a hash: `Hash` of the IR calculates in 64 bits.
const MAX_HASH_BITS: u32 = 63;

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
    let returns = lowerer.concrete(returns);
    match (handle, &*method.name) {
        (Handle::Register(register), "read") => {
            let index = args.scalar(lowerer, 0)?;
            return read_register(lowerer, *register, index, &returns, span);
        }
        (Handle::Register(register), "write") => {
            let (index, value) = (args.scalar(lowerer, 0)?, args.value(lowerer, 1)?);
            let value = cell_of(lowerer, *register, value, span)?;
            lowerer.emit(StmtKind::Extern(ExternCall::RegisterWrite { register: *register, index, value }));
        }
        (Handle::RegisterAction(action), "execute") => {
            let index = args.scalar(lowerer, 0)?;
            return execute(lowerer, *action, index, &returns, span);
        }
        (Handle::MathUnit(unit), "execute") => return math(lowerer, *unit, &args),
        (Handle::Hash(algorithm), "get") => return hash_of(lowerer, *algorithm, &args, &returns),
        (Handle::Random, "get") => return random(lowerer, &returns, span),
        (Handle::Counter(counter), "count") => {
            let index = args.scalar(lowerer, 0)?;
            lowerer.emit(StmtKind::Extern(ExternCall::Count { counter: *counter, index }));
        }
        (Handle::DirectCounter(counter), "count") => {
            lowerer.emit(StmtKind::Extern(ExternCall::DirectCount { counter: *counter }));
        }
        (Handle::Meter(meter, colours), "execute") => return indexed_meter(lowerer, *meter, *colours, method, &args),
        (Handle::DirectMeter(meter, colours), "execute") => return direct_meter(lowerer, *meter, *colours, &args),
        (Handle::Filter(filter), "execute") => return filtered(lowerer, *filter, &args),
        (Handle::Checksum(sum), name) => return checksum(lowerer, *sum, name, &args),
        (Handle::Mirror, "emit") => {
            let session = args.scalar(lowerer, 0)?;
            let data = header(lowerer, &args, 1)?;
            lowerer.emit(StmtKind::Extern(ExternCall::Request(Request::MirrorEmit { session, data })));
        }
        (Handle::Resubmit, "emit") => {
            let data = header(lowerer, &args, 0)?;
            lowerer.emit(StmtKind::Extern(ExternCall::Request(Request::ResubmitEmit { data })));
        }
        (Handle::Digest, "pack") => digest(lowerer, object, &args)?,
        (Handle::Idle, _) => {}
        _ => {
            let ty = lowerer.show(&Type::Extern(object.id, object.type_args.clone()));
            return lowerer.unsupported(span, format!("`{}` of `{ty}`", method.name));
        }
    }
    Ok(Value::Void)
}

fn math(lowerer: &mut Lowerer<'_>, unit: MathUnitId, args: &Args<'_>) -> Lowered<Value> {
    let input = args.scalar(lowerer, 0)?;
    let ty = input.ty;
    let dst = lowerer.temp(ty);
    lowerer.emit(StmtKind::Extern(ExternCall::Math { unit, dst: dst.into(), input }));
    Ok(scalar(dst, ty, args.span))
}

/// A hash, or the data themselves if there is no `algorithm`.
fn hash_of(
    lowerer: &mut Lowerer<'_>,
    algorithm: Option<HashAlgorithm>,
    args: &Args<'_>,
    returns: &Type,
) -> Lowered<Value> {
    let data = args.value(lowerer, 0)?;
    let Some(ty) = lowerer.scalar_ty(returns) else {
        return lowerer.internal(args.span, "a hash of bits was expected");
    };
    match algorithm {
        Some(algorithm) => hash(lowerer, algorithm, data, ty, args.span),
        None => identity(lowerer, data, ty, args.span),
    }
}

fn random(lowerer: &mut Lowerer<'_>, returns: &Type, span: Span) -> Lowered<Value> {
    let Some(ty) = lowerer.scalar_ty(returns) else {
        return lowerer.internal(span, "random bits were expected");
    };
    let dst = lowerer.temp(ty);
    let (lo, hi) = (fold::constant(&BigInt::ZERO, ty, span), fold::constant(&BigInt::from(-1), ty, span));
    lowerer.emit(StmtKind::Extern(ExternCall::Random { dst: dst.into(), lo, hi }));
    Ok(scalar(dst, ty, span))
}

fn indexed_meter(
    lowerer: &mut Lowerer<'_>,
    meter: MeterId,
    colours: [u8; 3],
    method: &Function,
    args: &Args<'_>,
) -> Lowered<Value> {
    if method.params.get(1).is_some_and(|param| &*param.name == "color") {
        return lowerer.unsupported(args.span, "a colour-aware meter");
    }
    let index = args.scalar(lowerer, 0)?;
    let dst = lowerer.temp(Ty::bits(32));
    lowerer.emit(StmtKind::Extern(ExternCall::ExecuteMeter { meter, dst: dst.into(), index }));
    Ok(colour(dst, colours, args.span))
}

fn filtered(lowerer: &mut Lowerer<'_>, filter: FilterId, args: &Args<'_>) -> Lowered<Value> {
    let (value, index) = (args.scalar(lowerer, 0)?, args.scalar(lowerer, 1)?);
    let ty = match lowerer.out.filters[filter.index()].wred {
        Some(_) => Ty::bits(8),
        None => value.ty,
    };
    let dst = lowerer.temp(ty);
    lowerer.emit(StmtKind::Extern(ExternCall::Filter { filter, dst: dst.into(), value, index }));
    Ok(scalar(dst, ty, args.span))
}

fn digest(lowerer: &mut Lowerer<'_>, object: &ExternObject, args: &Args<'_>) -> Lowered<()> {
    let mut data = Vec::new();
    let value = args.value(lowerer, 0)?;
    data::scalars(lowerer, value, args.span, &mut data)?;
    let name = match object.type_args.first() {
        Some(ty) => lowerer.show(ty),
        None => "digest".to_string(),
    };
    lowerer.emit(StmtKind::Extern(ExternCall::Request(Request::Digest { name, data })));
    Ok(())
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
    match &*function.name {
        name @ ("max" | "min") => {
            let (a, b) = (args.scalar(lowerer, 0)?, args.scalar(lowerer, 1)?);
            let op = if name == "max" { BinaryOp::Ge } else { BinaryOp::Le };
            let cond = fold::binary(op, a.clone(), b.clone(), span);
            Ok(Value::Scalar(fold::mux(cond, a, b, span)))
        }
        "invalidate" => Ok(Value::Void),
        "funnel_shift_right" => {
            let (high, low) = (args.scalar(lowerer, 1)?, args.scalar(lowerer, 2)?);
            let value = args.value(lowerer, 3)?;
            let by = lowerer.known_number(&value, span)?;
            let width = high.ty.width;
            let Some(by) = u32::try_from(&by).ok().filter(|by| *by <= width) else {
                return lowerer.fail(span, Problem::NotConstant {});
            };
            let both = fold::concat(high, low, false, span);
            let value = fold::slice(both, by + width - 1, by, span);
            let dst = args.place(lowerer, 0)?;
            lowerer.store(&dst, Value::Scalar(value), span)?;
            Ok(Value::Void)
        }
        name @ ("sizeInBits" | "sizeInBytes") => {
            let value = args.value(lowerer, 0)?;
            let mut parts = Vec::new();
            data::scalars(lowerer, value, span, &mut parts)?;
            let bits: u32 = parts.iter().map(|part| part.ty.width).sum();
            let size = if name == "sizeInBits" { bits } else { bits.div_ceil(8) };
            Ok(Value::Scalar(fold::constant(&size.into(), Ty::bits(32), span)))
        }
        "port_metadata_unpack" => {
            let ty = call.type_args.first().map(|ty| lowerer.concrete(ty));
            let ty = ty.unwrap_or_else(|| lowerer.concrete(returns));
            let value = crate::arch::core::lookahead(lowerer, &ty, &mut 0, span)?;
            let value = lowerer.freeze(value, &ty)?;
            lowerer.emit(StmtKind::Advance(fold::constant(&PORT_METADATA_BITS.into(), Ty::bits(32), span)));
            Ok(value)
        }
        name => lowerer.unsupported(span, format!("`{name}`")),
    }
}

fn scalar(slot: SlotId, ty: Ty, span: Span) -> Value {
    Value::Scalar(fold::load(slot, ty, span))
}

/// A cell as a value of the register's type.
fn read_register(
    lowerer: &mut Lowerer<'_>,
    register: RegisterId,
    index: ir::Expr,
    returns: &Type,
    span: Span,
) -> Lowered<Value> {
    let (ty, parts) = {
        let spec = &lowerer.out.registers[register.index()];
        (spec.ty, spec.parts.clone())
    };
    let dst = lowerer.temp(ty);
    lowerer.emit(StmtKind::Extern(ExternCall::RegisterRead { register, dst: dst.into(), index }));
    let cell = fold::load(dst, ty, span);
    if !matches!(returns, Type::Fields(..)) {
        return Ok(Value::Scalar(cell));
    }
    let mut at = 0;
    let values = parts.iter().map(|part| {
        let value = fold::slice(cell.clone(), at + part.width - 1, at, span);
        at += part.width;
        Value::Scalar(fold::cast(value, *part, span))
    });
    let values = values.collect();
    Ok(lowerer.assemble(returns, values, true, span))
}

/// A value of the register's type as a cell.
fn cell_of(lowerer: &mut Lowerer<'_>, register: RegisterId, value: Value, span: Span) -> Lowered<ir::Expr> {
    let ty = lowerer.out.registers[register.index()].ty;
    match value {
        Value::Struct(parts) => {
            let mut cell: Option<ir::Expr> = None;
            for part in parts {
                let part = lowerer.scalar_of(part, ty, span)?;
                let part = fold::cast(part.clone(), Ty::bits(part.ty.width), span);
                cell = Some(match cell {
                    Some(low) => fold::concat(part, low, false, span),
                    None => part,
                });
            }
            match cell {
                Some(cell) => Ok(cell),
                None => lowerer.internal(span, "a cell was expected"),
            }
        }
        other => {
            let expr = lowerer.scalar_of(other, ty, span)?;
            Ok(lowerer.cast_to(expr, ty, span))
        }
    }
}

/// `RegisterAction.execute`
fn execute(lowerer: &mut Lowerer<'_>, action: usize, index: ir::Expr, returns: &Type, span: Span) -> Lowered<Value> {
    let action = register_action(lowerer, action, span)?;
    let returned = lowerer.out.register_actions[action.index()].returned;
    let ty = returned.map(|slot| lowerer.out.slots[slot.index()].ty);
    let dst = ty.map(|ty| (lowerer.temp(ty), ty));
    let place = dst.map(|(slot, _)| Place::from(slot));
    lowerer.emit(StmtKind::Extern(ExternCall::ExecuteRegister { action, index, dst: place }));
    match dst {
        Some((slot, ty)) => Ok(scalar(slot, ty, span)),
        None if *returns == Type::Void => Ok(Value::Void),
        None => lowerer.default_value(returns, span),
    }
}

/// The action in the IR, created where it is first executed.
fn register_action(lowerer: &mut Lowerer<'_>, action: usize, span: Span) -> Lowered<RegisterActionId> {
    let new = &lowerer.tna.actions[action];
    if let Some(id) = new.lowered {
        return Ok(id);
    }
    let (name, register, apply) = (new.name.clone(), new.register, new.apply);
    let (value_ty, returns, at) = (new.value.clone(), new.returns.clone(), new.span);
    let class = Class::Local(lowerer.block);
    let value = lowerer.allocate(&value_ty, &format!("{name}.value"), class)?;
    let mut slots = Vec::new();
    flatten(&value, &mut slots);
    let mut places: Vec<Lvalue> = vec![value.into()];
    let mut returned = None;
    if lowerer.program.functions[apply.index()].params.len() > 1 {
        let storage = lowerer.allocate(&returns, &format!("{name}.rv"), class)?;
        let Storage::Scalar(slot) = &storage else {
            return lowerer.unsupported(span, "a `RegisterAction` that returns more than a number");
        };
        returned = Some(*slot);
        places.push(storage.into());
    }
    let body = lowerer.method_body(apply, places, at)?;
    let id = RegisterActionId(lowerer.out.register_actions.len() as u32);
    lowerer.out.register_actions.push(RegisterAction { name, register, value: slots, returned, body, span: at });
    lowerer.tna.actions[action].lowered = Some(id);
    Ok(id)
}

fn hash(lowerer: &mut Lowerer<'_>, algorithm: HashAlgorithm, data: Value, ty: Ty, span: Span) -> Lowered<Value> {
    if ty.width > MAX_HASH_BITS {
        return lowerer.unsupported(span, format!("a hash of more than {MAX_HASH_BITS} bits"));
    }
    let data = data::fields(lowerer, data, span)?;
    let base = fold::constant(&BigInt::ZERO, Ty::bits(64), span);
    let max = fold::constant(&(BigInt::from(1) << ty.width), Ty::bits(64), span);
    let dst = lowerer.temp(ty);
    lowerer.emit(StmtKind::Extern(ExternCall::Hash { dst: dst.into(), algorithm, base, data, max }));
    Ok(scalar(dst, ty, span))
}

/// `HashAlgorithm_t.IDENTITY`: the lowest bits of the data.
fn identity(lowerer: &mut Lowerer<'_>, data: Value, ty: Ty, span: Span) -> Lowered<Value> {
    let mut parts = Vec::new();
    data::scalars(lowerer, data, span, &mut parts)?;
    let all = parts.into_iter().map(|part| {
        let ty = Ty::bits(part.ty.width);
        fold::cast(part, ty, span)
    });
    match all.reduce(|high, low| fold::concat(high, low, false, span)) {
        Some(all) => Ok(Value::Scalar(fold::cast(all, ty, span))),
        None => lowerer.internal(span, "a hash of nothing"),
    }
}

/// The colour of a meter (0 green, 1 yellow, 2 red) in the program's encoding.
fn colour(slot: SlotId, [red, yellow, green]: [u8; 3], span: Span) -> Value {
    let ty = Ty::bits(8);
    let value = |colour: u8| fold::constant(&colour.into(), ty, span);
    let is = |number: u8| {
        let found = fold::load(slot, Ty::bits(32), span);
        fold::binary(BinaryOp::Eq, found, fold::constant(&number.into(), Ty::bits(32), span), span)
    };
    let rest = fold::mux(is(1), value(yellow), value(red), span);
    Value::Scalar(fold::mux(is(0), value(green), rest, span))
}

fn direct_meter(lowerer: &mut Lowerer<'_>, meter: MeterId, colours: [u8; 3], args: &Args<'_>) -> Lowered<Value> {
    let dst = lowerer.temp(Ty::bits(32));
    lowerer.emit(StmtKind::Extern(ExternCall::DirectMeterRead { meter, dst: dst.into() }));
    Ok(colour(dst, colours, args.span))
}

/// Methods of `Checksum`.
///
/// `verify` returns true on an error: that is what the parser writes, and what programs test.
fn checksum(lowerer: &mut Lowerer<'_>, sum: usize, method: &str, args: &Args<'_>) -> Lowered<Value> {
    let (ty, span) = (Ty::bits(16), args.span);
    match method {
        "add" | "subtract" => {
            let slot = sum_slot(lowerer, sum);
            let data = args.value(lowerer, 0)?;
            let data = data::fields(lowerer, data, span)?;
            let subtract = method == "subtract";
            lowerer.emit(StmtKind::Extern(ExternCall::ChecksumAdd { sum: slot.into(), data, subtract }));
            Ok(Value::Void)
        }
        "verify" => {
            let all_ones = fold::constant(&BigInt::from(-1), ty, span);
            let slot = sum_slot(lowerer, sum);
            Ok(Value::Scalar(fold::binary(BinaryOp::Ne, fold::load(slot, ty, span), all_ones, span)))
        }
        "get" => {
            let slot = sum_slot(lowerer, sum);
            Ok(scalar(slot, ty, span))
        }
        "update" => {
            let data = args.value(lowerer, 0)?;
            let value = hash(lowerer, HashAlgorithm::Csum16, data, ty, span)?;
            let zeros_as_ones = match args.args.get(1) {
                Some(Argument::Missing) | None => false,
                Some(_) => {
                    let given = args.value(lowerer, 1)?;
                    lowerer.known_number(&given, span)? != BigInt::ZERO
                }
            };
            match value {
                Value::Scalar(value) if zeros_as_ones => {
                    let zero = fold::constant(&BigInt::ZERO, ty, span);
                    let ones = fold::constant(&BigInt::from(-1), ty, span);
                    let is_zero = fold::binary(BinaryOp::Eq, value.clone(), zero, span);
                    Ok(Value::Scalar(fold::mux(is_zero, ones, value, span)))
                }
                value => Ok(value),
            }
        }
        other => lowerer.unsupported(span, format!("`{other}` of `Checksum`")),
    }
}

/// The slot of a checksum's sum in the current block.
fn sum_slot(lowerer: &mut Lowerer<'_>, sum: usize) -> SlotId {
    let block = lowerer.block;
    if let Some(slot) = lowerer.tna.sums[sum].get(&block) {
        return *slot;
    }
    let slot = lowerer.add_slot("$sum".to_string(), Ty::bits(16), Class::Local(block));
    lowerer.tna.sums[sum].insert(block, slot);
    slot
}

/// The header in front of a copy; empty if the call has none.
fn header(lowerer: &mut Lowerer<'_>, args: &Args<'_>, index: usize) -> Lowered<Vec<ir::DataField>> {
    match args.args.get(index) {
        None | Some(Argument::Missing) => Ok(Vec::new()),
        Some(_) => {
            let value = args.value(lowerer, index)?;
            data::fields(lowerer, value, args.span)
        }
    }
}
