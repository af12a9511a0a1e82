// SPDX-License-Identifier: MIT OR Apache-2.0
//! Queue lengths sampled at fixed intervals: per port, the number of samples for each number of waiting packets.

use marklab_units::{Duration, Time};
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
}

/// Samples of all switch ports that have a line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct QueueSamples {
    plan: SampleQueues,
    /// In order of nodes and ports.
    pub ports: Vec<SampledPort>,
}

impl QueueSamples {
    pub(crate) fn new(plan: SampleQueues, ports: impl Iterator<Item = (usize, usize)>) -> QueueSamples {
        let ports = ports.map(|(node, port)| SampledPort { node, port, seen: Vec::new() });
        QueueSamples { plan, ports: ports.collect() }
    }

    /// Samples each port now. Returns the time of the next sample, if there is one.
    pub(crate) fn look(&mut self, now: Time, waiting: impl Fn(usize, usize) -> usize) -> Option<Time> {
        for SampledPort { node, port, seen } in &mut self.ports {
            let packets = waiting(*node, *port);
            if seen.len() <= packets {
                seen.resize(packets + 1, 0);
            }
            seen[packets] += 1;
        }
        let next = now + Duration::from_nanos(self.plan.interval_ns);
        (next.nanos() <= self.plan.until_ns).then_some(next)
    }
}
