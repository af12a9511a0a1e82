// SPDX-License-Identifier: MIT OR Apache-2.0
//! Start of flows: at a given time, or after the end of another flow.

use marklab_units::{Duration, Rate, Time};

use super::connection::Message;
use super::{Event, Network};
use crate::config::{Connections, Flow};

/// For each flow, the flow that waits for it; empty if no flow waits for another.
pub(super) fn followers(flows: &[Flow]) -> Vec<Option<u32>> {
    if flows.iter().all(|flow| flow.after.is_none()) {
        return Vec::new();
    }
    let mut followers = vec![None; flows.len()];
    for (flow, spec) in flows.iter().enumerate() {
        if let Some(before) = spec.after {
            followers[before.flow as usize] = Some(flow as u32);
        }
    }
    followers
}

/// When a flow started, if it has started by now.
pub(super) fn started(flow: &Flow, now: Time) -> Option<Time> {
    let start = Time::from_nanos(flow.start_ns);
    (flow.after.is_none() && start <= now).then_some(start)
}

impl Network {
    /// Starts the next flow, and schedules the flow after it.
    pub(super) fn start_next_flow(&mut self) {
        let number = self.next_flow;
        let later = self.flows[number + 1..].iter().position(|flow| flow.after.is_none());
        self.next_flow = later.map_or(self.flows.len(), |later| number + 1 + later);
        match self.flows.get(self.next_flow) {
            Some(next) => self.events.push(Time::from_nanos(next.start_ns), Event::Start),
            None => {
                self.arrivals_end = self.now;
                self.busy_during_arrivals = self.lines.iter().map(|line| line.stats().busy).collect();
            }
        }
        self.start_flow(number, None);
    }

    /// Schedules the flow that waits for a flow that has just ended on a connection.
    #[inline]
    pub(super) fn wake_follower(&mut self, flow: u32, connection: usize) {
        if let Some(&Some(follower)) = self.followers.get(flow as usize) {
            let pause = Duration::from_nanos(self.flows[follower as usize].start_ns);
            self.events.push(self.now + pause, Event::Follow(follower, connection as u32));
        }
    }

    /// Starts a flow that waited for another flow on a connection. From now on it has a start time of its own.
    pub(super) fn start_follower(&mut self, number: usize, connection: usize) {
        let flow = &mut self.flows[number];
        flow.start_ns = self.now.nanos();
        let before = flow.after.take();
        let same = before.filter(|before| before.same_connection).map(|_| connection);
        self.start_flow(number, same);
    }

    /// Starts a flow, on a connection for it or on the open connection `asked_on`, over which it is asked for.
    fn start_flow(&mut self, number: usize, asked_on: Option<usize>) {
        if self.rdma.is_some() {
            return self.start_message(number);
        }
        let connection = asked_on.unwrap_or_else(|| self.connection_for(number));
        let flow = self.flows[number];
        let asked_again =
            self.followers.get(number).copied().flatten().and_then(|next| self.flows[next as usize].after);
        let asked_again = asked_again.is_some_and(|after| after.same_connection);
        let state = &mut self.connections[connection];
        state.extra_delay = Duration::from_nanos(flow.extra_delay_ns);
        state.set_dscp(flow.dscp);
        state.latest_flow = Some(number as u32);
        state.messages.push_back(Message {
            flow: number as u32,
            end: state.sender.written() + flow.size_bytes,
            unwritten: flow.size_bytes,
            rate: Rate::from_bps(flow.rate_bps),
            carry: 0,
            before: state.sender.stats,
            marked: 0,
        });
        if let Connections::Asked { .. } = self.mode {
            state.closes = !asked_again;
        }
        match asked_on {
            Some(_) => self.ask_again(connection),
            None => self.write_more(connection),
        }
    }
}
