// SPDX-License-Identifier: MIT OR Apache-2.0
//! The ECN field of frames, and its change in a switch.

use marklab_pipeline::Packet;

const ETHERNET: usize = 14;

/// ECN field of an IPv4 header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ecn {
    /// The sender does not take part.
    NotEct = 0,
    /// ECN capable.
    Ect1 = 1,
    /// ECN capable.
    Ect0 = 2,
    /// Congestion experienced.
    Ce = 3,
}

impl Ecn {
    /// That of a byte of DSCP and ECN.
    #[inline]
    pub fn of(traffic_class: u8) -> Ecn {
        match traffic_class & 3 {
            0 => Ecn::NotEct,
            1 => Ecn::Ect1,
            2 => Ecn::Ect0,
            _ => Ecn::Ce,
        }
    }
}

/// ECN field of an Ethernet frame that carries IPv4.
#[inline]
pub fn frame_ecn(packet: &Packet) -> Option<Ecn> {
    let bytes = packet.stored();
    (bytes.len() > ETHERNET + 1 && bytes[12..14] == [0x08, 0x00]).then(|| Ecn::of(bytes[ETHERNET + 1]))
}

/// Whether a switch has marked a packet: it came as ECN capable, and leaves with congestion experienced.
#[inline]
pub fn became_marked(arrived_as: Option<Ecn>, packet: &Packet) -> bool {
    matches!(arrived_as, Some(Ecn::Ect0 | Ecn::Ect1)) && frame_ecn(packet) == Some(Ecn::Ce)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_change_from_capable_to_experienced_is_a_mark() {
        let frame = |kind: u8, ecn: u8| Packet::new(&[&[0; 12][..], &[kind, 0], &[0x45, 0x28 | ecn]].concat(), 0);
        for (before, after, marked) in [(0, 3, false), (1, 3, true), (2, 3, true), (3, 3, false), (2, 2, false)] {
            assert_eq!(became_marked(frame_ecn(&frame(8, before)), &frame(8, after)), marked);
        }
        assert_eq!(frame_ecn(&frame(0x86, 3)), None);
        assert_eq!(frame_ecn(&Packet::new(&[8; 15], 0)), None);
    }
}
