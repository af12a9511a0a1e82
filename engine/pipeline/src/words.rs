// SPDX-License-Identifier: MIT OR Apache-2.0
//! Wide values as sequences of 64-bit words, least significant first, and as bits in wire order.

use num_bigint::BigUint;
use num_traits::One;

/// Number of words for a value of `width` bits, at least one.
pub(crate) fn words_for(width: u32) -> usize {
    width.div_ceil(64).max(1) as usize
}

/// 2^width - 1.
pub(crate) fn mask(width: u32) -> BigUint {
    (BigUint::one() << width) - 1u32
}

/// The value as `words` words.
pub(crate) fn limbs_of(value: &BigUint, words: usize) -> Vec<u64> {
    let mut limbs = value.to_u64_digits();
    debug_assert!(limbs.len() <= words);
    limbs.resize(words, 0);
    limbs
}

/// Appends the value as `words` words.
pub(crate) fn push_limbs(row: &mut Vec<u64>, value: &BigUint, words: usize) {
    row.extend(limbs_of(value, words));
}

/// The value that these words hold.
pub(crate) fn limbs(words: &[u64]) -> BigUint {
    BigUint::from_slice(&words.iter().flat_map(|&word| [word as u32, (word >> 32) as u32]).collect::<Vec<_>>())
}

/// All ones in the low `width` bits.
pub(crate) fn mask_words(width: u32) -> Vec<u64> {
    limbs_of(&mask(width), words_for(width))
}

/// Ones in the highest `prefix_len` of `width` bits.
pub(crate) fn prefix_words(width: u32, prefix_len: u32) -> Vec<u64> {
    let rest = width - prefix_len;
    limbs_of(&(mask(prefix_len) << rest), words_for(width))
}

/// Copies the first `bits` bits of `source`, most significant first, to bit `at < 8` of `target`. Bits of `target`
/// before that bit do not change; zeros fill the rest.
pub(crate) fn put_bits(target: &mut [u8], at: u32, source: &[u8], bits: u64) {
    let Some(first) = target.first_mut() else { return };
    *first &= !(0xff >> at);
    target[1..].fill(0);
    for (number, &byte) in source[..bits.div_ceil(8) as usize].iter().enumerate() {
        let kept = (bits - 8 * number as u64).min(8) as u32;
        let byte = u16::from(byte & !(0xff_u16 >> kept) as u8) << (8 - at);
        target[number] |= (byte >> 8) as u8;
        if let Some(next) = target.get_mut(number + 1) {
            *next |= byte as u8;
        }
    }
}

/// Copies `bits` bits, from bit `at < 8` of `source` on, to the start of `target`. Zeros fill its last byte.
pub(crate) fn get_bits(target: &mut [u8], source: &[u8], at: u32, bits: u64) {
    for (number, byte) in target.iter_mut().enumerate() {
        let pair = u16::from(source[number]) << 8 | u16::from(source.get(number + 1).copied().unwrap_or(0));
        let kept = (bits - 8 * number as u64).min(8) as u32;
        *byte = (pair << at >> 8) as u8 & !(0xff_u16 >> kept) as u8;
    }
}

/// Bits in wire order: the concatenation of values, most significant bit first.
#[derive(Default)]
pub(crate) struct Bits {
    value: BigUint,
    width: u64,
}

impl Bits {
    pub(crate) fn push(&mut self, value: &BigUint, width: u32) {
        self.value = (std::mem::take(&mut self.value) << width) | value;
        self.width += u64::from(width);
    }

    /// The bytes; zeros fill the last one.
    pub(crate) fn into_bytes(self) -> Vec<u8> {
        let count = self.width.div_ceil(8);
        let digits = (self.value << (count * 8 - self.width)).to_bytes_be();
        let mut bytes = vec![0; count as usize];
        if count > 0 {
            let digits = &digits[digits.len().saturating_sub(count as usize)..];
            bytes[count as usize - digits.len()..].copy_from_slice(digits);
        }
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_round_trip() {
        let value = (BigUint::from(7u32) << 64) + 9u32;
        assert_eq!(limbs_of(&value, 3), [9, 7, 0]);
        assert_eq!(limbs(&[9, 7, 0]), value);
    }

    #[test]
    fn prefixes_are_counted_from_the_top() {
        assert_eq!(prefix_words(32, 8), [0xff00_0000]);
        assert_eq!(prefix_words(32, 0), [0]);
        assert_eq!(prefix_words(128, 65), [1 << 63, u64::MAX]);
    }

    proptest::proptest! {
        /// Oracle: strings of binary digits.
        #[test]
        fn bits_are_copied_to_and_from_any_place(
            source in proptest::collection::vec(proptest::prelude::any::<u8>(), 1..12),
            at in 0..8u32,
            cut in 0..8u64,
        ) {
            let digits = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:08b}")).collect::<String>();
            let bits = source.len() as u64 * 8 - cut;
            let mut target = vec![0xff; (u64::from(at) + bits).div_ceil(8) as usize];
            put_bits(&mut target, at, &source, bits);
            let expected = "1".repeat(at as usize) + &digits(&source)[..bits as usize];
            let filled = format!("{expected:0<width$}", width = target.len() * 8);
            proptest::prop_assert_eq!(digits(&target), filled);

            let mut back = vec![0xff; source.len()];
            get_bits(&mut back, &target, at, bits);
            let filled = format!("{:0<width$}", &digits(&source)[..bits as usize], width = back.len() * 8);
            proptest::prop_assert_eq!(digits(&back), filled);
        }
    }
}
