// SPDX-License-Identifier: MIT OR Apache-2.0
//! Expressions of a given type.

use num_bigint::BigUint;

use super::Writer;
use super::scope::Type;

impl Writer<'_> {
    /// An expression of type `ty`, with operators nested at most `depth` deep.
    pub(super) fn expr(&mut self, ty: Type, depth: u32) -> String {
        if depth == 0 || self.operators == 0 {
            return self.leaf(ty);
        }
        self.operators -= 1;
        let depth = depth - 1;
        match ty {
            Type::Bool => self.condition(depth),
            Type::Bits(_) | Type::Int(_) => self.number(ty, depth),
        }
    }

    /// A variable, converted if it has another type, or a literal.
    fn leaf(&mut self, ty: Type) -> String {
        let choice = self.input.below(4);
        if choice == 0 {
            return self.literal(ty);
        }
        let same: Vec<usize> = self.places(|known| known == ty);
        if choice < 3 && !same.is_empty() {
            let at = self.input.below(same.len());
            return self.scope.variables[same[at]].name.clone();
        }
        let at = self.input.below(self.scope.variables.len());
        let variable = &self.scope.variables[at];
        convert(variable.name.clone(), variable.ty, ty)
    }

    /// Indices of the variables whose type satisfies `is`.
    pub(super) fn places(&self, is: impl Fn(Type) -> bool) -> Vec<usize> {
        let variables = self.scope.variables.iter().enumerate();
        variables.filter(|(_, variable)| is(variable.ty)).map(|(at, _)| at).collect()
    }

    pub(super) fn value(&mut self, width: u32) -> BigUint {
        let all = (BigUint::from(1u32) << width) - 1u32;
        self.input.value(width) & all
    }

    pub(super) fn literal(&mut self, ty: Type) -> String {
        match ty {
            Type::Bool => self.one_of(&["false", "true"]).to_owned(),
            Type::Bits(width) => format!("{width}w{}", self.value(width)),
            Type::Int(width) => format!("((int<{width}>){width}w{})", self.value(width)),
        }
    }

    /// A value that is not known at compile time. The value of a local variable may be known.
    fn unknown(&mut self, ty: Type) -> String {
        let variables = self.scope.variables.iter().filter(|variable| variable.name.contains('.'));
        let known: Vec<(String, Type)> = variables.map(|variable| (variable.name.clone(), variable.ty)).collect();
        let (name, from) = known[self.input.below(known.len())].clone();
        convert(name, from, ty)
    }

    fn number(&mut self, ty: Type, depth: u32) -> String {
        const OPERATORS: [&str; 8] = ["+", "-", "*", "&", "|", "^", "|+|", "|-|"];
        let width = ty.width();
        match self.input.below(16) {
            0 => self.leaf(ty),
            1..=5 => {
                let operator = self.one_of(&OPERATORS);
                format!("({} {operator} {})", self.expr(ty, depth), self.expr(ty, depth))
            }
            6 => format!("({}{})", self.one_of(&["-", "~"]), self.expr(ty, depth)),
            7 | 8 => {
                let operator = self.one_of(&["<<", ">>"]);
                let amount = Type::Bits(self.one_of(&[8, 3, 1, 7]));
                format!("({} {operator} {})", self.expr(ty, depth), self.expr(amount, depth))
            }
            9 => {
                let (condition, then) = (self.expr(Type::Bool, depth), self.expr(ty, depth));
                format!("({condition} ? {then} : {})", self.expr(ty, depth))
            }
            10 | 11 => {
                let from = self.scalar_type();
                convert(self.expr(from, depth), from, ty)
            }
            12 if ty == Type::Bits(width) => {
                let operator = self.one_of(&["/", "%"]);
                // BMv2 only supports division by powers of two.
                let power = BigUint::from(1u32) << self.input.below(width.min(256) as usize);
                format!("({} {operator} {width}w{power})", self.expr(ty, depth))
            }
            13 if ty == Type::Bits(width) => {
                let low = self.input.below(40) as u32;
                let above = self.input.below(40) as u32;
                let whole = width + low + above;
                // `int<1>` has no positive literals.
                let of = if self.input.below(3) == 2 && whole > 1 { Type::Int(whole) } else { Type::Bits(whole) };
                format!("({})[{}:{low}]", self.expr(of, depth), low + width - 1)
            }
            14 | 15 if ty == Type::Bits(width) && width > 1 => {
                let left = 1 + self.input.below(width as usize - 1) as u32;
                let (high, low) = (Type::Bits(left), Type::Bits(width - left));
                format!("({} ++ {})", self.expr(high, depth), self.expr(low, depth))
            }
            _ => self.leaf(ty),
        }
    }

    fn condition(&mut self, depth: u32) -> String {
        match self.input.below(10) {
            0 => self.leaf(Type::Bool),
            1 => self.header_condition(),
            2..=4 => {
                let (ty, operator) = (self.number_type(), self.one_of(&["<", "<=", ">", ">=", "==", "!="]));
                format!("({} {operator} {})", self.expr(ty, depth), self.expr(ty, depth))
            }
            5 => {
                let operator = self.one_of(&["==", "!="]);
                format!("({} {operator} {})", self.expr(Type::Bool, depth), self.expr(Type::Bool, depth))
            }
            6 => {
                let operator = self.one_of(&["&&", "||"]);
                format!("({} {operator} {})", self.expr(Type::Bool, depth), self.expr(Type::Bool, depth))
            }
            7 => format!("(!{})", self.expr(Type::Bool, depth)),
            8 => {
                let (condition, then) = (self.expr(Type::Bool, depth), self.expr(Type::Bool, depth));
                format!("({condition} ? {then} : {})", self.expr(Type::Bool, depth))
            }
            _ => self.header_equality(),
        }
    }

    pub(super) fn header_condition(&mut self) -> String {
        let names: Vec<String> = self.scope.headers.iter().map(|header| header.name.clone()).collect();
        format!("{}.isValid()", names[self.input.below(names.len())])
    }

    fn header_equality(&mut self) -> String {
        let (left, right) = self.alike();
        format!("({left} {} {right})", self.one_of(&["==", "!="]))
    }

    /// Two headers of one type; they may be the same.
    pub(super) fn alike(&mut self) -> (String, String) {
        let left = self.scope.headers[self.input.below(self.scope.headers.len())].clone();
        let others: Vec<&str> =
            self.scope.headers.iter().filter(|other| other.of == left.of).map(|other| &other.name[..]).collect();
        let right = others[self.input.below(others.len())].to_owned();
        (left.name, right)
    }

    /// An index that is not known at compile time.
    pub(super) fn index(&mut self) -> String {
        let ty = Type::Bits(self.one_of(&[8, 2, 32, 70]));
        format!("{} & {}", self.unknown(ty), self.literal(ty))
    }
}

/// Converts a value to another type: truncated, or extended with zeros or the sign.
pub(super) fn convert(text: String, from: Type, to: Type) -> String {
    match (from, to) {
        (from, to) if from == to => text,
        (Type::Bool, to) => convert(format!("((bit<1>){text})"), Type::Bits(1), to),
        (Type::Bits(1), Type::Bool) => format!("((bool){text})"),
        (_, Type::Bool) => format!("(({text})[0:0] == 1w1)"),
        (Type::Bits(_), Type::Bits(_)) | (Type::Int(_), Type::Int(_)) => format!("(({to}){text})"),
        (Type::Bits(_), Type::Int(width)) => format!("(({to})(bit<{width}>){text})"),
        (Type::Int(width), Type::Bits(_)) => format!("(({to})(bit<{width}>){text})"),
    }
}
