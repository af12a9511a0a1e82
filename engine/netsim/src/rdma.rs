// SPDX-License-Identifier: MIT OR Apache-2.0
//! End points of RoCE as state machines: no network, no clock, no timers of their own.
//!
//! A queue pair carries data one way, at a rate and without a congestion window. [`Requester`] decides which packet is
//! next and when to retransmit, [`Responder`] decides the answers, and [`ReactionPoint`] sets the rate (DCQCN; Zhu et
//! al., SIGCOMM 2015). Packets are numbered from 0 in 64 bits; [`packet_number`] converts from the 24 bits on the wire.

mod reaction;
mod requester;
mod responder;

pub use reaction::{ReactionConfig, ReactionPoint};
pub use requester::{Outgoing, Requester};
pub use responder::{Answer, Heard, Responder, ResponderConfig};

/// Bits of a packet sequence number on the wire.
const PSN_BITS: u32 = 24;

/// Most unacknowledged packets: 24 bits distinguish these from packets that were acknowledged before.
const MOST_UNACKNOWLEDGED: usize = 1 << (PSN_BITS - 2);

/// The packet number closest to `near` whose number on the wire is `psn`. `None` if it lies before the first packet.
pub fn packet_number(psn: u32, near: u64) -> Option<u64> {
    let unused = 32 - PSN_BITS;
    let distance = (psn.wrapping_sub(near as u32) << unused) as i32 >> unused;
    near.checked_add_signed(i64::from(distance))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packet_numbers_wrap() {
        for number in [0u64, 5, (1 << 24) - 1, 1 << 24, 10_000_000_000] {
            let psn = number as u32 & 0xff_ffff;
            for near in [number.saturating_sub(4_000_000), number, number + 4_000_000] {
                assert_eq!(packet_number(psn, near), Some(number));
            }
        }
        assert_eq!(packet_number(0xff_ffff, 0), None);
    }
}
