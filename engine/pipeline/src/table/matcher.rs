//! The search structures behind [`super::Table`], chosen by the kinds of its keys as BMv2 chooses.

use marklab_p4::ir::{Key, MatchKind};
use rustc_hash::FxHashMap;

use super::KeyMatch;
use super::shape::{KeyShape, Part};
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
    /// Any ternary, range or optional component: rows in order of precedence, which is that of priorities and then, as
    /// in BMv2's list, of numbers.
    Rows(Vec<Row>),
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

/// An entry that is found by comparing.
#[derive(Debug)]
struct Row {
    priority: u32,
    number: u32,
    value: Box<[u64]>,
    mask: Box<[u64]>,
    ranges: Vec<RangeTest>,
}

/// A component that must lie between two bounds.
#[derive(PartialEq, Eq, Debug)]
struct RangeTest {
    part: Part,
    lo: Box<[u64]>,
    hi: Box<[u64]>,
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

    /// False if the key is there already.
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
    /// The structure for keys of these kinds.
    pub(super) fn new(keys: &[Key], shape: KeyShape) -> Matcher {
        let has = |kind| keys.iter().any(|key| key.kind == kind);
        let search = if keys.is_empty() {
            Search::Keyless
        } else if has(MatchKind::Range) || has(MatchKind::Ternary) || has(MatchKind::Optional) {
            Search::Rows(Vec::new())
        } else if has(MatchKind::Lpm) {
            Search::Lpm(Vec::new())
        } else {
            Search::Exact(WordMap::new(shape.words))
        };
        Matcher { shape, search }
    }

    /// The structure that takes components of any kind.
    pub(crate) fn rows(shape: KeyShape) -> Matcher {
        Matcher { shape, search: Search::Rows(Vec::new()) }
    }

    /// Number of the entry for a key.
    pub(crate) fn find(&self, key: &[u64]) -> Option<u32> {
        match &self.search {
            Search::Keyless => None,
            Search::Exact(map) => map.get(key),
            Search::Lpm(groups) => groups.iter().find_map(|group| group.get(key)),
            Search::Rows(rows) => rows.iter().find(|row| row.matches(key)).map(|row| row.number),
        }
    }

    /// Adds an entry; false if there is one with the same key.
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
            Search::Rows(rows) => {
                let ranges = ranges(&self.shape, matches);
                let row = Row { priority, number, value, mask, ranges };
                let first = rows.partition_point(|row| row.priority < priority);
                let equals = rows[first..].iter().take_while(|row| row.priority == priority);
                if equals.clone().any(|other| other.same_key(&row)) {
                    return false;
                }
                let at = first + equals.take_while(|other| other.number < number).count();
                rows.insert(at, row);
                true
            }
        }
    }

    /// Removes an entry that is there.
    pub(crate) fn remove(&mut self, matches: &[KeyMatch], number: u32) {
        let (value, _) = self.value_and_mask(matches);
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
            Search::Rows(rows) => rows.retain(|row| row.number != number),
        }
    }

    /// Bits of the key that count, and their values.
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

impl Row {
    fn same_key(&self, other: &Row) -> bool {
        (&self.value, &self.mask, &self.ranges) == (&other.value, &other.mask, &other.ranges)
    }

    fn matches(&self, key: &[u64]) -> bool {
        let equal = key.iter().zip(&self.mask).zip(&self.value).all(|((word, mask), value)| word & mask == *value);
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

fn prefix_len(matches: &[KeyMatch]) -> u32 {
    let lpm = matches.iter().find_map(|value| match value {
        KeyMatch::Lpm { prefix_len, .. } => Some(*prefix_len),
        _ => None,
    });
    lpm.unwrap_or(0)
}

fn ranges(shape: &KeyShape, matches: &[KeyMatch]) -> Vec<RangeTest> {
    let tests = shape.parts.iter().zip(matches).filter_map(|(part, component)| match component {
        KeyMatch::Range { lo, hi } => {
            Some(RangeTest { part: *part, lo: limbs_of(lo, part.words).into(), hi: limbs_of(hi, part.words).into() })
        }
        _ => None,
    });
    tests.collect()
}
