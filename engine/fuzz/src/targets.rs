// SPDX-License-Identifier: MIT OR Apache-2.0
//! Targets: what is fuzzed.

mod entries;
mod packets;
mod programs;
mod source;

use std::hash::{DefaultHasher, Hash, Hasher};

/// Code that takes bytes and must keep its promises.
pub(crate) struct Target {
    /// Name on the command line, and of its folder in `corpus`.
    pub(crate) name: &'static str,
    /// Runs an input. Returns the kind of the answer as a number. An error or a panic is a finding.
    pub(crate) run: fn(&[u8]) -> Result<u64, String>,
    /// Inputs to begin with, in addition to the corpus.
    pub(crate) seeds: fn() -> Vec<Vec<u8>>,
    /// Pieces of text that have a meaning in an input.
    pub(crate) pieces: &'static [&'static str],
    /// Readable form of an input, if the input itself is not readable. It is written to a file beside a finding.
    pub(crate) shown: Option<fn(&[u8]) -> String>,
}

/// All targets.
pub(crate) const TARGETS: [Target; 4] = [
    Target { name: "source", run: source::run, seeds: source::seeds, pieces: source::PIECES, shown: None },
    Target { name: "packets", run: packets::run, seeds: packets::seeds, pieces: &[], shown: None },
    Target { name: "entries", run: entries::run, seeds: Vec::new, pieces: &[], shown: None },
    Target { name: "programs", run: programs::run, seeds: programs::seeds, pieces: &[], shown: Some(programs::shown) },
];

/// A feature as a number.
fn number(feature: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    feature.hash(&mut hasher);
    hasher.finish()
}
