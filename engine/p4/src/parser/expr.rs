// SPDX-License-Identifier: MIT OR Apache-2.0
//! Expressions (spec section 8).

use crate::ast::{Argument, BinaryOp, Call, Expr, ExprKind, Ident, KeysetExpr, Path, Type, TypeKind, UnaryOp};
use crate::diagnostics::Problem;
use crate::source::Span;
use crate::token::TokenKind;

use super::{Failed, MAX_DEPTH, Parsed, Parser, names};

/// Contexts that change how an expression is parsed, by the token that may follow it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Context {
    Plain,
    /// In `bit<...>`, where `>` closes (`nonGrtExpression` of the grammar).
    BeforeAngle,
    /// As a `switch` label, where `{` opens the body (`nonBraceExpression`).
    NoBrace,
}

/// Precedence of binary operators; a higher number binds tighter.
fn binary_operator(kind: &TokenKind) -> Option<(BinaryOp, u8)> {
    Some(match kind {
        TokenKind::OrOr => (BinaryOp::Or, 1),
        TokenKind::AndAnd => (BinaryOp::And, 2),
        TokenKind::EqEq => (BinaryOp::Eq, 3),
        TokenKind::Ne => (BinaryOp::Ne, 3),
        TokenKind::Lt => (BinaryOp::Lt, 4),
        TokenKind::Gt => (BinaryOp::Gt, 4),
        TokenKind::Le => (BinaryOp::Le, 4),
        TokenKind::Ge => (BinaryOp::Ge, 4),
        TokenKind::Pipe => (BinaryOp::BitOr, 5),
        TokenKind::Caret => (BinaryOp::BitXor, 6),
        TokenKind::Amp => (BinaryOp::BitAnd, 7),
        TokenKind::Shl => (BinaryOp::Shl, 8),
        TokenKind::GtJoint => (BinaryOp::Shr, 8),
        TokenKind::Concat => (BinaryOp::Concat, 9),
        TokenKind::Plus => (BinaryOp::Add, 9),
        TokenKind::Minus => (BinaryOp::Sub, 9),
        TokenKind::PlusSat => (BinaryOp::AddSat, 9),
        TokenKind::MinusSat => (BinaryOp::SubSat, 9),
        TokenKind::Star => (BinaryOp::Mul, 10),
        TokenKind::Slash => (BinaryOp::Div, 10),
        TokenKind::Percent => (BinaryOp::Mod, 10),
        _ => return None,
    })
}

impl Parser<'_> {
    /// `expression`
    pub(super) fn expression(&mut self) -> Parsed<Expr> {
        self.nested(|parser| parser.conditional(Context::Plain))
    }

    pub(super) fn expression_before_angle(&mut self) -> Parsed<Expr> {
        self.nested(|parser| parser.conditional(Context::BeforeAngle))
    }

    pub(super) fn expression_without_brace(&mut self) -> Parsed<Expr> {
        self.nested(|parser| parser.conditional(Context::NoBrace))
    }

    /// Creates a node, within the height limit.
    fn node(&mut self, kind: ExprKind, span: Span, children: &[u32]) -> Parsed<Expr> {
        let height = children.iter().max().map_or(1, |highest| highest + 1);
        if height > MAX_DEPTH {
            self.diagnostics.error(span, Problem::TooDeep { limit: MAX_DEPTH });
            return Err(Failed);
        }
        Ok(Expr { kind, span, height })
    }

    fn conditional(&mut self, context: Context) -> Parsed<Expr> {
        let cond = self.binary(0, context)?;
        self.conditional_rest(cond, context)
    }

    /// `? expression : expression`, repeated. Unlike in C, the conditional associates to the left, as in the
    /// grammar of p4c, where `:` binds tighter than `?`.
    fn conditional_rest(&mut self, mut cond: Expr, context: Context) -> Parsed<Expr> {
        while self.eat(&TokenKind::Question) {
            let then = self.expression()?;
            self.expect(&TokenKind::Colon)?;
            let otherwise = self.nested(|parser| parser.binary(0, context))?;
            let heights = [cond.height, then.height, otherwise.height];
            let span = cond.span.to(otherwise.span);
            cond = self.node(ExprKind::Mux(Box::new(cond), Box::new(then), Box::new(otherwise)), span, &heights)?;
        }
        Ok(cond)
    }

    /// Binary operators that bind at least as strongly as `least`; all associate to the left.
    fn binary(&mut self, least: u8, context: Context) -> Parsed<Expr> {
        let left = self.prefix(context)?;
        self.binary_rest(left, least, context)
    }

    fn binary_rest(&mut self, mut left: Expr, least: u8, context: Context) -> Parsed<Expr> {
        loop {
            let closes = context == Context::BeforeAngle && matches!(self.peek(), TokenKind::Gt | TokenKind::GtJoint);
            let Some((op, strength)) = binary_operator(self.peek()).filter(|_| !closes) else { return Ok(left) };
            if strength < least {
                return Ok(left);
            }
            self.bump();
            if op == BinaryOp::Shr {
                self.expect(&TokenKind::Gt)?;
            }
            let right = self.nested(|parser| parser.binary(strength + 1, context))?;
            left = self.binary_node(op, left, right)?;
        }
    }

    fn binary_node(&mut self, op: BinaryOp, left: Expr, right: Expr) -> Parsed<Expr> {
        let (heights, span) = ([left.height, right.height], left.span.to(right.span));
        self.node(ExprKind::Binary(op, Box::new(left), Box::new(right)), span, &heights)
    }

    fn prefix(&mut self, context: Context) -> Parsed<Expr> {
        let start = self.span();
        let op = match self.peek() {
            TokenKind::Not => UnaryOp::Not,
            TokenKind::Tilde => UnaryOp::Complement,
            TokenKind::Minus => UnaryOp::Minus,
            TokenKind::Plus => UnaryOp::Plus,
            TokenKind::LParen => return self.parenthesis(context),
            _ => {
                let primary = self.primary(context)?;
                return self.postfix(primary);
            }
        };
        self.bump();
        let operand = self.nested(|parser| parser.prefix(context))?;
        let (height, span) = (operand.height, start.to(operand.span));
        self.node(ExprKind::Unary(op, Box::new(operand)), span, &[height])
    }

    /// `( expression )` or the cast `( typeRef ) expression`
    fn parenthesis(&mut self, context: Context) -> Parsed<Expr> {
        let start = self.expect(&TokenKind::LParen)?;
        let inner = if self.at_type() {
            let ty = self.type_ref()?;
            if self.eat(&TokenKind::RParen) {
                let operand = self.nested(|parser| parser.prefix(context))?;
                let (height, span) = (operand.height, start.to(operand.span));
                return self.node(ExprKind::Cast(ty, Box::new(operand)), span, &[height]);
            }
            self.nested(|parser| {
                let first = parser.expression_from_type(ty)?;
                let first = parser.postfix(first)?;
                parser.conditional_from(first)
            })?
        } else {
            self.expression()?
        };
        self.expect(&TokenKind::RParen)?;
        let inner = Expr { span: self.since(start), ..inner };
        self.postfix(inner)
    }

    /// The rest of an expression whose first operand has been read.
    fn conditional_from(&mut self, first: Expr) -> Parsed<Expr> {
        let cond = self.binary_rest(first, 0, Context::Plain)?;
        self.conditional_rest(cond, Context::Plain)
    }

    fn primary(&mut self, context: Context) -> Parsed<Expr> {
        let span = self.span();
        let kind = match self.peek().clone() {
            TokenKind::Int(literal) => ExprKind::Int(literal.value.clone(), literal.ty),
            TokenKind::Str(text) => ExprKind::String(text),
            TokenKind::True => ExprKind::Bool(true),
            TokenKind::False => ExprKind::Bool(false),
            TokenKind::This => ExprKind::This,
            TokenKind::InvalidHeader if context != Context::NoBrace => ExprKind::InvalidHeader,
            TokenKind::Dots if context != Context::NoBrace => ExprKind::Dots,
            TokenKind::LBrace if context != Context::NoBrace => return self.brace_expression(),
            _ if self.at_type() => {
                let ty = self.type_ref()?;
                return self.expression_from_type(ty);
            }
            TokenKind::Dot => {
                self.bump();
                let name = self.non_type_name()?;
                let span = span.to(name.span);
                return self.node(ExprKind::Path(Path { absolute: true, name }), span, &[]);
            }
            _ => {
                let name = self.non_type_name()?;
                return self.node(ExprKind::Path(Path { absolute: false, name }), span, &[]);
            }
        };
        self.bump();
        self.node(kind, span, &[])
    }

    /// `nonTypeName`
    pub(super) fn non_type_name(&mut self) -> Parsed<Ident> {
        let name = match self.peek() {
            TokenKind::Ident(name) => name.clone(),
            kind => match names::soft_keyword(kind) {
                Some(word) => word.into(),
                None => return self.unexpected("an expression"),
            },
        };
        let span = self.bump().span;
        Ok(Ident { name, span })
    }

    /// `Type.member`, `error.member` or `Type(args)`
    fn expression_from_type(&mut self, ty: Type) -> Parsed<Expr> {
        let start = ty.span;
        match (self.peek(), &ty.kind) {
            (TokenKind::Dot, TypeKind::Error | TypeKind::Name(_) | TypeKind::Specialized(..)) => {
                self.bump();
                let member = self.name()?;
                let span = self.since(start);
                self.node(ExprKind::TypeMember(ty, member), span, &[])
            }
            (TokenKind::LParen, TypeKind::Name(_) | TypeKind::Specialized(..)) => {
                let (args, height) = self.arguments()?;
                let span = self.since(start);
                self.node(ExprKind::Construct(ty, args), span, &[height])
            }
            _ => {
                let entry = self.diagnostics.error(start, Problem::TypeAsExpression {});
                if let TypeKind::Name(path) | TypeKind::Specialized(path, _) = &ty.kind {
                    entry.help(format!("create an instance of it with parentheses: `{}(...)`", path.name.name));
                }
                Err(Failed)
            }
        }
    }

    /// Suffixes of an operand: `.member`, `[index]`, `[hi:lo]`, `(args)`, `<types>(args)`.
    fn postfix(&mut self, mut operand: Expr) -> Parsed<Expr> {
        loop {
            operand = match self.peek() {
                TokenKind::Dot => {
                    self.bump();
                    let member = self.name()?;
                    let (height, span) = (operand.height, operand.span.to(member.span));
                    self.node(ExprKind::Member(Box::new(operand), member), span, &[height])?
                }
                TokenKind::LBracket => self.subscript(operand)?,
                TokenKind::LParen => self.call(operand, Vec::new())?,
                TokenKind::Lt if self.starts_type_arguments(&operand) => {
                    let type_args = self.type_arguments()?;
                    self.call(operand, type_args)?
                }
                _ => return Ok(operand),
            };
        }
    }

    /// Whether the next `<` opens type arguments of `operand` (`realTypeArgumentList` of the grammar). It does if a
    /// type follows that does not begin an expression such as `T.member` or `T(args)`.
    fn starts_type_arguments(&self, operand: &Expr) -> bool {
        if !matches!(operand.kind, ExprKind::Path(_) | ExprKind::Member(..) | ExprKind::TypeMember(..)) {
            return false;
        }
        let (name, absolute) = match (self.peek_at(1), self.peek_at(2)) {
            (TokenKind::Error, next) => return *next != TokenKind::Dot,
            (TokenKind::Dot, TokenKind::Ident(name)) => (name, true),
            (TokenKind::Ident(name), _) => (name, false),
            (TokenKind::Void | TokenKind::Underscore | TokenKind::Bool | TokenKind::Bit | TokenKind::Int_, _)
            | (TokenKind::Varbit | TokenKind::String_ | TokenKind::Tuple | TokenKind::List, _)
            | (TokenKind::MatchKind, _) => return true,
            _ => return false,
        };
        let next = self.peek_at(if absolute { 3 } else { 2 });
        self.names.is_type(name, absolute) && !matches!(next, TokenKind::Dot | TokenKind::LParen)
    }

    fn subscript(&mut self, of: Expr) -> Parsed<Expr> {
        let start = of.span;
        self.expect(&TokenKind::LBracket)?;
        let first = self.expression()?;
        let heights = [of.height, first.height];
        let (of, first) = (Box::new(of), Box::new(first));
        let kind = match self.peek() {
            TokenKind::Colon => {
                self.bump();
                ExprKind::Slice(of, first, Box::new(self.expression()?))
            }
            TokenKind::PlusColon => {
                self.bump();
                ExprKind::PlusSlice(of, first, Box::new(self.expression()?))
            }
            _ => ExprKind::Index(of, first),
        };
        self.expect(&TokenKind::RBracket)?;
        let span = self.since(start);
        self.node(kind, span, &heights)
    }

    pub(super) fn call(&mut self, callee: Expr, type_args: Vec<Type>) -> Parsed<Expr> {
        let start = callee.span;
        let (args, height) = self.arguments()?;
        let heights = [callee.height, height];
        let span = self.since(start);
        self.node(ExprKind::Call(Box::new(Call { callee, type_args, args })), span, &heights)
    }

    /// `( argumentList )`, and the greatest height of an argument.
    pub(super) fn arguments(&mut self) -> Parsed<(Vec<Argument>, u32)> {
        self.expect(&TokenKind::LParen)?;
        let args = self.comma_list(&TokenKind::RParen, Self::argument)?;
        self.expect(&TokenKind::RParen)?;
        let height = args.iter().filter_map(|arg| arg.value.as_ref()).map(|value| value.height).max().unwrap_or(0);
        Ok((args, height))
    }

    fn argument(&mut self) -> Parsed<Argument> {
        let start = self.span();
        let named = self.at_name() && *self.peek_at(1) == TokenKind::Assign;
        let name = if named { Some(self.key()?) } else { None };
        let value = if self.eat(&TokenKind::Underscore) { None } else { Some(self.expression()?) };
        Ok(Argument { name, value, span: self.since(start) })
    }

    /// `name =`
    fn key(&mut self) -> Parsed<Ident> {
        let name = self.name()?;
        self.expect(&TokenKind::Assign)?;
        Ok(name)
    }

    /// `{ a, b }` or `{ x = a, y = b, ... }`
    fn brace_expression(&mut self) -> Parsed<Expr> {
        let start = self.expect(&TokenKind::LBrace)?;
        let close = TokenKind::RBrace;
        if !(self.at_name() && *self.peek_at(1) == TokenKind::Assign) {
            let items = self.comma_list_trailing(&close, Self::expression)?;
            let end = self.expect(&close)?;
            let height = items.iter().map(|item| item.height).max().unwrap_or(0);
            return self.node(ExprKind::List(items), start.to(end), &[height]);
        }
        let mut fields = Vec::new();
        let mut dots = None;
        while *self.peek() != close && dots.is_none() {
            match self.peek() {
                TokenKind::Dots => dots = Some(self.bump().span),
                _ => fields.push(self.key_value()?),
            }
            if !self.eat(&TokenKind::Comma) {
                break;
            }
        }
        let end = self.expect(&close)?;
        let height = fields.iter().map(|(_, value)| value.height).max().unwrap_or(0);
        self.node(ExprKind::Record { fields, dots }, start.to(end), &[height])
    }

    /// `keysetExpression`
    pub(super) fn keyset(&mut self) -> Parsed<KeysetExpr> {
        let start = self.span();
        if *self.peek() != TokenKind::LParen || self.parenthesis_is_operand() {
            let set = self.simple_keyset()?;
            return Ok(KeysetExpr { sets: vec![set], tuple: false, span: self.since(start) });
        }
        self.bump();
        let sets = self.comma_list(&TokenKind::RParen, Self::simple_keyset)?;
        self.expect(&TokenKind::RParen)?;
        let plain = |set: &Expr| !matches!(set.kind, ExprKind::Mask(..) | ExprKind::Range(..) | ExprKind::Any);
        let tuple = sets.len() != 1 || !plain(&sets[0]);
        Ok(KeysetExpr { sets, tuple, span: self.since(start) })
    }

    /// Whether the parenthesis that opens here is part of an expression, not a tuple of sets: it is if its closing
    /// parenthesis does not end the set.
    fn parenthesis_is_operand(&self) -> bool {
        let mut depth = 0;
        let mut ahead = 0;
        loop {
            match self.peek_at(ahead) {
                TokenKind::LParen => depth += 1,
                TokenKind::RParen => depth -= 1,
                TokenKind::Eof | TokenKind::Semicolon => return false,
                _ => {}
            }
            ahead += 1;
            if depth == 0 {
                return !matches!(self.peek_at(ahead), TokenKind::Colon);
            }
        }
    }

    /// `simpleKeysetExpression`
    fn simple_keyset(&mut self) -> Parsed<Expr> {
        let span = self.span();
        if matches!(self.peek(), TokenKind::Default | TokenKind::Underscore) {
            self.bump();
            return self.node(ExprKind::Any, span, &[]);
        }
        let left = self.expression()?;
        self.range_rest(left, true)
    }

    /// `.. expression` or, if allowed, `&&& expression` after an expression.
    pub(super) fn range_rest(&mut self, left: Expr, masks: bool) -> Parsed<Expr> {
        let make: fn(Box<Expr>, Box<Expr>) -> ExprKind = match self.peek() {
            TokenKind::Mask if masks => ExprKind::Mask,
            TokenKind::Range => ExprKind::Range,
            _ => return Ok(left),
        };
        self.bump();
        let right = self.expression()?;
        let (heights, span) = ([left.height, right.height], left.span.to(right.span));
        self.node(make(Box::new(left), Box::new(right)), span, &heights)
    }

    /// `lvalue`, and a call of it; in a statement, any `<` begins type arguments.
    pub(super) fn statement_operand(&mut self, first: Option<Type>) -> Parsed<Expr> {
        let mut operand = match first {
            Some(ty) => {
                let operand = self.expression_from_type(ty)?;
                self.postfix(operand)?
            }
            None => self.nested(|parser| parser.prefix(Context::Plain))?,
        };
        if *self.peek() == TokenKind::Lt {
            let type_args = self.type_arguments()?;
            operand = self.call(operand, type_args)?;
        }
        Ok(operand)
    }
}
