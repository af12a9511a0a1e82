// SPDX-License-Identifier: MIT OR Apache-2.0
//! Numbers of any width and match keys as JSON.

use marklab_pipeline::KeyMatch;
use num_bigint::BigUint;
use serde::Deserialize;

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Match {
    Exact(Number),
    Lpm(Number, u32),
    Ternary(Number, Number),
    Range(Number, Number),
    Any,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "RawNumber")]
pub(crate) struct Number(pub(crate) BigUint);

#[derive(Deserialize)]
#[serde(untagged)]
enum RawNumber {
    Small(u64),
    Text(String),
}

impl TryFrom<RawNumber> for Number {
    type Error = String;

    fn try_from(raw: RawNumber) -> Result<Number, String> {
        match raw {
            RawNumber::Small(value) => Ok(Number(value.into())),
            RawNumber::Text(text) => {
                let parsed = match text.strip_prefix("0x") {
                    Some(digits) => BigUint::parse_bytes(digits.as_bytes(), 16),
                    None => BigUint::parse_bytes(text.as_bytes(), 10),
                };
                parsed.map(Number).ok_or_else(|| format!("`{text}` is not a number"))
            }
        }
    }
}

impl Match {
    pub(crate) fn key(&self) -> KeyMatch {
        match self {
            Match::Exact(value) => KeyMatch::Exact(value.0.clone()),
            Match::Lpm(value, prefix_len) => KeyMatch::Lpm { value: value.0.clone(), prefix_len: *prefix_len },
            Match::Ternary(value, mask) => KeyMatch::Ternary { value: value.0.clone(), mask: mask.0.clone() },
            Match::Range(lo, hi) => KeyMatch::Range { lo: lo.0.clone(), hi: hi.0.clone() },
            Match::Any => KeyMatch::Any,
        }
    }
}
