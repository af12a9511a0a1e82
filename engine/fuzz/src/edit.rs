// SPDX-License-Identifier: MIT OR Apache-2.0
//! Random edits of an input.

use rand::RngExt;
use rand_xoshiro::Xoshiro256PlusPlus;

/// Length of the longest input.
const MAX_BYTES: usize = 1 << 15;

/// Makes some edits of `input`, with parts of `other` and of a list of meaningful pieces.
pub(crate) fn edit(random: &mut Xoshiro256PlusPlus, input: &[u8], other: &[u8], pieces: &[&str]) -> Vec<u8> {
    let mut bytes = input.to_vec();
    for _ in 0..1 << random.random_range(0..4) {
        step(random, &mut bytes, other, pieces);
    }
    bytes.truncate(MAX_BYTES);
    bytes
}

fn step(random: &mut Xoshiro256PlusPlus, bytes: &mut Vec<u8>, other: &[u8], pieces: &[&str]) {
    let at = random.random_range(0..=bytes.len());
    let most = [4, 16, 64, 512][random.random_range(0..4)];
    let piece = |random: &mut Xoshiro256PlusPlus, of: &[u8]| {
        let start = random.random_range(0..=of.len());
        of[start..(start + random.random_range(0..=most)).min(of.len())].to_vec()
    };
    let end = (at + random.random_range(0..=most)).min(bytes.len());
    match random.random_range(0..10) {
        0 => _ = bytes.drain(at..end),
        1 => {
            let copy = piece(random, bytes);
            bytes.splice(at..at, copy);
        }
        2 => {
            let borrowed = piece(random, other);
            bytes.splice(at..at, borrowed);
        }
        3 => {
            let borrowed = piece(random, other);
            bytes.splice(at..end, borrowed);
        }
        4 | 5 if !pieces.is_empty() => {
            let word = pieces[random.random_range(0..pieces.len())].bytes();
            let end = if random.random() { at } else { end.min(at + 8) };
            bytes.splice(at..end, word);
        }
        6 if at < bytes.len() => bytes[at] ^= 1 << random.random_range(0..8),
        7 if at < bytes.len() => bytes[at] = bytes[at].wrapping_add(random.random_range(0..=2) * 127),
        8 => {
            let fresh: Vec<u8> = (0..most).map(|_| random.random()).collect();
            bytes.splice(at..end, fresh);
        }
        _ => bytes.insert(at, random.random()),
    }
}

/// The input without a piece of `len` bytes, for each piece in order.
pub(crate) fn without_a_piece(bytes: &[u8], len: usize) -> impl Iterator<Item = Vec<u8>> {
    (0..bytes.len()).step_by(len).map(move |start| {
        let mut shorter = bytes.to_vec();
        shorter.drain(start..(start + len).min(bytes.len()));
        shorter
    })
}

/// The input with a piece of `len` bytes set to 0, for each piece that is not 0 yet.
pub(crate) fn with_zeros(bytes: &[u8], len: usize) -> impl Iterator<Item = Vec<u8>> {
    let places = (0..bytes.len()).step_by(len).map(move |start| start..(start + len).min(bytes.len()));
    places.filter(|place| bytes[place.clone()].iter().any(|&byte| byte != 0)).map(|place| {
        let mut simpler = bytes.to_vec();
        simpler[place].fill(0);
        simpler
    })
}
