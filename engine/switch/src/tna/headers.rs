//! Bytes in front of a packet at the parsers.

use marklab_p4::ir::{Chip, Program};
use marklab_units::Time;

use super::Way;
use crate::QueueSignals;

/// Bytes of `ingress_intrinsic_metadata_t`.
const INGRESS_BYTES: usize = 8;

/// Bytes of port metadata, or of what a resubmission carries: `PORT_METADATA_SIZE` of `tofino.p4`.
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

/// Bytes that [`Bits::put`] touches at a time.
const WINDOW: usize = 8;

const EGRESS_BUFFER: usize = egress_bytes(Chip::Tofino2) + WINDOW;

/// What the ingress parser begins with.
#[derive(Debug)]
pub(super) struct IngressHeader {
    bytes: [u8; MOST_INGRESS_BYTES],
    used: usize,
}

impl IngressHeader {
    pub(super) fn new(chip: Chip) -> IngressHeader {
        IngressHeader { bytes: [0; MOST_INGRESS_BYTES], used: INGRESS_BYTES + port_metadata_bytes(chip) }
    }

    /// That of a packet which comes in now, or again with this data, cut to the room that there is.
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
    width: u32,
}

impl Bits {
    /// Adds a value, modulo the width, where zeros are.
    #[inline]
    fn put(self, bytes: &mut [u8; EGRESS_BUFFER], value: u64) {
        if self.width == 0 {
            return;
        }
        let start = self.at as usize / 8;
        let window: &mut [u8; WINDOW] = (&mut bytes[start..start + WINDOW]).try_into().expect("a window's bytes");
        let value = value & ((1 << self.width) - 1);
        let placed = value << (64 - self.at % 8 - self.width);
        *window = (u64::from_be_bytes(*window) | placed).to_be_bytes();
    }

    /// Adds the value, or the largest that there is room for.
    #[inline]
    fn put_at_most(self, bytes: &mut [u8; EGRESS_BUFFER], value: u64) {
        self.put(bytes, value.min((1 << self.width) - 1));
    }
}

/// What is known of a packet that comes to egress.
#[derive(Clone, Copy, Debug)]
pub(super) struct Passage {
    pub(super) now: Time,
    pub(super) port: usize,
    pub(super) way: Way,
    /// Bytes before the egress parser, the header here aside.
    pub(super) length: usize,
    pub(super) signals: QueueSignals,
}

/// What the egress parser begins with: the fields of the program's `egress_intrinsic_metadata_t`.
#[derive(Debug)]
pub(super) struct EgressHeader {
    bytes: [u8; EGRESS_BUFFER],
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
            bytes: [0; EGRESS_BUFFER],
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

    /// That of a packet which leaves its queue now.
    pub(super) fn bytes(&mut self, passage: &Passage) -> &[u8] {
        let Passage { now, port, way, length, signals } = *passage;
        self.bytes = [0; EGRESS_BUFFER];
        let bytes = &mut self.bytes;
        self.egress_port.put(bytes, port as u64);
        self.enq_qdepth.put_at_most(bytes, signals.enq_qdepth);
        self.enq_tstamp.put(bytes, signals.enq_timestamp.nanos());
        self.deq_qdepth.put_at_most(bytes, signals.deq_qdepth);
        self.deq_timedelta.put(bytes, now.since(signals.enq_timestamp).nanos());
        self.egress_rid.put(bytes, way.rid.into());
        self.egress_qid.put(bytes, way.queue.into());
        self.egress_cos.put(bytes, way.class.into());
        self.pkt_length.put_at_most(bytes, length as u64);
        &self.bytes[..self.used]
    }
}
