// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bytes that flows deliver over time.

use marklab_units::{Duration, Time};

/// Bytes that a flow delivered during one interval.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FlowRow {
    /// Start of the interval.
    pub time: Time,
    /// The flow.
    pub flow: u32,
    /// Payload that the receiver could deliver to its application, in order.
    pub bytes: u64,
}

/// Bytes that flows delivered over time.
#[derive(Clone, Debug)]
pub struct FlowTrace {
    interval: Duration,
    rows: Vec<FlowRow>,
    /// Per flow: bytes so far, and its last row.
    flows: Vec<(u64, Option<u32>)>,
}

impl FlowTrace {
    pub(crate) fn new(interval_ns: u64, flows: usize) -> FlowTrace {
        FlowTrace {
            interval: Duration::from_nanos(interval_ns.max(1)),
            rows: Vec::new(),
            flows: vec![(0, None); flows],
        }
    }

    /// The rows, oldest first.
    pub fn rows(&self) -> &[FlowRow] {
        &self.rows
    }

    /// Records that a flow has delivered `total` bytes so far.
    pub(crate) fn delivered(&mut self, now: Time, flow: u32, total: u64) {
        let (before, last) = &mut self.flows[flow as usize];
        let bytes = total - std::mem::replace(before, total);
        if bytes == 0 {
            return;
        }
        let time = now.start_of(self.interval);
        match last.map(|at| &mut self.rows[at as usize]).filter(|row| row.time == time) {
            Some(row) => row.bytes += bytes,
            None => {
                *last = Some(self.rows.len() as u32);
                self.rows.push(FlowRow { time, flow, bytes });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deliveries_are_summed_by_flow_and_interval() {
        let mut trace = FlowTrace::new(100, 2);
        for (ns, flow, total) in [(5, 0, 10), (10, 1, 7), (99, 0, 30), (99, 0, 30), (100, 0, 31), (350, 1, 8)] {
            trace.delivered(Time::from_nanos(ns), flow, total);
        }
        let rows: Vec<_> = trace.rows().iter().map(|row| (row.time.nanos(), row.flow, row.bytes)).collect();
        assert_eq!(rows, [(0, 0, 30), (0, 1, 7), (100, 0, 1), (300, 1, 1)]);
    }
}
