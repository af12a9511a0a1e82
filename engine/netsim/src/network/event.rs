// SPDX-License-Identifier: MIT OR Apache-2.0
//! Events of nodes, and their order at the same time.

use marklab_prefetch::prefetch;
use marklab_units::Time;

use crate::events::Ranked;
use crate::frame::NetFrame;

/// A future event of a node.
#[derive(Debug)]
pub(super) enum Event {
    /// A frame arrives at a port.
    Arrival { port: u16, node: u32, frame: Box<NetFrame> },
    /// A pause frame arrives at a port.
    Pause { port: u16, node: u32, frame: Box<PauseFrame> },
    /// The transmitter of a port becomes free.
    Free { port: u16, node: u32 },
    /// A pause frame leaves a port. What it says is fixed now.
    PauseLeaves { port: u16, node: u32 },
    /// Frames that a switch made wait at a port without a link, and are discarded.
    Discard { port: u16, node: u32 },
    /// The queues of a switch are sampled.
    Sample { node: u32 },
    /// The arrivals end: what the lines of a node have carried by now is noted.
    ArrivalsEnd { node: u32 },
    /// The next flow of a host starts.
    Start { node: u32 },
    /// What a flow or join waited for, on a connection, has ended.
    Follow { node: u32, number: u32, connection: u32 },
    /// The host that starts a flow tells the other host of it: an application that has agreed on it by other means.
    Notice { open: bool, node: u32, flow: u32, connection: u32 },
    /// The receiver of a flow tells the sender that the flow's connection is free.
    Freed { node: u32, flow: u32, connection: u32 },
    /// A probe sends its next request.
    Probe { node: u32, number: u32 },
    /// A rate-limited application writes more.
    Write { node: u32, client: u32 },
    /// A sender's timer may have expired.
    ClientTimer { node: u32, client: u32 },
    /// A receiver's timer may have expired.
    ServerTimer { node: u32, server: u32 },
    /// The first frame in a receiver's delay line is due.
    Release { node: u32, server: u32 },
    /// The time may have passed that segments merged by a receiver's NIC wait.
    HandUp { node: u32, server: u32 },
    /// A queue pair's application writes more.
    PairWrite { node: u32, pair: u32 },
    /// A queue pair's sender handles an answer that arrived earlier.
    PairHear { node: u32, pair: u32 },
    /// A queue pair's timer may have expired.
    PairTimer { node: u32, pair: u32 },
    /// A queue pair of a host may send.
    Pace { node: u32 },
}

impl Ranked for Event {
    /// The order among events of a node at the same time must not depend on when they became known. What comes from other
    /// nodes is ordered by what it is, and a node's own events in the order in which it added them. Timers come before
    /// frames, and frames before the ends of transmissions: what arrives just then finds the queue as it was.
    ///
    /// Of frames that arrive by different ports, each is the first about as often as the others: a fixed order would favour
    /// the same hosts in every tie.
    #[inline(always)]
    fn rank(&self, time: Time) -> u64 {
        match *self {
            Event::Notice { flow, .. } | Event::Freed { flow, .. } => u64::from(flow),
            Event::Follow { number, .. } => u64::from(number),
            Event::Arrival { port, node, .. } | Event::Pause { port, node, .. } => {
                let node = u64::from(node);
                let shuffled = port ^ (shuffle(time, node) & PORT_BITS);
                1 << 63 | node << 16 | u64::from(shuffled)
            }
            Event::Free { .. } | Event::PauseLeaves { .. } | Event::Discard { .. } => LAST,
            Event::Sample { .. } | Event::ArrivalsEnd { .. } => LAST,
            _ => 1 << 62,
        }
    }
}

/// The rank of what comes after all else.
const LAST: u64 = u64::MAX;

/// Bits of the largest number of a port.
const PORT_BITS: u16 = (1 << 9) - 1;

/// Bits that depend on time and node as if drawn (Fibonacci hashing).
fn shuffle(time: Time, node: u64) -> u16 {
    ((time.nanos() ^ node << 40).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 48) as u16
}

impl Event {
    /// Prefetches what it will need.
    #[inline(always)]
    pub(super) fn prefetch(&self) {
        if let Event::Arrival { frame, .. } = self {
            prefetch(&**frame);
        }
    }

    /// The node whose event it is.
    pub(super) fn node(&self) -> u32 {
        match *self {
            Event::Arrival { node, .. }
            | Event::Pause { node, .. }
            | Event::Free { node, .. }
            | Event::PauseLeaves { node, .. }
            | Event::Discard { node, .. }
            | Event::Sample { node }
            | Event::ArrivalsEnd { node }
            | Event::Start { node }
            | Event::Follow { node, .. }
            | Event::Notice { node, .. }
            | Event::Freed { node, .. }
            | Event::Probe { node, .. }
            | Event::Write { node, .. }
            | Event::ClientTimer { node, .. }
            | Event::ServerTimer { node, .. }
            | Event::Release { node, .. }
            | Event::HandUp { node, .. }
            | Event::PairWrite { node, .. }
            | Event::PairHear { node, .. }
            | Event::PairTimer { node, .. }
            | Event::Pace { node } => node,
        }
    }
}

// Four to a cache line, with their times and places in lists two.
const _: () = assert!(size_of::<Event>() == 16);

/// What a pause frame says: parts of the traffic, and whether to pause each of them.
#[derive(Debug)]
pub(super) struct PauseFrame {
    pub(super) parts: Vec<(u32, bool)>,
}
