//! Traffic manager: the queues between ingress and egress.
//!
//! It stores items for ports, in order, within limits, and tells what the packet metadata of a switch needs: when an
//! item came, how many were waiting then, how many it leaves behind. It is given the time and owns no clock, it is not
//! told what an item is, and it neither shapes nor sends: whoever drives the port decides when to take the next item.

mod chain;

use marklab_units::Time;

pub use chain::{Chain, Chains};

/// Largest amount that a queue holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Limit {
    /// Items.
    Packets(u64),
    /// Sum of their lengths.
    Bytes(u64),
}

/// Amount in a queue.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Depth {
    /// Items.
    pub packets: u64,
    /// Sum of their lengths.
    pub bytes: u64,
}

/// What happened in a queue so far.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct QueueStats {
    /// Items taken in.
    pub enqueued: u64,
    /// Items refused because the queue was full.
    pub dropped: u64,
    /// Largest depth there was.
    pub max: Depth,
}

/// Why an item was refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refusal {
    /// There is no such port.
    NoPort,
    /// The port has no such queue.
    NoQueue,
    /// The queue would exceed its limit.
    Full,
}

/// An item taken from a queue, with what is known of its stay.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Dequeued<T> {
    /// The item.
    pub item: T,
    /// Its length in bytes.
    pub bytes: u64,
    /// Queue of the port that it was in.
    pub queue: usize,
    /// When it came.
    pub enq_timestamp: Time,
    /// Items that were waiting in the queue when it came, without it.
    pub enq_qdepth: u64,
    /// Items that it leaves behind in the queue.
    pub deq_qdepth: u64,
}

#[derive(Debug)]
struct Waiting<T> {
    item: T,
    bytes: u64,
    since: Time,
    behind: u64,
}

// One cache line and a half would be two.
#[derive(Debug)]
#[repr(align(64))]
struct Queue {
    waiting: Chain,
    max_packets: u32,
    bytes: u64,
    max_bytes: u64,
    limit: Limit,
    enqueued: u64,
    dropped: u64,
}

const _: () = assert!(size_of::<Queue>() == 64);

impl Queue {
    fn new(limit: Limit) -> Queue {
        Queue { waiting: Chain::default(), max_packets: 0, bytes: 0, max_bytes: 0, limit, enqueued: 0, dropped: 0 }
    }

    fn depth(&self) -> Depth {
        Depth { packets: self.waiting.len() as u64, bytes: self.bytes }
    }

    fn stats(&self) -> QueueStats {
        let max = Depth { packets: self.max_packets.into(), bytes: self.max_bytes };
        QueueStats { enqueued: self.enqueued, dropped: self.dropped, max }
    }

    fn fits(&self, bytes: u64) -> bool {
        match self.limit {
            Limit::Packets(limit) => (self.waiting.len() as u64) < limit,
            Limit::Bytes(limit) => self.bytes + bytes <= limit,
        }
    }

    // A call would cost more than the few stores, and copy the item twice.
    #[inline(always)]
    fn push<T>(&mut self, memory: &mut Chains<Waiting<T>>, now: Time, bytes: u64, item: T) {
        let behind = self.waiting.len() as u64;
        memory.push_back(&mut self.waiting, Waiting { item, bytes, since: now, behind });
        self.bytes += bytes;
        self.enqueued += 1;
        self.max_packets = self.max_packets.max(self.waiting.len() as u32);
        self.max_bytes = self.max_bytes.max(self.bytes);
    }

    fn pop<T>(&mut self, memory: &mut Chains<Waiting<T>>, queue: usize) -> Option<Dequeued<T>> {
        let Waiting { item, bytes, since, behind } = memory.pop_front(&mut self.waiting)?;
        self.bytes -= bytes;
        let deq_qdepth = self.waiting.len() as u64;
        Some(Dequeued { item, bytes, queue, enq_timestamp: since, enq_qdepth: behind, deq_qdepth })
    }
}

/// The queues of a switch: one FIFO per port.
#[derive(Debug)]
pub struct TrafficManager<T> {
    ports: Vec<Queue>,
    memory: Chains<Waiting<T>>,
}

impl<T> TrafficManager<T> {
    /// A port with one queue for each limit given.
    pub fn new(limits: impl IntoIterator<Item = Limit>) -> TrafficManager<T> {
        TrafficManager { ports: limits.into_iter().map(Queue::new).collect(), memory: Chains::default() }
    }

    /// Number of ports.
    pub fn ports(&self) -> usize {
        self.ports.len()
    }

    /// Finds room in a queue for an item of that many bytes.
    ///
    /// # Errors
    ///
    /// There is no such queue, or no room in it, which counts as a drop.
    #[inline]
    pub fn admit(&mut self, port: usize, queue: usize, bytes: u64) -> Result<Admitted<'_, T>, Refusal> {
        let fifo = self.ports.get_mut(port).ok_or(Refusal::NoPort)?;
        if queue > 0 {
            return Err(Refusal::NoQueue);
        }
        if !fifo.fits(bytes) {
            fifo.dropped += 1;
            return Err(Refusal::Full);
        }
        Ok(Admitted { queue: fifo, memory: &mut self.memory, bytes })
    }

    /// Takes the next item of a port.
    pub fn dequeue(&mut self, port: usize) -> Option<Dequeued<T>> {
        self.ports.get_mut(port)?.pop(&mut self.memory, 0)
    }

    /// Amount waiting for a port.
    ///
    /// # Panics
    ///
    /// If there is no such port.
    pub fn depth(&self, port: usize) -> Depth {
        self.ports[port].depth()
    }

    /// What happened at a port so far.
    ///
    /// # Panics
    ///
    /// If there is no such port.
    pub fn stats(&self, port: usize) -> QueueStats {
        self.ports[port].stats()
    }
}

/// Room in a queue. Apart from the item, so that the item is only built once it has its place.
#[derive(Debug)]
#[must_use = "the item is still to come"]
pub struct Admitted<'a, T> {
    queue: &'a mut Queue,
    memory: &'a mut Chains<Waiting<T>>,
    bytes: u64,
}

impl<T> Admitted<'_, T> {
    /// Puts the item into the queue.
    #[inline]
    pub fn put(self, now: Time, item: T) {
        self.queue.push(self.memory, now, self.bytes, item);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use proptest::prelude::*;

    use super::*;

    fn at(ns: u64) -> Time {
        Time::from_nanos(ns)
    }

    fn enqueue<T>(
        tm: &mut TrafficManager<T>,
        now: u64,
        (port, queue): (usize, usize),
        bytes: u64,
        item: T,
    ) -> Result<(), Refusal> {
        tm.admit(port, queue, bytes)?.put(at(now), item);
        Ok(())
    }

    #[test]
    fn metadata_tell_the_stay() {
        let mut tm = TrafficManager::new([Limit::Packets(3)]);
        for (time, item) in [(10, 'a'), (20, 'b'), (30, 'c')] {
            enqueue(&mut tm, time, (0, 0), 100, item).unwrap();
        }
        let seen: Vec<_> = std::iter::from_fn(|| tm.dequeue(0))
            .map(|out| (out.item, out.enq_timestamp.nanos(), out.enq_qdepth, out.deq_qdepth))
            .collect();
        assert_eq!(seen, [('a', 10, 0, 2), ('b', 20, 1, 1), ('c', 30, 2, 0)]);
    }

    #[test]
    fn limits_hold_one_below_at_and_one_above() {
        for (limit, bytes, accepted) in [
            (Limit::Packets(2), 1, 2),
            (Limit::Bytes(299), 100, 2),
            (Limit::Bytes(300), 100, 3),
            (Limit::Bytes(301), 100, 3),
            (Limit::Packets(0), 1, 0),
        ] {
            let mut tm = TrafficManager::new([limit]);
            let taken = (0..5).filter(|&item| enqueue(&mut tm, 0, (0, 0), bytes, item).is_ok()).count();
            assert_eq!(taken, accepted, "{limit:?}");
            assert_eq!(tm.stats(0).dropped, 5 - accepted as u64);
        }
    }

    #[test]
    fn a_refusal_has_its_reason() {
        let mut tm = TrafficManager::new([Limit::Packets(1)]);
        assert_eq!(enqueue(&mut tm, 0, (1, 0), 1, 'x'), Err(Refusal::NoPort));
        assert_eq!(enqueue(&mut tm, 0, (0, 1), 1, 'x'), Err(Refusal::NoQueue));
        assert_eq!(enqueue(&mut tm, 0, (0, 0), 1, 'x'), Ok(()));
        assert_eq!(enqueue(&mut tm, 0, (0, 0), 1, 'y'), Err(Refusal::Full));
    }

    proptest! {
        /// Conservation, order and limits under any sequence of operations: the oracle is a plain list.
        #[test]
        fn a_port_is_a_bounded_list(
            by_bytes in any::<bool>(),
            limit in 0..2000u64,
            steps in prop::collection::vec(prop::option::weighted(0.6, 1..400u64), 0..200),
        ) {
            let limit = if by_bytes { Limit::Bytes(limit) } else { Limit::Packets(limit / 100) };
            let mut tm = TrafficManager::new([limit]);
            let mut list: VecDeque<(usize, u64)> = VecDeque::new();
            for (number, step) in steps.into_iter().enumerate() {
                match step {
                    Some(bytes) => {
                        let sum: u64 = list.iter().map(|(_, bytes)| bytes).sum();
                        let fits = match limit {
                            Limit::Packets(limit) => (list.len() as u64) < limit,
                            Limit::Bytes(limit) => sum + bytes <= limit,
                        };
                        prop_assert_eq!(enqueue(&mut tm, number as u64, (0, 0), bytes, number).is_ok(), fits);
                        if fits {
                            list.push_back((number, bytes));
                        }
                    }
                    None => {
                        let out = tm.dequeue(0).map(|out| (out.item, out.bytes));
                        prop_assert_eq!(out, list.pop_front());
                    }
                }
                let bytes = list.iter().map(|(_, bytes)| bytes).sum();
                prop_assert_eq!(tm.depth(0), Depth { packets: list.len() as u64, bytes });
            }
        }
    }
}
