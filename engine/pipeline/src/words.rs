//! Wide values as rows of 64-bit words, least significant first.

use num_bigint::BigUint;
use num_traits::One;

/// Words that a value of `width` bits takes, at least one.
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
}
