// SPDX-License-Identifier: MIT OR Apache-2.0
//! ICMP echo requests and replies (RFC 792), as `ping` sends them.

use marklab_pipeline::{INLINE_BYTES, Packet};

use super::ip::{self, ETHERNET, IPV4};
use super::{Ecn, EndPoint, be32, fold, sum};

const ICMP: usize = 8;
const PROTOCOL_ICMP: u8 = 1;
const REQUEST: u8 = 8;
const REPLY: u8 = 0;

/// An echo request or its reply, whose data are zeros.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Echo {
    /// Source address.
    pub src: u32,
    /// Destination address.
    pub dst: u32,
    /// Code point.
    pub dscp: u8,
    /// ECN field.
    pub ecn: Ecn,
    /// Whether it is the reply.
    pub reply: bool,
    /// Identifier of its series of requests.
    pub identifier: u16,
    /// Sequence number in the series.
    pub sequence: u16,
    /// Bytes of data.
    pub data: u32,
}

impl Echo {
    /// Length of the headers of its frame.
    pub const HEADERS: usize = ETHERNET + IPV4 + ICMP;

    /// Writes the frame from `src` to `dst`, whose addresses must be those of the echo.
    pub fn write(&self, packet: &mut Packet, src: &EndPoint, dst: &EndPoint) {
        let mut bytes = [0; INLINE_BYTES];
        ip::put_headers(&mut bytes, src, dst, PROTOCOL_ICMP, self.dscp << 2 | self.ecn as u8);
        let (ip, icmp) = bytes[ETHERNET..Self::HEADERS].split_at_mut(IPV4);
        ip::finish(ip, (IPV4 + ICMP) as u16 + self.data as u16, self.sequence, sum(ip));
        icmp[0] = if self.reply { REPLY } else { REQUEST };
        icmp[4..6].copy_from_slice(&self.identifier.to_be_bytes());
        icmp[6..8].copy_from_slice(&self.sequence.to_be_bytes());
        let checksum = !fold(sum(icmp));
        icmp[2..4].copy_from_slice(&checksum.to_be_bytes());
        packet.set_from(&bytes, Self::HEADERS, self.data as usize);
    }

    /// Reads and checks a frame; `None` if it is not an echo, or is damaged.
    pub fn parse(packet: &Packet) -> Option<Echo> {
        let bytes = packet.stored();
        let (ip, icmp) = ip::split(bytes, PROTOCOL_ICMP, Self::HEADERS)?;
        let length = ip::length(ip, packet.len())?;
        let whole = ip::is_sound(ip) && fold(sum(icmp)) == 0xffff;
        if !whole || !matches!(icmp[..2], [REQUEST | REPLY, 0]) {
            return None;
        }
        Some(Echo {
            src: be32(&ip[12..]),
            dst: be32(&ip[16..]),
            dscp: ip[1] >> 2,
            ecn: Ecn::of(ip[1]),
            reply: icmp[0] == REPLY,
            identifier: u16::from_be_bytes([icmp[4], icmp[5]]),
            sequence: u16::from_be_bytes([icmp[6], icmp[7]]),
            data: (length - IPV4 - ICMP) as u32,
        })
    }
}

#[cfg(test)]
mod tests {
    use marklab_pipeline::csum16;
    use proptest::prelude::*;

    use super::*;

    fn end_point(number: u8) -> EndPoint {
        EndPoint { mac: [2, 0, 0, 0, 0, number], ip: 0x0a00_0000 + u32::from(number), port: 0 }
    }

    fn echo(reply: bool, identifier: u16, sequence: u16, data: u32) -> (Echo, Packet) {
        let (src, dst) = (end_point(1), end_point(2));
        let echo = Echo { src: src.ip, dst: dst.ip, dscp: 46, ecn: Ecn::Ect1, reply, identifier, sequence, data };
        let mut packet = Packet::default();
        echo.write(&mut packet, &src, &dst);
        (echo, packet)
    }

    proptest! {
        /// Oracle: RFC 1071 over all bytes.
        #[test]
        fn an_echo_reads_as_it_was_written(
            reply in any::<bool>(), identifier in any::<u16>(), sequence in any::<u16>(), data in 0..1500u32,
        ) {
            let (echo, packet) = echo(reply, identifier, sequence, data);
            let bytes = packet.to_vec();
            prop_assert_eq!(bytes.len(), 14 + 20 + 8 + data as usize);
            prop_assert_eq!((csum16(&bytes[14..34]), csum16(&bytes[34..])), (0, 0));
            prop_assert_eq!(Echo::parse(&packet), Some(echo));
        }

        #[test]
        fn a_flipped_bit_is_noticed(bit in 14 * 8..42 * 8usize) {
            let (_, mut packet) = echo(false, 1, 2, 56);
            packet.stored_mut()[bit / 8] ^= 1 << (bit % 8);
            prop_assert_eq!(Echo::parse(&packet), None);
        }
    }
}
