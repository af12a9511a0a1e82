// SPDX-License-Identifier: MIT OR Apache-2.0
//! Checks of entries. Each check returns the problem as text; the caller adds the name of the object.

use marklab_p4::ir;
use num_bigint::BigUint;

use super::KeyMatch;

/// Checks that an entry, or a miss, may run an action.
pub(super) fn check_use(action: &ir::TableAction, as_default: bool) -> Result<(), String> {
    match as_default {
        true if action.table_only => Err("it is @tableonly".to_owned()),
        false if action.default_only => Err("it is @defaultonly".to_owned()),
        _ => Ok(()),
    }
}

/// Checks that a key component can be matched with `value`.
pub(super) fn check_key(key: &ir::Key, value: &KeyMatch) -> Result<(), String> {
    use ir::MatchKind::*;
    match (key.kind, value) {
        (Exact | Optional, KeyMatch::Exact(_))
        | (Lpm, KeyMatch::Lpm { .. })
        | (Ternary, KeyMatch::Ternary { .. })
        | (Range, KeyMatch::Range { .. })
        | (Lpm | Ternary | Range | Optional, KeyMatch::Any) => check_width(key.expr.ty.width, value),
        (kind, _) => Err(format!("a {} key cannot be matched this way", kind_name(kind))),
    }
}

/// Checks that `value` fits a width.
pub(crate) fn check_width(width: u32, value: &KeyMatch) -> Result<(), String> {
    let fits = |value: &BigUint| {
        if value.bits() > u64::from(width) {
            return Err(format!("{value:#x} does not fit {width} bits"));
        }
        Ok(())
    };
    match value {
        KeyMatch::Any => Ok(()),
        KeyMatch::Exact(value) => fits(value),
        KeyMatch::Lpm { prefix_len, .. } if *prefix_len > width => {
            Err(format!("prefix length {prefix_len} is more than the width of {width} bits"))
        }
        KeyMatch::Lpm { value, .. } => fits(value),
        KeyMatch::Ternary { value, mask } => fits(value).and_then(|()| fits(mask)),
        KeyMatch::Range { lo, hi } if lo > hi => Err(format!("the range {lo}..{hi} is empty")),
        KeyMatch::Range { lo, hi } => fits(lo).and_then(|()| fits(hi)),
    }
}

/// The match kind as P4 spells it.
fn kind_name(kind: ir::MatchKind) -> &'static str {
    match kind {
        ir::MatchKind::Exact => "exact",
        ir::MatchKind::Lpm => "lpm",
        ir::MatchKind::Ternary => "ternary",
        ir::MatchKind::Range => "range",
        ir::MatchKind::Optional => "optional",
        ir::MatchKind::Selector => "selector",
    }
}
