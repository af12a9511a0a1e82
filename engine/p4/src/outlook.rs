// SPDX-License-Identifier: MIT OR Apache-2.0
//! Advice for messages about unknown names. It does not affect the compilation.

use crate::source::Span;
use crate::token::{Token, TokenKind};

/// Names that `core.p4` and `v1model.p4` declare and nearly every program uses.
const STANDARD: &[&str] = &[
    "action_profile",
    "action_selector",
    "counter",
    "CounterType",
    "direct_counter",
    "direct_meter",
    "HashAlgorithm",
    "mark_to_drop",
    "meter",
    "MeterType",
    "NoAction",
    "packet_in",
    "packet_out",
    "register",
    "standard_metadata_t",
    "update_checksum",
    "V1Switch",
    "verify_checksum",
];

/// Advice for an unknown name, if the architecture declares it.
pub(crate) fn missing_include(name: &str) -> Option<&'static str> {
    STANDARD.contains(&name).then_some("begin the program with `#include <core.p4>` and `#include <v1model.p4>`")
}

/// Whether the token begins a top-level declaration and cannot occur inside one.
pub(crate) fn only_at_top_level(kind: &TokenKind) -> bool {
    matches!(
        kind,
        TokenKind::Control
            | TokenKind::Extern
            | TokenKind::Header
            | TokenKind::HeaderUnion
            | TokenKind::Package
            | TokenKind::Parser
            | TokenKind::Struct
            | TokenKind::Typedef
    )
}

/// Position of a declaration that comes after the use of its name at `place`, in a scope that is visible there.
pub(crate) fn declared_later(tokens: &[Token], place: Span, name: &str) -> Option<Span> {
    let start = tokens.iter().position(|token| token.span == place)?;
    let (mut depth, mut outermost) = (0, 0);
    for pair in tokens[start..].windows(2) {
        match &pair[0].kind {
            TokenKind::LBrace => depth += 1,
            TokenKind::RBrace => depth -= 1,
            _ => {}
        }
        outermost = outermost.min(depth);
        let declares = only_at_top_level(&pair[0].kind)
            || matches!(pair[0].kind, TokenKind::Action | TokenKind::Table | TokenKind::Enum);
        if declares && depth == outermost && pair[1].kind == TokenKind::Ident(name.into()) {
            return Some(pair[1].span);
        }
    }
    None
}
