// SPDX-License-Identifier: MIT OR Apache-2.0
//! Expressions of the IR. Constants are folded as expressions are created.

use num_bigint::{BigInt, BigUint};

use crate::arith;
use crate::ast::BinaryOp as Op;
use crate::ir::{BinaryOp, Expr, ExprKind, Place, SlotId, Ty, UnaryOp};
use crate::source::Span;

/// A constant, wrapped into the range of its type.
pub(crate) fn constant(value: &BigInt, ty: Ty, span: Span) -> Expr {
    Expr { kind: ExprKind::Const(arith::image(value, ty.width)), ty, span }
}

pub(crate) fn boolean(value: bool, span: Span) -> Expr {
    Expr { kind: ExprKind::Const(BigUint::from(u8::from(value))), ty: Ty::BOOL, span }
}

pub(crate) fn load(slot: SlotId, ty: Ty, span: Span) -> Expr {
    load_place(slot.into(), ty, span)
}

pub(crate) fn load_place(place: Place, ty: Ty, span: Span) -> Expr {
    Expr { kind: ExprKind::Load(place), ty, span }
}

/// The value of a constant expression.
pub(crate) fn number(expr: &Expr) -> Option<BigInt> {
    match &expr.kind {
        ExprKind::Const(image) => Some(arith::from_image(image, expr.ty.width, expr.ty.signed)),
        _ => None,
    }
}

/// The value of a constant condition.
pub(crate) fn truth(expr: &Expr) -> Option<bool> {
    number(expr).map(|value| value != BigInt::ZERO)
}

pub(crate) fn unary(op: UnaryOp, operand: Expr, span: Span) -> Expr {
    let ty = operand.ty;
    if let Some(value) = number(&operand) {
        return constant(&arith::unary(op, &value), ty, span);
    }
    match operand.kind {
        ExprKind::Unary(inner, expr) if inner == op => *expr,
        kind => Expr { kind: ExprKind::Unary(op, Box::new(Expr { kind, ..operand })), ty, span },
    }
}

pub(crate) fn not(operand: Expr) -> Expr {
    let span = operand.span;
    unary(UnaryOp::Not, operand, span)
}

/// The IR's operator for a P4 operator; `None` if the IR has none.
pub(crate) fn operator(op: Op) -> Option<BinaryOp> {
    Some(match op {
        Op::Mul => BinaryOp::Mul,
        Op::Div => BinaryOp::Div,
        Op::Mod => BinaryOp::Mod,
        Op::Add => BinaryOp::Add,
        Op::Sub => BinaryOp::Sub,
        Op::AddSat => BinaryOp::AddSat,
        Op::SubSat => BinaryOp::SubSat,
        Op::Shl => BinaryOp::Shl,
        Op::Shr => BinaryOp::Shr,
        Op::Lt => BinaryOp::Lt,
        Op::Le => BinaryOp::Le,
        Op::Gt => BinaryOp::Gt,
        Op::Ge => BinaryOp::Ge,
        Op::Eq => BinaryOp::Eq,
        Op::Ne => BinaryOp::Ne,
        Op::BitAnd | Op::And => BinaryOp::And,
        Op::BitXor => BinaryOp::Xor,
        Op::BitOr | Op::Or => BinaryOp::Or,
        Op::Concat => return None,
    })
}

/// A binary operation on scalars.
pub(crate) fn binary(op: Op, left: Expr, right: Expr, span: Span) -> Expr {
    let ty = if op.is_comparison() { Ty::BOOL } else { left.ty };
    if let (Some(a), Some(b)) = (number(&left), number(&right)) {
        let size = Some((left.ty.width, left.ty.signed));
        if op.is_comparison() {
            return boolean(arith::compare(op, &a, &b), span);
        }
        let plain = match op {
            Op::And => Op::BitAnd,
            Op::Or => Op::BitOr,
            other => other,
        };
        if let Ok(value) = arith::binary(plain, size, &a, &b) {
            return constant(&value, ty, span);
        }
    }
    if ty == Ty::BOOL && matches!(op, Op::And | Op::Or) {
        let neutral = op == Op::And;
        match (truth(&left), truth(&right)) {
            (Some(value), _) if value == neutral => return right,
            (_, Some(value)) if value == neutral => return left,
            (Some(_), _) | (_, Some(_)) => return boolean(!neutral, span),
            _ => {}
        }
    }
    if let Some(simple) = identity(op, &left, &right, span) {
        return simple;
    }
    // BMv2 has no division, so shifts and masks replace it where possible.
    if matches!(op, Op::Div | Op::Mod)
        && let Some(power) = number(&right).and_then(|value| power_of_two(&value))
    {
        if op == Op::Mod {
            let mask = constant(&(arith::power(power) - 1), ty, span);
            return binary(Op::BitAnd, left, mask, span);
        }
        let by = constant(&power.into(), Ty::bits(32), span);
        return binary(Op::Shr, left, by, span);
    }
    let op = operator(op).expect("concatenation has a function of its own");
    Expr { kind: ExprKind::Binary(op, Box::new(left), Box::new(right)), ty, span }
}

/// The result if one operand alone determines it, as in `x + 0` and `x & 0`.
fn identity(op: Op, left: &Expr, right: &Expr, span: Span) -> Option<Expr> {
    let ty = left.ty;
    let is = |expr: &Expr, wanted: BigInt| number(expr) == Some(wanted);
    let zero = |expr: &Expr| is(expr, BigInt::ZERO);
    let ones = |expr: &Expr| number(&cast(expr.clone(), Ty::bits(ty.width), span)) == Some(arith::power(ty.width) - 1);
    let keeps_left = match op {
        Op::Add | Op::Sub | Op::BitOr | Op::BitXor | Op::Shl | Op::Shr | Op::AddSat | Op::SubSat => zero(right),
        Op::BitAnd => ones(right),
        Op::Mul | Op::Div => is(right, 1.into()),
        _ => false,
    };
    let keeps_right = match op {
        Op::Add | Op::BitOr | Op::BitXor => zero(left),
        Op::BitAnd => ones(left),
        Op::Mul => is(left, 1.into()),
        _ => false,
    };
    let vanishes = match op {
        Op::BitAnd | Op::Mul if zero(right) => !looks_ahead(left),
        Op::BitAnd | Op::Mul | Op::Shl | Op::Shr | Op::Div | Op::Mod if zero(left) => !looks_ahead(right),
        _ => false,
    };
    match (keeps_left, keeps_right, vanishes) {
        (true, ..) => Some(left.clone()),
        (_, true, _) => Some(right.clone()),
        (.., true) => Some(constant(&BigInt::ZERO, ty, span)),
        _ => None,
    }
}

/// Whether evaluating the expression may end the parser.
fn looks_ahead(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Lookahead { .. } => true,
        ExprKind::Const(_) | ExprKind::PacketLength => false,
        ExprKind::Load(place) => place.index.as_ref().is_some_and(|index| looks_ahead(&index.expr)),
        ExprKind::Unary(_, of) | ExprKind::Cast(of) | ExprKind::Slice { of, .. } => looks_ahead(of),
        ExprKind::Binary(_, a, b) | ExprKind::Concat(a, b) => looks_ahead(a) || looks_ahead(b),
        ExprKind::Mux { cond, then, otherwise } => [cond, then, otherwise].into_iter().any(|part| looks_ahead(part)),
    }
}

fn power_of_two(value: &BigInt) -> Option<u32> {
    let power = u32::try_from(value.trailing_zeros()?).ok()?;
    (*value == arith::power(power)).then_some(power)
}

pub(crate) fn and(left: Expr, right: Expr) -> Expr {
    let span = left.span;
    binary(Op::And, left, right, span)
}

pub(crate) fn or(left: Expr, right: Expr) -> Expr {
    let span = left.span;
    binary(Op::Or, left, right, span)
}

pub(crate) fn equal(left: Expr, right: Expr, span: Span) -> Expr {
    binary(Op::Eq, left, right, span)
}

pub(crate) fn mux(cond: Expr, then: Expr, otherwise: Expr, span: Span) -> Expr {
    match truth(&cond) {
        Some(true) => then,
        Some(false) => otherwise,
        None => {
            let ty = then.ty;
            let (cond, then, otherwise) = (Box::new(cond), Box::new(then), Box::new(otherwise));
            Expr { kind: ExprKind::Mux { cond, then, otherwise }, ty, span }
        }
    }
}

/// Bits `hi..=lo`.
pub(crate) fn slice(of: Expr, hi: u32, lo: u32, span: Span) -> Expr {
    let ty = Ty::bits(hi - lo + 1);
    if let ExprKind::Const(image) = &of.kind {
        let value = arith::slice(&BigInt::from(image.clone()), of.ty.width, hi, lo);
        return constant(&value, ty, span);
    }
    if lo == 0 && hi + 1 == of.ty.width && !of.ty.signed {
        return of;
    }
    Expr { kind: ExprKind::Slice { of: Box::new(of), hi, lo }, ty, span }
}

/// `left ++ right`, of type `ty`.
pub(crate) fn concat(left: Expr, right: Expr, signed: bool, span: Span) -> Expr {
    let ty = Ty { width: left.ty.width + right.ty.width, signed };
    if left.ty.width == 0 {
        return cast(right, ty, span);
    }
    if right.ty.width == 0 {
        return cast(left, ty, span);
    }
    if let (Some(high), Some(low)) = (number(&left), number(&right)) {
        return constant(&arith::concat(&high, &low, right.ty.width), ty, span);
    }
    Expr { kind: ExprKind::Concat(Box::new(left), Box::new(right)), ty, span }
}

/// Change of width or sign; the sign of the operand determines the extension.
pub(crate) fn cast(of: Expr, ty: Ty, span: Span) -> Expr {
    if of.ty == ty {
        return of;
    }
    match number(&of) {
        Some(value) => constant(&value, ty, span),
        None => Expr { kind: ExprKind::Cast(Box::new(of)), ty, span },
    }
}
