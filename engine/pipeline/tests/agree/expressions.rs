// SPDX-License-Identifier: MIT OR Apache-2.0
//! Random expressions over values of many widths.

use marklab_p4::ir::*;
use marklab_pipeline::{Layout, Packet, Stage};
use num_bigint::BigUint;
use proptest::prelude::*;

use crate::support::*;

/// Widths of the variables, around the widths of machine registers.
const WIDTHS: [u32; 18] = [1, 3, 8, 9, 16, 31, 32, 33, 48, 63, 64, 65, 100, 128, 129, 192, 257, 600];

/// A program with a packet slot for each width and sign, which [`variable`] loads.
fn with_variables() -> (Program, u32) {
    let mut program = program();
    let base = program.slots.len() as u32;
    for width in WIDTHS {
        for signed in [false, true] {
            add_slot(&mut program, &format!("v{width}{signed}"), Ty { width, signed }, Class::Packet);
        }
    }
    (program, base)
}

fn variable(base: u32, ty: Ty) -> Expr {
    let at = WIDTHS.iter().position(|&width| width == ty.width).expect("one of the widths");
    let slot = SlotId(base + 2 * at as u32 + u32::from(ty.signed));
    expr(ExprKind::Load(slot.into()), ty)
}

fn known_type() -> impl Strategy<Value = Ty> {
    (prop::sample::select(WIDTHS.to_vec()), any::<bool>()).prop_map(|(width, signed)| Ty { width, signed })
}

fn any_type() -> impl Strategy<Value = Ty> {
    let any_width = (1..=600u32, any::<bool>()).prop_map(|(width, signed)| Ty { width, signed });
    prop_oneof![2 => known_type(), 1 => any_width]
}

/// Values, many of them at the edges.
fn any_value() -> impl Strategy<Value = BigUint> {
    prop_oneof![
        prop::collection::vec(any::<u8>(), 75).prop_map(|bytes| BigUint::from_bytes_le(&bytes)),
        (0..4u32).prop_map(BigUint::from),
        (0..4u32).prop_map(|below| mask(600) - below),
        (0..600u32).prop_map(|bit| BigUint::from(1u32) << bit)
    ]
}

fn leaf(base: u32, ty: Ty) -> BoxedStrategy<Expr> {
    let constant = any_value().prop_map(move |value| expr(ExprKind::Const(value & mask(ty.width)), ty));
    if WIDTHS.contains(&ty.width) {
        return prop_oneof![constant, Just(variable(base, ty))].boxed();
    }
    let cast = known_type().prop_map(move |from| expr(ExprKind::Cast(variable(base, from).into()), ty));
    prop_oneof![constant, cast].boxed()
}

fn expression(base: u32, ty: Ty, depth: u32) -> BoxedStrategy<Expr> {
    if depth == 0 {
        return leaf(base, ty);
    }
    let same = move || expression(base, ty, depth - 1);
    let pair = move || (same(), same());
    let ops = [
        BinaryOp::Add,
        BinaryOp::Sub,
        BinaryOp::Mul,
        BinaryOp::AddSat,
        BinaryOp::SubSat,
        BinaryOp::And,
        BinaryOp::Or,
        BinaryOp::Xor,
    ];
    let binary = (prop::sample::select(ops.to_vec()), pair())
        .prop_map(move |(op, (a, b))| expr(ExprKind::Binary(op, a.into(), b.into()), ty));
    let unary = (any::<bool>(), same())
        .prop_map(move |(neg, of)| expr(ExprKind::Unary(if neg { UnaryOp::Neg } else { UnaryOp::Not }, of.into()), ty));
    let shift = (any::<bool>(), same(), any_type().prop_filter("unsigned amount", |ty| !ty.signed))
        .prop_flat_map(move |(left, value, amount)| (Just(left), Just(value), expression(base, amount, depth - 1)))
        .prop_map(move |(left, value, amount)| {
            let op = if left { BinaryOp::Shl } else { BinaryOp::Shr };
            expr(ExprKind::Binary(op, value.into(), amount.into()), ty)
        });
    let mux = (expression(base, Ty::BOOL, depth - 1), pair()).prop_map(move |(cond, (then, otherwise))| {
        expr(ExprKind::Mux { cond: cond.into(), then: then.into(), otherwise: otherwise.into() }, ty)
    });
    let cast = any_type()
        .prop_flat_map(move |from| expression(base, from, depth - 1))
        .prop_map(move |of| expr(ExprKind::Cast(of.into()), ty));
    let mut choices = vec![leaf(base, ty), binary.boxed(), unary.boxed(), shift.boxed(), mux.boxed(), cast.boxed()];
    if !ty.signed {
        let slice = any_type()
            .prop_map(move |from| Ty { width: from.width.max(ty.width), ..from })
            .prop_flat_map(move |from| (expression(base, from, depth - 1), 0..=from.width - ty.width))
            .prop_map(move |(of, lo)| expr(ExprKind::Slice { of: of.into(), hi: lo + ty.width - 1, lo }, ty));
        choices.push(slice.boxed());
        let divide = (any::<bool>(), pair()).prop_map(move |(div, (a, b))| {
            let op = if div { BinaryOp::Div } else { BinaryOp::Mod };
            expr(ExprKind::Binary(op, a.into(), b.into()), ty)
        });
        choices.push(divide.boxed());
        if ty.width > 1 {
            let concat = (1..ty.width)
                .prop_flat_map(move |left| {
                    let right = ty.width - left;
                    (expression(base, Ty::bits(left), depth - 1), expression(base, Ty::bits(right), depth - 1))
                })
                .prop_map(move |(left, right)| expr(ExprKind::Concat(left.into(), right.into()), ty));
            choices.push(concat.boxed());
        }
    }
    if ty == Ty::BOOL {
        let ops = [BinaryOp::Eq, BinaryOp::Ne, BinaryOp::Lt, BinaryOp::Le, BinaryOp::Gt, BinaryOp::Ge];
        let compare = (prop::sample::select(ops.to_vec()), any_type())
            .prop_flat_map(move |(op, of)| (Just(op), expression(base, of, depth - 1), expression(base, of, depth - 1)))
            .prop_map(|(op, a, b)| expr(ExprKind::Binary(op, a.into(), b.into()), Ty::BOOL));
        choices.push(compare.boxed());
    }
    prop::strategy::Union::new(choices).boxed()
}

fn typed_expression() -> impl Strategy<Value = Expr> {
    let base = with_variables().1;
    any_type().prop_flat_map(move |ty| expression(base, ty, 3))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn engines_agree_on_expressions(
        expressions in prop::collection::vec(typed_expression(), 4),
        values in prop::collection::vec(any_value(), 2 * WIDTHS.len()),
    ) {
        let (mut program, base) = with_variables();
        let results: Vec<SlotId> = expressions
            .iter()
            .map(|result| add_slot(&mut program, "result", result.ty, Class::Packet))
            .collect();
        let body = results.iter().zip(expressions).map(|(&slot, value)| assign(slot, value)).collect();
        set_body(&mut program, EGRESS, body);
        let layout = Layout::new(&program);
        let fields: Vec<_> = (0..values.len() as u32)
            .map(|at| (layout.field(SlotId(base + at)).unwrap(), program.slots[(base + at) as usize].ty.width))
            .collect();
        agreed(program, &[Stage::Egress], &Packet::default(), &|phv, _| {
            for (&(field, width), value) in fields.iter().zip(&values) {
                phv.set_wide(field, &(value & mask(width)));
            }
        });
    }
}

/// Evaluates an expression over constants with both engines.
fn value_of(expression: Expr) -> u128 {
    let mut program = program();
    let result = add_slot(&mut program, "result", expression.ty, Class::Packet);
    set_body(&mut program, EGRESS, vec![assign(result, expression)]);
    let field = Layout::new(&program).field(result).unwrap();
    agreed(program, &[Stage::Egress], &Packet::default(), &|_, _| {}).phv.get_wide(field).try_into().unwrap()
}

fn binary(op: BinaryOp, left: (u128, Ty), right: (u128, Ty), ty: Ty) -> u128 {
    value_of(expr(ExprKind::Binary(op, constant(left.0, left.1).into(), constant(right.0, right.1).into()), ty))
}

#[test]
fn arithmetic_wraps_and_saturates_at_the_width() {
    let (u8_, i8_) = (Ty::bits(8), Ty::int(8));
    assert_eq!(binary(BinaryOp::Add, (255, u8_), (1, u8_), u8_), 0);
    assert_eq!(binary(BinaryOp::Sub, (0, u8_), (1, u8_), u8_), 255);
    assert_eq!(binary(BinaryOp::AddSat, (255, u8_), (1, u8_), u8_), 255);
    assert_eq!(binary(BinaryOp::SubSat, (0, u8_), (1, u8_), u8_), 0);
    assert_eq!(binary(BinaryOp::AddSat, (127, i8_), (1, i8_), i8_), 127);
    assert_eq!(binary(BinaryOp::SubSat, (128, i8_), (1, i8_), i8_), 128); // -128 |-| 1 = -128
    assert_eq!(binary(BinaryOp::AddSat, (128, i8_), (128, i8_), i8_), 128); // -128 |+| -128 = -128
}

#[test]
fn wide_arithmetic_wraps_and_saturates_at_the_width() {
    let value = |op, left: BigUint, right: u32, ty: Ty| {
        let mut program = program();
        let result = add_slot(&mut program, "result", ty, Class::Packet);
        let operand = |value: BigUint| Box::new(expr(ExprKind::Const(value), ty));
        let sum = expr(ExprKind::Binary(op, operand(left), operand(right.into())), ty);
        set_body(&mut program, EGRESS, vec![assign(result, sum)]);
        let field = Layout::new(&program).field(result).unwrap();
        agreed(program, &[Stage::Egress], &Packet::default(), &|_, _| {}).phv.get_wide(field)
    };
    for width in [128, 129, 4096] {
        let (unsigned, signed, top) = (Ty::bits(width), Ty::int(width), BigUint::from(1u32) << (width - 1));
        assert_eq!(value(BinaryOp::Add, mask(width), 1, unsigned), BigUint::ZERO);
        assert_eq!(value(BinaryOp::Sub, BigUint::ZERO, 1, unsigned), mask(width));
        assert_eq!(value(BinaryOp::AddSat, mask(width), 1, unsigned), mask(width));
        assert_eq!(value(BinaryOp::AddSat, mask(width - 1), 1, signed), mask(width - 1));
        assert_eq!(value(BinaryOp::SubSat, top.clone(), 1, signed), top);
        assert_eq!(value(BinaryOp::Div, top.clone(), 4, unsigned), top.clone() >> 2);
        assert_eq!(value(BinaryOp::Mod, mask(width), 2, unsigned), BigUint::from(1u32));
        assert_eq!(value(BinaryOp::Shr, top.clone(), width, signed), mask(width));
        assert_eq!(value(BinaryOp::Shl, BigUint::from(1u32), width - 1, unsigned), top);
    }
}

/// Runs `a OP b ? a : b`, or with the results swapped, in both engines for values at the edges.
fn choose_by(op: BinaryOp, ty: Ty, swapped: bool, zero: bool) {
    let (mut program, base) = with_variables();
    let [other, result] = ["other", "result"].map(|name| add_slot(&mut program, name, ty, Class::Packet));
    let (a, b) = (variable(base, ty), if zero { constant(0, ty) } else { load(&program, other) });
    let cond = expr(ExprKind::Binary(op, a.clone().into(), b.clone().into()), Ty::BOOL).into();
    let (then, otherwise) = if swapped { (b.into(), a.clone().into()) } else { (a.clone().into(), b.into()) };
    set_body(&mut program, EGRESS, vec![assign(result, expr(ExprKind::Mux { cond, then, otherwise }, ty))]);
    let ExprKind::Load(place) = a.kind else { unreachable!("it is a variable") };
    let layout = Layout::new(&program);
    let fields = [place.slot, other].map(|slot| layout.field(slot).unwrap());
    let (most, one) = (mask(ty.width), BigUint::from(1u32));
    for values in [[&most, &one], [&one, &most], [&most, &BigUint::ZERO], [&(&most >> 1), &most]] {
        agreed(program.clone(), &[Stage::Egress], &Packet::default(), &|phv, _| {
            fields.iter().zip(values).for_each(|(&field, value)| phv.set_wide(field, value));
        });
    }
}

/// Cranelift turns each of these into one operation, which a machine may not have for 128 bits.
#[test]
fn the_larger_and_the_smaller_of_two_of_any_width() {
    for (at, op) in [BinaryOp::Lt, BinaryOp::Le, BinaryOp::Gt, BinaryOp::Ge].into_iter().cycle().take(16).enumerate() {
        for width in WIDTHS {
            choose_by(op, Ty { width, signed: at & 4 != 0 }, at & 8 != 0, false);
            choose_by(op, Ty { width, signed: at & 4 != 0 }, at & 8 != 0, true);
        }
    }
}

#[test]
fn shifts_beyond_the_width_leave_zero_or_the_sign() {
    let (u8_, i8_) = (Ty::bits(8), Ty::int(8));
    for (amount, left, right, signed) in [(7, 0x80, 1, 0xff), (8, 0, 0, 0xff), (200, 0, 0, 0xff)] {
        assert_eq!(binary(BinaryOp::Shl, (0xff, u8_), (amount, u8_), u8_), left);
        assert_eq!(binary(BinaryOp::Shr, (0xff, u8_), (amount, u8_), u8_), right);
        assert_eq!(binary(BinaryOp::Shr, (0x80, i8_), (amount, u8_), i8_), signed);
    }
}

#[test]
fn comparisons_follow_the_sign() {
    assert_eq!(binary(BinaryOp::Lt, (0x80, Ty::int(8)), (1, Ty::int(8)), Ty::BOOL), 1);
    assert_eq!(binary(BinaryOp::Lt, (0x80, Ty::bits(8)), (1, Ty::bits(8)), Ty::BOOL), 0);
}

#[test]
fn casts_extend_the_sign_of_the_operand() {
    let cast = |value, from, to| value_of(expr(ExprKind::Cast(constant(value, from).into()), to));
    assert_eq!(cast(0x80, Ty::int(8), Ty::int(16)), 0xff80);
    assert_eq!(cast(0x80, Ty::bits(8), Ty::int(16)), 0x80);
    assert_eq!(cast(0x1234, Ty::bits(16), Ty::bits(8)), 0x34);
    assert_eq!(cast(0x80, Ty::int(8), Ty::int(128)), u128::MAX - 0x7f);
}

#[test]
fn division_by_zero_gives_zero_and_a_fault() {
    let mut program = program();
    let result = add_slot(&mut program, "result", Ty::bits(8), Class::Packet);
    let of =
        |op| expr(ExprKind::Binary(op, constant(7, Ty::bits(8)).into(), constant(0, Ty::bits(8)).into()), Ty::bits(8));
    let body = vec![assign(result, of(BinaryOp::Div)), assign(result, of(BinaryOp::Mod))];
    set_body(&mut program, EGRESS, body);
    let field = Layout::new(&program).field(result).unwrap();
    let outcome = agreed(program, &[Stage::Egress], &Packet::default(), &|_, _| {});
    assert_eq!((outcome.phv.get(field), outcome.faults), (0, 2));
}
