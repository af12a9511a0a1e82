// SPDX-License-Identifier: MIT OR Apache-2.0
//! What hosts send: flows that start at their times, and flows that wait for others.
//!
//! A flow waits for one thing, the end of another flow or a join. A join waits for several, and several flows may wait for
//! it, so that any graph of dependencies can be written with as many edges as it has flows and waits.

use crate::control::Control;

/// A flow to be sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Flow {
    /// Start in ns, since the start of the run or since the end of what it comes after.
    pub start_ns: u64,
    /// What it waits for.
    pub after: Option<Predecessor>,
    /// Index of the sending host among the nodes.
    pub src: usize,
    /// Index of the receiving host.
    pub dst: usize,
    /// Bytes of payload, at least 1.
    pub size_bytes: u64,
    /// Code point of its packets.
    pub dscp: u8,
    /// Delay between TCP and NIC of the sender, in ns.
    pub extra_delay_ns: u64,
    /// Rate of the application in bit/s; 0 for as fast as possible.
    pub rate_bps: u64,
    /// Whether both hosts take part in ECN, if the transport does.
    pub ecn: bool,
    /// Receive window of a connection that is made for this flow, in bytes; 0 for the transport's window.
    pub receive_window_bytes: u64,
    /// One-way delay of a full segment in the empty network, in ns, that the flow's connection knows if it is open
    /// before the run; 0 if it has to learn it.
    pub base_delay_ns: u64,
    /// Congestion control of its own, instead of the transport's.
    pub control: Option<Control>,
}

/// What a flow waits for: a reader asks for the next object when the previous one has arrived.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Predecessor {
    /// Index of a flow, or the number of flows plus the index of a join.
    pub number: u32,
    /// Whether both flows use one connection, which the receiver opened and on which it sends the next request.
    pub same_connection: bool,
}

/// A point of an application at a host that is reached once all that it waits for has ended, or been reached: a step of a
/// computation that needs several flows, and for which several flows wait.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Join {
    /// Index of the host among the nodes.
    pub host: usize,
    /// Time of the run before which it is not reached, in ns.
    pub not_before_ns: u64,
    /// What it waits for.
    pub waits: Vec<Wait>,
}

impl Join {
    /// Whether it waits for a time of the run as well.
    pub(crate) fn is_timed(&self) -> bool {
        self.waits.is_empty() || self.not_before_ns > 0
    }
}

/// One of the things that a join waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Wait {
    /// Index of a flow, or the number of flows plus the index of a join.
    pub number: u32,
    /// Time that has to pass after its end, in ns.
    pub pause_ns: u64,
}

/// What the hosts send.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Traffic {
    /// Flows in order of their start, and those that wait, each below the flow that it waits for.
    pub flows: Vec<Flow>,
    /// Points that flows wait for.
    pub joins: Vec<Join>,
}

impl From<Vec<Flow>> for Traffic {
    fn from(flows: Vec<Flow>) -> Traffic {
        Traffic { flows, joins: Vec::new() }
    }
}

impl Traffic {
    /// Whether each join can be reached: whether nothing waits for itself, by way of others (Kahn's algorithm). A flow waits
    /// for a flow above it in the list, or for a join.
    pub(crate) fn is_reached(&self) -> bool {
        let followers = Followers::new(self);
        let before = self.flows.iter().map(|flow| usize::from(flow.after.is_some()));
        let mut missing: Vec<usize> = before.chain(self.joins.iter().map(|join| join.waits.len())).collect();
        let mut reached: Vec<u32> = (0..missing.len() as u32).filter(|&number| missing[number as usize] == 0).collect();
        let mut left = missing.len();
        while let Some(number) = reached.pop() {
            left -= 1;
            for at in followers.of(number) {
                let next = followers.all[at].number;
                missing[next as usize] -= 1;
                if missing[next as usize] == 0 {
                    reached.push(next);
                }
            }
        }
        left == 0
    }
}

/// What waits for each flow and each join.
#[derive(Debug, Default)]
pub(crate) struct Followers {
    /// For each number, where its followers begin; one more for the end. Empty if nothing waits.
    begins: Vec<u32>,
    /// Of all numbers, in their order.
    pub(crate) all: Vec<Wait>,
}

impl Followers {
    /// Collects what waits: a [`Wait`] here has the number of what waits, and its pause.
    pub(crate) fn new(traffic: &Traffic) -> Followers {
        let count = traffic.flows.len() + traffic.joins.len();
        let flows = traffic.flows.iter().enumerate().filter_map(|(number, flow)| {
            let after = flow.after?;
            Some((after.number, Wait { number: number as u32, pause_ns: flow.start_ns }))
        });
        let joins = (traffic.flows.len()..).zip(&traffic.joins).flat_map(|(number, join)| {
            join.waits.iter().map(move |wait| (wait.number, Wait { number: number as u32, pause_ns: wait.pause_ns }))
        });
        let mut edges: Vec<(u32, Wait)> = flows.chain(joins).collect();
        if edges.is_empty() {
            return Followers::default();
        }
        edges.sort_by_key(|&(before, wait)| (before, wait.number));
        let mut begins = vec![0; count + 1];
        for &(before, _) in &edges {
            begins[before as usize + 1] += 1;
        }
        for number in 0..count {
            begins[number + 1] += begins[number];
        }
        Followers { begins, all: edges.into_iter().map(|(_, wait)| wait).collect() }
    }

    /// Places in `all` of those of a flow or a join.
    #[inline]
    pub(crate) fn of(&self, number: u32) -> std::ops::Range<usize> {
        match self.begins.get(number as usize..) {
            Some(&[begin, end, ..]) => begin as usize..end as usize,
            _ => 0..0,
        }
    }
}
