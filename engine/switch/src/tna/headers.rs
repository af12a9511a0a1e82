// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bytes in front of a packet at the parsers.

use marklab_p4::ir::{Chip, Program};
use marklab_units::Time;

use super::TmMetadata;
use crate::QueueSignals;

/// Bytes of `ingress_intrinsic_metadata_t`.
const INGRESS_BYTES: usize = 8;

/// Bytes of port metadata, or of the data of a resubmission: `PORT_METADATA_SIZE` of `tofino.p4`.
const fn port_metadata_bytes(chip: Chip) -> usize {
    match chip {
        Chip::Tofino1 => 8,
        Chip::Tofino2 => 24,
    }
}

const MOST_INGRESS_BYTES: usize = INGRESS_BYTES + port_metadata_bytes(Chip::Tofino2);

/// Bytes of `egress_intrinsic_metadata_t`.
const fn egress_bytes(chip: Chip) -> usize {
    match chip {
        Chip::Tofino1 => 27,
        Chip::Tofino2 => 28,
    }
}

/// 64-bit words that hold an egress header, its first bit the highest of the first word.
type Words = [u64; egress_bytes(Chip::Tofino2).div_ceil(8)];

/// Bytes with which the ingress parser begins.
#[derive(Debug)]
pub(super) struct IngressHeader {
    bytes: [u8; MOST_INGRESS_BYTES],
    used: usize,
}

impl IngressHeader {
    pub(super) fn new(chip: Chip) -> IngressHeader {
        IngressHeader { bytes: [0; MOST_INGRESS_BYTES], used: INGRESS_BYTES + port_metadata_bytes(chip) }
    }

    /// The header of a packet that comes in now, or again with the data of a resubmission, which is cut to the
    /// available room.
    pub(super) fn bytes(&mut self, port: usize, now: Time, resubmitted: Option<&[u8]>) -> &[u8] {
        // resubmit_flag: 1 bit; _pad1, packet_version, _pad2: 6; ingress_port: 9; ingress_mac_tstamp: 48.
        let flag = u64::from(resubmitted.is_some()) << 63;
        let image = flag | (port as u64 & 0x1ff) << 48 | now.nanos() & ((1 << 48) - 1);
        let (header, metadata) = self.bytes.split_at_mut(INGRESS_BYTES);
        header.copy_from_slice(&image.to_be_bytes());
        metadata.fill(0);
        for (target, &byte) in metadata.iter_mut().zip(resubmitted.into_iter().flatten()) {
            *target = byte;
        }
        &self.bytes[..self.used]
    }
}

/// Bits of a header; none if the header has no such field.
#[derive(Clone, Copy, Default, Debug)]
struct Bits {
    at: u32,
    /// At most 64.
    width: u32,
}

impl Bits {
    /// The largest value.
    fn mask(self) -> u64 {
        1u64.checked_shl(self.width).map_or(u64::MAX, |beyond| beyond - 1)
    }

    /// Writes a value, modulo the width, into bits that are 0.
    #[inline]
    fn put(self, words: &mut Words, value: u64) {
        let value = value & self.mask();
        let (word, end) = (self.at as usize / 64, self.at % 64 + self.width);
        match end.checked_sub(64) {
            // Also a field without a width, whose value is 0.
            None => words[word] |= value.wrapping_shl(64 - end),
            Some(0) => words[word] |= value,
            Some(beyond) => {
                words[word] |= value >> beyond;
                words[word + 1] |= value << (64 - beyond);
            }
        }
    }

    /// Writes the value, or the largest that the field holds.
    #[inline]
    fn put_at_most(self, words: &mut Words, value: u64) {
        self.put(words, value.min(self.mask()));
    }
}

/// Data of a packet that comes to egress.
#[derive(Clone, Copy, Debug)]
pub(super) struct Passage {
    pub(super) now: Time,
    pub(super) port: usize,
    pub(super) tm: TmMetadata,
    /// Bytes that the egress parser gets, without this header.
    pub(super) length: usize,
    pub(super) signals: QueueSignals,
}

/// Bytes with which the egress parser begins: the fields of the program's `egress_intrinsic_metadata_t`.
#[derive(Debug)]
pub(super) struct EgressHeader {
    bytes: [u8; size_of::<Words>()],
    used: usize,
    egress_port: Bits,
    enq_qdepth: Bits,
    enq_tstamp: Bits,
    deq_qdepth: Bits,
    deq_timedelta: Bits,
    egress_rid: Bits,
    egress_qid: Bits,
    egress_cos: Bits,
    pkt_length: Bits,
}

impl EgressHeader {
    pub(super) fn new(chip: Chip, program: &Program) -> EgressHeader {
        let fields = program.intrinsics.iter().filter_map(|(name, slot)| {
            let width = program.slots[slot.index()].ty.width;
            name.strip_prefix("eg_intr_md.").map(|name| (name, width))
        });
        let mut end = 0;
        let places: Vec<(&str, Bits)> = fields
            .map(|(name, width)| {
                end += width;
                (name, Bits { at: end - width, width })
            })
            .collect();
        let find = |name| places.iter().find(|(known, _)| *known == name).map_or(Bits::default(), |&(_, bits)| bits);
        EgressHeader {
            bytes: [0; size_of::<Words>()],
            used: egress_bytes(chip),
            egress_port: find("egress_port"),
            enq_qdepth: find("enq_qdepth"),
            enq_tstamp: find("enq_tstamp"),
            deq_qdepth: find("deq_qdepth"),
            deq_timedelta: find("deq_timedelta"),
            egress_rid: find("egress_rid"),
            egress_qid: find("egress_qid"),
            egress_cos: find("egress_cos"),
            pkt_length: find("pkt_length"),
        }
    }

    /// The header of a packet that leaves its queue now.
    pub(super) fn bytes(&mut self, passage: &Passage) -> &[u8] {
        let Passage { now, port, tm, length, signals } = *passage;
        let mut words = Words::default();
        self.egress_port.put(&mut words, port as u64);
        self.enq_qdepth.put_at_most(&mut words, signals.enq_qdepth);
        self.enq_tstamp.put(&mut words, signals.enq_timestamp.nanos());
        self.deq_qdepth.put_at_most(&mut words, signals.deq_qdepth);
        self.deq_timedelta.put(&mut words, now.since(signals.enq_timestamp).nanos());
        self.egress_rid.put(&mut words, tm.rid.into());
        self.egress_qid.put(&mut words, tm.queue.into());
        self.egress_cos.put(&mut words, tm.class.into());
        self.pkt_length.put_at_most(&mut words, length as u64);
        for (target, word) in self.bytes.chunks_exact_mut(8).zip(words) {
            target.copy_from_slice(&word.to_be_bytes());
        }
        &self.bytes[..self.used]
    }
}
