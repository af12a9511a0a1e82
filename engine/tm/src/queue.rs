// SPDX-License-Identifier: MIT OR Apache-2.0
//! One first-in first-out queue.

use marklab_units::Time;

use crate::chain::{Chain, Chains};

/// Largest amount that a queue or a port may hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Limit {
    /// Number of items.
    Packets(u64),
    /// Sum of the items' lengths in bytes.
    Bytes(u64),
}

impl Limit {
    /// Whether an item of `bytes` bytes may be added to this amount.
    #[inline]
    pub(crate) fn admits(self, depth: Depth, bytes: u64) -> bool {
        match self {
            Limit::Packets(limit) => depth.packets < limit,
            Limit::Bytes(limit) => depth.bytes + bytes <= limit,
        }
    }
}

/// Amount in a queue, or in all queues of a port.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Depth {
    /// Number of items.
    pub packets: u64,
    /// Sum of the items' lengths in bytes.
    pub bytes: u64,
}

impl Depth {
    pub(crate) fn add(&mut self, bytes: u64) {
        self.packets += 1;
        self.bytes += bytes;
    }

    pub(crate) fn remove(&mut self, bytes: u64) {
        self.packets -= 1;
        self.bytes -= bytes;
    }

    pub(crate) fn max(self, other: Depth) -> Depth {
        Depth { packets: self.packets.max(other.packets), bytes: self.bytes.max(other.bytes) }
    }
}

/// Statistics of a queue or port.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct QueueStats {
    /// Items accepted.
    pub enqueued: u64,
    /// Items refused because there was no room.
    pub dropped: u64,
    /// Largest depth so far, packets and bytes separately.
    pub max: Depth,
}

/// An item taken from a queue, with data about its stay.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Dequeued<T> {
    /// The item.
    pub item: T,
    /// Its length in bytes.
    pub bytes: u64,
    /// Number of its queue in the port.
    pub queue: usize,
    /// Time of its arrival.
    pub enq_timestamp: Time,
    /// Items that waited in the queue when it arrived, without itself.
    pub enq_qdepth: u64,
    /// Items that it leaves behind in the queue.
    pub deq_qdepth: u64,
    /// Whether the queue's turn in its port ended with this item. The turn of a port's only queue ends when the queue
    /// is empty.
    pub ends_turn: bool,
}

/// An item that waits in a [`Queue`].
// A switch's item is so large that it takes one cache line with this, if it begins at one.
#[derive(Debug)]
#[repr(align(64))]
pub(crate) struct Waiting<T> {
    item: T,
    since: Time,
    bytes: u32,
    behind: u32,
}

impl<T> Waiting<T> {
    #[inline(always)]
    pub(crate) fn item(&self) -> &T {
        &self.item
    }

    /// Its length.
    #[inline(always)]
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes.into()
    }
}

/// A length in less memory.
#[inline(always)]
fn short(bytes: u64) -> u32 {
    u32::try_from(bytes).expect("an item has less than 4 GiB")
}

// Aligned, so that a queue takes one cache line instead of parts of two.
#[derive(Debug)]
#[repr(align(64))]
pub(crate) struct Queue {
    pub(crate) waiting: Chain,
    max_packets: u32,
    bytes: u64,
    max_bytes: u64,
    limit: Limit,
    enqueued: u64,
    pub(crate) dropped: u64,
}

const _: () = assert!(size_of::<Queue>() == 64);

impl Queue {
    pub(crate) fn new(limit: Limit) -> Queue {
        Queue { waiting: Chain::default(), max_packets: 0, bytes: 0, max_bytes: 0, limit, enqueued: 0, dropped: 0 }
    }

    #[inline]
    pub(crate) fn depth(&self) -> Depth {
        Depth { packets: self.waiting.len() as u64, bytes: self.bytes }
    }

    pub(crate) fn stats(&self) -> QueueStats {
        let max = Depth { packets: self.max_packets.into(), bytes: self.max_bytes };
        QueueStats { enqueued: self.enqueued, dropped: self.dropped, max }
    }

    #[inline]
    pub(crate) fn fits(&self, bytes: u64) -> bool {
        self.limit.admits(self.depth(), bytes)
    }

    // Inlined: a call would cost more than the few stores, and copy the item twice.
    #[inline(always)]
    pub(crate) fn push<T>(&mut self, memory: &mut Chains<Waiting<T>>, now: Time, bytes: u64, item: T) {
        let behind = self.waiting.len() as u32;
        memory.push_back(&mut self.waiting, Waiting { item, bytes: short(bytes), since: now, behind });
        self.bytes += bytes;
        self.count(self.waiting.len() as u32, self.bytes);
    }

    /// Counts an item that makes the queue this long.
    #[inline(always)]
    pub(crate) fn count(&mut self, packets: u32, bytes: u64) {
        self.enqueued += 1;
        self.max_packets = self.max_packets.max(packets);
        self.max_bytes = self.max_bytes.max(bytes);
    }

    /// Takes the first item.
    #[inline(always)]
    pub(crate) fn pop<T>(
        &mut self,
        memory: &mut Chains<Waiting<T>>,
        queue: usize,
        ends_turn: bool,
    ) -> Option<Dequeued<T>> {
        let Waiting { item, bytes, since, behind } = memory.pop_front(&mut self.waiting)?;
        let bytes = u64::from(bytes);
        self.bytes -= bytes;
        let deq_qdepth = self.waiting.len() as u64;
        Some(Dequeued { item, bytes, queue, enq_timestamp: since, enq_qdepth: behind.into(), deq_qdepth, ends_turn })
    }
}
