// SPDX-License-Identifier: MIT OR Apache-2.0
//! What an entry requires of each component of the key.

use marklab_p4::ir;
use num_bigint::BigUint;

use crate::words::mask;

/// How a component of a key has to match.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum KeyMatch {
    /// Equal to a value.
    Exact(BigUint),
    /// The first `prefix_len` bits equal to those of a value.
    Lpm {
        /// Value; bits behind the prefix are ignored.
        value: BigUint,
        /// Bits compared.
        prefix_len: u32,
    },
    /// Equal to a value where the mask has ones.
    Ternary {
        /// Value; bits outside the mask are ignored.
        value: BigUint,
        /// Bits compared.
        mask: BigUint,
    },
    /// Between two bounds, both included.
    Range {
        /// Smallest value.
        lo: BigUint,
        /// Largest value.
        hi: BigUint,
    },
    /// Anything.
    Any,
}

impl KeyMatch {
    /// An equivalent match for a key of that width, without the bits that are ignored; [`KeyMatch::Any`] if it matches
    /// every value.
    pub(super) fn canonical(&self, width: u32) -> KeyMatch {
        match self {
            KeyMatch::Lpm { prefix_len: 0, .. } => KeyMatch::Any,
            KeyMatch::Lpm { value, prefix_len } => {
                let rest = width - prefix_len;
                KeyMatch::Lpm { value: value >> rest << rest, prefix_len: *prefix_len }
            }
            KeyMatch::Ternary { mask, .. } if *mask == BigUint::ZERO => KeyMatch::Any,
            KeyMatch::Ternary { value, mask } => KeyMatch::Ternary { value: value & mask, mask: mask.clone() },
            KeyMatch::Range { lo, hi } if *lo == BigUint::ZERO && *hi == mask(width) => KeyMatch::Any,
            KeyMatch::Exact(_) | KeyMatch::Range { .. } | KeyMatch::Any => self.clone(),
        }
    }
}

/// Converts a key set of an entry in the source to a [`KeyMatch`].
pub(super) fn key_match(key: &ir::Key, set: &ir::KeySet) -> KeyMatch {
    let width = key.expr.ty.width;
    match (set, key.kind) {
        (ir::KeySet::Any, _) => KeyMatch::Any,
        (ir::KeySet::Value(value), ir::MatchKind::Lpm) => KeyMatch::Lpm { value: value.clone(), prefix_len: width },
        (ir::KeySet::Value(value), ir::MatchKind::Range) => KeyMatch::Range { lo: value.clone(), hi: value.clone() },
        (ir::KeySet::Value(value), ir::MatchKind::Ternary) => {
            KeyMatch::Ternary { value: value.clone(), mask: mask(width) }
        }
        (ir::KeySet::Value(value), _) => KeyMatch::Exact(value.clone()),
        (ir::KeySet::Mask { value, mask }, ir::MatchKind::Lpm) => {
            KeyMatch::Lpm { value: value.clone(), prefix_len: mask.count_ones() as u32 }
        }
        (ir::KeySet::Mask { value, mask }, _) => KeyMatch::Ternary { value: value.clone(), mask: mask.clone() },
        (ir::KeySet::Range { lo, hi }, _) => KeyMatch::Range { lo: lo.clone(), hi: hi.clone() },
        // The front end admits value sets in `select` only.
        (ir::KeySet::ValueSet(_), _) => unreachable!("value set in a table entry"),
    }
}
