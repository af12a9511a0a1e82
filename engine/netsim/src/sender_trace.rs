// SPDX-License-Identifier: MIT OR Apache-2.0
//! Windows and states of senders over time.

use marklab_units::{Duration, Time};

use crate::tcp::{CaState, Sender};

/// A sender after an acknowledgement or a timeout that changed one of these: every change, or the last of an interval.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct SenderRow {
    /// When it changed.
    pub time: Time,
    /// The flow that started last on the connection.
    pub flow: u32,
    /// Congestion window in bytes.
    pub cwnd: u64,
    /// Slow-start threshold in bytes; the largest number if there was no reduction yet.
    pub ssthresh: u64,
    /// State of congestion control.
    pub state: CaState,
    /// DCTCP's alpha; 0 for controls without one.
    pub alpha: f64,
}

/// Windows and states of all senders over time.
#[derive(Clone, Default, Debug)]
pub struct SenderTrace {
    /// Of several changes of a flow in an interval of this length, only the last is kept; all are if it is 0.
    interval: Duration,
    rows: Vec<SenderRow>,
    /// Per flow, its last row.
    last: Vec<Option<u32>>,
}

impl SenderTrace {
    pub(crate) fn new(interval: Duration, flows: usize) -> SenderTrace {
        SenderTrace { interval, rows: Vec::new(), last: vec![None; flows] }
    }

    /// Adds the rows of other flows, or later rows. All are in order of time, and then of flows.
    pub(crate) fn merge(&mut self, other: SenderTrace) {
        for row in other.rows {
            self.add(row);
        }
        self.rows.sort_by_key(|row| (row.time, row.flow));
        for (at, row) in self.rows.iter().enumerate() {
            self.last[row.flow as usize] = Some(at as u32);
        }
    }

    /// The rows, oldest first.
    pub fn rows(&self) -> &[SenderRow] {
        &self.rows
    }

    /// Records a sender, if it has changed.
    pub(crate) fn look(&mut self, time: Time, flow: u32, sender: &Sender) {
        let window = sender.window();
        let alpha = sender.control().alpha().unwrap_or_default();
        self.add(SenderRow { time, flow, cwnd: window.cwnd, ssthresh: window.ssthresh, state: sender.state(), alpha });
    }

    fn add(&mut self, row: SenderRow) {
        let interval = self.interval;
        let together =
            |before: Time| interval > Duration::ZERO && before.start_of(interval) == row.time.start_of(interval);
        let last = &mut self.last[row.flow as usize];
        match last.map(|at| &mut self.rows[at as usize]) {
            Some(before) if SenderRow { time: row.time, ..*before } == row => {}
            Some(before) if together(before.time) => *before = row,
            _ => {
                *last = Some(self.rows.len() as u32);
                self.rows.push(row);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(ns: u64, flow: u32, cwnd: u64) -> SenderRow {
        SenderRow { time: Time::from_nanos(ns), flow, cwnd, ssthresh: 0, state: CaState::Open, alpha: 0.0 }
    }

    #[test]
    fn the_last_change_of_an_interval_is_kept_or_every_change() {
        for (interval, kept) in [
            (0, &[(5, 0, 10), (6, 0, 11), (7, 1, 1), (99, 0, 12), (100, 0, 13), (230, 0, 14)][..]),
            (100, &[(7, 1, 1), (99, 0, 12), (100, 0, 13), (230, 0, 14)]),
        ] {
            let mut trace = SenderTrace::new(Duration::from_nanos(interval), 2);
            for (ns, flow, cwnd) in [(5, 0, 10), (6, 0, 11), (7, 1, 1), (99, 0, 12), (100, 0, 13), (210, 0, 13)] {
                trace.add(row(ns, flow, cwnd));
            }
            let mut later = SenderTrace::new(Duration::from_nanos(interval), 2);
            later.add(row(230, 0, 14));
            trace.merge(later);
            let rows: Vec<_> = trace.rows().iter().map(|row| (row.time.nanos(), row.flow, row.cwnd)).collect();
            assert_eq!(rows, kept, "{interval}");
        }
    }
}
