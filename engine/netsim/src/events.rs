//! The event queue: ordered by time, events of equal time in the order in which they were added.
//!
//! A calendar: near events lie in slots of a few ns, each an unsorted list; the slot that is being worked on is sorted;
//! far events, mostly timers, wait in a heap until their slot comes near. Adding an event takes constant time, and so
//! does finding the next slot, by a bitmap of those that hold something. A heap of all events would spend most of its
//! time in comparisons that no branch predictor foresees, the more the larger the network.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use marklab_units::Time;

/// Width of a slot is 2^SLOT_SHIFT ns: short enough to hold one or two events of a busy network.
const SLOT_SHIFT: u32 = 5;
/// Slots in the calendar, which so reaches 0.5 ms ahead: link delays and transmissions, but not timers.
const SLOTS: usize = 64 * WORDS;
/// Words of the bitmap; one bit for each in a word of words is the second level.
const WORDS: usize = 64 * TOP;
const TOP: usize = 4;
/// End of a list.
const NONE: u32 = u32::MAX;

/// When an event happens, and which of two at the same time was added first.
type Key = (Time, u64);

/// An event in a slot's list.
#[derive(Clone, Copy, Debug)]
struct Near<E> {
    key: Key,
    event: E,
    next: u32,
}

/// Pending events.
#[derive(Clone, Debug)]
pub(crate) struct EventQueue<E> {
    /// Events of the slot that is being worked on, the next one last.
    current: Vec<(Key, E)>,
    /// Number of that slot, counted from time 0. Nothing lies before it.
    cursor: u64,
    /// Events in lists; free places are chained from `free`.
    near: Vec<Near<E>>,
    free: u32,
    /// First event of each slot's list.
    heads: Vec<u32>,
    /// Slots that hold something, and words of these that are not 0.
    slots: [u64; WORDS],
    words: [u64; TOP],
    far: BinaryHeap<Reverse<(Key, Far<E>)>>,
    added: u64,
}

/// An event in the heap, where only its key counts.
#[derive(Clone, Copy, Debug)]
struct Far<E>(E);

impl<E> PartialEq for Far<E> {
    fn eq(&self, _: &Far<E>) -> bool {
        true
    }
}

impl<E> Eq for Far<E> {}

impl<E> PartialOrd for Far<E> {
    fn partial_cmp(&self, other: &Far<E>) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl<E> Ord for Far<E> {
    fn cmp(&self, _: &Far<E>) -> std::cmp::Ordering {
        std::cmp::Ordering::Equal
    }
}

impl<E: Copy> Default for EventQueue<E> {
    fn default() -> EventQueue<E> {
        EventQueue {
            current: Vec::new(),
            cursor: 0,
            near: Vec::new(),
            free: NONE,
            heads: vec![NONE; SLOTS],
            slots: [0; WORDS],
            words: [0; TOP],
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
        let slot = slot_of(time);
        debug_assert!(slot >= self.cursor, "an event in the past");
        let key = (time, self.added);
        self.added += 1;
        if slot == self.cursor {
            let at = self.current.partition_point(|(other, _)| *other > key);
            self.current.insert(at, (key, event));
        } else if slot < self.cursor + SLOTS as u64 {
            self.link(key, event);
        } else {
            self.far.push(Reverse((key, Far(event))));
        }
    }

    /// Takes the next event.
    pub(crate) fn pop(&mut self) -> Option<(Time, E)> {
        if self.current.is_empty() {
            self.advance()?;
        }
        self.current.pop().map(|((time, _), event)| (time, event))
    }

    /// Moves on to the next slot that holds something, and sorts its events.
    fn advance(&mut self) -> Option<()> {
        match self.next_slot() {
            Some(slot) => self.cursor += (slot as u64).wrapping_sub(self.cursor) % SLOTS as u64,
            None => self.cursor = slot_of(self.far.peek()?.0.0.0),
        }
        while let Some(&Reverse((key, Far(event)))) = self.far.peek()
            && slot_of(key.0) < self.cursor + SLOTS as u64
        {
            self.far.pop();
            self.link(key, event);
        }
        let slot = self.cursor as usize % SLOTS;
        let mut at = std::mem::replace(&mut self.heads[slot], NONE);
        while at != NONE {
            let Near { key, event, next } = self.near[at as usize];
            self.near[at as usize].next = self.free;
            self.free = at;
            self.current.push((key, event));
            at = next;
        }
        self.slots[slot / 64] &= !(1 << (slot % 64));
        if self.slots[slot / 64] == 0 {
            self.words[slot / 64 / 64] &= !(1 << (slot / 64 % 64));
        }
        if self.current.len() > 1 {
            self.current.sort_unstable_by(|(a, _), (b, _)| b.cmp(a));
        }
        Some(())
    }

    /// Puts an event into the list of its slot.
    fn link(&mut self, key: Key, event: E) {
        let slot = slot_of(key.0) as usize % SLOTS;
        let entry = Near { key, event, next: self.heads[slot] };
        let at = self.free;
        self.heads[slot] = if at == NONE {
            self.near.push(entry);
            self.near.len() as u32 - 1
        } else {
            self.free = self.near[at as usize].next;
            self.near[at as usize] = entry;
            at
        };
        self.slots[slot / 64] |= 1 << (slot % 64);
        self.words[slot / 64 / 64] |= 1 << (slot / 64 % 64);
    }

    /// The first slot from the cursor on, around the calendar, that holds something.
    fn next_slot(&self) -> Option<usize> {
        let start = self.cursor as usize % SLOTS;
        let (word, bit) = (start / 64, start % 64);
        let here = self.slots[word] & (u64::MAX << bit);
        if here != 0 {
            return Some(word * 64 + here.trailing_zeros() as usize);
        }
        let word = self.next_word(word)?;
        Some(word * 64 + self.slots[word].trailing_zeros() as usize)
    }

    /// The first word after `word`, around the bitmap and back to `word` itself, that is not 0.
    fn next_word(&self, word: usize) -> Option<usize> {
        let (top, bit) = (word / 64, word % 64);
        let above = if bit == 63 { 0 } else { self.words[top] & (u64::MAX << (bit + 1)) };
        if above != 0 {
            return Some(top * 64 + above.trailing_zeros() as usize);
        }
        (1..=TOP).map(|step| (top + step) % TOP).find_map(|top| {
            let words = self.words[top];
            (words != 0).then(|| top * 64 + words.trailing_zeros() as usize)
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Steps in time: within a slot, across slots, across the whole calendar.
    fn distance() -> impl Strategy<Value = u64> {
        // Just around the end of the calendar, where a slot's number comes again.
        let lap = (SLOTS as u64) << SLOT_SHIFT;
        prop_oneof![0..3u64, 0..500u64, 0..600_000u64, lap - 64..lap + 64, 0..100_000_000u64]
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

    /// More in one slot than a sort of short lists takes: near, and coming from afar.
    #[test]
    fn many_ties_in_a_slot_come_in_the_order_added() {
        for start in [0, 1 << SLOT_SHIFT, 1 << 40] {
            let mut queue = EventQueue::default();
            let time = |number: u64| start + number * 7 % 3;
            for number in 0..500u64 {
                queue.push(Time::from_nanos(time(number)), number);
            }
            let mut expected: Vec<u64> = (0..500).collect();
            expected.sort_by_key(|&number| time(number));
            let came = std::iter::from_fn(|| queue.pop().map(|(_, number)| number));
            assert_eq!(came.collect::<Vec<_>>(), expected, "{start}");
        }
    }
}
