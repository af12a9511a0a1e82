// SPDX-License-Identifier: MIT OR Apache-2.0
//! The core library (spec appendix D): `packet_in`, `packet_out`, `verify`.

use crate::externs::CoreHandle;
use crate::ir::{self, ExprKind, StmtKind, Ty};
use crate::lower::{Argument, Lowered, Lowerer, Lvalue, Storage, Value};
use crate::source::Span;
use crate::typed::{Arg, Call, Expr, ExprKind as TypedKind, Function};
use crate::types::Type;

pub(crate) fn call_method(
    lowerer: &mut Lowerer<'_>,
    handle: CoreHandle,
    method: &Function,
    call: &Call,
    returns: &Type,
    span: Span,
) -> Lowered<Value> {
    let first = match call.args.iter().find(|(place, _)| *place == 0) {
        Some((_, Arg::Expr(expr))) => Some(expr),
        _ => None,
    };
    match (handle, &*method.name) {
        (CoreHandle::PacketOut, "emit") => {
            if let Some(expr) = first {
                emit(lowerer, expr, span)?;
            }
            return Ok(Value::Void);
        }
        (CoreHandle::PacketIn, "lookahead") => {
            let ty = lowerer.concrete(returns);
            let mut offset = 0;
            let value = lookahead(lowerer, &ty, &mut offset, span)?;
            if !matches!(value, Value::Scalar(_)) && offset > 0 {
                check_length(lowerer, offset, span);
            }
            return Ok(value);
        }
        (CoreHandle::PacketIn, "length") => {
            return Ok(Value::Scalar(ir::Expr { kind: ExprKind::PacketLength, ty: Ty::bits(32), span }));
        }
        _ => {}
    }
    lowerer.extracting = &*method.name == "extract";
    let args = lowerer.extern_args(&method.params, &call.args);
    lowerer.extracting = false;
    let mut args = args?.into_iter();
    match (&*method.name, args.next(), args.next()) {
        ("extract", Some(Argument::Place(place)), size) => {
            let varbit_width = match size {
                Some(Argument::Value(size)) => Some(lowerer.scalar_of(size, Ty::bits(32), span)?),
                _ => None,
            };
            extract(lowerer, call, first, place, varbit_width, span)?;
        }
        ("advance", Some(Argument::Value(bits)), _) => {
            let bits = lowerer.scalar_of(bits, Ty::bits(32), span)?;
            lowerer.emit(StmtKind::Advance(bits));
        }
        (name, ..) => return lowerer.unsupported(span, format!("method `{name}` of the packet")),
    }
    Ok(Value::Void)
}

/// `verify`; `None` for functions that the core library does not have.
pub(crate) fn call_function(
    lowerer: &mut Lowerer<'_>,
    name: &str,
    args: &[Argument],
    span: Span,
) -> Lowered<Option<Value>> {
    match (name, args) {
        ("verify", [Argument::Value(cond), Argument::Value(error)]) => {
            let cond = lowerer.scalar_of(cond.clone(), Ty::BOOL, span)?;
            let error = lowerer.scalar_of(error.clone(), Ty::bits(32), span)?;
            lowerer.emit(StmtKind::Verify { cond, error });
            Ok(Some(Value::Void))
        }
        ("static_assert", [Argument::Value(check), ..]) => Ok(Some(check.clone())),
        _ => Ok(None),
    }
}

/// `extract(hdr)`, `extract(stack.next)`, `extract(unions.next.member)`
fn extract(
    lowerer: &mut Lowerer<'_>,
    call: &Call,
    target: Option<&Expr>,
    place: Lvalue,
    varbit_width: Option<ir::Expr>,
    span: Span,
) -> Lowered<()> {
    let stack = match target.map(|expr| &expr.kind) {
        Some(TypedKind::Next(stack)) => Some(&**stack),
        Some(TypedKind::Field(of, _)) => match &of.kind {
            TypedKind::Next(stack) => Some(&**stack),
            _ => None,
        },
        _ => None,
    };
    if let Some(stack) = stack {
        let stack = lowerer.place(stack)?;
        if let Lvalue::Storage(Storage::Stack(storage), None) = &stack
            && let Some(id) = storage.id
        {
            lowerer.emit(StmtKind::ExtractNext { stack: id, varbit_width });
            return Ok(());
        }
        return extract_next(lowerer, &stack, &place, varbit_width, span);
    }
    let place = match place {
        Lvalue::Ignore => {
            let ty = call.type_args.first().cloned().unwrap_or(Type::Poison);
            lowerer.temp_storage(&ty)?.into()
        }
        place => place,
    };
    lowerer.extract_to(&place, varbit_width, span)
}

/// Extracts a member of the next element of a stack of unions, with the checks that the IR makes for plain stacks.
fn extract_next(
    lowerer: &mut Lowerer<'_>,
    stack: &Lvalue,
    member: &Lvalue,
    varbit_width: Option<ir::Expr>,
    span: Span,
) -> Lowered<()> {
    lowerer.verify_next(stack, span)?;
    lowerer.extract_to(member, varbit_width, span)?;
    lowerer.advance_next(stack, span)
}

/// Reads the last of the next `bits` bits: the packet must hold the whole struct, even if only its first field is used.
fn check_length(lowerer: &mut Lowerer<'_>, bits: u32, span: Span) {
    let src = ir::Expr { kind: ExprKind::Lookahead { offset: bits - 1 }, ty: Ty::bits(1), span };
    let dst = lowerer.temp(Ty::bits(1)).into();
    lowerer.emit(StmtKind::Assign { dst, src });
}

/// A value read from the packet's next bits, part by part.
pub(super) fn lookahead(lowerer: &mut Lowerer<'_>, ty: &Type, offset: &mut u32, span: Span) -> Lowered<Value> {
    if let Some(scalar) = lowerer.scalar_ty(ty) {
        let unsigned = Ty::bits(scalar.width);
        let read = ir::Expr { kind: ExprKind::Lookahead { offset: *offset }, ty: unsigned, span };
        *offset += scalar.width;
        let value = match scalar == unsigned {
            true => read,
            false => ir::Expr { kind: ExprKind::Cast(Box::new(read)), ty: scalar, span },
        };
        return Ok(Value::Scalar(value));
    }
    let parts = lowerer.part_types(ty);
    if parts.is_empty() && !matches!(ty, Type::Fields(..)) {
        let what = format!("`lookahead` of `{}`", lowerer.show(ty));
        return lowerer.unsupported(span, what);
    }
    let values = parts.iter().map(|part| lookahead(lowerer, part, offset, span)).collect::<Lowered<Vec<_>>>()?;
    Ok(lowerer.assemble(ty, values, true, span))
}

/// `emit(value)`: every header in it, in order.
fn emit(lowerer: &mut Lowerer<'_>, value: &Expr, span: Span) -> Lowered<()> {
    if let TypedKind::Aggregate(parts) = &value.kind {
        return parts.iter().try_for_each(|part| emit(lowerer, part, span));
    }
    let place = match lowerer.is_place(value) {
        true => lowerer.place(value)?,
        false => {
            let place = Lvalue::from(lowerer.temp_storage(&value.ty)?);
            let value = lowerer.expr(value)?;
            lowerer.store(&place, value, span)?;
            place
        }
    };
    match &place {
        Lvalue::Storage(storage, None) => emit_storage(lowerer, storage, span),
        _ => lowerer.unsupported(span, "`emit` of an element with a run-time index"),
    }
}

fn emit_storage(lowerer: &mut Lowerer<'_>, storage: &Storage, span: Span) -> Lowered<()> {
    match storage {
        Storage::Header(header) => {
            lowerer.emit(StmtKind::Emit(header.id));
            Ok(())
        }
        Storage::Struct(parts) | Storage::Union(parts) => {
            parts.iter().try_for_each(|part| emit_storage(lowerer, part, span))
        }
        Storage::Stack(stack) => stack.elements.iter().try_for_each(|part| emit_storage(lowerer, part, span)),
        Storage::Scalar(_) | Storage::Varbit(_) => lowerer.internal(span, "only headers are emitted"),
    }
}
