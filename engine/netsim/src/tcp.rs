// SPDX-License-Identifier: MIT OR Apache-2.0
//! TCP end points as state machines: no network, no clock, no timers of their own.
//!
//! A connection carries data one way. [`Sender`] decides what may be sent and when to retransmit; [`Receiver`] decides
//! what to acknowledge and when. Callers pass them the time, and the segments or acknowledgements that arrive. Offsets
//! count bytes of the stream from 0 in 64 bits; [`wire_sequence`] and [`stream_offset`] convert to and from the 32 bits
//! on the wire.

mod autotuning;
pub mod congestion;
mod prr;
mod receiver;
mod rtt;
mod scoreboard;
mod sender;
pub mod stack;

pub use autotuning::AutotuningConfig;
pub use receiver::{AckPlan, EchoMode, Receiver, ReceiverConfig, SackBlocks};
pub use rtt::{RtoConfig, RttEstimator};
pub use sender::{AckEvent, CaState, Outgoing, Sender, SenderConfig, SenderStats};

/// Scale of advertised windows (RFC 7323): 2^8.
pub(crate) const WINDOW_SCALE: u8 = 8;
/// Largest window that a header can advertise.
pub(crate) const MAX_ADVERTISED: u64 = (u16::MAX as u64) << WINDOW_SCALE;

/// Sequence number on the wire of a stream offset; `first` is the sequence number of offset 0.
pub fn wire_sequence(first: u32, offset: u64) -> u32 {
    first.wrapping_add(offset as u32)
}

/// The stream offset closest to `near` whose sequence number is `sequence`. `None` if it lies before offset 0.
pub fn stream_offset(first: u32, sequence: u32, near: u64) -> Option<u64> {
    let distance = sequence.wrapping_sub(wire_sequence(first, near)) as i32;
    near.checked_add_signed(i64::from(distance))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sequence_numbers_wrap() {
        let first = u32::MAX - 10;
        for offset in [0, 5, 11, 4_000_000_000, 10_000_000_000] {
            let sequence = wire_sequence(first, offset);
            for near in [offset.saturating_sub(1_000_000), offset, offset + 1_000_000] {
                assert_eq!(stream_offset(first, sequence, near), Some(offset));
            }
        }
        assert_eq!(stream_offset(first, first.wrapping_sub(1), 0), None);
    }
}
