// SPDX-License-Identifier: MIT OR Apache-2.0
//! Packets: both engines do the same with each packet.

use super::number;
use crate::bytes::Bytes;
use crate::programs::{PROGRAMS, chosen};

/// Largest number of packets of one input, which go through one switch one after the other.
const MOST_PACKETS: usize = 8;

/// Each program with a TCP packet over IPv4.
pub(super) fn seeds() -> Vec<Vec<u8>> {
    let mut packet = vec![0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 2, 0x08, 0x00, 0x45, 0x02, 0, 40, 0, 0, 0x40, 0, 64, 6];
    packet.extend([0x66, 0xcb, 10, 0, 0, 1, 10, 0, 0, 2, 0, 80, 0, 81, 0, 0, 0, 1, 0, 0, 0, 0, 0x50, 0x10, 1, 0]);
    packet.resize(60, 0);
    let len = packet.len() as u8;
    let seed = |program: u8| [&[program, len, 0, 0][..], &packet, &[3; 20]].concat();
    (0..PROGRAMS.len() as u8).map(seed).collect()
}

pub(super) fn run(input: &[u8]) -> Result<u64, String> {
    let mut input = Bytes::new(input);
    let (number_of_program, loaded) = chosen(&mut input);
    let mut pair = loaded.states();
    let mut features = vec![number_of_program];
    for _ in 0..MOST_PACKETS {
        features.extend(loaded.send(&mut pair, &mut input)?);
        if input.is_empty() {
            break;
        }
    }
    pair.compare()?;
    Ok(number(features))
}
