// SPDX-License-Identifier: MIT OR Apache-2.0
//! Packets of queue pairs in the format of RoCEv2: UDP, then InfiniBand's base transport header, BTH (InfiniBand
//! Architecture Specification, volume 1, section 9.2 and annex A17).
//!
//! Two things differ from RoCEv2. The invariant CRC at the end of a packet is left out, and so are the bytes that pad a
//! payload to whole words. The UDP checksum, which is 0 in RoCEv2, replaces the CRC. So headers are as long as TCP's.

use marklab_pipeline::{INLINE_BYTES, Packet};

use super::ip::{self, ETHERNET, IPV4};
use super::{Ecn, EndPoint, be32, fold, sum};

const UDP: usize = 8;
const BTH: usize = 12;
/// ACK extended transport header of acknowledgements: syndrome and message sequence number.
const AETH: usize = 4;
/// Reserved bytes of a notification.
const CNP_RESERVED: u32 = 16;
const HEADERS: usize = ETHERNET + IPV4 + UDP + BTH;
const _: () = assert!(HEADERS == super::HEADERS && HEADERS + AETH <= INLINE_BYTES);

const PROTOCOL_UDP: u8 = 17;
/// UDP port of RoCEv2.
const ROCE_PORT: u16 = 4791;
const DEFAULT_PARTITION: u16 = 0xffff;

// Reliable connection.
const SEND_FIRST: u8 = 0x00;
const SEND_MIDDLE: u8 = 0x01;
const SEND_LAST: u8 = 0x02;
const SEND_ONLY: u8 = 0x04;
const ACKNOWLEDGE: u8 = 0x11;
const CNP: u8 = 0x81;
/// Syndromes of an acknowledgement without a credit limit, and of a NACK for a packet out of order.
const SYNDROME_ACK: u8 = 0x1f;
const SYNDROME_NACK: u8 = 0x60;

/// Kind of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Data.
    Send {
        /// Whether it has the first byte of a message.
        first: bool,
        /// Whether it has the last byte of a message; then it requests an acknowledgement.
        last: bool,
        /// Bytes of payload.
        payload: u32,
    },
    /// All packets up to its number have arrived.
    Ack,
    /// All packets before its number have arrived, and later ones, but not the packet with its number.
    Nack,
    /// Packets of the queue pair met congestion.
    Notification,
}

/// A packet of a queue pair.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Roce {
    /// Source address.
    pub src: u32,
    /// Destination address.
    pub dst: u32,
    /// Code point.
    pub dscp: u8,
    /// ECN field.
    pub ecn: Ecn,
    /// IPv4 identification.
    pub identification: u16,
    /// Queue pair at the destination, in 24 bits.
    pub queue_pair: u32,
    /// Packet sequence number, in 24 bits.
    pub psn: u32,
    /// Kind of the packet.
    pub kind: Kind,
}

impl Roce {
    /// Writes the frame from `src` to `dst`, whose addresses must be those of the packet. The source port spreads queue
    /// pairs over equal-cost paths.
    pub fn write(&self, packet: &mut Packet, src: &EndPoint, dst: &EndPoint) {
        let (opcode, syndrome, payload) = match self.kind {
            Kind::Send { first, last, payload } => (send_opcode(first, last), None, payload),
            Kind::Ack => (ACKNOWLEDGE, Some(SYNDROME_ACK), 0),
            Kind::Nack => (ACKNOWLEDGE, Some(SYNDROME_NACK), 0),
            Kind::Notification => (CNP, None, CNP_RESERVED),
        };
        let stored = HEADERS + if syndrome.is_some() { AETH } else { 0 };
        let length = (stored - ETHERNET) as u16 + payload as u16;
        let mut bytes = [0; INLINE_BYTES];
        ip::put_headers(&mut bytes, src, dst, PROTOCOL_UDP, self.dscp << 2 | self.ecn as u8);
        let (ip, udp) = bytes[ETHERNET..].split_at_mut(IPV4);
        ip::finish(ip, length, self.identification, sum(ip));

        let udp_length = length - IPV4 as u16;
        udp[0..2].copy_from_slice(&src.port.to_be_bytes());
        udp[2..4].copy_from_slice(&ROCE_PORT.to_be_bytes());
        udp[4..6].copy_from_slice(&udp_length.to_be_bytes());
        let bth = &mut udp[UDP..];
        bth[0] = opcode;
        bth[2..4].copy_from_slice(&DEFAULT_PARTITION.to_be_bytes());
        bth[4..8].copy_from_slice(&(self.queue_pair & 0xff_ffff).to_be_bytes());
        let asks = matches!(self.kind, Kind::Send { last: true, .. });
        // A notification does not refer to a packet.
        let psn = if self.kind == Kind::Notification { 0 } else { self.psn & 0xff_ffff };
        bth[8..12].copy_from_slice(&(u32::from(asks) << 31 | psn).to_be_bytes());
        if let Some(syndrome) = syndrome {
            bth[BTH] = syndrome;
        }
        let pseudo = ip::pseudo_sum(ip, PROTOCOL_UDP, udp_length.into());
        // 0 would mean that there is no checksum (RFC 768).
        let checksum = match !fold(pseudo + sum(udp)) {
            0 => 0xffff,
            checksum => checksum,
        };
        udp[6..8].copy_from_slice(&checksum.to_be_bytes());
        packet.set_from(&bytes, stored, payload as usize);
    }

    /// Reads and checks a frame; `None` if it is not a packet of a queue pair, or is damaged.
    pub fn parse(packet: &Packet) -> Option<Roce> {
        let bytes = packet.stored();
        let (ip, udp) = ip::split(bytes, PROTOCOL_UDP, HEADERS)?;
        let length = ip::length(ip, packet.len())?;
        let half = |bytes: &[u8]| u16::from_be_bytes([bytes[0], bytes[1]]);
        let udp_length = half(&udp[4..]);
        let pseudo = ip::pseudo_sum(ip, PROTOCOL_UDP, udp_length.into());
        let whole = usize::from(udp_length) + IPV4 == length
            && half(&udp[2..]) == ROCE_PORT
            && half(&udp[6..]) != 0
            && ip::is_sound(ip)
            && fold(pseudo + sum(udp)) == 0xffff;
        if !whole {
            return None;
        }
        let bth = &udp[UDP..];
        let payload = u32::from(udp_length) - (UDP + BTH) as u32;
        let kind = match (bth[0], bth.get(BTH)) {
            (SEND_FIRST | SEND_MIDDLE | SEND_LAST | SEND_ONLY, _) => Kind::Send {
                first: matches!(bth[0], SEND_FIRST | SEND_ONLY),
                last: matches!(bth[0], SEND_LAST | SEND_ONLY),
                payload,
            },
            (ACKNOWLEDGE, Some(&SYNDROME_ACK)) => Kind::Ack,
            (ACKNOWLEDGE, Some(&SYNDROME_NACK)) => Kind::Nack,
            (CNP, _) => Kind::Notification,
            _ => return None,
        };
        Some(Roce {
            src: be32(&ip[12..]),
            dst: be32(&ip[16..]),
            dscp: ip[1] >> 2,
            ecn: Ecn::of(ip[1]),
            identification: half(&ip[4..]),
            queue_pair: be32(&bth[4..]) & 0xff_ffff,
            psn: be32(&bth[8..]) & 0xff_ffff,
            kind,
        })
    }
}

fn send_opcode(first: bool, last: bool) -> u8 {
    match (first, last) {
        (true, true) => SEND_ONLY,
        (true, false) => SEND_FIRST,
        (false, true) => SEND_LAST,
        (false, false) => SEND_MIDDLE,
    }
}

#[cfg(test)]
mod tests {
    use marklab_pipeline::csum16;
    use proptest::prelude::*;

    use super::*;

    fn end_point(number: u8) -> EndPoint {
        EndPoint { mac: [2, 0, 0, 0, 0, number], ip: 0x0a00_0000 + u32::from(number), port: 50_000 + u16::from(number) }
    }

    fn written(kind: Kind, psn: u32, identification: u16) -> (Roce, Packet) {
        let (src, dst) = (end_point(1), end_point(2));
        let roce =
            Roce { src: src.ip, dst: dst.ip, dscp: 10, ecn: Ecn::Ect0, identification, queue_pair: 77, psn, kind };
        let mut packet = Packet::default();
        roce.write(&mut packet, &src, &dst);
        (roce, packet)
    }

    fn kind() -> impl Strategy<Value = Kind> {
        let send = (any::<bool>(), any::<bool>(), 1..1461u32);
        prop_oneof![
            send.prop_map(|(first, last, payload)| Kind::Send { first, last, payload }),
            Just(Kind::Ack),
            Just(Kind::Nack),
            Just(Kind::Notification),
        ]
    }

    proptest! {
        /// Oracle: RFC 1071 over all bytes, pseudo header included.
        #[test]
        fn a_packet_reads_as_it_was_written(kind in kind(), psn in 0..1u32 << 24, identification in any::<u16>()) {
            let (roce, packet) = written(kind, psn, identification);
            let bytes = packet.to_vec();
            prop_assert_eq!(csum16(&bytes[14..34]), 0);
            let mut pseudo = bytes[26..34].to_vec();
            pseudo.extend([0, 17]);
            pseudo.extend(((bytes.len() - 34) as u16).to_be_bytes());
            pseudo.extend(&bytes[34..]);
            prop_assert_eq!(csum16(&pseudo), 0);
            let psn = if kind == Kind::Notification { 0 } else { psn };
            prop_assert_eq!(Roce::parse(&packet), Some(Roce { psn, ..roce }));
        }

        #[test]
        fn a_flipped_bit_is_noticed(bit in 14 * 8..54 * 8usize) {
            let (_, mut packet) = written(Kind::Send { first: true, last: false, payload: 1460 }, 5, 6);
            packet.stored_mut()[bit / 8] ^= 1 << (bit % 8);
            prop_assert_eq!(Roce::parse(&packet), None);
        }
    }

    #[test]
    fn lengths_are_those_of_rocev2_without_its_crc() {
        let length = |kind| written(kind, 0, 0).1.len();
        assert_eq!(length(Kind::Send { first: true, last: true, payload: 1460 }), 14 + 20 + 8 + 12 + 1460);
        assert_eq!((length(Kind::Ack), length(Kind::Nack)), (58, 58));
        assert_eq!(length(Kind::Notification), 70);
    }
}
