// SPDX-License-Identifier: MIT OR Apache-2.0
//! Annotations (spec section 20).

use crate::ast::{Annotation, AnnotationBody, Annotations, Ident};
use crate::token::{Token, TokenKind};

use super::{Parsed, Parser};

impl Parser<'_> {
    /// `optAnnotations`
    pub(super) fn annotations(&mut self) -> Parsed<Annotations> {
        let mut annotations = Vec::new();
        loop {
            match self.peek() {
                TokenKind::At => annotations.push(self.annotation()?),
                TokenKind::Pragma => annotations.push(self.pragma()?),
                _ => return Ok(annotations),
            }
        }
    }

    fn annotation(&mut self) -> Parsed<Annotation> {
        let start = self.expect(&TokenKind::At)?;
        let name = self.annotation_name()?;
        let body = match self.peek() {
            TokenKind::LParen => {
                self.bump();
                let mut tokens = Vec::new();
                self.balanced_tokens(&mut tokens)?;
                AnnotationBody::Tokens(tokens)
            }
            TokenKind::LBracket => {
                self.bump();
                let body = self.structured_body()?;
                self.expect(&TokenKind::RBracket)?;
                body
            }
            _ => AnnotationBody::Tokens(Vec::new()),
        };
        Ok(Annotation { name, body, span: self.since(start) })
    }

    /// `@pragma name tokens`, to the end of the line.
    fn pragma(&mut self) -> Parsed<Annotation> {
        let start = self.expect(&TokenKind::Pragma)?;
        let name = self.annotation_name()?;
        let mut tokens = Vec::new();
        while !matches!(self.peek(), TokenKind::PragmaEnd | TokenKind::Eof) {
            tokens.push(self.bump());
        }
        let span = self.since(start);
        self.eat(&TokenKind::PragmaEnd);
        Ok(Annotation { name, body: AnnotationBody::Tokens(tokens), span })
    }

    /// Any word, keywords included.
    fn annotation_name(&mut self) -> Parsed<Ident> {
        let name = match self.peek() {
            TokenKind::Ident(name) => name.clone(),
            kind => match kind.keyword_text() {
                Some(word) => word.into(),
                None => return self.unexpected("the name of an annotation"),
            },
        };
        let span = self.bump().span;
        Ok(Ident { name, span })
    }

    /// Tokens up to the parenthesis that closes the one already read.
    fn balanced_tokens(&mut self, tokens: &mut Vec<Token>) -> Parsed<()> {
        let mut depth = 0;
        loop {
            match self.peek() {
                TokenKind::Eof => return self.unexpected("`)`"),
                TokenKind::LParen => depth += 1,
                TokenKind::RParen if depth == 0 => {
                    self.bump();
                    return Ok(());
                }
                TokenKind::RParen => depth -= 1,
                _ => {}
            }
            tokens.push(self.bump());
        }
    }

    fn structured_body(&mut self) -> Parsed<AnnotationBody> {
        let close = TokenKind::RBracket;
        if self.at_name() && *self.peek_at(1) == TokenKind::Assign {
            return Ok(AnnotationBody::KeyValues(self.comma_list_trailing(&close, Self::key_value)?));
        }
        Ok(AnnotationBody::Expressions(self.comma_list_trailing(&close, Self::expression)?))
    }

    /// `kvPair`
    pub(super) fn key_value(&mut self) -> Parsed<(Ident, crate::ast::Expr)> {
        let name = self.name()?;
        self.expect(&TokenKind::Assign)?;
        Ok((name, self.expression()?))
    }
}
