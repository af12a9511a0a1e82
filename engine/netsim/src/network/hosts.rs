// SPDX-License-Identifier: MIT OR Apache-2.0
//! Hosts: start of flows, connections by number, and what arrives.
//!
//! Each host has its own ends of connections: a client for each connection on which it sends data, a server for each on
//! which it receives data. Hosts tell each other nothing except by frames, with one exception: the host that starts a flow
//! sends a notice, which arrives before the first frame can, and says what applications agree on by other means. So does a notice that a
//! connection is free.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use marklab_observe::CaptureFile;
use marklab_prefetch::prefetch;
use marklab_units::{Duration, Time};

use super::client::Client;
use super::env::{Env, Shared};
use super::event::Event;
use super::flows::OfHost;
use super::line::Line;
use super::nic_queue::{Nic, NicQueue};
use super::pause::PausedLine;
use super::queue_pairs::QueuePairs;
use super::server::Server;
use crate::config::Connections;
use crate::frame::{Delayed, NetFrame};
use crate::ledger::Reason;
use crate::traffic::Flow;
use crate::wire::Segment;

/// A host.
pub(super) struct Host {
    pub(super) node: u32,
    pub(super) line: Line,
    pub(super) nic: Nic,
    pub(super) capture: Option<Box<CaptureFile>>,
    /// Sending ends of connections, by the place of the flow that opened them.
    pub(super) clients: Vec<Option<Box<Client>>>,
    /// Receiving ends.
    pub(super) servers: Vec<Option<Box<Server>>>,
    /// Frames in delay lines between NIC and TCP.
    pub(super) delayed: Delayed,
    /// Persistent connections, by the host to which they lead.
    pools: BTreeMap<usize, Pool>,
    /// Flows that start here, and how many of them have started.
    starts: Vec<u32>,
    started: usize,
    /// Joins at this host of whose waits some have ended, and how many have not.
    joins: BTreeMap<u32, u32>,
    /// Probes that begin or end here.
    pub(super) probes: BTreeMap<u32, ProbeEnd>,
    /// Queue pairs, in runs that use them instead of connections.
    pub(super) pairs: Option<Box<QueuePairs>>,
    /// Pauses, where lines that lead to switches are lossless.
    pub(super) pauses: Option<Box<PausedLine>>,
    /// Time that the line had been busy when the arrivals ended.
    pub(super) busy_during_arrivals: Duration,
}

/// Connections or queue pairs to a host that are kept for later flows.
#[derive(Debug, Default)]
pub(super) struct Pool {
    /// Those that carry no flow, by their numbers. The one opened first is used first.
    pub(super) idle: BinaryHeap<Reverse<u32>>,
    /// Number of those made so far.
    made: u32,
    /// Where flows draw one, those in use, by the number drawn.
    drawn: BTreeMap<u32, u32>,
}

/// A request of a probe.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EchoRecord {
    /// When it was sent.
    pub sent: Time,
    /// Time until its reply; `None` if no reply arrived.
    pub rtt: Option<Duration>,
}

/// One end of a probe: its requests so far, and its packets in the NIC.
#[derive(Debug, Default)]
pub(super) struct ProbeEnd {
    pub(super) records: Vec<EchoRecord>,
    pub(super) nic: NicQueue,
}

/// A number that a flow draws: the same for all schemes, and as good as independent of its place and start (SplitMix64's
/// output function, Steele et al., OOPSLA 2014).
fn lot(number: u32, start_ns: u64) -> u32 {
    let mut mixed = start_ns.wrapping_add(u64::from(number).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((mixed ^ (mixed >> 31)) >> 32) as u32
}

impl Host {
    pub(super) fn new(node: usize, line: Line, flows: OfHost, shared: &Shared) -> Host {
        let [sent, received] = flows.counts.map(|count| if shared.rates.is_some() { 0 } else { count as usize });
        Host {
            node: node as u32,
            line,
            nic: Nic::default(),
            capture: None,
            clients: std::iter::repeat_with(|| None).take(sent).collect(),
            servers: std::iter::repeat_with(|| None).take(received).collect(),
            delayed: Delayed::default(),
            pools: BTreeMap::new(),
            starts: flows.starts,
            started: 0,
            joins: BTreeMap::new(),
            probes: BTreeMap::new(),
            pairs: shared.rates.map(|_| Box::new(QueuePairs::new(flows.counts))),
            pauses: shared.pfc.map(|_| Box::default()),
            busy_during_arrivals: Duration::ZERO,
        }
    }

    /// A client of this host.
    #[inline(always)]
    pub(super) fn client(&mut self, number: u32) -> &mut Client {
        self.clients[number as usize].as_deref_mut().expect("a client that exists")
    }

    /// A server of this host.
    #[inline(always)]
    pub(super) fn server(&mut self, number: u32) -> &mut Server {
        self.servers[number as usize].as_deref_mut().expect("a server that exists")
    }

    /// When the first of its flows starts.
    pub(super) fn first_start(&self, shared: &Shared) -> Option<Time> {
        self.starts.first().map(|&flow| Time::from_nanos(shared.flow(flow).start_ns))
    }

    // Flows

    /// Starts the next flow of this host, and schedules the flow after it.
    pub(super) fn start_next(&mut self, env: &mut Env) {
        let flow = self.starts[self.started];
        self.started += 1;
        if let Some(&next) = self.starts.get(self.started) {
            env.push(Time::from_nanos(env.shared.flow(next).start_ns), Event::Start { node: self.node });
        }
        self.start_flow(env, flow, None);
    }

    /// What this flow or join waited for on a connection has ended: starts the flow, or goes on if the join is reached.
    pub(super) fn follow(&mut self, env: &mut Env, number: u32, connection: u32) {
        let Some((_, waits)) = env.shared.plan.join(number) else {
            return self.start_follower(env, number, connection);
        };
        let missing = self.joins.entry(number).or_insert(waits);
        *missing -= 1;
        if *missing == 0 {
            self.joins.remove(&number);
            self.wake_followers(env, number, connection);
        }
    }

    fn start_follower(&mut self, env: &mut Env, number: u32, connection: u32) {
        env.tally.followed.push((number, env.now));
        let before = env.shared.flow(number).after;
        self.start_flow(env, number, before.filter(|before| before.same_connection).map(|_| connection));
    }

    /// Starts a flow, on a connection for it or on the open connection `asked_on`, over which it is asked for.
    fn start_flow(&mut self, env: &mut Env, number: u32, asked_on: Option<u32>) {
        let flow = *env.shared.flow(number);
        if self.pairs.is_some() {
            return self.start_message(env, number, &flow);
        }
        if let Connections::Asked { .. } = env.shared.mode {
            let connection = asked_on.unwrap_or_else(|| env.shared.connection_of(number));
            self.notify(env, flow.src, number, connection, false);
            return self.ask_for_flow(env, number, &flow, connection);
        }
        let (connection, open) = self.connection_for(env, number, &flow);
        self.notify(env, flow.dst, number, connection, open);
        let client = self.send_flow(env, number, &flow, connection, open);
        self.write_more(env, client);
    }

    /// The connection that carries a flow, an idle one or a new one, and whether a new one is open from the beginning.
    fn connection_for(&mut self, env: &mut Env, number: u32, flow: &Flow) -> (u32, bool) {
        let own = env.shared.connection_of(number);
        let per_pair = match env.shared.mode {
            Connections::Persistent { per_pair } => per_pair,
            Connections::Queued { per_pair } => {
                let lot = lot(number, flow.start_ns) % per_pair;
                return (*self.pool(flow.dst).drawn.entry(lot).or_insert(own), true);
            }
            Connections::New | Connections::Asked { .. } => return (own, false),
        };
        let pool = self.pools.entry(flow.dst).or_default();
        if let Some(Reverse(connection)) = pool.idle.pop() {
            return (connection, true);
        }
        pool.made += 1;
        (own, pool.made <= per_pair)
    }

    /// Tells the source of a flow, whose last byte has arrived here, that its connection is free, if connections are kept.
    pub(super) fn free(&self, env: &mut Env, flow: u32, connection: u32) {
        if let Connections::Persistent { .. } = env.shared.mode {
            let src = env.shared.flow(flow).src;
            let time = env.now + env.shared.plan.notice(self.node as usize, src);
            let node = src as u32;
            env.deliver(time, node, Event::Freed { node, flow, connection });
        }
    }

    /// A connection is free for the next flow to the same host.
    pub(super) fn keep(&mut self, env: &Env, flow: u32, connection: u32) {
        self.pool(env.shared.flow(flow).dst).idle.push(Reverse(connection));
    }

    /// Connections or queue pairs to a host.
    pub(super) fn pool(&mut self, dst: usize) -> &mut Pool {
        self.pools.entry(dst).or_default()
    }

    /// Tells another host of a flow.
    pub(super) fn notify(&self, env: &mut Env, to: usize, flow: u32, connection: u32, open: bool) {
        let time = env.now + env.shared.plan.notice(self.node as usize, to);
        let node = to as u32;
        env.deliver(time, node, Event::Notice { open, node, flow, connection });
    }

    /// The host that starts a flow has told this host of it. A new connection may be `open`.
    pub(super) fn learns(&mut self, env: &mut Env, number: u32, connection: u32, open: bool) {
        let flow = *env.shared.flow(number);
        if self.pairs.is_some() {
            self.expect_message(env, number, &flow, connection);
        } else if flow.src == self.node as usize {
            self.send_flow(env, number, &flow, connection, open);
        } else {
            self.receive_flow(env, number, &flow, connection, open);
        }
    }

    /// The start of a flow that the other host started.
    pub(super) fn noticed_start(env: &Env, flow: &Flow) -> Time {
        Time::from_nanos(env.now.nanos() - env.shared.plan.notice(flow.src, flow.dst).nanos())
    }

    /// Tells those that wait for a flow, whose last byte has arrived on a connection, or for a join, at its host.
    #[inline]
    pub(super) fn wake_followers(&self, env: &mut Env, number: u32, connection: u32) {
        for at in env.shared.plan.followers().of(number) {
            let plan = &env.shared.plan;
            let follower = plan.followers().all[at];
            let node = match plan.join(follower.number) {
                Some((host, _)) => host,
                None => super::flows::starter(env.shared.flow(follower.number), env.shared.mode) as u32,
            };
            let pause = Duration::from_nanos(follower.pause_ns).max(plan.notice(self.node as usize, node as usize));
            let follow = Event::Follow { node, number: follower.number, connection };
            env.deliver(env.now + pause, node, follow);
        }
    }

    // Receiving

    /// Prefetches the connection of a frame that will arrive.
    #[inline(always)]
    pub(super) fn expect(&self, shared: &Shared, frame: &NetFrame) {
        let Some(opener) = shared.opener(frame.connection) else { return };
        if frame.notes.by_client() {
            if let Some(Some(server)) = self.servers.get(shared.plan.server(opener) as usize) {
                prefetch(&**server);
            }
        } else if let Some(Some(client)) = self.clients.get(shared.plan.client(opener) as usize) {
            prefetch(&**client);
        }
    }

    /// A frame arrives. The host relies only on its bytes; the connection's number only helps to find the connection.
    pub(super) fn receives(&mut self, env: &mut Env, frame: Box<NetFrame>) {
        self.capture(env, &frame);
        // Not moved out of the result: a copy directly after the stores of its fields would have to wait for them.
        let parsed = Segment::parse(&frame.packet);
        let segment = match &parsed {
            Ok(segment) => segment,
            Err(malformed) => return self.receives_other(env, frame, *malformed),
        };
        let Some(opener) = env.shared.opener(frame.connection) else {
            return env.lose(self.node, None, Reason::NoConnection, frame);
        };
        let number = env.shared.plan.server(opener);
        if let Some(Some(server)) = self.servers.get_mut(number as usize)
            && server.is_end_of(frame.connection, segment)
        {
            env.tally.ecn.compare(frame.notes.due_as(), segment.ecn);
            if server.extra_delay != Duration::ZERO || !server.delay_line.is_empty() {
                return self.delay(env, number, frame);
            }
            env.frames.give(frame);
            return self.server_receives(env, number, segment, env.now);
        }
        let number = env.shared.plan.client(opener);
        if let Some(Some(client)) = self.clients.get_mut(number as usize)
            && client.is_end_of(frame.connection, segment)
        {
            env.tally.ecn.compare(frame.notes.due_as(), segment.ecn);
            env.frames.give(frame);
            return self.client_receives(env, number, segment);
        }
        env.lose(self.node, None, Reason::NoConnection, frame);
    }

    #[inline]
    pub(super) fn capture(&mut self, env: &mut Env, frame: &NetFrame) {
        if self.capture.is_some() {
            self.write_capture(env, frame);
        }
    }

    #[cold]
    fn write_capture(&mut self, env: &mut Env, frame: &NetFrame) {
        if let Some(Err(error)) = self.capture.as_mut().map(|capture| capture.write(env.now, &frame.packet)) {
            env.fail(self.node, error.into());
        }
    }

    /// Records the results of unfinished flows.
    pub(super) fn record_unfinished(&self, env: &mut Env) {
        for client in self.clients.iter().flatten() {
            client.record_unfinished(env);
        }
        for server in self.servers.iter().flatten() {
            server.record_unfinished(env);
        }
        if let Some(pairs) = &self.pairs {
            pairs.record_unfinished(env);
        }
    }
}
