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
    /// Last row of each flow.
    last: Vec<Option<u32>>,
}

impl FlowTrace {
    pub(crate) fn new(interval_ns: u64, flows: usize) -> FlowTrace {
        FlowTrace { interval: Duration::from_nanos(interval_ns.max(1)), rows: Vec::new(), last: vec![None; flows] }
    }

    /// Adds the rows of other flows, or later rows. All are in order of time, and then of flows.
    pub(crate) fn merge(&mut self, other: FlowTrace) {
        for row in other.rows {
            self.delivered(row.time, row.flow, row.bytes);
        }
        self.rows.sort_by_key(|row| (row.time, row.flow));
        for (at, row) in self.rows.iter().enumerate() {
            self.last[row.flow as usize] = Some(at as u32);
        }
    }

    /// The rows, oldest first.
    pub fn rows(&self) -> &[FlowRow] {
        &self.rows
    }

    /// Records that a flow has delivered some more bytes.
    pub(crate) fn delivered(&mut self, now: Time, flow: u32, bytes: u64) {
        if bytes == 0 {
            return;
        }
        let last = &mut self.last[flow as usize];
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
        for (ns, flow, bytes) in [(5, 0, 10), (10, 1, 7), (99, 0, 20), (99, 0, 0), (100, 0, 1), (350, 1, 1)] {
            trace.delivered(Time::from_nanos(ns), flow, bytes);
        }
        // Of other flows, and of the same one later.
        let mut other = FlowTrace::new(100, 2);
        other.delivered(Time::from_nanos(120), 0, 4);
        trace.merge(other);
        let rows: Vec<_> = trace.rows().iter().map(|row| (row.time.nanos(), row.flow, row.bytes)).collect();
        assert_eq!(rows, [(0, 0, 30), (0, 1, 7), (100, 0, 5), (300, 1, 1)]);
    }
}
