// SPDX-License-Identifier: MIT OR Apache-2.0
//! Random numbers of programs.

use rand::RngExt as _;
use rand_xoshiro::Xoshiro256PlusPlus;

/// A uniform number in `lo..=hi`, or `None` if the range is empty.
pub(crate) fn draw(random: &mut Xoshiro256PlusPlus, lo: u64, hi: u64) -> Option<u64> {
    (lo <= hi).then(|| random.random_range(lo..=hi))
}
