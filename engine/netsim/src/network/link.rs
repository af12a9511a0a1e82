// SPDX-License-Identifier: MIT OR Apache-2.0
//! One direction of a link.

use marklab_units::{Duration, Rate, Time, Transmitter};

/// A transmitter and its line. Frames on the line exist as events of their arrival.
// One cache line, because every frame needs all fields.
#[derive(Debug)]
#[repr(C, align(64))]
pub(super) struct Line {
    transmitter: Transmitter,
    delay: Duration,
    frames: u64,
    bytes: u64,
    from_node: u32,
    to_node: u32,
    from_port: u16,
    to_port: u16,
    /// Whether an event for the end of the transmission is pending.
    pub(super) free_pending: bool,
    /// Whether the other end has asked for a pause.
    pub(super) paused: bool,
}

const _: () = assert!(size_of::<Line>() == 64);

/// Counts of a transmitter.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct LineStats {
    /// Frames whose transmission began.
    pub frames: u64,
    /// Their bytes on the line.
    pub bytes: u64,
    /// Transmission time of these bytes.
    pub busy: Duration,
}

impl Line {
    /// A line between two ends, each a node and a port.
    pub(super) fn new(from: (usize, usize), to: (usize, usize), rate: Rate, delay: Duration) -> Line {
        Line {
            transmitter: Transmitter::new(rate),
            delay,
            frames: 0,
            bytes: 0,
            from_node: from.0 as u32,
            to_node: to.0 as u32,
            from_port: from.1 as u16,
            to_port: to.1 as u16,
            free_pending: false,
            paused: false,
        }
    }

    /// Node and port of the transmitter.
    pub(super) fn from(&self) -> (usize, usize) {
        (self.from_node as usize, usize::from(self.from_port))
    }

    /// Node and port at the other end.
    pub(super) fn to(&self) -> (usize, usize) {
        (self.to_node as usize, usize::from(self.to_port))
    }

    pub(super) fn rate(&self) -> Rate {
        self.transmitter.rate()
    }

    pub(super) fn stats(&self) -> LineStats {
        LineStats { frames: self.frames, bytes: self.bytes, busy: self.rate().transmission(self.bytes, 0).0 }
    }

    pub(super) fn busy_until(&self) -> Time {
        self.transmitter.busy_until()
    }

    /// Whether a transmission may begin.
    pub(super) fn is_free(&self, now: Time) -> bool {
        now >= self.busy_until() && !self.paused
    }

    /// Transmits a frame that takes `bytes` on the line. Returns the time of its arrival at the other end.
    #[inline(always)]
    pub(super) fn transmit(&mut self, now: Time, bytes: u64) -> Time {
        self.frames += 1;
        self.bytes += bytes;
        self.interject(now, bytes)
    }

    /// Transmits a frame without counting it, behind the frame under way if there is one. Returns its time of arrival.
    #[inline(always)]
    pub(super) fn interject(&mut self, now: Time, bytes: u64) -> Time {
        self.transmitter.send(now, bytes);
        self.transmitter.busy_until() + self.delay
    }
}
