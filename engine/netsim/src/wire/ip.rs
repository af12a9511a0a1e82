// SPDX-License-Identifier: MIT OR Apache-2.0
//! Ethernet and IPv4 (RFC 791) in front of every packet, without options.

use super::{EndPoint, fold, long, sum, word};

pub(super) const ETHERNET: usize = 14;
pub(super) const IPV4: usize = 20;

/// Writes the Ethernet and IPv4 headers of frames between two hosts, without length, identification and checksum.
pub(super) fn put_headers(bytes: &mut [u8], src: &EndPoint, dst: &EndPoint, protocol: u8, traffic_class: u8) {
    bytes[0..6].copy_from_slice(&dst.mac);
    bytes[6..12].copy_from_slice(&src.mac);
    bytes[12..14].copy_from_slice(&0x0800u16.to_be_bytes());
    let ip = &mut bytes[ETHERNET..ETHERNET + IPV4];
    ip[0] = 0x45;
    ip[1] = traffic_class;
    ip[6] = 0x40; // don't fragment
    ip[8] = 64; // time to live
    ip[9] = protocol;
    ip[12..16].copy_from_slice(&src.ip.to_be_bytes());
    ip[16..20].copy_from_slice(&dst.ip.to_be_bytes());
}

/// Writes length, identification and checksum into an IPv4 header. `rest` is the sum of the header before.
pub(super) fn finish(ip: &mut [u8], length: u16, identification: u16, rest: u64) {
    ip[2..4].copy_from_slice(&length.to_be_bytes());
    ip[4..6].copy_from_slice(&identification.to_be_bytes());
    let checksum = !fold(rest + word(length) + word(identification));
    ip[10..12].copy_from_slice(&checksum.to_be_bytes());
}

/// The IPv4 header of a frame and the bytes after it, if the protocol is `protocol` and the frame has at least `least`
/// bytes.
pub(super) fn split(bytes: &[u8], protocol: u8, least: usize) -> Option<(&[u8; IPV4], &[u8])> {
    let expected = bytes.len() >= least && bytes[12..15] == [0x08, 0x00, 0x45] && bytes[ETHERNET + 9] == protocol;
    if expected { bytes[ETHERNET..].split_first_chunk() } else { None }
}

/// The length in an IPv4 header, if it matches a frame of `frame_bytes`.
pub(super) fn length(ip: &[u8; IPV4], frame_bytes: usize) -> Option<usize> {
    let length = usize::from(u16::from_be_bytes([ip[2], ip[3]]));
    (length + ETHERNET == frame_bytes).then_some(length)
}

/// Whether the checksum of an IPv4 header is correct.
pub(super) fn is_sound(ip: &[u8; IPV4]) -> bool {
    fold(sum(ip)) == 0xffff
}

/// The sum of the pseudo header (RFC 793, RFC 768) of a packet of `length` bytes behind the IPv4 header.
pub(super) fn pseudo_sum(ip: &[u8], protocol: u8, length: u32) -> u64 {
    word(protocol.into()) + long(length) + sum(&ip[12..20])
}
