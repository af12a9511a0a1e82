// SPDX-License-Identifier: MIT OR Apache-2.0
//! Fields of the packet state that simple_switch reads and writes, found by name.

use marklab_p4::ir::{Arch, BlockBody, Header, Program, StmtKind, visit};
use marklab_pipeline::{Field, Layout, Phv, Standard};
use marklab_units::Time;

use crate::QueueSignals;
use crate::intrinsic::Intrinsic;

/// A metadata field with `@alias("queueing_metadata.qid")` names one of up to 128 queues; v1model's own field,
/// `priority`, has 3 bits. p4c accepts the annotation and does not pass it on to BMv2.
const QUEUE: &str = "qid";

/// The field of that name in `standard_metadata`, or under one of BMv2's aliases.
pub(super) fn standard(program: &Program, layout: &Layout, name: &str) -> Intrinsic {
    let names = ["standard_metadata", "intrinsic_metadata", "queueing_metadata"];
    let known = names.map(|prefix| format!("{prefix}.{name}")).into_iter();
    Intrinsic::new(program, layout, known)
}

/// The fields. Most have the same [`Standard`] place in all programs, and are set whether or not the program has them.
#[derive(Debug)]
pub(super) struct Intrinsics {
    /// `egress_spec`, with which ingress chooses a port, and egress drops.
    pub(super) egress_spec: Field,
    /// The queue that ingress chooses.
    queue: Field,
    /// Whether the program has `packet_length`.
    reads_length: bool,
    /// The headers, if some may become valid or invalid before egress starts.
    headers: Vec<HeaderSize>,
    /// Fields that lie elsewhere, since the program declares them in its own way.
    elsewhere: Vec<(Standard, Intrinsic)>,
}

/// Where the length of a header comes from.
#[derive(Debug)]
struct HeaderSize {
    valid: Field,
    /// Bytes, without a `varbit`.
    fixed: u64,
    /// Bits of a `varbit`.
    varbit: Option<Field>,
}

impl HeaderSize {
    fn bytes(&self, phv: &Phv) -> u64 {
        match phv.get(self.valid) {
            0 => 0,
            _ => self.fixed + self.varbit.map_or(0, |bits| phv.get(bits) / 8),
        }
    }
}

impl Intrinsics {
    /// `again`: whether egress may start with headers that an earlier egress left.
    pub(super) fn new(program: &Program, layout: &Layout, again: bool) -> Intrinsics {
        let find = |known: Standard| standard(program, layout, known.name());
        let place = |known: Standard| find(known).field().unwrap_or(known.field());
        let moved = |known: &Standard| find(*known).field().is_some_and(|field| field != known.field());
        let queue = standard(program, layout, QUEUE).field();
        Intrinsics {
            egress_spec: place(Standard::EGRESS_SPEC),
            queue: queue.unwrap_or_else(|| place(Standard::PRIORITY)),
            reads_length: find(Standard::PACKET_LENGTH).field().is_some(),
            headers: if changes_headers(program, again) { header_sizes(program, layout) } else { Vec::new() },
            elsewhere: Standard::ALL.into_iter().filter(moved).map(|known| (known, find(known))).collect(),
        }
    }

    /// The queue that ingress has chosen.
    #[inline(always)]
    pub(super) fn queue(&self, phv: &Phv) -> usize {
        phv.get(self.queue) as usize
    }

    /// Sets the fields of a packet that comes in.
    #[inline(always)]
    pub(super) fn arrive(&self, phv: &mut Phv, now: Time, port: usize, bytes: u64) {
        for (known, value) in arrival(now, port, bytes) {
            known.set(phv, value);
        }
        if !self.elsewhere.is_empty() {
            self.arrive_elsewhere(phv, now, port, bytes);
        }
    }

    #[cold]
    fn arrive_elsewhere(&self, phv: &mut Phv, now: Time, port: usize, bytes: u64) {
        self.set_elsewhere(phv, &arrival(now, port, bytes));
    }

    /// Sets the fields of a packet that leaves its queue. Depths that do not fit are the largest that do.
    #[inline(always)]
    pub(super) fn depart(&self, phv: &mut Phv, now: Time, port: usize, signals: QueueSignals) {
        for (known, value) in departure(now, port, signals) {
            known.set(phv, value);
        }
        if self.reads_length {
            self.set_length(phv, self.egress_length(phv));
        }
        if !self.elsewhere.is_empty() {
            self.depart_elsewhere(phv, now, port, signals);
        }
    }

    #[cold]
    fn depart_elsewhere(&self, phv: &mut Phv, now: Time, port: usize, signals: QueueSignals) {
        self.set_elsewhere(phv, &departure(now, port, signals));
    }

    /// Sets `ingress_port`.
    pub(super) fn set_ingress_port(&self, phv: &mut Phv, port: u64) {
        self.set(phv, Standard::INGRESS_PORT, port);
    }

    /// Sets `packet_length`.
    pub(super) fn set_length(&self, phv: &mut Phv, bytes: u64) {
        self.set(phv, Standard::PACKET_LENGTH, bytes);
    }

    fn set(&self, phv: &mut Phv, known: Standard, value: u64) {
        known.set(phv, value);
        self.set_elsewhere(phv, &[(known, value)]);
    }

    fn set_elsewhere(&self, phv: &mut Phv, values: &[(Standard, u64)]) {
        for (known, place) in &self.elsewhere {
            match values.iter().find(|(given, _)| given == known) {
                Some(&(Standard::ENQ_QDEPTH | Standard::DEQ_QDEPTH, depth)) => place.set_at_most(phv, depth),
                Some(&(_, value)) => place.set(phv, value),
                None => {}
            }
        }
    }

    /// `packet_length` at the start of egress: the headers that are valid now and the payload.
    fn egress_length(&self, phv: &Phv) -> u64 {
        let arrived = phv.arrival_bytes();
        if self.headers.is_empty() {
            return arrived;
        }
        let headers: u64 = self.headers.iter().map(|header| header.bytes(phv)).sum();
        headers + arrived.saturating_sub(phv.payload_offset() as u64)
    }
}

/// Values of a packet that comes in.
#[inline(always)]
fn arrival(now: Time, port: usize, bytes: u64) -> [(Standard, u64); 3] {
    [
        (Standard::INGRESS_PORT, port as u64),
        (Standard::PACKET_LENGTH, bytes),
        (Standard::INGRESS_GLOBAL_TIMESTAMP, now.micros()),
    ]
}

/// Values of a packet that leaves its queue.
#[inline(always)]
fn departure(now: Time, port: usize, signals: QueueSignals) -> [(Standard, u64); 7] {
    let at_most = |known: Standard, value: u64| (known, value.min(known.largest()));
    let (came, leaves) = (signals.enq_timestamp.micros(), now.micros());
    [
        (Standard::EGRESS_SPEC, 0),
        (Standard::EGRESS_PORT, port as u64),
        at_most(Standard::ENQ_QDEPTH, signals.enq_qdepth),
        at_most(Standard::DEQ_QDEPTH, signals.deq_qdepth),
        (Standard::ENQ_TIMESTAMP, came),
        (Standard::DEQ_TIMEDELTA, leaves - came),
        (Standard::EGRESS_GLOBAL_TIMESTAMP, leaves),
    ]
}

fn header_sizes(program: &Program, layout: &Layout) -> Vec<HeaderSize> {
    let size = |header: &Header| {
        let slots = || header.fields.iter().map(|slot| &program.slots[slot.index()]);
        let bits: u32 = slots().filter(|slot| slot.varbit_width.is_none()).map(|slot| slot.ty.width).sum();
        let varbit = slots().find_map(|slot| layout.field(slot.varbit_width?));
        Some(HeaderSize { valid: layout.field(header.valid)?, fixed: u64::from(bits / 8), varbit })
    };
    program.headers.iter().filter_map(size).collect()
}

/// Whether ingress or an action changes which headers are valid; with `again`, also whether egress does.
fn changes_headers(program: &Program, again: bool) -> bool {
    let Arch::V1Model { ingress, egress, .. } = program.arch else { return true };
    let changes = |stmt: &StmtKind| match stmt {
        StmtKind::SetValid(_) | StmtKind::SetInvalid(_) => true,
        StmtKind::Assign { dst, .. } => program.headers.iter().any(|header| header.valid == dst.slot),
        _ => false,
    };
    let blocks = [Some(ingress), again.then_some(egress)];
    let controls = blocks.into_iter().flatten().filter_map(|block| match &program.blocks[block.index()].body {
        BlockBody::Control(body) => Some(&body[..]),
        BlockBody::Parser(_) => None,
    });
    let actions = program.actions.iter().map(|action| &action.body[..]);
    visit::any_statement(actions.chain(controls), &changes)
}
