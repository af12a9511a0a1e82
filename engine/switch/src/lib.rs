// SPDX-License-Identifier: MIT OR Apache-2.0
//! A switch: a P4 program around a traffic manager, in its architecture's order of operations.
//!
//! A frame comes in by [`Switch::receive`]: ingress runs at once, and the frame waits in the queue of the port that
//! ingress chose. [`Switch::transmit`] takes the next frame of a port, runs egress and returns the frame. The driver of
//! the switch, the simulator or a real-time loop, passes the time and knows when a port is free.
//!
//! [`v1model`] has the order of simple_switch, [`tna`] that of Tofino. Copies that a program requests enter queues
//! themselves, and [`Switch::take_copies`] reports them. In [`replication`] the control plane sets where copies go.
//! [`Switch::run`] processes a single packet without a driver, for tests.

mod common;
mod intrinsic;
mod needs;
pub mod replication;
mod standalone;
mod tna;
mod v1model;

use std::sync::Arc;

use common::Common;
use marklab_p4::ir::Arch;
use marklab_pipeline::{Digest, Engine, FailedAssertion, Packet, State};
use marklab_tm::{Depth, Pool, PortConfig, QueueStats};
use marklab_units::Time;
pub use needs::{Need, needs};
use replication::Replication;
pub use standalone::Completed;
use tna::Tna;
use v1model::V1Model;

/// A unit that a switch carries: a packet, and data that its owner keeps with it.
pub trait Frame {
    /// The packet.
    fn packet(&mut self) -> &mut Packet;

    /// Prefetches the frame, if it lies elsewhere.
    #[inline(always)]
    fn prefetch(&self) {}

    /// A copy of the frame.
    fn duplicate(&self) -> Self;
}

impl Frame for Packet {
    fn packet(&mut self) -> &mut Packet {
        self
    }

    fn duplicate(&self) -> Packet {
        self.clone()
    }
}

/// Where or why a switch lost a frame.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Loss {
    /// The ingress parser rejected it (TNA).
    Parser,
    /// Ingress dropped it, or chose no port.
    Ingress,
    /// Egress dropped it.
    Egress,
    /// The queue was full.
    QueueFull,
    /// Ingress, or a mirror session, chose a port that the switch does not have.
    NoPort,
    /// Ingress chose a queue that the port does not have.
    NoQueue,
    /// Ingress chose a multicast group that does not exist or has no ports.
    NoGroup,
    /// It was resubmitted, recirculated or cloned more than [`MAX_ROUNDS`] times.
    Endless,
    /// An `assert` or `assume` failed, which ends BMv2; [`Switch::failed_assertion`] has the place.
    Assertion,
}

impl Loss {
    /// Kind of place: `queue`, or `switch` (a decision of its program).
    pub fn place(self) -> &'static str {
        match self {
            Loss::QueueFull => "queue",
            _ => "switch",
        }
    }

    /// The loss, in words.
    pub fn text(self) -> &'static str {
        match self {
            Loss::Parser => "refused by the ingress parser",
            Loss::Ingress => "dropped by ingress",
            Loss::Egress => "dropped by egress",
            Loss::QueueFull => "queue full",
            Loss::NoPort => "sent to a port that does not exist",
            Loss::NoQueue => "sent to a queue that does not exist",
            Loss::NoGroup => "sent to a multicast group without ports",
            Loss::Endless => "resubmitted, recirculated or cloned without end",
            Loss::Assertion => "lost to a failed assertion",
        }
    }
}

/// Times that a packet may start again, or be copied from a copy. BMv2 would continue forever.
pub const MAX_ROUNDS: u16 = 1 << 12;

/// The fate of a frame that did not leave.
#[derive(PartialEq, Eq, Debug)]
pub enum Fate<F> {
    /// It waits in that queue of that port.
    Queued {
        /// The port.
        port: usize,
        /// The queue.
        queue: usize,
    },
    /// It was lost; with the port, if the frame had come to one.
    Lost(Loss, Option<usize>, F),
}

/// A frame that may have passed a switch at once.
#[derive(PartialEq, Eq, Debug)]
pub enum Passed<F> {
    /// It did not leave.
    Stayed(Fate<F>),
    /// It went through egress of that port, whose queue was empty.
    Left {
        /// The port.
        port: usize,
        /// The frame, or its fate.
        outcome: Result<F, Fate<F>>,
    },
}

/// Signals of a queue as egress sees them. Depths are packets in v1model, cells of the traffic manager's memory in TNA.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct QueueSignals {
    /// When the frame came to its queue.
    pub enq_timestamp: Time,
    /// The depth that it found.
    pub enq_qdepth: u64,
    /// The depth that it left behind.
    pub deq_qdepth: u64,
}

impl QueueSignals {
    /// Checks that a frame with these signals may leave now.
    #[inline(always)]
    fn check(&self, now: Time) {
        if self.enq_timestamp > now {
            too_early(self.enq_timestamp, now);
        }
    }
}

// A message in the caller would refer to the signals, which had to lie in memory then.
#[cold]
#[inline(never)]
fn too_early(came: Time, now: Time) -> ! {
    panic!("a frame that came at {came} cannot leave at {now}")
}

/// A frame that left its queue.
#[derive(Debug)]
pub struct Transmitted<F> {
    /// The frame, or its fate: lost, or in a queue again after recirculation.
    pub outcome: Result<F, Fate<F>>,
    /// Signals of its stay in the queue.
    pub signals: QueueSignals,
    /// The queue.
    pub queue: usize,
    /// Whether it ended its queue's turn among the queues of the port.
    pub ends_turn: bool,
}

/// A switch that runs a program.
pub struct Switch<F> {
    core: Core<F>,
}

/// The switch, by the program's architecture.
#[expect(clippy::large_enum_variant, reason = "there are few switches, and each packet follows one pointer less")]
enum Core<F> {
    V1Model(V1Model<F>),
    Tna(Box<Tna<F>>),
}

/// Evaluates an expression with a switch of either architecture.
macro_rules! either {
    ($switch:expr, $core:ident => $does:expr) => {
        match $switch {
            Core::V1Model($core) => $does,
            Core::Tna($core) => $does,
        }
    };
}

impl<F> std::fmt::Debug for Switch<F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let ports = either!(&self.core, core => core.queues.ports());
        f.debug_struct("Switch").field("ports", &ports).finish_non_exhaustive()
    }
}

impl<F: Frame> Switch<F> {
    /// A switch with these ports; a [`marklab_tm::Limit`] stands for a port with one queue. `engine` and `state` must
    /// belong to the same program.
    pub fn new(
        engine: Arc<dyn Engine>,
        state: State,
        ports: impl IntoIterator<Item = impl Into<PortConfig>>,
    ) -> Switch<F> {
        Switch::with_pool(engine, state, ports, None)
    }

    /// A switch like that of [`Switch::new`], with memory that all queues share.
    pub fn with_pool(
        engine: Arc<dyn Engine>,
        state: State,
        ports: impl IntoIterator<Item = impl Into<PortConfig>>,
        pool: Option<Pool>,
    ) -> Switch<F> {
        let core = match state.program().arch {
            Arch::V1Model { .. } => Core::V1Model(V1Model::new(engine, state, ports, pool)),
            Arch::Tna(tna) => Core::Tna(Box::new(Tna::new(engine, state, tna.chip, ports, pool))),
        };
        Switch { core }
    }

    fn common(&self) -> &Common<F> {
        either!(&self.core, core => &core.common)
    }

    fn common_mut(&mut self) -> &mut Common<F> {
        either!(&mut self.core, core => &mut core.common)
    }

    /// Tables, registers and counters.
    pub fn state(&self) -> &State {
        &self.common().state
    }

    /// Tables, registers and counters, for the control plane.
    pub fn state_mut(&mut self) -> &mut State {
        &mut self.common_mut().state
    }

    /// Consumes the switch and returns its tables, registers and counters.
    pub fn into_state(self) -> State {
        either!(self.core, core => core.common.state)
    }

    /// Mirror sessions and multicast groups, for the control plane.
    pub fn replication_mut(&mut self) -> &mut Replication {
        &mut self.common_mut().replication
    }

    /// State and replication, for the control plane.
    pub fn control(&mut self) -> (&mut State, &mut Replication) {
        let common = self.common_mut();
        (&mut common.state, &mut common.replication)
    }

    /// Keeps digests and log messages from now on.
    pub fn listen(&mut self) {
        self.common_mut().messages.get_or_insert_default();
    }

    /// Digests kept since the last call.
    pub fn take_digests(&mut self) -> Vec<Digest> {
        let messages = self.common_mut().messages.as_mut();
        messages.map(|messages| std::mem::take(&mut messages.digests)).unwrap_or_default()
    }

    /// Texts of `log_msg` kept since the last call.
    pub fn take_log(&mut self) -> Vec<String> {
        let messages = self.common_mut().messages.as_mut();
        messages.map(|messages| std::mem::take(&mut messages.log)).unwrap_or_default()
    }

    /// The first `assert` or `assume` that failed. A run should end then.
    pub fn failed_assertion(&self) -> Option<FailedAssertion> {
        self.common().failure
    }

    /// Number of ports.
    pub fn ports(&self) -> usize {
        either!(&self.core, core => core.queues.ports())
    }

    /// Amount waiting for a port of the switch.
    #[inline]
    pub fn depth(&self, port: usize) -> Depth {
        either!(&self.core, core => core.queues.depth(port))
    }

    /// Looks at each frame that waits for a port of the switch.
    pub fn for_each_waiting(&self, port: usize, mut look: impl FnMut(&F)) {
        either!(&self.core, core => core.queues.waiting(port).for_each(|waiting| look(&waiting.frame)));
    }

    /// Whether nothing waits for a port of the switch.
    #[inline(always)]
    pub fn is_idle(&self, port: usize) -> bool {
        either!(&self.core, core => core.queues.is_idle(port))
    }

    /// Number of queues of a port of the switch.
    pub fn queues(&self, port: usize) -> usize {
        either!(&self.core, core => core.queues.queues(port))
    }

    /// Amount waiting in a queue of a port of the switch.
    pub fn queue_depth(&self, port: usize, queue: usize) -> Depth {
        either!(&self.core, core => core.queues.queue_depth(port, queue))
    }

    /// Statistics of a port of the switch.
    pub fn port_stats(&self, port: usize) -> QueueStats {
        either!(&self.core, core => core.queues.stats(port))
    }

    /// Statistics of a queue of a port of the switch.
    pub fn queue_stats(&self, port: usize, queue: usize) -> QueueStats {
        either!(&self.core, core => core.queues.queue_stats(port, queue))
    }

    /// Takes a frame in on a port: ingress, then the queue.
    ///
    /// With multicast, the result is the fate of the last copy, which is the frame itself; the other copies are in
    /// [`Switch::take_copies`].
    pub fn receive(&mut self, now: Time, port: usize, frame: F) -> Fate<F> {
        either!(&mut self.core, core => core.receive(now, port, frame))
    }

    /// [`Switch::receive`], and [`Switch::transmit`] for the same frame if its port is `ready` for it and its queue is
    /// empty: then the frame need not be put into the queue. A switch may always let it wait.
    #[inline(always)]
    pub fn pass(&mut self, now: Time, port: usize, frame: F, ready: impl Fn(usize) -> bool) -> Passed<F> {
        match &mut self.core {
            Core::V1Model(v1model) => v1model.pass(now, port, frame, ready),
            Core::Tna(tna) => Passed::Stayed(tna.receive(now, port, frame)),
        }
    }

    /// Takes the next frame of a port through egress. `None` if nothing is waiting. After a frame that does not leave,
    /// the caller may take the port's next frame at once.
    ///
    /// Clones are in [`Switch::take_copies`].
    ///
    /// # Panics
    ///
    /// If the frame came after `now`.
    #[inline]
    pub fn transmit(&mut self, now: Time, port: usize) -> Option<Transmitted<F>> {
        self.transmit_under(now, port, None)
    }

    /// [`Switch::transmit`], with other queue signals if some are given.
    #[inline(always)]
    fn transmit_under(&mut self, now: Time, port: usize, signals: Option<QueueSignals>) -> Option<Transmitted<F>> {
        if let Core::Tna(tna) = &mut self.core {
            // Taken apart and put together again: otherwise both architectures would write their results to the same
            // memory, and the parts of v1model's, which are in registers, would go through it as well.
            let Transmitted { outcome, signals, queue, ends_turn } = tna.transmit(now, port, signals)?;
            let outcome = match outcome {
                Ok(frame) => Ok(frame),
                Err(Fate::Queued { port, queue }) => Err(Fate::Queued { port, queue }),
                Err(Fate::Lost(loss, port, frame)) => Err(Fate::Lost(loss, port, frame)),
            };
            return Some(Transmitted { outcome, signals, queue, ends_turn });
        }
        let Core::V1Model(v1model) = &mut self.core else { unreachable!("there are two architectures") };
        v1model.transmit(now, port, signals)
    }

    /// Takes the next frame out of its queue, without egress.
    fn withdraw(&mut self, port: usize) -> Option<F> {
        either!(&mut self.core, core => core.queues.dequeue(port).map(|out| out.item.frame))
    }

    /// Whether [`Switch::take_copies`] has anything to return.
    #[inline]
    pub fn has_copies(&self) -> bool {
        either!(&self.core, core => core.has_copies())
    }

    /// The fates of the copies that the switch made since the last call, in order.
    pub fn take_copies(&mut self) -> Vec<Fate<F>> {
        std::mem::take(&mut self.common_mut().copies)
    }
}
