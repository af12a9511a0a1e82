// SPDX-License-Identifier: MIT OR Apache-2.0
//! How the words of a key hold its components.
//!
//! A key of up to 64 bits in all is one word, the first component most significant. In a longer key each component has
//! words of its own, least significant first.

use marklab_p4::ir::{Key, MatchKind, Table};
use num_bigint::BigUint;

use crate::words::{limbs_of, words_for};

/// Place of a component.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Part {
    /// First word.
    pub(crate) word: usize,
    /// Words taken.
    pub(crate) words: usize,
    /// Lowest bit in that word; 0 unless the key is one word.
    pub(crate) shift: u32,
    /// Bits taken.
    pub(crate) width: u32,
}

/// Places of all components that are compared.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct KeyShape {
    /// One per component.
    pub(crate) parts: Vec<Part>,
    /// Words of the key.
    pub(crate) words: usize,
}

/// The keys that entries are compared with. `selector` keys are not among them: they choose among the members of a
/// group.
pub(crate) fn compared_keys(table: &Table) -> impl Iterator<Item = &Key> + Clone {
    table.keys.iter().filter(|key| key.kind != MatchKind::Selector)
}

impl KeyShape {
    pub(crate) fn new(table: &Table) -> KeyShape {
        KeyShape::of_widths(compared_keys(table).map(|key| key.expr.ty.width))
    }

    /// The shape of a key whose components have these widths.
    pub(crate) fn of_widths(widths: impl Iterator<Item = u32> + Clone) -> KeyShape {
        let total: u32 = widths.clone().sum();
        let mut parts = Vec::new();
        if total <= 64 {
            let mut shift = total;
            for width in widths {
                shift -= width;
                parts.push(Part { word: 0, words: 1, shift, width });
            }
            let words = usize::from(!parts.is_empty());
            return KeyShape { parts, words };
        }
        let mut word = 0;
        for width in widths {
            parts.push(Part { word, words: words_for(width), shift: 0, width });
            word += words_for(width);
        }
        KeyShape { parts, words: word }
    }

    /// The words of a key with these components.
    pub(crate) fn key(&self, values: impl IntoIterator<Item = BigUint>) -> Vec<u64> {
        let mut key = vec![0; self.words];
        for (part, value) in self.parts.iter().zip(values) {
            part.put(&mut key, &limbs_of(&value, part.words));
        }
        key
    }
}

impl Part {
    /// Stores a component in a key, in which its bits must be 0.
    pub(super) fn put(&self, key: &mut [u64], value: &[u64]) {
        for (target, word) in key[self.word..].iter_mut().zip(value) {
            // A component of width 0 may lie beyond the word.
            *target |= word.checked_shl(self.shift).unwrap_or(0);
        }
    }

    /// The value of the component in a one-word key.
    pub(super) fn get(&self, key: u64) -> u64 {
        let mask = if self.width >= 64 { u64::MAX } else { (1 << self.width) - 1 };
        key.checked_shr(self.shift).unwrap_or(0) & mask
    }
}
