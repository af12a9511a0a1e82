// SPDX-License-Identifier: MIT OR Apache-2.0
//! Results of operators (spec sections 8.5 to 8.10) on values of any width.
//!
//! The checker, the constant folding of the IR and the interpreter compute only here. The JIT computes in registers if
//! the values fit, and calls these functions otherwise.

use num_bigint::{BigInt, BigUint, Sign};

use crate::ast::BinaryOp;
use crate::ir::{self, Expr, ExprKind, Ty};

/// Largest result of a shift or product of `int`s, in bits: without a limit it could exceed the memory.
const MAX_BITS: u64 = 1 << 20;

/// Why an operation has no value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ArithError {
    DivisionByZero,
    NegativeOperand,
    NegativeShift,
    TooLarge,
}

/// Width and sign of `bit<W>` and `int<W>`; `None` stands for `int`.
pub(crate) type Size = Option<(u32, bool)>;

/// 2^width.
pub(crate) fn power(width: u32) -> BigInt {
    BigInt::from(1) << width
}

/// Smallest and largest value of a type.
pub(crate) fn range(width: u32, signed: bool) -> (BigInt, BigInt) {
    match (signed, width) {
        (false, _) => (BigInt::ZERO, power(width) - 1),
        (true, 0) => (BigInt::ZERO, BigInt::ZERO),
        (true, _) => (-power(width - 1), power(width - 1) - 1),
    }
}

/// Brings a number into the range of a type by dropping high bits.
pub(crate) fn wrap(value: &BigInt, width: u32, signed: bool) -> BigInt {
    let (lo, hi) = range(width, signed);
    if (&lo..=&hi).contains(&value) {
        return value.clone();
    }
    let modulus = power(width);
    let mut image = value % &modulus;
    if image.sign() == Sign::Minus {
        image += &modulus;
    }
    if signed && image > hi { image - modulus } else { image }
}

/// The unsigned image of a number in `width` bits.
pub(crate) fn image(value: &BigInt, width: u32) -> BigUint {
    wrap(value, width, false).to_biguint().expect("wrapped into an unsigned range")
}

/// The number that an unsigned image stands for.
pub fn from_image(image: &BigUint, width: u32, signed: bool) -> BigInt {
    wrap(&BigInt::from(image.clone()), width, signed)
}

/// An arithmetic or bitwise operation on operands of one type; for shifts, `b` may have any type.
pub(crate) fn binary(op: BinaryOp, size: Size, a: &BigInt, b: &BigInt) -> Result<BigInt, ArithError> {
    let exact = match op {
        BinaryOp::Add | BinaryOp::AddSat => a + b,
        BinaryOp::Sub | BinaryOp::SubSat => a - b,
        BinaryOp::Mul if size.is_none() && a.bits() + b.bits() > MAX_BITS => return Err(ArithError::TooLarge),
        BinaryOp::Mul => a * b,
        BinaryOp::Div | BinaryOp::Mod => {
            if a.sign() == Sign::Minus || b.sign() == Sign::Minus {
                return Err(ArithError::NegativeOperand);
            }
            if b.sign() == Sign::NoSign {
                return Err(ArithError::DivisionByZero);
            }
            if op == BinaryOp::Div { a / b } else { a % b }
        }
        BinaryOp::BitAnd => a & b,
        BinaryOp::BitOr => a | b,
        BinaryOp::BitXor => a ^ b,
        BinaryOp::Shl | BinaryOp::Shr => shift(op, size, a, b)?,
        _ => unreachable!("`{}` is not arithmetic", op.text()),
    };
    Ok(match (size, op) {
        (None, _) => exact,
        (Some((width, signed)), BinaryOp::AddSat | BinaryOp::SubSat) => {
            let (lo, hi) = range(width, signed);
            exact.clamp(lo, hi)
        }
        (Some((width, signed)), _) => wrap(&exact, width, signed),
    })
}

fn shift(op: BinaryOp, size: Size, a: &BigInt, by: &BigInt) -> Result<BigInt, ArithError> {
    if by.sign() == Sign::Minus {
        return Err(ArithError::NegativeShift);
    }
    let by = u64::try_from(by).unwrap_or(u64::MAX);
    if op == BinaryOp::Shr {
        // Beyond the last bit there is only the sign.
        return Ok(a >> by.min(a.bits() + 1));
    }
    match size {
        Some((width, _)) => Ok(if by >= u64::from(width) { BigInt::ZERO } else { a << by }),
        None if by.saturating_add(a.bits()) > MAX_BITS => Err(ArithError::TooLarge),
        None => Ok(a << by),
    }
}

/// A unary operation, exact as for `int`.
pub(crate) fn unary(op: ir::UnaryOp, a: &BigInt) -> BigInt {
    match op {
        ir::UnaryOp::Neg => -a,
        ir::UnaryOp::Not => -a - 1,
    }
}

/// `high ++ low`, where `low` has `low_width` bits.
pub(crate) fn concat(high: &BigInt, low: &BigInt, low_width: u32) -> BigInt {
    (high << low_width) + BigInt::from(image(low, low_width))
}

/// A comparison.
pub(crate) fn compare(op: BinaryOp, a: &BigInt, b: &BigInt) -> bool {
    match op {
        BinaryOp::Eq => a == b,
        BinaryOp::Ne => a != b,
        BinaryOp::Lt => a < b,
        BinaryOp::Le => a <= b,
        BinaryOp::Gt => a > b,
        BinaryOp::Ge => a >= b,
        _ => unreachable!("`{}` is not a comparison", op.text()),
    }
}

/// Bits `hi..=lo` of a number of `width` bits.
pub(crate) fn slice(value: &BigInt, width: u32, hi: u32, lo: u32) -> BigInt {
    let image = BigInt::from(image(value, width));
    wrap(&(image >> lo), hi - lo + 1, false)
}

/// An operator without its operands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operator {
    /// Unary.
    Unary(ir::UnaryOp),
    /// Binary.
    Binary(ir::BinaryOp),
    /// Bits `hi..=lo`.
    Slice {
        /// Highest bit.
        hi: u32,
        /// Lowest bit.
        lo: u32,
    },
    /// Concatenation; the first operand gives the high bits.
    Concat,
    /// Change of width or sign.
    Cast,
}

impl Operator {
    /// The operator of an expression and its operands; `None` if the value does not depend on operands alone.
    pub fn of(expr: &Expr) -> Option<(Operator, Vec<&Expr>)> {
        match &expr.kind {
            ExprKind::Unary(op, of) => Some((Operator::Unary(*op), vec![of])),
            ExprKind::Binary(op, left, right) => Some((Operator::Binary(*op), vec![left, right])),
            ExprKind::Slice { of, hi, lo } => Some((Operator::Slice { hi: *hi, lo: *lo }, vec![of])),
            ExprKind::Concat(left, right) => Some((Operator::Concat, vec![left, right])),
            ExprKind::Cast(of) => Some((Operator::Cast, vec![of])),
            ExprKind::Const(_)
            | ExprKind::Load(_)
            | ExprKind::Mux { .. }
            | ExprKind::Lookahead { .. }
            | ExprKind::PacketLength => None,
        }
    }

    /// The value of type `to` for these operands, all of them bit patterns in their type; `None` for a division by 0.
    ///
    /// # Panics
    ///
    /// If the number of operands is wrong for the operator.
    pub fn apply(self, operands: &[(BigUint, Ty)], to: Ty) -> Option<BigUint> {
        let number = |(value, ty): &(BigUint, Ty)| from_image(value, ty.width, ty.signed);
        let value = match (self, operands) {
            (Operator::Unary(op), [of]) => unary(op, &number(of)),
            (Operator::Binary(op), [left, right]) => {
                let size = Some((left.1.width, left.1.signed));
                // A shift amount has no sign.
                let is_shift = matches!(op, ir::BinaryOp::Shl | ir::BinaryOp::Shr);
                let right = if is_shift { BigInt::from(right.0.clone()) } else { number(right) };
                match plain(op) {
                    op if op.is_comparison() => BigInt::from(u8::from(compare(op, &number(left), &right))),
                    op => binary(op, size, &number(left), &right).ok()?,
                }
            }
            (Operator::Slice { hi, lo }, [of]) => slice(&number(of), of.1.width, hi, lo),
            (Operator::Concat, [high, low]) => concat(&number(high), &number(low), low.1.width),
            (Operator::Cast, [of]) => number(of),
            _ => panic!("{self:?} of {} operand(s)", operands.len()),
        };
        Some(image(&value, to.width))
    }
}

/// The operator of P4 for one of the IR.
const fn plain(op: ir::BinaryOp) -> BinaryOp {
    match op {
        ir::BinaryOp::Add => BinaryOp::Add,
        ir::BinaryOp::Sub => BinaryOp::Sub,
        ir::BinaryOp::Mul => BinaryOp::Mul,
        ir::BinaryOp::Div => BinaryOp::Div,
        ir::BinaryOp::Mod => BinaryOp::Mod,
        ir::BinaryOp::AddSat => BinaryOp::AddSat,
        ir::BinaryOp::SubSat => BinaryOp::SubSat,
        ir::BinaryOp::And => BinaryOp::BitAnd,
        ir::BinaryOp::Or => BinaryOp::BitOr,
        ir::BinaryOp::Xor => BinaryOp::BitXor,
        ir::BinaryOp::Shl => BinaryOp::Shl,
        ir::BinaryOp::Shr => BinaryOp::Shr,
        ir::BinaryOp::Eq => BinaryOp::Eq,
        ir::BinaryOp::Ne => BinaryOp::Ne,
        ir::BinaryOp::Lt => BinaryOp::Lt,
        ir::BinaryOp::Le => BinaryOp::Le,
        ir::BinaryOp::Gt => BinaryOp::Gt,
        ir::BinaryOp::Ge => BinaryOp::Ge,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn op(op: BinaryOp, size: Size, a: i64, b: i64) -> i64 {
        i64::try_from(binary(op, size, &a.into(), &b.into()).expect("has a value")).expect("is small")
    }

    #[test]
    fn results_wrap_in_their_type() {
        let (byte, signed) = (Some((8, false)), Some((8, true)));
        assert_eq!(op(BinaryOp::Add, byte, 250, 10), 4);
        assert_eq!(op(BinaryOp::Sub, byte, 1, 2), 255);
        assert_eq!(op(BinaryOp::Add, signed, 127, 1), -128);
        assert_eq!(op(BinaryOp::Mul, None, 1 << 20, 1 << 20), 1 << 40);
    }

    #[test]
    fn saturating_operations_stop_at_the_range() {
        assert_eq!(op(BinaryOp::AddSat, Some((8, false)), 250, 10), 255);
        assert_eq!(op(BinaryOp::SubSat, Some((8, false)), 1, 2), 0);
        assert_eq!(op(BinaryOp::SubSat, Some((8, true)), -128, 1), -128);
    }

    #[test]
    fn shifts_beyond_the_width_leave_nothing_but_the_sign() {
        assert_eq!(op(BinaryOp::Shl, Some((8, false)), 1, 8), 0);
        assert_eq!(op(BinaryOp::Shr, Some((8, true)), -1, 200), -1);
        assert_eq!(op(BinaryOp::Shr, Some((8, false)), 255, i64::MAX), 0);
        assert_eq!(binary(BinaryOp::Shl, None, &1.into(), &i64::MAX.into()), Err(ArithError::TooLarge));
    }

    #[test]
    fn slices_are_unsigned() {
        assert_eq!(slice(&(-1).into(), 8, 5, 2), 15.into());
        assert_eq!(slice(&0xabcd.into(), 16, 15, 8), 0xab.into());
    }

    /// The number that the low `width` bits of `value` represent.
    fn small(value: i64, width: u32, signed: bool) -> i64 {
        let image = value.rem_euclid(1 << width);
        if signed && image >= 1 << (width - 1) { image - (1 << width) } else { image }
    }

    #[test]
    fn operators_on_bit_patterns_are_those_of_small_integers() {
        use ir::BinaryOp as B;
        for (width, is_signed) in (1..=4).flat_map(|width| [(width, false), (width, true)]) {
            let ty = Ty { width, signed: is_signed };
            let (lo, hi) =
                if is_signed { (-(1 << (width - 1)), (1 << (width - 1)) - 1) } else { (0, (1 << width) - 1) };
            for (left, right) in (0..1u32 << width).flat_map(|left| (0..1u32 << width).map(move |right| (left, right)))
            {
                let (a, b) = (small(left.into(), width, is_signed), small(right.into(), width, is_signed));
                let by = right.min(31);
                let exact = [
                    (B::Add, a + b),
                    (B::Sub, a - b),
                    (B::Mul, a * b),
                    (B::AddSat, (a + b).clamp(lo, hi)),
                    (B::SubSat, (a - b).clamp(lo, hi)),
                    (B::And, a & b),
                    (B::Or, a | b),
                    (B::Xor, a ^ b),
                    (B::Shl, a << by),
                    (B::Shr, a >> by),
                ];
                let operands = [(left.into(), ty), (right.into(), ty)];
                for (op, value) in exact {
                    let wanted = BigUint::from(value.rem_euclid(1 << width) as u32);
                    assert_eq!(Operator::Binary(op).apply(&operands, ty), Some(wanted), "{op:?} {ty:?} {a} {b}");
                }
                let holds = [
                    (B::Eq, a == b),
                    (B::Ne, a != b),
                    (B::Lt, a < b),
                    (B::Le, a <= b),
                    (B::Gt, a > b),
                    (B::Ge, a >= b),
                ];
                for (op, value) in holds {
                    assert_eq!(
                        Operator::Binary(op).apply(&operands, Ty::BOOL),
                        Some(u32::from(value).into()),
                        "{op:?}"
                    );
                }
                let wide = Ty::bits(2 * width);
                assert_eq!(Operator::Concat.apply(&operands, wide), Some((left << width | right).into()));
                let cast = BigUint::from(a.rem_euclid(1 << (2 * width)) as u32);
                assert_eq!(Operator::Cast.apply(&operands[..1], wide), Some(cast));
            }
        }
        let by_zero = [(1u32.into(), Ty::bits(8)), (0u32.into(), Ty::bits(8))];
        assert_eq!(Operator::Binary(B::Div).apply(&by_zero, Ty::bits(8)), None);
        assert_eq!(
            Operator::Slice { hi: 6, lo: 3 }.apply(&[(0b0101_1010u32.into(), Ty::bits(8))], Ty::bits(4)),
            Some(11u32.into())
        );
    }
}
