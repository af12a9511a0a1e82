// SPDX-License-Identifier: MIT OR Apache-2.0
//! Frames on links: a packet, and the simulator's notes on it.

use marklab_pipeline::Packet;
use marklab_prefetch::prefetch;
use marklab_switch::Frame;
use marklab_tm::Chains;
use marklab_units::Time;

use crate::wire::Ecn;

/// A packet on its way through a [`crate::Network`]. The connection is only a hint: hosts check the headers.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub struct NetFrame {
    pub(crate) packet: Packet,
    /// Connection that sent it.
    pub(crate) connection: u32,
    pub(crate) notes: Notes,
}

impl NetFrame {
    /// A number for its 5-tuple: twice its connection's, and one more from the server.
    pub(crate) fn five_tuple(&self) -> u32 {
        2 * self.connection + u32::from(!self.notes.by_client())
    }
}

/// Notes on a frame, in the bits that are left in two cache lines.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Notes(u32);

impl Notes {
    const BY_CLIENT: u32 = 1;
    /// The ECN field, or 4.
    const ARRIVED: (u32, u32) = (1, 0b111);
    const DUE: (u32, u32) = (4, 0b11);
    const PORT: (u32, u32) = (6, (1 << 10) - 1);
    /// 0 if the frame is not held.
    const HELD: (u32, u32) = (16, (1 << 16) - 1);

    fn of(by_client: bool, ecn: Ecn) -> Notes {
        let mut notes = Notes(u32::from(by_client) * Notes::BY_CLIENT);
        notes.set(Notes::DUE, ecn as u32);
        notes
    }

    #[inline]
    fn get(self, (shift, mask): (u32, u32)) -> u32 {
        self.0 >> shift & mask
    }

    #[inline]
    fn set(&mut self, (shift, mask): (u32, u32), value: u32) {
        debug_assert!(value <= mask, "{value} is more than fits");
        self.0 = self.0 & !(mask << shift) | value << shift;
    }

    /// Whether the connection's client sent the frame.
    #[inline]
    pub(crate) fn by_client(self) -> bool {
        self.0 & Notes::BY_CLIENT != 0
    }

    /// The frame's ECN field on arrival at its present switch.
    #[inline]
    pub(crate) fn arrived_as(self) -> Option<Ecn> {
        let field = self.get(Notes::ARRIVED) as u8;
        (field < 4).then(|| Ecn::of(field))
    }

    #[inline]
    pub(crate) fn set_arrived_as(&mut self, ecn: Option<Ecn>) {
        self.set(Notes::ARRIVED, ecn.map_or(4, |ecn| ecn as u32));
    }

    /// The ECN field with which the frame is due at the other host: that with which it was sent, or CE if a switch has
    /// marked it since.
    #[inline]
    pub(crate) fn due_as(self) -> Ecn {
        Ecn::of(self.get(Notes::DUE) as u8)
    }

    /// A switch has marked the frame. What was sent as Not-ECT must not be marked, even if it came as ECT.
    #[inline]
    pub(crate) fn marked(&mut self) {
        if self.due_as() != Ecn::NotEct {
            self.set(Notes::DUE, Ecn::Ce as u32);
        }
    }

    /// Whether the frame counts as waiting in a lossless switch. Frames in hosts and copies do not count.
    #[inline]
    pub(crate) fn is_held(self) -> bool {
        self.get(Notes::HELD) > 0
    }

    /// Notes the ingress port of a lossless switch, and the bytes that count as held there until the frame leaves.
    pub(crate) fn hold(&mut self, port: usize, bytes: usize) -> u64 {
        let bytes = (bytes as u32).min(Notes::HELD.1);
        self.set(Notes::PORT, port as u32);
        self.set(Notes::HELD, bytes);
        bytes.into()
    }

    /// Returns the port and the bytes, and clears the bytes.
    pub(crate) fn let_go(&mut self) -> Option<(usize, u64)> {
        let bytes = self.get(Notes::HELD);
        self.set(Notes::HELD, 0);
        (bytes > 0).then(|| (self.get(Notes::PORT) as usize, bytes.into()))
    }
}

impl Frame for Box<NetFrame> {
    fn packet(&mut self) -> &mut Packet {
        &mut self.packet
    }

    #[inline(always)]
    fn prefetch(&self) {
        prefetch(&**self);
    }

    /// The original frame stays held; its copies are not held.
    fn duplicate(&self) -> Box<NetFrame> {
        let mut copy = self.clone();
        copy.notes.let_go();
        copy
    }
}

/// Frames, each with the time at which it moves on.
pub(crate) type Delayed = Chains<(Time, Box<NetFrame>)>;

/// Frames that one event gives back at most: those that a program drops before it sends one, in practice.
const LATELY: usize = 64;

/// Unused frames, whose memory is reused.
#[derive(Debug, Default)]
pub(crate) struct FramePool {
    #[expect(clippy::vec_box, reason = "frames travel boxed, so that moving them is cheap")]
    spare: Vec<Box<NetFrame>>,
}

impl FramePool {
    /// A frame that is sent with this ECN field. Its packet is still that of its previous use.
    pub(crate) fn take(&mut self, connection: u32, from_client: bool, ecn: Ecn) -> Box<NetFrame> {
        let notes = Notes::of(from_client, ecn);
        match self.spare.pop() {
            Some(mut frame) => {
                frame.connection = connection;
                frame.notes = notes;
                frame
            }
            None => Box::new(NetFrame { packet: Packet::default(), connection, notes }),
        }
    }

    /// Whether a frame is among the last ones that were given back.
    pub(crate) fn holds_lately(&self, frame: *const NetFrame) -> bool {
        self.spare.iter().rev().take(LATELY).any(|spare| std::ptr::eq(&raw const **spare, frame))
    }

    /// Takes a frame back.
    pub(crate) fn give(&mut self, frame: Box<NetFrame>) {
        self.spare.push(frame);
    }
}

// Two cache lines, so that frames in queues stay in the cache closest to the core.
const _: () = assert!(size_of::<NetFrame>() == 128);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_do_not_touch_each_other() {
        for (from_client, sent) in [(false, Ecn::Ect1), (true, Ecn::Ect0), (true, Ecn::NotEct)] {
            let mut notes = Notes::of(from_client, sent);
            for ecn in [None, Some(Ecn::NotEct), Some(Ecn::Ect1), Some(Ecn::Ect0), Some(Ecn::Ce)] {
                for (port, bytes) in [(0, 1), (511, 65_535), (1_023, 1_514)] {
                    notes.set_arrived_as(ecn);
                    assert_eq!(notes.hold(port, bytes), bytes as u64);
                    assert_eq!((notes.by_client(), notes.due_as(), notes.arrived_as()), (from_client, sent, ecn));
                    assert_eq!((notes.let_go(), notes.let_go()), (Some((port, bytes as u64)), None));
                    assert_eq!((notes.by_client(), notes.due_as(), notes.arrived_as()), (from_client, sent, ecn));
                }
            }
        }
    }

    #[test]
    fn a_mark_is_due_at_the_host_unless_the_frame_was_not_capable() {
        for (sent, due) in [(Ecn::NotEct, Ecn::NotEct), (Ecn::Ect1, Ecn::Ce), (Ecn::Ect0, Ecn::Ce)] {
            let mut notes = Notes::of(true, sent);
            notes.marked();
            assert_eq!((notes.due_as(), notes.by_client()), (due, true));
        }
    }
}
