// SPDX-License-Identifier: MIT OR Apache-2.0
//! Packets at switches, one by one: all of them or some, and of these the last ones.

use std::collections::VecDeque;

use marklab_units::{Duration, Time};
use serde::Deserialize;

use crate::ledger::Reason;

/// Which packets are recorded.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TracePackets {
    /// Only at these ports, of switches; at all of them if there are none. A packet that is lost before it comes to a
    /// port is recorded only at all ports.
    #[serde(default)]
    pub ports: Vec<(usize, usize)>,
    /// Only packets that these happen to; all packets if there are none.
    #[serde(default)]
    pub only: Vec<Notable>,
    /// Only packets of this flow, in both directions.
    #[serde(default)]
    pub flow: Option<u32>,
    /// Of these, the last so many. Packets that left at one time are all kept, or none.
    pub last: usize,
}

/// What may happen to a packet at a switch.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Notable {
    /// The switch marked it.
    Mark,
    /// The switch lost it.
    Loss,
}

/// How a packet ended its stay at a switch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stay {
    /// It was sent.
    Sent {
        /// Its time in the queue.
        sojourn: Duration,
        /// Packets that it found in the queue.
        enq_qdepth: u32,
        /// Packets that it left behind in the queue.
        deq_qdepth: u32,
        /// Whether the switch marked it.
        marked: bool,
    },
    /// It was lost.
    Lost(Reason),
}

/// A packet at a switch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PacketRow {
    /// When it left the switch, or was lost.
    pub time: Time,
    /// The switch.
    pub node: u32,
    /// The port, if it had come to one.
    pub port: Option<u16>,
    /// The queue of the port; 0 if it was lost.
    pub queue: u8,
    /// Twice the number of the connection, plus 1 for packets from the host that receives data.
    pub five_tuple: u32,
    /// The flow that had started last on the connection; `None` for probes.
    pub flow: Option<u32>,
    /// Bytes of its frame.
    pub bytes: u32,
    /// How its stay ended.
    pub stay: Stay,
}

/// The last packets of those that were recorded.
#[derive(Clone, Debug)]
pub struct PacketTrace {
    last: usize,
    rows: VecDeque<PacketRow>,
    /// Rows that were given up for later ones, and the time of the last of them.
    dropped: u64,
    dropped_until: Option<Time>,
}

impl PacketTrace {
    pub(crate) fn new(last: usize) -> PacketTrace {
        PacketTrace { last, rows: VecDeque::new(), dropped: 0, dropped_until: None }
    }

    /// Records a packet. Packets come in order of time.
    pub(crate) fn add(&mut self, row: PacketRow) {
        if self.rows.len() >= self.last
            && let Some(oldest) = self.rows.pop_front()
        {
            self.drop(&oldest);
        }
        self.rows.push_back(row);
    }

    fn drop(&mut self, row: &PacketRow) {
        self.dropped += 1;
        self.dropped_until = self.dropped_until.max(Some(row.time));
    }

    /// Adds the packets of other switches, or later ones.
    pub(crate) fn merge(&mut self, other: PacketTrace) {
        self.dropped += other.dropped;
        self.dropped_until = self.dropped_until.max(other.dropped_until);
        if self.rows.is_empty() {
            self.rows = other.rows;
        } else {
            self.rows.extend(other.rows);
            self.sort();
        }
        while self.rows.len() > self.last
            && let Some(oldest) = self.rows.pop_front()
        {
            self.drop(&oldest);
        }
    }

    fn sort(&mut self) {
        let order = |row: &PacketRow| (row.time, row.node);
        let rows = self.rows.make_contiguous();
        if !rows.is_sorted_by_key(order) {
            rows.sort_by_key(order);
        }
    }

    /// Ends the record: it keeps all packets after the last one that was given up, whichever threads served the switches,
    /// in order of time and of switches. Those of a connection that served several flows are given theirs, and of one
    /// `flow`, if it is given, only its own are kept.
    pub(crate) fn finish(&mut self, flow: Option<u32>, flow_of: impl Fn(u32, Time) -> Option<u32>) {
        self.sort();
        while let Some(&oldest) = self.rows.front()
            && Some(oldest.time) <= self.dropped_until
        {
            self.rows.pop_front();
            self.dropped += 1;
        }
        for row in &mut self.rows {
            row.flow = flow_of(row.five_tuple / 2, row.time);
        }
        if flow.is_some() {
            self.rows.retain(|row| row.flow == flow);
        }
    }

    /// The packets, oldest first.
    pub fn rows(&self) -> impl ExactSizeIterator<Item = &PacketRow> + Clone {
        self.rows.iter()
    }

    /// Earlier packets that were recorded, and given up for these.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn row((ns, node): (u64, u32), number: u32) -> PacketRow {
        let stay = Stay::Sent { sojourn: Duration::ZERO, enq_qdepth: 0, deq_qdepth: 0, marked: false };
        PacketRow {
            time: Time::from_nanos(ns),
            node,
            port: Some(0),
            queue: 0,
            five_tuple: 0,
            flow: None,
            bytes: number,
            stay,
        }
    }

    fn recorded(rows: &[PacketRow], last: usize) -> PacketTrace {
        let mut trace = PacketTrace::new(last);
        rows.iter().for_each(|&row| trace.add(row));
        trace
    }

    proptest! {
        /// One record of all switches, and records of shards of them that are put together, are the same; and they are
        /// the last rows, cut where all rows of a time are there.
        #[test]
        fn shards_make_no_difference(
            steps in prop::collection::vec((0u64..3, 0u32..4), 0..60),
            last in 1usize..70,
            split in 0usize..60,
        ) {
            let mut now = 0;
            let rows: Vec<_> = steps.iter().zip(0..).map(|(&(step, node), number)| {
                now += step;
                row((now, node), number)
            }).collect();
            let none = |_, _| None;
            let mut whole = recorded(&rows, last);
            whole.finish(None, none);
            let mut parts = PacketTrace::new(last);
            let (early, late) = rows.split_at(split.min(rows.len()));
            for part in [early, late] {
                for shard in 0..2 {
                    let own: Vec<_> = part.iter().copied().filter(|row| row.node % 2 == shard).collect();
                    parts.merge(recorded(&own, last));
                }
            }
            parts.finish(None, none);
            prop_assert!(whole.rows().eq(parts.rows()));
            prop_assert_eq!(whole.dropped(), parts.dropped());
            prop_assert_eq!(whole.dropped() as usize + whole.rows().len(), rows.len());
            let cut = rows.len().checked_sub(last + 1).map(|at| rows[at].time);
            let mut kept: Vec<_> = rows.iter().copied().filter(|row| Some(row.time) > cut).collect();
            kept.sort_by_key(|row| (row.time, row.node));
            prop_assert!(whole.rows().copied().eq(kept));
        }
    }

    #[test]
    fn a_record_of_a_flow_has_its_packets_only() {
        let mut trace = recorded(&[row((1, 0), 0), row((2, 0), 1), row((3, 0), 2)], 2);
        trace.finish(Some(7), |_, time| Some(if time == Time::from_nanos(3) { 7 } else { 5 }));
        assert_eq!(trace.rows().map(|row| row.bytes).collect::<Vec<_>>(), [2]);
        assert_eq!(trace.dropped(), 1);
    }
}
