// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tofino's switch. Between ingress and egress a packet consists of bytes only.
//!
//! Bytes that its parser extracts precede each packet: intrinsic metadata and, at ingress, port metadata, which is 0
//! here, or the data of a resubmission. Times are nanoseconds since the start; fields keep their low bits.
//!
//! Depths are cells of the traffic manager's memory: `enq_qdepth` counts what a packet found in its queue, `deq_qdepth`
//! what it left there, both without the packet itself. Tofino's documents do not say whether the packet is counted; this
//! is simple_switch's convention, so that a program and its v1model twin see the same queue.
//!
//! The traffic manager, its limits and its counters use the length with which a frame came in. Otherwise a header that
//! ingress adds only for egress would take room in queues that are as long as those of a v1model switch, and affect the
//! comparison of the two. `pkt_length` is the length that the egress parser gets, such headers included.
//!
//! After ingress: a copy of the packet as it came, to a mirror session; then resubmission, or else the chosen multicast
//! groups and port. After egress: a copy of the packet as egress made it, to a mirror session; then the packet leaves,
//! or comes in once more if its port is a [recirculation](is_recirculating) port. Those ports have no queue here, and
//! take no time.

mod cells;
mod ghost;
mod headers;

use std::collections::VecDeque;
use std::sync::Arc;

use marklab_p4::ir::{Chip, ExternCall, Program, Request, StmtKind, visit};
use marklab_pipeline::{Engine, Layout, MirrorRequest, Stage, State};
use marklab_tm::{Pool, PortConfig, TrafficManager};
use marklab_units::Time;

use crate::common::{Common, refused};
use crate::intrinsic::Intrinsic;
use crate::replication::Mirror;
use crate::{Fate, Frame, Loss, MAX_ROUNDS, QueueSignals, Transmitted};
use cells::Cells;
use ghost::Ghost;
use headers::{EgressHeader, IngressHeader, Passage};

/// `ucast_egress_port` of a packet for no port.
const NO_PORT: u64 = 0x1ff;

/// Bit of `drop_ctl`: the packet is dropped, but not its mirror copies.
const DROP: u64 = 1;

/// Bit of egress `drop_ctl`: no mirror copy is made.
const NO_MIRROR: u64 = 4;

/// Times that one frame and all its copies may recirculate at once. Frames of a real program do so a few times.
const MAX_RECIRCULATIONS: u32 = 1 << 16;

/// Whether frames sent to a port come back by it: ports 68 to 71 of each pipe, as on Tofino 1.
fn is_recirculating(port: usize) -> bool {
    matches!(port & 0x7f, 68..=71) && port < NO_PORT as usize
}

/// Fields of intrinsic metadata that are not part of a header.
#[derive(Debug)]
struct Intrinsics {
    ingress_tstamp: Intrinsic,
    ingress_drop: Intrinsic,
    port: Intrinsic,
    groups: [Intrinsic; 2],
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
            groups: [field("ig_intr_md_for_tm.mcast_grp_a"), field("ig_intr_md_for_tm.mcast_grp_b")],
            queue: field("ig_intr_md_for_tm.qid"),
            class: field("ig_intr_md_for_tm.ingress_cos"),
            bypass_egress: field("ig_intr_md_for_tm.bypass_egress"),
            egress_tstamp: field("eg_intr_md_from_prsr.global_tstamp"),
            egress_drop: field("eg_intr_md_for_dprsr.drop_ctl"),
        }
    }
}

/// Data of a packet in the traffic manager.
#[derive(Clone, Copy, Default, Debug)]
struct TmMetadata {
    /// Replication id of a copy of a multicast group.
    rid: u16,
    /// Times that it started again or was copied.
    rounds: u16,
    /// `ingress_cos`
    class: u8,
    bypasses_egress: bool,
    queue: u8,
}

/// A frame between ingress and egress.
#[derive(Debug)]
pub(crate) struct Waiting<F> {
    pub(crate) frame: F,
    /// Cells that it found in its queue.
    found_cells: u64,
    tm: TmMetadata,
}

/// The next step of a frame.
enum Next<F> {
    Fate(Fate<F>),
    /// It is at a recirculation port.
    Around {
        port: usize,
        frame: F,
        bytes: u64,
        tm: TmMetadata,
    },
}

/// A switch that runs a program of TNA.
pub(crate) struct Tna<F> {
    pub(crate) common: Common<F>,
    intrinsics: Intrinsics,
    ingress_header: IngressHeader,
    egress_header: EgressHeader,
    pub(crate) queues: TrafficManager<Waiting<F>>,
    cells: Cells,
    /// Whether ingress may use the packet as it came.
    keeps_original: bool,
    ghost: Option<Ghost>,
    /// Copies that may still have to recirculate.
    copies: VecDeque<Next<F>>,
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
            keeps_original: asks_for_original(program),
            ghost: Ghost::new(program, layout),
            copies: VecDeque::new(),
            common: Common::new(engine, state),
        }
    }

    // Not inlined, so that a v1model switch stays small where it is inlined.
    #[inline(never)]
    pub(crate) fn receive(&mut self, now: Time, port: usize, frame: F) -> Fate<F> {
        let next = self.ingress(now, port, frame, 0);
        let mut budget = MAX_RECIRCULATIONS;
        let fate = self.settle(now, next, &mut budget);
        self.settle_copies(now, budget);
        fate
    }

    /// Recirculates a frame until it is queued or lost.
    fn settle(&mut self, now: Time, mut next: Next<F>, budget: &mut u32) -> Fate<F> {
        loop {
            let (port, frame, bytes, tm) = match next {
                Next::Fate(fate) => return fate,
                Next::Around { port, frame, bytes, tm } => (port, frame, bytes, tm),
            };
            if tm.rounds >= MAX_ROUNDS || *budget == 0 {
                return Fate::Lost(Loss::Endless, Some(port), frame);
            }
            *budget -= 1;
            let signals = QueueSignals { enq_timestamp: now, ..QueueSignals::default() };
            next = match self.egress(now, port, frame, bytes, signals, tm) {
                Ok(frame) => self.ingress(now, port, frame, tm.rounds + 1),
                Err(fate) => Next::Fate(fate),
            };
        }
    }

    /// Settles the copies that were made meanwhile, and their copies. A copy that recirculated and was dropped then has
    /// served its purpose: it is not a loss.
    fn settle_copies(&mut self, now: Time, mut budget: u32) {
        while let Some(copy) = self.copies.pop_front() {
            let goes_round = matches!(copy, Next::Around { .. });
            match self.settle(now, copy, &mut budget) {
                Fate::Lost(Loss::Ingress | Loss::Egress, ..) if goes_round => {}
                fate => self.common.copies.push(fate),
            }
        }
    }

    /// Ingress, and what follows it.
    fn ingress(&mut self, now: Time, came_by: usize, mut frame: F, mut rounds: u16) -> Next<F> {
        let bytes = frame.packet().len() as u64;
        let mut resubmitted = None;
        loop {
            let mut original = self.keeps_original.then(|| frame.duplicate());
            let mut phv = self.common.blank();
            phv.set_arrival_bytes(bytes);
            let at = &self.intrinsics;
            at.ingress_tstamp.set(&mut phv, now.nanos());
            at.port.set(&mut phv, NO_PORT);
            let in_front = self.ingress_header.bytes(came_by, now, resubmitted.as_deref());
            frame.packet().replace_front(0, in_front);
            self.common.state.now = now;
            self.common.engine.run(Stage::Ingress, &mut self.common.state, frame.packet(), &mut phv);
            let effects = self.common.effects();
            let at = &self.intrinsics;
            let dropped = at.ingress_drop.get(&phv) & DROP != 0;
            let port = at.port.field().map_or(NO_PORT, |field| phv.get(field));
            let groups = at.groups.map(|group| group.get(&phv) as u32);
            let tm = TmMetadata {
                rid: 0,
                rounds,
                class: at.class.get(&phv) as u8,
                bypasses_egress: at.bypass_egress.get(&phv) != 0,
                queue: at.queue.get(&phv) as u8,
            };
            self.common.spare.push(phv);
            if effects.refused {
                return Next::Fate(Fate::Lost(Loss::Parser, None, frame));
            }
            if let (Some(request), Some(original)) = (effects.mirror, &original) {
                self.mirror(now, original.duplicate(), &request, rounds);
            }
            if dropped {
                return Next::Fate(Fate::Lost(Loss::Ingress, None, frame));
            }
            let (Some(data), Some(original)) = (effects.resubmit_header, original.take()) else {
                return self.forward(now, frame, bytes, (port, groups), tm);
            };
            frame = original;
            resubmitted = Some(data);
            rounds += 1;
            if rounds > MAX_ROUNDS {
                return Next::Fate(Fate::Lost(Loss::Endless, None, frame));
            }
        }
    }

    /// Sends a frame to the port and the multicast groups that ingress chose. The port, or else the last replica, gets
    /// the frame itself.
    fn forward(&mut self, now: Time, frame: F, bytes: u64, (port, groups): (u64, [u32; 2]), tm: TmMetadata) -> Next<F> {
        if groups == [0; 2] {
            return match port {
                NO_PORT => Next::Fate(Fate::Lost(Loss::Ingress, None, frame)),
                port => self.send(now, port as usize, frame, bytes, tm),
            };
        }
        let chosen = groups.iter().filter(|&&group| group != 0);
        let replicas = chosen.flat_map(|&group| self.common.replication.replicas(group));
        let mut copies: Vec<(usize, TmMetadata)> =
            replicas.map(|replica| (replica.port, TmMetadata { rid: replica.rid, ..tm })).collect();
        let last = if port == NO_PORT { copies.pop() } else { Some((port as usize, tm)) };
        for (port, tm) in copies {
            let copy = self.send(now, port, frame.duplicate(), bytes, tm);
            self.copies.push_back(copy);
        }
        match last {
            Some((port, tm)) => self.send(now, port, frame, bytes, tm),
            None => Next::Fate(Fate::Lost(Loss::NoGroup, None, frame)),
        }
    }

    /// Puts a frame into the queue of a port, or recirculates it.
    fn send(&mut self, now: Time, port: usize, frame: F, bytes: u64, tm: TmMetadata) -> Next<F> {
        if is_recirculating(port) {
            return Next::Around { port, frame, bytes, tm };
        }
        let queue = tm.queue.into();
        Next::Fate(match self.queues.admit(port, queue, bytes) {
            Ok(room) => {
                let found_cells = self.cells.add(port, queue, bytes);
                room.put(now, Waiting { frame, found_cells, tm });
                self.tell_ghost(now, port, queue);
                Fate::Queued { port, queue }
            }
            Err(refusal) => refused(refusal, port, frame),
        })
    }

    #[inline(never)]
    pub(crate) fn transmit(&mut self, now: Time, port: usize, signals: Option<QueueSignals>) -> Option<Transmitted<F>> {
        let out = self.queues.dequeue(port)?;
        let left_cells = self.cells.remove(port, out.queue, out.bytes);
        self.tell_ghost(now, port, out.queue);
        let signals = signals.unwrap_or(QueueSignals {
            enq_timestamp: out.enq_timestamp,
            enq_qdepth: out.item.found_cells,
            deq_qdepth: left_cells,
        });
        signals.check(now);
        let Waiting { frame, tm, .. } = out.item;
        let outcome = self.egress(now, port, frame, out.bytes, signals, tm);
        self.settle_copies(now, MAX_RECIRCULATIONS);
        Some(Transmitted { outcome, signals, queue: out.queue, ends_turn: out.ends_turn })
    }

    fn egress(
        &mut self,
        now: Time,
        port: usize,
        mut frame: F,
        bytes: u64,
        signals: QueueSignals,
        tm: TmMetadata,
    ) -> Result<F, Fate<F>> {
        if tm.bypasses_egress {
            return Ok(frame);
        }
        let mut phv = self.common.blank();
        phv.set_arrival_bytes(bytes);
        self.intrinsics.egress_tstamp.set(&mut phv, now.nanos());
        let passage = Passage { now, port, tm, length: frame.packet().len(), signals };
        frame.packet().replace_front(0, self.egress_header.bytes(&passage));
        self.common.state.now = now;
        self.common.engine.run(Stage::Egress, &mut self.common.state, frame.packet(), &mut phv);
        let effects = self.common.effects();
        let drop_ctl = self.intrinsics.egress_drop.get(&phv);
        self.common.spare.push(phv);
        if let Some(request) = effects.mirror.filter(|_| drop_ctl & NO_MIRROR == 0) {
            self.mirror(now, frame.duplicate(), &request, tm.rounds);
        }
        if drop_ctl & DROP != 0 { Err(Fate::Lost(Loss::Egress, Some(port), frame)) } else { Ok(frame) }
    }

    /// Sends a copy to a session, behind the requested header. Does nothing if there is no such session.
    #[inline(never)]
    fn mirror(&mut self, now: Time, mut copy: F, request: &MirrorRequest, rounds: u16) {
        let Some(to) = self.common.replication.session(request.session) else { return };
        let bytes = copy.packet().len() as u64;
        copy.packet().replace_front(0, &request.header);
        let tm = TmMetadata { rounds: rounds + 1, ..TmMetadata::default() };
        let copy = match to {
            _ if tm.rounds > MAX_ROUNDS => Next::Fate(Fate::Lost(Loss::Endless, None, copy)),
            Mirror::Port(port) => self.send(now, port, copy, bytes, tm),
            Mirror::Group(group) => self.forward(now, copy, bytes, (NO_PORT, [group, 0]), tm),
        };
        self.copies.push_back(copy);
    }

    /// Reports the depth of a queue to the ghost thread after a change.
    fn tell_ghost(&mut self, now: Time, port: usize, queue: usize) {
        if let Some(ghost) = &self.ghost {
            let (number, cells) = self.cells.depth(port, queue);
            self.common.state.now = now;
            ghost.run(&mut self.common, number, cells);
        }
    }

    #[inline]
    pub(crate) fn has_copies(&self) -> bool {
        !self.common.copies.is_empty()
    }
}

/// Whether the ingress deparser mirrors or resubmits.
fn asks_for_original(program: &Program) -> bool {
    let asks = |stmt: &StmtKind| {
        matches!(stmt, StmtKind::Extern(ExternCall::Request(Request::MirrorEmit { .. } | Request::ResubmitEmit { .. })))
    };
    visit::any_statement(Stage::Ingress.bodies(program), &asks)
}
