// SPDX-License-Identifier: MIT OR Apache-2.0
//! Real TCP flows: replays a flow list over the kernel's sockets, one thread per process.
//!
//! * [`Server`] listens on an address; it receives flows, and sends the flows that it is asked for.
//! * [`replay`] starts each flow of a list at its time, over a connection of its own or from a pool. It returns a
//!   [`FlowRecord`] for every flow, however the flow ended.
//!
//! **Messages.** A flow is one message on a connection, and a connection carries one flow at a time. A message begins
//! with 16 bytes that name the flow. They count as part of its size, so a flow of less than 16 bytes takes 16, and
//! [`FlowRecord::bytes`] is 16. A receiver that is a server answers with a receipt of 16 bytes, which holds the instant
//! at which it had the last byte. So the client's records are complete, and a pooled connection is free again when the
//! flow is over.
//!
//! **Time** is CLOCK_MONOTONIC, which all network namespaces of a machine share. Records of flows between machines
//! would be wrong. A flow's time begins with the client's first write, or with the connect if a connection has to be
//! made. It ends when the receiver has read the last byte: as in `netsim`, plus the wake-up times of the processes.

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
