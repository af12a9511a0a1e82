// SPDX-License-Identifier: MIT OR Apache-2.0
//! Generic receive offload (GRO): the receiver's NIC merges segments that follow each other, and TCP receives them as
//! one. The rules are those of `tcp_gro_receive` in Linux's net/ipv4/tcp_offload.c; see [`Stack::gro_segments`].
//!
//! [`Stack::gro_segments`]: crate::tcp::stack::Stack::gro_segments

use marklab_units::Time;

use crate::wire::{Segment, flags};

/// Linux merges less than so many bytes, with the headers of IPv4 and TCP (`skb_gro_receive`, `GRO_LEGACY_MAX_SIZE`).
const MAX_BYTES: u32 = 65_536;
const HEADERS: u32 = 40;

/// Segments of a connection that the NIC has merged, and not handed to TCP yet.
#[derive(Debug)]
pub(super) struct Merged {
    /// The first segment, with the payload of all.
    pub(super) segment: Segment,
    pub(super) segments: u32,
    /// Payload of the first one.
    pub(super) size: u32,
    /// When the first one arrived at the NIC.
    pub(super) arrived: Time,
    /// When TCP receives them at the latest.
    pub(super) deadline: Time,
}

impl Merged {
    pub(super) fn new(segment: Segment, arrived: Time, deadline: Time) -> Merged {
        Merged { segments: 1, size: segment.payload, segment, arrived, deadline }
    }

    /// Whether a segment follows these, and has the same headers. CE is in the headers, so a mark is never merged with
    /// what is not marked.
    pub(super) fn accepts(&self, next: &Segment) -> bool {
        let first = &self.segment;
        let headers = |segment: &Segment| {
            let flags = segment.flags & !(flags::FIN | flags::PSH);
            (flags, segment.ecn, segment.ack, segment.window, segment.timing, segment.sack_count)
        };
        (1..=self.size).contains(&next.payload)
            && next.sequence == first.sequence.wrapping_add(first.payload)
            && headers(next) == headers(first)
            && HEADERS + first.payload + next.payload < MAX_BYTES
    }

    pub(super) fn add(&mut self, next: &Segment) {
        self.segment.payload += next.payload;
        self.segment.flags |= next.flags;
        self.segments += 1;
    }
}

/// Whether nothing is merged behind a segment.
pub(super) fn is_last(segment: &Segment, size: u32) -> bool {
    segment.payload < size || segment.flags & (flags::PSH | flags::FIN | flags::SYN) != 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::Ecn;

    const SIZE: u32 = 1460;

    fn segment(sequence: u32, payload: u32) -> Segment {
        Segment {
            src: 1,
            dst: 2,
            src_port: 3,
            dst_port: 4,
            sequence,
            ack: 5,
            flags: flags::ACK,
            window: 7,
            ecn: Ecn::Ect0,
            sacks: [(0, 0); 4],
            sack_count: 0,
            timing: None,
            payload,
        }
    }

    fn merged() -> Merged {
        let first = segment(u32::MAX, SIZE); // sequence numbers wrap
        Merged::new(first, Time::ZERO, Time::ZERO)
    }

    #[test]
    fn only_what_follows_is_merged() {
        let next = SIZE - 1;
        for (sequence, payload, accepted) in [
            (next - 1, SIZE, false),
            (next, SIZE, true),
            (next + 1, SIZE, false),
            (next, 0, false),
            (next, 1, true),
            (next, SIZE + 1, false),
        ] {
            assert_eq!(merged().accepts(&segment(sequence, payload)), accepted, "{payload} bytes from {sequence}");
        }
    }

    #[test]
    fn only_the_same_headers_are_merged() {
        let next = segment(SIZE - 1, SIZE);
        assert!(merged().accepts(&Segment { flags: flags::ACK | flags::PSH | flags::FIN, ..next.clone() }));
        for other in [
            Segment { ecn: Ecn::Ce, ..next.clone() },
            Segment { flags: flags::ACK | flags::CWR, ..next.clone() },
            Segment { ack: 6, ..next.clone() },
            Segment { timing: Some(1), ..next.clone() },
        ] {
            assert!(!merged().accepts(&other), "{other:?}");
        }
    }

    #[test]
    fn merged_segments_stay_below_64_kib() {
        // 44 segments of 1,460 bytes are 64,280 with the headers.
        let next = |merged: &Merged| segment(merged.segment.sequence.wrapping_add(merged.segment.payload), SIZE);
        let mut most = merged();
        while most.accepts(&next(&most)) {
            most.add(&next(&most));
        }
        assert_eq!(most.segments, 44);
        // Of 9,000 bytes, seven are 63,000. The eighth may bring the whole to 65,535 bytes.
        for (payload, accepted) in [(2_494, true), (2_495, true), (2_496, false)] {
            let mut merged = Merged::new(segment(0, 9_000), Time::ZERO, Time::ZERO);
            for number in 1..7 {
                merged.add(&segment(number * 9_000, 9_000));
            }
            assert_eq!(merged.accepts(&segment(63_000, payload)), accepted, "{payload} bytes");
        }
    }

    #[test]
    fn a_short_segment_and_the_end_of_written_data_are_last() {
        let full = segment(0, SIZE);
        assert!(!is_last(&full, SIZE));
        assert!(is_last(&segment(0, SIZE - 1), SIZE));
        assert!(is_last(&Segment { flags: flags::ACK | flags::PSH, ..full.clone() }, SIZE));
        assert!(is_last(&Segment { flags: flags::ACK | flags::FIN, ..full }, SIZE));
    }
}
