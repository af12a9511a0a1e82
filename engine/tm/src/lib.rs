// SPDX-License-Identifier: MIT OR Apache-2.0
//! Traffic manager: the queues between ingress and egress.
//!
//! It stores items in the queues of ports, within limits, and hands them out in the order of the port's scheduler. With
//! each item it returns what the packet metadata of a switch needs: its time of arrival, the number of items that
//! waited then, and the number that it leaves behind. It has no clock (the caller passes the time), knows nothing about
//! its items, and neither shapes nor sends: the driver of the port decides when to take the next item.
//!
//! Most switches have one queue per port, and share no limits or memory (see [`PortConfig`] and [`Pool`]). They do not
//! pay for these features.

mod chain;
mod port;
mod queue;
mod scheduler;

use marklab_units::Time;

pub use chain::{Chain, Chains};
use port::Shared;
pub use port::{InvalidPort, MAX_QUEUES, Pool, PortConfig};
pub use queue::{Depth, Dequeued, Limit, QueueStats};
use queue::{Queue, Waiting};
pub use scheduler::{QueueConfig, Round};

/// Why an item was refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refusal {
    /// There is no such port.
    NoPort,
    /// The port has no such queue.
    NoQueue,
    /// The limit of the queue, of its port or of the shared memory would be exceeded.
    Full,
}

/// The queues of a switch.
#[derive(Debug)]
pub struct TrafficManager<T> {
    /// Queues of port 0, then those of port 1, ...
    queues: Vec<Queue>,
    memory: Chains<Waiting<T>>,
    /// `None` if each port has one queue, and ports share nothing.
    shared: Option<Box<Shared>>,
}

impl<T> TrafficManager<T> {
    /// The queues of a switch with these ports. A [`Limit`] stands for a port with one queue.
    pub fn new(ports: impl IntoIterator<Item = impl Into<PortConfig>>) -> TrafficManager<T> {
        TrafficManager::with_pool(ports, None)
    }

    /// The queues of a switch whose ports share `pool`, if given.
    pub fn with_pool(ports: impl IntoIterator<Item = impl Into<PortConfig>>, pool: Option<Pool>) -> TrafficManager<T> {
        let ports: Vec<PortConfig> = ports.into_iter().map(Into::into).collect();
        let queues = ports.iter().flat_map(|port| port.queues()).map(|queue| Queue::new(queue.limit)).collect();
        let plain = pool.is_none() && ports.iter().all(PortConfig::is_fifo);
        let shared = (!plain).then(|| Box::new(Shared::new(&ports, pool)));
        TrafficManager { queues, memory: Chains::default(), shared }
    }

    /// Number of ports.
    pub fn ports(&self) -> usize {
        self.shared.as_ref().map_or(self.queues.len(), |shared| shared.ports.len())
    }

    /// Number of queues of a port.
    ///
    /// # Panics
    ///
    /// If there is no such port.
    pub fn queues(&self, port: usize) -> usize {
        self.shared.as_ref().map_or(1, |shared| shared.ports[port].count)
    }

    /// Reserves room in a queue for an item of `bytes` bytes.
    ///
    /// # Errors
    ///
    /// [`Refusal`] if there is no such queue, or no room in it. The latter counts as a drop.
    #[inline]
    pub fn admit(&mut self, port: usize, queue: usize, bytes: u64) -> Result<Admitted<'_, T>, Refusal> {
        let own = if self.shared.is_none() {
            let fifo = self.queues.get_mut(port).ok_or(Refusal::NoPort)?;
            if queue > 0 {
                return Err(Refusal::NoQueue);
            }
            if !fifo.fits(bytes) {
                fifo.dropped += 1;
                return Err(Refusal::Full);
            }
            fifo
        } else {
            let place = self.reserve(port, queue, bytes)?;
            &mut self.queues[place]
        };
        Ok(Admitted { queue: own, memory: &mut self.memory, bytes })
    }

    /// Accounts for an item that arrives at a queue. Returns the index of the queue among those of all ports.
    #[cold]
    fn reserve(&mut self, port: usize, queue: usize, bytes: u64) -> Result<usize, Refusal> {
        let shared = self.shared.as_deref_mut().expect("the caller has looked");
        let account = shared.ports.get_mut(port).ok_or(Refusal::NoPort)?;
        if queue >= account.count {
            return Err(Refusal::NoQueue);
        }
        let place = account.first + queue;
        let own = &mut self.queues[place];
        if !own.fits(bytes) || !shared.fits(port, own.depth(), bytes) {
            own.dropped += 1;
            shared.ports[port].count_drop();
            return Err(Refusal::Full);
        }
        shared.add(port, queue, own.waiting.is_empty(), bytes);
        Ok(place)
    }

    /// Whether an item of `bytes` bytes may pass a port's only queue: the queue is a plain one, is empty, and would admit
    /// the item. If so, this counts the item as one that came and left at once. Otherwise nothing has happened.
    #[inline(always)]
    pub fn pass(&mut self, port: usize, queue: usize, bytes: u64) -> bool {
        if self.shared.is_some() || queue > 0 {
            return false;
        }
        let Some(fifo) = self.queues.get_mut(port) else { return false };
        let passes = fifo.waiting.is_empty() && fifo.fits(bytes);
        if passes {
            fifo.count(1, bytes);
        }
        passes
    }

    /// Takes the next item of a port.
    #[inline]
    pub fn dequeue(&mut self, port: usize) -> Option<Dequeued<T>> {
        let (own, queue, ends_turn) = if self.shared.is_none() {
            let fifo = self.queues.get_mut(port)?;
            let ends_turn = fifo.waiting.len() == 1;
            (fifo, 0, ends_turn)
        } else {
            let (place, queue, ends_turn) = self.choose(port)?;
            (&mut self.queues[place], queue, ends_turn)
        };
        own.pop(&mut self.memory, queue, ends_turn)
    }

    /// The next item of a port, if its only queue is a plain one.
    #[inline(always)]
    pub fn ahead(&self, port: usize) -> Option<&T> {
        let fifo = self.queues.get(port).filter(|_| self.shared.is_none())?;
        self.memory.front(&fifo.waiting).map(Waiting::item)
    }

    /// Chooses and accounts for the next item of a port. Returns the index of its queue among those of all ports, the
    /// queue's number, and whether the queue's turn ends.
    #[cold]
    fn choose(&mut self, port: usize) -> Option<(usize, usize, bool)> {
        let (shared, memory) = (self.shared.as_deref_mut().expect("the caller has looked"), &self.memory);
        let account = shared.ports.get_mut(port)?;
        let queues = &self.queues[account.first..];
        let bytes = |waiting: Option<&Waiting<T>>| waiting.map(Waiting::bytes);
        let head = |queue: usize| bytes(memory.front(&queues[queue].waiting)).expect("a busy queue holds items");
        let queue = account.scheduler.next(head)?;
        let (place, ahead) = (account.first + queue, bytes(memory.second(&queues[queue].waiting)));
        let ends_turn = shared.remove(port, queue, head(queue), ahead);
        Some((place, queue, ends_turn))
    }

    /// Amount that waits for a port.
    ///
    /// # Panics
    ///
    /// If there is no such port.
    #[inline]
    pub fn depth(&self, port: usize) -> Depth {
        self.shared.as_ref().map_or_else(|| self.queues[port].depth(), |shared| shared.ports[port].depth)
    }

    /// What waits for a port, queue by queue.
    ///
    /// # Panics
    ///
    /// If there is no such port.
    pub fn waiting(&self, port: usize) -> impl Iterator<Item = &T> {
        let first = self.place(port, 0);
        let queues = &self.queues[first..first + self.queues(port)];
        queues.iter().flat_map(|queue| self.memory.iter(&queue.waiting)).map(Waiting::item)
    }

    /// Whether nothing waits for a port.
    ///
    /// # Panics
    ///
    /// If there is no such port.
    #[inline(always)]
    pub fn is_idle(&self, port: usize) -> bool {
        match &self.shared {
            None => self.queues[port].waiting.is_empty(),
            Some(shared) => shared.ports[port].depth.packets == 0,
        }
    }

    /// Amount that waits in a queue of a port.
    ///
    /// # Panics
    ///
    /// If there is no such queue.
    pub fn queue_depth(&self, port: usize, queue: usize) -> Depth {
        self.queues[self.place(port, queue)].depth()
    }

    /// Statistics of a port so far.
    ///
    /// # Panics
    ///
    /// If there is no such port.
    pub fn stats(&self, port: usize) -> QueueStats {
        self.shared.as_ref().map_or_else(|| self.queues[port].stats(), |shared| shared.ports[port].stats())
    }

    /// Statistics of a queue of a port so far.
    ///
    /// # Panics
    ///
    /// If there is no such queue.
    pub fn queue_stats(&self, port: usize, queue: usize) -> QueueStats {
        self.queues[self.place(port, queue)].stats()
    }

    fn place(&self, port: usize, queue: usize) -> usize {
        assert!(queue < self.queues(port), "port {port} has no queue {queue}");
        self.shared.as_ref().map_or(port, |shared| shared.ports[port].first + queue)
    }
}

/// Reserved room in a queue. It is separate from the item, so the caller builds the item only after it has room.
#[derive(Debug)]
#[must_use = "the item is still to come"]
pub struct Admitted<'a, T> {
    queue: &'a mut Queue,
    memory: &'a mut Chains<Waiting<T>>,
    bytes: u64,
}

impl<T> Admitted<'_, T> {
    /// Puts the item into the queue.
    // Always inlined, like the queue's push and pop: a call would copy the item once more.
    #[inline(always)]
    pub fn put(self, now: Time, item: T) {
        self.queue.push(self.memory, now, self.bytes, item);
    }
}
