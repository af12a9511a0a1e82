// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which host starts a flow and when, and where hosts keep it: all that is known before the run.

use marklab_units::{Duration, Time};

use super::lookahead::Lookahead;
use crate::config::Connections;
use crate::traffic::{Flow, Followers, Join, Traffic};

/// Places and starts of flows.
#[derive(Debug)]
pub(super) struct Plan {
    /// Per flow, its number among the flows that its source sends, and among those that its destination receives.
    places: Vec<[u32; 2]>,
    followers: Followers,
    /// Host of each join, and how much it waits for.
    joins: Vec<(u32, u32)>,
    lookahead: Lookahead,
    /// Start of the last flow that waits for no other flow.
    pub(super) arrivals_end: Time,
}

/// Flows of a host.
#[derive(Clone, Default, Debug)]
pub(super) struct OfHost {
    /// Flows that it starts at times of their own, in order.
    pub(super) starts: Vec<u32>,
    /// Number of flows that it sends, and number of those that it receives.
    pub(super) counts: [u32; 2],
}

impl Plan {
    /// Plans the traffic of a run. Also returns the flows of each node.
    pub(super) fn new(traffic: &Traffic, mode: Connections, nodes: usize, lookahead: Lookahead) -> (Plan, Vec<OfHost>) {
        let flows = &traffic.flows;
        let mut hosts = vec![OfHost::default(); nodes];
        let mut place = |node: usize, role: usize| {
            let count = &mut hosts[node].counts[role];
            *count += 1;
            *count - 1
        };
        let places = flows.iter().map(|flow| [place(flow.src, 0), place(flow.dst, 1)]).collect();
        let mut arrivals_end = Time::ZERO;
        for (number, flow) in flows.iter().enumerate().filter(|(_, flow)| flow.after.is_none()) {
            hosts[starter(flow, mode)].starts.push(number as u32);
            arrivals_end = Time::from_nanos(flow.start_ns);
        }
        let waits = |join: &Join| join.waits.len() as u32 + u32::from(join.is_timed());
        let joins = traffic.joins.iter().map(|join| (join.host as u32, waits(join))).collect();
        (Plan { places, followers: Followers::new(traffic), joins, lookahead, arrivals_end }, hosts)
    }

    /// Number of a flow among the flows that its source sends.
    #[inline(always)]
    pub(super) fn client(&self, flow: u32) -> u32 {
        self.places[flow as usize][0]
    }

    /// Number of a flow among the flows that its destination receives.
    #[inline(always)]
    pub(super) fn server(&self, flow: u32) -> u32 {
        self.places[flow as usize][1]
    }

    /// What waits for a flow or a join.
    #[inline]
    pub(super) fn followers(&self) -> &Followers {
        &self.followers
    }

    /// The join of a number; `None` if it is a flow's.
    pub(super) fn join(&self, number: u32) -> Option<(u32, u32)> {
        self.joins.get((number as usize).checked_sub(self.places.len())?).copied()
    }

    /// Time that a notice takes between two hosts.
    pub(super) fn notice(&self, from: usize, to: usize) -> Duration {
        self.lookahead.between(from, to)
    }

    pub(super) fn lookahead(&self) -> &Lookahead {
        &self.lookahead
    }
}

/// The host that starts a flow.
pub(super) fn starter(flow: &Flow, mode: Connections) -> usize {
    match mode {
        Connections::Asked { .. } => flow.dst,
        Connections::New | Connections::Persistent { .. } | Connections::Queued { .. } => flow.src,
    }
}
