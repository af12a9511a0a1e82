// SPDX-License-Identifier: MIT OR Apache-2.0
//! The report of a switch.

use std::collections::BTreeMap;

use marklab_switch::Loss;
use marklab_tm::QueueStats;

use crate::lateness::Lateness;
use crate::line::LineStats;

/// The report of a port.
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
    /// Frames that the switch had sent but the interface had no room for: a loss that a hardware switch does not have.
    pub unsent: u64,
    /// Frames that were lost before the switch could take them, since it did not keep up.
    pub missed: u64,
    /// Frames that the hosts left to their interfaces to finish: with offloads on, the switch sees frames that no line
    /// carries.
    pub offloaded: u64,
    /// Counts of its line.
    pub line: LineStats,
    /// Counts of its queues.
    pub queue: QueueStats,
}

/// Why the switch lost a frame.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Reason {
    /// A reason that any switch has.
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

    /// The reason, in words.
    pub fn text(self) -> &'static str {
        match self {
            Reason::Switch(loss) => loss.text(),
            Reason::NoInterface => "sent to a port without an interface",
        }
    }
}

/// Counts of a switch so far.
#[derive(Clone, Debug)]
pub struct Report {
    /// By port, for ports that have an interface.
    pub ports: BTreeMap<usize, PortReport>,
    /// Frames that the switch lost, by port (`None` if they had not come to one) and reason.
    pub losses: BTreeMap<(Option<usize>, Reason), u64>,
    /// How late frames left their queues and lines.
    pub lateness: Lateness,
}
