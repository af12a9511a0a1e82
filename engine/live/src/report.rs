// SPDX-License-Identifier: MIT OR Apache-2.0
//! What happened at a switch.

use std::collections::BTreeMap;

use marklab_switch::Loss;
use marklab_tm::QueueStats;

use crate::lateness::Lateness;
use crate::line::LineStats;

/// What happened at a port.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct PortReport {
    /// Frames that came in.
    pub received: u64,
    /// Their bytes.
    pub received_bytes: u64,
    /// Frames that went out.
    pub sent: u64,
    /// Their bytes.
    pub sent_bytes: u64,
    /// Packets that came ECN capable and left with congestion experienced.
    pub marked: u64,
    /// Frames that the interface had no room for, after the switch had sent them: a loss that no switch has.
    pub unsent: u64,
    /// Frames that were lost before the switch could take them: it did not keep up.
    pub missed: u64,
    /// Frames that its hosts had left to their interfaces to finish: offloads are on, and the switch sees what no line carries.
    pub offloaded: u64,
    /// What its line did.
    pub line: LineStats,
    /// What happened in its queues.
    pub queue: QueueStats,
}

/// Why the switch lost a frame.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Reason {
    /// Any switch would have.
    Switch(Loss),
    /// It was sent to a port that has no interface.
    NoInterface,
}

impl Reason {
    /// Kind of place: `queue`, or `switch` (a decision of its program).
    pub fn place(self) -> &'static str {
        match self {
            Reason::Switch(loss) => loss.place(),
            Reason::NoInterface => "switch",
        }
    }

    /// In words.
    pub fn text(self) -> &'static str {
        match self {
            Reason::Switch(loss) => loss.text(),
            Reason::NoInterface => "sent to a port without an interface",
        }
    }
}

/// What happened so far.
#[derive(Clone, Debug)]
pub struct Report {
    /// At each port that has an interface.
    pub ports: BTreeMap<usize, PortReport>,
    /// Frames that the switch lost, by port, where they had come to one, and reason.
    pub losses: BTreeMap<(Option<usize>, Reason), u64>,
    /// How late frames left their queues and lines.
    pub lateness: Lateness,
}
