// SPDX-License-Identifier: MIT OR Apache-2.0
//! The run: shards in threads, window by window. A thread serves its own shards one after the other, and then those that
//! others have not come to.
//!
//! All threads handle the events of a window, which is as long as the lookahead: what a node does in it can concern nodes
//! of other groups only after it. Then they exchange the events for each other's nodes. There is one barrier per window,
//! and no lock is ever waited for.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use marklab_units::{Duration, Time};

use super::env::{Env, Shared, Tally};
use super::event::Event;
use super::outbox::Outbox;
use super::outcome::Ended;
use super::parallelism::{Meter, Parallelism};
use super::partition::{Partition, own_shards};
use super::shard::{Node, Shard};
use super::view::show;
use super::{Network, Outcome, Progress, RunError};
use crate::events::EventQueue;

/// Events of a window after which a single thread looks at [`Progress`].
const PROGRESS_EVENTS: u64 = 1 << 14;
/// Windows after which the partition is made anew, by what its lines have carried.
const FIRST_WINDOWS: u64 = 200;
/// Shards from which on the calendars of all would not stay in the caches.
const MANY_SHARDS: usize = 32;
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
        self.run_measured(progress, threads, None)
    }

    /// [`Network::run`], which also measures how many threads the run could keep busy: each of the numbers in `threads`.
    /// `clock` gives a time in ns.
    ///
    /// # Errors
    ///
    /// Those of [`Network::run`].
    pub fn measure(
        self,
        progress: &Progress,
        threads: &[usize],
        clock: fn() -> u64,
    ) -> Result<(Outcome, Parallelism), RunError> {
        let mut meter = Meter::new(clock, threads);
        let outcome = self.run_measured(progress, 1, Some(&mut meter))?;
        Ok((outcome, meter.measured))
    }

    fn run_measured(
        self,
        progress: &Progress,
        threads: usize,
        mut meter: Option<&mut Meter>,
    ) -> Result<Outcome, RunError> {
        let Network { shared, mut nodes, mut events, lines, traces, stop, trace_flows_ns, sampled } = self;
        let partition = Partition::new(&shared, &lines, nodes.len());
        let threads = threads.clamp(1, partition.parts());
        progress.threads.store(threads as u64, Ordering::Relaxed);
        let count = partition.shards(meter.as_ref().map_or(threads, |meter| meter.threads()));
        let windows = if count == 1 { u64::MAX } else { FIRST_WINDOWS };
        let mut run = Run { shared: &shared, progress, stop, windows, lines: (count == 1).then_some(&lines) };
        let mut tally = Tally::new(&shared, trace_flows_ns);
        let mut handled = 0;
        let mut end = Time::ZERO;
        loop {
            let weights = partition.weights(&nodes);
            let shard_of = Arc::new(partition.cut(&weights, count));
            let queue = if count < MANY_SHARDS { EventQueue::new } else { EventQueue::short };
            let env = || Env::new(&shared, trace_flows_ns, queue());
            let shards = split(env, nodes, events, &shard_of, count);
            let meeting = Meeting::new(shards, shard_of, threads);
            let (shards, ended) = run.windows(meeting, (tally.finished, tally.last_finish), meter.as_deref_mut());
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
        Ended { nodes, tally, lines, traces, sampled, events: handled, end }.outcome(&shared, trace_flows_ns)
    }
}

/// What all threads of a run know.
struct Run<'a> {
    shared: &'a Arc<Shared>,
    progress: &'a Progress,
    stop: Time,
    /// Windows to run.
    windows: u64,
    /// Node and port of both ends of each line, if one shard has all nodes.
    lines: Option<&'a [[(usize, usize); 2]]>,
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

/// Events of a thread for each shard.
type Letters = Vec<Mutex<Vec<(Time, Event)>>>;

/// What belongs to a window.
struct Table {
    /// By shard, before the window.
    said: Vec<Said>,
    /// Events from each thread for each shard, and the time of each thread's earliest.
    letters: Vec<Letters>,
    earliest: Vec<AtomicU64>,
    /// Whether there are letters, by the shard that they are for, and then by the thread that they are from.
    written: Vec<AtomicBool>,
    /// For each thread, how many of its own shards have been taken, by itself or by others.
    taken: Vec<AtomicUsize>,
    cancelled: AtomicBool,
}

impl Table {
    fn new(shards: usize, threads: usize) -> Table {
        Table {
            said: (0..shards).map(|_| Said::default()).collect(),
            letters: (0..threads).map(|_| (0..shards).map(|_| Mutex::default()).collect()).collect(),
            earliest: (0..threads).map(|_| AtomicU64::new(NEVER.nanos())).collect(),
            written: (0..shards * threads).map(|_| AtomicBool::new(false)).collect(),
            taken: (0..threads).map(|_| AtomicUsize::new(0)).collect(),
            cancelled: AtomicBool::new(false),
        }
    }
}

/// Where shards meet. Windows of even and of odd numbers have a table each: in a window, shards read what was said before
/// it, and already write for the next one.
struct Meeting {
    shards: Vec<Mutex<Shard>>,
    /// The shard of each node.
    shard_of: Arc<Vec<u16>>,
    tables: [Table; 2],
    barrier: Barrier,
    threads: usize,
}

impl Meeting {
    fn new(shards: Vec<Shard>, shard_of: Arc<Vec<u16>>, threads: usize) -> Meeting {
        let table = || Table::new(shards.len(), threads);
        Meeting {
            tables: [table(), table()],
            barrier: Barrier::new(threads as u64),
            threads,
            shards: shards.into_iter().map(Mutex::new).collect(),
            shard_of,
        }
    }

    fn table(&self, window: u64) -> &Table {
        &self.tables[(window % 2) as usize]
    }

    /// The next shard of a window for a thread: one of its own, so that it finds much of it in its cache, or else one that
    /// another thread has not come to.
    fn take(&self, window: u64, thread: usize) -> Option<usize> {
        let taken = &self.table(window).taken;
        (thread..self.threads).chain(0..thread).find_map(|owner| {
            let mut own = own_shards(owner, self.threads, self.shards.len());
            let seen = taken[owner].load(Ordering::Relaxed);
            (seen < own.len()).then(|| own.nth(taken[owner].fetch_add(1, Ordering::Relaxed))).flatten()
        })
    }
}

impl Run<'_> {
    /// Runs shards through windows, until the run has ended or so many windows are over. Returns the shards, and whether the
    /// run has ended: if so, with the time that its end was set to, if it was.
    fn windows(
        &self,
        mut meeting: Meeting,
        (finished, last): (usize, Time),
        meter: Option<&mut Meter>,
    ) -> (Vec<Shard>, Option<Option<Time>>) {
        let before = (finished as u64, last);
        for number in 0..meeting.shards.len() {
            speak(&meeting, 0, number, &mut locked(&meeting.shards[number]));
        }
        let ended = thread::scope(|scope| {
            let meeting = &meeting;
            let others: Vec<_> = (1..meeting.threads)
                .map(|number| {
                    scope.spawn(move || {
                        self.thread(meeting, number, before, None);
                        if let Some(clock) = self.progress.clock {
                            self.progress.other_threads_ns.fetch_add(clock(), Ordering::Relaxed);
                        }
                    })
                })
                .collect();
            let ended = self.thread(meeting, 0, before, meter);
            for other in others {
                other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            }
            ended
        });
        if ended.is_none() {
            for number in 0..meeting.shards.len() {
                receive(&meeting, self.windows, number, &mut locked(&meeting.shards[number]));
            }
        }
        let shards = std::mem::take(&mut meeting.shards).into_iter();
        (shards.map(|shard| shard.into_inner().unwrap_or_else(PoisonError::into_inner)).collect(), ended)
    }

    /// A thread's part in [`Run::windows`].
    fn thread(
        &self,
        meeting: &Meeting,
        number: usize,
        (before, last_before): (u64, Time),
        meter: Option<&mut Meter>,
    ) -> Option<Option<Time>> {
        let _guard = meeting.barrier.guard();
        let lookahead = self.shared.plan.lookahead().window;
        let flows = self.shared.flows.len() as u64;
        // Events at the stop are handled.
        let mut limit = self.stop + INSTANT;
        let mut end = None;
        let count = meeting.shards.len();
        let outbox = (count > 1).then(|| Box::new(Outbox::new(meeting.shard_of.clone(), count)));
        let mut worker = Worker { run: self, meeting, number, before, outbox, meter };
        for window in 0..self.windows {
            meeting.barrier.wait(window);
            let Table { said, earliest, cancelled, .. } = meeting.table(window);
            let next_table = meeting.table(window + 1);
            next_table.taken[number].store(0, Ordering::Relaxed);
            let finished = before + said.iter().map(|said| said.finished.load(Ordering::Relaxed)).sum::<u64>();
            if end.is_none() && finished == flows {
                let last = said.iter().map(|said| said.last_finish.load(Ordering::Relaxed)).max().unwrap_or(0);
                let last = last_before.max(Time::from_nanos(last)) + lookahead;
                if last <= self.stop {
                    limit = last + INSTANT;
                    end = Some(last);
                }
            }
            let times = said.iter().map(|said| &said.next).chain(earliest);
            let next = times.map(|time| time.load(Ordering::Relaxed)).min().unwrap_or(u64::MAX);
            if number == 0 {
                self.progress.finished.store(finished, Ordering::Relaxed);
                self.progress.now_ns.store(next.min(limit.nanos()), Ordering::Relaxed);
                next_table.cancelled.store(self.progress.cancel.load(Ordering::Relaxed), Ordering::Relaxed);
            }
            let failed = said.iter().any(|said| said.failed.load(Ordering::Relaxed));
            if next >= limit.nanos() || failed || cancelled.load(Ordering::Relaxed) {
                return Some(end);
            }
            // A single shard needs no windows, but has to know when the last flow ends.
            let (until, last) = match (said.len(), end) {
                (1, None) => (limit, flows as usize),
                _ => ((Time::from_nanos(next) + lookahead.max(INSTANT)).min(limit), usize::MAX),
            };
            worker.serve(window, until, last);
        }
        None
    }

    /// Whether a shard in a long window has to stop. The first thread reports its progress.
    fn is_over(&self, reports: bool, before: u64, shard: &Shard) -> bool {
        if reports {
            let finished = before + shard.env.tally.finished as u64;
            self.progress.finished.fetch_max(finished, Ordering::Relaxed);
            self.progress.now_ns.store(shard.env.now.nanos(), Ordering::Relaxed);
            if let Some(lines) = self.lines {
                show(self.progress, shard, lines);
            }
        }
        shard.env.tally.failure.is_some() || self.progress.cancel.load(Ordering::Relaxed)
    }
}

/// A thread in a window.
struct Worker<'a> {
    run: &'a Run<'a>,
    meeting: &'a Meeting,
    number: usize,
    /// Flows that had finished before the first window.
    before: u64,
    outbox: Option<Box<Outbox>>,
    meter: Option<&'a mut Meter>,
}

impl Worker<'_> {
    /// Serves shards until all of the window are taken: their events before a time, and none after the one by which so many
    /// flows have `finished`.
    fn serve(&mut self, window: u64, until: Time, finished: usize) {
        let (meeting, reports) = (self.meeting, self.number == 0);
        if let Some(meter) = &mut self.meter {
            meter.begin(meeting.shards.len());
        }
        while let Some(place) = meeting.take(window, self.number) {
            let shard = &mut *locked(&meeting.shards[place]);
            let handled = shard.handled;
            receive(meeting, window, place, shard);
            if let Some(outbox) = &mut self.outbox {
                outbox.until = until;
            }
            std::mem::swap(&mut shard.env.outbox, &mut self.outbox);
            while shard.run(until, PROGRESS_EVENTS, finished) && !self.run.is_over(reports, self.before, shard) {}
            std::mem::swap(&mut shard.env.outbox, &mut self.outbox);
            speak(meeting, window + 1, place, shard);
            if let Some(meter) = &mut self.meter {
                meter.add(place, shard.handled - handled);
            }
        }
        if let Some(outbox) = &mut self.outbox {
            post(meeting, window + 1, self.number, outbox);
        }
        if let Some(meter) = &mut self.meter {
            meter.end_window();
        }
    }
}

/// What a lock protects. Nobody ever waits for it: a shard is served by one thread at a time, and a letter is written before
/// a barrier and read after it.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Says before a window what others need to know of a shard.
fn speak(meeting: &Meeting, window: u64, own: usize, shard: &mut Shard) {
    let table = meeting.table(window);
    let said = &table.said[own];
    said.next.store(shard.env.events.next_time().unwrap_or(NEVER).nanos(), Ordering::Relaxed);
    said.finished.store(shard.env.tally.finished as u64, Ordering::Relaxed);
    said.last_finish.store(shard.env.tally.last_finish.nanos(), Ordering::Relaxed);
    said.failed.store(shard.env.tally.failure.is_some(), Ordering::Relaxed);
}

/// Hands over before a window what a thread has for shards.
fn post(meeting: &Meeting, window: u64, thread: usize, outbox: &mut Outbox) {
    let table = meeting.table(window);
    let earliest = outbox.earliest.take().unwrap_or(NEVER);
    table.earliest[thread].store(earliest.nanos(), Ordering::Relaxed);
    for (to, (letters, place)) in outbox.letters.iter_mut().zip(&table.letters[thread]).enumerate() {
        if !letters.is_empty() {
            std::mem::swap(&mut *locked(place), letters);
            table.written[to * meeting.threads + thread].store(true, Ordering::Relaxed);
        }
    }
}

/// Takes the events that threads have for a shard in a window.
fn receive(meeting: &Meeting, window: u64, own: usize, shard: &mut Shard) {
    let table = meeting.table(window);
    let written = &table.written[own * meeting.threads..][..meeting.threads];
    for (from, written) in written.iter().enumerate().filter(|(_, written)| written.load(Ordering::Relaxed)) {
        written.store(false, Ordering::Relaxed);
        let mut letters = locked(&table.letters[from][own]);
        // Their frames were last used by other nodes, or longer ago than a window.
        for (_, event) in letters.iter() {
            event.prefetch();
        }
        for (time, event) in letters.drain(..) {
            shard.expect(&event);
            shard.env.events.push(time, event);
        }
    }
}

/// Makes shards of all nodes and their events. `shard_of` has the shard of each node.
fn split(
    env: impl Fn() -> Env,
    nodes: Vec<Node>,
    events: Vec<(Time, Event)>,
    shard_of: &[u16],
    count: usize,
) -> Vec<Shard> {
    let empty = || Shard { env: env(), nodes: Vec::with_capacity(nodes.len()), handled: 0 };
    let mut shards: Vec<Shard> = (0..count).map(|_| empty()).collect();
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
