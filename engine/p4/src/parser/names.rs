// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which names are types, by scope.

use rustc_hash::FxHashMap;

use crate::token::{Name, TokenKind};

/// Kind of a name, as far as the grammar needs it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum NameKind {
    /// A type, type parameter, parser, control, package or extern object.
    Type,
    /// Anything else.
    Object,
}

/// Scopes, innermost last.
#[derive(Debug)]
pub(super) struct Names {
    scopes: Vec<FxHashMap<Name, NameKind>>,
}

impl Names {
    pub(super) fn new() -> Names {
        Names { scopes: vec![FxHashMap::default()] }
    }

    pub(super) fn push(&mut self) {
        self.scopes.push(FxHashMap::default());
    }

    pub(super) fn pop(&mut self) {
        self.scopes.pop();
    }

    pub(super) fn depth(&self) -> usize {
        self.scopes.len()
    }

    /// Closes scopes that a broken production left open.
    pub(super) fn truncate(&mut self, depth: usize) {
        self.scopes.truncate(depth);
    }

    pub(super) fn declare(&mut self, name: &Name, kind: NameKind) {
        self.scopes.last_mut().expect("the top level is never left").insert(name.clone(), kind);
    }

    pub(super) fn is_type(&self, name: &str, absolute: bool) -> bool {
        let scopes = if absolute { &self.scopes[..1] } else { &self.scopes[..] };
        scopes.iter().rev().find_map(|scope| scope.get(name)) == Some(&NameKind::Type)
    }
}

/// Keywords that may also be names, but not of types (`nonTypeName` of the grammar).
pub(super) fn soft_keyword(kind: &TokenKind) -> Option<&'static str> {
    match kind {
        TokenKind::Actions
        | TokenKind::Apply
        | TokenKind::Entries
        | TokenKind::Key
        | TokenKind::Priority
        | TokenKind::State
        | TokenKind::Type => kind.keyword_text(),
        _ => None,
    }
}

/// Keywords that begin a declaration and nothing else: a broken declaration ends before them.
pub(super) fn starts_declaration(kind: &TokenKind) -> bool {
    matches!(
        kind,
        TokenKind::Action
            | TokenKind::Const
            | TokenKind::Control
            | TokenKind::Enum
            | TokenKind::Extern
            | TokenKind::Header
            | TokenKind::HeaderUnion
            | TokenKind::Package
            | TokenKind::Parser
            | TokenKind::Struct
            | TokenKind::Table
            | TokenKind::Typedef
    )
}
