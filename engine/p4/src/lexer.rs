// SPDX-License-Identifier: MIT OR Apache-2.0
//! From preprocessing tokens to tokens of P4_16 (spec section 6.2).
//!
//! The preprocessor splits text into tokens, because it must know line splices and directives; a lexer for plain text
//! such as logos would repeat that work. What remains are keywords, numbers and the line structure of `@pragma`.

use std::rc::Rc;

use num_bigint::BigInt;

use crate::diagnostics::{Diagnostics, Problem};
use crate::preprocess::lex::{PpKind, PpToken};
use crate::source::Span;
use crate::token::{IntLiteral, Name, Token, TokenKind};

/// Largest width of a literal's type.
pub(crate) const MAX_WIDTH: u32 = 65_536;
/// Maximum number of digits of a literal: conversion takes quadratic time.
const MAX_DIGITS: usize = 20_000;

/// Turns preprocessed text into tokens, the last of which is [`TokenKind::Eof`].
pub(crate) fn lex(input: &[PpToken], diagnostics: &mut Diagnostics) -> Vec<Token> {
    let mut tokens = Vec::with_capacity(input.len() + 1);
    let mut in_pragma = false;
    let mut index = 0;
    while let Some(token) = input.get(index) {
        index += 1;
        if token.first && in_pragma {
            in_pragma = false;
            tokens.push(Token { kind: TokenKind::PragmaEnd, span: start_of(token.span), first: false });
        }
        let kind = match token.kind {
            PpKind::Newline => continue,
            PpKind::Number => {
                number(token, &mut tokens, diagnostics);
                continue;
            }
            PpKind::Ident => TokenKind::keyword(&token.text).unwrap_or_else(|| TokenKind::Ident(token.text.clone())),
            PpKind::Str => TokenKind::Str(unescape(&token.text)),
            PpKind::Other => TokenKind::Unknown(token.text.clone()),
            PpKind::Punct => match input.get(index) {
                Some(next) if token.is("@") && !next.space && &*next.text == "pragma" => {
                    index += 1;
                    in_pragma = true;
                    TokenKind::Pragma
                }
                Some(next) if token.is(">") && !next.space && !next.first && next.text.starts_with('>') => {
                    TokenKind::GtJoint
                }
                _ => TokenKind::mark(&token.text).unwrap_or_else(|| TokenKind::Unknown(token.text.clone())),
            },
        };
        tokens.push(Token { kind, span: token.span, first: token.first });
    }
    let end = input.last().map(|last| Span { start: last.span.end, ..last.span }).unwrap_or_default();
    if in_pragma {
        tokens.push(Token { kind: TokenKind::PragmaEnd, span: end, first: false });
    }
    tokens.push(Token { kind: TokenKind::Eof, span: end, first: true });
    tokens
}

fn start_of(span: Span) -> Span {
    Span { end: span.start, ..span }
}

/// The contents of a string literal; `\"` and `\\` are its escapes (6.4.3.3), others stay as they are.
fn unescape(literal: &str) -> Name {
    let inner = literal.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap_or(literal);
    if !inner.contains('\\') {
        return inner.into();
    }
    let mut text = String::with_capacity(inner.len());
    let mut chars = inner.chars();
    while let Some(c) = chars.next() {
        match (c, chars.clone().next()) {
            ('\\', Some(escaped @ ('"' | '\\'))) => {
                chars.next();
                text.push(escaped);
            }
            _ => text.push(c),
        }
    }
    text.into()
}

/// Splits a preprocessing number, which may contain several tokens: `0..5` is three.
fn number(token: &PpToken, tokens: &mut Vec<Token>, diagnostics: &mut Diagnostics) {
    let text = &*token.text;
    let mut at = 0;
    while at < text.len() {
        let rest = &text[at..];
        let piece = piece(rest);
        // A token with a line splice is longer in the file than its text; then all pieces get the range of the token.
        let exact = token.span.end - token.span.start == text.len() as u32;
        let span = match exact {
            true => Span {
                start: token.span.start + at as u32,
                end: token.span.start + (at + piece.len()) as u32,
                ..token.span
            },
            false => token.span,
        };
        at += piece.len();
        let kind = match piece.as_bytes()[0] {
            b'0'..=b'9' => TokenKind::Int(Rc::new(literal(piece, span, diagnostics))),
            b'.' => TokenKind::mark(piece).expect("one to three dots are marks"),
            _ => TokenKind::keyword(piece).unwrap_or_else(|| TokenKind::Ident(piece.into())),
        };
        tokens.push(Token { kind, span, first: token.first && at == piece.len() });
    }
}

/// The longest token at the start of a preprocessing number.
fn piece(text: &str) -> &str {
    let run = |start: usize, accept: fn(&u8) -> bool| {
        start + text.as_bytes()[start..].iter().take_while(|byte| accept(byte)).count()
    };
    let end = match text.as_bytes()[0] {
        b'.' => run(0, |byte| *byte == b'.').min(3),
        b'0'..=b'9' => {
            // Either `digits`, or `width`, `w` or `s`, `digits`; the digits may begin with a base.
            let plain = digits_end(text, 0);
            let width = run(0, u8::is_ascii_digit);
            match text.as_bytes().get(width) {
                Some(b'w' | b's') if text.as_bytes().get(width + 1).is_some_and(u8::is_ascii_digit) => {
                    digits_end(text, width + 1)
                }
                Some(b'w' | b's') if text.as_bytes().get(width + 1) == Some(&b'_') => digits_end(text, width + 1),
                _ => plain,
            }
        }
        _ => run(0, |byte| byte.is_ascii_alphanumeric() || *byte == b'_'),
    };
    &text[..end]
}

/// The end of the digits that start at `at`.
fn digits_end(text: &str, at: usize) -> usize {
    let bytes = text.as_bytes();
    let run = |start: usize, radix: u32| {
        let digit = |byte: &u8| *byte == b'_' || char::from(*byte).is_digit(radix);
        start + bytes[start..].iter().take_while(|byte| digit(byte)).count()
    };
    if bytes[at] == b'0'
        && let Some(radix) = bytes.get(at + 1).and_then(|&base| radix(base))
    {
        let end = run(at + 2, radix);
        if end > at + 2 {
            return end;
        }
    }
    run(at, 10)
}

fn radix(base: u8) -> Option<u32> {
    match base.to_ascii_lowercase() {
        b'x' => Some(16),
        b'd' => Some(10),
        b'o' => Some(8),
        b'b' => Some(2),
        _ => None,
    }
}

fn literal(text: &str, span: Span, diagnostics: &mut Diagnostics) -> IntLiteral {
    let (ty, digits) = match text.find(['w', 's']) {
        Some(at) => (Some((&text[..at], text.as_bytes()[at] == b's')), &text[at + 1..]),
        None => (None, text),
    };
    let ty = ty.map(|(width, signed)| {
        let width = width.parse::<u32>().ok().filter(|&width| width <= MAX_WIDTH).unwrap_or_else(|| {
            diagnostics.error(span, Problem::WidthTooLarge { width: width.to_string(), limit: MAX_WIDTH });
            32
        });
        (width, signed)
    });
    let base = digits.as_bytes().get(1).and_then(|&base| radix(base)).filter(|_| digits.starts_with('0'));
    let (radix, digits) = base.map_or((10, digits), |radix| (radix, &digits[2..]));
    let digits: Vec<u8> = digits.bytes().filter(|byte| *byte != b'_').collect();
    if digits.len() > MAX_DIGITS {
        diagnostics.error(span, Problem::LiteralTooLong { limit: MAX_DIGITS });
        return IntLiteral { value: BigInt::ZERO, ty, radix };
    }
    IntLiteral { value: BigInt::parse_bytes(&digits, radix).unwrap_or_default(), ty, radix }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::FileId;

    fn shown(text: &str) -> Vec<String> {
        let mut diagnostics = Diagnostics::default();
        let tokens = crate::preprocess::lex::lex(FileId(0), text, &mut diagnostics);
        let shown = lex(&tokens, &mut diagnostics).iter().map(|token| token.kind.to_string()).collect();
        assert!(diagnostics.is_empty());
        shown
    }

    #[test]
    fn numbers_have_bases_and_widths() {
        assert_eq!(shown("0xFF 0b1_0 0o17 0d9 1_000"), ["255", "2", "15", "9", "1000", "end of file"]);
        assert_eq!(shown("8w0xFF 4s7 16w1_0 8w0b11"), ["8w255", "4s7", "16w10", "8w3", "end of file"]);
    }

    #[test]
    fn one_preprocessing_number_may_be_several_tokens() {
        assert_eq!(shown("0..5"), ["0", "..", "5", "end of file"]);
        assert_eq!(shown("10abc"), ["10", "abc", "end of file"]);
        assert_eq!(shown("0xG"), ["0", "xG", "end of file"]);
        assert_eq!(shown("8wx"), ["8", "wx", "end of file"]);
    }

    #[test]
    fn pragmas_end_with_their_line() {
        assert_eq!(shown("@pragma a b\nc"), ["@pragma", "a", "b", "end of line", "c", "end of file"]);
        assert_eq!(shown("@pragma a"), ["@pragma", "a", "end of line", "end of file"]);
    }

    #[test]
    fn a_joint_angle_is_told_apart() {
        let mut diagnostics = Diagnostics::default();
        let tokens = crate::preprocess::lex::lex(FileId(0), "a >> b > > c", &mut diagnostics);
        let kinds: Vec<_> = lex(&tokens, &mut diagnostics).into_iter().map(|token| token.kind).collect();
        assert_eq!(kinds.iter().filter(|kind| **kind == TokenKind::GtJoint).count(), 1);
        assert_eq!(kinds.iter().filter(|kind| **kind == TokenKind::Gt).count(), 3);
    }
}
