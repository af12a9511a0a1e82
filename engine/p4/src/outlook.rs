// SPDX-License-Identifier: MIT OR Apache-2.0
//! What lies behind a name that is not known (yet): advice for messages, nothing that decides.

use crate::source::Span;
use crate::token::{Token, TokenKind};

/// What `core.p4` and `v1model.p4` declare and nearly every program uses.
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

/// What to do about a missing name of the architecture, if it is one.
pub(crate) fn missing_include(name: &str) -> Option<&'static str> {
    STANDARD.contains(&name).then_some("begin the program with `#include <core.p4>` and `#include <v1model.p4>`")
}

/// Whether a declaration of the program, and nothing inside of one, begins so.
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

/// Where the name used at `place` is declared too late: behind its use, but where it could be seen from there.
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
