// SPDX-License-Identifier: MIT OR Apache-2.0
//! The header of a message: its first 16 bytes.
//!
//! ```text
//!  0      2      3      4               8                               16
//!  | "ML" | kind | dscp | flow (big e.) | size, or an instant (big endian) |
//! ```

/// Length of a header.
pub(crate) const HEADER_BYTES: usize = 16;

const MAGIC: [u8; 2] = *b"ML";

/// Kind of a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// A flow of `value` bytes, including this header; at least the header.
    Data,
    /// Asks for a flow of `value` bytes.
    Request,
    /// The last byte of a flow arrived at `value` ns of CLOCK_MONOTONIC.
    Receipt,
}

/// The header of a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Header {
    pub(crate) kind: Kind,
    /// Code point of the flow's packets, which the other end uses for the packets that it sends.
    pub(crate) dscp: u8,
    pub(crate) flow: u32,
    pub(crate) value: u64,
}

impl Header {
    pub(crate) fn encode(&self) -> [u8; HEADER_BYTES] {
        let kind = match self.kind {
            Kind::Data => 1,
            Kind::Request => 2,
            Kind::Receipt => 3,
        };
        let mut bytes = [MAGIC[0], MAGIC[1], kind, self.dscp, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        bytes[4..8].copy_from_slice(&self.flow.to_be_bytes());
        bytes[8..].copy_from_slice(&self.value.to_be_bytes());
        bytes
    }

    /// `None` if these bytes were not written by [`Header::encode`].
    pub(crate) fn decode(bytes: &[u8; HEADER_BYTES]) -> Option<Header> {
        let &[m0, m1, kind, dscp, f0, f1, f2, f3, ref value @ ..] = bytes;
        let kind = match kind {
            1 => Kind::Data,
            2 => Kind::Request,
            3 => Kind::Receipt,
            _ => return None,
        };
        let flow = u32::from_be_bytes([f0, f1, f2, f3]);
        let header = Header { kind, dscp, flow, value: u64::from_be_bytes(*value) };
        ([m0, m1] == MAGIC && dscp < 64).then_some(header)
    }

    /// Length of the message.
    pub(crate) fn message_bytes(&self) -> u64 {
        match self.kind {
            Kind::Data => self.value.max(HEADER_BYTES as u64),
            Kind::Request | Kind::Receipt => HEADER_BYTES as u64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: Header = Header { kind: Kind::Data, dscp: 63, flow: 0x0102_0304, value: 1 << 50 };

    #[test]
    fn what_is_encoded_is_decoded() {
        for kind in [Kind::Data, Kind::Request, Kind::Receipt] {
            for value in [0, 1, u64::MAX] {
                let header = Header { kind, value, ..HEADER };
                assert_eq!(Header::decode(&header.encode()), Some(header));
            }
        }
    }

    #[test]
    fn strangers_are_recognised() {
        let good = HEADER.encode();
        for (at, byte) in [(0, b'G'), (1, b'E'), (2, 0), (2, 4), (3, 64)] {
            let mut bytes = good;
            bytes[at] = byte;
            assert_eq!(Header::decode(&bytes), None, "byte {at} is {byte}");
        }
    }

    #[test]
    fn a_header_counts_as_part_of_the_flow_if_it_fits() {
        let bytes = |value| Header { value, ..HEADER }.message_bytes();
        assert_eq!([bytes(1), bytes(15), bytes(16), bytes(17)], [16, 16, 16, 17]);
    }
}
