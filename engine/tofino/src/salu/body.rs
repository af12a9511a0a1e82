// SPDX-License-Identifier: MIT OR Apache-2.0
//! The body of a `RegisterAction` as instructions of an ALU: comparisons, and writes under predicates of these.
//!
//! Variables of the body are replaced by their values, as p4c's copy propagation does.

use marklab_p4::arith::from_image;
use marklab_p4::ir::{
    BinaryOp, Class, Expr, ExprKind, ExternCall, Label, Program, RegisterAction, SlotId, Stmt, StmtKind, UnaryOp,
};
use marklab_p4::source::Span;
use num_bigint::BigInt;
use rustc_hash::FxHashMap;

use super::value::{Comparison, Op, Operand, Predicate, Relation, Value, Word};
use crate::chip::Limits;
use crate::limit::Limit;

/// Target of a write.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Target {
    Word(Word),
    Result,
}

/// A write that happens if its predicate holds.
#[derive(Clone, Debug)]
pub(crate) struct Write {
    pub(crate) target: Target,
    pub(crate) predicate: Predicate,
    pub(crate) value: Value,
    pub(crate) span: Span,
}

/// A body as operations of the ALU.
#[derive(Default, Debug)]
pub(crate) struct Body {
    pub(crate) comparisons: Vec<Comparison>,
    pub(crate) writes: Vec<Write>,
    /// Parts that the ALU cannot express.
    pub(crate) problems: Vec<(Span, Limit)>,
}

/// Reads the body of an action.
pub(crate) fn body(program: &Program, action: &RegisterAction, limits: &Limits) -> Body {
    let word_bits = program.registers[action.register.index()].parts.first().map_or(0, |part| part.width);
    let held = action.value.iter().enumerate().map(|(word, slot)| (*slot, Value::Operand(Operand::Memory(word))));
    let mut walker = Walker {
        program,
        action,
        limits,
        word_bits,
        values: held.collect(),
        written: vec![false; action.value.len()],
        left: Vec::new(),
        body: Body::default(),
    };
    walker.statements(&action.body, Predicate::Always);
    walker.body
}

struct Walker<'a> {
    program: &'a Program,
    action: &'a RegisterAction,
    limits: &'a Limits,
    word_bits: u32,
    /// Values of slots on the present path.
    values: FxHashMap<SlotId, Value>,
    /// Words that were written on any path.
    written: Vec<bool>,
    /// Blocks that were left, with the predicates.
    left: Vec<(Label, Predicate)>,
    body: Body,
}

impl Walker<'_> {
    fn problem(&mut self, span: Span, limit: Limit) {
        self.body.problems.push((span, limit));
    }

    /// Processes statements that run under a predicate. Returns the predicate of the statements after them.
    fn statements(&mut self, stmts: &[Stmt], mut live: Predicate) -> Predicate {
        for stmt in stmts {
            live = self.statement(stmt, live);
        }
        live
    }

    fn statement(&mut self, stmt: &Stmt, live: Predicate) -> Predicate {
        match &stmt.kind {
            StmtKind::Assign { dst, src } => self.assign(dst.slot, src, &live, stmt.span),
            StmtKind::If { cond, then, otherwise } => return self.branch(cond, then, otherwise, live),
            StmtKind::Block { label, body } => {
                let after = self.statements(body, live);
                let (here, outer) = std::mem::take(&mut self.left).into_iter().partition(|(left, _)| left == label);
                self.left = outer;
                let here: Vec<(Label, Predicate)> = here;
                return here.into_iter().fold(after, |after, (_, left)| after.or(left));
            }
            StmtKind::Break(label) => {
                self.left.push((*label, live));
                return Predicate::Never;
            }
            StmtKind::Extern(ExternCall::Math { unit, dst, input }) => {
                let value = match self.value(input) {
                    Value::Operand(of @ (Operand::Memory(_) | Operand::Packet(..))) => {
                        Value::Operand(Operand::Math(*unit, Box::new(of)))
                    }
                    bad @ Value::Bad(..) => bad,
                    _ => Value::Bad(Limit::OneOperation {}, input.span),
                };
                self.values.insert(dst.slot, value);
            }
            StmtKind::Extern(_) | StmtKind::Apply { .. } => self.not_in_alu("a call", stmt.span),
            StmtKind::Loop { .. } | StmtKind::Continue(_) => self.not_in_alu("a loop", stmt.span),
            StmtKind::Switch { .. } => self.not_in_alu("a `switch`", stmt.span),
            _ => self.not_in_alu("this", stmt.span),
        }
        live
    }

    fn not_in_alu(&mut self, what: &'static str, span: Span) {
        self.problem(span, Limit::NotInAlu { what });
    }

    fn branch(&mut self, cond: &Expr, then: &[Stmt], otherwise: &[Stmt], live: Predicate) -> Predicate {
        let Some(cond) = self.condition(cond) else { return live };
        let before = self.values.clone();
        let left = self.left.len();
        let after_then = self.statements(then, live.clone().and(cond.clone()));
        let then_values = std::mem::replace(&mut self.values, before);
        let after_otherwise = self.statements(otherwise, live.clone().and(cond.clone().not()));
        let mut then_values: Vec<(SlotId, Value)> = then_values.into_iter().collect();
        then_values.sort_by_key(|(slot, _)| *slot);
        for (slot, value) in then_values {
            match self.values.get(&slot) {
                Some(other) if *other == value => {}
                Some(other) => {
                    let cases = vec![(cond.clone(), value), (cond.clone().not(), other.clone())];
                    self.values.insert(slot, Value::Cases(cases));
                }
                None => {
                    self.values.insert(slot, value);
                }
            }
        }
        if self.left.len() == left { live } else { after_then.or(after_otherwise) }
    }

    fn assign(&mut self, slot: SlotId, src: &Expr, live: &Predicate, span: Span) {
        let word = self.action.value.iter().position(|value| *value == slot);
        let target = match word {
            Some(word) => Some(Target::Word(word)),
            None if self.action.returned == Some(slot) => Some(Target::Result),
            None => None,
        };
        let value = match target {
            Some(Target::Result) => self.result(src),
            _ => self.value(src),
        };
        let Some(target) = target else {
            if self.program.slots[slot.index()].class == Class::Packet {
                return self.not_in_alu("an assignment to a field of the packet", span);
            }
            self.values.insert(slot, value);
            return;
        };
        self.write(target, live.clone(), value.clone(), span);
        if let Target::Word(word) = target {
            self.values.insert(slot, value);
            self.written[word] = true;
        }
    }

    fn write(&mut self, target: Target, predicate: Predicate, value: Value, span: Span) {
        match value {
            Value::Bad(limit, at) => self.problem(at, limit),
            Value::Cases(cases) => {
                for (case, value) in cases {
                    self.write(target, predicate.clone().and(case), value, span);
                }
            }
            Value::Condition(holds) if target == Target::Result => {
                let value = Value::constant(1);
                self.body.writes.push(Write { target, predicate: predicate.and(holds), value, span });
            }
            Value::Condition(_) => self.problem(span, Limit::ConditionValue {}),
            value => self.body.writes.push(Write { target, predicate, value, span }),
        }
    }

    /// The returned value. A stored word is read at the ALU's output, where high bits can be dropped.
    fn result(&mut self, src: &Expr) -> Value {
        let whole = low_part_of(src);
        if let ExprKind::Load(place) = &whole.kind
            && let Some(word) = self.action.value.iter().position(|value| *value == place.slot)
        {
            let operand = if self.written[word] { Operand::Stored(word) } else { Operand::Memory(word) };
            return Value::Operand(operand);
        }
        self.value(src)
    }

    fn value(&mut self, expr: &Expr) -> Value {
        let span = expr.span;
        match &expr.kind {
            ExprKind::Const(_) => Value::Operand(Operand::Constant(signed(expr))),
            ExprKind::Load(place) => self.load(place.slot, span),
            ExprKind::Slice { of, hi, lo } => match self.value(of) {
                Value::Operand(Operand::Packet(text, _)) => packet(format!("{text}[{hi}:{lo}]"), hi - lo + 1),
                whole @ Value::Operand(Operand::Memory(_)) if *lo == 0 && hi + 1 == of.ty.width => whole,
                bad @ Value::Bad(..) => bad,
                _ => Value::Bad(Limit::SliceOfWord {}, span),
            },
            ExprKind::Cast(of) => self.cast(expr, of),
            ExprKind::Concat(high, low) => match (self.value(high), self.value(low)) {
                (Value::Operand(high), low) if high.is_zero() => low,
                (Value::Operand(Operand::Packet(high, _)), Value::Operand(Operand::Packet(low, _))) => {
                    packet(format!("({high} ++ {low})"), expr.ty.width)
                }
                (Value::Operand(Operand::Packet(high, _)), Value::Operand(Operand::Constant(low))) => {
                    packet(format!("({high} ++ {low})"), expr.ty.width)
                }
                (bad @ Value::Bad(..), _) | (_, bad @ Value::Bad(..)) => bad,
                _ => Value::Bad(Limit::OneOperation {}, span),
            },
            ExprKind::Mux { cond, then, otherwise } => self.mux(expr, cond, then, otherwise),
            ExprKind::Unary(..) | ExprKind::Binary(..) if is_condition(expr) => match self.condition(expr) {
                Some(condition) => Value::Condition(condition),
                None => Value::Operand(Operand::Constant(BigInt::ZERO)), // reported
            },
            ExprKind::Unary(op, of) => self.unary(expr, *op, of),
            ExprKind::Binary(op, left, right) => self.binary(expr, *op, left, right),
            ExprKind::Lookahead { .. } | ExprKind::PacketLength => Value::Bad(Limit::NotInAlu { what: "this" }, span),
        }
    }

    fn load(&self, slot: SlotId, span: Span) -> Value {
        let Slot { name, width } = self.slot(slot);
        if self.action.returned == Some(slot) {
            return Value::Bad(Limit::ReadsResult {}, span);
        }
        let Some(value) = self.values.get(&slot) else { return packet(format!("{name}#{}", slot.0), width) };
        match value {
            Value::Cases(_) if self.action.value.contains(&slot) => {
                Value::Bad(Limit::ReadsWritten { word: name }, span)
            }
            value => value.clone(),
        }
    }

    fn slot(&self, slot: SlotId) -> Slot {
        let found = &self.program.slots[slot.index()];
        Slot { name: found.name.clone(), width: found.ty.width }
    }

    fn cast(&mut self, expr: &Expr, of: &Expr) -> Value {
        let (from, to) = (of.ty.width, expr.ty.width);
        match self.value(of) {
            Value::Condition(_) if to > from => Value::Bad(Limit::ConditionValue {}, expr.span),
            value if to >= from => value,
            Value::Operand(Operand::Packet(text, _)) => packet(format!("{text}[{}:0]", to - 1), to),
            bad @ Value::Bad(..) => bad,
            _ => Value::Bad(Limit::SliceOfWord {}, expr.span),
        }
    }

    fn mux(&mut self, expr: &Expr, cond: &Expr, then: &Expr, otherwise: &Expr) -> Value {
        // In the IR, `max` and `min` are choices by a comparison of their operands.
        if let ExprKind::Binary(op @ (BinaryOp::Ge | BinaryOp::Le), left, right) = &cond.kind {
            let (a, b) = (self.value(left), self.value(right));
            if a == self.value(then) && b == self.value(otherwise) {
                let op = if *op == BinaryOp::Ge { Op::Max } else { Op::Min };
                return operation(op, a, b, expr);
            }
        }
        let Some(cond) = self.condition(cond) else { return Value::constant(0) };
        let (then, otherwise) = (self.value(then), self.value(otherwise));
        Value::Cases(vec![(cond.clone(), then), (cond.not(), otherwise)])
    }

    fn unary(&mut self, expr: &Expr, op: UnaryOp, of: &Expr) -> Value {
        let zero = Value::constant(0);
        match (op, self.value(of)) {
            (UnaryOp::Neg, value @ Value::Operand(_)) => operation(Op::Binary(BinaryOp::Sub), zero, value, expr),
            (UnaryOp::Not, value @ Value::Operand(_)) => operation(Op::Complemented, value, zero, expr),
            (UnaryOp::Not, Value::Operation(op, a, b, ty)) if is_bitwise(op) => {
                Value::Operation(Op::Complemented, a, b, ty)
            }
            (_, bad @ Value::Bad(..)) => bad,
            _ => Value::Bad(Limit::OneOperation {}, expr.span),
        }
    }

    fn binary(&mut self, expr: &Expr, op: BinaryOp, left: &Expr, right: &Expr) -> Value {
        let none = match op {
            BinaryOp::Mul => Some("*"),
            BinaryOp::Div | BinaryOp::Mod if self.limits.divides => None,
            BinaryOp::Div => Some("/"),
            BinaryOp::Mod => Some("%"),
            BinaryOp::Shl => Some("<<"),
            BinaryOp::Shr => Some(">>"),
            _ => None,
        };
        if let Some(op) = none {
            return Value::Bad(Limit::NoOperation { op }, expr.span);
        }
        let (left, right) = (self.value(left), self.value(right));
        match (left, right) {
            // `a & ~b` and similar expressions are one operation.
            (Value::Operation(Op::Complemented, a, zero, _), Value::Operand(b))
            | (Value::Operand(a), Value::Operation(Op::Complemented, b, zero, _))
                if is_bitwise(Op::Binary(op)) && zero.is_zero() =>
            {
                Value::Operation(Op::Complemented, a, b, expr.ty)
            }
            (left @ Value::Operation(..), right @ (Value::Operation(..) | Value::Operand(_)))
            | (left @ Value::Operand(_), right @ Value::Operation(..))
                if op == BinaryOp::Or =>
            {
                Value::Either(Box::new(left), Box::new(right))
            }
            (left, right) => operation(Op::Binary(op), left, right, expr),
        }
    }

    /// The predicate of a condition; `None` if there is none, which has been reported.
    fn condition(&mut self, expr: &Expr) -> Option<Predicate> {
        match &expr.kind {
            ExprKind::Const(value) => Some(if *value == 0u8.into() { Predicate::Never } else { Predicate::Always }),
            ExprKind::Unary(UnaryOp::Not, of) => Some(self.condition(of)?.not()),
            ExprKind::Binary(op @ (BinaryOp::And | BinaryOp::Or), left, right) if expr.ty.width == 1 => {
                let (left, right) = (self.condition(left), self.condition(right));
                let (left, right) = (left?, right?);
                Some(if *op == BinaryOp::And { left.and(right) } else { left.or(right) })
            }
            ExprKind::Binary(op, left, right) if Relation::of(*op).is_some() => {
                self.comparison(Relation::of(*op)?, left, right, expr.span)
            }
            _ => match self.value(expr) {
                Value::Condition(condition) => Some(condition),
                value => {
                    let mut terms = Vec::new();
                    self.terms(value, false, expr.span, &mut terms)?;
                    let relation = Relation::NotEqual;
                    Some(self.compare(Comparison { relation, terms, signed: false, span: expr.span }))
                }
            },
        }
    }

    fn comparison(&mut self, relation: Relation, left: &Expr, right: &Expr, span: Span) -> Option<Predicate> {
        let mut terms = Vec::new();
        for (side, minus) in [(left, false), (right, true)] {
            let value = self.value(side);
            if relation.is_order()
                && let Value::Operation(Op::Binary(BinaryOp::Add | BinaryOp::Sub), _, _, ty) = &value
            {
                self.sum_in_comparison(side, ty.signed);
            }
            self.terms(value, minus, side.span, &mut terms)?;
        }
        let signed = left.ty.signed;
        Some(self.compare(Comparison { relation, terms, signed, span }))
    }

    /// Checks a sum or difference in a comparison. It is compared in 34 bits, or if its type is signed, by its sign in
    /// the width of the ALU (`bf-p4c/mau/stateful_alu.cpp`, `can_be_uus_cmp`).
    fn sum_in_comparison(&mut self, side: &Expr, calculated_signed: bool) {
        let (width, word) = (side.ty.width, self.word_bits);
        match (side.ty.signed, calculated_signed) {
            (true, false) => self.problem(side.span, Limit::CastDifference {}),
            (true, true) if width < word => self.problem(side.span, Limit::SignedDifference { width, word }),
            (true, true) => {}
            (false, _) => self.problem(side.span, Limit::NoWrap {}),
        }
    }

    fn terms(&mut self, value: Value, minus: bool, span: Span, terms: &mut Vec<(bool, Operand)>) -> Option<()> {
        match value {
            Value::Operand(operand @ (Operand::Memory(_) | Operand::Packet(..) | Operand::Constant(_))) => {
                terms.push((minus, operand));
            }
            Value::Operation(Op::Binary(op @ (BinaryOp::Add | BinaryOp::Sub)), left, right, _) => {
                terms.push((minus, left));
                terms.push((minus != (op == BinaryOp::Sub), right));
            }
            Value::Operation(Op::Binary(BinaryOp::And), masked, Operand::Constant(_), _)
                if self.limits.masks_compared =>
            {
                terms.push((minus, masked));
            }
            Value::Bad(limit, at) => {
                self.problem(at, limit);
                return None;
            }
            Value::Condition(_) => {
                self.problem(span, Limit::ConditionValue {});
                return None;
            }
            _ => {
                self.problem(span, Limit::ComparisonOperand {});
                return None;
            }
        }
        terms.retain(|(_, term)| !term.is_zero());
        Some(())
    }

    /// The predicate of a comparison. If a unit already has this comparison, or its complement, that unit is used.
    fn compare(&mut self, new: Comparison) -> Predicate {
        for (index, known) in self.body.comparisons.iter().enumerate() {
            if known.terms == new.terms && (known.signed == new.signed || !new.relation.is_order()) {
                if known.relation == new.relation {
                    return Predicate::Comparison(index);
                }
                if known.relation == new.relation.negated() {
                    return Predicate::Comparison(index).not();
                }
            }
        }
        self.body.comparisons.push(new);
        Predicate::Comparison(self.body.comparisons.len() - 1)
    }
}

struct Slot {
    name: String,
    width: u32,
}

fn packet(text: String, width: u32) -> Value {
    Value::Operand(Operand::Packet(text, width))
}

/// A constant with the sign of its type.
fn signed(expr: &Expr) -> BigInt {
    match &expr.kind {
        ExprKind::Const(image) => from_image(image, expr.ty.width, expr.ty.signed),
        _ => BigInt::ZERO,
    }
}

/// An expression without the casts and slices that only drop or add high bits.
fn low_part_of(expr: &Expr) -> &Expr {
    match &expr.kind {
        ExprKind::Cast(of) | ExprKind::Slice { of, lo: 0, .. } => low_part_of(of),
        _ => expr,
    }
}

fn is_bitwise(op: Op) -> bool {
    matches!(op, Op::Complemented | Op::Binary(BinaryOp::And | BinaryOp::Or | BinaryOp::Xor))
}

/// Whether an expression contains a comparison, so that its value is a predicate.
fn is_condition(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Unary(UnaryOp::Not, of) => is_condition(of),
        ExprKind::Binary(op, left, right) => {
            Relation::of(*op).is_some() || expr.ty.width == 1 && (is_condition(left) || is_condition(right))
        }
        _ => false,
    }
}

/// One operation on two operands.
fn operation(op: Op, left: Value, right: Value, expr: &Expr) -> Value {
    match (left, right) {
        (Value::Operand(left), Value::Operand(right)) => Value::Operation(op, left, right, expr.ty),
        (bad @ Value::Bad(..), _) | (_, bad @ Value::Bad(..)) => bad,
        (Value::Cases(_), _) | (_, Value::Cases(_)) => Value::Bad(Limit::ConditionalOperand {}, expr.span),
        (Value::Condition(_), _) | (_, Value::Condition(_)) => Value::Bad(Limit::ConditionValue {}, expr.span),
        _ => Value::Bad(Limit::OneOperation {}, expr.span),
    }
}
