// SPDX-License-Identifier: MIT OR Apache-2.0
//! Metadata that the switch looks up: aliases and field lists.

use crate::ast::{Annotation, AnnotationBody};
use crate::check::annotation_string;
use crate::lower::{Lowerer, Storage, flatten};
use crate::token::TokenKind;
use crate::types::Type;

/// Records the aliases and field lists of user metadata.
pub(super) fn record(lowerer: &mut Lowerer<'_>, ty: &Type, storage: &Storage) {
    walk(lowerer, ty, storage, &mut |lowerer, _, annotations, storage| {
        record_alias(lowerer, annotations, storage);
        for list in annotations.iter().filter(|annotation| &*annotation.name.name == "field_list") {
            record_field_list(lowerer, list, storage);
        }
    });
}

/// Records the fields of `standard_metadata_t` under their own names and under their aliases.
pub(super) fn record_standard(lowerer: &mut Lowerer<'_>, ty: &Type, storage: &Storage) {
    walk(lowerer, ty, storage, &mut |lowerer, name, annotations, storage| {
        if let Storage::Scalar(slot) = storage {
            lowerer.out.intrinsics.push((format!("standard_metadata.{name}"), *slot));
        }
        record_alias(lowerer, annotations, storage);
    });
}

type Visit<'v> = dyn FnMut(&mut Lowerer<'_>, &str, &[Annotation], &Storage) + 'v;

/// Visits all fields of a struct, including those of nested structs.
fn walk(lowerer: &mut Lowerer<'_>, ty: &Type, storage: &Storage, visit: &mut Visit<'_>) {
    let (Type::Fields(id, args), Storage::Struct(parts)) = (ty, storage) else { return };
    let program = lowerer.program;
    for (index, (field, part)) in program.fields(*id).fields.iter().zip(parts.iter()).enumerate() {
        visit(lowerer, &field.name, &field.annotations, part);
        walk(lowerer, &program.field_type(*id, args, index), part, visit);
    }
}

fn record_alias(lowerer: &mut Lowerer<'_>, annotations: &[Annotation], storage: &Storage) {
    if let (Some(alias), Storage::Scalar(slot)) = (annotation_string(annotations, "alias"), storage) {
        lowerer.out.intrinsics.push((alias, *slot));
    }
}

/// `@field_list(n, ...)`
fn record_field_list(lowerer: &mut Lowerer<'_>, annotation: &Annotation, storage: &Storage) {
    let AnnotationBody::Tokens(tokens) = &annotation.body else { return };
    let mut slots = Vec::new();
    flatten(storage, &mut slots);
    for token in tokens {
        let TokenKind::Int(literal) = &token.kind else { continue };
        let name = format!("@field_list({})", literal.value);
        lowerer.out.intrinsics.extend(slots.iter().map(|slot| (name.clone(), *slot)));
    }
}
