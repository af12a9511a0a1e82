// SPDX-License-Identifier: MIT OR Apache-2.0
//! Math units of stateful ALUs.

use marklab_p4::ir::MathUnit;

/// A shift by this many bits leaves nothing in the unit.
const MAX_SHIFT: u32 = 32;

/// Result of a math unit for `x`, before it is truncated to the width of the ALU.
pub(crate) fn evaluate(unit: &MathUnit, x: u64) -> u64 {
    let highest = x.checked_ilog2().unwrap_or(0) as i32;
    let (mantissa_from, exponent) = match unit.shift {
        -1 => {
            let even = (highest + 1) / 2 * 2;
            (even, even / 2)
        }
        0 => (highest, highest),
        _ => (highest, 2 * highest),
    };
    // Three bits behind the binary point.
    let index = (u128::from(x) << 3 >> mantissa_from) as usize & 15;
    let entry = u64::from(unit.table[index]);
    let shift = if unit.invert { -exponent } else { exponent } + i32::from(unit.scale);
    match shift.unsigned_abs() {
        MAX_SHIFT.. => 0,
        left if shift >= 0 => entry << left,
        right => entry >> right,
    }
}

#[cfg(test)]
mod tests {
    use marklab_p4::source::Span;
    use num_bigint::BigUint;
    use proptest::prelude::*;

    use super::*;

    fn unit(invert: bool, shift: i8, scale: i8, table: [u8; 16]) -> MathUnit {
        MathUnit { name: String::new(), invert, shift, scale, table, span: Span::default() }
    }

    /// The same from the digits of `x`: the leading digits choose the entry, the number of digits gives the power of
    /// two.
    fn by_digits(unit: &MathUnit, x: u64) -> BigUint {
        let digits = if x == 0 { String::new() } else { format!("{x:b}") };
        // Pairs of digits for a square root.
        let digits =
            if unit.shift == -1 && digits.len().is_multiple_of(2) { "0".to_string() + &digits } else { digits };
        let mantissa: String = digits.chars().chain("0000".chars()).take(4).collect();
        let entry = BigUint::from(unit.table[usize::from_str_radix(&mantissa, 2).unwrap()]);
        let places = digits.len().saturating_sub(1) as i32;
        let power = match unit.shift {
            -1 => places / 2,
            0 => places,
            _ => places * 2,
        };
        let power = if unit.invert { -power } else { power } + i32::from(unit.scale);
        match power {
            32.. | ..=-32 => BigUint::ZERO,
            0.. => entry << power,
            _ => entry >> -power,
        }
    }

    proptest! {
        /// Oracle: strings of binary digits.
        #[test]
        fn a_math_unit_looks_at_the_leading_digits(
            invert in any::<bool>(),
            shift in -1..=1i8,
            scale in -32..=31i8,
            table in any::<[u8; 16]>(),
            large in prop::collection::vec(any::<u32>(), 100),
        ) {
            let unit = unit(invert, shift, scale, table);
            for x in (0..300).chain(large).chain([u32::MAX]).map(u64::from) {
                prop_assert_eq!(BigUint::from(evaluate(&unit, x)), by_digits(&unit, x), "x = {}", x);
            }
        }
    }

    /// A published example: 65536 / x with the table 68, 73, ... (from index 15 down).
    #[test]
    fn a_reciprocal_is_an_eighth_off_at_most() {
        let table = [0, 0, 0, 0, 0, 0, 0, 0, 128, 113, 102, 93, 85, 78, 73, 68];
        let unit = unit(true, 0, 9, table);
        assert_eq!([1, 2, 8].map(|x| evaluate(&unit, x)), [65536, 32768, 8192]);
        for x in 1..5000u64 {
            let (exact, found) = (65536.0 / x as f64, evaluate(&unit, x) as f64);
            assert!(
                found - exact < exact / 7.0 + 1.0 && exact - found < exact / 8.0 + 1.0,
                "{x}: {found}, not {exact}"
            );
        }
    }
}
