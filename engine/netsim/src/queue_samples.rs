// SPDX-License-Identifier: MIT OR Apache-2.0
//! Queues sampled at fixed intervals: per port, the number of samples for each number of waiting packets, and for each
//! number of flows that these packets belong to.

use serde::Deserialize;

/// When queues are sampled.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SampleQueues {
    /// Time between two samples, in ns.
    pub interval_ns: u64,
    /// Time of the last possible sample, in ns.
    pub until_ns: u64,
}

/// A port of a switch and its samples.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SampledPort {
    /// The switch.
    pub node: usize,
    /// The port.
    pub port: usize,
    /// Number of samples, by the number of waiting packets.
    pub seen: Vec<u64>,
    /// Number of samples, by the number of 5-tuples of these packets.
    pub flows: Vec<u64>,
}

/// Counts one more sample of `value`.
pub(crate) fn count(samples: &mut Vec<u64>, value: usize) {
    if samples.len() <= value {
        samples.resize(value + 1, 0);
    }
    samples[value] += 1;
}

/// Samples of all switch ports that have a line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct QueueSamples {
    /// In order of nodes and ports.
    pub ports: Vec<SampledPort>,
}
