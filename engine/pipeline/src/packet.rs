// SPDX-License-Identifier: MIT OR Apache-2.0
//! Packets: stored bytes, followed by zeros that are only counted.
//!
//! A simulated payload is all zeros, and nothing reads it unless a parser reaches it. So a packet stores its headers,
//! and of the rest only the length; [`Packet::store`] turns zeros into stored bytes when they are needed.
//!
//! Ethernet, IPv4 and TCP headers fit into the `Packet` itself, so a packet in a queue takes two cache lines and no
//! memory on the heap. A packet that needs more space moves its bytes to the heap.

/// Readable bytes behind the stored ones: the JIT loads eight bytes at a time.
pub(crate) const SLACK: usize = 8;

/// Bytes that fit into the packet itself.
const INLINE: usize = 100;

/// Room in front of a new packet's bytes, so that a program that adds headers does not move them.
const HEADROOM: usize = 10;

/// Bytes that [`Packet::set_from`] takes: all except headroom and slack.
pub const INLINE_BYTES: usize = INLINE - HEADROOM - SLACK;

/// Room in front of a packet on the heap.
const HEAP_HEADROOM: usize = 512;

/// A packet as bytes.
#[derive(Clone, Debug)]
pub struct Packet {
    /// The bytes, if they are not stored on the heap.
    inline: [u8; INLINE],
    #[expect(clippy::box_collection, reason = "8 bytes, so that the packet keeps its size")]
    heap: Option<Box<Vec<u8>>>,
    start: u32,
    end: u32,
    zeros: u32,
}

impl Default for Packet {
    fn default() -> Packet {
        Packet { inline: [0; INLINE], heap: None, start: HEADROOM as u32, end: HEADROOM as u32, zeros: 0 }
    }
}

impl PartialEq for Packet {
    fn eq(&self, other: &Packet) -> bool {
        self.len() == other.len() && {
            let common = self.stored().len().min(other.stored().len());
            let tail = |packet: &Packet| packet.stored()[common..].iter().all(|&byte| byte == 0);
            self.stored()[..common] == other.stored()[..common] && tail(self) && tail(other)
        }
    }
}

impl Eq for Packet {}

impl Packet {
    /// A packet of `stored` and then `zeros` bytes of 0.
    pub fn new(stored: &[u8], zeros: usize) -> Packet {
        let mut packet = Packet::default();
        packet.set(stored, zeros);
        packet
    }

    /// Replaces the contents.
    pub fn set(&mut self, stored: &[u8], zeros: usize) {
        self.start = HEADROOM as u32;
        self.end = HEADROOM as u32;
        self.zeros = zeros as u32;
        self.make_room(0, stored.len());
        self.end = self.start + stored.len() as u32;
        self.stored_mut().copy_from_slice(stored);
    }

    /// [`Packet::set`] to the first `used` bytes of an array. Copies the whole array, which is faster than copying a
    /// variable number of bytes.
    pub fn set_from(&mut self, bytes: &[u8; INLINE_BYTES], used: usize, zeros: usize) {
        *self.rewrite(used, zeros) = *bytes;
    }

    /// Makes it a packet of `used` bytes, which the caller writes into the array, and then `zeros` bytes of 0.
    #[inline]
    pub fn rewrite(&mut self, used: usize, zeros: usize) -> &mut [u8; INLINE_BYTES] {
        debug_assert!(used <= INLINE_BYTES);
        self.heap = None;
        self.start = HEADROOM as u32;
        self.end = (HEADROOM + used) as u32;
        self.zeros = zeros as u32;
        self.inline[HEADROOM..].first_chunk_mut().expect("the array lies within")
    }

    /// Length in bytes, zeros included.
    pub fn len(&self) -> usize {
        (self.end - self.start + self.zeros) as usize
    }

    /// Whether the packet has no bytes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The bytes that are stored; all others are 0.
    pub fn stored(&self) -> &[u8] {
        &self.buffer()[self.start as usize..self.end as usize]
    }

    /// The bytes that are stored, mutable.
    pub fn stored_mut(&mut self) -> &mut [u8] {
        let range = self.start as usize..self.end as usize;
        &mut self.buffer_mut()[range]
    }

    /// All bytes.
    pub fn to_vec(&self) -> Vec<u8> {
        let mut bytes = self.stored().to_vec();
        bytes.resize(self.len(), 0);
        bytes
    }

    /// Stores at least the first `count` bytes, or all if there are fewer.
    pub fn store(&mut self, count: usize) {
        let more = count.min(self.len()).saturating_sub(self.stored().len());
        if more > 0 {
            self.make_room(0, self.stored().len() + more);
            let zeros_from = self.end as usize;
            self.buffer_mut()[zeros_from..zeros_from + more].fill(0);
            self.end += more as u32;
            self.zeros -= more as u32;
        }
    }

    /// Puts `front` in place of the first `consumed` bytes, which must be stored.
    pub fn replace_front(&mut self, consumed: usize, front: &[u8]) {
        self.make_room(front.len().saturating_sub(consumed), self.stored().len());
        self.move_front(consumed, front.len());
        self.stored_mut()[..front.len()].copy_from_slice(front);
    }

    /// Truncates the packet to `len` bytes if it is longer.
    pub fn truncate(&mut self, len: usize) {
        let stored = self.stored().len();
        if len < stored {
            self.end = self.start + len as u32;
            self.zeros = 0;
        } else {
            self.zeros = self.zeros.min((len - stored) as u32);
        }
    }

    /// Bytes in front of the packet that may be written.
    pub(crate) fn headroom(&self) -> usize {
        self.start as usize
    }

    /// Address of the first byte. The bytes in front of the packet and the slack can be accessed through it as well.
    pub(crate) fn start(&mut self) -> *mut u8 {
        let start = self.start as usize;
        self.buffer_mut().as_mut_ptr().wrapping_add(start)
    }

    /// Makes room for `front` bytes before the packet's first byte, and for `stored` bytes and the slack from it on.
    pub(crate) fn make_room(&mut self, front: usize, stored: usize) {
        let start = self.start as usize;
        if start >= front && start + stored + SLACK <= self.buffer().len() {
            return;
        }
        let bytes = self.stored().to_vec();
        let new_start = HEAP_HEADROOM.max(front);
        let mut buffer = vec![0; new_start + bytes.len().max(stored) + SLACK];
        buffer[new_start..new_start + bytes.len()].copy_from_slice(&bytes);
        self.heap = Some(Box::new(buffer));
        self.start = new_start as u32;
        self.end = (new_start + bytes.len()) as u32;
    }

    /// Moves the packet's start, so that `front` bytes replace the first `consumed` ones.
    ///
    /// # Panics
    ///
    /// If there is no room for `front` bytes, or fewer than `consumed` bytes are stored: then the packet is not the one
    /// that was parsed.
    pub(crate) fn move_front(&mut self, consumed: usize, front: usize) {
        assert!(
            consumed <= self.stored().len() && front <= self.headroom() + consumed,
            "a deparser got a packet that the parser before it did not read"
        );
        self.start = self.start + consumed as u32 - front as u32;
    }

    fn buffer(&self) -> &[u8] {
        match &self.heap {
            None => &self.inline,
            Some(heap) => heap,
        }
    }

    fn buffer_mut(&mut self) -> &mut [u8] {
        match &mut self.heap {
            None => &mut self.inline,
            Some(heap) => heap,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_packet_takes_two_cache_lines_with_room_for_its_owner() {
        assert_eq!(size_of::<Packet>(), 120);
    }

    #[test]
    fn stored_zeros_are_cleared_even_where_the_buffer_was_used() {
        let mut packet = Packet::new(&[9; 20], 0);
        packet.set(&[1], 5);
        packet.store(6);
        assert_eq!(packet.stored(), [1, 0, 0, 0, 0, 0]);
    }

    #[test]
    fn an_array_is_cut_to_the_bytes_used() {
        let mut packet = Packet::default();
        packet.set_from(&[7; INLINE_BYTES], 3, 1);
        assert_eq!(packet.to_vec(), [7, 7, 7, 0]);
    }

    #[derive(Clone, Debug)]
    enum Step {
        Set(Vec<u8>, usize),
        Store(usize),
        ReplaceFront(usize, Vec<u8>),
        Truncate(usize),
    }

    fn step() -> impl Strategy<Value = Step> {
        let bytes = || prop::collection::vec(any::<u8>(), 0..150);
        prop_oneof![
            (bytes(), 0..200usize).prop_map(|(stored, zeros)| Step::Set(stored, zeros)),
            (0..300usize).prop_map(Step::Store),
            (0..40usize, bytes()).prop_map(|(consumed, front)| Step::ReplaceFront(consumed, front)),
            (0..300usize).prop_map(Step::Truncate),
        ]
    }

    proptest! {
        /// Oracle: a plain vector of bytes.
        #[test]
        fn a_packet_is_its_bytes_whatever_is_done_to_it(steps in prop::collection::vec(step(), 1..12)) {
            let mut packet = Packet::default();
            let mut bytes: Vec<u8> = Vec::new();
            for step in steps {
                match step {
                    Step::Set(stored, zeros) => {
                        packet.set(&stored, zeros);
                        bytes = stored;
                        bytes.resize(bytes.len() + zeros, 0);
                    }
                    Step::Store(count) => packet.store(count),
                    Step::ReplaceFront(consumed, front) => {
                        let consumed = consumed.min(bytes.len());
                        packet.store(consumed);
                        packet.replace_front(consumed, &front);
                        bytes.splice(..consumed, front);
                    }
                    Step::Truncate(len) => {
                        packet.truncate(len);
                        bytes.truncate(len);
                    }
                }
                prop_assert_eq!(packet.to_vec(), &bytes[..]);
                prop_assert_eq!(packet.len(), bytes.len());
                prop_assert!(packet.buffer().len() >= packet.end as usize + SLACK);
            }
        }
    }
}
