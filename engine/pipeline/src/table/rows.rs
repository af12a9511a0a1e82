// SPDX-License-Identifier: MIT OR Apache-2.0
//! Entries that are found by comparing one after the other: those of tables with a ternary, range or optional key.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::KeyMatch;
use super::shape::{KeyShape, Part};
use crate::words::limbs_of;

/// Largest number of rows in a block.
const BLOCK_ROWS: usize = 512;

/// The entries of a table, or members of a value set. A search for a key goes through all of them. Adding or removing
/// one touches a single block.
#[derive(Default, Debug)]
pub(super) struct Rows {
    ordered: Ordered,
    /// The number of each row, by priority and row.
    numbers: FxHashMap<(u32, Arc<Row>), u32>,
}

/// Priority and number. They determine the order of rows, as in BMv2's list.
type Place = (u32, u32);

/// Rows in their order, in blocks.
#[derive(Default, Debug)]
struct Ordered {
    /// None of them is empty.
    blocks: Vec<Vec<(Place, Arc<Row>)>>,
}

/// The condition that a key has to meet.
#[derive(PartialEq, Eq, Hash, Debug)]
pub(super) struct Row {
    /// For each word of the key: the mask of the bits that are compared, and their values.
    words: Box<[(u64, u64)]>,
    ranges: Box<[RangeTest]>,
}

/// A component that must lie between two bounds.
#[derive(PartialEq, Eq, Hash, Debug)]
struct RangeTest {
    part: Part,
    lo: Box<[u64]>,
    hi: Box<[u64]>,
}

impl Rows {
    /// Number of the first row that matches.
    pub(super) fn find(&self, key: &[u64]) -> Option<u32> {
        self.ordered.iter().find(|(_, row)| row.matches(key)).map(|((_, number), _)| *number)
    }

    /// Number of a row with this priority.
    pub(super) fn number_of(&self, row: Row, priority: u32) -> Option<u32> {
        self.numbers.get(&(priority, Arc::new(row))).copied()
    }

    /// Adds a row. Returns false if there is an equal row with this priority.
    pub(super) fn insert(&mut self, row: Row, priority: u32, number: u32) -> bool {
        let row = Arc::new(row);
        if self.numbers.contains_key(&(priority, row.clone())) {
            return false;
        }
        self.numbers.insert((priority, row.clone()), number);
        self.ordered.insert((priority, number), row);
        true
    }

    /// Removes a row.
    pub(super) fn remove(&mut self, row: Row, priority: u32) {
        if let Some(number) = self.numbers.remove(&(priority, Arc::new(row))) {
            self.ordered.remove((priority, number));
        }
    }
}

impl Ordered {
    fn iter(&self) -> impl Iterator<Item = &(Place, Arc<Row>)> {
        self.blocks.iter().flatten()
    }

    /// Index of the block that holds a place, or would hold it.
    fn block_of(&self, place: Place) -> usize {
        self.blocks.partition_point(|block| block.last().is_some_and(|(last, _)| *last < place))
    }

    fn insert(&mut self, place: Place, row: Arc<Row>) {
        let Some(last) = self.blocks.len().checked_sub(1) else {
            self.blocks.push(vec![(place, row)]);
            return;
        };
        let at = self.block_of(place).min(last);
        let block = &mut self.blocks[at];
        block.insert(block.partition_point(|(known, _)| *known < place), (place, row));
        if block.len() > BLOCK_ROWS {
            let rest = block.split_off(BLOCK_ROWS / 2);
            self.blocks.insert(at + 1, rest);
        }
    }

    fn remove(&mut self, place: Place) {
        let at = self.block_of(place);
        let Some(block) = self.blocks.get_mut(at) else { return };
        block.retain(|(known, _)| *known != place);
        if block.is_empty() {
            self.blocks.remove(at);
        }
    }
}

impl Row {
    /// A row with these values of the bits in `mask`, and the ranges in `matches`.
    pub(super) fn new(shape: &KeyShape, value: &[u64], mask: &[u64], matches: &[KeyMatch]) -> Row {
        let ranges = shape.parts.iter().zip(matches).filter_map(|(part, component)| match component {
            KeyMatch::Range { lo, hi } => Some(RangeTest {
                part: *part,
                lo: limbs_of(lo, part.words).into(),
                hi: limbs_of(hi, part.words).into(),
            }),
            _ => None,
        });
        Row { words: mask.iter().copied().zip(value.iter().copied()).collect(), ranges: ranges.collect() }
    }

    fn matches(&self, key: &[u64]) -> bool {
        let equal = key.iter().zip(&self.words).all(|(word, (mask, value))| word & mask == *value);
        equal && self.ranges.iter().all(|range| range.contains(key))
    }
}

impl RangeTest {
    fn contains(&self, key: &[u64]) -> bool {
        if self.lo.len() == 1 {
            return (self.lo[0]..=self.hi[0]).contains(&self.part.get(key[self.part.word]));
        }
        let value = &key[self.part.word..self.part.word + self.lo.len()];
        value.iter().rev().ge(self.lo.iter().rev()) && value.iter().rev().le(self.hi.iter().rev())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn blocks_keep_the_order(changes in prop::collection::vec((any::<bool>(), 0..40_u32, 0..100_u32), 0..8000)) {
            let row = Arc::new(Row { words: [].into(), ranges: [].into() });
            let (mut ordered, mut expected) = (Ordered::default(), BTreeSet::new());
            for (adds, priority, number) in changes {
                let place = (priority, number);
                if (adds || number < 50) && expected.insert(place) {
                    ordered.insert(place, row.clone());
                } else if expected.remove(&place) {
                    ordered.remove(place);
                }
                prop_assert!(ordered.blocks.iter().all(|block| (1..=BLOCK_ROWS).contains(&block.len())));
            }
            prop_assert!(ordered.iter().map(|(place, _)| place).eq(&expected));
        }
    }
}
