//! A v1model switch: a P4 program around a traffic manager, in simple_switch's order of operations.
//!
//! A frame comes in by [`Switch::receive`]: parser and ingress run at once, and the frame waits in the queue of the
//! port that ingress chose. [`Switch::transmit`] takes the next frame of a port, runs egress and the deparser and hands
//! the frame out. Whoever drives the switch, the simulator or a real-time loop, says what time it is and when a port is
//! free.
//!
//! Most programs send each packet straight through. What else v1model offers, clones, multicast, resubmission and
//! recirculation, are [`detours`]; copies then come to queues beside the frame, and [`Switch::take_copies`] tells of them.
//! [`replication`] is where the control plane says where copies go. [`Switch::run`] is a switch on its own, for tests of
//! single packets.
//!
//! Units are BMv2's: timestamps in microseconds since the start, depths in packets without the packet itself.

mod alone;
mod detours;
mod intrinsics;
mod metadata;
mod needs;
pub mod replication;

use std::sync::Arc;

pub use alone::Completed;
use detours::Detours;
use intrinsics::Intrinsics;
use marklab_pipeline::{DROP_PORT, Digest, Engine, FailedAssertion, Packet, Phv, Stage, State};
use marklab_tm::{Depth, Pool, PortConfig, QueueStats, Refusal, TrafficManager};
use marklab_units::Time;
pub use needs::{Need, needs};
use replication::Replication;

/// What a switch carries: a packet, and whatever its owner keeps with it.
pub trait Frame {
    /// The packet.
    fn packet(&mut self) -> &mut Packet;

    /// The same frame once more.
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

/// Where a switch lost a frame.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Loss {
    /// Ingress asked for it, by the drop port.
    Ingress,
    /// Egress asked for it.
    Egress,
    /// The queue was full.
    QueueFull,
    /// Ingress, or a mirror session, chose a port that the switch does not have.
    NoPort,
    /// Ingress chose a queue that the port does not have.
    NoQueue,
    /// Ingress chose a multicast group that does not exist or has no ports.
    NoGroup,
    /// It was resubmitted, recirculated or cloned again and again, [`MAX_ROUNDS`] times.
    Endless,
    /// An `assert` or `assume` did not hold, which ends BMv2; [`Switch::failed_assertion`] has the place.
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

    /// In words.
    pub fn text(self) -> &'static str {
        match self {
            Loss::Ingress => "dropped by ingress",
            Loss::Egress => "dropped by egress",
            Loss::QueueFull => "queue full",
            Loss::NoPort => "sent to a port that does not exist",
            Loss::NoQueue => "sent to a queue that does not exist",
            Loss::NoGroup => "sent to a multicast group without ports",
            Loss::Endless => "resubmitted, recirculated or cloned without end",
            Loss::Assertion => "met by a failed assertion",
        }
    }
}

/// Times that a packet may start again, or be copied from a copy. BMv2 would go on for ever.
pub const MAX_ROUNDS: u16 = 1 << 12;

/// What became of a frame that did not leave.
#[derive(PartialEq, Eq, Debug)]
pub enum Fate<F> {
    /// It waits in that queue of that port.
    Queued {
        /// The port.
        port: usize,
        /// The queue.
        queue: usize,
    },
    /// It was lost; at that port, if it had come so far.
    Lost(Loss, Option<usize>, F),
}

/// Signals of a queue as egress sees them.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct QueueSignals {
    /// When the frame came to its queue.
    pub enq_timestamp: Time,
    /// Packets that were waiting then.
    pub enq_qdepth: u64,
    /// Packets that it left behind.
    pub deq_qdepth: u64,
}

/// A frame that left its queue.
#[derive(Debug)]
pub struct Transmitted<F> {
    /// The frame; or what became of it instead: lost, or after recirculation in a queue again.
    pub outcome: Result<F, Fate<F>>,
    /// Its stay in the queue.
    pub signals: QueueSignals,
    /// The queue.
    pub queue: usize,
    /// Whether the queue's turn among those of its port ended with it.
    pub ends_turn: bool,
}

/// What a program told the control plane, in order.
#[derive(Default)]
struct Messages {
    digests: Vec<Digest>,
    log: Vec<String>,
}

/// A frame between ingress and egress.
#[derive(Debug)]
struct Waiting<F> {
    frame: F,
    phv: Phv,
    way: Way,
}

/// What is known of a frame's way so far.
#[derive(Clone, Copy, Debug)]
struct Way {
    /// Port by which the frame, or the one that it is a copy of, came in.
    ingress_port: u16,
    /// Times that it started again or was copied.
    rounds: u16,
    /// Bytes that are sent at most.
    max_bytes: u32,
}

impl Way {
    #[inline]
    fn from(port: usize) -> Way {
        Way { ingress_port: port as u16, rounds: 0, max_bytes: u32::MAX }
    }
}

/// A switch that runs a program.
pub struct Switch<F> {
    engine: Arc<dyn Engine>,
    state: State,
    intrinsics: Intrinsics,
    queues: TrafficManager<Waiting<F>>,
    /// Packet states that are not in use.
    spare: Vec<Phv>,
    /// `None` if all packets go straight through.
    detours: Option<Box<Detours>>,
    replication: Replication,
    /// What became of copies that nobody has asked for yet.
    copies: Vec<Fate<F>>,
    failure: Option<FailedAssertion>,
    /// `None` if nobody listens.
    messages: Option<Messages>,
}

impl<F> std::fmt::Debug for Switch<F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Switch").field("ports", &self.queues.ports()).finish_non_exhaustive()
    }
}

impl<F: Frame> Switch<F> {
    /// A switch with these ports; a [`marklab_tm::Limit`] stands for a port with one queue. `engine` must be of the
    /// program that `state` belongs to.
    pub fn new(
        engine: Arc<dyn Engine>,
        state: State,
        ports: impl IntoIterator<Item = impl Into<PortConfig>>,
    ) -> Switch<F> {
        Switch::with_pool(engine, state, ports, None)
    }

    /// The same, with memory that all queues share.
    pub fn with_pool(
        engine: Arc<dyn Engine>,
        state: State,
        ports: impl IntoIterator<Item = impl Into<PortConfig>>,
        pool: Option<Pool>,
    ) -> Switch<F> {
        let (program, layout) = (state.program(), state.layout());
        let detours = Detours::new(program, layout);
        Switch {
            intrinsics: Intrinsics::new(program, layout, detours.is_some()),
            engine,
            state,
            queues: TrafficManager::with_pool(ports, pool),
            spare: Vec::new(),
            detours: detours.map(Box::new),
            replication: Replication::default(),
            copies: Vec::new(),
            failure: None,
            messages: None,
        }
    }

    /// Tables, registers and counters.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// Tables, registers and counters, for the control plane.
    pub fn state_mut(&mut self) -> &mut State {
        &mut self.state
    }

    /// Gives up the switch for its tables, registers and counters.
    pub fn into_state(self) -> State {
        self.state
    }

    /// Mirror sessions and multicast groups, for the control plane.
    pub fn replication_mut(&mut self) -> &mut Replication {
        &mut self.replication
    }

    /// Both, for the control plane.
    pub fn control(&mut self) -> (&mut State, &mut Replication) {
        (&mut self.state, &mut self.replication)
    }

    /// Keeps digests and log messages from now on.
    pub fn listen(&mut self) {
        self.messages.get_or_insert_default();
    }

    /// Digests kept since the last call.
    pub fn take_digests(&mut self) -> Vec<Digest> {
        self.messages.as_mut().map(|messages| std::mem::take(&mut messages.digests)).unwrap_or_default()
    }

    /// Texts of `log_msg` kept since the last call.
    pub fn take_log(&mut self) -> Vec<String> {
        self.messages.as_mut().map(|messages| std::mem::take(&mut messages.log)).unwrap_or_default()
    }

    /// The first `assert` or `assume` that did not hold, which a run should end with.
    pub fn failed_assertion(&self) -> Option<FailedAssertion> {
        self.failure
    }

    /// Number of ports.
    pub fn ports(&self) -> usize {
        self.queues.ports()
    }

    /// Amount waiting for a port of the switch.
    pub fn depth(&self, port: usize) -> Depth {
        self.queues.depth(port)
    }

    /// Number of queues of a port of the switch.
    pub fn queues(&self, port: usize) -> usize {
        self.queues.queues(port)
    }

    /// Amount waiting in a queue of a port of the switch.
    pub fn queue_depth(&self, port: usize, queue: usize) -> Depth {
        self.queues.queue_depth(port, queue)
    }

    /// What happened at a port of the switch.
    pub fn port_stats(&self, port: usize) -> QueueStats {
        self.queues.stats(port)
    }

    /// What happened in a queue of a port of the switch.
    pub fn queue_stats(&self, port: usize, queue: usize) -> QueueStats {
        self.queues.queue_stats(port, queue)
    }

    /// Takes a frame in on a port: parser and ingress, then the queue.
    ///
    /// The frame that came is the one that a multicast group sends last; all other copies are in
    /// [`Switch::take_copies`].
    pub fn receive(&mut self, now: Time, port: usize, mut frame: F) -> Fate<F> {
        let mut phv = self.blank();
        let bytes = frame.packet().len() as u64;
        let at = &self.intrinsics;
        phv.set_arrival_bytes(bytes);
        at.ingress_port.set(&mut phv, port as u64);
        at.packet_length.set(&mut phv, bytes);
        at.ingress_global_timestamp.set(&mut phv, now.micros());
        self.state.now = now;
        self.engine.run(Stage::Ingress, &mut self.state, frame.packet(), &mut phv);
        if self.detours.is_some() {
            self.after_ingress(now, frame, phv, Way::from(port))
        } else {
            self.forward(now, frame, phv, Way::from(port))
        }
    }

    /// Takes the next frame of a port: egress, then the deparser. `None` if nothing is waiting. After a frame that does
    /// not leave, the port may be asked again at once.
    ///
    /// Clones are in [`Switch::take_copies`].
    pub fn transmit(&mut self, now: Time, port: usize) -> Option<Transmitted<F>> {
        self.transmit_under(now, port, None)
    }

    /// [`Switch::transmit`], under other queue signals if some are given.
    #[inline(always)]
    fn transmit_under(&mut self, now: Time, port: usize, signals: Option<QueueSignals>) -> Option<Transmitted<F>> {
        let out = self.queues.dequeue(port)?;
        let signals = signals.unwrap_or(QueueSignals {
            enq_timestamp: out.enq_timestamp,
            enq_qdepth: out.enq_qdepth,
            deq_qdepth: out.deq_qdepth,
        });
        let outcome = self.egress(now, port, signals, out.item);
        Some(Transmitted { outcome, signals, queue: out.queue, ends_turn: out.ends_turn })
    }

    /// Whether there is news in [`Switch::take_copies`].
    #[inline]
    pub fn has_copies(&self) -> bool {
        self.detours.is_some() && !self.copies.is_empty()
    }

    /// What became of the copies that the switch made since the last call, in order.
    pub fn take_copies(&mut self) -> Vec<Fate<F>> {
        std::mem::take(&mut self.copies)
    }

    /// A packet state without any value.
    #[inline]
    fn blank(&mut self) -> Phv {
        let mut phv = self.spare.pop().unwrap_or_else(|| self.state.layout().phv());
        phv.clear();
        phv
    }

    /// To the port that ingress chose.
    // Part of the straight way, which must not pay for the detours that come here as well.
    #[inline(always)]
    fn forward(&mut self, now: Time, frame: F, phv: Phv, way: Way) -> Fate<F> {
        let wanted = self.intrinsics.egress_spec.get(&phv);
        if wanted == DROP_PORT {
            self.spare.push(phv);
            return Fate::Lost(Loss::Ingress, None, frame);
        }
        self.enqueue(now, wanted as usize, frame, phv, way)
    }

    #[inline(always)]
    fn enqueue(&mut self, now: Time, port: usize, mut frame: F, phv: Phv, way: Way) -> Fate<F> {
        let queue = self.intrinsics.queue.get(&phv) as usize;
        let bytes = frame.packet().len() as u64;
        match self.queues.admit(port, queue, bytes) {
            Ok(room) => {
                room.put(now, Waiting { frame, phv, way });
                Fate::Queued { port, queue }
            }
            Err(refusal) => {
                self.spare.push(phv);
                let (loss, at) = match refusal {
                    Refusal::Full => (Loss::QueueFull, Some(port)),
                    Refusal::NoPort => (Loss::NoPort, None),
                    Refusal::NoQueue => (Loss::NoQueue, Some(port)),
                };
                Fate::Lost(loss, at, frame)
            }
        }
    }

    #[inline(always)]
    fn egress(&mut self, now: Time, port: usize, signals: QueueSignals, waiting: Waiting<F>) -> Result<F, Fate<F>> {
        let Waiting { mut frame, mut phv, way } = waiting;
        let at = &self.intrinsics;
        at.egress_port.set(&mut phv, port as u64);
        at.egress_spec.set(&mut phv, 0);
        at.enq_timestamp.set(&mut phv, signals.enq_timestamp.micros());
        at.enq_qdepth.set_at_most(&mut phv, signals.enq_qdepth);
        at.deq_qdepth.set_at_most(&mut phv, signals.deq_qdepth);
        at.deq_timedelta.set(&mut phv, now.micros() - signals.enq_timestamp.micros());
        at.egress_global_timestamp.set(&mut phv, now.micros());
        at.set_egress_length(&mut phv);
        self.state.now = now;
        if self.detours.is_some() {
            return self.egress_and_after(now, port, frame, phv, way);
        }
        let kept = self.engine.run_out(&mut self.state, frame.packet(), &mut phv, at.egress_spec.field());
        self.spare.push(phv);
        if kept { Ok(frame) } else { Err(Fate::Lost(Loss::Egress, Some(port), frame)) }
    }
}
