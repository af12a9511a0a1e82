// SPDX-License-Identifier: MIT OR Apache-2.0
//! One packet among all: how to find it, and what happens to it.
//!
//! A frame is known by its address as long as it is under way. Later another packet may lie there.

use std::collections::HashMap;
use std::sync::Arc;

use marklab_observe::{became_marked, frame_ecn};
use marklab_pipeline::{Packet, Seen, Spotlight, Stage};
use marklab_tm::Depth;
use marklab_units::Time;

use super::event::Event;
use super::shard::{Node, Shard};
use super::switches::SwitchNode;
use crate::frame::NetFrame;
use crate::ledger::{Ledger, Reason};

/// What to look for at a switch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wanted {
    /// A packet that leaves by the port.
    Departure,
    /// A packet that leaves by the port with a mark of this switch.
    Mark,
    /// A packet that is lost at the port, or before it has come to one.
    Loss,
}

/// The arrival of a packet from its host: it tells a packet from all others.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Birth {
    /// When it arrived.
    pub time: Time,
    /// The switch.
    pub node: usize,
    /// The port.
    pub port: usize,
}

/// A packet that was found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sighting {
    /// When it did what was looked for.
    pub time: Time,
    /// Its arrival from its host, unless it was there before the session began to look.
    pub birth: Option<Birth>,
}

/// A packet at a switch.
#[derive(Clone, Debug)]
pub struct Hop {
    /// The switch, and the port by which the packet came.
    pub node: usize,
    /// The port by which it came.
    pub ingress_port: usize,
    /// When it arrived.
    pub arrived: Time,
    /// The packet as it arrived.
    pub before: Packet,
    /// What the program did with it.
    pub seen: Seen,
    /// Port and queue in which it waited, and the depths of the queue that it found and left. `None` if it came to none.
    pub queued: Option<Queued>,
    /// When it left, and the packet as it left. `None` if it was lost or was still there at the end.
    pub left: Option<(Time, Packet)>,
    /// Whether the switch marked it.
    pub marked: bool,
}

/// A packet's stay in a queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Queued {
    /// The port.
    pub port: usize,
    /// What it found there, in all queues of the port.
    pub found: Depth,
    /// What it left behind, in all queues of the port.
    pub left: Depth,
}

/// The end of a packet's journey.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// It arrived at a host.
    Delivered {
        /// When.
        time: Time,
        /// The host.
        node: usize,
    },
    /// It was lost at the last switch of its path.
    Lost {
        /// When.
        time: Time,
        /// The port, if it had come to one.
        port: Option<usize>,
        /// Why.
        reason: Reason,
    },
    /// The run ended before.
    Underway,
}

/// All that happened to a packet.
#[derive(Clone, Debug)]
pub struct Journey {
    /// The flow that had started last on its connection when it was sent; `None` for probes.
    pub flow: Option<u32>,
    /// Whether the connection's client sent it: data of flows, except of those that are requested.
    pub by_client: bool,
    /// The switches on its path.
    pub hops: Vec<Hop>,
    /// How it ended.
    pub end: End,
}

/// The address of a frame, which tells it from all others as long as it is under way.
pub(super) fn address(frame: &NetFrame) -> usize {
    std::ptr::from_ref(frame).addr()
}

/// A port before an event.
pub(super) struct Watched {
    /// Frames that may leave it: those that wait, and the one that arrives.
    frames: Vec<usize>,
    sent: u64,
    marked: u64,
    lost: u64,
}

impl Watched {
    pub(super) fn before(shard: &Shard, node: usize, port: usize, event: &Event) -> Watched {
        let Node::Switch(switch) = &shard.nodes[node] else { unreachable!("only switches are watched") };
        let mut frames = Vec::new();
        switch.switch.for_each_waiting(port, |frame| frames.push(address(frame)));
        if let Event::Arrival { frame, .. } = event {
            frames.push(address(frame));
        }
        Watched { frames, sent: sent(switch, port), marked: switch.ports[port].marked(), lost: lost(shard, node, port) }
    }

    /// The frame that did what is wanted, if one did.
    pub(super) fn after(mut self, shard: &Shard, node: usize, port: usize, wanted: Wanted) -> Option<usize> {
        let Node::Switch(switch) = &shard.nodes[node] else { unreachable!("only switches are watched") };
        let happened = match wanted {
            Wanted::Departure => sent(switch, port) > self.sent,
            Wanted::Mark => switch.ports[port].marked() > self.marked,
            Wanted::Loss => lost(shard, node, port) > self.lost,
        };
        if !happened {
            return None;
        }
        let is_lost = |&frame: &usize| shard.env.frames.holds_lately(frame as *const NetFrame);
        if wanted == Wanted::Loss {
            return self.frames.into_iter().rev().find(is_lost);
        }
        switch.switch.for_each_waiting(port, |frame| self.frames.retain(|&each| each != address(frame)));
        self.frames.into_iter().find(|frame| !is_lost(frame))
    }
}

fn sent(switch: &SwitchNode, port: usize) -> u64 {
    switch.ports[port].line.as_ref().map_or(0, |line| line.stats().frames)
}

/// Losses at a port of a switch, and of packets that had come to none.
fn lost(shard: &Shard, node: usize, port: usize) -> u64 {
    let losses = shard.env.tally.ledger.iter();
    losses
        .filter(|&(at, by, _, _)| at == node && by.is_none_or(|by| by == port))
        .map(|(_, _, _, packets)| packets)
        .sum()
}

/// Follows a packet from event to event.
pub(super) struct Follower {
    spotlight: Arc<Spotlight>,
    birth: Birth,
    /// Address of the frame, or 0.
    frame: usize,
    journey: Option<Journey>,
    /// Losses before the event, if it is one of the switch where the frame is.
    ledger: Option<Ledger>,
    lines: Vec<[(usize, usize); 2]>,
}

impl Follower {
    pub(super) fn new(spotlight: Arc<Spotlight>, lines: &[[(usize, usize); 2]], birth: Birth) -> Follower {
        Follower { spotlight, birth, frame: 0, journey: None, ledger: None, lines: lines.to_vec() }
    }

    /// Whether anything may still happen to the packet.
    pub(super) fn goes_on(&self, now: Time) -> bool {
        match &self.journey {
            None => now <= self.birth.time,
            Some(journey) => journey.end == End::Underway,
        }
    }

    pub(super) fn into_journey(self) -> Option<Journey> {
        self.journey
    }

    /// Looks before an event, and without one after it.
    pub(super) fn look(&mut self, shard: &Shard, event: Option<(Time, &Event)>) {
        match event {
            Some((time, event)) => self.before(shard, time, event),
            None => self.after(shard),
        }
    }

    fn before(&mut self, shard: &Shard, time: Time, event: &Event) {
        if let Event::Arrival { port, node, frame } = event {
            let here = Birth { time, node: *node as usize, port: *port as usize };
            if self.journey.is_none() && here == self.birth {
                self.frame = address(frame);
                self.spotlight.light(Some(&frame.packet));
                self.journey = Some(Journey {
                    flow: flow_of(shard, frame.connection),
                    by_client: frame.notes.by_client(),
                    hops: Vec::new(),
                    end: End::Underway,
                });
            }
            if address(frame) == self.frame {
                self.arrives(shard, here, frame);
            }
        }
        let hop = self.journey.as_ref().and_then(|journey| journey.hops.last());
        let at_its_switch = hop.is_some_and(|hop| hop.left.is_none() && hop.node == event.node() as usize);
        self.ledger = at_its_switch.then(|| shard.env.tally.ledger.clone());
    }

    fn arrives(&mut self, shard: &Shard, at: Birth, frame: &NetFrame) {
        let Some(journey) = &mut self.journey else { return };
        if !matches!(shard.nodes[at.node], Node::Switch(_)) {
            journey.end = End::Delivered { time: at.time, node: at.node };
            return;
        }
        journey.hops.push(Hop {
            node: at.node,
            ingress_port: at.port,
            arrived: at.time,
            before: frame.packet.clone(),
            seen: Seen::default(),
            queued: None,
            left: None,
            marked: false,
        });
    }

    fn after(&mut self, shard: &Shard) {
        let (Some(ledger), Some(journey)) = (self.ledger.take(), &mut self.journey) else { return };
        let Some(hop) = journey.hops.last_mut() else { return };
        let Node::Switch(switch) = &shard.nodes[hop.node] else { return };
        let seen = self.spotlight.take();
        let sent = seen.stages.contains(&Stage::Egress);
        hop.seen.stages.extend(seen.stages);
        hop.seen.events.extend(seen.events);
        let now = shard.env.now;
        if shard.env.frames.holds_lately(self.frame as *const NetFrame) {
            let (port, reason) = new_loss(&ledger, &shard.env.tally.ledger, hop.node).unwrap_or((None, Reason::NoLink));
            journey.end = End::Lost { time: now, port, reason };
            return;
        }
        if !sent {
            if hop.queued.is_none() {
                hop.queued = waits_at(switch, self.frame);
            }
            return;
        }
        let departing = shard.env.events.find_map(|event| match event {
            Event::Arrival { frame, port, node } if address(frame) == self.frame => {
                Some(((*node as usize, *port as usize), frame.packet.clone()))
            }
            _ => None,
        });
        let Some((to, packet)) = departing else { return };
        let from = self.lines.iter().find(|line| line[0].0 == hop.node && line[1] == to);
        if let Some(&[(_, port), _]) = from {
            let depth = switch.switch.depth(port);
            let found = Depth::default();
            hop.queued.get_or_insert(Queued { port, found, left: found }).left = depth;
        }
        hop.marked = became_marked(frame_ecn(&hop.before), &packet);
        hop.left = Some((now, packet));
    }
}

/// The flow that started last on a connection.
fn flow_of(shard: &Shard, connection: u32) -> Option<u32> {
    let later = shard.env.tally.reused.iter().rev().find(|&&(each, _, _)| each == connection);
    later.map(|&(_, _, flow)| flow).or_else(|| shard.env.shared.opener(connection))
}

/// The port where a frame that has just come waits, with what it found there.
fn waits_at(switch: &SwitchNode, frame: usize) -> Option<Queued> {
    (0..switch.ports.len()).find_map(|port| {
        let mut bytes = None;
        switch.switch.for_each_waiting(port, |each| {
            if address(each) == frame {
                bytes = Some(each.packet.len() as u64);
            }
        });
        let depth = switch.switch.depth(port);
        let found = |bytes| Depth { packets: depth.packets - 1, bytes: depth.bytes - bytes };
        bytes.map(|bytes| Queued { port, found: found(bytes), left: Depth::default() })
    })
}

/// A loss at a node that a later ledger has and an earlier one has not.
fn new_loss(earlier: &Ledger, later: &Ledger, node: usize) -> Option<(Option<usize>, Reason)> {
    let before: HashMap<_, _> =
        earlier.iter().map(|(node, port, reason, packets)| ((node, port, reason), packets)).collect();
    let more = |&(at, port, reason, packets): &(usize, Option<usize>, Reason, u64)| {
        at == node && before.get(&(at, port, reason)).is_none_or(|&before| packets > before)
    };
    later.iter().find(more).map(|(_, port, reason, _)| (port, reason))
}
