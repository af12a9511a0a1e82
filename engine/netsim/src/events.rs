// SPDX-License-Identifier: MIT OR Apache-2.0
//! The event queue: in order of time, for equal times in order of [`Ranked::rank`], and for equal ranks in the order in
//! which events were added.
//!
//! It is a calendar queue. Near events lie in slots of a few ns, each a sorted list. Far events, mostly timers, wait
//! in a heap until the calendar reaches their slot. Slots are so short that a list holds few events, and a new event
//! mostly goes to the end of its list. A bitmap finds the next slot that is not empty. A heap of all events would spend
//! most of its time in comparisons that branch predictors cannot predict; larger networks would make this worse.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::mem::ManuallyDrop;

use marklab_units::Time;

/// Width of a slot is 2^SLOT_SHIFT ns: short enough to hold one or two events of a busy network.
const SLOT_SHIFT: u32 = 4;
/// Slots in a calendar. It reaches 0.26 ms ahead: enough for link delays and transmissions, not for timers.
const SLOTS: usize = 64 * WORDS;
/// Slots in a short calendar, which reaches 16 us ahead: enough for transmissions. Since an event touches a cache line of
/// the calendar that was last used when the calendar came round, many long ones would not stay in the caches.
const FEW_SLOTS: usize = SLOTS / 16;
/// Words of the bitmap. The second level has one bit per word.
const WORDS: usize = 64 * TOP;
const TOP: usize = 4;
/// No event.
const NONE: u32 = u32::MAX;
/// No slot.
const NOWHERE: u64 = u64::MAX;

/// Events that are ordered among those of the same time.
pub(crate) trait Ranked {
    /// Lower ranks come first.
    fn rank(&self, time: Time) -> u64;
}

/// An event in a slot's list or in the heap, or a free place.
#[derive(Debug)]
struct Place<E> {
    time: Time,
    event: Option<E>,
    /// The next event in the list.
    next: u32,
    /// The last event in the list; valid only in its first event, which a search for the last one reads anyway.
    last: u32,
}

/// Pending events.
// In this order, what each event needs lies in two cache lines, and the bitmaps behind it.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct EventQueue<E> {
    /// Number of slots less one; their number is a power of two.
    mask: u64,
    /// Number of the current slot, counted from time 0. No event lies before it.
    cursor: u64,
    /// Number of the first slot that is not empty, found before it is needed; [`NOWHERE`] if all are empty.
    ahead: u64,
    /// Slot of the first event in `far`; [`NOWHERE`] if there is none.
    far_slot: u64,
    /// First event of each slot's list.
    firsts: Box<[u32; SLOTS]>,
    /// All events, and free places.
    places: Vec<Place<E>>,
    /// The free places. The one that was freed last is used next. They are not chained: a chain through places that are in no
    /// cache would be followed one by one.
    free: Vec<u32>,
    /// Non-empty slots, and non-zero words of this bitmap.
    words: [u64; TOP],
    slots: [u64; WORDS],
    /// Far events: time, number among all that were far, and place. At the same time, they keep the order of numbers.
    far: BinaryHeap<Reverse<(Time, u64, u32)>>,
    /// Events that were added to `far`.
    added: u64,
}

impl<E> EventQueue<E> {
    /// An empty queue.
    pub(crate) fn new() -> EventQueue<E> {
        EventQueue::with_slots(SLOTS)
    }

    /// An empty queue that is one of many: it takes less of the caches, and later events cost more.
    pub(crate) fn short() -> EventQueue<E> {
        EventQueue::with_slots(FEW_SLOTS)
    }

    fn with_slots(slots: usize) -> EventQueue<E> {
        debug_assert!(slots.is_power_of_two() && slots <= SLOTS);
        EventQueue {
            mask: slots as u64 - 1,
            cursor: 0,
            ahead: NOWHERE,
            places: Vec::new(),
            free: Vec::new(),
            firsts: Box::new([NONE; SLOTS]),
            slots: [0; WORDS],
            words: [0; TOP],
            far: BinaryHeap::new(),
            far_slot: NOWHERE,
            added: 0,
        }
    }
}

impl<E: Ranked> Place<E> {
    #[inline(always)]
    fn rank(&self) -> u64 {
        self.event.as_ref().map_or(0, |event| event.rank(self.time))
    }
}

fn slot_of(time: Time) -> u64 {
    time.nanos() >> SLOT_SHIFT
}

impl<E: Ranked> EventQueue<E> {
    /// The index of a slot, by its number.
    #[inline(always)]
    fn index_of(&self, slot: u64) -> usize {
        // The second step is for the compiler, which then knows that the index is valid.
        (slot & self.mask) as usize % SLOTS
    }

    /// Whether the calendar reaches a slot.
    #[inline(always)]
    fn reaches(&self, slot: u64) -> bool {
        slot <= self.cursor + self.mask
    }

    /// Adds an event.
    ///
    /// # Panics
    ///
    /// If it is earlier than the slot of the event taken last.
    // Inlined, and without a way to drop the event: so its parts go from registers to their place. In memory between, they
    // would be read as a whole directly after they were written one by one, which a processor can only do slowly.
    #[inline(always)]
    pub(crate) fn push(&mut self, time: Time, event: E) {
        let event = ManuallyDrop::new(event);
        assert!(slot_of(time) >= self.cursor, "an event in the past");
        let at = match self.free.pop() {
            Some(at) => at,
            None => self.grow(),
        };
        let place = &mut self.places[at as usize];
        debug_assert!(place.event.is_none(), "a free place holds nothing");
        std::mem::forget(place.event.replace(ManuallyDrop::into_inner(event)));
        if self.reaches(slot_of(time)) {
            self.link(at, time);
        } else {
            self.link_far(at, time);
        }
    }

    #[inline(never)]
    fn link_far(&mut self, at: u32, time: Time) {
        self.far.push(Reverse((time, self.added, at)));
        self.added += 1;
        self.far_slot = self.far_slot.min(slot_of(time));
    }

    /// Makes a free place.
    #[cold]
    #[inline(never)]
    fn grow(&mut self) -> u32 {
        self.places.push(Place { time: Time::ZERO, event: None, next: NONE, last: NONE });
        self.places.len() as u32 - 1
    }

    /// What is found in any event, in no order. It looks through all.
    pub(crate) fn find_map<T>(&self, find: impl FnMut(&E) -> Option<T>) -> Option<T> {
        self.places.iter().filter_map(|place| place.event.as_ref()).find_map(find)
    }

    /// Time of the next event.
    #[inline(always)]
    pub(crate) fn next_time(&self) -> Option<Time> {
        // Far events are later than those in the calendar.
        match self.ahead {
            NOWHERE => self.far.peek().map(|first| first.0.0),
            ahead => Some(self.places[self.firsts[self.index_of(ahead)] as usize].time),
        }
    }

    /// Moves on to the next event, if it is earlier than `limit`. It stays the next one; [`EventQueue::next`] is it.
    pub(crate) fn moves_before(&mut self, limit: Time) -> bool {
        self.next_time().is_some_and(|time| time < limit) && self.move_on().is_some()
    }

    /// The event that the queue has moved on to.
    pub(crate) fn next(&self) -> Option<(Time, &E)> {
        let first = self.places.get(self.firsts[self.index_of(self.cursor)] as usize)?;
        first.event.as_ref().map(|event| (first.time, event))
    }

    /// Moves the calendar on to the slot of the next event.
    #[inline(always)]
    fn move_on(&mut self) -> Option<()> {
        if self.ahead == NOWHERE {
            self.cursor = slot_of(self.far.peek()?.0.0);
            self.fetch_far();
        } else {
            self.cursor = self.ahead;
            if self.reaches(self.far_slot) {
                self.fetch_far();
            }
        }
        Some(())
    }

    /// Takes the next event, if it is earlier than `limit`.
    #[inline(always)]
    pub(crate) fn pop_before(&mut self, limit: Time) -> Option<(Time, E)> {
        if self.next_time()? >= limit {
            return None;
        }
        self.move_on()?;
        let slot = self.index_of(self.cursor);
        let first = self.firsts[slot];
        let taken = &mut self.places[first as usize];
        let (time, event, last) = (taken.time, taken.event.take(), taken.last);
        let next = taken.next;
        self.free.push(first);
        self.firsts[slot] = next;
        if next == NONE {
            self.slots[slot / 64] &= !(1 << (slot % 64));
            if self.slots[slot / 64] == 0 {
                self.words[slot / 64 / 64] &= !(1 << (slot / 64 % 64));
            }
            self.ahead = self
                .next_slot()
                .map_or(NOWHERE, |slot| self.cursor + ((slot as u64).wrapping_sub(self.cursor) & self.mask));
        } else {
            self.places[next as usize].last = last;
        }
        event.map(|event| (time, event))
    }

    /// Moves far events whose slot the calendar has reached into the slot's list. This is done whenever the calendar
    /// moves on, so that a new event in a list comes after all events that were added before it.
    #[cold]
    fn fetch_far(&mut self) {
        let first_slot = |queue: &EventQueue<E>| queue.far.peek().map_or(NOWHERE, |first| slot_of(first.0.0));
        while self.reaches(first_slot(self)) {
            if let Some(Reverse((time, _, at))) = self.far.pop() {
                self.link(at, time);
            }
        }
        self.far_slot = first_slot(self);
    }

    /// Puts the event `at` into the list of its slot, behind all events that do not come after it.
    #[inline(never)]
    fn link(&mut self, at: u32, time: Time) {
        let place = &mut self.places[at as usize];
        (place.time, place.next, place.last) = (time, NONE, at);
        self.ahead = self.ahead.min(slot_of(time));
        let slot = self.index_of(slot_of(time));
        // The bitmap is small enough to be near; the list may not be.
        if self.slots[slot / 64] & 1 << (slot % 64) != 0 {
            return self.link_in_list(slot, at, time);
        }
        self.firsts[slot] = at;
        self.slots[slot / 64] |= 1 << (slot % 64);
        self.words[slot / 64 / 64] |= 1 << (slot / 64 % 64);
    }

    /// Puts the event `at` into the list of a slot that has events.
    #[inline(never)]
    fn link_in_list(&mut self, slot: usize, at: u32, time: Time) {
        let first = self.firsts[slot];
        let near = &mut self.places[..];
        let last = near[first as usize].last;
        let mut before = last;
        let is_before = |other: u32| {
            let (other, new) = (&near[other as usize], &near[at as usize]);
            other.time < time || other.time == time && other.rank() <= new.rank()
        };
        if is_before(last) {
            near[first as usize].last = at;
        } else if !is_before(first) {
            (near[at as usize].next, near[at as usize].last) = (first, last);
            self.firsts[slot] = at;
            return;
        } else {
            before = first;
            while is_before(near[before as usize].next) {
                before = near[before as usize].next;
            }
        }
        near[at as usize].next = std::mem::replace(&mut near[before as usize].next, at);
    }

    /// The first non-empty slot from the cursor on, around the calendar.
    fn next_slot(&self) -> Option<usize> {
        let start = self.index_of(self.cursor);
        let (word, bit) = (start / 64, start % 64);
        let here = self.slots[word] & (u64::MAX << bit);
        if here != 0 {
            return Some(word * 64 + here.trailing_zeros() as usize);
        }
        let word = self.next_word(word)?;
        Some(word * 64 + self.slots[word].trailing_zeros() as usize)
    }

    /// The first non-zero word after `word`, around the bitmap and back to `word` itself.
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

    const NEVER: Time = Time::from_nanos(u64::MAX);

    /// A rank, and the number of the event.
    impl Ranked for (u64, usize) {
        fn rank(&self, _: Time) -> u64 {
            self.0
        }
    }

    /// Steps in time: within a slot, across slots, across the whole calendar.
    fn distance() -> impl Strategy<Value = u64> {
        // Around the ends of the calendars, where slots are reused.
        let [lap, short] = [SLOTS, FEW_SLOTS].map(|slots| (slots as u64) << SLOT_SHIFT);
        let ends = prop_oneof![lap - 64..lap + 64, short - 64..short + 64];
        prop_oneof![0..3u64, 0..500u64, 0..30_000u64, 0..600_000u64, ends, 0..100_000_000u64]
    }

    proptest! {
        /// Oracle: a stable sort by time and rank.
        #[test]
        fn events_come_in_order_of_time_and_rank_and_then_as_added(
            short in any::<bool>(),
            steps in prop::collection::vec(prop::option::weighted(0.6, (distance(), 0..3u64)), 0..300),
        ) {
            let mut queue = if short { EventQueue::short() } else { EventQueue::new() };
            let mut list: Vec<(u64, (u64, usize))> = Vec::new();
            let mut now = 0;
            let take = |list: &mut Vec<(u64, (u64, usize))>| {
                let first = (0..list.len()).min_by_key(|&at| (list[at].0, list[at].1.0))?;
                Some(list.remove(first))
            };
            for (number, step) in steps.into_iter().enumerate() {
                prop_assert_eq!(queue.next_time().map(Time::nanos), list.iter().map(|&(time, _)| time).min());
                if let Some((distance, rank)) = step {
                    queue.push(Time::from_nanos(now + distance), (rank, number));
                    list.push((now + distance, (rank, number)));
                } else {
                    let seen = queue.moves_before(NEVER).then(|| queue.next().map(|(time, event)| (time, *event))).flatten();
                    let popped = queue.pop_before(NEVER);
                    prop_assert_eq!(seen, popped);
                    let popped = popped.map(|(time, event)| (time.nanos(), event));
                    prop_assert_eq!(popped, take(&mut list));
                    now = popped.map_or(now, |(time, _)| time);
                }
            }
            while let Some((time, event)) = queue.pop_before(NEVER) {
                prop_assert_eq!(Some((time.nanos(), event)), take(&mut list));
            }
            prop_assert!(list.is_empty());
        }
    }

    /// A long list in one slot, of events that are added near and far.
    #[test]
    fn many_ties_in_a_slot_come_in_order() {
        for start in [0, 1 << SLOT_SHIFT, 1 << 40] {
            let mut queue = EventQueue::new();
            let time = |number: u64| start + number * 7 % 3;
            let rank = |number: u64| number % 2;
            for number in 0..500u64 {
                queue.push(Time::from_nanos(time(number)), (rank(number), number as usize));
            }
            let mut expected: Vec<u64> = (0..500).collect();
            expected.sort_by_key(|&number| (time(number), rank(number)));
            let came = std::iter::from_fn(|| queue.pop_before(NEVER).map(|(_, (_, number))| number as u64));
            assert_eq!(came.collect::<Vec<_>>(), expected, "{start}");
        }
    }
}
