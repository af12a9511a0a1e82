// SPDX-License-Identifier: MIT OR Apache-2.0
//! Many queues in one piece of memory.
//!
//! A ring buffer per queue walks through all of its memory even if it never holds more than a few items, so a switch
//! with many ports would keep fetching cold memory. Here the place that was freed last is used next, whichever queue it
//! belonged to. So no more memory is in use than the waiting items need.

use std::mem::ManuallyDrop;

/// End of a chain.
const NONE: u32 = u32::MAX;

/// Memory for many [`Chain`]s.
#[derive(Debug)]
pub struct Chains<T> {
    items: Vec<Option<T>>,
    /// By item, the next one in its chain. Apart, so that items keep their size and alignment.
    nexts: Vec<u32>,
    /// First of the free places, which form a chain as well.
    free: u32,
}

/// A queue. Its items lie in a [`Chains`], which must be the same one for all uses of the queue.
#[derive(Debug)]
pub struct Chain {
    first: u32,
    last: u32,
    len: u32,
}

impl<T> Default for Chains<T> {
    fn default() -> Chains<T> {
        Chains { items: Vec::new(), nexts: Vec::new(), free: NONE }
    }
}

impl Default for Chain {
    fn default() -> Chain {
        Chain { first: NONE, last: NONE, len: 0 }
    }
}

impl Chain {
    /// Number of items.
    pub fn len(&self) -> usize {
        self.len as usize
    }

    /// Whether there is no item.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

impl<T> Chains<T> {
    /// Adds an item at the end of a chain.
    ///
    /// # Panics
    ///
    /// If there are more than 2^32 - 1 items in all chains.
    // Without a way to drop the item: so its parts go from registers to their place. In memory between, they would be read
    // as a whole directly after they were written one by one, which a processor can only do slowly.
    #[inline]
    pub fn push_back(&mut self, chain: &mut Chain, item: T) {
        let item = ManuallyDrop::new(item);
        if self.free == NONE {
            self.grow();
        }
        let at = self.free;
        let place = &mut self.items[at as usize];
        self.free = std::mem::replace(&mut self.nexts[at as usize], NONE);
        debug_assert!(place.is_none(), "a free place holds nothing");
        std::mem::forget(place.replace(ManuallyDrop::into_inner(item)));
        match self.nexts.get_mut(chain.last as usize) {
            Some(last) => *last = at,
            None => chain.first = at,
        }
        chain.last = at;
        chain.len += 1;
    }

    /// Makes a free place.
    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        self.free = u32::try_from(self.items.len()).ok().filter(|&at| at != NONE).expect("fewer than 2^32 items");
        self.items.push(None);
        self.nexts.push(NONE);
    }

    /// Takes the first item of a chain.
    #[inline]
    pub fn pop_front(&mut self, chain: &mut Chain) -> Option<T> {
        if chain.first == NONE {
            return None;
        }
        let at = chain.first;
        chain.first = std::mem::replace(&mut self.nexts[at as usize], self.free);
        self.free = at;
        chain.len -= 1;
        if chain.first == NONE {
            chain.last = NONE;
        }
        // Last, so that the caller gets the item from here, and not from a copy.
        self.items[at as usize].take()
    }

    /// The first item of a chain.
    #[inline]
    pub fn front(&self, chain: &Chain) -> Option<&T> {
        self.items.get(chain.first as usize)?.as_ref()
    }

    /// The item behind the first one of a chain.
    pub fn second(&self, chain: &Chain) -> Option<&T> {
        self.items.get(*self.nexts.get(chain.first as usize)? as usize)?.as_ref()
    }

    /// The last item of a chain.
    #[inline]
    pub fn back(&self, chain: &Chain) -> Option<&T> {
        self.items.get(chain.last as usize)?.as_ref()
    }

    /// The items of a chain, the first one first.
    pub fn iter<'a>(&'a self, chain: &Chain) -> impl Iterator<Item = &'a T> + use<'a, T> {
        let mut at = chain.first;
        std::iter::from_fn(move || {
            let item = self.items.get(at as usize)?.as_ref();
            at = self.nexts[at as usize];
            item
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Oracle: a ring buffer for each chain.
        #[test]
        fn chains_are_queues_of_their_own(steps in prop::collection::vec((0..4usize, any::<bool>()), 0..200)) {
            let mut chains = Chains::default();
            let mut ours = [(); 4].map(|()| Chain::default());
            let mut rings = [(); 4].map(|()| VecDeque::new());
            let mut most = 0;
            for (number, (queue, push)) in steps.into_iter().enumerate() {
                if push {
                    chains.push_back(&mut ours[queue], number);
                    rings[queue].push_back(number);
                } else {
                    prop_assert_eq!(chains.pop_front(&mut ours[queue]), rings[queue].pop_front());
                }
                most = most.max(rings.iter().map(VecDeque::len).sum());
                for (chain, ring) in ours.iter().zip(&rings) {
                    prop_assert_eq!(chains.front(chain), ring.front());
                    prop_assert_eq!(chains.second(chain), ring.get(1));
                    prop_assert_eq!(chains.back(chain), ring.back());
                    prop_assert!(chains.iter(chain).eq(ring.iter()));
                    prop_assert_eq!((chain.len(), chain.is_empty()), (ring.len(), ring.is_empty()));
                }
            }
            prop_assert_eq!(chains.items.len(), most, "freed places are used again");
        }
    }
}
