//! A v1model switch: a P4 program around a traffic manager, in simple_switch's order of operations.
//!
//! A frame comes in by [`Switch::receive`]: parser and ingress run at once, and the frame waits in the queue of the
//! port that ingress chose. [`Switch::transmit`] takes the next frame of a port, runs egress and the deparser and hands
//! the frame out. Whoever drives the switch, the simulator or a real-time loop, says what time it is and when a port is
//! free.
//!
//! Units are BMv2's: timestamps in microseconds since the start, depths in packets without the packet itself.

mod intrinsics;
mod needs;

use std::sync::Arc;

use marklab_pipeline::{DROP_PORT, Engine, Packet, Phv, Stage, State};
use marklab_tm::{Depth, Limit, QueueStats, Refusal, TrafficManager};
use marklab_units::Time;

use intrinsics::Intrinsics;
pub use needs::{Unmet, unmet_needs};

/// What a switch carries: a packet, and whatever its owner keeps with it.
pub trait Frame {
    /// The packet.
    fn packet(&mut self) -> &mut Packet;
}

impl Frame for Packet {
    fn packet(&mut self) -> &mut Packet {
        self
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
    /// Ingress chose a port that the switch does not have.
    NoPort,
    /// Ingress chose a priority for which the port has no queue.
    NoQueue,
}

/// What became of a frame that came in.
#[derive(Debug)]
pub enum Received<F> {
    /// It waits for that port.
    Queued(usize),
    /// It was lost; if in a queue, at that port.
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
    /// The frame, or why egress dropped it.
    pub outcome: Result<F, (Loss, F)>,
    /// Its stay in the queue.
    pub signals: QueueSignals,
}

/// A frame between ingress and egress.
#[derive(Debug)]
struct Waiting<F> {
    frame: F,
    phv: Phv,
    egress_port: usize,
}

/// A switch that runs a program.
pub struct Switch<F> {
    engine: Arc<dyn Engine>,
    state: State,
    intrinsics: Intrinsics,
    queues: TrafficManager<Waiting<F>>,
    /// Packet states that are not in use.
    spare: Vec<Phv>,
}

impl<F> std::fmt::Debug for Switch<F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Switch").field("ports", &self.queues.ports()).finish_non_exhaustive()
    }
}

impl<F: Frame> Switch<F> {
    /// A switch with a port for each limit. `engine` must be of the program that `state` belongs to.
    pub fn new(engine: Arc<dyn Engine>, state: State, limits: impl IntoIterator<Item = Limit>) -> Switch<F> {
        let intrinsics = Intrinsics::new(state.program(), state.layout());
        Switch { engine, state, intrinsics, queues: TrafficManager::new(limits), spare: Vec::new() }
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

    /// Number of ports.
    pub fn ports(&self) -> usize {
        self.queues.ports()
    }

    /// Amount waiting for a port of the switch.
    pub fn depth(&self, port: usize) -> Depth {
        self.queues.depth(port)
    }

    /// What happened in the queue of a port of the switch.
    pub fn queue_stats(&self, port: usize) -> QueueStats {
        self.queues.stats(port)
    }

    /// Takes a frame in on a port: parser and ingress, then the queue.
    pub fn receive(&mut self, now: Time, port: usize, mut frame: F) -> Received<F> {
        let mut phv = self.spare.pop().unwrap_or_else(|| self.state.layout().phv());
        phv.clear();
        self.ingress(now, port, &mut frame, &mut phv);
        let wanted = self.intrinsics.egress_spec.get(&phv);
        if wanted == DROP_PORT {
            self.spare.push(phv);
            return Received::Lost(Loss::Ingress, None, frame);
        }
        let egress_port = wanted as usize;
        let queue = self.intrinsics.priority.get(&phv) as usize;
        let bytes = frame.packet().len() as u64;
        match self.queues.admit(egress_port, queue, bytes) {
            Ok(room) => {
                room.put(now, Waiting { frame, phv, egress_port });
                Received::Queued(egress_port)
            }
            Err(refusal) => {
                self.spare.push(phv);
                let (loss, at) = match refusal {
                    Refusal::Full => (Loss::QueueFull, Some(egress_port)),
                    Refusal::NoPort => (Loss::NoPort, None),
                    Refusal::NoQueue => (Loss::NoQueue, Some(egress_port)),
                };
                Received::Lost(loss, at, frame)
            }
        }
    }

    /// Takes the next frame of a port: egress, then the deparser. `None` if nothing is waiting. After a frame that
    /// egress drops the port may be asked again at once.
    pub fn transmit(&mut self, now: Time, port: usize) -> Option<Transmitted<F>> {
        let out = self.queues.dequeue(port)?;
        let signals =
            QueueSignals { enq_timestamp: out.enq_timestamp, enq_qdepth: out.enq_qdepth, deq_qdepth: out.deq_qdepth };
        Some(Transmitted { outcome: self.egress(now, signals, out.item), signals })
    }

    /// Runs a frame through the switch without a queue, under queue signals given: what a packet test needs.
    ///
    /// Gives the port and the frame, or where it was lost.
    pub fn process(
        &mut self,
        now: Time,
        port: usize,
        mut frame: F,
        signals: QueueSignals,
    ) -> Result<(usize, F), (Loss, F)> {
        let mut phv = self.state.layout().phv();
        self.ingress(now, port, &mut frame, &mut phv);
        let egress_port = self.intrinsics.egress_spec.get(&phv);
        if egress_port == DROP_PORT {
            return Err((Loss::Ingress, frame));
        }
        let egress_port = egress_port as usize;
        let frame = self.egress(now, signals, Waiting { frame, phv, egress_port })?;
        Ok((egress_port, frame))
    }

    fn ingress(&mut self, now: Time, port: usize, frame: &mut F, phv: &mut Phv) {
        let bytes = frame.packet().len() as u64;
        let at = &self.intrinsics;
        phv.set_arrival_bytes(bytes);
        at.ingress_port.set(phv, port as u64);
        at.packet_length.set(phv, bytes);
        at.ingress_global_timestamp.set(phv, now.micros());
        self.state.now = now;
        self.engine.run(Stage::Ingress, &mut self.state, frame.packet(), phv);
    }

    fn egress(&mut self, now: Time, signals: QueueSignals, waiting: Waiting<F>) -> Result<F, (Loss, F)> {
        let Waiting { mut frame, mut phv, egress_port } = waiting;
        let at = &self.intrinsics;
        at.egress_port.set(&mut phv, egress_port as u64);
        at.egress_spec.set(&mut phv, 0);
        at.enq_timestamp.set(&mut phv, signals.enq_timestamp.micros());
        at.enq_qdepth.set_at_most(&mut phv, signals.enq_qdepth);
        at.deq_qdepth.set_at_most(&mut phv, signals.deq_qdepth);
        at.deq_timedelta.set(&mut phv, now.micros() - signals.enq_timestamp.micros());
        at.egress_global_timestamp.set(&mut phv, now.micros());
        at.set_egress_length(&mut phv);
        self.state.now = now;
        let kept = self.engine.run_out(&mut self.state, frame.packet(), &mut phv, at.egress_spec.field());
        self.spare.push(phv);
        if kept { Ok(frame) } else { Err((Loss::Egress, frame)) }
    }
}
