// SPDX-License-Identifier: MIT OR Apache-2.0
//! Properties of tables that name extern objects.

use crate::diagnostics::Problem;
use crate::externs::{Handle, TableProperties};
use crate::lower::{Lowered, Lowerer, Object, Value};
use crate::source::Span;
use crate::typed::{self, ExprKind, Property};

/// Records the property `size`; returns whether the property is `size`.
pub(super) fn size(lowerer: &mut Lowerer<'_>, property: &Property, properties: &mut TableProperties) -> Lowered<bool> {
    if &*property.name != "size" {
        return Ok(false);
    }
    let value = lowerer.expr(&property.value)?;
    let number = lowerer.known_number(&value, property.span)?;
    properties.size = u64::try_from(&number).ok();
    if properties.size.is_none() {
        return lowerer.fail(property.value.span, Problem::SizeNotPositive {});
    }
    Ok(true)
}

pub(super) fn wrong_object<T>(lowerer: &mut Lowerer<'_>, property: &Property, wanted: &'static str) -> Lowered<T> {
    let problem = Problem::PropertyObject { name: property.name.clone(), wanted };
    lowerer.fail(property.value.span, problem)
}

/// The object that a property names or creates; a nameless object is named after its table.
pub(super) fn object(lowerer: &mut Lowerer<'_>, value: &typed::Expr, table: &str) -> Lowered<Option<Handle>> {
    let span: Span = value.span;
    let object = match &value.kind {
        ExprKind::Construct(construct) => lowerer.construct(construct, &value.ty, table, &[], &[], span)?,
        _ => match lowerer.expr(value)? {
            Value::Object(object) => object,
            _ => return Ok(None),
        },
    };
    match object {
        Object::Extern(object) => Ok(Some(object.handle.clone())),
        _ => Ok(None),
    }
}
