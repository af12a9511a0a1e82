// SPDX-License-Identifier: MIT OR Apache-2.0
//! Real TCP flows: replays a flow list over the kernel's sockets, one thread per process.
//!
//! * [`Server`] listens on an address; it takes what is sent to it and sends what it is asked for.
//! * [`replay`] starts each flow of a list when its time has come, over a connection of its own or one of a pool, and
//!   gives a [`FlowRecord`] for each of them: no flow is without one, however it ended.
//!
//! **Messages.** A flow is one message on a connection, and a connection carries one flow at a time. A message begins
//! with 16 bytes that name the flow. They count as part of its size; a flow of less than 16 bytes takes 16, which
//! [`FlowRecord::bytes`] says. The receiver answers with a receipt of 16 bytes, which holds the instant at which it had
//! the last byte. So the client's records are complete, and a pooled connection is free again when the flow is over.
//!
//! **Time** is CLOCK_MONOTONIC, which all network namespaces of a machine share; records of flows between machines would
//! be wrong. A flow's time runs from the sender's first write, or from the connect if a connection has to be made, until
//! the receiver has read the last byte: as in `netsim`, plus the time that the processes take to wake up.

mod client;
mod clock;
mod connection;
mod flow;
mod message;
mod poller;
mod pool;
mod server;
mod tcp_info;

pub use client::{Plan, replay};
pub use clock::now_ns;
pub use flow::{Connections, Direction, Flow, FlowRecord, Status, Watch};
pub use server::{Arrival, Departure, Served, Server};
pub use tcp_info::SenderCounts;
