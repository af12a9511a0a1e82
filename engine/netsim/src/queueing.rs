// SPDX-License-Identifier: MIT OR Apache-2.0
//! Description of a switch's queues: read from JSON, and converted for the traffic manager.

use marklab_tm::{InvalidPort, Pool, PortConfig, QueueConfig};
use serde::Deserialize;

/// Limit of a queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QueueLimit {
    /// In packets.
    Packets(u64),
    /// In bytes.
    Bytes(u64),
}

/// Queues of a switch.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Queueing {
    /// Queues of each port.
    pub queues: Vec<QueueSpec>,
    /// How queues of the same level take turns.
    #[serde(default)]
    pub round: Round,
    /// Limit of all queues of a port together.
    #[serde(default)]
    pub port_limit: Option<QueueLimit>,
    /// Memory that all queues of the switch share.
    #[serde(default)]
    pub pool: Option<PoolSpec>,
}

/// A queue of a port.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QueueSpec {
    /// Limit of the queue.
    pub limit: QueueLimit,
    /// Queues of a higher level go first.
    pub level: u8,
    /// Bytes that it may send per round of its level.
    pub quantum_bytes: u32,
}

/// How queues take turns: [`marklab_tm::Round`].
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Round {
    /// Deficit weighted round robin.
    #[default]
    Deficit,
    /// Weighted round robin by bytes.
    Weighted,
}

/// Memory that queues share by dynamic thresholds: [`marklab_tm::Pool`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PoolSpec {
    /// Size of the memory.
    pub total_bytes: u64,
    /// Limit of a queue as a multiple of the free memory, in units of 1/128.
    pub alpha_128ths: u32,
}

impl Queueing {
    /// Configuration of a port of the switch.
    ///
    /// # Errors
    ///
    /// If a port with these queues cannot send.
    pub fn port(&self) -> Result<PortConfig, InvalidPort> {
        let queue = |spec: &QueueSpec| QueueConfig {
            limit: spec.limit.into(),
            level: spec.level,
            quantum_bytes: spec.quantum_bytes,
        };
        let round = match self.round {
            Round::Deficit => marklab_tm::Round::Deficit,
            Round::Weighted => marklab_tm::Round::Weighted,
        };
        PortConfig::new(self.queues.iter().map(queue).collect(), round, self.port_limit.map(Into::into))
    }

    /// Memory that the switch's queues share.
    pub fn pool(&self) -> Option<Pool> {
        self.pool.map(|pool| Pool { total_bytes: pool.total_bytes, alpha_128ths: pool.alpha_128ths })
    }
}

/// One queue per port.
impl From<QueueLimit> for Queueing {
    fn from(limit: QueueLimit) -> Queueing {
        let queue = QueueSpec { limit, level: 0, quantum_bytes: 1 };
        Queueing { queues: vec![queue], round: Round::Deficit, port_limit: None, pool: None }
    }
}

impl From<QueueLimit> for marklab_tm::Limit {
    fn from(limit: QueueLimit) -> marklab_tm::Limit {
        match limit {
            QueueLimit::Packets(packets) => marklab_tm::Limit::Packets(packets),
            QueueLimit::Bytes(bytes) => marklab_tm::Limit::Bytes(bytes),
        }
    }
}
