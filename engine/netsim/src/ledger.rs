// SPDX-License-Identifier: MIT OR Apache-2.0
//! Losses of packets, by place and reason.

use std::collections::BTreeMap;

use marklab_switch::Loss;

use crate::wire::Malformed;

/// Reason for a loss, which also implies the kind of place.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Reason {
    /// A host's NIC was full.
    NicFull,
    /// A host could not read the packet.
    Malformed(Malformed),
    /// A host has no such connection.
    NoConnection,
    /// A switch lost it.
    Switch(Loss),
    /// A switch sent it to a port without a link.
    NoLink,
}

impl Reason {
    /// Kind of place: `host`, `switch` (a decision of its program) or `queue`.
    pub fn place(self) -> &'static str {
        match self {
            Reason::NicFull | Reason::Malformed(_) | Reason::NoConnection => "host",
            Reason::Switch(loss) => loss.place(),
            Reason::NoLink => "switch",
        }
    }

    /// The reason in words.
    pub fn text(self) -> &'static str {
        match self {
            Reason::NicFull => "NIC full",
            Reason::Malformed(Malformed::Headers) => "unreadable headers",
            Reason::Malformed(Malformed::Ipv4Checksum) => "wrong IPv4 checksum",
            Reason::Malformed(Malformed::TcpChecksum) => "wrong TCP checksum",
            Reason::NoConnection => "no such connection",
            Reason::Switch(loss) => loss.text(),
            Reason::NoLink => "sent to a port without a link",
        }
    }
}

/// Losses by place.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Ledger {
    losses: BTreeMap<(usize, Option<usize>, Reason), u64>,
}

impl Ledger {
    /// Counts a loss at a node, and at one of its ports if the port is known.
    pub(crate) fn add(&mut self, node: usize, port: Option<usize>, reason: Reason) {
        *self.losses.entry((node, port, reason)).or_default() += 1;
    }

    /// Adds the losses of another ledger.
    pub(crate) fn merge(&mut self, other: &Ledger) {
        for (&place, &packets) in &other.losses {
            *self.losses.entry(place).or_default() += packets;
        }
    }

    /// Losses: node, port, reason, packets.
    pub fn iter(&self) -> impl Iterator<Item = (usize, Option<usize>, Reason, u64)> {
        self.losses.iter().map(|(&(node, port, reason), &packets)| (node, port, reason, packets))
    }

    /// Number of all losses.
    pub fn total(&self) -> u64 {
        self.losses.values().sum()
    }
}
