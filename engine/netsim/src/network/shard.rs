// SPDX-License-Identifier: MIT OR Apache-2.0
//! A shard: some of the nodes, and the loop that handles their events.

use marklab_units::Time;

use super::env::Env;
use super::event::Event;
use super::hosts::Host;
use super::switches::SwitchNode;

/// A node, or the place of one that belongs to another shard.
pub(super) enum Node {
    Host(Box<Host>),
    Switch(Box<SwitchNode>),
    Elsewhere,
}

/// Nodes with their pending events.
pub(super) struct Shard {
    pub(super) env: Env,
    /// By the numbers of all nodes.
    pub(super) nodes: Vec<Node>,
    /// Events handled.
    pub(super) handled: u64,
}

impl Shard {
    /// Handles the events before `limit`, at most `most` of them, and none after the one by which so many flows have
    /// `finished`. Returns whether any are left.
    // One loop, into which the handling is inlined: so an event does not go through memory. There is no other one, as then
    // what is called from two places would no longer be inlined in either.
    #[inline(never)]
    pub(super) fn run(&mut self, limit: Time, most: u64, finished: usize) -> bool {
        let mut left = most;
        let more = loop {
            if left == 0 {
                break true;
            }
            let Some((time, event)) = self.env.events.pop_before(limit) else { break false };
            left -= 1;
            self.env.now = time;
            self.handle(event);
            if self.env.tally.finished == finished {
                break false;
            }
        };
        self.handled += most - left;
        more
    }

    /// Prefetches the connection of a frame that will arrive at a host.
    #[inline(always)]
    pub(super) fn expect(&self, event: &Event) {
        if let Event::Arrival { node, frame, .. } = event
            && let Node::Host(host) = &self.nodes[*node as usize]
        {
            host.expect(&self.env.shared, frame);
        }
    }

    #[inline(always)]
    fn handle(&mut self, event: Event) {
        let env = &mut self.env;
        match event {
            Event::Arrival { port, node, frame } => match &mut self.nodes[node as usize] {
                Node::Switch(switch) => switch.receives(env, port.into(), frame),
                Node::Host(host) => host.receives(env, frame),
                Node::Elsewhere => elsewhere(),
            },
            Event::Free { port, node } => match &mut self.nodes[node as usize] {
                Node::Switch(switch) => switch.line_is_free(env, port.into()),
                Node::Host(host) => host.line_is_free(env),
                Node::Elsewhere => elsewhere(),
            },
            Event::Pause { port, node, frame } => match &mut self.nodes[node as usize] {
                Node::Switch(switch) => switch.pause(env, port.into(), &frame),
                Node::Host(host) => host.pause(env, &frame),
                Node::Elsewhere => elsewhere(),
            },
            Event::ArrivalsEnd { node } => self.nodes[node as usize].arrivals_end(),
            Event::PauseLeaves { port, node } => self.nodes[node as usize].switch().pause_leaves(env, port.into()),
            Event::Discard { port, node } => self.nodes[node as usize].switch().discard_waiting(env, port.into()),
            Event::Sample { node } => self.nodes[node as usize].switch().sample(env),
            Event::Release { node, server } => self.nodes[node as usize].host().release(env, server),
            Event::ClientTimer { node, client } => self.nodes[node as usize].host().client_timer(env, client),
            Event::ServerTimer { node, server } => self.nodes[node as usize].host().server_timer(env, server),
            Event::HandUp { node, server } => self.nodes[node as usize].host().merge_timer(env, server),
            Event::Write { node, client } => self.nodes[node as usize].host().write_more(env, client),
            Event::Start { node } => self.nodes[node as usize].host().start_next(env),
            Event::Follow { node, number, connection } => {
                self.nodes[node as usize].host().follow(env, number, connection);
            }
            Event::Notice { open, node, flow, connection } => {
                self.nodes[node as usize].host().learns(env, flow, connection, open);
            }
            Event::Freed { node, flow, connection } => self.nodes[node as usize].host().keep(env, flow, connection),
            Event::Probe { node, number } => self.nodes[node as usize].host().send_probe(env, number),
            Event::PairWrite { node, pair } => self.nodes[node as usize].host().write_message(env, pair),
            Event::PairHear { node, pair } => self.nodes[node as usize].host().hear(env, pair),
            Event::PairTimer { node, pair } => self.nodes[node as usize].host().pair_timer(env, pair),
            Event::Pace { node } => self.nodes[node as usize].host().pace(env),
        }
    }
}

impl Node {
    /// The host; the caller knows that it is one.
    #[inline(always)]
    pub(super) fn host(&mut self) -> &mut Host {
        match self {
            Node::Host(host) => host,
            _ => elsewhere(),
        }
    }

    /// The switch; the caller knows that it is one.
    #[inline(always)]
    pub(super) fn switch(&mut self) -> &mut SwitchNode {
        match self {
            Node::Switch(switch) => switch,
            _ => elsewhere(),
        }
    }

    /// Notes how long its lines have been busy.
    fn arrivals_end(&mut self) {
        match self {
            Node::Host(host) => host.busy_during_arrivals = host.line.stats().busy,
            Node::Switch(switch) => {
                for port in &mut switch.ports {
                    port.busy_during_arrivals =
                        port.line.as_ref().map_or_else(Default::default, |line| line.stats().busy);
                }
            }
            Node::Elsewhere => elsewhere(),
        }
    }
}

#[cold]
#[inline(never)]
fn elsewhere() -> ! {
    unreachable!("an event reaches the node, and the kind of node, that it is for")
}
