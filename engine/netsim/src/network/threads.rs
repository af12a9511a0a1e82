// SPDX-License-Identifier: MIT OR Apache-2.0
//! The run: shards in threads, window by window. A thread serves its shards one after the other.
//!
//! All threads handle the events of a window, which is as long as the lookahead: what a node does in it can concern nodes
//! of other groups only after it. Then they exchange the events for each other's nodes. There is one barrier per window,
//! and no lock is ever waited for.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;

use marklab_units::{Duration, Time};

use super::env::{Env, Event, Shared, Tally};
use super::outbox::Outbox;
use super::outcome::Ended;
use super::partition::Partition;
use super::shard::{Node, Shard};
use super::{Network, Outcome, Progress, RunError};

/// Events of a window after which a single thread looks at [`Progress`].
const PROGRESS_EVENTS: u64 = 1 << 14;
/// Windows after which the partition is made anew, by what its lines have carried.
const FIRST_WINDOWS: u64 = 200;
/// The shortest window: events of one instant.
const INSTANT: Duration = Duration::from_nanos(1);
/// No event, or a time beyond all events.
const NEVER: Time = Time::from_nanos(u64::MAX);
/// Times that a thread looks at the barrier before it sleeps: some tens of us.
const LOOKS: u32 = 10_000;

impl Network {
    /// Runs until all flows have finished, or until the end given in the [`Config`]. A run goes on for one lookahead after
    /// the last flow.
    ///
    /// # Errors
    ///
    /// If the run was cancelled, a capture could not be written, or an assertion of the program did not hold. Then
    /// there is no outcome.
    ///
    /// [`Config`]: crate::Config
    pub fn run(self, progress: &Progress) -> Result<Outcome, RunError> {
        self.run_on(progress, 1)
    }

    /// [`Network::run`] on so many threads, or on fewer if the network has not so many parts. The outcome is the same for
    /// any number.
    ///
    /// # Errors
    ///
    /// Those of [`Network::run`].
    pub fn run_on(self, progress: &Progress, threads: usize) -> Result<Outcome, RunError> {
        let Network { shared, mut nodes, mut events, lines, traces, stop, trace_flows_ns, sampled } = self;
        let partition = Partition::new(&shared, &lines, nodes.len());
        let threads = threads.clamp(1, partition.parts());
        let count = partition.shards(threads);
        let windows = if count == 1 { u64::MAX } else { FIRST_WINDOWS };
        let mut run = Run { shared: &shared, progress, stop, windows };
        let mut tally = Tally::new(&shared, trace_flows_ns);
        let mut handled = 0;
        let mut end = Time::ZERO;
        loop {
            let weights = partition.weights(&nodes);
            let shards = Arc::new(partition.cut(&weights, count));
            let shards = split(&shared, trace_flows_ns, nodes, events, &shards, count);
            let (shards, ended) = run.windows(shards, threads, tally.finished, tally.last_finish);
            (nodes, events) = (Vec::new(), Vec::new());
            for shard in shards {
                handled += shard.handled;
                end = end.max(shard.env.now);
                merge(shard, &mut nodes, &mut events, &mut tally);
            }
            if let Some(end_of_run) = ended {
                end = end_of_run.unwrap_or(end);
                break;
            }
            run.windows = u64::MAX;
        }
        if let Some((_, _, error)) = tally.failure {
            return Err(error);
        }
        if progress.cancel.load(Ordering::Relaxed) && tally.finished < shared.flows.len() {
            return Err(RunError::Cancelled);
        }
        progress.finished.store(tally.finished as u64, Ordering::Relaxed);
        let mut last = Env::new(&shared, trace_flows_ns, None);
        last.now = end;
        for node in &nodes {
            if let Node::Host(host) = node {
                host.record_unfinished(&mut last);
            }
        }
        tally.merge(last.tally);
        Ended { nodes, tally, lines, traces, sampled, events: handled, end }.outcome(&shared)
    }
}

/// What all threads of a run know.
struct Run<'a> {
    shared: &'a Arc<Shared>,
    progress: &'a Progress,
    stop: Time,
    /// Windows to run.
    windows: u64,
}

/// What a shard says between two windows.
#[derive(Default)]
struct Said {
    /// Time of its next event, or of the next one that it has for others.
    next: AtomicU64,
    finished: AtomicU64,
    last_finish: AtomicU64,
    failed: AtomicBool,
}

/// Events of a shard for each shard.
type Letters = Vec<Mutex<Vec<(Time, Event)>>>;

/// Where shards meet. What belongs to windows of even numbers and of odd numbers is kept apart: a shard may already write
/// for the next window while others still read for this one.
struct Meeting {
    said: [Vec<Said>; 2],
    /// Events from each shard for each other one.
    letters: [Vec<Letters>; 2],
    /// Whether there are any, by the shard that they are for, and then by the one that they are from.
    written: [Vec<AtomicBool>; 2],
    barrier: Barrier,
    cancelled: [AtomicBool; 2],
}

impl Meeting {
    fn new(shards: usize, threads: usize) -> Meeting {
        let said = || (0..shards).map(|_| Said::default()).collect();
        let letters = || (0..shards).map(|_| (0..shards).map(|_| Mutex::default()).collect()).collect();
        let written = || (0..shards * shards).map(|_| AtomicBool::new(false)).collect();
        Meeting {
            said: [said(), said()],
            letters: [letters(), letters()],
            written: [written(), written()],
            barrier: Barrier::new(threads as u64),
            cancelled: Default::default(),
        }
    }
}

impl Run<'_> {
    /// Runs shards through windows, until the run has ended or so many windows are over. Returns the shards, and whether the
    /// run has ended: if so, with the time that its end was set to, if it was.
    fn windows(
        &self,
        mut shards: Vec<Shard>,
        threads: usize,
        finished: usize,
        last: Time,
    ) -> (Vec<Shard>, Option<Option<Time>>) {
        let meeting = Meeting::new(shards.len(), threads);
        let before = (finished as u64, last);
        // Shards of about the same weight: each thread gets as many, up to one.
        let mut parts = Vec::with_capacity(threads);
        for thread in (0..threads).rev() {
            let first = thread * shards.len() / (thread + 1);
            parts.push((first, shards.split_off(first)));
        }
        let (first, mut own) = parts.pop().expect("there is at least one thread");
        let (ended, others) = thread::scope(|scope| {
            let others: Vec<_> = parts
                .into_iter()
                .map(|(first, mut shards)| {
                    let meeting = &meeting;
                    scope.spawn(move || {
                        self.thread(meeting, first, &mut shards, before);
                        if let Some(clock) = self.progress.clock {
                            self.progress.other_threads_ns.fetch_add(clock(), Ordering::Relaxed);
                        }
                        shards
                    })
                })
                .collect();
            let ended = self.thread(&meeting, first, &mut own, before);
            let joined: Vec<_> = others.into_iter().map(thread::ScopedJoinHandle::join).collect();
            (ended, joined)
        });
        for other in others {
            own.extend(other.unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        (own, ended)
    }

    /// A thread's part in [`Run::windows`]: shards from the number `first` on.
    fn thread(
        &self,
        meeting: &Meeting,
        first: usize,
        shards: &mut [Shard],
        (before, last_before): (u64, Time),
    ) -> Option<Option<Time>> {
        let _guard = meeting.barrier.guard();
        let lookahead = self.shared.plan.lookahead().window;
        let flows = self.shared.flows.len() as u64;
        // Events at the stop are handled.
        let mut limit = self.stop + INSTANT;
        let mut end = None;
        for window in 0..self.windows {
            let parity = (window % 2) as usize;
            let said = &meeting.said[parity];
            for (number, shard) in shards.iter_mut().enumerate() {
                speak(meeting, parity, first + number, shard);
            }
            if first == 0 {
                meeting.cancelled[parity].store(self.progress.cancel.load(Ordering::Relaxed), Ordering::Relaxed);
            }
            meeting.barrier.wait(window);
            for (number, shard) in shards.iter_mut().enumerate() {
                receive(meeting, parity, first + number, shard);
            }
            let finished = before + said.iter().map(|said| said.finished.load(Ordering::Relaxed)).sum::<u64>();
            if end.is_none() && finished == flows {
                let last = said.iter().map(|said| said.last_finish.load(Ordering::Relaxed)).max().unwrap_or(0);
                let last = last_before.max(Time::from_nanos(last)) + lookahead;
                if last <= self.stop {
                    limit = last + INSTANT;
                    end = Some(last);
                }
            }
            let next = said.iter().map(|said| said.next.load(Ordering::Relaxed)).min().unwrap_or(u64::MAX);
            if first == 0 {
                self.progress.finished.store(finished, Ordering::Relaxed);
                self.progress.now_ns.store(next.min(limit.nanos()), Ordering::Relaxed);
            }
            let failed = said.iter().any(|said| said.failed.load(Ordering::Relaxed));
            let cancelled = meeting.cancelled[parity].load(Ordering::Relaxed);
            if next >= limit.nanos() || failed || cancelled {
                return Some(end);
            }
            // A single shard needs no windows, but has to know when the last flow ends.
            let (until, last) = match (said.len(), end) {
                (1, None) => (limit, flows as usize),
                _ => ((Time::from_nanos(next) + lookahead.max(INSTANT)).min(limit), usize::MAX),
            };
            for shard in &mut *shards {
                while shard.run(until, PROGRESS_EVENTS, last) && !self.is_over(first == 0, before, shard) {}
            }
        }
        None
    }

    /// Whether a shard in a long window has to stop. The first thread reports its progress.
    fn is_over(&self, reports: bool, before: u64, shard: &Shard) -> bool {
        if reports {
            let finished = before + shard.env.tally.finished as u64;
            self.progress.finished.fetch_max(finished, Ordering::Relaxed);
            self.progress.now_ns.store(shard.env.now.nanos(), Ordering::Relaxed);
        }
        shard.env.tally.failure.is_some() || self.progress.cancel.load(Ordering::Relaxed)
    }
}

/// Says what others need to know of a shard, and hands over events for their nodes.
fn speak(meeting: &Meeting, parity: usize, own: usize, shard: &mut Shard) {
    let next = shard.env.events.next_time();
    let earliest = shard.env.outbox.as_mut().and_then(|outbox| outbox.earliest.take());
    let said = &meeting.said[parity][own];
    let next = [next, earliest].into_iter().flatten().min().unwrap_or(NEVER);
    said.next.store(next.nanos(), Ordering::Relaxed);
    said.finished.store(shard.env.tally.finished as u64, Ordering::Relaxed);
    said.last_finish.store(shard.env.tally.last_finish.nanos(), Ordering::Relaxed);
    said.failed.store(shard.env.tally.failure.is_some(), Ordering::Relaxed);
    let letters = shard.env.outbox.iter_mut().flat_map(|outbox| &mut outbox.letters);
    for (to, (letters, place)) in letters.zip(&meeting.letters[parity][own]).enumerate() {
        if !letters.is_empty() {
            std::mem::swap(&mut *place.lock().unwrap_or_else(PoisonError::into_inner), letters);
            meeting.written[parity][to * meeting.said[parity].len() + own].store(true, Ordering::Relaxed);
        }
    }
}

/// Takes the events that other shards have for a shard.
fn receive(meeting: &Meeting, parity: usize, own: usize, shard: &mut Shard) {
    let count = meeting.said[parity].len();
    let written = &meeting.written[parity][own * count..][..count];
    for (from, written) in written.iter().enumerate().filter(|(_, written)| written.load(Ordering::Relaxed)) {
        written.store(false, Ordering::Relaxed);
        let place = &meeting.letters[parity][from][own];
        for (time, event) in place.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
            shard.env.events.push(time, event);
        }
    }
}

/// Makes shards of all nodes and their events. `shard_of` has the shard of each node.
fn split(
    shared: &Arc<Shared>,
    trace_flows_ns: Option<u64>,
    nodes: Vec<Node>,
    events: Vec<(Time, Event)>,
    shard_of: &Arc<Vec<u16>>,
    count: usize,
) -> Vec<Shard> {
    let outbox = |own: usize| (count > 1).then(|| Box::new(Outbox::new(own as u16, shard_of.clone(), count)));
    let mut shards: Vec<Shard> = (0..count)
        .map(|own| Shard {
            env: Env::new(shared, trace_flows_ns, outbox(own)),
            nodes: Vec::with_capacity(nodes.len()),
            handled: 0,
        })
        .collect();
    for (number, node) in nodes.into_iter().enumerate() {
        for shard in &mut shards {
            shard.nodes.push(Node::Elsewhere);
        }
        shards[usize::from(shard_of[number])].nodes[number] = node;
    }
    for (time, event) in events {
        shards[usize::from(shard_of[event.node() as usize])].env.events.push(time, event);
    }
    shards
}

/// Takes a shard apart.
fn merge(shard: Shard, nodes: &mut Vec<Node>, events: &mut Vec<(Time, Event)>, tally: &mut Tally) {
    let Shard { mut env, nodes: own, .. } = shard;
    if nodes.is_empty() {
        *nodes = own;
    } else {
        for (place, node) in nodes.iter_mut().zip(own) {
            if !matches!(node, Node::Elsewhere) {
                *place = node;
            }
        }
    }
    // In order, so that those of a node stay in their order.
    events.extend(std::iter::from_fn(|| env.events.pop_before(NEVER)));
    events.extend(env.outbox.into_iter().flat_map(|outbox| outbox.letters).flatten());
    tally.merge(env.tally);
}

/// A barrier for threads that meet often. Those that wait look again and again for a short time, and then sleep.
struct Barrier {
    threads: u64,
    /// Times that a thread looks before it sleeps: none if it keeps the others from running.
    looks: u32,
    arrived: AtomicU64,
    /// Whether a thread has panicked, so that it will never arrive.
    broken: AtomicBool,
    lock: Mutex<()>,
    changed: Condvar,
}

impl Barrier {
    fn new(threads: u64) -> Barrier {
        let cores = thread::available_parallelism().map_or(1, |cores| cores.get() as u64);
        Barrier {
            threads,
            looks: if threads <= cores { LOOKS } else { 0 },
            arrived: AtomicU64::new(0),
            broken: AtomicBool::new(false),
            lock: Mutex::new(()),
            changed: Condvar::new(),
        }
    }

    /// Waits until all threads have come to their `number`-th meeting, counted from 0.
    fn wait(&self, number: u64) {
        let all = (number + 1) * self.threads;
        if self.arrived.fetch_add(1, Ordering::AcqRel) + 1 == all {
            return self.wake();
        }
        let over = || self.arrived.load(Ordering::Acquire) >= all || self.broken.load(Ordering::Relaxed);
        if !(0..self.looks).any(|_| {
            over() || {
                std::hint::spin_loop();
                false
            }
        }) {
            let locked = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
            drop(self.changed.wait_while(locked, |()| !over()));
        }
        assert!(!self.broken.load(Ordering::Relaxed), "another thread of the run has panicked");
    }

    /// Wakes those that sleep.
    fn wake(&self) {
        drop(self.lock.lock());
        self.changed.notify_all();
    }

    /// Breaks the barrier if the thread panics while it has this.
    fn guard(&self) -> BreaksInPanic<'_> {
        BreaksInPanic(self)
    }
}

struct BreaksInPanic<'a>(&'a Barrier);

impl Drop for BreaksInPanic<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.broken.store(true, Ordering::Relaxed);
            self.0.wake();
        }
    }
}
