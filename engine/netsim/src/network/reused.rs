// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which flow a packet of a connection belongs to.

use std::collections::BTreeMap;

use marklab_units::Time;

use super::env::{Shared, Tally};

/// Flows that began on a connection that another one had opened, with their starts, by connection.
pub(super) struct Reused(BTreeMap<u32, Vec<(Time, u32)>>);

impl Reused {
    pub(super) fn of(tally: &Tally) -> Reused {
        let mut reused: BTreeMap<u32, Vec<(Time, u32)>> = BTreeMap::new();
        for &(connection, time, flow) in &tally.reused {
            reused.entry(connection).or_default().push((time, flow));
        }
        for flows in reused.values_mut() {
            flows.sort_unstable();
        }
        Reused(reused)
    }

    /// The flow that had started last on a connection at a time; `None` for probes.
    pub(super) fn flow(&self, shared: &Shared, connection: u32, time: Time) -> Option<u32> {
        let later = self.0.get(&connection).map_or(&[][..], |flows| flows);
        let begun = later.partition_point(|&(start, _)| start <= time);
        begun.checked_sub(1).map_or_else(|| shared.opener(connection), |last| Some(later[last].1))
    }
}
