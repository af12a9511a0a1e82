// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a thread has for later windows, kept until the end of a window: events for all shards, also for the one it serves.

use std::sync::Arc;

use marklab_units::Time;

use super::event::Event;

/// Events for later windows, from the shards that a thread serves.
#[derive(Debug)]
pub(super) struct Outbox {
    /// The end of the window.
    pub(super) until: Time,
    /// Shard of each node.
    shards: Arc<Vec<u16>>,
    /// Events for each shard.
    pub(super) letters: Vec<Vec<(Time, Event)>>,
    /// Time of the earliest of them.
    pub(super) earliest: Option<Time>,
}

impl Outbox {
    pub(super) fn new(shards: Arc<Vec<u16>>, count: usize) -> Outbox {
        Outbox { until: Time::ZERO, shards, letters: (0..count).map(|_| Vec::new()).collect(), earliest: None }
    }

    #[inline(never)]
    pub(super) fn put(&mut self, time: Time, node: u32, event: Event) {
        self.earliest = Some(self.earliest.map_or(time, |earliest| earliest.min(time)));
        self.letters[usize::from(self.shards[node as usize])].push((time, event));
    }
}
