// SPDX-License-Identifier: MIT OR Apache-2.0
//! Declarations (spec sections 7.2, 11, 13, 14).

use crate::ast::{
    ActionDecl, Annotations, BlockKind, BlockTypeDecl, ConstDecl, ControlDecl, Decl, Direction, EnumDecl, ExternDecl,
    FieldDecl, FieldsDecl, FieldsKind, Function, Ident, Initializer, InstanceDecl, PackageDecl, Param, ParserDecl,
    Prototype, SelectCase, StateDecl, Transition, Type, TypedefDecl, TypedefSource, ValueSetDecl, VarDecl,
};
use crate::diagnostics::Problem;
use crate::token::TokenKind;

use super::{Failed, NameKind, Parsed, Parser};

impl Parser<'_> {
    /// `program`
    pub(super) fn program(&mut self) -> Vec<Decl> {
        let mut decls = Vec::new();
        loop {
            while self.eat(&TokenKind::Semicolon) {}
            match self.peek() {
                TokenKind::Eof => return decls,
                TokenKind::RBrace => {
                    self.diagnostics.error(self.span(), Problem::StrayBrace {});
                    self.bump();
                }
                _ => {
                    self.item_or_skip(&mut decls, &mut Self::declaration);
                    self.unclosed = false;
                }
            }
        }
    }

    /// `declaration`
    fn declaration(&mut self) -> Parsed<Decl> {
        let annotations = self.annotations()?;
        match self.peek() {
            TokenKind::Const => self.const_declaration(annotations),
            TokenKind::Extern => self.extern_declaration(annotations),
            TokenKind::Action => Ok(Decl::Action(self.action(annotations)?)),
            TokenKind::Parser => self.parser_declaration(annotations),
            TokenKind::Control => self.control_declaration(annotations),
            TokenKind::Package => self.package(annotations),
            TokenKind::Header | TokenKind::Struct | TokenKind::HeaderUnion => {
                Ok(Decl::Fields(self.fields(annotations)?))
            }
            TokenKind::Enum => Ok(Decl::Enum(self.enumeration(annotations)?)),
            TokenKind::Typedef | TokenKind::Type => self.type_definition(annotations),
            TokenKind::Error if *self.peek_at(1) == TokenKind::LBrace => {
                self.bump();
                self.expect(&TokenKind::LBrace)?;
                let names = self.comma_list(&TokenKind::RBrace, Self::name)?;
                self.expect(&TokenKind::RBrace)?;
                Ok(Decl::Error(names))
            }
            TokenKind::MatchKind if *self.peek_at(1) == TokenKind::LBrace => {
                self.bump();
                self.expect(&TokenKind::LBrace)?;
                let names = self.comma_list_trailing(&TokenKind::RBrace, Self::name)?;
                self.expect(&TokenKind::RBrace)?;
                Ok(Decl::MatchKind(names))
            }
            TokenKind::Table => {
                self.diagnostics.error(self.span(), Problem::NotAtTopLevel { what: "a table" });
                Err(Failed)
            }
            TokenKind::Void => Ok(Decl::Function(self.function(annotations)?)),
            _ if self.at_type() => self.instance_or_function(annotations),
            // A return type may be a type parameter that is declared after it: `T f<T>(in T x) { ... }`.
            TokenKind::Ident(_) if *self.peek_at(2) == TokenKind::Lt => Ok(Decl::Function(self.function(annotations)?)),
            TokenKind::Ident(_) => self.no_type(),
            _ => self.unexpected("a declaration"),
        }
    }

    /// A declaration that begins with a type: `T(args) name;` or `T name(params) { ... }`.
    fn instance_or_function(&mut self, annotations: Annotations) -> Parsed<Decl> {
        let ty = self.type_ref()?;
        if *self.peek() == TokenKind::LParen {
            return Ok(Decl::Instance(self.instance(annotations, ty)?));
        }
        if self.at_name() && matches!(self.peek_at(1), TokenKind::Assign | TokenKind::Semicolon) {
            let variable = self.variable(ty)?;
            self.diagnostics.error(variable.name.span, Problem::NotAtTopLevel { what: "a variable" });
            self.eat(&TokenKind::Semicolon);
            return Ok(Decl::Var(variable));
        }
        Ok(Decl::Function(self.function_returning(annotations, ty)?))
    }

    /// `instantiation` after its type, including the semicolon.
    pub(super) fn instance(&mut self, annotations: Annotations, ty: Type) -> Parsed<InstanceDecl> {
        let (args, _) = self.arguments()?;
        let (name, ty) = self.declarator(ty)?;
        self.names.declare(&name.name, NameKind::Object);
        let init = if self.eat(&TokenKind::Assign) {
            self.names.push();
            let start = self.span();
            let members = self.braced(|parser| {
                let annotations = parser.annotations()?;
                match parser.peek() {
                    TokenKind::Void => Ok(Decl::Function(parser.function(annotations)?)),
                    _ => parser.instance_or_function(annotations),
                }
            })?;
            self.names.pop();
            Some(Initializer { members, span: self.since(start) })
        } else {
            None
        };
        self.expect(&TokenKind::Semicolon)?;
        Ok(InstanceDecl { annotations, ty, args, name, init })
    }

    /// `variableDeclarationWithoutSemicolon` after its type.
    pub(super) fn variable(&mut self, ty: Type) -> Parsed<VarDecl> {
        let (name, ty) = self.declarator(ty)?;
        let init = if self.eat(&TokenKind::Assign) { Some(self.expression()?) } else { None };
        self.names.declare(&name.name, NameKind::Object);
        Ok(VarDecl { ty, name, init })
    }

    /// `constantDeclaration`
    pub(super) fn const_declaration(&mut self, annotations: Annotations) -> Parsed<Decl> {
        self.expect(&TokenKind::Const)?;
        let ty = self.type_ref()?;
        let (name, ty) = self.declarator(ty)?;
        self.expect(&TokenKind::Assign)?;
        let value = self.expression()?;
        self.expect(&TokenKind::Semicolon)?;
        self.names.declare(&name.name, NameKind::Object);
        Ok(Decl::Const(ConstDecl { annotations, ty, name, value }))
    }

    fn function(&mut self, annotations: Annotations) -> Parsed<Function> {
        let returns = self.type_or_void()?;
        self.function_returning(annotations, returns)
    }

    fn function_returning(&mut self, annotations: Annotations, returns: Type) -> Parsed<Function> {
        let prototype = self.prototype(annotations, false, returns)?;
        let body = self.block()?;
        self.names.pop();
        Ok(Function { prototype, body })
    }

    /// `functionPrototype` after its return type. Leaves the scope of its parameters open.
    fn prototype(&mut self, annotations: Annotations, is_abstract: bool, returns: Type) -> Parsed<Prototype> {
        let name = self.name()?;
        self.names.declare(&name.name, NameKind::Object);
        self.names.push();
        let type_params = self.type_parameters()?;
        let params = self.parameters()?;
        Ok(Prototype { annotations, is_abstract, returns: Some(returns), name, type_params, params })
    }

    /// `( parameterList )`; the parameters are declared in the current scope.
    fn parameters(&mut self) -> Parsed<Vec<Param>> {
        self.expect(&TokenKind::LParen)?;
        let params = self.comma_list(&TokenKind::RParen, Self::parameter)?;
        self.expect(&TokenKind::RParen)?;
        for param in &params {
            self.names.declare(&param.name.name, NameKind::Object);
        }
        Ok(params)
    }

    fn parameter(&mut self) -> Parsed<Param> {
        let annotations = self.annotations()?;
        let start = self.span();
        let direction = match self.peek() {
            TokenKind::In => Direction::In,
            TokenKind::Out => Direction::Out,
            TokenKind::Inout => Direction::Inout,
            _ => Direction::None,
        };
        if direction != Direction::None {
            self.bump();
        }
        let ty = match self.peek() {
            TokenKind::Ident(_) if !self.at_type() => return self.no_type(),
            _ => self.type_ref()?,
        };
        let (name, ty) = self.declarator(ty)?;
        let span = self.since(start);
        let default = if self.eat(&TokenKind::Assign) { Some(self.expression()?) } else { None };
        Ok(Param { annotations, direction, ty, name, default, span })
    }

    /// `actionDeclaration`
    pub(super) fn action(&mut self, annotations: Annotations) -> Parsed<ActionDecl> {
        self.expect(&TokenKind::Action)?;
        let name = self.name()?;
        self.names.push();
        let params = self.parameters()?;
        let body = self.block()?;
        self.names.pop();
        Ok(ActionDecl { annotations, name, params, body })
    }

    fn extern_declaration(&mut self, annotations: Annotations) -> Parsed<Decl> {
        self.expect(&TokenKind::Extern)?;
        let object = matches!(self.peek_at(1), TokenKind::LBrace | TokenKind::Semicolon)
            || (!self.at_type() && *self.peek_at(1) == TokenKind::Lt);
        if !(object && self.at_name()) {
            let returns = self.type_or_void()?;
            let prototype = self.prototype(annotations, false, returns)?;
            self.names.pop();
            self.expect(&TokenKind::Semicolon)?;
            return Ok(Decl::ExternFunction(prototype));
        }
        let name = self.type_name_declaration()?;
        self.names.push();
        let type_params = self.type_parameters()?;
        let methods = match self.peek() {
            TokenKind::Semicolon => Vec::new(), // a forward declaration
            _ => {
                let object = name.clone();
                self.braced(|parser| parser.method(&object))?
            }
        };
        self.names.pop();
        Ok(Decl::Extern(ExternDecl { annotations, name, type_params, methods }))
    }

    /// `methodPrototype`
    fn method(&mut self, object: &Ident) -> Parsed<Prototype> {
        let annotations = self.annotations()?;
        let is_abstract = self.eat(&TokenKind::Abstract);
        let is_constructor =
            self.as_name(self.peek()).as_ref() == Some(&object.name) && *self.peek_at(1) == TokenKind::LParen;
        let method = if is_constructor {
            let name = self.name()?;
            self.names.push();
            let params = self.parameters()?;
            Prototype { annotations, is_abstract, returns: None, name, type_params: Vec::new(), params }
        } else if self.at_name() && *self.peek_at(1) == TokenKind::LParen {
            let method = self.name()?;
            let help = format!("write `void` if it returns nothing; a constructor must be named `{}`", object.name);
            self.diagnostics.error(method.span, Problem::NoReturnType { method: method.name }).help(help);
            return Err(Failed);
        } else {
            let returns = self.type_or_void()?;
            self.prototype(annotations, is_abstract, returns)?
        };
        self.names.pop();
        self.expect(&TokenKind::Semicolon)?;
        Ok(method)
    }

    /// `parserTypeDeclaration` or `controlTypeDeclaration`. Leaves the scope of its parameters open.
    fn block_type(&mut self, kind: BlockKind, annotations: Annotations) -> Parsed<BlockTypeDecl> {
        self.bump();
        let name = self.type_name_declaration()?;
        self.names.push();
        let type_params = self.type_parameters()?;
        let params = self.parameters()?;
        Ok(BlockTypeDecl { kind, annotations, name, type_params, params })
    }

    fn parser_declaration(&mut self, annotations: Annotations) -> Parsed<Decl> {
        let ty = self.block_type(BlockKind::Parser, annotations)?;
        if self.eat(&TokenKind::Semicolon) {
            self.names.pop();
            return Ok(Decl::BlockType(ty));
        }
        let constructor = self.constructor_parameters()?;
        let mut locals = Vec::new();
        let states = self.braced(|parser| {
            let annotations = parser.annotations()?;
            if *parser.peek() == TokenKind::State && parser.as_name(parser.peek_at(1)).is_some() {
                return Ok(Some(parser.state(annotations)?));
            }
            locals.push(parser.local_declaration(annotations)?);
            Ok(None)
        })?;
        self.names.pop();
        Ok(Decl::Parser(ParserDecl { ty, constructor, locals, states: states.into_iter().flatten().collect() }))
    }

    fn constructor_parameters(&mut self) -> Parsed<Vec<Param>> {
        if *self.peek() == TokenKind::LParen { self.parameters() } else { Ok(Vec::new()) }
    }

    fn control_declaration(&mut self, annotations: Annotations) -> Parsed<Decl> {
        let ty = self.block_type(BlockKind::Control, annotations)?;
        if self.eat(&TokenKind::Semicolon) {
            self.names.pop();
            return Ok(Decl::BlockType(ty));
        }
        let constructor = self.constructor_parameters()?;
        let mut locals = Vec::new();
        let mut apply = None;
        self.braced(|parser| {
            let annotations = parser.annotations()?;
            let opens = matches!(parser.peek_at(1), TokenKind::LBrace | TokenKind::At | TokenKind::Pragma);
            if *parser.peek() == TokenKind::Apply && opens && apply.is_none() {
                parser.bump();
                apply = Some(parser.block()?);
            } else if apply.is_some() {
                let advice = "put declarations before the `apply` block";
                return parser.unexpected_but("`}` after the `apply` block", Some(advice));
            } else {
                locals.push(parser.local_declaration(annotations)?);
            }
            Ok(())
        })?;
        self.names.pop();
        let Some(apply) = apply else {
            self.diagnostics.error(ty.name.span, Problem::NoApplyBlock { name: ty.name.name.clone() });
            return Err(Failed);
        };
        Ok(Decl::Control(ControlDecl { ty, constructor, locals, apply }))
    }

    /// `parserLocalElement` or `controlLocalDeclaration`; the checker tests which kinds are allowed.
    fn local_declaration(&mut self, annotations: Annotations) -> Parsed<Decl> {
        match self.peek() {
            TokenKind::Const => self.const_declaration(annotations),
            TokenKind::Action => Ok(Decl::Action(self.action(annotations)?)),
            TokenKind::Table => Ok(Decl::Table(self.table(annotations)?)),
            TokenKind::ValueSet => Ok(Decl::ValueSet(self.value_set(annotations)?)),
            _ if self.at_type() => {
                let ty = self.type_ref()?;
                if *self.peek() == TokenKind::LParen {
                    return Ok(Decl::Instance(self.instance(annotations, ty)?));
                }
                let variable = self.variable(ty)?;
                self.expect(&TokenKind::Semicolon)?;
                Ok(Decl::Var(variable))
            }
            TokenKind::Ident(_) => self.no_type(),
            _ => self.unexpected("a declaration"),
        }
    }

    fn value_set(&mut self, annotations: Annotations) -> Parsed<ValueSetDecl> {
        self.expect(&TokenKind::ValueSet)?;
        self.expect(&TokenKind::Lt)?;
        let ty = self.type_ref()?;
        self.close_angle()?;
        self.expect(&TokenKind::LParen)?;
        let size = self.expression()?;
        self.expect(&TokenKind::RParen)?;
        let name = self.name()?;
        self.expect(&TokenKind::Semicolon)?;
        Ok(ValueSetDecl { annotations, ty, size, name })
    }

    /// `parserState`
    fn state(&mut self, annotations: Annotations) -> Parsed<StateDecl> {
        self.expect(&TokenKind::State)?;
        let name = self.name()?;
        self.names.push();
        let mut transition = None;
        let body = self.braced(|parser| match parser.peek() {
            TokenKind::Transition if transition.is_none() => {
                transition = Some(parser.transition()?);
                Ok(None)
            }
            _ if transition.is_some() => parser.unexpected("`}` after the transition"),
            _ => Ok(Some(parser.statement_or_declaration()?)),
        })?;
        self.names.pop();
        Ok(StateDecl { annotations, name, body: body.into_iter().flatten().collect(), transition })
    }

    /// `transitionStatement`
    fn transition(&mut self) -> Parsed<Transition> {
        self.expect(&TokenKind::Transition)?;
        if *self.peek() != TokenKind::Select {
            let target = self.name()?;
            self.expect(&TokenKind::Semicolon)?;
            return Ok(Transition::Goto(target));
        }
        let start = self.expect(&TokenKind::Select)?;
        self.expect(&TokenKind::LParen)?;
        let keys = self.comma_list(&TokenKind::RParen, Self::expression)?;
        self.expect(&TokenKind::RParen)?;
        let span = self.since(start);
        let cases = self.braced(|parser| {
            let keys = parser.keyset()?;
            parser.expect(&TokenKind::Colon)?;
            let target = parser.name()?;
            parser.expect(&TokenKind::Semicolon)?;
            Ok(SelectCase { keys, target })
        })?;
        Ok(Transition::Select { keys, cases, span })
    }

    fn package(&mut self, annotations: Annotations) -> Parsed<Decl> {
        self.expect(&TokenKind::Package)?;
        let name = self.type_name_declaration()?;
        self.names.push();
        let type_params = self.type_parameters()?;
        let params = self.parameters()?;
        self.names.pop();
        self.expect(&TokenKind::Semicolon)?;
        Ok(Decl::Package(PackageDecl { annotations, name, type_params, params }))
    }

    /// `headerTypeDeclaration`, `structTypeDeclaration` or `headerUnionDeclaration`
    fn fields(&mut self, annotations: Annotations) -> Parsed<FieldsDecl> {
        let kind = match self.bump().kind {
            TokenKind::Header => FieldsKind::Header,
            TokenKind::HeaderUnion => FieldsKind::Union,
            _ => FieldsKind::Struct,
        };
        let name = self.type_name_declaration()?;
        self.names.push();
        let type_params = self.type_parameters()?;
        let fields = self.braced(|parser| {
            let annotations = parser.annotations()?;
            let ty = match parser.peek() {
                TokenKind::Ident(_) if !parser.at_type() => return parser.no_type(),
                _ => parser.type_ref()?,
            };
            let (name, ty) = parser.declarator(ty)?;
            parser.expect(&TokenKind::Semicolon)?;
            Ok(FieldDecl { annotations, ty, name })
        })?;
        self.names.pop();
        Ok(FieldsDecl { kind, annotations, name, type_params, fields })
    }

    /// `enumDeclaration`
    fn enumeration(&mut self, annotations: Annotations) -> Parsed<EnumDecl> {
        self.expect(&TokenKind::Enum)?;
        let plain = *self.peek_at(1) == TokenKind::LBrace;
        let underlying = if plain { None } else { Some(self.type_ref()?) };
        let name = self.type_name_declaration()?;
        self.expect(&TokenKind::LBrace)?;
        let serializable = underlying.is_some();
        let members = self.comma_list_trailing(&TokenKind::RBrace, |parser| {
            let name = parser.name()?;
            if !serializable {
                return Ok((name, None));
            }
            parser.expect(&TokenKind::Assign)?;
            Ok((name, Some(parser.expression()?)))
        })?;
        self.expect(&TokenKind::RBrace)?;
        Ok(EnumDecl { annotations, underlying, name, members })
    }

    /// `typedefDeclaration`
    fn type_definition(&mut self, annotations: Annotations) -> Parsed<Decl> {
        let is_new = self.bump().kind == TokenKind::Type;
        let inner_annotations = self.annotations()?;
        let (source, name) = match self.peek() {
            TokenKind::Struct | TokenKind::Header | TokenKind::HeaderUnion | TokenKind::Enum if !is_new => {
                let decl = match self.peek() {
                    TokenKind::Enum => Decl::Enum(self.enumeration(inner_annotations)?),
                    _ => Decl::Fields(self.fields(inner_annotations)?),
                };
                let inner = match &decl {
                    Decl::Enum(decl) => decl.name.clone(),
                    Decl::Fields(decl) => decl.name.clone(),
                    _ => unreachable!("one of the two above"),
                };
                let name = self.name()?;
                let mut stack = Vec::new();
                while self.eat(&TokenKind::LBracket) {
                    stack.push(self.expression()?);
                    self.expect(&TokenKind::RBracket)?;
                }
                (TypedefSource::Declaration { decl: Box::new(decl), name: inner, stack }, name)
            }
            TokenKind::Ident(_) if !self.at_type() => return self.no_type(),
            _ => {
                let ty = self.type_ref()?;
                let (name, ty) = self.declarator(ty)?;
                (TypedefSource::Type(ty), name)
            }
        };
        self.names.declare(&name.name, NameKind::Type);
        self.expect(&TokenKind::Semicolon)?;
        Ok(Decl::Typedef(TypedefDecl { annotations, is_new, source, name }))
    }
}
