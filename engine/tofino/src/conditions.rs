// SPDX-License-Identifier: MIT OR Apache-2.0
//! Conditions of `if`: what a gateway can test (p4c's `bf-p4c/mau/gateway.cpp`, `split_gateways.cpp`).
//!
//! A gateway has rows, each a conjunction. All of its rows together see 4 bytes of the packet and 12 bits of hash. p4c
//! turns the disjunctions of a condition into rows, and splits rows that do not fit into one gateway over a sequence of
//! gateways. It cannot split a row. The containers of fields are not known here, so bits are counted instead of bytes:
//! p4c may refuse a condition that passes here.

use std::collections::BTreeMap;

use marklab_p4::ir::{BinaryOp, Expr, ExprKind, Program, SlotId, Stmt, StmtKind, UnaryOp, visit};
use marklab_p4::source::Span;
use num_bigint::BigUint;

use crate::chip;
use crate::findings::{Findings, label};
use crate::flow::{Flow, What, exclusive};
use crate::limit::Limit;

/// Checks all conditions of controls.
pub(crate) fn check(program: &Program, flows: &[Flow<'_>], findings: &mut Findings) {
    for flow in flows {
        for (place, step) in flow.steps.iter().enumerate() {
            let What::Test { value, is_condition: true } = step.what else { continue };
            match gateways(value) {
                Err(problems) => problems.into_iter().for_each(|(span, problem)| findings.report(span, problem)),
                Ok(_) => {
                    if let Some(calculation) = calculated(program, flow, place, value) {
                        let labels = vec![label(calculation, "calculated here")];
                        findings.report_with(value.span, Limit::ConditionCalculated {}, labels);
                    }
                }
            }
        }
    }
}

/// Place where `apply` calculates a value that a condition reads, if the condition cannot contain this calculation. p4c
/// moves it there (`LocalCopyPropagation`), unless it is in an action, which becomes a table.
fn calculated(program: &Program, flow: &Flow<'_>, place: usize, cond: &Expr) -> Option<Span> {
    let mut slots = Vec::new();
    visit::loads(cond, &mut |slot| slots.push(slot));
    slots.into_iter().find_map(|slot| {
        let before = flow.steps[..place].iter().rev();
        let mut before = before.filter(|step| !exclusive(&step.within, &flow.steps[place].within));
        let last = before.find(|step| flow.writes(step.what, slot))?;
        let What::Do(Stmt { kind: StmtKind::Assign { src, .. }, span }) = last.what else { return None };
        let in_action = program.called_actions.iter().any(|action| action.to(*span) == *action);
        let mut reads_itself = false;
        visit::loads(src, &mut |read| reads_itself |= read == slot);
        (!in_action && !reads_itself && gateways(&with(cond, slot, src)).is_err()).then_some(*span)
    })
}

/// An expression in which `value` replaces a slot.
fn with(expr: &Expr, slot: SlotId, value: &Expr) -> Expr {
    visit::rewritten(expr, &mut |part| match &part.kind {
        ExprKind::Load(place) if place.slot == slot => Some(value.clone()),
        _ => None,
    })
}

type Problems = Vec<(Span, Limit)>;

/// Part of a field, as a text that identifies it.
type Field = String;

/// One comparison, as the bits that it takes.
#[derive(Clone, PartialEq, Debug)]
struct Term {
    /// Bits that are matched with a constant.
    equal: Vec<(Field, u32)>,
    /// Bits that are compared as a range; all of these are bits of the hash.
    range: Vec<(Field, u32)>,
    /// Bits of one field that are compared with those of another.
    crossed: u32,
}

/// A conjunction of comparisons.
type Row = Vec<Term>;

/// Number of gateways that a condition takes.
pub(crate) fn gateways(cond: &Expr) -> Result<usize, Problems> {
    let mut problems = Vec::new();
    let rows = rows(cond, false, &mut problems);
    if rows.len() > chip::CONDITION_ROWS {
        problems.push((cond.span, Limit::ConditionRows { found: rows.len(), limit: chip::CONDITION_ROWS }));
    }
    for row in &rows {
        let Use { range, bits, .. } = used(row);
        if range > chip::GATEWAY_HASH_BITS {
            problems.push((cond.span, Limit::RangeBits { found: range, limit: chip::GATEWAY_HASH_BITS }));
        } else if bits > chip::GATEWAY_BITS {
            problems.push((cond.span, Limit::GatewayBits { found: bits, limit: chip::GATEWAY_BITS }));
        }
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    let (mut count, mut taken): (usize, Row) = (1, Vec::new());
    let mut in_this = 0;
    for row in rows {
        let both: Row = taken.iter().chain(&row).cloned().collect();
        let Use { range, bits, .. } = used(&both);
        if in_this == chip::GATEWAY_ROWS || range > chip::GATEWAY_HASH_BITS || bits > chip::GATEWAY_BITS {
            (count, taken, in_this) = (count + 1, row, 1);
        } else {
            (taken, in_this) = (both, in_this + 1);
        }
    }
    Ok(count)
}

struct Use {
    /// Bits of ranges.
    range: u32,
    /// Bits of all kinds.
    bits: u32,
}

/// Bits that terms take. Bits of the same field count once.
fn used(terms: &[Term]) -> Use {
    let (mut equal, mut range) = (BTreeMap::new(), BTreeMap::new());
    for term in terms {
        equal.extend(term.equal.iter().map(|(field, bits)| (field, *bits)));
        range.extend(term.range.iter().map(|(field, bits)| (field, *bits)));
    }
    let range: u32 = range.values().sum();
    let crossed: u32 = terms.iter().map(|term| term.crossed.div_ceil(8) * 8).sum();
    // Comparisons of fields take whole bytes; other terms can share bytes.
    let over = if crossed > 8 * chip::GATEWAY_BYTES { chip::GATEWAY_BITS } else { 0 };
    Use { range, bits: range + crossed + equal.values().sum::<u32>() + over }
}

/// The disjunctions of a condition, negated or not.
fn rows(cond: &Expr, negated: bool, problems: &mut Problems) -> Vec<Row> {
    match &cond.kind {
        ExprKind::Unary(UnaryOp::Not, of) => rows(of, !negated, problems),
        ExprKind::Binary(op @ (BinaryOp::And | BinaryOp::Or), left, right) if cond.ty.width == 1 => {
            let (left, right) = (rows(left, negated, problems), rows(right, negated, problems));
            if (*op == BinaryOp::Or) != negated {
                return left.into_iter().chain(right).collect();
            }
            let with = |one: &Row| right.iter().map(|other| [&one[..], &other[..]].concat()).collect::<Vec<_>>();
            left.iter().take(chip::CONDITION_ROWS + 1).flat_map(with).take(chip::CONDITION_ROWS + 1).collect()
        }
        ExprKind::Binary(op, left, right) if is_relation(*op) => {
            vec![relation(*op, left, right, cond.span, problems).into_iter().collect()]
        }
        _ => match field(cond) {
            Some(field) => vec![vec![Term { equal: vec![(field, 1)], range: Vec::new(), crossed: 0 }]],
            None => {
                problems.push((cond.span, Limit::ConditionOperand {}));
                vec![Vec::new()]
            }
        },
    }
}

fn is_relation(op: BinaryOp) -> bool {
    use BinaryOp::{Eq, Ge, Gt, Le, Lt, Ne};
    matches!(op, Eq | Ne | Lt | Le | Gt | Ge)
}

fn relation(op: BinaryOp, left: &Expr, right: &Expr, span: Span, problems: &mut Problems) -> Option<Term> {
    let (of, constant, op) = match (&left.kind, &right.kind) {
        (_, ExprKind::Const(value)) => (left, Some(value), op),
        (ExprKind::Const(value), _) => (right, Some(value), mirrored(op)),
        _ => (left, None, op),
    };
    let is_order = !matches!(op, BinaryOp::Eq | BinaryOp::Ne);
    let Some(constant) = constant else {
        let (Some(_), Some(_)) = (operand(left, problems), operand(right, problems)) else { return None };
        if is_order {
            problems.push((span, Limit::OrderOfFields {}));
            return None;
        }
        if left.ty.width > 8 * chip::GATEWAY_BYTES {
            problems.push((span, Limit::EqualFields { width: left.ty.width, limit: 8 * chip::GATEWAY_BYTES }));
            return None;
        }
        return Some(Term { equal: Vec::new(), range: Vec::new(), crossed: left.ty.width });
    };
    let (field, width) = operand(of, problems)?;
    let one = |bits| vec![(field.clone(), bits)];
    let term = |equal, range| Some(Term { equal, range, crossed: 0 });
    if !is_order {
        return term(one(width), Vec::new());
    }
    match order_bits(op, constant, of) {
        OrderBits::None => None,
        OrderBits::Equal(bits) => term(one(bits), Vec::new()),
        OrderBits::Range(bits) => term(Vec::new(), vec![(format!("{field}>>{bits}"), bits)]),
    }
}

/// How a gateway tests a comparison with a constant.
enum OrderBits {
    /// It is always or never true.
    None,
    /// This number of bits is compared with 0, or the sign bit is tested.
    Equal(u32),
    /// This number of bits is compared as a range.
    Range(u32),
}

/// `x > K` is `x >= K + 1`. Zeros at the end of the constant need not be compared, and `x >= 1` is `x != 0`
/// (`SliceReduce`). For signed values this holds only in comparisons with 0.
fn order_bits(op: BinaryOp, constant: &BigUint, of: &Expr) -> OrderBits {
    let width = of.ty.width;
    let bound = match op {
        BinaryOp::Gt | BinaryOp::Le => constant + 1u8,
        _ => constant.clone(),
    };
    let beyond = BigUint::from(1u8) << width;
    if of.ty.signed {
        return if bound == BigUint::ZERO || bound == beyond { OrderBits::Equal(1) } else { OrderBits::Range(width) };
    }
    if bound == BigUint::ZERO || bound >= beyond {
        return OrderBits::None;
    }
    let zeros = bound.trailing_zeros().unwrap_or(0);
    let left = width - zeros as u32;
    if bound >> zeros == BigUint::from(1u8) { OrderBits::Equal(left) } else { OrderBits::Range(left) }
}

fn mirrored(op: BinaryOp) -> BinaryOp {
    match op {
        BinaryOp::Lt => BinaryOp::Gt,
        BinaryOp::Le => BinaryOp::Ge,
        BinaryOp::Gt => BinaryOp::Lt,
        BinaryOp::Ge => BinaryOp::Le,
        other => other,
    }
}

/// A field that is tested, and its width. With a constant mask, only the bits of the mask count.
fn operand(expr: &Expr, problems: &mut Problems) -> Option<(Field, u32)> {
    let found = match &expr.kind {
        ExprKind::Binary(BinaryOp::And, of, mask) => match (&of.kind, &mask.kind) {
            (_, ExprKind::Const(mask)) => field(of).map(|field| (format!("{field}&{mask}"), mask_bits(mask))),
            (ExprKind::Const(of), _) => field(mask).map(|field| (format!("{field}&{of}"), mask_bits(of))),
            _ => None,
        },
        _ => field(expr).map(|field| (field, significant(expr))),
    };
    if found.is_none() {
        problems.push((expr.span, Limit::ConditionOperand {}));
    }
    found
}

/// Number of bits from the lowest to the highest one of a mask.
fn mask_bits(mask: &BigUint) -> u32 {
    (mask.bits() - mask.trailing_zeros().unwrap_or(0)) as u32
}

/// Width without the zeros in front from a cast, or the constant in front from a concatenation.
fn significant(expr: &Expr) -> u32 {
    match &expr.kind {
        ExprKind::Cast(of) if of.ty.width < expr.ty.width && !of.ty.signed => significant(of),
        ExprKind::Concat(high, low) if matches!(high.kind, ExprKind::Const(_)) => significant(low),
        _ => expr.ty.width,
    }
}

/// The text of a field or of part of one; `None` for a calculation.
fn field(expr: &Expr) -> Option<Field> {
    Some(match &expr.kind {
        ExprKind::Load(place) if place.index.is_none() => format!("{}", place.slot.0),
        ExprKind::Slice { of, hi, lo } => format!("{}[{hi}:{lo}]", field(of)?),
        ExprKind::Cast(of) if of.ty.width > expr.ty.width => format!("{}[{}:0]", field(of)?, expr.ty.width - 1),
        ExprKind::Cast(of) => field(of)?,
        ExprKind::Concat(high, low) => format!("{}++{}", field(high)?, field(low)?),
        ExprKind::Const(value) => value.to_string(),
        _ => return None,
    })
}
