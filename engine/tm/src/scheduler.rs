// SPDX-License-Identifier: MIT OR Apache-2.0
//! The scheduler of a port, which chooses the next queue: strict priority between levels, rounds within a level.

use crate::queue::Limit;

/// End of a list of queues.
const NONE: u8 = u8::MAX;

/// A queue of a port.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct QueueConfig {
    /// Largest amount that it may hold.
    pub limit: Limit,
    /// Queues of a higher level are served first. Queues of one level share what the higher levels leave.
    pub level: u8,
    /// Bytes that it may send in a round of its level.
    pub quantum_bytes: u32,
}

/// How the queues of a level take turns.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Round {
    /// Deficit weighted round robin: a turn carries the rest of its quantum over to the next turn, until the queue is
    /// empty.
    #[default]
    Deficit,
    /// Weighted round robin by bytes: nothing is carried over (MQ-ECN paper, section 3.3.2). A turn sends at least one
    /// item.
    Weighted,
}

/// Order in which the queues of a port are served.
///
/// The busy queues of a level form a line. The first one has its turn until it is empty or its deficit is smaller than
/// its next item. Then it goes to the end of the line, so the cost of a round depends on the busy queues only
/// (Shreedhar and Varghese, "Efficient Fair Queuing using Deficit Round Robin", section 3).
#[derive(Debug)]
pub(crate) struct Scheduler {
    round: Round,
    queues: Vec<Turn>,
    levels: Vec<Line>,
    /// A bit for each level with busy queues.
    busy: u128,
}

/// A queue as the scheduler sees it.
#[derive(Debug)]
struct Turn {
    /// Bytes that a turn adds.
    quantum: u32,
    /// Bytes that the queue may still send.
    deficit: u64,
    /// Its index in `Scheduler::levels`.
    level: u8,
    /// The queue behind it in the line.
    next: u8,
    /// Whether the present turn has added the quantum.
    begun: bool,
}

/// Busy queues of a level.
#[derive(Clone, Copy, Debug)]
struct Line {
    first: u8,
    last: u8,
}

impl Scheduler {
    pub(crate) fn new(round: Round, queues: &[QueueConfig]) -> Scheduler {
        let mut levels: Vec<u8> = queues.iter().map(|queue| queue.level).collect();
        levels.sort_unstable();
        levels.dedup();
        let turn = |queue: &QueueConfig| Turn {
            quantum: queue.quantum_bytes,
            deficit: 0,
            level: levels.binary_search(&queue.level).expect("each level is listed") as u8,
            next: NONE,
            begun: false,
        };
        Scheduler {
            round,
            queues: queues.iter().map(turn).collect(),
            levels: vec![Line { first: NONE, last: NONE }; levels.len()],
            busy: 0,
        }
    }

    /// Adds a queue to its line, because it got an item while it was empty.
    pub(crate) fn activate(&mut self, queue: usize) {
        let level = self.queues[queue].level;
        let line = &mut self.levels[usize::from(level)];
        match line.last {
            NONE => line.first = queue as u8,
            last => self.queues[usize::from(last)].next = queue as u8,
        }
        line.last = queue as u8;
        self.busy |= 1 << level;
    }

    /// The queue whose first item is next. `bytes` returns the length of a queue's first item.
    pub(crate) fn next(&mut self, bytes: impl Fn(usize) -> u64) -> Option<usize> {
        let level = self.busy.checked_ilog2()?;
        loop {
            let queue = usize::from(self.levels[level as usize].first);
            let turn = &mut self.queues[queue];
            if !turn.begun {
                turn.begun = true;
                turn.deficit += u64::from(turn.quantum);
            }
            // Weighted rounds do not carry anything over, so a queue sends at least one item in each turn.
            if self.round == Round::Weighted || bytes(queue) <= turn.deficit {
                return Some(queue);
            }
            self.rotate(queue);
        }
    }

    /// Accounts for an item sent by the queue that [`Scheduler::next`] chose. `ahead` is the length of the queue's new
    /// first item. Returns whether the queue's turn ends.
    pub(crate) fn served(&mut self, queue: usize, bytes: u64, ahead: Option<u64>) -> bool {
        let turn = &mut self.queues[queue];
        turn.deficit = turn.deficit.saturating_sub(bytes);
        match ahead {
            None => {
                turn.deficit = 0;
                self.take_first(queue);
                true
            }
            Some(ahead) if ahead > turn.deficit => {
                self.rotate(queue);
                true
            }
            Some(_) => false,
        }
    }

    /// Ends the turn of the first queue of its line, which has more to send.
    fn rotate(&mut self, queue: usize) {
        if self.round == Round::Weighted {
            self.queues[queue].deficit = 0;
        }
        self.take_first(queue);
        self.activate(queue);
    }

    /// Removes a queue, the first of its line, from the line.
    fn take_first(&mut self, queue: usize) {
        let turn = &mut self.queues[queue];
        turn.begun = false;
        let next = std::mem::replace(&mut turn.next, NONE);
        let line = &mut self.levels[usize::from(turn.level)];
        line.first = next;
        if next == NONE {
            line.last = NONE;
            self.busy &= !(1 << turn.level);
        }
    }
}
