// SPDX-License-Identifier: MIT OR Apache-2.0
//! Ports with several queues, and the limits and memory that these share.

use thiserror::Error;

use crate::queue::{Depth, Limit, QueueStats};
use crate::scheduler::{QueueConfig, Round, Scheduler};

/// Largest number of queues of a port: that of Tofino 2.
pub const MAX_QUEUES: usize = 128;

/// A port: its queues, how they take turns, and their common limit.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PortConfig {
    queues: Vec<QueueConfig>,
    round: Round,
    limit: Option<Limit>,
}

/// Why a port cannot be built.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum InvalidPort {
    /// It has no queue.
    #[error("a port must have at least one queue")]
    NoQueues,
    /// It has more than [`MAX_QUEUES`].
    #[error("{0} queues: a port can have at most {MAX_QUEUES}")]
    TooManyQueues(usize),
    /// The turns of a queue would never send anything.
    #[error("queue {0} has a quantum of 0")]
    NoQuantum(usize),
}

impl PortConfig {
    /// A port whose queues also share `limit`, if given; items use it in the order of arrival.
    ///
    /// # Errors
    ///
    /// [`InvalidPort`] if there are no queues or too many, or if a quantum is 0.
    pub fn new(queues: Vec<QueueConfig>, round: Round, limit: Option<Limit>) -> Result<PortConfig, InvalidPort> {
        match queues.len() {
            0 => return Err(InvalidPort::NoQueues),
            many if many > MAX_QUEUES => return Err(InvalidPort::TooManyQueues(many)),
            _ => {}
        }
        match queues.iter().position(|queue| queue.quantum_bytes == 0) {
            Some(idle) => Err(InvalidPort::NoQuantum(idle)),
            None => Ok(PortConfig { queues, round, limit }),
        }
    }

    /// Its queues; the first one is number 0.
    pub fn queues(&self) -> &[QueueConfig] {
        &self.queues
    }

    /// Whether the port has one queue and no limit of its own.
    pub(crate) fn is_fifo(&self) -> bool {
        self.queues.len() == 1 && self.limit.is_none()
    }
}

/// One first-in first-out queue.
impl From<Limit> for PortConfig {
    fn from(limit: Limit) -> PortConfig {
        let queue = QueueConfig { limit, level: 0, quantum_bytes: 1 };
        PortConfig { queues: vec![queue], round: Round::Deficit, limit: None }
    }
}

/// Memory that all queues of a switch share, with dynamic thresholds: a queue may grow to `alpha` times the free memory
/// (Choudhury and Hahne, "Dynamic Queue Length Thresholds for Shared-Memory Packet Switches", section III).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pool {
    /// Size of the memory in bytes.
    pub total_bytes: u64,
    /// alpha in units of 1/128, the smallest value that switch chips offer.
    pub alpha_128ths: u32,
}

/// Resources that the ports of a switch share, and each port's own account.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) ports: Vec<Port>,
    pub(crate) memory: Option<Memory>,
}

/// A [`Pool`] in use.
#[derive(Debug)]
pub(crate) struct Memory {
    pool: Pool,
    used_bytes: u64,
}

/// A port in use.
#[derive(Debug)]
pub(crate) struct Port {
    /// Index of its first queue among those of all ports.
    pub(crate) first: usize,
    pub(crate) count: usize,
    pub(crate) scheduler: Scheduler,
    pub(crate) depth: Depth,
    limit: Option<Limit>,
    enqueued: u64,
    dropped: u64,
    max: Depth,
}

impl Shared {
    pub(crate) fn new(ports: &[PortConfig], pool: Option<Pool>) -> Shared {
        let mut first = 0;
        let ports = ports.iter().map(|config| {
            let count = config.queues.len();
            let port = Port {
                first,
                count,
                scheduler: Scheduler::new(config.round, &config.queues),
                depth: Depth::default(),
                limit: config.limit,
                enqueued: 0,
                dropped: 0,
                max: Depth::default(),
            };
            first += count;
            port
        });
        Shared { ports: ports.collect(), memory: pool.map(|pool| Memory { pool, used_bytes: 0 }) }
    }

    /// Whether the limits of the port and of the shared memory leave room; the queue's own limit is not checked.
    pub(crate) fn fits(&self, port: usize, queue: Depth, bytes: u64) -> bool {
        let port = &self.ports[port];
        port.limit.is_none_or(|limit| limit.admits(port.depth, bytes))
            && self.memory.as_ref().is_none_or(|memory| memory.fits(queue, bytes))
    }

    /// Accounts for an item that arrives at a queue of a port.
    pub(crate) fn add(&mut self, port: usize, queue: usize, is_first: bool, bytes: u64) {
        let port = &mut self.ports[port];
        port.depth.add(bytes);
        port.max = port.max.max(port.depth);
        port.enqueued += 1;
        if is_first {
            port.scheduler.activate(queue);
        }
        if let Some(memory) = &mut self.memory {
            memory.used_bytes += bytes;
        }
    }

    /// Accounts for the first item of the queue that [`Scheduler::next`] chose, which leaves. Returns whether the
    /// queue's turn ends.
    pub(crate) fn remove(&mut self, port: usize, queue: usize, bytes: u64, ahead: Option<u64>) -> bool {
        let port = &mut self.ports[port];
        port.depth.remove(bytes);
        if let Some(memory) = &mut self.memory {
            memory.used_bytes -= bytes;
        }
        port.scheduler.served(queue, bytes, ahead)
    }
}

impl Memory {
    fn fits(&self, queue: Depth, bytes: u64) -> bool {
        let free = self.pool.total_bytes - self.used_bytes;
        let threshold = u128::from(free) * u128::from(self.pool.alpha_128ths) / 128;
        bytes <= free && u128::from(queue.bytes + bytes) <= threshold
    }
}

impl Port {
    pub(crate) fn stats(&self) -> QueueStats {
        QueueStats { enqueued: self.enqueued, dropped: self.dropped, max: self.max }
    }

    pub(crate) fn count_drop(&mut self) {
        self.dropped += 1;
    }
}
