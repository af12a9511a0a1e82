// SPDX-License-Identifier: MIT OR Apache-2.0
//! Ethernet, IPv4 and TCP headers as bytes; `echo` has those of ICMP, `roce` those of queue pairs.

mod echo;
mod ip;
pub mod roce;

use marklab_pipeline::{INLINE_BYTES, Packet};

pub use echo::Echo;
use ip::{ETHERNET, IPV4};
pub use marklab_observe::Ecn;

/// Length of Ethernet, IPv4 and TCP headers without options.
pub const HEADERS: usize = ETHERNET + IPV4 + TCP;
const PROTOCOL_TCP: u8 = 6;
const TCP: usize = 20;
/// Longest TCP options that this module writes: three SACK blocks, or a time and two blocks.
pub const MAX_OPTIONS: usize = 28;
const _: () = assert!(HEADERS + MAX_OPTIONS <= INLINE_BYTES);

/// TCP flags.
pub mod flags {
    /// No more data.
    pub const FIN: u16 = 0x01;
    /// Opens a connection.
    pub const SYN: u16 = 0x02;
    /// The data should be delivered at once.
    pub const PSH: u16 = 0x08;
    /// The acknowledgement number is valid.
    pub const ACK: u16 = 0x10;
    /// ECN echo.
    pub const ECE: u16 = 0x40;
    /// Congestion window reduced.
    pub const CWR: u16 = 0x80;
    /// The third flag of ECN (RFC 9768 section 3.1; once the nonce of RFC 3540).
    pub const AE: u16 = 0x100;
    /// All flags.
    pub(super) const ALL: u16 = 0x1ff;
}

/// Address of an end point.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct EndPoint {
    /// Ethernet address.
    pub mac: [u8; 6],
    /// IPv4 address.
    pub ip: u32,
    /// TCP port.
    pub port: u16,
}

/// Header fields that vary between segments of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Header<'a> {
    /// Sequence number.
    pub sequence: u32,
    /// Acknowledgement number.
    pub ack: u32,
    /// Flags.
    pub flags: u16,
    /// Advertised window, already scaled.
    pub window: u16,
    /// ECN field.
    pub ecn: Ecn,
    /// TCP options, a multiple of 4 bytes.
    pub options: &'a [u8],
    /// Bytes of payload, all of them 0.
    pub payload: u32,
}

/// A segment as a host reads it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Segment {
    /// Source address.
    pub src: u32,
    /// Destination address.
    pub dst: u32,
    /// Source port.
    pub src_port: u16,
    /// Destination port.
    pub dst_port: u16,
    /// Sequence number.
    pub sequence: u32,
    /// Acknowledgement number.
    pub ack: u32,
    /// Flags.
    pub flags: u16,
    /// Window, unscaled.
    pub window: u16,
    /// ECN field.
    pub ecn: Ecn,
    /// SACK blocks, as on the wire.
    pub sacks: [(u32, u32); 4],
    /// Number of valid blocks.
    pub sack_count: usize,
    /// Value of the option [`options::timing`], if the segment has it.
    pub timing: Option<u32>,
    /// Bytes of payload.
    pub payload: u32,
}

/// Why a host cannot read a packet.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Malformed {
    /// Too short, not IPv4, not TCP, or lengths that contradict each other.
    Headers,
    /// The IPv4 header checksum is wrong.
    Ipv4Checksum,
    /// The TCP checksum is wrong.
    TcpChecksum,
}

/// The headers of one direction of a connection: what does not vary, with its checksum sums.
#[derive(Clone, Debug)]
pub struct Template {
    bytes: [u8; HEADERS],
    ipv4_sum: u64,
    tcp_sum: u64,
    /// IPv4 identification of the last segment.
    identification: u16,
}

impl Template {
    /// Headers from `src` to `dst` with this DSCP.
    pub fn new(src: EndPoint, dst: EndPoint, dscp: u8) -> Template {
        let mut bytes = [0; HEADERS];
        ip::put_headers(&mut bytes, &src, &dst, PROTOCOL_TCP, dscp << 2);
        let (ip, tcp) = bytes[ETHERNET..].split_at_mut(IPV4);
        tcp[0..2].copy_from_slice(&src.port.to_be_bytes());
        tcp[2..4].copy_from_slice(&dst.port.to_be_bytes());
        let pseudo = ip::pseudo_sum(ip, PROTOCOL_TCP, 0);
        Template { ipv4_sum: sum(ip), tcp_sum: pseudo + sum(tcp), identification: 0, bytes }
    }

    /// Sets the DSCP of later segments.
    pub fn set_dscp(&mut self, dscp: u8) {
        let ip = &mut self.bytes[ETHERNET..ETHERNET + IPV4];
        if ip[1] != dscp << 2 {
            ip[1] = dscp << 2;
            self.ipv4_sum = sum(ip);
        }
    }

    /// Writes a segment with correct lengths and checksums.
    pub fn write(&mut self, packet: &mut Packet, header: &Header<'_>) {
        debug_assert!(header.options.len() <= MAX_OPTIONS && header.options.len().is_multiple_of(4));
        self.identification = self.identification.wrapping_add(1);
        let end = HEADERS + header.options.len();
        let bytes = packet.rewrite(end, header.payload as usize);
        bytes[..HEADERS].copy_from_slice(&self.bytes);
        if !header.options.is_empty() {
            bytes[HEADERS..end].copy_from_slice(header.options);
        }
        let tcp_length = (TCP + header.options.len()) as u32 + header.payload;

        let ip = &mut bytes[ETHERNET..ETHERNET + IPV4];
        let length = (IPV4 as u32 + tcp_length) as u16;
        ip[1] |= header.ecn as u8;
        ip::finish(ip, length, self.identification, self.ipv4_sum + word(header.ecn as u16));

        let tcp = &mut bytes[ETHERNET + IPV4..];
        let words = ((TCP + header.options.len()) / 4) as u16;
        let control = words << 12 | header.flags;
        tcp[4..8].copy_from_slice(&header.sequence.to_be_bytes());
        tcp[8..12].copy_from_slice(&header.ack.to_be_bytes());
        tcp[12..14].copy_from_slice(&control.to_be_bytes());
        tcp[14..16].copy_from_slice(&header.window.to_be_bytes());
        let varying = long(header.sequence)
            + long(header.ack)
            + word(control)
            + word(header.window)
            + long(tcp_length)
            + sum_of_rest(header.options);
        let checksum = !fold(self.tcp_sum + varying);
        tcp[16..18].copy_from_slice(&checksum.to_be_bytes());
    }
}

impl Segment {
    /// Reads and checks a packet. Bytes beyond the stored ones are zeros, which do not change a sum.
    pub fn parse(packet: &Packet) -> Result<Segment, Malformed> {
        let bytes = packet.stored();
        let (ip, tcp) = ip::split(bytes, PROTOCOL_TCP, HEADERS).ok_or(Malformed::Headers)?;
        let length = ip::length(ip, packet.len()).ok_or(Malformed::Headers)?;
        let header_length = usize::from(tcp[12] >> 4) * 4;
        if header_length < TCP || header_length > tcp.len() {
            return Err(Malformed::Headers);
        }
        if !ip::is_sound(ip) {
            return Err(Malformed::Ipv4Checksum);
        }
        let pseudo = ip::pseudo_sum(ip, PROTOCOL_TCP, (length - IPV4) as u32);
        let (tcp, behind) = tcp.split_first_chunk::<TCP>().ok_or(Malformed::Headers)?;
        if fold(pseudo + sum(tcp) + sum_of_rest(behind)) != 0xffff {
            return Err(Malformed::TcpChecksum);
        }
        // Written once, in its final place: a copy directly after the stores of its fields would have to wait for them.
        let Options { sacks, sack_count, timing } =
            if header_length > TCP { read_options(&behind[..header_length - TCP]) } else { Options::default() };
        Ok(Segment {
            src: be32(&ip[12..]),
            dst: be32(&ip[16..]),
            src_port: u16::from_be_bytes([tcp[0], tcp[1]]),
            dst_port: u16::from_be_bytes([tcp[2], tcp[3]]),
            sequence: be32(&tcp[4..]),
            ack: be32(&tcp[8..]),
            flags: u16::from_be_bytes([tcp[12], tcp[13]]) & flags::ALL,
            window: u16::from_be_bytes([tcp[14], tcp[15]]),
            ecn: Ecn::of(ip[1]),
            sacks,
            sack_count,
            timing,
            payload: (length - IPV4 - header_length) as u32,
        })
    }
}

/// TCP options that hosts read.
#[derive(Default)]
struct Options {
    sacks: [(u32, u32); 4],
    sack_count: usize,
    timing: Option<u32>,
}

fn read_options(mut options: &[u8]) -> Options {
    let mut read = Options::default();
    while let Some((&kind, rest)) = options.split_first() {
        if kind == 1 {
            options = rest;
            continue;
        }
        let length = rest.first().map_or(0, |&length| usize::from(length));
        if kind == 0 || length < 2 || length > options.len() {
            break;
        }
        let value = &options[2..length];
        if kind == 5 {
            for (place, block) in read.sacks.iter_mut().zip(value.chunks_exact(8)) {
                *place = (be32(block), be32(&block[4..]));
                read.sack_count += 1;
            }
        } else if options[..length].starts_with(&options::TIMING) && length == options::TIMING_BYTES {
            read.timing = Some(be32(&value[2..]));
        }
        options = &options[length..];
    }
    read
}

/// Writes a value into the option [`options::timing`] of a segment, and updates the TCP checksum (RFC 1624), as a NIC
/// does that stamps its segments. Leaves packets unchanged whose options do not begin with it.
pub fn stamp(packet: &mut Packet, value: u32) {
    const SUM: usize = ETHERNET + IPV4 + 16;
    const VALUE: usize = HEADERS + options::TIMING.len();
    let bytes = packet.stored_mut();
    if bytes.len() < HEADERS + options::TIMING_BYTES || !bytes[HEADERS..].starts_with(&options::TIMING) {
        return;
    }
    let (before, after) = (be32(&bytes[VALUE..]), value);
    bytes[VALUE..VALUE + 4].copy_from_slice(&after.to_be_bytes());
    let checksum = u16::from_be_bytes([bytes[SUM], bytes[SUM + 1]]);
    let checksum = !fold(word(!checksum) + long(!before) + long(after));
    bytes[SUM..SUM + 2].copy_from_slice(&checksum.to_be_bytes());
}

/// TCP options.
pub mod options {
    /// Options of a SYN: maximum segment size, SACK permitted, window scale.
    pub fn syn(mss: u16, window_scale: u8) -> [u8; 12] {
        let [high, low] = mss.to_be_bytes();
        [2, 4, high, low, 1, 1, 4, 2, 1, 3, 3, window_scale]
    }

    /// First bytes of [`timing`]: an experimental option (RFC 6994) and its identifier.
    pub const TIMING: [u8; 4] = [253, 8, 0x0d, 0xc7];
    /// Length of [`timing`].
    pub const TIMING_BYTES: usize = 8;

    /// Option with a time in ns. In a data segment it is the time of departure from the NIC, in 32 bits that wrap
    /// around. In an acknowledgement it is the one-way delay of the acknowledged data. So one-way delays are measured
    /// as in DX (Lee et al., 2015, section 4).
    pub fn timing(value: u32) -> [u8; TIMING_BYTES] {
        let ([a, b, c, d], [e, f, g, h]) = (TIMING, value.to_be_bytes());
        [a, b, c, d, e, f, g, h]
    }

    /// Writes SACK blocks (RFC 2018) to `target`: as many as there is room for, at most four. Returns the bytes used.
    pub fn sack(blocks: impl ExactSizeIterator<Item = (u32, u32)>, target: &mut [u8]) -> usize {
        let count = blocks.len().min(target.len().saturating_sub(4) / 8).min(4);
        if count == 0 {
            return 0;
        }
        target[..4].copy_from_slice(&[1, 1, 5, 2 + 8 * count as u8]);
        for (place, (start, end)) in target[4..].chunks_exact_mut(8).zip(blocks) {
            place[..4].copy_from_slice(&start.to_be_bytes());
            place[4..].copy_from_slice(&end.to_be_bytes());
        }
        4 + 8 * count
    }
}

fn be32(bytes: &[u8]) -> u32 {
    u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
}

/// A sum that folds to the ones' complement sum of the 16-bit words. Words are added in the machine's byte order, which
/// only swaps the bytes of the sum (RFC 1071 section 2 B).
fn sum(bytes: &[u8]) -> u64 {
    let mut chunks = bytes.chunks_exact(4);
    let whole: u64 = chunks.by_ref().map(of_ne32).sum();
    match chunks.remainder() {
        [] => whole,
        remainder => {
            let mut rest = [0; 4];
            rest[..remainder.len()].copy_from_slice(remainder);
            whole + of_ne32(&rest)
        }
    }
}

/// [`sum`] of what is seldom there. Its loops stay apart, since they would take registers from their callers.
#[inline(always)]
fn sum_of_rest(bytes: &[u8]) -> u64 {
    #[inline(never)]
    fn sum_apart(bytes: &[u8]) -> u64 {
        sum(bytes)
    }
    if bytes.is_empty() { 0 } else { sum_apart(bytes) }
}

fn of_ne32(bytes: &[u8]) -> u64 {
    u32::from_ne_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]).into()
}

/// What a field of 16 bits adds to a [`sum`].
fn word(value: u16) -> u64 {
    value.to_be().into()
}

/// What a field of 32 bits adds to a [`sum`].
fn long(value: u32) -> u64 {
    value.to_be().into()
}

/// The ones' complement sum of 16-bit words.
fn fold(sum: u64) -> u16 {
    let (sum, carry) = (sum as u32).overflowing_add((sum >> 32) as u32);
    let sum = sum + u32::from(carry);
    // Both halves are added in the upper one, where the lower one's carry arrives.
    u16::from_be((sum.wrapping_add(sum.rotate_left(16)) >> 16) as u16)
}

#[cfg(test)]
mod tests {
    use marklab_pipeline::csum16;
    use proptest::prelude::*;

    use super::*;

    fn end_point(number: u8) -> EndPoint {
        EndPoint { mac: [2, 0, 0, 0, 0, number], ip: 0x0a00_0000 + u32::from(number), port: 1000 + u16::from(number) }
    }

    fn header(options: &[u8]) -> Header<'_> {
        Header {
            sequence: 0xfffe_1234,
            ack: 77,
            flags: flags::ACK | flags::PSH,
            window: 9000,
            ecn: Ecn::Ect0,
            options,
            payload: 1460,
        }
    }

    #[test]
    fn a_segment_reads_as_it_was_written() {
        let mut space = [0; 28];
        let used = options::sack([(1, 2), (3, 4)].into_iter(), &mut space);
        let mut packet = Packet::default();
        Template::new(end_point(1), end_point(2), 10).write(&mut packet, &header(&space[..used]));
        assert_eq!(packet.len(), 14 + 20 + 20 + 20 + 1460);
        let segment = Segment::parse(&packet).unwrap();
        assert_eq!((segment.src, segment.dst), (0x0a00_0001, 0x0a00_0002));
        assert_eq!((segment.src_port, segment.dst_port), (1001, 1002));
        assert_eq!((segment.sequence, segment.ack, segment.payload), (0xfffe_1234, 77, 1460));
        assert_eq!(segment.sacks[..segment.sack_count], [(1, 2), (3, 4)]);
        assert_eq!(segment.ecn, Ecn::Ect0);
        assert_eq!(packet.stored()[15], 10 << 2 | 2);
    }

    proptest! {
        /// Oracle: RFC 1071 over all bytes, pseudo header included.
        #[test]
        fn checksums_are_those_of_rfc_1071(
            sequence in any::<u32>(), ack in any::<u32>(), identification in any::<u16>(), payload in 0..1461u32,
        ) {
            let mut packet = Packet::default();
            let header = Header { sequence, ack, payload, ..header(&[]) };
            let template = Template::new(end_point(1), end_point(2), 0);
            Template { identification, ..template }.write(&mut packet, &header);
            prop_assert_eq!(&packet.stored()[18..20], &identification.wrapping_add(1).to_be_bytes()[..]);
            let bytes = packet.to_vec();
            prop_assert_eq!(csum16(&bytes[14..34]), 0);
            let mut pseudo = bytes[26..34].to_vec();
            pseudo.extend([0, 6]);
            pseudo.extend(((bytes.len() - 34) as u16).to_be_bytes());
            pseudo.extend(&bytes[34..]);
            prop_assert_eq!(csum16(&pseudo), 0);
            prop_assert!(Segment::parse(&packet).is_ok());
        }

        #[test]
        fn a_flipped_bit_is_noticed(bit in 14 * 8..54 * 8usize) {
            let mut packet = Packet::default();
            Template::new(end_point(1), end_point(2), 0).write(&mut packet, &header(&[]));
            packet.stored_mut()[bit / 8] ^= 1 << (bit % 8);
            prop_assert!(Segment::parse(&packet).is_err());
        }
    }

    proptest! {
        /// Oracle: the segment written directly with the value.
        #[test]
        fn a_stamp_changes_the_value_and_nothing_else(first in any::<u32>(), second in any::<u32>(), payload in 0..1453u32) {
            let write = |value| {
                let mut packet = Packet::default();
                let options = options::timing(value);
                Template::new(end_point(1), end_point(2), 0).write(&mut packet, &Header { payload, ..header(&options) });
                packet
            };
            let mut packet = write(first);
            stamp(&mut packet, second);
            let segment = Segment::parse(&packet).unwrap();
            prop_assert_eq!((segment.timing, segment.payload), (Some(second), payload));
            // Checksums are not compared: ones' complement has two zeros for the same sum.
            let (mut stamped, mut written) = (packet.to_vec(), write(second).to_vec());
            stamped[50..52].fill(0);
            written[50..52].fill(0);
            prop_assert_eq!(stamped, written);
        }
    }

    #[test]
    fn a_time_leaves_room_for_two_sack_blocks() {
        let mut space = [0; MAX_OPTIONS];
        space[..8].copy_from_slice(&options::timing(77));
        let used = 8 + options::sack([(1, 2), (3, 4), (5, 6)].into_iter(), &mut space[8..]);
        let mut packet = Packet::default();
        Template::new(end_point(1), end_point(2), 0).write(&mut packet, &header(&space[..used]));
        let segment = Segment::parse(&packet).unwrap();
        assert_eq!((segment.timing, &segment.sacks[..segment.sack_count]), (Some(77), &[(1, 2), (3, 4)][..]));
        let untouched = packet.clone();
        for options in [&[][..], &[1, 1, 5, 2]] {
            let mut packet = Packet::default();
            Template::new(end_point(1), end_point(2), 0).write(&mut packet, &header(options));
            let before = packet.clone();
            stamp(&mut packet, 5);
            assert_eq!(packet, before);
        }
        assert_eq!(packet, untouched);
    }

    #[test]
    fn cut_options_are_ignored() {
        for options in [[5, 40, 0, 0], [5, 0, 0, 0], [0, 5, 10, 0], [1, 1, 1, 5]] {
            let mut packet = Packet::default();
            Template::new(end_point(1), end_point(2), 0).write(&mut packet, &header(&options));
            assert_eq!(Segment::parse(&packet).unwrap().sack_count, 0);
        }
    }
}
