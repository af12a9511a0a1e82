// SPDX-License-Identifier: MIT OR Apache-2.0
//! Virtual-time network: links, hosts, transports and P4 switches.
//!
//! [`Network::new`] builds it from a [`Config`], flows and switches that are programmed already; [`Network::run`] gives
//! the [`Outcome`]. Nothing here reads a clock or a global random stream, and nothing depends on the order of a hash
//! map: equal input gives equal output.
//!
//! - `events`, `network::link`: time and lines;
//! - [`tcp`], [`rdma`]: end points as state machines, [`wire`]: their headers as bytes;
//! - `network::hosts`, `network::switches`: the two kinds of nodes; `network::flows`: when flows start;
//!   `network::handshake`: how connections open; `network::queue_pairs`: hosts that speak RDMA; `network::pause`: lines
//!   that lose nothing; `network::pias`: priorities by what a flow has sent; `network::probes`: round trips that are
//!   measured;
//! - [`ledger`], `flow_trace`, `queue_samples`: what is observed, beside what [`marklab_observe`] has.

mod config;
mod events;
mod flow_trace;
mod frame;
mod ledger;
mod network;
mod queue_samples;
mod queueing;
pub mod rdma;
pub mod tcp;
pub mod wire;

pub use config::{
    Capture, Config, ConfigError, Connections, Control, Dcqcn, Discipline, Flow, Link, Nic, Node, Per, Pfc, Pias,
    Predecessor, Probe, Trace, Transport,
};
pub use flow_trace::{FlowRow, FlowTrace};
pub use frame::NetFrame;
pub use ledger::{Ledger, Reason};
pub use marklab_observe::{Cell, Passage, PortTrace, QueueTrace, TraceRow};
pub use marklab_units::Framing;
pub use network::{
    BuildError, EchoRecord, FlowRecord, LineReport, LineStats, NetSwitch, Network, Outcome, PauseStats, PortReport,
    PriorityStats, Progress, RunError, SwitchReport,
};
pub use queue_samples::{QueueSamples, SampleQueues, SampledPort};
pub use queueing::{PoolSpec, QueueLimit, QueueSpec, Queueing, Round};
