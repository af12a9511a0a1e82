// SPDX-License-Identifier: MIT OR Apache-2.0
//! The v1model switch, in simple_switch's order of operations.
//!
//! Most programs send each packet straight through. The other features of v1model, clones, multicast, resubmission and
//! recirculation, are [`detours`], in which copies enter queues in addition to the frame.
//!
//! Units are BMv2's: timestamps in microseconds since the start, depths in packets without the packet itself.

pub(crate) mod detours;
mod intrinsics;
mod metadata;

use std::sync::Arc;

use marklab_pipeline::{DROP_PORT, Engine, Phv, Stage, State};
use marklab_tm::{Pool, PortConfig, TrafficManager};
use marklab_units::Time;

use crate::common::{Common, refused};
use crate::{Fate, Frame, Loss, Passed, QueueSignals, Transmitted};
use detours::Detours;
use intrinsics::Intrinsics;

/// A frame between ingress and egress.
#[derive(Debug)]
pub(crate) struct Waiting<F> {
    pub(crate) frame: F,
    phv: Phv,
    history: History,
}

/// The history of a frame in the switch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct History {
    /// Port by which the frame, or its original, came in.
    ingress_port: u16,
    /// Times that it started again or was copied.
    rounds: u16,
    /// Maximum of bytes to send.
    max_bytes: u32,
}

impl History {
    #[inline]
    fn from(port: usize) -> History {
        History { ingress_port: port as u16, rounds: 0, max_bytes: u32::MAX }
    }
}

/// A switch that runs a program of v1model.
pub(crate) struct V1Model<F> {
    pub(crate) common: Common<F>,
    intrinsics: Intrinsics,
    pub(crate) queues: TrafficManager<Waiting<F>>,
    /// `None` if all packets go straight through.
    detours: Option<Box<Detours>>,
}

impl<F: Frame> V1Model<F> {
    pub(crate) fn new(
        engine: Arc<dyn Engine>,
        state: State,
        ports: impl IntoIterator<Item = impl Into<PortConfig>>,
        pool: Option<Pool>,
    ) -> V1Model<F> {
        let (program, layout) = (state.program(), state.layout());
        let detours = Detours::new(program, layout);
        V1Model {
            intrinsics: Intrinsics::new(program, layout, detours.is_some()),
            queues: TrafficManager::with_pool(ports, pool),
            detours: detours.map(Box::new),
            common: Common::new(engine, state),
        }
    }

    // Inlined, like other functions here: a call would copy the frame once more.
    #[inline(always)]
    pub(crate) fn receive(&mut self, now: Time, port: usize, mut frame: F) -> Fate<F> {
        let phv = self.ingress(now, port, &mut frame);
        if self.detours.is_some() {
            self.after_ingress(now, frame, phv, History::from(port))
        } else {
            self.forward(now, frame, phv, History::from(port))
        }
    }

    /// [`crate::Switch::pass`].
    #[inline(always)]
    pub(crate) fn pass(&mut self, now: Time, port: usize, mut frame: F, ready: impl Fn(usize) -> bool) -> Passed<F> {
        let phv = self.ingress(now, port, &mut frame);
        let history = History::from(port);
        if self.detours.is_some() {
            return Passed::Stayed(self.after_ingress(now, frame, phv, history));
        }
        let (wanted, queue) = (phv.get(self.intrinsics.egress_spec), self.intrinsics.queue(&phv));
        let to = wanted as usize;
        if wanted == DROP_PORT || !ready(to) || !self.queues.pass(to, queue, frame.packet().len() as u64) {
            return Passed::Stayed(self.forward(now, frame, phv, history));
        }
        let signals = QueueSignals { enq_timestamp: now, ..QueueSignals::default() };
        Passed::Left { port: to, outcome: self.egress(now, to, signals, Waiting { frame, phv, history }) }
    }

    /// Runs ingress on a frame that comes in.
    #[inline(always)]
    fn ingress(&mut self, now: Time, port: usize, frame: &mut F) -> Phv {
        let mut phv = self.common.blank();
        let bytes = frame.packet().len() as u64;
        phv.set_arrival_bytes(bytes);
        self.intrinsics.arrive(&mut phv, now, port, bytes);
        self.common.state.now = now;
        self.common.engine.run(Stage::Ingress, &mut self.common.state, frame.packet(), &mut phv);
        phv
    }

    #[inline(always)]
    pub(crate) fn transmit(&mut self, now: Time, port: usize, signals: Option<QueueSignals>) -> Option<Transmitted<F>> {
        let out = self.queues.dequeue(port)?;
        // The next frame leaves soon. If many wait, it is no longer in the nearest cache.
        if let Some(next) = self.queues.ahead(port) {
            next.frame.prefetch();
            next.phv.prefetch();
        }
        let signals = signals.unwrap_or(QueueSignals {
            enq_timestamp: out.enq_timestamp,
            enq_qdepth: out.enq_qdepth,
            deq_qdepth: out.deq_qdepth,
        });
        signals.check(now);
        let outcome = self.egress(now, port, signals, out.item);
        Some(Transmitted { outcome, signals, queue: out.queue, ends_turn: out.ends_turn })
    }

    #[inline]
    pub(crate) fn has_copies(&self) -> bool {
        self.detours.is_some() && !self.common.copies.is_empty()
    }

    /// Sends a frame to the port that ingress chose.
    // Part of the straight path, which must not pay for the detours that use it too.
    #[inline(always)]
    fn forward(&mut self, now: Time, frame: F, phv: Phv, history: History) -> Fate<F> {
        let wanted = phv.get(self.intrinsics.egress_spec);
        if wanted == DROP_PORT {
            self.common.spare.push(phv);
            return Fate::Lost(Loss::Ingress, None, frame);
        }
        self.enqueue(now, wanted as usize, frame, phv, history)
    }

    #[inline(always)]
    fn enqueue(&mut self, now: Time, port: usize, mut frame: F, phv: Phv, history: History) -> Fate<F> {
        let queue = self.intrinsics.queue(&phv);
        let bytes = frame.packet().len() as u64;
        match self.queues.admit(port, queue, bytes) {
            Ok(room) => {
                room.put(now, Waiting { frame, phv, history });
                Fate::Queued { port, queue }
            }
            Err(refusal) => {
                self.common.spare.push(phv);
                refused(refusal, port, frame)
            }
        }
    }

    #[inline(always)]
    fn egress(&mut self, now: Time, port: usize, signals: QueueSignals, waiting: Waiting<F>) -> Result<F, Fate<F>> {
        let Waiting { mut frame, mut phv, history } = waiting;
        self.intrinsics.depart(&mut phv, now, port, signals);
        self.common.state.now = now;
        if self.detours.is_some() {
            return self.egress_and_after(now, port, frame, phv, history);
        }
        let egress_spec = self.intrinsics.egress_spec;
        let kept = self.common.engine.run_out(&mut self.common.state, frame.packet(), &mut phv, egress_spec);
        self.common.spare.push(phv);
        if kept { Ok(frame) } else { Err(Fate::Lost(Loss::Egress, Some(port), frame)) }
    }
}
