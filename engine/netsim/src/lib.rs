// SPDX-License-Identifier: MIT OR Apache-2.0
//! Virtual-time network: links, hosts, transports and P4 switches.
//!
//! [`Network::new`] builds a network from a [`Config`], flows, and switches with programs and table entries;
//! [`Network::run`] returns the [`Outcome`]; a [`Session`] runs it in steps. The crate reads no clock and no global random stream, and never depends on
//! the order of a hash map: equal input gives equal output.
//!
//! - `events`: time; `network`: nodes, lines between them, and the run on one or several threads;
//! - [`tcp`], [`rdma`]: end points as state machines; [`wire`]: their headers as bytes;
//! - [`ledger`], `ecn`, `flow_trace`, `sender_trace`, `packet_trace`, `queue_samples`: observations, in addition to those of
//!   [`marklab_observe`].

mod config;
mod control;
mod ecn;
mod events;
mod flow_trace;
mod frame;
mod ledger;
mod network;
mod packet_trace;
mod queue_samples;
mod queueing;
pub mod rdma;
mod sender_trace;
pub mod tcp;
mod traffic;
pub mod wire;

pub use config::{
    Capture, Config, ConfigError, Connections, Dcqcn, Discipline, Link, Nic, Node, PauseScope, Pfc, Pias, Probe,
    RttIndependence, Trace, Transport,
};
pub use control::Control;
pub use ecn::EcnInterference;
pub use flow_trace::{FlowRow, FlowTrace};
pub use frame::NetFrame;
pub use ledger::{Ledger, Reason};
pub use marklab_observe::{Cell, Passage, PortTrace, QueueTrace, TraceRow};
pub use marklab_units::Framing;
pub use network::{
    Birth, BuildError, EchoRecord, End, FlowRecord, Hop, Journey, LineReport, LineStats, LineView, NetSwitch, Network,
    Outcome, Parallelism, PauseStats, Picture, PortReport, PriorityStats, Progress, Queued, RunError, SenderView,
    Session, Sighting, Span, SwitchReport, Wanted, Work,
};
pub use packet_trace::{Notable, PacketRow, PacketTrace, Stay, TracePackets};
pub use queue_samples::{QueueSamples, SampleQueues, SampledPort};
pub use queueing::{PoolSpec, QueueLimit, QueueSpec, Queueing, Round};
pub use sender_trace::{SenderRow, SenderTrace};
pub use traffic::{Flow, Join, Predecessor, Traffic, Wait};
