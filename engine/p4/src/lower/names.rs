// SPDX-License-Identifier: MIT OR Apache-2.0
//! Control-plane names (spec section 18.3; P4Runtime).

use crate::ast::{Annotation, AnnotationBody};
use crate::check;
use crate::ir;

/// The name of a declaration inside `path`: its own, or that of its `@name`, which is global if it begins with a dot.
pub(crate) fn control_plane(path: &str, own: &str, annotations: &[Annotation]) -> String {
    let given = check::annotation_string(annotations, "name");
    let name = given.as_deref().unwrap_or(own);
    match name.strip_prefix('.') {
        Some(global) => global.to_string(),
        None if path.is_empty() => name.to_string(),
        None => format!("{path}.{name}"),
    }
}

/// Annotations for the IR, as text. `@name` has already been applied.
pub(crate) fn annotations(annotations: &[Annotation]) -> Vec<ir::Annotation> {
    annotations
        .iter()
        .filter(|annotation| &*annotation.name.name != "name")
        .map(|annotation| ir::Annotation { name: annotation.name.name.to_string(), body: body(annotation) })
        .collect()
}

/// The text of an annotation, with a blank between two words.
fn body(annotation: &Annotation) -> String {
    let AnnotationBody::Tokens(tokens) = &annotation.body else { return String::new() };
    let mut text = String::new();
    for token in tokens {
        let next = token.kind.to_string();
        let word = |c: char| c.is_alphanumeric() || c == '_';
        if text.ends_with(word) && next.starts_with(word) {
            text.push(' ');
        }
        text.push_str(&next);
    }
    text
}

/// Whether an annotation is present.
pub(crate) fn has(annotations: &[Annotation], name: &str) -> bool {
    annotations.iter().any(|annotation| &*annotation.name.name == name)
}
