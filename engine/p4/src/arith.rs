// SPDX-License-Identifier: MIT OR Apache-2.0
//! Arithmetic on constants (spec sections 8.5 to 8.10), shared by the checker and by the folding of the IR.

use num_bigint::{BigInt, BigUint, Sign};

use crate::ast::BinaryOp;

/// Largest result of a shift or product of `int`s, in bits: a program can ask for more than memory holds.
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
pub(crate) fn from_image(image: &BigUint, width: u32, signed: bool) -> BigInt {
    wrap(&BigInt::from(image.clone()), width, signed)
}

/// An arithmetic or bitwise operation on operands of one type; for shifts, `b` may have any.
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
        _ => unreachable!("`{}` is no arithmetic", op.text()),
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

/// A comparison.
pub(crate) fn compare(op: BinaryOp, a: &BigInt, b: &BigInt) -> bool {
    match op {
        BinaryOp::Eq => a == b,
        BinaryOp::Ne => a != b,
        BinaryOp::Lt => a < b,
        BinaryOp::Le => a <= b,
        BinaryOp::Gt => a > b,
        BinaryOp::Ge => a >= b,
        _ => unreachable!("`{}` is no comparison", op.text()),
    }
}

/// Bits `hi..=lo` of a number of `width` bits.
pub(crate) fn slice(value: &BigInt, width: u32, hi: u32, lo: u32) -> BigInt {
    let image = BigInt::from(image(value, width));
    wrap(&(image >> lo), hi - lo + 1, false)
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
}
