// SPDX-License-Identifier: MIT OR Apache-2.0
//! Preprocessing tokens: text split as in the C preprocessor.
//!
//! Line splices (`\` before a newline) may occur inside any token, so tokens are read through [`Cursor`], which skips
//! them. Punctuators are P4's, with `##` added: the longest match matters only for `##` and `#`.

use crate::diagnostics::{Diagnostics, Problem};
use crate::source::{FileId, Span};
use crate::token::Name;

/// Kinds of preprocessing tokens.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum PpKind {
    /// Identifier or keyword.
    Ident,
    /// A "preprocessing number": a digit and all letters, digits, `_` and `.` that follow.
    Number,
    /// `"..."`, quotes included.
    Str,
    /// `'...'` or any other character that P4 does not use.
    Other,
    /// Operator or punctuation mark.
    Punct,
    /// End of a line.
    Newline,
}

/// A preprocessing token.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct PpToken {
    /// Its kind.
    pub(crate) kind: PpKind,
    /// Its text, without line splices.
    pub(crate) text: Name,
    /// Source range; for a token from a macro, the range of the macro's use.
    pub(crate) span: Span,
    /// Whether white space or a comment precedes it.
    pub(crate) space: bool,
    /// Whether it is the first of its line.
    pub(crate) first: bool,
}

impl PpToken {
    /// Whether this is the punctuator `punct`.
    pub(crate) fn is(&self, punct: &str) -> bool {
        self.kind == PpKind::Punct && &*self.text == punct
    }
}

/// Longest first, so that the first match is the longest.
const PUNCTUATORS: [&str; 28] = [
    "|+|=", "|-|=", "&&&", "...", "<<=", ">>=", "|+|", "|-|", "{#}", "##", "<<", "&&", "||", "==", "!=", ">=", "<=",
    "++", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "..", "+:",
];

/// Characters of a file without line splices.
struct Cursor<'a> {
    text: &'a str,
    at: usize,
}

impl Cursor<'_> {
    /// The length of line splices at a position.
    fn splices(&self, mut at: usize) -> usize {
        let start = at;
        let bytes = self.text.as_bytes();
        while bytes.get(at) == Some(&b'\\') {
            match (bytes.get(at + 1), bytes.get(at + 2)) {
                (Some(b'\n'), _) => at += 2,
                (Some(b'\r'), Some(b'\n')) => at += 3,
                _ => break,
            }
        }
        at - start
    }

    fn peek(&self) -> Option<char> {
        self.text[self.at + self.splices(self.at)..].chars().next()
    }

    fn bump(&mut self) -> Option<char> {
        self.at += self.splices(self.at);
        let c = self.text[self.at..].chars().next()?;
        self.at += c.len_utf8();
        Some(c)
    }

    /// Whether the text continues with `expected`; consumes it if so.
    fn eat(&mut self, expected: &str) -> bool {
        let start = self.at;
        for c in expected.chars() {
            if self.bump() != Some(c) {
                self.at = start;
                return false;
            }
        }
        true
    }
}

/// Splits a file into tokens; each line ends with a [`PpKind::Newline`].
pub(crate) fn lex(file: FileId, text: &str, diagnostics: &mut Diagnostics) -> Vec<PpToken> {
    let mut lexer = Lexer { cursor: Cursor { text, at: 0 }, file, tokens: Vec::new(), space: false, first: true };
    while lexer.token(diagnostics) {}
    if !lexer.first {
        lexer.push(PpKind::Newline, "\n".into(), text.len());
    }
    lexer.tokens
}

struct Lexer<'a> {
    cursor: Cursor<'a>,
    file: FileId,
    tokens: Vec<PpToken>,
    space: bool,
    first: bool,
}

impl Lexer<'_> {
    fn span(&self, start: usize) -> Span {
        Span { file: self.file, start: start as u32, end: self.cursor.at as u32 }
    }

    fn push(&mut self, kind: PpKind, text: Name, start: usize) {
        let token = PpToken { kind, text, span: self.span(start), space: self.space, first: self.first };
        self.tokens.push(token);
        self.space = false;
        self.first = kind == PpKind::Newline;
    }

    /// Reads one token, comment or space; false at the end of the file.
    fn token(&mut self, diagnostics: &mut Diagnostics) -> bool {
        self.cursor.at += self.cursor.splices(self.cursor.at);
        let start = self.cursor.at;
        let Some(c) = self.cursor.bump() else { return false };
        match c {
            '\n' => self.push(PpKind::Newline, "\n".into(), start),
            c if c.is_ascii_whitespace() || c == '\x0b' => self.space = true,
            '/' if self.cursor.eat("/") => self.line_comment(),
            '/' if self.cursor.eat("*") => self.block_comment(start, diagnostics),
            'a'..='z' | 'A'..='Z' | '_' => {
                let text = self.word(c, |c| c.is_ascii_alphanumeric() || c == '_');
                self.push(PpKind::Ident, text, start);
            }
            '0'..='9' => {
                let text = self.word(c, |c| c.is_ascii_alphanumeric() || c == '_' || c == '.');
                self.push(PpKind::Number, text, start);
            }
            '"' => self.string(start, diagnostics),
            _ => self.punctuator(c, start),
        }
        true
    }

    fn word(&mut self, first: char, more: impl Fn(char) -> bool) -> Name {
        let mut text = String::from(first);
        while let Some(c) = self.cursor.peek().filter(|&c| more(c)) {
            self.cursor.bump();
            text.push(c);
        }
        text.into()
    }

    fn line_comment(&mut self) {
        self.space = true;
        while self.cursor.peek().is_some_and(|c| c != '\n') {
            self.cursor.bump();
        }
    }

    fn block_comment(&mut self, start: usize, diagnostics: &mut Diagnostics) {
        self.space = true;
        loop {
            if self.cursor.eat("*/") {
                return;
            }
            if self.cursor.bump().is_none() {
                let span = Span { end: start as u32 + 2, ..self.span(start) };
                diagnostics.error(span, Problem::UnterminatedComment {});
                return;
            }
        }
    }

    /// A string literal, which may span several lines, as in p4c.
    fn string(&mut self, start: usize, diagnostics: &mut Diagnostics) {
        let mut text = String::from('"');
        loop {
            match self.cursor.bump() {
                Some('\\') => {
                    text.push('\\');
                    text.extend(self.cursor.bump());
                }
                Some('"') => break,
                Some(c) => text.push(c),
                None => {
                    let span = Span { end: start as u32 + 1, ..self.span(start) };
                    diagnostics.error(span, Problem::UnterminatedString {});
                    break;
                }
            }
        }
        text.push('"');
        self.push(PpKind::Str, text.into(), start);
    }

    fn punctuator(&mut self, first: char, start: usize) {
        for punctuator in PUNCTUATORS {
            if let Some(rest) = punctuator.strip_prefix(first)
                && self.cursor.eat(rest)
            {
                return self.push(PpKind::Punct, punctuator.into(), start);
            }
        }
        let kind = if first.is_ascii_punctuation() { PpKind::Punct } else { PpKind::Other };
        let mut buffer = [0; 4];
        self.push(kind, (&*first.encode_utf8(&mut buffer)).into(), start);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(text: &str) -> Vec<String> {
        let mut diagnostics = Diagnostics::default();
        let tokens = lex(FileId(0), text, &mut diagnostics);
        assert!(diagnostics.is_empty());
        tokens.iter().filter(|t| t.kind != PpKind::Newline).map(|t| t.text.to_string()).collect()
    }

    #[test]
    fn tokens_end_where_p4_says() {
        assert_eq!(texts("a|+|=b&&&0xf{#}"), ["a", "|+|=", "b", "&&&", "0xf", "{#}"]);
        assert_eq!(texts("x/*1*//**/+:y//z"), ["x", "+:", "y"]);
        assert_eq!(texts(r#""a\"b" 8w5..6"#), [r#""a\"b""#, "8w5..6"]);
    }

    #[test]
    fn splices_vanish_inside_of_tokens() {
        assert_eq!(texts("ab\\\ncd &\\\r\n& 1\\\n2"), ["abcd", "&&", "12"]);
    }

    #[test]
    fn spans_are_those_of_the_file() {
        let mut diagnostics = Diagnostics::default();
        let tokens = lex(FileId(0), " ab\\\ncd ;\n", &mut diagnostics);
        assert_eq!((tokens[0].span.start, tokens[0].span.end), (1, 7));
        assert!(tokens[0].first && tokens[0].space && !tokens[1].first);
    }
}
