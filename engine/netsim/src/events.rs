//! The event queue: ordered by time, events of equal time in the order in which they were added.

use marklab_units::Time;

/// An event with its place in the order.
#[derive(Clone, Copy, Debug)]
struct Entry<E> {
    time: Time,
    number: u64,
    event: E,
}

impl<E> Entry<E> {
    fn before(&self, other: &Entry<E>) -> bool {
        (self.time, self.number) < (other.time, other.number)
    }
}

/// Pending events.
///
/// A binary heap that puts off the repair after a removal: handling an event usually adds the next one of the same
/// link, which then takes the free place at the top in one pass instead of two.
#[derive(Clone, Debug)]
pub(crate) struct EventQueue<E> {
    heap: Vec<Entry<E>>,
    /// The top was taken and nothing has replaced it yet.
    vacant: bool,
    added: u64,
}

impl<E: Copy> Default for EventQueue<E> {
    fn default() -> EventQueue<E> {
        EventQueue { heap: Vec::new(), vacant: false, added: 0 }
    }
}

impl<E: Copy> EventQueue<E> {
    /// Adds an event.
    pub(crate) fn push(&mut self, time: Time, event: E) {
        let entry = Entry { time, number: self.added, event };
        self.added += 1;
        if self.vacant {
            self.vacant = false;
            self.heap[0] = entry;
            self.sift_down();
        } else {
            self.heap.push(entry);
            self.sift_up();
        }
    }

    /// Takes the next event.
    pub(crate) fn pop(&mut self) -> Option<(Time, E)> {
        if std::mem::take(&mut self.vacant) {
            let last = self.heap.pop()?;
            if !self.heap.is_empty() {
                self.heap[0] = last;
                self.sift_down();
            }
        }
        let top = self.heap.first()?;
        self.vacant = true;
        Some((top.time, top.event))
    }

    fn sift_up(&mut self) {
        let mut at = self.heap.len() - 1;
        let entry = self.heap[at];
        while at > 0 {
            let parent = (at - 1) / 2;
            if !entry.before(&self.heap[parent]) {
                break;
            }
            self.heap[at] = self.heap[parent];
            at = parent;
        }
        self.heap[at] = entry;
    }

    fn sift_down(&mut self) {
        let len = self.heap.len();
        let entry = self.heap[0];
        let mut at = 0;
        loop {
            let mut child = 2 * at + 1;
            if child >= len {
                break;
            }
            if child + 1 < len && self.heap[child + 1].before(&self.heap[child]) {
                child += 1;
            }
            if !self.heap[child].before(&entry) {
                break;
            }
            self.heap[at] = self.heap[child];
            at = child;
        }
        self.heap[at] = entry;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Oracle: a stable sort by time.
        #[test]
        fn events_come_in_time_order_and_ties_in_the_order_added(
            steps in prop::collection::vec(prop::option::of(0..20u64), 0..300),
        ) {
            let mut queue = EventQueue::default();
            let mut list: Vec<(u64, usize)> = Vec::new();
            let take = |list: &mut Vec<(u64, usize)>| {
                let first = (0..list.len()).min_by_key(|&at| list[at].0)?;
                Some(list.remove(first))
            };
            for (number, step) in steps.into_iter().enumerate() {
                if let Some(time) = step {
                    queue.push(Time::from_nanos(time), number);
                    list.push((time, number));
                } else {
                    let popped = queue.pop().map(|(time, event)| (time.nanos(), event));
                    prop_assert_eq!(popped, take(&mut list));
                }
            }
            while let Some((time, event)) = queue.pop() {
                prop_assert_eq!(Some((time.nanos(), event)), take(&mut list));
            }
            prop_assert!(list.is_empty());
        }
    }
}
