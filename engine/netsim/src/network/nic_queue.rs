// SPDX-License-Identifier: MIT OR Apache-2.0
//! Packets that wait in a host's NIC, by their owners.

use std::collections::VecDeque;

use marklab_tm::{Chain, Chains};

use crate::frame::NetFrame;

/// Whose packets these are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Owner {
    Client(u32),
    Server(u32),
    Probe(u32),
}

/// Packets of one owner that wait in the NIC.
#[derive(Debug, Default)]
pub(super) struct NicQueue {
    pub(super) waiting: Chain,
    /// Bytes in the NIC.
    pub(super) bytes: u64,
    /// Whether TCP has more to send and waits until one of these packets has left: Linux's `TSQ_THROTTLED`.
    pub(super) throttled: bool,
}

/// A NIC.
#[derive(Debug, Default)]
pub(super) struct Nic {
    /// Number of packets that wait, and the packets.
    pub(super) waiting: u64,
    pub(super) queued: Chains<Box<NetFrame>>,
    /// First come, first served.
    pub(super) fifo: Chain,
    /// Owners with waiting packets, in the order of their turns.
    pub(super) turns: VecDeque<Owner>,
}
