// SPDX-License-Identifier: MIT OR Apache-2.0
//! Fields of the packet state that simple_switch reads and writes, found by name.

use marklab_p4::ir::{Arch, BlockBody, Header, Program, StmtKind, visit};
use marklab_pipeline::{Field, Layout, Phv};

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

/// The fields.
#[derive(Debug)]
pub(super) struct Intrinsics {
    pub(super) ingress_port: Intrinsic,
    pub(super) egress_spec: Intrinsic,
    pub(super) egress_port: Intrinsic,
    pub(super) packet_length: Intrinsic,
    /// The queue that ingress chooses.
    pub(super) queue: Intrinsic,
    pub(super) enq_timestamp: Intrinsic,
    pub(super) enq_qdepth: Intrinsic,
    pub(super) deq_timedelta: Intrinsic,
    pub(super) deq_qdepth: Intrinsic,
    pub(super) ingress_global_timestamp: Intrinsic,
    pub(super) egress_global_timestamp: Intrinsic,
    /// The headers, if some may become valid or invalid before egress starts.
    headers: Vec<HeaderSize>,
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
        let find = |name| standard(program, layout, name);
        Intrinsics {
            ingress_port: find("ingress_port"),
            egress_spec: find("egress_spec"),
            egress_port: find("egress_port"),
            packet_length: find("packet_length"),
            queue: Some(find(QUEUE)).filter(|queue| queue.field().is_some()).unwrap_or_else(|| find("priority")),
            enq_timestamp: find("enq_timestamp"),
            enq_qdepth: find("enq_qdepth"),
            deq_timedelta: find("deq_timedelta"),
            deq_qdepth: find("deq_qdepth"),
            ingress_global_timestamp: find("ingress_global_timestamp"),
            egress_global_timestamp: find("egress_global_timestamp"),
            headers: if changes_headers(program, again) { header_sizes(program, layout) } else { Vec::new() },
        }
    }

    /// `packet_length` at the start of egress: the headers that are valid now and the payload.
    #[inline]
    pub(super) fn set_egress_length(&self, phv: &mut Phv) {
        if self.packet_length.field().is_some() {
            self.packet_length.set(phv, self.egress_length(phv));
        }
    }

    fn egress_length(&self, phv: &Phv) -> u64 {
        let arrived = phv.arrival_bytes();
        if self.headers.is_empty() {
            return arrived;
        }
        let headers: u64 = self.headers.iter().map(|header| header.bytes(phv)).sum();
        headers + arrived.saturating_sub(phv.payload_offset() as u64)
    }
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
