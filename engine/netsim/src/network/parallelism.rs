// SPDX-License-Identifier: MIT OR Apache-2.0
//! How many threads a run could keep busy, measured on one: the work of all shards in a window, and how long threads would
//! take for it that take shards as [`super::threads`] does.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::partition::own_shards;

/// Something done: events handled, and the time that it took.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Work {
    /// Events.
    pub events: u64,
    /// Time in ns.
    pub ns: u64,
}

/// What would bound the speed-up of a run on some threads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Span {
    /// Threads.
    pub threads: usize,
    /// Sum over all windows of the work of the thread that is done last. All work, divided by this, is the bound.
    pub longest: Work,
}

/// Work and spans of a run.
#[derive(Clone, Debug)]
pub struct Parallelism {
    /// Windows of the lookahead.
    pub windows: u64,
    /// Work in them.
    pub work: Work,
    /// One for each number of threads that was asked for, in order.
    pub spans: Vec<Span>,
}

/// Measures a run.
pub(super) struct Meter {
    clock: fn() -> u64,
    /// When the present shard was begun, by the clock.
    since_ns: u64,
    /// Work in the present window, by shard.
    shards: Vec<Work>,
    pub(super) measured: Parallelism,
}

impl Meter {
    /// `clock` gives a time in ns.
    pub(super) fn new(clock: fn() -> u64, threads: &[usize]) -> Meter {
        let spans = threads.iter().map(|&threads| Span { threads, longest: Work::default() }).collect();
        Meter {
            clock,
            since_ns: clock(),
            shards: Vec::new(),
            measured: Parallelism { windows: 0, work: Work::default(), spans },
        }
    }

    /// Most threads.
    pub(super) fn threads(&self) -> usize {
        self.measured.spans.iter().map(|span| span.threads).max().unwrap_or(1)
    }

    /// What follows is the work of shards, one after the other.
    pub(super) fn begin(&mut self, shards: usize) {
        self.shards.resize(shards, Work::default());
        self.since_ns = (self.clock)();
    }

    /// The work of a shard in this window, or a part of it, is done.
    pub(super) fn add(&mut self, shard: usize, events: u64) {
        let now_ns = (self.clock)();
        self.shards[shard].events += events;
        self.shards[shard].ns += now_ns.saturating_sub(self.since_ns);
        self.since_ns = now_ns;
    }

    /// A window is over.
    pub(super) fn end_window(&mut self) {
        let measured = &mut self.measured;
        measured.windows += 1;
        for work in &self.shards {
            measured.work.add(*work);
        }
        for span in &mut measured.spans {
            let threads = span.threads.min(self.shards.len());
            span.longest.events += last_done(&self.shards, threads, |work| work.events);
            span.longest.ns += last_done(&self.shards, threads, |work| work.ns);
        }
        self.shards.fill(Work::default());
    }
}

/// When the last of so many threads is done with a window, if shards take as long as they have work.
fn last_done(shards: &[Work], threads: usize, length: impl Fn(&Work) -> u64) -> u64 {
    let mut own: Vec<_> = (0..threads).map(|thread| own_shards(thread, threads, shards.len())).collect();
    let mut free: BinaryHeap<_> = (0..threads).map(|thread| Reverse((0, thread))).collect();
    let mut last = 0;
    while let Some(Reverse((time, thread))) = free.pop() {
        let next = (thread..threads).chain(0..thread).find_map(|owner| own[owner].next());
        match next {
            Some(shard) => free.push(Reverse((time + length(&shards[shard]), thread))),
            None => last = last.max(time),
        }
    }
    last
}

impl Work {
    fn add(&mut self, other: Work) {
        self.events += other.events;
        self.ns += other.ns;
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    thread_local!(static NOW_NS: Cell<u64> = const { Cell::new(0) });

    /// Each look takes 10 ns.
    fn clock() -> u64 {
        NOW_NS.set(NOW_NS.get() + 10);
        NOW_NS.get()
    }

    #[test]
    fn the_span_of_a_window_is_the_work_of_the_thread_that_is_done_last() {
        let mut meter = Meter::new(clock, &[1, 2, 4, 8]);
        for events in [[5, 1, 1, 1], [0, 0, 2, 6]] {
            meter.begin(4);
            for (shard, events) in events.into_iter().enumerate() {
                meter.add(shard, events);
            }
            meter.end_window();
        }
        let measured = meter.measured;
        assert_eq!((measured.windows, measured.work), (2, Work { events: 16, ns: 80 }));
        let longest: Vec<_> = measured.spans.iter().map(|span| (span.longest.events, span.longest.ns)).collect();
        // In the first window, one of two threads is busy with its first shard for as long as the other needs for the rest but
        // one; eight threads can have no more than a shard each.
        assert_eq!(longest, [(16, 80), (5 + 6, 40), (5 + 6, 20), (5 + 6, 20)]);
    }
}
