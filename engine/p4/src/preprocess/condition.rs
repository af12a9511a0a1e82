// SPDX-License-Identifier: MIT OR Apache-2.0
//! Expressions of `#if` and `#elif` (C11 6.10.1), after macro expansion.

use crate::diagnostics::Problem;
use crate::preprocess::lex::{PpKind, PpToken};
use crate::source::Span;

/// A value of `intmax_t` or `uintmax_t`.
#[derive(Clone, Copy)]
struct Value {
    bits: i64,
    unsigned: bool,
}

type Result<T> = std::result::Result<T, (Span, Problem)>;

/// Maximum nesting of parentheses and unary operators.
const MAX_DEPTH: usize = 200;

/// Evaluates the condition of the directive at `span`.
pub(crate) fn evaluate(tokens: &[PpToken], span: Span) -> Result<bool> {
    let mut parser = Parser { tokens, at: 0, end: span, depth: 0 };
    let value = parser.ternary(true)?;
    match parser.tokens.get(parser.at) {
        None => Ok(value.bits != 0),
        Some(extra) => Err((extra.span, Problem::BadCondition { found: extra.text.clone() })),
    }
}

struct Parser<'a> {
    tokens: &'a [PpToken],
    at: usize,
    end: Span,
    depth: usize,
}

fn truth(value: bool) -> Value {
    Value { bits: value.into(), unsigned: false }
}

/// Binary operators by rising precedence.
const LEVELS: [&[&str]; 10] = [
    &["||"],
    &["&&"],
    &["|"],
    &["^"],
    &["&"],
    &["==", "!="],
    &["<", ">", "<=", ">="],
    &["<<", ">>"],
    &["+", "-"],
    &["*", "/", "%"],
];

impl Parser<'_> {
    /// Reads one of the operators; `>>` and `&&&` are tokenized as in P4.
    fn operator(&mut self, operators: &[&'static str]) -> Option<&'static str> {
        let token = self.tokens.get(self.at)?;
        if operators.contains(&">>")
            && token.is(">")
            && self.tokens.get(self.at + 1).is_some_and(|t| t.is(">") && !t.space)
        {
            self.at += 2;
            return Some(">>");
        }
        let shift = token.is(">") && self.tokens.get(self.at + 1).is_some_and(|t| t.is(">") && !t.space);
        let found = operators.iter().copied().find(|operator| token.is(operator) && !shift)?;
        self.at += 1;
        Some(found)
    }

    fn fail<T>(&self) -> Result<T> {
        Err(match self.tokens.get(self.at) {
            Some(token) => (token.span, Problem::BadCondition { found: token.text.clone() }),
            None => (self.end, Problem::BadCondition { found: "end of line".into() }),
        })
    }

    /// `live` is false in a part that is not evaluated, where a division by zero does not matter.
    fn ternary(&mut self, live: bool) -> Result<Value> {
        let condition = self.binary(0, live)?;
        if self.operator(&["?"]).is_none() {
            return Ok(condition);
        }
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return self.fail();
        }
        let taken = condition.bits != 0;
        let then = self.ternary(live && taken)?;
        if self.operator(&[":"]).is_none() {
            return self.fail();
        }
        let otherwise = self.ternary(live && !taken)?;
        self.depth -= 1;
        let unsigned = then.unsigned || otherwise.unsigned;
        Ok(Value { bits: if taken { then.bits } else { otherwise.bits }, unsigned })
    }

    fn binary(&mut self, level: usize, live: bool) -> Result<Value> {
        let Some(operators) = LEVELS.get(level) else { return self.unary(live) };
        let mut left = self.binary(level + 1, live)?;
        loop {
            let place = self.tokens.get(self.at).map_or(self.end, |token| token.span);
            let Some(operator) = self.operator(operators) else { return Ok(left) };
            let right_live = live
                && match operator {
                    "||" => left.bits == 0,
                    "&&" => left.bits != 0,
                    _ => true,
                };
            let right = self.binary(level + 1, right_live)?;
            left = match apply(operator, left, right) {
                Some(value) => value,
                None if live => return Err((place, Problem::ConditionDivisionByZero {})),
                None => truth(false),
            };
        }
    }

    fn unary(&mut self, live: bool) -> Result<Value> {
        let Some(operator) = self.operator(&["!", "~", "-", "+", "("]) else { return self.primary() };
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return self.fail();
        }
        let value = if operator == "(" {
            let value = self.ternary(live)?;
            if self.operator(&[")"]).is_none() {
                return self.fail();
            }
            value
        } else {
            let value = self.unary(live)?;
            match operator {
                "!" => truth(value.bits == 0),
                "~" => Value { bits: !value.bits, ..value },
                "-" => Value { bits: value.bits.wrapping_neg(), ..value },
                _ => value,
            }
        };
        self.depth -= 1;
        Ok(value)
    }

    fn primary(&mut self) -> Result<Value> {
        let Some(token) = self.tokens.get(self.at) else { return self.fail() };
        let value = match token.kind {
            PpKind::Number => number(&token.text),
            PpKind::Ident => Some(truth(false)), // a name that is not a macro counts as 0
            _ => None,
        };
        match value {
            Some(value) => {
                self.at += 1;
                Ok(value)
            }
            None => self.fail(),
        }
    }
}

fn number(text: &str) -> Option<Value> {
    let digits = text.trim_end_matches(['u', 'U', 'l', 'L']);
    let suffix = &text[digits.len()..];
    let (radix, digits) = match digits.as_bytes() {
        [b'0', b'x' | b'X', ..] => (16, &digits[2..]),
        [b'0', b'b' | b'B', ..] => (2, &digits[2..]),
        [b'0', _, ..] => (8, &digits[1..]),
        _ => (10, digits),
    };
    let bits = u64::from_str_radix(digits, radix).ok()?;
    Some(Value { bits: bits as i64, unsigned: suffix.contains(['u', 'U']) || bits > i64::MAX as u64 })
}

/// `None` for a division by zero.
fn apply(operator: &str, left: Value, right: Value) -> Option<Value> {
    let unsigned = left.unsigned || right.unsigned;
    let (a, b) = (left.bits, right.bits);
    let (ua, ub) = (a as u64, b as u64);
    let less = if unsigned { ua < ub } else { a < b };
    let bits = match operator {
        "||" => return Some(truth(a != 0 || b != 0)),
        "&&" => return Some(truth(a != 0 && b != 0)),
        "==" => return Some(truth(a == b)),
        "!=" => return Some(truth(a != b)),
        "<" => return Some(truth(less)),
        ">=" => return Some(truth(!less)),
        ">" => return Some(truth(!less && a != b)),
        "<=" => return Some(truth(less || a == b)),
        "|" => a | b,
        "^" => a ^ b,
        "&" => a & b,
        "+" => a.wrapping_add(b),
        "-" => a.wrapping_sub(b),
        "*" => a.wrapping_mul(b),
        "<<" | ">>" => return Some(Value { bits: shift(operator == "<<", left, right), ..left }),
        "/" if unsigned => ua.checked_div(ub)? as i64,
        "%" if unsigned => ua.checked_rem(ub)? as i64,
        "/" => (b != 0).then(|| a.wrapping_div(b))?,
        _ => (b != 0).then(|| a.wrapping_rem(b))?,
    };
    Some(Value { bits, unsigned })
}

/// A negative amount shifts the other way, as in GNU cpp.
fn shift(left: bool, value: Value, amount: Value) -> i64 {
    let negative = !amount.unsigned && amount.bits < 0;
    let by = if negative { amount.bits.unsigned_abs() } else { amount.bits as u64 };
    let by = u32::try_from(by).unwrap_or(u32::MAX);
    match (left != negative, value.unsigned) {
        (true, _) => value.bits.checked_shl(by).unwrap_or(0),
        (false, true) => (value.bits as u64).checked_shr(by).unwrap_or(0) as i64,
        (false, false) => value.bits >> by.min(63),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostics::Diagnostics;
    use crate::source::FileId;

    fn value(text: &str) -> Result<bool> {
        let mut tokens = crate::preprocess::lex::lex(FileId(0), text, &mut Diagnostics::default());
        tokens.pop();
        evaluate(&tokens, Span::default())
    }

    #[test]
    fn conditions_follow_c() {
        for text in [
            "1",
            "2 > 1",
            "1 || 1/0",
            "!(0 && 1/0)",
            "-1 < 0",
            "-1 > 0u",
            "0x10 == 020",
            "1 << 3 >> 2 == 2",
            "1 ? 1 : 0",
            "7 % 4 == 3",
            "~0 == -1",
            "name == 0",
            "(1 | 2) == 3",
            "6 / -3 == -2",
        ] {
            assert!(value(text).is_ok_and(|v| v), "{text}");
        }
    }

    #[test]
    fn broken_conditions_are_errors() {
        for text in ["", "1 +", "(1", "1 2", "1/0", "\"a\"", "1 ? 2"] {
            assert!(value(text).is_err(), "{text}");
        }
    }
}
