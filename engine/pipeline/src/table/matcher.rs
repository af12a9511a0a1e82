//! The search structures behind [`super::Table`], chosen by the kinds of its keys as BMv2 chooses.

use marklab_p4::ir::{Key, MatchKind};
use rustc_hash::FxHashMap;

use super::KeyMatch;
use crate::words::{limbs_of, mask_words, prefix_words, words_for};

/// Finds the number of the entry that applies to a key.
#[derive(Debug)]
pub(super) enum Matcher {
    /// A table without keys has no entries.
    Keyless,
    /// All components exact.
    Exact(WordMap),
    /// One `lpm` component, others exact: a map per prefix length, longest first.
    Lpm(Vec<Prefixes>),
    /// Any ternary, range or optional component: rows in order of precedence.
    Rows(Vec<Row>),
}

/// Map from key words to entry number; one-word keys need no allocation.
#[derive(Debug)]
pub(super) enum WordMap {
    One(FxHashMap<u64, u32>),
    Many(FxHashMap<Box<[u64]>, u32>),
}

/// Entries of one prefix length.
#[derive(Debug)]
pub(super) struct Prefixes {
    prefix_len: u32,
    mask: Box<[u64]>,
    map: WordMap,
}

/// An entry that is found by comparing.
#[derive(Debug)]
pub(super) struct Row {
    priority: u32,
    number: u32,
    tests: Vec<Test>,
}

/// A condition on some words of the key; words without a condition have none.
#[derive(PartialEq, Eq, Debug)]
enum Test {
    Mask { word: usize, value: u64, mask: u64 },
    Range { word: usize, lo: Box<[u64]>, hi: Box<[u64]> },
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
    pub(super) fn new(keys: &[Key]) -> Matcher {
        let has = |kind| keys.iter().any(|key| key.kind == kind);
        if keys.is_empty() {
            Matcher::Keyless
        } else if has(MatchKind::Range) || has(MatchKind::Ternary) || has(MatchKind::Optional) {
            Matcher::Rows(Vec::new())
        } else if has(MatchKind::Lpm) {
            Matcher::Lpm(Vec::new())
        } else {
            Matcher::Exact(WordMap::new(total_words(keys)))
        }
    }

    /// Number of the entry for a key.
    pub(super) fn find(&self, key: &[u64]) -> Option<u32> {
        match self {
            Matcher::Keyless => None,
            Matcher::Exact(map) => map.get(key),
            Matcher::Lpm(groups) => groups.iter().find_map(|group| group.get(key)),
            Matcher::Rows(rows) => rows.iter().find(|row| row.matches(key)).map(|row| row.number),
        }
    }

    /// [`Matcher::find`] for a key of one word.
    pub(super) fn find_word(&self, key: u64) -> Option<u32> {
        match self {
            Matcher::Exact(WordMap::One(map)) => map.get(&key).copied(),
            Matcher::Lpm(groups) => groups.iter().find_map(|group| match &group.map {
                WordMap::One(map) => map.get(&(key & group.mask[0])).copied(),
                WordMap::Many(_) => None, // a key of one word has maps of one word
            }),
            _ => self.find(&[key]),
        }
    }

    /// Adds an entry; false if there is one with the same key.
    pub(super) fn insert(&mut self, keys: &[Key], matches: &[KeyMatch], priority: u32, number: u32) -> bool {
        match self {
            Matcher::Keyless => false,
            Matcher::Exact(map) => map.insert(masked_key(keys, matches), number),
            Matcher::Lpm(groups) => {
                let prefix_len = prefix_len(matches);
                let at = groups.partition_point(|group| group.prefix_len > prefix_len);
                if groups.get(at).is_none_or(|group| group.prefix_len != prefix_len) {
                    let mask = masks(keys, matches);
                    groups.insert(at, Prefixes { prefix_len, mask, map: WordMap::new(total_words(keys)) });
                }
                groups[at].map.insert(masked_key(keys, matches), number)
            }
            Matcher::Rows(rows) => {
                let tests = tests(keys, matches);
                if rows.iter().any(|row| row.priority == priority && row.tests == tests) {
                    return false;
                }
                let at = rows.partition_point(|row| row.priority <= priority);
                rows.insert(at, Row { priority, number, tests });
                true
            }
        }
    }

    /// Removes an entry that is there.
    pub(super) fn remove(&mut self, keys: &[Key], matches: &[KeyMatch], number: u32) {
        match self {
            Matcher::Keyless => {}
            Matcher::Exact(map) => map.remove(&masked_key(keys, matches)),
            Matcher::Lpm(groups) => {
                let prefix_len = prefix_len(matches);
                if let Some(at) = groups.iter().position(|group| group.prefix_len == prefix_len) {
                    groups[at].map.remove(&masked_key(keys, matches));
                    if groups[at].map.is_empty() {
                        groups.remove(at);
                    }
                }
            }
            Matcher::Rows(rows) => rows.retain(|row| row.number != number),
        }
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
    fn matches(&self, key: &[u64]) -> bool {
        self.tests.iter().all(|test| match test {
            Test::Mask { word, value, mask } => key[*word] & mask == *value,
            Test::Range { word, lo, hi } => {
                let value = &key[*word..*word + lo.len()];
                value.iter().rev().ge(lo.iter().rev()) && value.iter().rev().le(hi.iter().rev())
            }
        })
    }
}

fn total_words(keys: &[Key]) -> usize {
    keys.iter().map(|key| words_for(key.expr.ty.width)).sum()
}

fn prefix_len(matches: &[KeyMatch]) -> u32 {
    let lpm = matches.iter().find_map(|value| match value {
        KeyMatch::Lpm { prefix_len, .. } => Some(*prefix_len),
        _ => None,
    });
    lpm.unwrap_or(0)
}

/// Mask over the words of a component, and the value under it.
fn component(key: &Key, value: &KeyMatch) -> (Vec<u64>, Vec<u64>) {
    let width = key.expr.ty.width;
    let words = words_for(width);
    let (mask, value) = match value {
        KeyMatch::Exact(value) => (mask_words(width), limbs_of(value, words)),
        KeyMatch::Lpm { value, prefix_len } => (prefix_words(width, *prefix_len), limbs_of(value, words)),
        KeyMatch::Ternary { value, mask } => (limbs_of(mask, words), limbs_of(value, words)),
        KeyMatch::Any | KeyMatch::Range { .. } => (vec![0; words], vec![0; words]),
    };
    let value = value.iter().zip(&mask).map(|(value, mask)| value & mask).collect();
    (mask, value)
}

fn masks(keys: &[Key], matches: &[KeyMatch]) -> Box<[u64]> {
    keys.iter().zip(matches).flat_map(|(key, value)| component(key, value).0).collect()
}

fn masked_key(keys: &[Key], matches: &[KeyMatch]) -> Box<[u64]> {
    keys.iter().zip(matches).flat_map(|(key, value)| component(key, value).1).collect()
}

fn tests(keys: &[Key], matches: &[KeyMatch]) -> Vec<Test> {
    let mut tests = Vec::new();
    let mut word = 0;
    for (key, value) in keys.iter().zip(matches) {
        let words = words_for(key.expr.ty.width);
        if let KeyMatch::Range { lo, hi } = value {
            tests.push(Test::Range { word, lo: limbs_of(lo, words).into(), hi: limbs_of(hi, words).into() });
        } else {
            let (mask, value) = component(key, value);
            let conditions = mask.into_iter().zip(value).enumerate().filter(|(_, (mask, _))| *mask != 0);
            tests.extend(conditions.map(|(at, (mask, value))| Test::Mask { word: word + at, value, mask }));
        }
        word += words;
    }
    tests
}
