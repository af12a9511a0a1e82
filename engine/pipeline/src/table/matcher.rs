// SPDX-License-Identifier: MIT OR Apache-2.0
//! The search structures behind [`super::Table`], chosen by the match kinds of its keys as in BMv2.

use marklab_p4::ir::{Key, MatchKind};
use rustc_hash::FxHashMap;

use super::KeyMatch;
use super::rows::{Row, Rows};
use super::shape::KeyShape;
use crate::words::{limbs_of, mask_words, prefix_words};

/// Finds the number of the entry that applies to a key.
#[derive(Debug)]
pub(crate) struct Matcher {
    shape: KeyShape,
    search: Search,
}

#[derive(Debug)]
enum Search {
    /// A table without keys has no entries.
    Keyless,
    /// All components exact.
    Exact(WordMap),
    /// One `lpm` component, others exact: a map per prefix length, longest first.
    Lpm(Vec<Prefixes>),
    /// Any ternary, range or optional component.
    Rows(Rows),
}

/// Map from key words to entry number; one-word keys need no allocation.
#[derive(Debug)]
enum WordMap {
    One(FxHashMap<u64, u32>),
    Many(FxHashMap<Box<[u64]>, u32>),
}

/// Entries of one prefix length.
#[derive(Debug)]
struct Prefixes {
    prefix_len: u32,
    mask: Box<[u64]>,
    map: WordMap,
}

impl WordMap {
    fn new(words: usize) -> WordMap {
        if words == 1 { WordMap::One(FxHashMap::default()) } else { WordMap::Many(FxHashMap::default()) }
    }

    fn get(&self, key: &[u64]) -> Option<u32> {
        match self {
            WordMap::One(map) => map.get(&key[0]).copied(),
            WordMap::Many(map) => map.get(key).copied(),
        }
    }

    /// Adds a key. Returns false if it is already there.
    fn insert(&mut self, key: Box<[u64]>, number: u32) -> bool {
        if self.get(&key).is_some() {
            return false;
        }
        match self {
            WordMap::One(map) => map.insert(key[0], number),
            WordMap::Many(map) => map.insert(key, number),
        };
        true
    }

    fn remove(&mut self, key: &[u64]) {
        match self {
            WordMap::One(map) => map.remove(&key[0]),
            WordMap::Many(map) => map.remove(key),
        };
    }

    fn is_empty(&self) -> bool {
        match self {
            WordMap::One(map) => map.is_empty(),
            WordMap::Many(map) => map.is_empty(),
        }
    }
}

impl Matcher {
    /// A search structure for keys of these kinds.
    pub(super) fn new(keys: &[Key], shape: KeyShape) -> Matcher {
        let has = |kind| keys.iter().any(|key| key.kind == kind);
        let search = if keys.is_empty() {
            Search::Keyless
        } else if has(MatchKind::Range) || has(MatchKind::Ternary) || has(MatchKind::Optional) {
            Search::Rows(Rows::default())
        } else if has(MatchKind::Lpm) {
            Search::Lpm(Vec::new())
        } else {
            Search::Exact(WordMap::new(shape.words))
        };
        Matcher { shape, search }
    }

    /// A search structure for components of any kind.
    pub(crate) fn rows(shape: KeyShape) -> Matcher {
        Matcher { shape, search: Search::Rows(Rows::default()) }
    }

    /// Number of the entry for a key.
    pub(crate) fn find(&self, key: &[u64]) -> Option<u32> {
        match &self.search {
            Search::Keyless => None,
            Search::Exact(map) => map.get(key),
            Search::Lpm(groups) => groups.iter().find_map(|group| group.get(key)),
            Search::Rows(rows) => rows.find(key),
        }
    }

    /// Adds an entry. Returns false if there is one with the same key.
    pub(crate) fn insert(&mut self, matches: &[KeyMatch], priority: u32, number: u32) -> bool {
        let (value, mask) = self.value_and_mask(matches);
        let words = self.shape.words;
        match &mut self.search {
            Search::Keyless => false,
            Search::Exact(map) => map.insert(value, number),
            Search::Lpm(groups) => {
                let prefix_len = prefix_len(matches);
                let at = groups.partition_point(|group| group.prefix_len > prefix_len);
                if groups.get(at).is_none_or(|group| group.prefix_len != prefix_len) {
                    groups.insert(at, Prefixes { prefix_len, mask, map: WordMap::new(words) });
                }
                groups[at].map.insert(value, number)
            }
            Search::Rows(rows) => rows.insert(Row::new(&self.shape, &value, &mask, matches), priority, number),
        }
    }

    /// Removes an entry that is there.
    pub(crate) fn remove(&mut self, matches: &[KeyMatch], priority: u32) {
        let (value, mask) = self.value_and_mask(matches);
        match &mut self.search {
            Search::Keyless => {}
            Search::Exact(map) => map.remove(&value),
            Search::Lpm(groups) => {
                let prefix_len = prefix_len(matches);
                if let Some(at) = groups.iter().position(|group| group.prefix_len == prefix_len) {
                    groups[at].map.remove(&value);
                    if groups[at].map.is_empty() {
                        groups.remove(at);
                    }
                }
            }
            Search::Rows(rows) => rows.remove(Row::new(&self.shape, &value, &mask, matches), priority),
        }
    }

    /// Number of the entry with this key and, if entries can overlap, this priority.
    pub(super) fn number_of(&self, matches: &[KeyMatch], priority: u32) -> Option<u32> {
        let (value, mask) = self.value_and_mask(matches);
        match &self.search {
            Search::Keyless => None,
            Search::Exact(map) => map.get(&value),
            Search::Lpm(groups) => {
                let prefix_len = prefix_len(matches);
                groups.iter().find(|group| group.prefix_len == prefix_len)?.map.get(&value)
            }
            Search::Rows(rows) => rows.number_of(Row::new(&self.shape, &value, &mask, matches), priority),
        }
    }

    /// Values of the key bits that are compared, and the mask of these bits.
    fn value_and_mask(&self, matches: &[KeyMatch]) -> (Box<[u64]>, Box<[u64]>) {
        let (mut value, mut mask) = (vec![0; self.shape.words], vec![0; self.shape.words]);
        for (part, component) in self.shape.parts.iter().zip(matches) {
            let (number, bits) = match component {
                KeyMatch::Exact(value) => (value, mask_words(part.width)),
                KeyMatch::Lpm { value, prefix_len } => (value, prefix_words(part.width, *prefix_len)),
                KeyMatch::Ternary { value, mask } => (value, limbs_of(mask, part.words)),
                KeyMatch::Any | KeyMatch::Range { .. } => continue,
            };
            let number = limbs_of(number, part.words);
            let masked: Vec<u64> = number.iter().zip(&bits).map(|(number, bits)| number & bits).collect();
            part.put(&mut value, &masked);
            part.put(&mut mask, &bits);
        }
        (value.into(), mask.into())
    }
}

impl Prefixes {
    fn get(&self, key: &[u64]) -> Option<u32> {
        match &self.map {
            WordMap::One(map) => map.get(&(key[0] & self.mask[0])).copied(),
            WordMap::Many(map) => {
                let masked: Box<[u64]> = key.iter().zip(&self.mask).map(|(word, mask)| word & mask).collect();
                map.get(&masked).copied()
            }
        }
    }
}

fn prefix_len(matches: &[KeyMatch]) -> u32 {
    let lpm = matches.iter().find_map(|value| match value {
        KeyMatch::Lpm { prefix_len, .. } => Some(*prefix_len),
        _ => None,
    });
    lpm.unwrap_or(0)
}
