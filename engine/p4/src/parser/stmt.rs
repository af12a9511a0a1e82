// SPDX-License-Identifier: MIT OR Apache-2.0
//! Statements (spec section 12).

use crate::ast::{BinaryOp, Block, Decl, Expr, ExprKind, Stmt, StmtKind, SwitchCase};
use crate::diagnostics::Problem;
use crate::source::Span;
use crate::token::TokenKind;

use super::{Parsed, Parser};

/// The operator of a compound assignment; `None` for `=`.
fn assignment(kind: &TokenKind) -> Option<Option<BinaryOp>> {
    Some(match kind {
        TokenKind::Assign => None,
        TokenKind::PlusAssign => Some(BinaryOp::Add),
        TokenKind::MinusAssign => Some(BinaryOp::Sub),
        TokenKind::StarAssign => Some(BinaryOp::Mul),
        TokenKind::SlashAssign => Some(BinaryOp::Div),
        TokenKind::PercentAssign => Some(BinaryOp::Mod),
        TokenKind::AmpAssign => Some(BinaryOp::BitAnd),
        TokenKind::PipeAssign => Some(BinaryOp::BitOr),
        TokenKind::CaretAssign => Some(BinaryOp::BitXor),
        TokenKind::ShlAssign => Some(BinaryOp::Shl),
        TokenKind::ShrAssign => Some(BinaryOp::Shr),
        TokenKind::PlusSatAssign => Some(BinaryOp::AddSat),
        TokenKind::MinusSatAssign => Some(BinaryOp::SubSat),
        _ => return None,
    })
}

impl Parser<'_> {
    /// `blockStatement`
    pub(super) fn block(&mut self) -> Parsed<Block> {
        self.annotations()?;
        let start = self.span();
        self.names.push();
        let stmts = self.nested(|parser| parser.braced(Self::statement_or_declaration))?;
        self.names.pop();
        Ok(Block { stmts, span: self.since(start) })
    }

    /// `statementOrDeclaration`; also `parserStatement`, whose restrictions the checker tests.
    pub(super) fn statement_or_declaration(&mut self) -> Parsed<Stmt> {
        self.nested(Self::statement)
    }

    fn statement(&mut self) -> Parsed<Stmt> {
        let start = self.span();
        let annotations = self.annotations()?;
        let kind = match self.peek() {
            TokenKind::Semicolon => self.word(StmtKind::Empty)?,
            TokenKind::Exit => {
                self.bump();
                self.word(StmtKind::Exit)?
            }
            TokenKind::Break => {
                self.bump();
                self.word(StmtKind::Break)?
            }
            TokenKind::Continue => {
                self.bump();
                self.word(StmtKind::Continue)?
            }
            TokenKind::LBrace => StmtKind::Block(self.block()?),
            TokenKind::If => self.if_statement()?,
            TokenKind::Return => self.return_statement()?,
            TokenKind::Switch => self.switch_statement()?,
            TokenKind::For => self.for_statement()?,
            TokenKind::Const => StmtKind::Decl(self.const_declaration(annotations)?),
            _ if self.at_type() => {
                let kind = self.declaration_or_operation(annotations)?;
                if !matches!(kind, StmtKind::Decl(Decl::Instance(_))) {
                    self.expect(&TokenKind::Semicolon)?;
                }
                kind
            }
            _ => {
                let kind = self.operation()?;
                self.expect(&TokenKind::Semicolon)?;
                kind
            }
        };
        Ok(Stmt { kind, span: self.since(start) })
    }

    /// The semicolon of a statement that consists of a keyword.
    fn word(&mut self, kind: StmtKind) -> Parsed<StmtKind> {
        self.expect(&TokenKind::Semicolon)?;
        Ok(kind)
    }

    /// A variable, an instance, or a call of a member of a type; without the semicolon unless it is an instance.
    fn declaration_or_operation(&mut self, annotations: crate::ast::Annotations) -> Parsed<StmtKind> {
        let ty = self.type_ref()?;
        match self.peek() {
            TokenKind::Dot => {
                let operand = self.statement_operand(Some(ty))?;
                self.operation_on(operand)
            }
            TokenKind::LParen => Ok(StmtKind::Decl(Decl::Instance(self.instance(annotations, ty)?))),
            _ => Ok(StmtKind::Decl(Decl::Var(self.variable(ty)?))),
        }
    }

    /// `assignmentOrMethodCallStatementWithoutSemicolon`
    fn operation(&mut self) -> Parsed<StmtKind> {
        if let (TokenKind::Ident(name), TokenKind::Ident(_)) = (self.peek(), self.peek_at(1)) {
            let name = name.clone();
            return self.not_a_type(name);
        }
        let operand = self.statement_operand(None)?;
        self.operation_on(operand)
    }

    fn operation_on(&mut self, operand: Expr) -> Parsed<StmtKind> {
        let Some(op) = assignment(self.peek()) else {
            return match operand.kind {
                ExprKind::Call(_) => Ok(StmtKind::Call(operand)),
                _ => self.unexpected("`=` or the arguments of a call"),
            };
        };
        self.bump();
        let src = self.expression()?;
        Ok(StmtKind::Assign { dst: operand, op, src })
    }

    fn if_statement(&mut self) -> Parsed<StmtKind> {
        self.expect(&TokenKind::If)?;
        self.expect(&TokenKind::LParen)?;
        let cond = self.expression()?;
        self.expect(&TokenKind::RParen)?;
        let then = Box::new(self.body()?);
        let otherwise = if self.eat(&TokenKind::Else) { Some(Box::new(self.body()?)) } else { None };
        Ok(StmtKind::If { cond, then, otherwise })
    }

    /// A statement where a declaration would have no scope.
    fn body(&mut self) -> Parsed<Stmt> {
        self.names.push();
        let stmt = self.statement_or_declaration()?;
        self.names.pop();
        if let StmtKind::Decl(_) = stmt.kind {
            self.diagnostics.error(stmt.span, Problem::DeclarationAsBody {});
        }
        Ok(stmt)
    }

    fn return_statement(&mut self) -> Parsed<StmtKind> {
        self.expect(&TokenKind::Return)?;
        let value = if *self.peek() == TokenKind::Semicolon { None } else { Some(self.expression()?) };
        self.word(StmtKind::Return(value))
    }

    fn switch_statement(&mut self) -> Parsed<StmtKind> {
        self.expect(&TokenKind::Switch)?;
        self.expect(&TokenKind::LParen)?;
        let value = self.expression()?;
        self.expect(&TokenKind::RParen)?;
        let cases = self.braced(Self::switch_case)?;
        Ok(StmtKind::Switch { value, cases })
    }

    fn switch_case(&mut self) -> Parsed<SwitchCase> {
        let start = self.span();
        let label = if self.eat(&TokenKind::Default) { None } else { Some(self.expression_without_brace()?) };
        let label_span = self.since(start);
        self.expect(&TokenKind::Colon)?;
        let has_body = matches!(self.peek(), TokenKind::LBrace | TokenKind::At | TokenKind::Pragma);
        let body = if has_body { Some(self.block()?) } else { None };
        Ok(SwitchCase { label, label_span, body })
    }

    fn for_statement(&mut self) -> Parsed<StmtKind> {
        self.expect(&TokenKind::For)?;
        self.expect(&TokenKind::LParen)?;
        self.names.push();
        let kind = if self.at_for_in() { self.for_in()? } else { self.for_loop()? };
        self.names.pop();
        Ok(kind)
    }

    /// Whether the parenthesis just opened contains `type name in ...`: it does if `in` comes before the next `;`.
    fn at_for_in(&self) -> bool {
        let words = (0..).map(|ahead| self.peek_at(ahead));
        let mut ends = words
            .filter(|kind| matches!(kind, TokenKind::In | TokenKind::Semicolon | TokenKind::LBrace | TokenKind::Eof));
        ends.next() == Some(&TokenKind::In)
    }

    fn for_in(&mut self) -> Parsed<StmtKind> {
        self.annotations()?;
        let ty = self.type_ref()?;
        let name = self.name()?;
        self.names.declare(&name.name, super::NameKind::Object);
        self.expect(&TokenKind::In)?;
        let first = self.expression()?;
        let collection = self.range_rest(first, false)?;
        self.expect(&TokenKind::RParen)?;
        Ok(StmtKind::ForIn { ty, name, collection, body: Box::new(self.body()?) })
    }

    fn for_loop(&mut self) -> Parsed<StmtKind> {
        let init = self.comma_list(&TokenKind::Semicolon, |parser| {
            parser.for_part(|parser| {
                let annotations = parser.annotations()?;
                if parser.at_type() { parser.declaration_or_operation(annotations) } else { parser.operation() }
            })
        })?;
        self.expect(&TokenKind::Semicolon)?;
        let cond = self.expression()?;
        self.expect(&TokenKind::Semicolon)?;
        let update = self.comma_list(&TokenKind::RParen, |parser| parser.for_part(Self::operation))?;
        self.expect(&TokenKind::RParen)?;
        Ok(StmtKind::For { init, cond, update, body: Box::new(self.body()?) })
    }

    fn for_part(&mut self, part: impl FnOnce(&mut Self) -> Parsed<StmtKind>) -> Parsed<Stmt> {
        let start: Span = self.span();
        let kind = part(self)?;
        Ok(Stmt { kind, span: self.since(start) })
    }
}
