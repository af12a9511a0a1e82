// SPDX-License-Identifier: MIT OR Apache-2.0
//! Recursive-descent parser: one method per production of the grammar (spec appendix G).
//!
//! P4 cannot be parsed without knowing which names are types (spec section 6.1): `(a)(b)` is a cast or a call. So the
//! parser keeps a scoped table of names ([`names`]). It resolves nothing else.
//!
//! A production that fails reports the reason and returns [`Failed`]. Lists of declarations, statements and other
//! items catch it and skip to a point where they can continue, so that a run reports several errors.

mod annotation;
mod decl;
mod expr;
mod names;
mod stmt;
mod table;
mod types;

use crate::ast::{Decl, Ident};
use crate::diagnostics::{Diagnostics, Problem};
use crate::outlook;
use crate::source::Span;
use crate::token::{Name, Token, TokenKind};

use names::{NameKind, Names};

/// Maximum nesting of types, expressions and statements: later passes recurse over them.
const MAX_DEPTH: u32 = 400;

/// The production could not be parsed; the reason has been reported.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Failed;

type Parsed<T> = Result<T, Failed>;

/// Parses a program; broken parts are reported and omitted.
pub(crate) fn parse(tokens: &[Token], diagnostics: &mut Diagnostics) -> Vec<Decl> {
    let mut parser = Parser {
        tokens,
        at: 0,
        diagnostics,
        names: Names::new(),
        depth: 0,
        unclosed: false,
        refused: None,
        stopped: false,
    };
    parser.program()
}

/// Advice on a token where another one was expected.
fn advice_on(found: &TokenKind, expected: &str) -> Option<&'static str> {
    match (found, expected) {
        (TokenKind::Assign, "`)`") => Some("`==` compares, `=` assigns"),
        (TokenKind::Concat, _) if expected.starts_with("`=`") => Some("`++` concatenates bits; use `+= 1` to count"),
        (_, "`;`") => Some("end this with `;`"),
        _ => None,
    }
}

struct Parser<'a> {
    tokens: &'a [Token],
    at: usize,
    diagnostics: &'a mut Diagnostics,
    names: Names,
    depth: u32,
    /// Whether a brace is missing: all open items end here, without further messages.
    unclosed: bool,
    /// Index of the last unexpected token: one message about it is enough.
    refused: Option<usize>,
    /// Whether parsing stopped, because the rest of the program cannot be understood.
    stopped: bool,
}

impl Parser<'_> {
    fn peek(&self) -> &TokenKind {
        &self.tokens[self.at].kind
    }

    fn peek_at(&self, ahead: usize) -> &TokenKind {
        let last = self.tokens.len() - 1;
        &self.tokens[(self.at + ahead).min(last)].kind
    }

    fn span(&self) -> Span {
        self.tokens[self.at].span
    }

    /// From the start of `start` to the end of the token before this one.
    fn since(&self, start: Span) -> Span {
        start.to(self.tokens[self.at.saturating_sub(1)].span)
    }

    /// Consumes a token; stays at the end of the file.
    fn bump(&mut self) -> Token {
        let token = self.tokens[self.at].clone();
        if self.at + 1 < self.tokens.len() {
            self.at += 1;
        }
        token
    }

    fn eat(&mut self, kind: &TokenKind) -> bool {
        let found = self.peek() == kind;
        if found {
            self.bump();
        }
        found
    }

    fn expect(&mut self, kind: &TokenKind) -> Parsed<Span> {
        if self.peek() == kind {
            return Ok(self.bump().span);
        }
        self.unexpected(format!("`{kind}`"))
    }

    /// Reports that the current token is not the expected one.
    fn unexpected<T>(&mut self, expected: impl Into<String>) -> Parsed<T> {
        self.unexpected_but(expected, None)
    }

    /// Like [`Self::unexpected`], with advice.
    fn unexpected_but<T>(&mut self, expected: impl Into<String>, advice: Option<&str>) -> Parsed<T> {
        if self.stopped || self.refused == Some(self.at) {
            return Err(Failed);
        }
        self.refused = Some(self.at);
        let Token { kind, mut span, first } = self.tokens[self.at].clone();
        let expected: String = expected.into();
        // A `;` that is missing at the end of a line is reported there, not at the start of the next line.
        if let Some(before) = self.at.checked_sub(1).map(|before| self.tokens[before].span)
            && expected == "`;`"
            && first
            && before.file == span.file
        {
            span = Span { start: before.end, ..before };
        }
        match kind {
            TokenKind::Unknown(text) => self.diagnostics.error(span, Problem::UnknownCharacter { text }).done(),
            TokenKind::Eof => self.diagnostics.error(span, Problem::UnexpectedEnd { expected }).done(),
            kind => {
                let help = match kind.keyword_text().filter(|_| expected.contains("name")) {
                    Some(word) => Some(format!("`{word}` is a keyword and cannot be used as a name")),
                    None => advice.or(advice_on(&kind, &expected)).map(ToString::to_string),
                };
                let problem = Problem::UnexpectedToken { found: kind.to_string(), expected };
                let entry = self.diagnostics.error(span, problem);
                if let Some(help) = help {
                    entry.help(help);
                }
            }
        }
        Err(Failed)
    }

    /// Runs a production that may contain itself, within the depth limit.
    fn nested<T>(&mut self, production: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.depth >= MAX_DEPTH {
            self.diagnostics.error(self.span(), Problem::TooDeep { limit: MAX_DEPTH });
            return Err(Failed);
        }
        self.depth += 1;
        let result = production(self);
        self.depth -= 1;
        result
    }

    /// The name of a token where any name is allowed (`name` of the grammar).
    fn as_name(&self, kind: &TokenKind) -> Option<Name> {
        match kind {
            TokenKind::Ident(name) => Some(name.clone()),
            TokenKind::List => Some("list".into()),
            kind => names::soft_keyword(kind).map(Into::into),
        }
    }

    fn at_name(&self) -> bool {
        self.as_name(self.peek()).is_some()
    }

    /// `name`
    fn name(&mut self) -> Parsed<Ident> {
        match self.as_name(self.peek()) {
            Some(name) => {
                let span = self.bump().span;
                Ok(Ident { name, span })
            }
            // Reported here, so that the declaration can still be parsed.
            None if *self.peek() == TokenKind::Underscore => {
                let span = self.bump().span;
                self.diagnostics.error(span, Problem::UnderscoreName {});
                Ok(Ident { name: "_".into(), span })
            }
            None => self.unexpected("a name"),
        }
    }

    /// A name, which is declared as a type from here on.
    fn type_name_declaration(&mut self) -> Parsed<Ident> {
        let name = self.name()?;
        self.names.declare(&name.name, NameKind::Type);
        Ok(name)
    }

    /// A list of items separated by commas. The caller reads the delimiters around it.
    fn comma_list<T>(&mut self, close: &TokenKind, mut item: impl FnMut(&mut Self) -> Parsed<T>) -> Parsed<Vec<T>> {
        let mut items = Vec::new();
        if self.peek() == close {
            return Ok(items);
        }
        loop {
            items.push(item(self)?);
            if !self.eat(&TokenKind::Comma) {
                return Ok(items);
            }
        }
    }

    /// Like [`Self::comma_list`], but a comma after the last item is allowed.
    fn comma_list_trailing<T>(
        &mut self,
        close: &TokenKind,
        mut item: impl FnMut(&mut Self) -> Parsed<T>,
    ) -> Parsed<Vec<T>> {
        let mut items = Vec::new();
        while self.peek() != close {
            items.push(item(self)?);
            if !self.eat(&TokenKind::Comma) {
                break;
            }
        }
        Ok(items)
    }

    /// Items up to a closing brace, which is consumed; a broken item is skipped.
    fn braced<T>(&mut self, mut item: impl FnMut(&mut Self) -> Parsed<T>) -> Parsed<Vec<T>> {
        let brace = self.expect(&TokenKind::LBrace)?;
        let mut items = Vec::new();
        while *self.peek() != TokenKind::RBrace {
            if *self.peek() == TokenKind::Eof {
                return self.unexpected("`}`");
            }
            if outlook::only_at_top_level(self.peek()) && self.tokens[self.at].first {
                self.unclosed(brace);
            }
            if self.unclosed {
                return Err(Failed);
            }
            self.item_or_skip(&mut items, &mut item);
        }
        self.bump();
        Ok(items)
    }

    /// Reports that a declaration of the program begins before this brace is closed.
    fn unclosed(&mut self, brace: Span) {
        if !self.unclosed {
            let problem = Problem::UnexpectedToken { found: self.peek().to_string(), expected: "`}`".into() };
            let entry = self.diagnostics.error(self.span(), problem).label(brace, "this is still open");
            entry.help("close it, or a brace inside it, before this point");
        }
        self.unclosed = true;
    }

    /// Parses an item; if that fails, skips it. Always makes progress, unless a brace is missing.
    fn item_or_skip<T>(&mut self, items: &mut Vec<T>, item: &mut impl FnMut(&mut Self) -> Parsed<T>) {
        let start = self.at;
        let (depth, scopes) = (self.depth, self.names.depth());
        match item(self) {
            Ok(parsed) => items.push(parsed),
            Err(Failed) => {
                self.depth = depth;
                self.names.truncate(scopes);
                if !self.unclosed {
                    self.skip_item(start);
                }
            }
        }
        if self.at == start && !self.unclosed {
            self.bump();
        }
    }

    /// Whether the current token begins the broken item, or is in the place of its name.
    fn after_keyword(&self, start: usize) -> bool {
        self.at == start || names::starts_declaration(&self.tokens[self.at - 1].kind)
    }

    /// Skips the rest of a broken item that began at `start`: through a `;` or a closing brace that belongs to it.
    fn skip_item(&mut self, start: usize) {
        let level = |token: &Token| match token.kind {
            TokenKind::LBrace => 1,
            TokenKind::RBrace => -1,
            _ => 0,
        };
        let mut open: i32 = self.tokens[start..self.at].iter().map(level).sum::<i32>().max(0);
        loop {
            match self.peek() {
                TokenKind::Eof => return,
                TokenKind::RBrace if open <= 0 => return,
                TokenKind::RBrace => {
                    open -= 1;
                    self.bump();
                    if open == 0 {
                        self.eat(&TokenKind::Semicolon);
                        return;
                    }
                }
                TokenKind::LBrace => {
                    open += 1;
                    self.bump();
                }
                TokenKind::Semicolon if open == 0 => {
                    self.bump();
                    return;
                }
                kind if open == 0 && names::starts_declaration(kind) && !self.after_keyword(start) => return,
                _ => _ = self.bump(),
            }
        }
    }
}
