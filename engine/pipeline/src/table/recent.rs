// SPDX-License-Identifier: MIT OR Apache-2.0
//! One-word keys that were looked up recently, with the rows that were found.
//!
//! A switch sees the same few keys again and again: the hosts of its network. Compiled code first looks here, which
//! touches one cache line whatever the table's search structure is. It searches the table only if the place holds
//! another key.

/// Number of places, a power of two.
const PLACES: usize = 256;
/// The place of a key is `key * MULTIPLIER >> SHIFT` (Fibonacci hashing).
pub(crate) const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;
pub(crate) const SHIFT: u32 = u64::BITS - PLACES.trailing_zeros();

/// A key and its row. Compiled code reads it, hence the fixed representation.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Recent {
    pub(crate) key: u64,
    pub(crate) row: *const u64,
}

/// Recent look-ups. The rows are in the table that owns this.
#[derive(Debug)]
pub(super) struct RecentRows {
    /// A vector, since the address of a vector's elements stays valid; that of a boxed slice does so only until it is
    /// borrowed again.
    places: Vec<Recent>,
    empty: bool,
}

// SAFETY: the row pointers point into the table that owns this, and are used only while it is borrowed.
#[expect(unsafe_code, reason = "see above")]
unsafe impl Send for RecentRows {}
// SAFETY: as above; a shared reference never follows them.
#[expect(unsafe_code, reason = "see above")]
unsafe impl Sync for RecentRows {}

fn place_of(key: u64) -> usize {
    (key.wrapping_mul(MULTIPLIER) >> SHIFT) as usize
}

impl RecentRows {
    pub(super) fn new() -> RecentRows {
        // An empty place holds a key that belongs to another place, so no look-up finds it: 0 belongs to place 0, 1
        // does not.
        let empty = |place| Recent { key: u64::from(place == 0), row: std::ptr::null() };
        RecentRows { places: (0..PLACES).map(empty).collect(), empty: true }
    }

    /// The places, for compiled code.
    pub(super) fn start(&self) -> *const Recent {
        self.places.as_ptr()
    }

    /// Records the row found for a key.
    pub(super) fn put(&mut self, key: u64, row: *const u64) {
        self.places[place_of(key)] = Recent { key, row };
        self.empty = false;
    }

    /// Forgets everything, because rows have moved or other rows apply now.
    pub(super) fn clear(&mut self) {
        if !self.empty {
            let fresh = RecentRows::new();
            self.places.copy_from_slice(&fresh.places);
            self.empty = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_place_holds_a_key_of_another() {
        let recent = RecentRows::new();
        for (place, held) in recent.places.iter().enumerate() {
            assert_ne!(place_of(held.key), place);
        }
    }

    #[test]
    fn what_was_put_is_there_until_it_is_cleared() {
        let mut recent = RecentRows::new();
        let row = [7];
        for key in [0, 1, 42, u64::MAX] {
            recent.put(key, row.as_ptr());
            assert_eq!(recent.places[place_of(key)].key, key);
        }
        recent.clear();
        assert!(recent.places.iter().all(|held| held.row.is_null()));
    }
}
