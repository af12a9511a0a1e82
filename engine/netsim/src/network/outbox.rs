// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a thread has for shards other than the one that it serves, kept until the end of a window.

use std::sync::Arc;

use marklab_units::Time;

use super::env::Event;

/// Events that leave the shards of a thread.
#[derive(Debug)]
pub(super) struct Outbox {
    /// The shard that is served.
    pub(super) own: u16,
    /// Shard of each node.
    shards: Arc<Vec<u16>>,
    /// Events for each shard.
    pub(super) letters: Vec<Vec<(Time, Event)>>,
    /// Time of the earliest of them.
    pub(super) earliest: Option<Time>,
}

impl Outbox {
    pub(super) fn new(shards: Arc<Vec<u16>>, count: usize) -> Outbox {
        Outbox { own: 0, shards, letters: (0..count).map(|_| Vec::new()).collect(), earliest: None }
    }

    /// Whether a node belongs to another shard.
    #[inline(always)]
    pub(super) fn is_elsewhere(&self, node: u32) -> bool {
        self.shards[node as usize] != self.own
    }

    #[inline(never)]
    pub(super) fn put(&mut self, time: Time, node: u32, event: Event) {
        self.earliest = Some(self.earliest.map_or(time, |earliest| earliest.min(time)));
        self.letters[usize::from(self.shards[node as usize])].push((time, event));
    }
}
