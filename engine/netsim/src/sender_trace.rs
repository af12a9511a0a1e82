// SPDX-License-Identifier: MIT OR Apache-2.0
//! Windows and states of senders over time.

use marklab_units::Time;

use crate::tcp::{CaState, Sender};

/// A sender after an acknowledgement or a timeout that changed one of these.
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
    rows: Vec<SenderRow>,
    /// Per flow, its last row.
    last: Vec<Option<u32>>,
}

impl SenderTrace {
    pub(crate) fn new(flows: usize) -> SenderTrace {
        SenderTrace { rows: Vec::new(), last: vec![None; flows] }
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
        let last = &mut self.last[row.flow as usize];
        if last.is_none_or(|at| SenderRow { time: row.time, ..self.rows[at as usize] } != row) {
            *last = Some(self.rows.len() as u32);
            self.rows.push(row);
        }
    }
}
