// SPDX-License-Identifier: MIT OR Apache-2.0
//! Annotations as data.

use num_bigint::BigInt;

use crate::arith;
use crate::ast::{self, AnnotationBody, BinaryOp, ExprKind, UnaryOp};
use crate::token::{Token, TokenKind};
use crate::typed::Program;

use super::value::{self, Bound, is_arithmetic};
use super::{Annotation, Value};

/// Annotations of a declaration.
pub(super) fn describe(program: &Program, annotations: &[ast::Annotation]) -> Vec<Annotation> {
    annotations.iter().map(|annotation| one(program, annotation)).collect()
}

/// An annotation that consists of its name.
pub(super) fn bare(name: &str) -> Annotation {
    let (values, pairs) = (Some(Vec::new()), Some(Vec::new()));
    Annotation { name: name.to_string(), structured: false, text: String::new(), values, pairs }
}

fn one(program: &Program, annotation: &ast::Annotation) -> Annotation {
    let name = annotation.name.name.to_string();
    match &annotation.body {
        AnnotationBody::Tokens(tokens) => {
            let text: Vec<String> = tokens.iter().map(written).collect();
            let parts = || tokens.split(|token| token.kind == TokenKind::Comma).filter(|part| !part.is_empty());
            let (values, pairs) = (parts().map(literal).collect(), parts().map(pair).collect());
            Annotation { name, structured: false, text: text.join(" "), values, pairs }
        }
        AnnotationBody::Expressions(list) => {
            let values = list.iter().map(|expr| value(program, expr)).collect();
            Annotation { name, structured: true, text: String::new(), values, pairs: None }
        }
        AnnotationBody::KeyValues(list) => {
            let pairs = list.iter().map(|(key, expr)| Some((key.name.to_string(), value(program, expr)?)));
            let pairs = pairs.collect();
            Annotation { name, structured: true, text: String::new(), values: None, pairs }
        }
    }
}

/// A token as in the source, as far as the token preserves it.
fn written(token: &Token) -> String {
    match &token.kind {
        TokenKind::Int(literal) => match literal.ty {
            Some((width, signed)) => format!("{width}{}{}", if signed { 's' } else { 'w' }, literal.digits()),
            None => literal.digits(),
        },
        kind => kind.to_string(),
    }
}

/// `key = literal`
fn pair(tokens: &[Token]) -> Option<(String, Value)> {
    let [key, equals, rest @ ..] = tokens else { return None };
    let key = match &key.kind {
        TokenKind::Ident(name) => name.to_string(),
        other => other.keyword_text()?.to_string(),
    };
    (equals.kind == TokenKind::Assign).then_some((key, literal(rest)?))
}

/// A number, `true` or `false`, or strings joined by `++`. A single type stands for its width, as in
/// `@p4runtime_translation("uri", bit<32>)`.
fn literal(tokens: &[Token]) -> Option<Value> {
    let kinds: Vec<&TokenKind> = tokens.iter().map(|token| &token.kind).collect();
    match &kinds[..] {
        [TokenKind::Int(literal)] => Some(Value::Number(literal.value.to_string())),
        [TokenKind::True] => Some(Value::Bool(true)),
        [TokenKind::False] => Some(Value::Bool(false)),
        [TokenKind::String_] => Some(Value::Member("string".into())),
        [TokenKind::Bit, TokenKind::Lt, TokenKind::Int(width), TokenKind::Gt] => {
            Some(Value::Number(width.value.to_string()))
        }
        _ => text(&kinds).map(Value::Text),
    }
}

fn text(kinds: &[&TokenKind]) -> Option<String> {
    let mut text = String::new();
    for (index, kind) in kinds.iter().enumerate() {
        match (kind, index % 2) {
            (TokenKind::Str(part), 0) => text.push_str(part),
            (TokenKind::Concat, 1) => {}
            _ => return None,
        }
    }
    (kinds.len() % 2 == 1).then_some(text)
}

/// The value of an expression in a structured annotation: literals, constants and operators on them.
fn value(program: &Program, expr: &ast::Expr) -> Option<Value> {
    let of = |expr: &ast::Expr| value(program, expr);
    let number = |expr: &ast::Expr| match of(expr)? {
        Value::Number(digits) => digits.parse::<BigInt>().ok(),
        _ => None,
    };
    Some(match &expr.kind {
        ExprKind::Bool(value) => Value::Bool(*value),
        ExprKind::String(text) => Value::Text(text.to_string()),
        ExprKind::Int(value, _) => Value::Number(value.to_string()),
        ExprKind::Path(path) => {
            let decl = program.consts.iter().rev().find(|decl| decl.name == path.name.name)?;
            value::value(program, &Bound::default(), &decl.value)?
        }
        ExprKind::Unary(UnaryOp::Not, inner) => Value::Bool(of(inner)? == Value::Bool(false)),
        ExprKind::Unary(UnaryOp::Minus, inner) => Value::Number((-number(inner)?).to_string()),
        ExprKind::Unary(UnaryOp::Plus, inner) => of(inner)?,
        ExprKind::Binary(op, left, right) if is_arithmetic(*op) => {
            Value::Number(arith::binary(*op, None, &number(left)?, &number(right)?).ok()?.to_string())
        }
        ExprKind::Binary(op, left, right) => match (op, of(left)?, of(right)?) {
            (BinaryOp::And, Value::Bool(left), Value::Bool(right)) => Value::Bool(left && right),
            (BinaryOp::Or, Value::Bool(left), Value::Bool(right)) => Value::Bool(left || right),
            (BinaryOp::Concat, Value::Text(left), Value::Text(right)) => Value::Text(left + &right),
            (op, left, right) => Value::Bool(value::compare(*op, &left, &right)?),
        },
        _ => return None,
    })
}
