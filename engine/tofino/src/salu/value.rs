// SPDX-License-Identifier: MIT OR Apache-2.0
//! Values and conditions in a stateful ALU.

use marklab_p4::ir::{BinaryOp, MathUnitId, Ty};
use marklab_p4::source::Span;
use num_bigint::BigInt;

use crate::limit::Limit;

/// Index of a word of an element: 0 is the low one.
pub(crate) type Word = usize;

/// Operand of an instruction.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Operand {
    /// The old value of a word of the register.
    Memory(Word),
    /// The new value of a word, which this access stores. It can only be an output.
    Stored(Word),
    /// A value of the packet, as a text that identifies it, and its width.
    Packet(String, u32),
    Constant(BigInt),
    Math(MathUnitId, Box<Operand>),
}

impl Operand {
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Operand::Memory(_) | Operand::Stored(_) => "a word of the register",
            Operand::Packet(..) => "a value of the packet",
            Operand::Constant(_) => "a constant",
            Operand::Math(..) => "a result of a math unit",
        }
    }

    pub(crate) fn is_zero(&self) -> bool {
        matches!(self, Operand::Constant(value) if *value == BigInt::ZERO)
    }
}

/// Operations of the ALU: operators of P4, and others.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Op {
    Binary(BinaryOp),
    /// A bitwise operation in which operands or the result are complemented.
    Complemented,
    Min,
    Max,
}

/// Value of an expression, in operations of the ALU.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Value {
    Operand(Operand),
    /// An operation, with the type in which P4 calculates it.
    Operation(Op, Operand, Operand, Ty),
    /// Two operations, ORed.
    Either(Box<Value>, Box<Value>),
    Condition(Predicate),
    /// Values that were assigned on different paths.
    Cases(Vec<(Predicate, Value)>),
    /// A value that no ALU can compute. It is reported if it is used.
    Bad(Limit, Span),
}

impl Value {
    pub(crate) fn constant(value: impl Into<BigInt>) -> Value {
        Value::Operand(Operand::Constant(value.into()))
    }
}

/// A boolean function of the comparisons.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Predicate {
    Always,
    Never,
    /// The comparison with this index.
    Comparison(usize),
    Not(Box<Predicate>),
    All(Box<Predicate>, Box<Predicate>),
    Any(Box<Predicate>, Box<Predicate>),
}

impl Predicate {
    pub(crate) fn and(self, other: Predicate) -> Predicate {
        match (self, other) {
            (Predicate::Always, one) | (one, Predicate::Always) => one,
            (Predicate::Never, _) | (_, Predicate::Never) => Predicate::Never,
            (one, other) => Predicate::All(Box::new(one), Box::new(other)),
        }
    }

    pub(crate) fn or(self, other: Predicate) -> Predicate {
        match (self, other) {
            (Predicate::Never, one) | (one, Predicate::Never) => one,
            (Predicate::Always, _) | (_, Predicate::Always) => Predicate::Always,
            (one, other) => Predicate::Any(Box::new(one), Box::new(other)),
        }
    }

    pub(crate) fn not(self) -> Predicate {
        match self {
            Predicate::Always => Predicate::Never,
            Predicate::Never => Predicate::Always,
            Predicate::Not(of) => *of,
            other => Predicate::Not(Box::new(other)),
        }
    }

    /// Value of the predicate, if the bits of `truths` are the values of the comparisons.
    pub(crate) fn holds(&self, truths: u32) -> bool {
        match self {
            Predicate::Always => true,
            Predicate::Never => false,
            Predicate::Comparison(index) => truths >> index & 1 == 1,
            Predicate::Not(of) => !of.holds(truths),
            Predicate::All(one, other) => one.holds(truths) && other.holds(truths),
            Predicate::Any(one, other) => one.holds(truths) || other.holds(truths),
        }
    }
}

/// Relation between the sum of a comparison's terms and 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Relation {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl Relation {
    pub(crate) fn of(op: BinaryOp) -> Option<Relation> {
        Some(match op {
            BinaryOp::Eq => Relation::Equal,
            BinaryOp::Ne => Relation::NotEqual,
            BinaryOp::Lt => Relation::Less,
            BinaryOp::Le => Relation::LessOrEqual,
            BinaryOp::Gt => Relation::Greater,
            BinaryOp::Ge => Relation::GreaterOrEqual,
            _ => return None,
        })
    }

    pub(crate) fn negated(self) -> Relation {
        match self {
            Relation::Equal => Relation::NotEqual,
            Relation::NotEqual => Relation::Equal,
            Relation::Less => Relation::GreaterOrEqual,
            Relation::GreaterOrEqual => Relation::Less,
            Relation::Greater => Relation::LessOrEqual,
            Relation::LessOrEqual => Relation::Greater,
        }
    }

    pub(crate) fn is_order(self) -> bool {
        !matches!(self, Relation::Equal | Relation::NotEqual)
    }
}

/// Terms whose sum is compared with 0. Two comparisons are the same if they have the same terms in the same order, as
/// in p4c (`bf-p4c/mau/stateful_alu.cpp`, `reuseCmp`).
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Comparison {
    pub(crate) relation: Relation,
    /// Operands, true for those that are subtracted.
    pub(crate) terms: Vec<(bool, Operand)>,
    pub(crate) signed: bool,
    pub(crate) span: Span,
}

impl Comparison {
    /// Whether the constants show that both comparisons cannot be true for the same values.
    pub(crate) fn excludes(&self, other: &Comparison) -> bool {
        let constant = |terms: &[(bool, Operand)]| {
            terms.iter().find_map(|(minus, term)| match term {
                Operand::Constant(value) => Some(if *minus { -value } else { value.clone() }),
                _ => None,
            })
        };
        let rest = |terms: &[(bool, Operand)]| -> Vec<(bool, Operand)> {
            terms.iter().filter(|(_, term)| !matches!(term, Operand::Constant(_))).cloned().collect()
        };
        self.relation == Relation::Equal
            && other.relation == Relation::Equal
            && rest(&self.terms) == rest(&other.terms)
            && constant(&self.terms).unwrap_or_default() != constant(&other.terms).unwrap_or_default()
    }
}
