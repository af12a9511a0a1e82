//! Packets: stored bytes followed by zeros that are only counted.
//!
//! A simulated payload is all zeros, and nothing looks at it as long as no parser reaches that far. So a packet stores
//! its headers and keeps the rest as a number; [`Packet::store`] turns zeros into bytes when somebody needs them.

/// Bytes beyond the stored ones that may be read without harm: the JIT loads eight bytes at a time.
pub(crate) const SLACK: usize = 8;

/// Room in front of a new packet's bytes, so that a program that adds headers does not move them.
const HEADROOM: usize = 40;

/// A packet as bytes.
#[derive(Clone, Debug, Default)]
pub struct Packet {
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    zeros: usize,
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

    /// Replaces the contents, keeping the memory.
    pub fn set(&mut self, stored: &[u8], zeros: usize) {
        self.start = HEADROOM;
        self.end = HEADROOM + stored.len();
        self.zeros = zeros;
        self.reserve();
        self.buffer[self.start..self.end].copy_from_slice(stored);
    }

    /// [`Packet::set`] to the first `used` bytes of an array. Copies all of it, which costs less than copying a number
    /// of bytes that varies.
    pub fn set_from<const N: usize>(&mut self, bytes: &[u8; N], used: usize, zeros: usize) {
        debug_assert!(used <= N);
        self.start = HEADROOM;
        self.end = HEADROOM + used;
        self.zeros = zeros;
        if self.buffer.len() < HEADROOM + N + SLACK {
            self.buffer.resize(HEADROOM + N + SLACK, 0);
        }
        self.buffer[HEADROOM..HEADROOM + N].copy_from_slice(bytes);
    }

    /// Length in bytes, zeros included.
    pub fn len(&self) -> usize {
        self.end - self.start + self.zeros
    }

    /// Whether the packet has no bytes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The bytes that are stored; all others are 0.
    pub fn stored(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    /// The bytes that are stored, to be changed.
    pub fn stored_mut(&mut self) -> &mut [u8] {
        &mut self.buffer[self.start..self.end]
    }

    /// All bytes.
    pub fn to_vec(&self) -> Vec<u8> {
        let mut bytes = self.stored().to_vec();
        bytes.resize(self.len(), 0);
        bytes
    }

    /// Stores the first `count` bytes at least, or all if there are fewer.
    pub fn store(&mut self, count: usize) {
        let stored = self.end - self.start;
        let more = count.min(self.len()).saturating_sub(stored);
        if more > 0 {
            let zeros_from = self.end;
            self.end += more;
            self.zeros -= more;
            self.reserve();
            self.buffer[zeros_from..self.end].fill(0);
        }
    }

    /// Puts `front` in place of the first `consumed` bytes, which must be stored.
    pub fn replace_front(&mut self, consumed: usize, front: &[u8]) {
        if front.len() > self.start + consumed {
            self.make_room(front.len() - consumed);
        }
        self.move_front(consumed, front.len());
        self.buffer[self.start..self.start + front.len()].copy_from_slice(front);
    }

    /// Bytes in front of the packet that may be written.
    pub(crate) fn headroom(&self) -> usize {
        self.start
    }

    /// Makes the headroom at least `bytes`.
    pub(crate) fn make_room(&mut self, bytes: usize) {
        let more = bytes.saturating_sub(self.start);
        self.buffer.splice(0..0, std::iter::repeat_n(0, more));
        self.start += more;
        self.end += more;
    }

    /// Lets the packet begin so that `front` bytes take the place of the first `consumed` ones.
    pub(crate) fn move_front(&mut self, consumed: usize, front: usize) {
        debug_assert!(consumed <= self.end - self.start && front <= self.start + consumed);
        self.start = self.start + consumed - front;
    }

    /// Cuts the packet to `len` bytes if it is longer.
    pub fn truncate(&mut self, len: usize) {
        let stored = self.end - self.start;
        if len < stored {
            self.end = self.start + len;
            self.zeros = 0;
        } else {
            self.zeros = self.zeros.min(len - stored);
        }
    }

    /// Makes the buffer reach [`SLACK`] bytes beyond `end`.
    fn reserve(&mut self) {
        if self.buffer.len() < self.end + SLACK {
            self.buffer.resize(self.end + SLACK, 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zeros_count_as_bytes() {
        let mut packet = Packet::new(&[1, 2], 3);
        assert_eq!((packet.len(), packet.stored()), (5, &[1, 2][..]));
        packet.store(4);
        assert_eq!((packet.len(), packet.stored()), (5, &[1, 2, 0, 0][..]));
        packet.store(99);
        assert_eq!(packet.to_vec(), [1, 2, 0, 0, 0]);
        assert_eq!(packet, Packet::new(&[1, 2], 3));
    }

    #[test]
    fn stored_zeros_are_cleared_even_where_the_buffer_was_used() {
        let mut packet = Packet::new(&[9; 20], 0);
        packet.set(&[1], 5);
        packet.store(6);
        assert_eq!(packet.stored(), [1, 0, 0, 0, 0, 0]);
    }

    #[test]
    fn the_front_may_shrink_and_grow_beyond_the_headroom() {
        let mut packet = Packet::new(&[1, 2, 3, 4], 1);
        packet.replace_front(2, &[7]);
        assert_eq!(packet.to_vec(), [7, 3, 4, 0]);
        let front = vec![8; HEADROOM + 50];
        packet.replace_front(1, &front);
        assert_eq!(packet.stored(), [&front[..], &[3, 4]].concat());
        assert_eq!(packet.len(), front.len() + 3);
    }

    #[test]
    fn truncation_cuts_zeros_first() {
        let mut packet = Packet::new(&[1, 2, 3], 3);
        packet.truncate(4);
        assert_eq!(packet.to_vec(), [1, 2, 3, 0]);
        packet.truncate(2);
        assert_eq!(packet.to_vec(), [1, 2]);
        packet.truncate(9);
        assert_eq!(packet.len(), 2);
    }
}
