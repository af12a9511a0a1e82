// SPDX-License-Identifier: MIT OR Apache-2.0
//! How far a node can run ahead of others: nothing gets from one group of nodes to another in less than the latency of
//! the lines between them. A group is a set of nodes that lines without delay join; they are never separated.
//!
//! All of this follows from the topology, and not from the number of threads.

use marklab_units::{Duration, Framing};

use crate::config::{Config, ConfigError};

/// Groups of nodes, and latencies between them.
#[derive(Debug)]
pub(super) struct Lookahead {
    /// Group of each node: the lowest number of its nodes.
    groups: Vec<u32>,
    /// Per node, the smallest latency of a line between its group and another one.
    exits: Vec<Duration>,
    /// The smallest latency of a line between groups; 0 if there is one group.
    pub(super) window: Duration,
}

impl Lookahead {
    /// The groups of a network.
    pub(super) fn new(config: &Config) -> Result<Lookahead, ConfigError> {
        let mut groups = Groups::new(config.nodes.len());
        for link in config.links.iter().filter(|link| link.delay_ns == 0) {
            groups.join(link.a.0, link.b.0);
        }
        let groups: Vec<u32> = (0..config.nodes.len()).map(|node| groups.find(node)).collect();
        let mut exits = vec![None::<Duration>; groups.len()];
        for (number, link) in config.links.iter().enumerate() {
            let latency = link.rate(number)?.transmission(shortest_frame(config.framing), 0).0
                + Duration::from_nanos(link.delay_ns);
            let ends = [link.a.0, link.b.0].map(|node| groups[node] as usize);
            if ends[0] != ends[1] {
                for group in ends {
                    exits[group] = Some(exits[group].map_or(latency, |other| other.min(latency)));
                }
            }
        }
        let window = exits.iter().copied().flatten().min().unwrap_or(Duration::ZERO);
        let exits = groups.iter().map(|&group| exits[group as usize].unwrap_or(Duration::ZERO)).collect();
        Ok(Lookahead { groups, exits, window })
    }

    /// Time within which nothing gets from one node to another.
    pub(super) fn between(&self, one: usize, other: usize) -> Duration {
        if self.groups[one] == self.groups[other] { Duration::ZERO } else { self.exits[one].max(self.exits[other]) }
    }

    /// Group of each node.
    pub(super) fn groups(&self) -> &[u32] {
        &self.groups
    }
}

/// Bytes that the shortest frame takes on a line. A program may emit a frame without any header.
fn shortest_frame(framing: Framing) -> u64 {
    framing.wire_bytes(0)
}

/// Disjoint sets of nodes.
struct Groups {
    parents: Vec<u32>,
}

impl Groups {
    fn new(nodes: usize) -> Groups {
        Groups { parents: (0..nodes as u32).collect() }
    }

    fn find(&mut self, node: usize) -> u32 {
        let mut at = node;
        while self.parents[at] as usize != at {
            self.parents[at] = self.parents[self.parents[at] as usize];
            at = self.parents[at] as usize;
        }
        at as u32
    }

    fn join(&mut self, one: usize, other: usize) {
        let (one, other) = (self.find(one), self.find(other));
        self.parents[one.max(other) as usize] = one.min(other);
    }
}
