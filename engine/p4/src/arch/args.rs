// SPDX-License-Identifier: MIT OR Apache-2.0
//! Arguments and results of extern calls, for all architectures.

use num_bigint::BigInt;

use crate::diagnostics::Problem;
use crate::externs::Handle;
use crate::ir::{self, ExprKind, ExternCall, Place, StmtKind, Ty};
use crate::lower::{Argument, Lowered, Lowerer, Lvalue, NewExtern, Object, Storage, Value};
use crate::source::Span;

/// Arguments of a call, taken by position.
pub(super) struct Args<'a> {
    pub(super) args: &'a [Argument],
    pub(super) span: Span,
}

impl Args<'_> {
    pub(super) fn value(&self, lowerer: &mut Lowerer<'_>, index: usize) -> Lowered<Value> {
        match self.args.get(index) {
            Some(Argument::Value(value)) => Ok(value.clone()),
            Some(Argument::Place(place)) => lowerer.read(&place.clone(), self.span),
            _ => lowerer.internal(self.span, "an argument is missing"),
        }
    }

    /// A scalar argument. A number without a width becomes `bit<64>`, the width in which BMv2 calculates.
    pub(super) fn scalar(&self, lowerer: &mut Lowerer<'_>, index: usize) -> Lowered<ir::Expr> {
        let value = self.value(lowerer, index)?;
        lowerer.scalar_of(value, Ty::bits(64), self.span)
    }

    pub(super) fn place(&self, lowerer: &mut Lowerer<'_>, index: usize) -> Lowered<Lvalue> {
        match self.args.get(index) {
            Some(Argument::Place(place)) => Ok(place.clone()),
            _ => lowerer.internal(self.span, "a place is missing"),
        }
    }

    pub(super) fn member(&self, lowerer: &mut Lowerer<'_>, index: usize, name: &str) -> Lowered<String> {
        let value = self.value(lowerer, index)?;
        match enum_member(lowerer, Some(&value), name) {
            Some(member) => Ok(member),
            None => lowerer.fail(self.span, Problem::NotConstant {}),
        }
    }

    pub(super) fn number(&self, lowerer: &mut Lowerer<'_>, index: usize) -> Lowered<u32> {
        let value = self.value(lowerer, index)?;
        let number = lowerer.known_number(&value, self.span)?;
        match u32::try_from(&number) {
            Ok(number) => Ok(number),
            Err(_) => lowerer.internal(self.span, "a small number was expected"),
        }
    }
}

/// Makes a call write its scalar result to a place: directly if the place is a slot of that type, otherwise through a
/// temporary. The temporary starts with the value of the place, since a call may leave its result unchanged.
pub(super) fn with_result(
    lowerer: &mut Lowerer<'_>,
    result: &Lvalue,
    ty: Ty,
    span: Span,
    call: impl FnOnce(Place) -> ExternCall,
) -> Lowered<()> {
    if let Lvalue::Storage(Storage::Scalar(slot), index) = result
        && lowerer.out.slots[slot.index()].ty == ty
    {
        let place = Place { slot: *slot, index: index.clone() };
        lowerer.emit(StmtKind::Extern(call(place)));
        return Ok(());
    }
    let temp = lowerer.temp(ty);
    if !matches!(result, Lvalue::Ignore)
        && let Value::Scalar(old) = lowerer.read(result, span)?
    {
        let src = lowerer.cast_to(old, ty, span);
        lowerer.emit(StmtKind::Assign { dst: temp.into(), src });
    }
    lowerer.emit(StmtKind::Extern(call(temp.into())));
    let new = ir::Expr { kind: ExprKind::Load(temp.into()), ty, span };
    let to = result_type(lowerer, result, ty, span)?;
    let new = lowerer.cast_to(new, to, span);
    lowerer.store(result, Value::Scalar(new), span)
}

/// The scalar type of a place.
pub(super) fn result_type(lowerer: &mut Lowerer<'_>, place: &Lvalue, default: Ty, span: Span) -> Lowered<Ty> {
    if matches!(place, Lvalue::Ignore) {
        return Ok(default);
    }
    match lowerer.read(place, span)? {
        Value::Scalar(expr) => Ok(expr.ty),
        _ => lowerer.internal(span, "a scalar place was expected"),
    }
}

/// A number of cells.
pub(super) fn size(lowerer: &mut Lowerer<'_>, new: &NewExtern<'_>, arg: usize) -> Lowered<u64> {
    let Some(Some(value)) = new.args.get(arg).cloned() else {
        return lowerer.internal(new.span, "a size was expected");
    };
    let number = lowerer.known_number(&value, new.span)?;
    match u64::try_from(&number) {
        Ok(size) => Ok(size),
        Err(_) => lowerer.fail(new.span, Problem::SizeNotPositive {}),
    }
}

/// The name of the enum member that is given as a value.
pub(super) fn enum_member(lowerer: &Lowerer<'_>, value: Option<&Value>, name: &str) -> Option<String> {
    let Value::Scalar(expr) = value? else { return None };
    let number: BigInt = lowerer.number_of(expr)?;
    let decl = lowerer.program.enums.iter().find(|decl| &*decl.name == name)?;
    let member = decl.members.iter().find(|member| member.value == number)?;
    Some(member.name.to_string())
}

/// An argument that is an extern object.
pub(super) fn object(new: &NewExtern<'_>, arg: usize) -> Option<Handle> {
    match new.args.get(arg)?.as_ref()? {
        Value::Object(Object::Extern(object)) => Some(object.handle.clone()),
        _ => None,
    }
}

/// An argument that is a number and fits into `T`.
pub(super) fn number<T: TryFrom<BigInt>>(lowerer: &mut Lowerer<'_>, new: &NewExtern<'_>, arg: usize) -> Lowered<T> {
    let Some(Some(value)) = new.args.get(arg).cloned() else {
        return lowerer.internal(new.span, "a number was expected");
    };
    let number = lowerer.known_number(&value, new.span)?;
    match T::try_from(number.clone()) {
        Ok(number) => Ok(number),
        Err(_) => lowerer.unsupported(new.span, format!("the number {number} here")),
    }
}
