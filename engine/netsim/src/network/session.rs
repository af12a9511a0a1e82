// SPDX-License-Identifier: MIT OR Apache-2.0
//! A run in steps, on one thread, for those who look at it or change it: how the network stands at any time, what happens
//! to one packet, and what a controller writes into a switch.
//!
//! A session handles the same events in the same order as [`Network::run`], so it shows that run. A packet is looked for
//! first ([`Session::find`]), and followed in another session, or a copy of this one, that has not come so far
//! ([`Session::follow`]): what it did before it was found is past by then.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use hdrhistogram::Histogram;
use marklab_pipeline::Spotlight;
use marklab_units::{Duration, Time};

use super::env::Env;
use super::event::Event;
use super::journey::{Birth, Follower, Journey, Sighting, Wanted, Watched, address};
use super::outcome::Ended;
use super::reused::Reused;
use super::shard::{Node, Shard};
use super::view::{LineView, lines_now, show};
use super::{NetSwitch, Network, Outcome, Progress, RunError};
use crate::events::EventQueue;
use crate::ledger::Ledger;
use crate::packet_trace::{PacketTrace, TracePackets};
use crate::tcp::{CaState, SenderStats};

/// Events after which a run looks at [`Progress`].
const PROGRESS_EVENTS: u64 = 1 << 14;
/// The end of an instant: events at it are earlier.
const INSTANT: Duration = Duration::from_nanos(1);
/// A time that is not before the end of any run.
const ALWAYS: Time = Time::from_nanos(u64::MAX - 1);

/// A run in steps.
pub struct Session {
    shard: Shard,
    /// Node and port of both ends of each line.
    lines: Vec<[(usize, usize); 2]>,
    /// Node and port of each trace, in the order of the description.
    traces: Vec<(usize, usize)>,
    trace_flows_ns: Option<u64>,
    sampled: bool,
    /// End of the run, as far as it is known.
    stop: Time,
    /// That end, if the last flow has set it.
    end: Option<Time>,
    ended: bool,
}

/// The sender of a flow.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct SenderView {
    /// Congestion window in bytes.
    pub cwnd: u64,
    /// Slow-start threshold in bytes; the largest number if there was no reduction yet.
    pub ssthresh: u64,
    /// Bytes under way, as the sender counts them.
    pub pipe: u64,
    /// Bytes acknowledged, of all flows of the connection.
    pub acknowledged: u64,
    /// Smoothed round-trip time, if one was measured.
    pub srtt: Option<Duration>,
    /// DCTCP's alpha; 0 for controls without one.
    pub alpha: f64,
    /// State of congestion control.
    pub state: CaState,
    /// Counts of the connection.
    pub stats: SenderStats,
}

impl Session {
    /// A network before its first event.
    pub fn new(network: Network) -> Session {
        let Network { shared, nodes, events, lines, traces, stop, trace_flows_ns, sampled } = network;
        let mut env = Env::new(&shared, trace_flows_ns, EventQueue::new());
        for (time, event) in events {
            env.events.push(time, event);
        }
        let shard = Shard { env, nodes, handled: 0 };
        let ended = shared.flows.is_empty() && shared.probes.is_empty();
        Session { shard, lines, traces, trace_flows_ns, sampled, stop, end: None, ended }
    }

    /// Time of the last event.
    pub fn now(&self) -> Time {
        self.shard.env.now
    }

    /// Events handled.
    pub fn events(&self) -> u64 {
        self.shard.handled
    }

    /// Flows finished.
    pub fn finished(&self) -> usize {
        self.shard.env.tally.finished
    }

    /// Flows of the run.
    pub fn flows(&self) -> usize {
        self.shard.env.shared.flows.len()
    }

    /// Whether the run has ended.
    pub fn ended(&self) -> bool {
        self.ended
    }

    /// Node and port of both ends of each line.
    pub fn lines(&self) -> &[[(usize, usize); 2]] {
        &self.lines
    }

    /// Handles the events up to a time, at most `most` of them. Returns whether it has handled all up to that time.
    ///
    /// # Errors
    ///
    /// [`RunError::Assertion`] if an assertion of the program did not hold.
    pub fn run(&mut self, until: Time, most: u64) -> Result<bool, RunError> {
        let goal = self.shard.handled.saturating_add(most);
        while !self.ended {
            let left = goal - self.shard.handled;
            if left == 0 {
                return Ok(false);
            }
            let last = self.last_flow();
            let more = self.shard.run(self.limit(until), left, last);
            self.after_events(last)?;
            let finished_just_now = last != usize::MAX && self.finished() == last;
            if !more && !finished_just_now {
                self.ended |= until >= self.stop;
                break;
            }
        }
        Ok(true)
    }

    /// The number of finished flows at which the end of the run is known; the largest number once it is.
    fn last_flow(&self) -> usize {
        let flows = self.shard.env.shared.flows.len();
        if self.finished() == flows { usize::MAX } else { flows }
    }

    /// As every run, this one goes on for one lookahead after the last flow.
    fn after_events(&mut self, last: usize) -> Result<(), RunError> {
        let env = &mut self.shard.env;
        if env.tally.finished == last {
            let end = env.tally.last_finish + env.shared.plan.lookahead().window;
            self.end = (end <= self.stop).then_some(end);
            self.stop = self.stop.min(end);
        }
        match env.tally.failure.take() {
            Some((_, _, error)) => {
                self.ended = true;
                Err(error)
            }
            None => Ok(()),
        }
    }

    fn limit(&self, until: Time) -> Time {
        until.min(self.stop) + INSTANT
    }

    /// [`Session::run`] for all events up to a time, with progress that others see.
    ///
    /// # Errors
    ///
    /// As [`Session::run`], and [`RunError::Cancelled`].
    pub fn run_shown(&mut self, until: Time, progress: &Progress) -> Result<(), RunError> {
        loop {
            let done = self.run(until, PROGRESS_EVENTS)?;
            progress.finished.store(self.finished() as u64, Ordering::Relaxed);
            progress.now_ns.store(self.now().nanos(), Ordering::Relaxed);
            show(progress, &self.shard, &self.lines);
            if progress.cancel.load(Ordering::Relaxed) && !self.ended {
                return Err(RunError::Cancelled);
            }
            if done {
                return Ok(());
            }
        }
    }

    /// A switch, whose tables and registers may be read and changed between two steps. `None` for a host.
    pub fn switch(&mut self, node: usize) -> Option<&mut NetSwitch> {
        match self.shard.nodes.get_mut(node)? {
            Node::Switch(switch) => Some(&mut switch.switch),
            Node::Host(_) | Node::Elsewhere => None,
        }
    }

    /// Round-trip times so far, as in [`Outcome::rtts`].
    pub fn rtts(&self) -> &Histogram<u64> {
        &self.shard.env.tally.rtts
    }

    /// What was observed, as [`Network::run`] gives it.
    ///
    /// # Errors
    ///
    /// If a capture could not be written.
    ///
    /// # Panics
    ///
    /// If the run has not ended.
    pub fn outcome(self) -> Result<Outcome, RunError> {
        assert!(self.ended, "a run that has ended");
        let Session { shard, lines, traces, trace_flows_ns, sampled, end, .. } = self;
        let Shard { env, nodes, handled: events } = shard;
        let Env { shared, tally, now, .. } = env;
        Ended { nodes, tally, lines, traces, sampled, events, end: end.unwrap_or(now) }.outcome(&shared, trace_flows_ns)
    }

    /// How the lines stand now, in the order of [`Session::lines`].
    pub fn view(&self) -> Vec<LineView> {
        lines_now(&self.shard, &self.lines)
    }

    /// The sender of a flow, if it is the flow that started last on its connection. `None` for queue pairs.
    pub fn sender(&self, flow: u32) -> Option<SenderView> {
        let Node::Host(host) = &self.shard.nodes[self.shard.env.shared.flows.get(flow as usize)?.src] else {
            return None;
        };
        let client = host.clients.iter().flatten().find(|client| client.latest_flow == flow && client.has_begun())?;
        let sender = &client.sender;
        let window = sender.window();
        Some(SenderView {
            cwnd: window.cwnd,
            ssthresh: window.ssthresh,
            pipe: sender.pipe(),
            acknowledged: sender.snd_una(),
            srtt: sender.rtt().srtt(),
            alpha: sender.control().alpha().unwrap_or_default(),
            state: sender.state(),
            stats: sender.stats,
        })
    }

    /// Records packets from now on, in place of those that were recorded so far.
    ///
    /// # Panics
    ///
    /// If there is no such flow.
    pub fn record(&mut self, traced: TracePackets) {
        let flows = self.shard.env.shared.flows.len();
        assert!(traced.flow.is_none_or(|flow| (flow as usize) < flows), "a flow of the list");
        self.shard.env.tally.packet_trace = Some(Box::new(PacketTrace::new(traced.last)));
        for node in &mut self.shard.nodes {
            if let Node::Switch(switch) = node {
                switch.recorded = true;
            }
        }
        let shared = Arc::get_mut(&mut self.shard.env.shared).expect("a session has only one shard");
        shared.trace_packets = Some(traced);
    }

    /// The packets that were recorded so far, if the description asks for it.
    pub fn packets(&self) -> Option<PacketTrace> {
        let (trace, shared) = (self.shard.env.tally.packet_trace.as_deref()?, &self.shard.env.shared);
        let mut trace = trace.clone();
        let reused = Reused::of(&self.shard.env.tally);
        let only = shared.trace_packets.as_ref().and_then(|traced| traced.flow);
        trace.finish(only, |connection, time| reused.flow(shared, connection, time));
        Some(trace)
    }

    /// All losses so far.
    pub fn ledger(&self) -> &Ledger {
        &self.shard.env.tally.ledger
    }

    // Packets

    /// Handles the next event, if it is not after `until`, and calls `look` before and after it: with the event,
    /// and without one.
    fn step(&mut self, until: Time, mut look: impl FnMut(&Shard, Option<(Time, &Event)>)) -> Result<bool, RunError> {
        let last = self.last_flow();
        let limit = self.limit(until);
        if !self.shard.env.events.moves_before(limit) {
            self.ended |= until >= self.stop;
            return Ok(false);
        }
        look(&self.shard, self.shard.env.events.next());
        self.shard.run(limit, 1, usize::MAX);
        look(&self.shard, None);
        self.after_events(last)?;
        Ok(true)
    }

    /// Runs on to the first packet that does what is wanted at a port of a switch, at `from` or later. `None` if there is
    /// none until the end of the run, or if the node is no switch.
    ///
    /// # Errors
    ///
    /// As [`Session::run`].
    pub fn find(&mut self, node: usize, port: usize, from: Time, wanted: Wanted) -> Result<Option<Sighting>, RunError> {
        if !matches!(&self.shard.nodes[node], Node::Switch(switch) if port < switch.ports.len()) {
            return Ok(None);
        }
        let from_host: Vec<_> = self.lines.iter().filter(|[from, _]| self.is_host(from.0)).map(|[_, to]| *to).collect();
        let mut births = HashMap::new();
        let mut watched: Option<Watched> = None;
        let mut found = None;
        while found.is_none() {
            let goes_on = self.step(ALWAYS, |shard, event| match event {
                Some((time, event)) => {
                    if let &Event::Arrival { port: to, node: at, ref frame } = event
                        && from_host.contains(&(at as usize, to as usize))
                    {
                        let birth = Birth { time, node: at as usize, port: to as usize };
                        births.insert(address(frame), birth);
                    }
                    let here = time >= from && event.node() as usize == node;
                    watched = here.then(|| Watched::before(shard, node, port, event));
                }
                None => {
                    let taken = watched.take().and_then(|watched| watched.after(shard, node, port, wanted));
                    found = taken.map(|frame| Sighting { time: shard.env.now, birth: births.get(&frame).copied() });
                }
            })?;
            if !goes_on {
                break;
            }
        }
        Ok(found)
    }

    fn is_host(&self, node: usize) -> bool {
        matches!(self.shard.nodes[node], Node::Host(_))
    }

    /// Runs on through all that happens to the packet of a birth, in switches that run the engine `spotlight`. `None` if no
    /// packet arrives there at that time, or if that is past.
    ///
    /// # Errors
    ///
    /// As [`Session::run`].
    pub fn follow(&mut self, spotlight: &Arc<Spotlight>, birth: Birth) -> Result<Option<Journey>, RunError> {
        // All events before it, and none at its time.
        let before = Time::from_nanos(birth.time.nanos().saturating_sub(1));
        while !self.run(before, u64::MAX)? {}
        let mut follower = Follower::new(spotlight.clone(), &self.lines, birth);
        while follower.goes_on(self.now()) && self.step(ALWAYS, |shard, event| follower.look(shard, event))? {}
        spotlight.light(None);
        Ok(follower.into_journey())
    }
}
