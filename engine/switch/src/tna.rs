//! Tofino's switch: between ingress and egress a packet is bytes.
//!
//! In front of each packet come bytes that its parser extracts: intrinsic metadata and, at ingress, port metadata, which
//! is 0 here, or what a resubmission carries. Times are nanoseconds since the start, and fields keep as many bits of
//! them as they have.
//!
//! Depths are cells of the traffic manager's memory: `enq_qdepth` counts what a packet found in its queue, `deq_qdepth`
//! what it left there, both without the packet itself. Tofino's documents do not say whether the packet is counted; this
//! is simple_switch's convention, so that a program and its v1model twin see the same queue.
//!
//! The traffic manager, its limits and counters take a frame for as long as it came in: a header that ingress puts in
//! front for egress alone would otherwise fill queues that are as long as a v1model switch's, and change what both are
//! compared for. `pkt_length` is the length that the egress parser has before it, such headers included.

mod cells;
mod headers;

use std::sync::Arc;

use marklab_p4::ir::{Chip, Program};
use marklab_pipeline::{Engine, Layout, Stage, State};
use marklab_tm::{Pool, PortConfig, TrafficManager};
use marklab_units::Time;

use crate::intrinsic::Intrinsic;
use crate::shell::{Shell, refused};
use crate::{Fate, Frame, Loss, QueueSignals, Transmitted};
use cells::Cells;
use headers::{EgressHeader, IngressHeader};

/// `ucast_egress_port` of a packet that no port is to have.
const NO_PORT: u64 = 0x1ff;

/// Bit of `drop_ctl`: the packet goes nowhere, copies aside.
const DROP: u64 = 1;

/// Fields of intrinsic metadata that are no part of a header.
#[derive(Debug)]
struct Intrinsics {
    ingress_tstamp: Intrinsic,
    ingress_drop: Intrinsic,
    port: Intrinsic,
    queue: Intrinsic,
    class: Intrinsic,
    bypass_egress: Intrinsic,
    egress_tstamp: Intrinsic,
    egress_drop: Intrinsic,
}

impl Intrinsics {
    fn new(program: &Program, layout: &Layout) -> Intrinsics {
        let field = |name: &str| Intrinsic::new(program, layout, [name.to_owned()]);
        Intrinsics {
            ingress_tstamp: field("ig_intr_md_from_prsr.global_tstamp"),
            ingress_drop: field("ig_intr_md_for_dprsr.drop_ctl"),
            port: field("ig_intr_md_for_tm.ucast_egress_port"),
            queue: field("ig_intr_md_for_tm.qid"),
            class: field("ig_intr_md_for_tm.ingress_cos"),
            bypass_egress: field("ig_intr_md_for_tm.bypass_egress"),
            egress_tstamp: field("eg_intr_md_from_prsr.global_tstamp"),
            egress_drop: field("eg_intr_md_for_dprsr.drop_ctl"),
        }
    }
}

/// A frame between ingress and egress.
#[derive(Debug)]
pub(crate) struct Waiting<F> {
    pub(crate) frame: F,
    /// Cells that it found in its queue.
    found_cells: u64,
    /// `ingress_cos`
    class: u8,
    bypasses_egress: bool,
}

/// A switch that runs a program of TNA.
pub(crate) struct Tna<F> {
    pub(crate) shell: Shell<F>,
    intrinsics: Intrinsics,
    ingress_header: IngressHeader,
    egress_header: EgressHeader,
    pub(crate) queues: TrafficManager<Waiting<F>>,
    cells: Cells,
}

impl<F: Frame> Tna<F> {
    pub(crate) fn new(
        engine: Arc<dyn Engine>,
        state: State,
        chip: Chip,
        ports: impl IntoIterator<Item = impl Into<PortConfig>>,
        pool: Option<Pool>,
    ) -> Tna<F> {
        let (program, layout) = (state.program(), state.layout());
        let queues = TrafficManager::with_pool(ports, pool);
        Tna {
            intrinsics: Intrinsics::new(program, layout),
            ingress_header: IngressHeader::new(chip),
            egress_header: EgressHeader::new(chip, program),
            cells: Cells::new(chip, &queues),
            queues,
            shell: Shell::new(engine, state),
        }
    }

    // Apart, so that a v1model switch stays small where it is inlined.
    #[inline(never)]
    pub(crate) fn receive(&mut self, now: Time, port: usize, mut frame: F) -> Fate<F> {
        let bytes = frame.packet().len() as u64;
        let mut phv = self.shell.blank();
        phv.set_arrival_bytes(bytes);
        let at = &self.intrinsics;
        at.ingress_tstamp.set(&mut phv, now.nanos());
        at.port.set(&mut phv, NO_PORT);
        frame.packet().replace_front(0, self.ingress_header.bytes(port, now));
        self.shell.state.now = now;
        self.shell.engine.run(Stage::Ingress, &mut self.shell.state, frame.packet(), &mut phv);
        let effects = self.shell.effects();
        let at = &self.intrinsics;
        let (dropped, wanted) = (at.ingress_drop.get(&phv) & DROP != 0, at.port.get(&phv));
        let queue = at.queue.get(&phv) as usize;
        let (class, bypasses_egress) = (at.class.get(&phv) as u8, at.bypass_egress.get(&phv) != 0);
        self.shell.spare.push(phv);
        if effects.refused {
            return Fate::Lost(Loss::Parser, None, frame);
        }
        if dropped || wanted == NO_PORT {
            return Fate::Lost(Loss::Ingress, None, frame);
        }
        let port = wanted as usize;
        match self.queues.admit(port, queue, bytes) {
            Ok(room) => {
                let found_cells = self.cells.add(port, queue, bytes);
                room.put(now, Waiting { frame, found_cells, class, bypasses_egress });
                Fate::Queued { port, queue }
            }
            Err(refusal) => refused(refusal, port, frame),
        }
    }

    pub(crate) fn transmit(&mut self, now: Time, port: usize, signals: Option<QueueSignals>) -> Option<Transmitted<F>> {
        let out = self.queues.dequeue(port)?;
        let left_cells = self.cells.remove(port, out.queue, out.bytes);
        let signals = signals.unwrap_or(QueueSignals {
            enq_timestamp: out.enq_timestamp,
            enq_qdepth: out.item.found_cells,
            deq_qdepth: left_cells,
        });
        let outcome = match out.item.bypasses_egress {
            true => Ok(out.item.frame),
            false => self.egress(now, port, (out.queue, out.bytes), signals, out.item),
        };
        Some(Transmitted { outcome, signals, queue: out.queue, ends_turn: out.ends_turn })
    }

    fn egress(
        &mut self,
        now: Time,
        port: usize,
        (queue, bytes): (usize, u64),
        signals: QueueSignals,
        waiting: Waiting<F>,
    ) -> Result<F, Fate<F>> {
        let Waiting { mut frame, class, .. } = waiting;
        let mut phv = self.shell.blank();
        phv.set_arrival_bytes(bytes);
        self.intrinsics.egress_tstamp.set(&mut phv, now.nanos());
        let length = frame.packet().len();
        frame.packet().replace_front(0, self.egress_header.bytes(now, port, queue, length, class, signals));
        self.shell.state.now = now;
        self.shell.engine.run(Stage::Egress, &mut self.shell.state, frame.packet(), &mut phv);
        self.shell.effects();
        let dropped = self.intrinsics.egress_drop.get(&phv) & DROP != 0;
        self.shell.spare.push(phv);
        if dropped { Err(Fate::Lost(Loss::Egress, Some(port), frame)) } else { Ok(frame) }
    }

    #[inline]
    pub(crate) fn has_copies(&self) -> bool {
        !self.shell.copies.is_empty()
    }
}
