// SPDX-License-Identifier: MIT OR Apache-2.0
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
//!
//! After ingress: a copy to a mirror session, of the packet as it came; then resubmission, else the multicast groups and
//! the port that were chosen. After egress: a copy to a mirror session, of the packet as egress made it; then it leaves,
//! or comes in once more if its port is one of [recirculation](is_recirculating). Those ports have no queue here, and
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

use crate::intrinsic::Intrinsic;
use crate::replication::Mirror;
use crate::shell::{Shell, refused};
use crate::{Fate, Frame, Loss, MAX_ROUNDS, QueueSignals, Transmitted};
use cells::Cells;
use ghost::Ghost;
use headers::{EgressHeader, IngressHeader, Passage};

/// `ucast_egress_port` of a packet that no port is to have.
const NO_PORT: u64 = 0x1ff;

/// Bit of `drop_ctl`: the packet goes nowhere, copies of mirrors aside.
const DROP: u64 = 1;

/// Bit of egress `drop_ctl`: no copy to a mirror session either.
const NO_MIRROR: u64 = 4;

/// Times that one frame, with all its copies, may go round at once. A real program's do a few times.
const MAX_RECIRCULATIONS: u32 = 1 << 16;

/// Whether what is sent to a port comes back by it: ports 68 to 71 of each pipe, as on Tofino 1.
fn is_recirculating(port: usize) -> bool {
    matches!(port & 0x7f, 68..=71) && port < NO_PORT as usize
}

/// Fields of intrinsic metadata that are no part of a header.
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

/// What the traffic manager knows of a packet.
#[derive(Clone, Copy, Default, Debug)]
struct Way {
    /// Replication id of a copy of a multicast group.
    rid: u16,
    /// Times that it started again, or was copied.
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
    way: Way,
}

/// What comes of a frame, as far as it is known.
enum Next<F> {
    Fate(Fate<F>),
    /// It is at a recirculation port.
    Around {
        port: usize,
        frame: F,
        bytes: u64,
        way: Way,
    },
}

/// A switch that runs a program of TNA.
pub(crate) struct Tna<F> {
    pub(crate) shell: Shell<F>,
    intrinsics: Intrinsics,
    ingress_header: IngressHeader,
    egress_header: EgressHeader,
    pub(crate) queues: TrafficManager<Waiting<F>>,
    cells: Cells,
    /// Whether ingress may ask for the packet as it came.
    keeps_original: bool,
    ghost: Option<Ghost>,
    /// Copies that may still have to go round.
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
            shell: Shell::new(engine, state),
        }
    }

    // Apart, so that a v1model switch stays small where it is inlined.
    #[inline(never)]
    pub(crate) fn receive(&mut self, now: Time, port: usize, frame: F) -> Fate<F> {
        let next = self.ingress(now, port, frame, 0);
        let mut budget = MAX_RECIRCULATIONS;
        let fate = self.settle(now, next, &mut budget);
        self.settle_copies(now, budget);
        fate
    }

    /// Lets a frame go round for as long as it does.
    fn settle(&mut self, now: Time, mut next: Next<F>, budget: &mut u32) -> Fate<F> {
        loop {
            let (port, frame, bytes, way) = match next {
                Next::Fate(fate) => return fate,
                Next::Around { port, frame, bytes, way } => (port, frame, bytes, way),
            };
            if way.rounds >= MAX_ROUNDS || *budget == 0 {
                return Fate::Lost(Loss::Endless, Some(port), frame);
            }
            *budget -= 1;
            let signals = QueueSignals { enq_timestamp: now, ..QueueSignals::default() };
            next = match self.egress(now, port, frame, bytes, signals, way) {
                Ok(frame) => self.ingress(now, port, frame, way.rounds + 1),
                Err(fate) => Next::Fate(fate),
            };
        }
    }

    /// The same for the copies that were made meanwhile, and theirs. A copy that went round and was dropped then has done
    /// what it was made for: it is not a loss.
    fn settle_copies(&mut self, now: Time, mut budget: u32) {
        while let Some(copy) = self.copies.pop_front() {
            let goes_round = matches!(copy, Next::Around { .. });
            match self.settle(now, copy, &mut budget) {
                Fate::Lost(Loss::Ingress | Loss::Egress, ..) if goes_round => {}
                fate => self.shell.copies.push(fate),
            }
        }
    }

    /// Ingress, and what follows it.
    fn ingress(&mut self, now: Time, came_by: usize, mut frame: F, mut rounds: u16) -> Next<F> {
        let bytes = frame.packet().len() as u64;
        let mut resubmitted = None;
        loop {
            let mut original = self.keeps_original.then(|| frame.duplicate());
            let mut phv = self.shell.blank();
            phv.set_arrival_bytes(bytes);
            let at = &self.intrinsics;
            at.ingress_tstamp.set(&mut phv, now.nanos());
            at.port.set(&mut phv, NO_PORT);
            let in_front = self.ingress_header.bytes(came_by, now, resubmitted.as_deref());
            frame.packet().replace_front(0, in_front);
            self.shell.state.now = now;
            self.shell.engine.run(Stage::Ingress, &mut self.shell.state, frame.packet(), &mut phv);
            let effects = self.shell.effects();
            let at = &self.intrinsics;
            let dropped = at.ingress_drop.get(&phv) & DROP != 0;
            let port = at.port.field().map_or(NO_PORT, |field| phv.get(field));
            let groups = at.groups.map(|group| group.get(&phv) as u32);
            let way = Way {
                rid: 0,
                rounds,
                class: at.class.get(&phv) as u8,
                bypasses_egress: at.bypass_egress.get(&phv) != 0,
                queue: at.queue.get(&phv) as u8,
            };
            self.shell.spare.push(phv);
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
                return self.forward(now, frame, bytes, (port, groups), way);
            };
            frame = original;
            resubmitted = Some(data);
            rounds += 1;
            if rounds > MAX_ROUNDS {
                return Next::Fate(Fate::Lost(Loss::Endless, None, frame));
            }
        }
    }

    /// To the port and the multicast groups that ingress chose; the port's is the frame itself, or else the last copy.
    fn forward(&mut self, now: Time, frame: F, bytes: u64, (port, groups): (u64, [u32; 2]), way: Way) -> Next<F> {
        if groups == [0; 2] {
            return match port {
                NO_PORT => Next::Fate(Fate::Lost(Loss::Ingress, None, frame)),
                port => self.send(now, port as usize, frame, bytes, way),
            };
        }
        let chosen = groups.iter().filter(|&&group| group != 0);
        let replicas = chosen.flat_map(|&group| self.shell.replication.replicas(group));
        let mut copies: Vec<(usize, Way)> =
            replicas.map(|replica| (replica.port, Way { rid: replica.rid, ..way })).collect();
        let last = if port == NO_PORT { copies.pop() } else { Some((port as usize, way)) };
        for (port, way) in copies {
            let copy = self.send(now, port, frame.duplicate(), bytes, way);
            self.copies.push_back(copy);
        }
        match last {
            Some((port, way)) => self.send(now, port, frame, bytes, way),
            None => Next::Fate(Fate::Lost(Loss::NoGroup, None, frame)),
        }
    }

    /// To the queue of a port, or round.
    fn send(&mut self, now: Time, port: usize, frame: F, bytes: u64, way: Way) -> Next<F> {
        if is_recirculating(port) {
            return Next::Around { port, frame, bytes, way };
        }
        let queue = way.queue.into();
        Next::Fate(match self.queues.admit(port, queue, bytes) {
            Ok(room) => {
                let found_cells = self.cells.add(port, queue, bytes);
                room.put(now, Waiting { frame, found_cells, way });
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
        let Waiting { frame, way, .. } = out.item;
        let outcome = self.egress(now, port, frame, out.bytes, signals, way);
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
        way: Way,
    ) -> Result<F, Fate<F>> {
        if way.bypasses_egress {
            return Ok(frame);
        }
        let mut phv = self.shell.blank();
        phv.set_arrival_bytes(bytes);
        self.intrinsics.egress_tstamp.set(&mut phv, now.nanos());
        let passage = Passage { now, port, way, length: frame.packet().len(), signals };
        frame.packet().replace_front(0, self.egress_header.bytes(&passage));
        self.shell.state.now = now;
        self.shell.engine.run(Stage::Egress, &mut self.shell.state, frame.packet(), &mut phv);
        let effects = self.shell.effects();
        let drop_ctl = self.intrinsics.egress_drop.get(&phv);
        self.shell.spare.push(phv);
        if let Some(request) = effects.mirror.filter(|_| drop_ctl & NO_MIRROR == 0) {
            self.mirror(now, frame.duplicate(), &request, way.rounds);
        }
        if drop_ctl & DROP != 0 { Err(Fate::Lost(Loss::Egress, Some(port), frame)) } else { Ok(frame) }
    }

    /// Sends a copy to a session, behind the header that it is given; nothing if there is no such session.
    #[inline(never)]
    fn mirror(&mut self, now: Time, mut copy: F, request: &MirrorRequest, rounds: u16) {
        let Some(to) = self.shell.replication.session(request.session) else { return };
        let bytes = copy.packet().len() as u64;
        copy.packet().replace_front(0, &request.header);
        let way = Way { rounds: rounds + 1, ..Way::default() };
        let copy = match to {
            _ if way.rounds > MAX_ROUNDS => Next::Fate(Fate::Lost(Loss::Endless, None, copy)),
            Mirror::Port(port) => self.send(now, port, copy, bytes, way),
            Mirror::Group(group) => self.forward(now, copy, bytes, (NO_PORT, [group, 0]), way),
        };
        self.copies.push_back(copy);
    }

    /// Reports the depth of a queue that has changed.
    fn tell_ghost(&mut self, now: Time, port: usize, queue: usize) {
        if let Some(ghost) = &self.ghost {
            let (number, cells) = self.cells.depth(port, queue);
            self.shell.state.now = now;
            ghost.run(&mut self.shell, number, cells);
        }
    }

    #[inline]
    pub(crate) fn has_copies(&self) -> bool {
        !self.shell.copies.is_empty()
    }
}

/// Whether the ingress deparser mirrors or resubmits.
fn asks_for_original(program: &Program) -> bool {
    let asks = |stmt: &StmtKind| {
        matches!(stmt, StmtKind::Extern(ExternCall::Request(Request::MirrorEmit { .. } | Request::ResubmitEmit { .. })))
    };
    visit::any_statement(Stage::Ingress.bodies(program), &asks)
}
