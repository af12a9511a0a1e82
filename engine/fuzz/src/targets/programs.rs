// SPDX-License-Identifier: MIT OR Apache-2.0
//! Programs: each valid program compiles, and both engines do the same with it.

use std::path::Path;

use marklab_p4::loader::Memory;
use marklab_p4::{Options, compile_with};

use super::{entries, number};
use crate::bytes::Bytes;
use crate::grammar;
use crate::programs::load;

/// Largest number of packets and table changes for one program.
const MOST_STEPS: usize = 12;

/// Random inputs of different lengths.
pub(super) fn seeds() -> Vec<Vec<u8>> {
    use rand::{RngExt, SeedableRng};
    let mut random = rand_xoshiro::Xoshiro256PlusPlus::seed_from_u64(1);
    (1..20).map(|len| (0..60 * len).map(|_| random.random()).collect()).collect()
}

/// The program is read from the front of the input, and the packets and table changes from the back, so that either can
/// be made smaller without a change of the other.
pub(super) fn run(input: &[u8]) -> Result<u64, String> {
    let text = grammar::program(input);
    let files = Memory::single("random.p4", &text);
    let compilation = compile_with(Path::new("random.p4"), &Options::default(), &files);
    let messages = compilation.render(false);
    let Some(program) = compilation.program else { return Err(format!("a valid program is refused: {messages}")) };
    let Some(loaded) = load(program) else { return Ok(number("not loaded")) };
    let backwards: Vec<u8> = input.iter().rev().copied().collect();
    let mut input = Bytes::new(&backwards);
    let mut pair = loaded.states();
    let mut features = vec![0];
    for _ in 0..MOST_STEPS {
        features.extend(entries::operate(&loaded, &mut pair, &mut input)?);
        if input.is_empty() {
            break;
        }
    }
    features.extend(loaded.send(&mut pair, &mut input)?);
    pair.compare()?;
    Ok(number(features))
}

/// The source of the program.
pub(super) fn shown(input: &[u8]) -> String {
    grammar::program(input)
}
