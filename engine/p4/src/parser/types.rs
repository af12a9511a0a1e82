// SPDX-License-Identifier: MIT OR Apache-2.0
//! Types (spec section 7).

use crate::ast::{Ident, Path, Type, TypeKind};
use crate::diagnostics::Problem;
use crate::outlook;
use crate::source::Span;
use crate::token::{Name, TokenKind};

use super::{Failed, NameKind, Parsed, Parser};

impl Parser<'_> {
    /// Whether a `typeRef` begins here.
    pub(super) fn at_type(&self) -> bool {
        match self.peek() {
            TokenKind::Bool
            | TokenKind::Bit
            | TokenKind::Int_
            | TokenKind::Varbit
            | TokenKind::String_
            | TokenKind::Error
            | TokenKind::MatchKind
            | TokenKind::Tuple => true,
            TokenKind::List => *self.peek_at(1) == TokenKind::Lt,
            TokenKind::Ident(name) => self.names.is_type(name, false),
            TokenKind::Dot => {
                matches!(self.peek_at(1), TokenKind::Ident(name) if self.names.is_type(name, true))
            }
            _ => false,
        }
    }

    /// `typeRef`, including array types.
    pub(super) fn type_ref(&mut self) -> Parsed<Type> {
        let mut ty = self.nested(Self::type_ref_without_array)?;
        while *self.peek() == TokenKind::LBracket {
            ty = self.array_of(ty)?;
        }
        Ok(ty)
    }

    /// `[ expression ]` after a type or name.
    fn array_of(&mut self, element: Type) -> Parsed<Type> {
        let start = element.span;
        self.expect(&TokenKind::LBracket)?;
        let size = self.expression()?;
        self.expect(&TokenKind::RBracket)?;
        Ok(Type { kind: TypeKind::Stack(Box::new(element), Box::new(size)), span: self.since(start) })
    }

    fn type_ref_without_array(&mut self) -> Parsed<Type> {
        let start = self.span();
        let kind = match self.peek() {
            TokenKind::Bool => self.keyword_type(TypeKind::Bool),
            TokenKind::Error => self.keyword_type(TypeKind::Error),
            TokenKind::MatchKind => self.keyword_type(TypeKind::MatchKind),
            TokenKind::String_ => self.keyword_type(TypeKind::String),
            TokenKind::Bit => {
                self.bump();
                let width = if *self.peek() == TokenKind::Lt { Some(self.width()?) } else { None };
                TypeKind::Bit(width)
            }
            TokenKind::Int_ => {
                self.bump();
                if *self.peek() == TokenKind::Lt { TypeKind::SignedInt(self.width()?) } else { TypeKind::Int }
            }
            TokenKind::Varbit => {
                self.bump();
                TypeKind::Varbit(self.width()?)
            }
            TokenKind::Tuple => {
                self.bump();
                TypeKind::Tuple(self.type_arguments()?)
            }
            TokenKind::List => {
                self.bump();
                self.expect(&TokenKind::Lt)?;
                let element = self.type_argument()?;
                self.close_angle()?;
                TypeKind::List(Box::new(element))
            }
            _ if self.at_type() => return self.named_type(),
            _ => return self.unexpected("a type"),
        };
        Ok(Type { kind, span: self.since(start) })
    }

    fn keyword_type(&mut self, kind: TypeKind) -> TypeKind {
        self.bump();
        kind
    }

    /// `typeName` or `specializedType`
    fn named_type(&mut self) -> Parsed<Type> {
        let start = self.span();
        let path = self.type_path()?;
        let kind = match self.peek() {
            TokenKind::Lt => TypeKind::Specialized(path, self.type_arguments()?),
            _ => TypeKind::Name(path),
        };
        Ok(Type { kind, span: self.since(start) })
    }

    /// `prefixedType`
    fn type_path(&mut self) -> Parsed<Path> {
        let absolute = self.eat(&TokenKind::Dot);
        Ok(Path { absolute, name: self.name()? })
    }

    /// `< expression >` after `bit`, `int` or `varbit`.
    fn width(&mut self) -> Parsed<Box<crate::ast::Expr>> {
        self.expect(&TokenKind::Lt)?;
        let width = self.expression_before_angle()?;
        self.close_angle()?;
        Ok(Box::new(width))
    }

    /// `r_angle`: a `>`, or half of a `>>`.
    pub(super) fn close_angle(&mut self) -> Parsed<Span> {
        match self.peek() {
            TokenKind::Gt | TokenKind::GtJoint => Ok(self.bump().span),
            _ => self.unexpected("`>`"),
        }
    }

    /// `< typeArgumentList >`
    pub(super) fn type_arguments(&mut self) -> Parsed<Vec<Type>> {
        self.expect(&TokenKind::Lt)?;
        let mut args = Vec::new();
        while !matches!(self.peek(), TokenKind::Gt | TokenKind::GtJoint) {
            args.push(self.type_argument()?);
            if !self.eat(&TokenKind::Comma) {
                break;
            }
        }
        self.close_angle()?;
        Ok(args)
    }

    /// `typeArg`
    pub(super) fn type_argument(&mut self) -> Parsed<Type> {
        let span = self.span();
        match self.peek() {
            TokenKind::Underscore => Ok(Type { kind: self.keyword_type(TypeKind::DontCare), span }),
            TokenKind::Void => Ok(Type { kind: self.keyword_type(TypeKind::Void), span }),
            _ if self.at_type() => self.type_ref(),
            _ if self.at_name() => self.type_variable(),
            _ => self.unexpected("a type"),
        }
    }

    /// A name that may be a type parameter declared later.
    fn type_variable(&mut self) -> Parsed<Type> {
        let name = self.name()?;
        let span = name.span;
        Ok(Type { kind: TypeKind::Name(Path { absolute: false, name }), span })
    }

    /// `typeOrVoid`, the return type of a function, which may be a type parameter declared after it.
    pub(super) fn type_or_void(&mut self) -> Parsed<Type> {
        let span = self.span();
        match self.peek() {
            TokenKind::Void => Ok(Type { kind: self.keyword_type(TypeKind::Void), span }),
            TokenKind::Ident(_) if !self.at_type() => self.type_variable(),
            _ => self.type_ref(),
        }
    }

    /// `optTypeParameters`; they are types in the current scope.
    pub(super) fn type_parameters(&mut self) -> Parsed<Vec<Ident>> {
        let mut params = Vec::new();
        if !self.eat(&TokenKind::Lt) {
            return Ok(params);
        }
        loop {
            let name = self.name()?;
            self.names.declare(&name.name, NameKind::Type);
            params.push(name);
            if !self.eat(&TokenKind::Comma) {
                break;
            }
        }
        self.close_angle()?;
        Ok(params)
    }

    /// `declarator`: a name, optionally with `[n]`, which makes the type an array.
    pub(super) fn declarator(&mut self, mut ty: Type) -> Parsed<(Ident, Type)> {
        let name = self.name()?;
        while *self.peek() == TokenKind::LBracket {
            ty = self.array_of(ty)?;
        }
        Ok((name, ty))
    }

    /// Reports that a type was expected, for callers without another alternative.
    pub(super) fn no_type<T>(&mut self) -> Result<T, Failed> {
        let TokenKind::Ident(name) = self.peek().clone() else { return self.unexpected("a declaration") };
        self.not_a_type(name)
    }

    /// Reports that the current name is not a type.
    pub(super) fn not_a_type<T>(&mut self, name: Name) -> Parsed<T> {
        if self.stopped {
            return Err(Failed);
        }
        let span = self.span();
        let entry = self.diagnostics.error(span, Problem::NotAType { name: name.clone() });
        let has_architecture = self.names.is_type("V1Switch", true);
        match outlook::missing_include(&name).filter(|_| !has_architecture) {
            Some(help) => {
                entry.help(help);
                self.stopped = true;
                self.at = self.tokens.len() - 1;
            }
            None => {
                if entry.is_shown()
                    && let Some(later) = outlook::declared_later(self.tokens, span, &name)
                {
                    entry.label(later, "declared here").help("move the declaration before its first use");
                }
            }
        }
        Err(Failed)
    }
}
