// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reads captures without any code of the crate: the container by its specification, the headers by `etherparse`.

use std::net::Ipv4Addr;
use std::path::Path;

use etherparse::{NetHeaders, PacketHeaders, TcpOptionElement, TransportHeader};

/// A captured TCP segment whose checksums are correct.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Captured {
    pub(crate) time_ns: u64,
    pub(crate) src: u32,
    pub(crate) dst: u32,
    pub(crate) src_port: u16,
    pub(crate) dst_port: u16,
    pub(crate) ttl: u8,
    pub(crate) dscp: u8,
    pub(crate) ecn: u8,
    pub(crate) sequence: u32,
    pub(crate) ack: u32,
    pub(crate) syn: bool,
    pub(crate) fin: bool,
    pub(crate) ece: bool,
    pub(crate) cwr: bool,
    /// AE of RFC 9768, which `etherparse` has by its older name.
    pub(crate) ae: bool,
    pub(crate) window: u16,
    pub(crate) sacks: Vec<(u32, u32)>,
    pub(crate) payload: u32,
}

impl Captured {
    /// Sequence number behind the payload.
    pub(crate) fn end(&self) -> u32 {
        self.sequence.wrapping_add(self.payload)
    }
}

/// Every frame of a capture. Panics at the first frame that is cut or has a wrong checksum.
#[track_caller]
pub(crate) fn read(path: &Path) -> Vec<Captured> {
    let bytes = std::fs::read(path).expect("the capture can be read");
    let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
    // Magic number for ns, version 2.4, no correction, 64 KB, Ethernet.
    let header: Vec<u32> = (0..6).map(|at| word(4 * at)).collect();
    let big = header[0].swap_bytes() == 0xa1b2_3c4d;
    let order = |value: u32| if big { value.swap_bytes() } else { value };
    assert_eq!((order(header[0]), order(header[4]), order(header[5])), (0xa1b2_3c4d, 65_535, 1));
    let mut at = 24;
    let mut frames = Vec::new();
    while at < bytes.len() {
        let [seconds, ns, kept, length] = [0, 4, 8, 12].map(|offset| order(word(at + offset)));
        assert_eq!(kept, length, "frame {} is cut", frames.len());
        at += 16;
        let frame = &bytes[at..at + kept as usize];
        frames.push(parse(u64::from(seconds) * 1_000_000_000 + u64::from(ns), frame));
        at += kept as usize;
    }
    frames
}

#[track_caller]
fn parse(time_ns: u64, frame: &[u8]) -> Captured {
    let packet = PacketHeaders::from_ethernet_slice(frame).expect("headers can be read");
    let Some(NetHeaders::Ipv4(ip, _)) = packet.net else { panic!("not IPv4: {frame:x?}") };
    let Some(TransportHeader::Tcp(tcp)) = packet.transport else { panic!("not TCP: {frame:x?}") };
    let payload = packet.payload.slice();
    assert_eq!(usize::from(ip.total_len), frame.len() - 14);
    assert_eq!(ip.calc_header_checksum(), ip.header_checksum);
    assert_eq!(tcp.calc_checksum_ipv4(&ip, payload), Ok(tcp.checksum));
    let sacks = tcp.options_iterator().filter_map(|option| match option.expect("options can be read") {
        TcpOptionElement::SelectiveAcknowledgement(first, more) => {
            Some([Some(first)].into_iter().chain(more).flatten().collect::<Vec<_>>())
        }
        _ => None,
    });
    Captured {
        time_ns,
        src: Ipv4Addr::from(ip.source).into(),
        dst: Ipv4Addr::from(ip.destination).into(),
        src_port: tcp.source_port,
        dst_port: tcp.destination_port,
        ttl: ip.time_to_live,
        dscp: ip.dscp.value(),
        ecn: ip.ecn.value(),
        sequence: tcp.sequence_number,
        ack: tcp.acknowledgment_number,
        syn: tcp.syn,
        fin: tcp.fin,
        ece: tcp.ece,
        cwr: tcp.cwr,
        ae: tcp.ns,
        window: tcp.window_size,
        sacks: sacks.flatten().collect(),
        payload: payload.len() as u32,
    }
}
