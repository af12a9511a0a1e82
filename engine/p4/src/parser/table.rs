// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tables (spec section 14.2).

use crate::ast::{
    ActionRef, Annotations, EntryDecl, Expr, Ident, KeyElement, Path, Property, PropertyValue, TableDecl,
};
use crate::token::TokenKind;

use super::{Parsed, Parser};

impl Parser<'_> {
    /// `tableDeclaration`
    pub(super) fn table(&mut self, annotations: Annotations) -> Parsed<TableDecl> {
        let start = self.expect(&TokenKind::Table)?;
        let name = self.name()?;
        let properties = self.braced(Self::property)?;
        Ok(TableDecl { annotations, name, properties, span: self.since(start) })
    }

    /// `tableProperty`
    fn property(&mut self) -> Parsed<Property> {
        let annotations = self.annotations()?;
        let is_const = self.eat(&TokenKind::Const);
        let kind = self.peek().clone();
        let name: Ident = self.name()?;
        self.expect(&TokenKind::Assign)?;
        let value = match kind {
            TokenKind::Key if !is_const => PropertyValue::Key(self.braced(Self::key_element)?),
            TokenKind::Actions if !is_const => PropertyValue::Actions(self.braced(|parser| {
                let annotations = parser.annotations()?;
                let action = parser.action_ref(annotations)?;
                parser.expect(&TokenKind::Semicolon)?;
                Ok(action)
            })?),
            TokenKind::Entries => PropertyValue::Entries(self.braced(Self::entry)?),
            _ => {
                let value = self.expression()?;
                self.expect(&TokenKind::Semicolon)?;
                PropertyValue::Expr(value)
            }
        };
        Ok(Property { annotations, is_const, name, value })
    }

    /// `keyElement`
    fn key_element(&mut self) -> Parsed<KeyElement> {
        let expr = self.expression()?;
        self.expect(&TokenKind::Colon)?;
        let kind = self.name()?;
        let annotations = self.annotations()?;
        self.expect(&TokenKind::Semicolon)?;
        Ok(KeyElement { expr, kind, annotations })
    }

    /// `actionRef`
    fn action_ref(&mut self, annotations: Annotations) -> Parsed<ActionRef> {
        let start = self.span();
        let absolute = self.eat(&TokenKind::Dot);
        let path = Path { absolute, name: self.name()? };
        let args = if *self.peek() == TokenKind::LParen { Some(self.arguments()?.0) } else { None };
        Ok(ActionRef { annotations, path, args, span: self.since(start) })
    }

    /// `entry`
    fn entry(&mut self) -> Parsed<EntryDecl> {
        let start = self.span();
        let is_const = self.eat(&TokenKind::Const);
        let priority = self.entry_priority()?;
        let keys = self.keyset()?;
        self.expect(&TokenKind::Colon)?;
        let action = self.action_ref(Vec::new())?;
        let annotations = self.annotations()?;
        self.expect(&TokenKind::Semicolon)?;
        Ok(EntryDecl { is_const, priority, keys, action, annotations, span: self.since(start) })
    }

    /// `priority = n :`
    fn entry_priority(&mut self) -> Parsed<Option<Expr>> {
        if *self.peek() != TokenKind::Priority || *self.peek_at(1) != TokenKind::Assign {
            return Ok(None);
        }
        self.bump();
        self.bump();
        let priority = self.expression()?;
        self.expect(&TokenKind::Colon)?;
        Ok(Some(priority))
    }
}
