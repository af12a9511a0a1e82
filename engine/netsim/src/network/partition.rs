// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which nodes a thread serves: parts of an order in which neighbours are near each other, of about the same weight.

use std::collections::VecDeque;
use std::ops::Range;

use super::env::Shared;
use super::shard::Node;

/// An order of the groups of nodes that are never separated.
pub(super) struct Partition {
    /// Nodes of each group, in that order.
    groups: Vec<Vec<u32>>,
    lines: usize,
}

/// Shards of each of several threads.
const THREAD_SHARDS: usize = 16;
/// Lines of a shard, up to so many shards; what is divided finds its frames prefetched. By measurement.
const FEW_LINES: usize = 12;
const FEW_SHARDS: usize = 32;
/// Lines of a shard in a large network, and the most shards there are without a thread for each. By measurement: each shard
/// may have letters for each other one.
const SHARD_LINES: usize = 100;
const MOST_SHARDS: usize = 256;

impl Partition {
    /// Orders the groups of a network by a search from the first node, breadth first, in which the hosts of a switch follow
    /// it.
    pub(super) fn new(shared: &Shared, lines: &[[(usize, usize); 2]], nodes: usize) -> Partition {
        let group_of = shared.plan.lookahead().groups();
        let mut members = vec![Vec::new(); nodes];
        for (node, &group) in group_of.iter().enumerate() {
            members[group as usize].push(node as u32);
        }
        let mut neighbours = vec![Vec::new(); nodes];
        for [from, to] in lines {
            let [from, to] = [from.0, to.0].map(|node| group_of[node]);
            if from != to {
                neighbours[from as usize].push(to);
            }
        }
        let mut seen = vec![false; nodes];
        let mut order = Vec::new();
        for first in group_of.iter().copied() {
            let mut waiting = VecDeque::from([first]);
            while let Some(group) = waiting.pop_front() {
                if std::mem::replace(&mut seen[group as usize], true) {
                    continue;
                }
                order.push(group);
                // Groups with one neighbour, mostly hosts, stay beside it.
                let (leaves, others): (Vec<u32>, Vec<u32>) =
                    neighbours[group as usize].iter().partition(|&&other| neighbours[other as usize].len() == 1);
                for leaf in leaves {
                    if !std::mem::replace(&mut seen[leaf as usize], true) {
                        order.push(leaf);
                    }
                }
                waiting.extend(others);
            }
        }
        Partition {
            groups: order.into_iter().map(|group| std::mem::take(&mut members[group as usize])).collect(),
            lines: lines.len(),
        }
    }

    /// Number of groups: no more shards can have nodes.
    pub(super) fn parts(&self) -> usize {
        self.groups.len().max(1)
    }

    /// Number of shards for so many threads. Each of several has some, so that one that is done can help another. In large
    /// networks there are more: what a thread serves at a time fits into the cache then.
    pub(super) fn shards(&self, threads: usize) -> usize {
        let shared = if threads == 1 { 1 } else { threads * THREAD_SHARDS };
        let few = (self.lines / FEW_LINES).min(FEW_SHARDS);
        (self.lines / SHARD_LINES).max(few).max(shared).min(MOST_SHARDS).max(threads).min(self.parts())
    }

    /// Weight of each node: frames that it has sent so far, or its lines if there are none.
    pub(super) fn weights(&self, nodes: &[Node]) -> Vec<u64> {
        let weight = |node: &Node| match node {
            // TCP handles what arrives, and what leaves.
            Node::Host(host) => 1 + 2 * host.line.stats().frames,
            Node::Switch(switch) => {
                let lines = switch.ports.iter().filter_map(|port| port.line.as_ref());
                lines.map(|line| 1 + line.stats().frames).sum()
            }
            Node::Elsewhere => 0,
        };
        nodes.iter().map(weight).collect()
    }

    /// Cuts the order into so many shards of about the same weight. Returns the shard of each node.
    pub(super) fn cut(&self, weights: &[u64], shards: usize) -> Vec<u16> {
        let of_group = |group: &Vec<u32>| group.iter().map(|&node| weights[node as usize]).sum::<u64>();
        let total: u64 = self.groups.iter().map(of_group).sum();
        let mut shard_of = vec![0; weights.len()];
        let mut before = 0;
        for group in &self.groups {
            let weight = of_group(group);
            // By the middle of the group. A shard may stay empty.
            let middle = u128::from(before + weight / 2) * shards as u128 / u128::from(total.max(1));
            let shard = (middle as usize).min(shards - 1);
            for &node in group {
                shard_of[node as usize] = shard as u16;
            }
            before += weight;
        }
        shard_of
    }
}

/// Which shards are a thread's own, of so many.
pub(super) fn own_shards(thread: usize, threads: usize, shards: usize) -> Range<usize> {
    thread * shards / threads..(thread + 1) * shards / threads
}
