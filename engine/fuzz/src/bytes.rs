// SPDX-License-Identifier: MIT OR Apache-2.0
//! An input as a sequence of decisions.

use num_bigint::BigUint;

/// Bytes that are taken one after the other. Behind their end come zeros.
pub(crate) struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Bytes<'a> {
        Bytes(bytes)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn byte(&mut self) -> u8 {
        let Some((&first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        first
    }

    /// A number below `bound`, which must not be 0.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        let number = u16::from_be_bytes([if bound > 256 { self.byte() } else { 0 }, self.byte()]);
        usize::from(number) % bound
    }

    /// Up to `count` bytes.
    pub(crate) fn take(&mut self, count: usize) -> &'a [u8] {
        let (taken, rest) = self.0.split_at(count.min(self.0.len()));
        self.0 = rest;
        taken
    }

    /// A value of `width` bits. About half of the values are small or all ones, and some are one bit too wide.
    pub(crate) fn value(&mut self, width: u32) -> BigUint {
        let all = (BigUint::from(1u32) << width) - 1u32;
        match self.byte() {
            shape @ 0..100 => BigUint::from(shape % 10) & all,
            100..130 => all,
            130 => all + 1u32,
            _ => BigUint::from_bytes_be(self.take(width.div_ceil(8) as usize)) & all,
        }
    }
}
