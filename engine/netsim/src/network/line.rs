// SPDX-License-Identifier: MIT OR Apache-2.0
//! One direction of a link. It belongs to the node that transmits.

use marklab_units::{Duration, Rate, Time, Transmitter};

use super::env::Env;
use super::event::{Event, PauseFrame};
use crate::frame::NetFrame;

/// A transmitter and its line. Frames on the line exist as events of their arrival.
// One cache line, because every frame needs all fields.
#[derive(Debug)]
#[repr(C, align(64))]
pub(super) struct Line {
    transmitter: Transmitter,
    delay: Duration,
    frames: u64,
    bytes: u64,
    to_node: u32,
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
    /// A line that leads to a port of a node.
    pub(super) fn new(to: (usize, usize), rate: Rate, delay: Duration) -> Line {
        Line {
            transmitter: Transmitter::new(rate),
            delay,
            frames: 0,
            bytes: 0,
            to_node: to.0 as u32,
            to_port: to.1 as u16,
            free_pending: false,
            paused: false,
        }
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
    #[inline(always)]
    pub(super) fn is_free(&self, now: Time) -> bool {
        now >= self.busy_until() && !self.paused
    }

    /// Begins the transmission of a frame, on a line that is free.
    #[inline(always)]
    pub(super) fn transmit(&mut self, env: &mut Env, frame: Box<NetFrame>) {
        let bytes = env.shared.framing.wire_bytes(frame.packet.len());
        self.frames += 1;
        self.bytes += bytes;
        self.transmitter.send(env.now, bytes);
        let arrival = self.busy_until() + self.delay;
        env.deliver(arrival, self.to_node, Event::Arrival { port: self.to_port, node: self.to_node, frame });
    }

    /// Takes up the line with a frame of so many bytes that is not counted, behind the frame under way if there is one.
    /// Returns when its transmission begins and ends.
    pub(super) fn interject(&mut self, now: Time, bytes: u64) -> (Time, Time) {
        let begin = now.max(self.busy_until());
        self.transmitter.send(now, bytes);
        (begin, self.busy_until())
    }

    /// Brings a pause frame, whose transmission ends at `end`, to the other end.
    pub(super) fn bring_pause(&self, env: &mut Env, end: Time, frame: PauseFrame) {
        let pause = Event::Pause { port: self.to_port, node: self.to_node, frame: Box::new(frame) };
        env.deliver(end + self.delay, self.to_node, pause);
    }

    /// When to look for the next frame: at the end of the present transmission, or now. `None` if that is arranged.
    #[inline(always)]
    pub(super) fn await_free(&mut self, now: Time) -> Option<Time> {
        if self.free_pending {
            return None;
        }
        self.free_pending = true;
        Some(now.max(self.busy_until()))
    }
}
