// SPDX-License-Identifier: MIT OR Apache-2.0
//! One-word keys that were looked up recently, with copies of the rows that were found.
//!
//! A switch sees the same few keys again and again: the hosts of its network. Compiled code first looks here, which
//! touches one cache line whatever the table's search structure is. It searches the table only if the place holds
//! another key.

/// Words of a cache line.
const LINE_WORDS: usize = 8;
/// Number of places, a power of two.
const PLACES: usize = 256;
/// The place of a key is `key * MULTIPLIER >> SHIFT` (Fibonacci hashing).
pub(crate) const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;
pub(crate) const SHIFT: u32 = u64::BITS - PLACES.trailing_zeros();

/// Format of a place: the key, then its row, in a power of two of words, so that a place of up to eight words lies in one
/// cache line.
pub(crate) struct Recent;

impl Recent {
    /// The word of a place at which the row begins.
    pub(crate) const ROW: usize = 1;

    /// Words of a place for rows of so many words.
    pub(crate) const fn words(row: usize) -> usize {
        (Recent::ROW + row).next_power_of_two()
    }
}

/// Recent look-ups.
#[derive(Debug)]
pub(super) struct RecentRows {
    /// The places, behind as many words as bring them to the start of a cache line. A vector, since the address of a
    /// vector's elements stays valid; that of a boxed slice does so only until it is borrowed again.
    words: Vec<u64>,
    first: usize,
    /// Words of a place.
    width: usize,
    empty: bool,
}

fn place_of(key: u64) -> usize {
    (key.wrapping_mul(MULTIPLIER) >> SHIFT) as usize
}

impl RecentRows {
    /// Places for rows of so many words.
    pub(super) fn new(row: usize) -> RecentRows {
        let width = Recent::words(row);
        let words = vec![0; LINE_WORDS - 1 + PLACES * width];
        let first = words.as_ptr().align_offset(LINE_WORDS * size_of::<u64>()).min(LINE_WORDS - 1);
        let mut recent = RecentRows { words, first, width, empty: false };
        recent.clear();
        recent
    }

    /// The places, for compiled code.
    pub(super) fn start(&self) -> *const u64 {
        self.words.as_ptr().wrapping_add(self.first)
    }

    /// Records the row found for a key. Returns the address of the copy, which is valid until the next change.
    pub(super) fn put(&mut self, key: u64, row: &[u64]) -> *const u64 {
        let at = self.first + place_of(key) * self.width;
        self.words[at] = key;
        self.words[at + Recent::ROW..][..row.len()].copy_from_slice(row);
        self.empty = false;
        self.words.as_ptr().wrapping_add(at + Recent::ROW)
    }

    /// Forgets everything, because rows have changed or other rows apply now.
    pub(super) fn clear(&mut self) {
        if !self.empty {
            let places = self.words[self.first..].chunks_exact_mut(self.width).take(PLACES);
            for (place, words) in places.enumerate() {
                // An empty place holds a key that belongs to another place, so no look-up finds it: 0 belongs to place 0,
                // 1 does not.
                words[0] = u64::from(place == 0);
            }
            self.empty = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held(recent: &RecentRows, place: usize) -> &[u64] {
        &recent.words[recent.first + place * recent.width..][..recent.width]
    }

    #[test]
    fn an_empty_place_holds_a_key_of_another() {
        let recent = RecentRows::new(2);
        for place in 0..PLACES {
            assert_ne!(place_of(held(&recent, place)[0]), place);
        }
    }

    #[test]
    fn what_was_put_is_there_until_it_is_cleared() {
        let mut recent = RecentRows::new(1);
        for key in [0, 1, 42, u64::MAX] {
            recent.put(key, &[7]);
            assert_eq!(held(&recent, place_of(key)), [key, 7]);
        }
        recent.clear();
        for key in [0, 1, 42, u64::MAX] {
            assert_ne!(held(&recent, place_of(key))[0], key);
        }
    }

    #[test]
    fn a_place_of_up_to_eight_words_lies_in_one_cache_line() {
        for row in 1..8 {
            let recent = RecentRows::new(row);
            let bytes = recent.width * size_of::<u64>();
            assert!(recent.width > row && LINE_WORDS.is_multiple_of(recent.width), "{row}");
            for place in 0..PLACES {
                let at = held(&recent, place).as_ptr() as usize;
                assert_eq!(at / 64, (at + bytes - 1) / 64, "rows of {row} words, place {place}");
            }
        }
    }
}
