//! The event queue: ordered by time, events of equal time in the order in which they were added.
//!
//! A calendar: near events lie in slots of [`SLOT_NS`], each a short list; far ones, mostly timers, in a heap until
//! their slot comes near. Adding an event takes constant time, and so does finding the next one, by a bitmap of the
//! slots that hold something. Simulated networks have thousands of near events that are handled soon and few far ones,
//! so a heap of all of them would spend most of its time in comparisons that no branch predictor foresees.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use marklab_units::Time;

/// Width of a slot is 2^SLOT_SHIFT ns: at 10 Gb/s a full frame takes 1.2 us.
const SLOT_SHIFT: u32 = 7;
/// Slots in the calendar, which so reaches 0.5 ms ahead. A word of 64 bits tells which of 64 words have bits set.
const SLOTS: usize = 64 * 64;
/// End of a list.
const NONE: u32 = u32::MAX;

/// An event in a slot's list.
#[derive(Clone, Copy, Debug)]
struct Near<E> {
    time: Time,
    number: u64,
    event: E,
    next: u32,
}

/// An event beyond the calendar: time, number, and the place of the event itself in `entries`.
type Far = Reverse<(Time, u64, u32)>;

/// Pending events.
#[derive(Clone, Debug)]
pub(crate) struct EventQueue<E> {
    /// All events, near and far; free places are chained from `free`.
    entries: Vec<Near<E>>,
    free: u32,
    /// First event of each slot.
    heads: Vec<u32>,
    /// Slots that hold something, and words of these that are not 0.
    occupied: [u64; SLOTS / 64],
    words: u64,
    /// Number of the slot of the event handled last, counted from time 0. Nothing lies before it.
    cursor: u64,
    far: BinaryHeap<Far>,
    added: u64,
}

impl<E: Copy> Default for EventQueue<E> {
    fn default() -> EventQueue<E> {
        EventQueue {
            entries: Vec::new(),
            free: NONE,
            heads: vec![NONE; SLOTS],
            occupied: [0; SLOTS / 64],
            words: 0,
            cursor: 0,
            far: BinaryHeap::new(),
            added: 0,
        }
    }
}

fn slot_of(time: Time) -> u64 {
    time.nanos() >> SLOT_SHIFT
}

impl<E: Copy> EventQueue<E> {
    /// Adds an event, which must not lie before the one taken last.
    pub(crate) fn push(&mut self, time: Time, event: E) {
        debug_assert!(slot_of(time) >= self.cursor, "an event in the past");
        let number = self.added;
        self.added += 1;
        let entry = Near { time, number, event, next: NONE };
        let at = self.free;
        let at = if at == NONE {
            self.entries.push(entry);
            self.entries.len() as u32 - 1
        } else {
            self.free = self.entries[at as usize].next;
            self.entries[at as usize] = entry;
            at
        };
        if slot_of(time) < self.cursor + SLOTS as u64 {
            self.link(at);
        } else {
            self.far.push(Reverse((time, number, at)));
        }
    }

    /// Takes the next event.
    pub(crate) fn pop(&mut self) -> Option<(Time, E)> {
        if self.words == 0 {
            let Reverse((time, ..)) = self.far.peek()?;
            self.cursor = slot_of(*time);
            self.bring_near();
        }
        let slot = self.first_slot();
        let ahead = (slot as u64).wrapping_sub(self.cursor) % SLOTS as u64;
        if ahead > 0 {
            self.cursor += ahead;
            self.bring_near();
        }
        let at = self.take_first(slot);
        let Near { time, event, .. } = self.entries[at as usize];
        self.entries[at as usize].next = self.free;
        self.free = at;
        Some((time, event))
    }

    /// Puts an entry into the list of its slot.
    fn link(&mut self, at: u32) {
        let slot = slot_of(self.entries[at as usize].time) as usize % SLOTS;
        self.entries[at as usize].next = self.heads[slot];
        self.heads[slot] = at;
        self.occupied[slot / 64] |= 1 << (slot % 64);
        self.words |= 1 << (slot / 64);
    }

    /// Moves far events that the calendar reaches now.
    fn bring_near(&mut self) {
        while let Some(&Reverse((time, _, at))) = self.far.peek()
            && slot_of(time) < self.cursor + SLOTS as u64
        {
            self.far.pop();
            self.link(at);
        }
    }

    /// The first slot from the cursor on that holds something; there must be one.
    fn first_slot(&self) -> usize {
        let start = self.cursor as usize % SLOTS;
        let (word, bit) = (start / 64, start % 64);
        let here = self.occupied[word] & (u64::MAX << bit);
        if here != 0 {
            return word * 64 + here.trailing_zeros() as usize;
        }
        // Words after this one, then from the beginning; last the part of this word before the cursor.
        let after = if word == 63 { 0 } else { self.words & (u64::MAX << (word + 1)) };
        let next = if after != 0 { after } else { self.words }.trailing_zeros() as usize;
        next * 64 + self.occupied[next].trailing_zeros() as usize
    }

    /// Takes the earliest event out of a slot's list, which is not empty.
    fn take_first(&mut self, slot: usize) -> u32 {
        let head = self.heads[slot];
        let key = |at: u32| (self.entries[at as usize].time, self.entries[at as usize].number);
        let (mut first, mut before) = (head, NONE);
        let (mut previous, mut at) = (head, self.entries[head as usize].next);
        while at != NONE {
            if key(at) < key(first) {
                (first, before) = (at, previous);
            }
            (previous, at) = (at, self.entries[at as usize].next);
        }
        let rest = self.entries[first as usize].next;
        if before != NONE {
            self.entries[before as usize].next = rest;
            return first;
        }
        self.heads[slot] = rest;
        if rest == NONE {
            self.occupied[slot / 64] &= !(1 << (slot % 64));
            if self.occupied[slot / 64] == 0 {
                self.words &= !(1 << (slot / 64));
            }
        }
        first
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Steps in time: within a slot, across slots, across the whole calendar.
    fn distance() -> impl Strategy<Value = u64> {
        prop_oneof![0..3u64, 0..500u64, 0..600_000u64, 0..100_000_000u64]
    }

    proptest! {
        /// Oracle: a stable sort by time.
        #[test]
        fn events_come_in_time_order_and_ties_in_the_order_added(
            steps in prop::collection::vec(prop::option::weighted(0.6, distance()), 0..300),
        ) {
            let mut queue = EventQueue::default();
            let mut list: Vec<(u64, usize)> = Vec::new();
            let mut now = 0;
            let take = |list: &mut Vec<(u64, usize)>| {
                let first = (0..list.len()).min_by_key(|&at| list[at].0)?;
                Some(list.remove(first))
            };
            for (number, step) in steps.into_iter().enumerate() {
                if let Some(distance) = step {
                    queue.push(Time::from_nanos(now + distance), number);
                    list.push((now + distance, number));
                } else {
                    let popped = queue.pop().map(|(time, event)| (time.nanos(), event));
                    prop_assert_eq!(popped, take(&mut list));
                    now = popped.map_or(now, |(time, _)| time);
                }
            }
            while let Some((time, event)) = queue.pop() {
                prop_assert_eq!(Some((time.nanos(), event)), take(&mut list));
            }
            prop_assert!(list.is_empty());
        }
    }
}
