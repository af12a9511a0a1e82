// SPDX-License-Identifier: MIT OR Apache-2.0
//! Data lists of hashes, checksums, digests and log messages.

use crate::diagnostics::Problem;
use crate::ir::{self, DataField, ExprKind, HeaderRef, Place, Ty};
use crate::lower::{Lowered, Lowerer, Value};
use crate::source::Span;

/// The scalars of a value, in order.
pub(in crate::arch) fn scalars(
    lowerer: &mut Lowerer<'_>,
    value: Value,
    span: Span,
    to: &mut Vec<ir::Expr>,
) -> Lowered<()> {
    match value {
        Value::Scalar(expr) => to.push(expr),
        Value::Varbit(place, width) => {
            to.push(ir::Expr { kind: ExprKind::Load(place), ty: Ty::bits(width), span });
        }
        Value::Struct(parts) | Value::Union(parts) | Value::List(parts) => {
            for part in parts {
                scalars(lowerer, part, span, to)?;
            }
        }
        Value::Header { fields, .. } => {
            for field in fields {
                scalars(lowerer, field, span, to)?;
            }
        }
        Value::Stack { elements, .. } => {
            for element in elements {
                scalars(lowerer, element, span, to)?;
            }
        }
        Value::Int(_) => return lowerer.fail(span, Problem::NoWidth {}),
        Value::String(_) | Value::Object(_) | Value::Void => {
            return lowerer.internal(span, "this cannot be part of a data list");
        }
    }
    Ok(())
}

/// The input of a hash or checksum, each value with the header that it is a field of.
pub(in crate::arch) fn fields(lowerer: &mut Lowerer<'_>, value: Value, span: Span) -> Lowered<Vec<DataField>> {
    let mut exprs = Vec::new();
    scalars(lowerer, value, span, &mut exprs)?;
    let fields = exprs.into_iter().map(|expr| {
        let header = match &expr.kind {
            ExprKind::Load(place) => header_of(lowerer, place),
            _ => None,
        };
        DataField { expr, header }
    });
    Ok(fields.collect())
}

/// The header that a place is a field of.
pub(in crate::arch) fn header_of(lowerer: &Lowerer<'_>, place: &Place) -> Option<HeaderRef> {
    let header = *lowerer.slot_headers.get(&place.slot)?;
    Some(HeaderRef { header, index: place.index.clone() })
}
