// SPDX-License-Identifier: MIT OR Apache-2.0
//! The network: nodes, and the lines between them.
//!
//! Each node has a state of its own, and only its own events change it. So nodes can be served by several threads, and the
//! result does not depend on how many there are (docs/parallel.md).
//!
//! A module uses only modules before it in this list, or in the same item of it.
//!
//! - `lookahead`, `flows`: what is known before a run; `event`: events; `outbox`, `env`: what nodes use besides their own
//!   state; `pias`: priorities of packets;
//! - `line`: transmitters; `pause`: the state of pauses;
//! - `nic_queue`, `handshake`, `connection`, `gro`, `client`, `server`, `queue_pairs`: what a host has; `hosts`: hosts;
//! - `sending`, `receiving`, `opening`, `nic`, `probes`, `rdma_hosts`: what hosts do;
//! - `switches`: switches; `lossless`: lossless lines, of switches and hosts;
//! - `shard`: nodes with their events; `build`: a network from its description;
//! - `view`: how a network stands; `outcome`: what was observed;
//! - `journey`, `session`: runs in steps, for those who look at them or change them;
//! - `partition`, `parallelism`, `threads`: the run, and how many threads it could keep busy.

mod build;
mod client;
mod connection;
mod env;
mod event;
mod flows;
mod gro;
mod handshake;
mod hosts;
mod journey;
mod line;
mod lookahead;
mod lossless;
mod nic;
mod nic_queue;
mod opening;
mod outbox;
mod outcome;
mod parallelism;
mod partition;
mod pause;
mod pias;
mod probes;
mod queue_pairs;
mod rdma_hosts;
mod receiving;
mod reused;
mod sending;
mod server;
mod session;
mod shard;
mod switches;
mod threads;
mod view;

use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, Mutex};

use hdrhistogram::Histogram;
use marklab_observe::{CaptureError, PortTrace};
use marklab_pipeline::{FailedAssertion, State};
use marklab_switch::Switch;
use marklab_tm::QueueStats;
use marklab_units::{Duration, Time};
use thiserror::Error;

use crate::config::ConfigError;
use crate::ecn::EcnInterference;
use crate::flow_trace::FlowTrace;
use crate::frame::NetFrame;
use crate::ledger::Ledger;
use crate::packet_trace::PacketTrace;
use crate::queue_samples::QueueSamples;
use crate::sender_trace::SenderTrace;
use crate::tcp::SenderStats;
pub use env::PriorityStats;
use env::Shared;
use event::Event;
pub use hosts::EchoRecord;
pub use journey::{Birth, End, Hop, Journey, Queued, Sighting, Wanted};
pub use line::LineStats;
pub use parallelism::{Parallelism, Span, Work};
pub use pause::PauseStats;
pub use session::{SenderView, Session};
use shard::Node;
pub use view::{LineView, Picture};

/// Progress of a run, and a request to cancel it. May be shared with another thread.
#[derive(Debug, Default)]
pub struct Progress {
    /// Flows finished.
    pub finished: AtomicU64,
    /// Virtual time in ns.
    pub now_ns: AtomicU64,
    /// Threads on which it runs: as many as were asked for, or as the network has parts.
    pub threads: AtomicU64,
    /// Set to end the run.
    pub cancel: AtomicBool,
    /// Set to have a picture taken soon: only of a run on one thread.
    pub wants_picture: AtomicBool,
    /// The last picture that was taken.
    pub picture: Mutex<Option<Picture>>,
    /// CPU time of the calling thread in ns, for runs on several threads: the engine has no clock of its own.
    pub clock: Option<fn() -> u64>,
    /// By that clock, the CPU time of all threads except the one that called [`Network::run_on`].
    pub other_threads_ns: AtomicU64,
}

/// Why a run ended without an outcome.
#[derive(Debug, Error)]
pub enum RunError {
    /// [`Progress::cancel`] was set.
    #[error("the run was cancelled")]
    Cancelled,
    /// A capture could not be written.
    #[error("cannot write {0}")]
    Capture(#[from] CaptureError),
    /// An `assert` or `assume` of a switch's program did not hold.
    #[error("an assertion of the program failed at node {node}")]
    Assertion {
        /// The switch.
        node: usize,
        /// The assertion.
        failed: FailedAssertion,
    },
}

/// Result of a flow.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct FlowRecord {
    /// Time from the start of the flow to its last byte at the receiver; `None` if it did not finish.
    pub fct: Option<Duration>,
    /// Counts of its sender.
    pub sender: SenderStats,
    /// Data packets that arrived with congestion experienced.
    pub marked: u64,
    /// Bytes of payload that the receiver could deliver to its application, in order.
    pub delivered_bytes: u64,
    /// Shortest one-way delay that the flow's connection had measured by the end of the flow, if it measures delays.
    pub base_delay: Option<Duration>,
}

/// A line after the run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LineReport {
    /// Node and port of the transmitter.
    pub from: (usize, usize),
    /// Node and port at the other end.
    pub to: (usize, usize),
    /// Counts of the transmitter.
    pub stats: LineStats,
    /// Time spent transmitting until [`Outcome::arrivals_end`].
    pub busy_during_arrivals: Duration,
    /// Its pauses, where lines that lead to switches are lossless.
    pub pauses: Option<PauseStats>,
}

/// A switch port after the run.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct PortReport {
    /// Packets that arrived ECN capable and left with congestion experienced.
    pub marked: u64,
    /// Its queue.
    pub queue: QueueStats,
}

/// A switch after the run.
pub struct SwitchReport {
    /// Its node.
    pub node: usize,
    /// Its ports.
    pub ports: Vec<PortReport>,
    /// Its tables, registers and counters.
    pub state: State,
}

/// Everything observed in a run.
pub struct Outcome {
    /// One per flow, in order.
    pub flows: Vec<FlowRecord>,
    /// When each flow started, if it started before the end of the run.
    pub starts: Vec<Option<Time>>,
    /// Losses by place.
    pub ledger: Ledger,
    /// What happened to ECN between hosts, apart from marks.
    pub ecn: EcnInterference,
    /// One per line.
    pub lines: Vec<LineReport>,
    /// One per switch.
    pub switches: Vec<SwitchReport>,
    /// One per requested trace.
    pub traces: Vec<PortTrace>,
    /// Bytes that flows delivered over time, if requested.
    pub flow_trace: Option<FlowTrace>,
    /// Windows and states of senders over time, if requested.
    pub sender_trace: Option<SenderTrace>,
    /// Packets at switches, if they were recorded.
    pub packet_trace: Option<PacketTrace>,
    /// Requests of each probe, in order of time.
    pub probes: Vec<Vec<EchoRecord>>,
    /// Round-trip times from data to acknowledgement in ns, as the transport measures them, to one part in a hundred.
    pub rtts: Histogram<u64>,
    /// Samples of the queue lengths of switch ports, if requested.
    pub queue_samples: Option<QueueSamples>,
    /// Packets per priority, the highest first, if hosts tag packets.
    pub priorities: Option<Vec<PriorityStats>>,
    /// Frames that finished leaving a NIC or a switch port.
    pub link_transmissions: u64,
    /// Events handled.
    pub events: u64,
    /// Start of the last flow that waits for no other flow.
    pub arrivals_end: Time,
    /// When the run ended.
    pub end: Time,
}

/// A switch for the frames of this network.
pub type NetSwitch = Switch<Box<NetFrame>>;

/// A network ready to run.
pub struct Network {
    shared: Arc<Shared>,
    nodes: Vec<Node>,
    /// The first events, in an order that does not depend on threads.
    events: Vec<(Time, Event)>,
    /// Node and port of both ends of each line.
    lines: Vec<[(usize, usize); 2]>,
    /// Node and port of each trace, in the order of the description.
    traces: Vec<(usize, usize)>,
    stop: Time,
    trace_flows_ns: Option<u64>,
    sampled: bool,
}

/// Why a network cannot be built.
#[derive(Debug, Error)]
pub enum BuildError {
    /// The description is not valid.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A capture file cannot be created.
    #[error("cannot create {0}")]
    Capture(#[from] CaptureError),
}
