// SPDX-License-Identifier: MIT OR Apache-2.0
//! How a network stands at a time.

use std::collections::HashMap;
use std::sync::PoisonError;
use std::sync::atomic::Ordering;

use marklab_tm::Depth;
use marklab_units::Time;

use super::Progress;
use super::line::LineStats;
use super::shard::{Node, Shard};

/// How a line stands, and the switch port that it leaves.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct LineView {
    /// What its transmitter has sent so far.
    pub sent: LineStats,
    /// What waits for it at a switch; nothing at a host.
    pub depth: Depth,
    /// Packets marked so far.
    pub marked: u64,
    /// Packets lost at the port so far.
    pub lost: u64,
}

/// How a network stands.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Picture {
    /// The time of this.
    pub now: Time,
    /// Flows finished.
    pub finished: usize,
    /// How the lines stand, in the order of the network's description.
    pub lines: Vec<LineView>,
}

/// Takes a picture, if one is wanted.
pub(super) fn show(progress: &Progress, shard: &Shard, lines: &[[(usize, usize); 2]]) {
    if progress.wants_picture.swap(false, Ordering::Relaxed) {
        let (now, finished) = (shard.env.now, shard.env.tally.finished);
        let picture = Picture { now, finished, lines: lines_now(shard, lines) };
        *progress.picture.lock().unwrap_or_else(PoisonError::into_inner) = Some(picture);
    }
}

/// How lines stand now: node and port of both ends of each.
pub(super) fn lines_now(shard: &Shard, lines: &[[(usize, usize); 2]]) -> Vec<LineView> {
    let mut lost: HashMap<(usize, usize), u64> = HashMap::new();
    for (node, port, _, packets) in shard.env.tally.ledger.iter() {
        if let Some(port) = port {
            *lost.entry((node, port)).or_default() += packets;
        }
    }
    let of_line = |&[(node, port), _]: &[(usize, usize); 2]| match &shard.nodes[node] {
        Node::Host(host) => LineView { sent: host.line.stats(), ..LineView::default() },
        Node::Switch(switch) => LineView {
            sent: switch.ports[port].line.as_ref().map_or_else(Default::default, |line| line.stats()),
            depth: switch.switch.depth(port),
            marked: switch.ports[port].marked(),
            lost: lost.get(&(node, port)).copied().unwrap_or(0),
        },
        Node::Elsewhere => LineView::default(),
    };
    lines.iter().map(of_line).collect()
}
