// SPDX-License-Identifier: MIT OR Apache-2.0
//! Annotations (spec section 20): those that the checker uses, and the rules for structured ones.

use crate::ast::{Annotation, AnnotationBody};
use crate::diagnostics::Problem;
use crate::token::{Token, TokenKind};
use crate::types::Type;

use super::Checker;

impl Checker<'_> {
    /// Checks the annotations of one declaration.
    pub(super) fn annotations(&mut self, annotations: &[Annotation]) {
        for (index, annotation) in annotations.iter().enumerate() {
            let is_structured = |annotation: &Annotation| !matches!(annotation.body, AnnotationBody::Tokens(_));
            let same = annotations[..index].iter().find(|other| other.name.name == annotation.name.name);
            if let Some(first) = same
                && (is_structured(first) || is_structured(annotation))
            {
                let problem = Problem::DuplicateAnnotation { name: annotation.name.name.clone() };
                self.diagnostics.error(annotation.span, problem).label(first.span, "first given here");
            }
            match &annotation.body {
                AnnotationBody::Tokens(_) => self.known_annotation(annotation),
                AnnotationBody::Expressions(values) => values.iter().for_each(|value| self.annotation_value(value)),
                AnnotationBody::KeyValues(pairs) => {
                    for (place, (key, value)) in pairs.iter().enumerate() {
                        if pairs[..place].iter().any(|(other, _)| other.name == key.name) {
                            self.error(key.span, Problem::DuplicateField { field: key.name.clone() });
                        }
                        self.annotation_value(value);
                    }
                }
            }
        }
    }

    fn annotation_value(&mut self, value: &crate::ast::Expr) {
        let value = self.expr(value);
        let simple = matches!(value.ty, Type::Int | Type::String | Type::Bool | Type::Poison);
        if !simple || !self.is_known(&value) {
            let problem = Problem::AnnotationValue { ty: self.show(&value.ty) };
            self.error(value.span, problem);
        }
    }

    /// Checks the contents of annotations that have a fixed meaning.
    fn known_annotation(&mut self, annotation: &Annotation) {
        let AnnotationBody::Tokens(tokens) = &annotation.body else { return };
        let name = &annotation.name.name;
        let problem = match (&**name, &tokens[..]) {
            ("name" | "deprecated" | "noWarn", _) if name_text(annotation).is_none() => {
                Problem::AnnotationString { name: name.clone() }
            }
            ("match", [Token { kind: TokenKind::Ident(kind), .. }]) if self.program.match_kinds.contains(kind) => {
                return;
            }
            ("match", _) => Problem::AnnotationMatchKind {},
            ("pkginfo", [_, Token { kind: TokenKind::Assign, .. }, ..]) => return,
            ("pkginfo", _) => Problem::AnnotationPairs { name: name.clone() },
            ("p4runtime_translation", _) => {
                let Some(fault) = translation_fault(tokens) else { return };
                let span = tokens.get(fault).map_or(annotation.span, |token| token.span);
                return self.error(span, Problem::AnnotationTranslation {});
            }
            _ => return,
        };
        self.error(annotation.span, problem);
    }
}

/// Index of the first wrong or missing token in `@p4runtime_translation("uri", string)`, `(..., bit<W>)` or `(..., W)`.
fn translation_fault(tokens: &[Token]) -> Option<usize> {
    let length = if matches!(tokens.get(2), Some(Token { kind: TokenKind::Bit, .. })) { 6 } else { 3 };
    let fits = |(place, token): &(usize, &Token)| match &token.kind {
        TokenKind::Str(_) => *place == 0,
        TokenKind::Comma => *place == 1,
        TokenKind::String_ | TokenKind::Bit => *place == 2,
        TokenKind::Lt => *place == 3,
        TokenKind::Int(_) => matches!(place, 2 | 4),
        TokenKind::Gt => *place == 5,
        _ => false,
    };
    let right = tokens.iter().take(length).enumerate().take_while(fits).count();
    (right < length.max(tokens.len())).then_some(right)
}

/// The text of `@name("text")`, including parts joined with `++`.
fn name_text(annotation: &Annotation) -> Option<String> {
    let AnnotationBody::Tokens(tokens) = &annotation.body else { return None };
    let mut text = String::new();
    for (index, token) in tokens.iter().enumerate() {
        match (&token.kind, index % 2) {
            (TokenKind::Str(part), 0) => text.push_str(part),
            (TokenKind::Concat, 1) => {}
            _ => return None,
        }
    }
    (tokens.len() % 2 == 1).then_some(text)
}

/// The string of an annotation, if the annotation is present and has one.
pub(crate) fn string(annotations: &[Annotation], name: &str) -> Option<String> {
    annotations.iter().rev().find(|annotation| &*annotation.name.name == name).and_then(name_text)
}
