// SPDX-License-Identifier: MIT OR Apache-2.0
//! The ECN field of frames, and its change in a switch.

use marklab_pipeline::Packet;

/// Bytes of the two addresses of an Ethernet frame.
const ADDRESSES: usize = 12;
/// Bytes of a VLAN tag, including its type.
const TAG: usize = 4;

/// ECN field of an IPv4 or IPv6 header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ecn {
    /// Not ECN capable.
    NotEct = 0,
    /// ECN capable.
    Ect1 = 1,
    /// ECN capable.
    Ect0 = 2,
    /// Congestion experienced.
    Ce = 3,
}

impl Ecn {
    /// The ECN field of a byte that holds DSCP and ECN.
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

/// ECN field of an Ethernet frame that carries IPv4 or IPv6 (RFC 3168 sections 5 and 23.1.1), behind any VLAN tags:
/// customer tags (IEEE 802.1Q), provider tags (802.1ad), and the type 0x9100 of older switches. In a tunnel it is the
/// field of the outer header, which switches mark (RFC 6040).
#[inline]
pub fn frame_ecn(packet: &Packet) -> Option<Ecn> {
    let bytes = packet.stored();
    let mut at = ADDRESSES;
    loop {
        let &[high, low, _, second] = bytes.get(at..at + 4)? else { return None };
        match u16::from_be_bytes([high, low]) {
            0x0800 => return Some(Ecn::of(second)),
            // The traffic class begins behind the four bits of the version.
            0x86dd => return Some(Ecn::of(second >> 4)),
            0x8100 | 0x88a8 | 0x9100 => at += TAG,
            _ => return None,
        }
    }
}

/// Whether a switch has marked a packet: it arrived as ECN capable, and leaves with congestion experienced.
#[inline]
pub fn became_marked(arrived_as: Option<Ecn>, packet: &Packet) -> bool {
    matches!(arrived_as, Some(Ecn::Ect0 | Ecn::Ect1)) && frame_ecn(packet) == Some(Ecn::Ce)
}

#[cfg(test)]
mod tests {
    use super::*;

    const IPV4: &[u8] = &[0x08, 0x00];
    const IPV6: &[u8] = &[0x86, 0xdd];
    const TAGS: [&[u8]; 4] = [&[], &[0x81, 0, 0x20, 5], &[0x88, 0xa8, 0, 7, 0x81, 0, 0xff, 0xff], &[0x91, 0, 0, 1]];

    /// A frame with a DSCP of all ones, or of 0.
    fn frame(tags: &[u8], kind: &[u8], dscp: u8, ecn: u8) -> Packet {
        let class = dscp << 2 | ecn;
        let header = if kind == IPV4 { [0x45, class] } else { [0x60 | class >> 4, class << 4 | 0xf] };
        Packet::new(&[&[0; 12], tags, kind, &header].concat(), 0)
    }

    #[test]
    fn only_a_change_from_capable_to_experienced_is_a_mark() {
        for (before, after, marked) in [(0, 3, false), (1, 3, true), (2, 3, true), (3, 3, false), (2, 2, false)] {
            for (tags, kind, dscp) in each(&TAGS, &[IPV4, IPV6], &[0, 63]) {
                let [came, left] = [before, after].map(|ecn| frame(tags, kind, dscp, ecn));
                assert_eq!(became_marked(frame_ecn(&came), &left), marked, "{tags:x?} {kind:x?}");
            }
        }
    }

    /// All combinations.
    fn each<'a>(tags: &[&'a [u8]], kinds: &[&'a [u8]], dscps: &[u8]) -> Vec<(&'a [u8], &'a [u8], u8)> {
        let with = |tag| kinds.iter().flat_map(move |&kind| dscps.iter().map(move |&dscp| (tag, kind, dscp)));
        tags.iter().flat_map(|&tag| with(tag)).collect()
    }

    /// A switch that marks a frame and also adds or removes a tag has marked it.
    #[test]
    fn a_tag_that_comes_or_goes_hides_no_mark() {
        for (before, after) in [(TAGS[0], TAGS[1]), (TAGS[2], TAGS[0])] {
            assert!(became_marked(frame_ecn(&frame(before, IPV4, 0, 2)), &frame(after, IPV4, 0, 3)));
        }
    }

    #[test]
    fn what_is_no_whole_ip_header_has_no_ecn_field() {
        for kind in [&[0x08, 0x06][..], &[0x86, 0x00], &[0x00, 0x40], &[0x88, 0x47]] {
            assert_eq!(frame_ecn(&frame(&[], kind, 0, 3)), None, "{kind:x?}");
        }
        for tags in TAGS {
            let whole = frame(tags, IPV4, 0, 3);
            for len in 0..whole.len() {
                assert_eq!(frame_ecn(&Packet::new(&whole.stored()[..len], 0)), None);
            }
            assert_eq!(frame_ecn(&whole), Some(Ecn::Ce));
        }
    }
}
