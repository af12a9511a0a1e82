// SPDX-License-Identifier: MIT OR Apache-2.0
//! The line behind a port.

use std::collections::VecDeque;

use marklab_pipeline::Packet;
use marklab_units::{Duration, Framing, Rate, Time, Transmitter};

/// A line.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct LineConfig {
    /// Its rate; with `None` frames pass at once, as fast as the port takes them.
    pub rate: Option<Rate>,
    /// Propagation delay.
    pub delay: Duration,
    /// Framing, which determines the bytes of a frame on the line.
    pub framing: Framing,
}

/// Counts of a line.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct LineStats {
    /// Bytes of the frames put on it, including framing.
    pub wire_bytes: u64,
    /// Their transmission time; 0 without a rate.
    pub busy: Duration,
}

/// A transmitter, its line, and the frames on it.
#[derive(Debug)]
pub(crate) struct Line {
    config: LineConfig,
    /// `None` if frames pass at once.
    transmitter: Option<Transmitter>,
    stats: LineStats,
    /// Frames on the line, with the times of their arrival at its end.
    travelling: VecDeque<(Time, Packet)>,
}

impl Line {
    pub(crate) fn new(config: LineConfig) -> Line {
        let transmitter = config.rate.map(Transmitter::new);
        Line { config, transmitter, stats: LineStats::default(), travelling: VecDeque::new() }
    }

    /// Counts so far.
    pub(crate) fn stats(&self) -> LineStats {
        self.stats
    }

    /// When the next frame may be put on it.
    pub(crate) fn free_at(&self) -> Time {
        self.transmitter.map_or(Time::ZERO, |transmitter| transmitter.busy_until())
    }

    /// Whether frames take no time on it.
    pub(crate) fn is_instant(&self) -> bool {
        self.config.rate.is_none() && self.config.delay == Duration::ZERO
    }

    /// Counts a frame of this many bytes. Returns its bytes on the line.
    pub(crate) fn pass(&mut self, bytes: usize) -> u64 {
        let wire_bytes = self.config.framing.wire_bytes(bytes);
        self.stats.wire_bytes += wire_bytes;
        wire_bytes
    }

    /// Puts a frame on it. It must be free at `now`.
    pub(crate) fn put(&mut self, now: Time, packet: Packet) {
        debug_assert!(now >= self.free_at(), "the line is busy");
        let wire_bytes = self.pass(packet.len());
        let mut passed_at = now;
        if let Some(transmitter) = &mut self.transmitter {
            self.stats.busy += transmitter.send(now, wire_bytes);
            passed_at = transmitter.busy_until();
        }
        self.travelling.push_back((passed_at + self.config.delay, packet));
    }

    /// When the first frame arrives at the end of the line.
    pub(crate) fn through_at(&self) -> Option<Time> {
        self.travelling.front().map(|(time, _)| *time)
    }

    /// Takes the first frame.
    pub(crate) fn take(&mut self) -> Option<Packet> {
        self.travelling.pop_front().map(|(_, packet)| packet)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_busy_line_keeps_fractions() {
        let rate = Rate::from_bps(3_000_000_000);
        let mut line = Line::new(LineConfig { rate, ..LineConfig::default() });
        // 100 bytes at 3 Gb/s take 266 2/3 ns.
        for frame in 1..=3 {
            line.put(line.free_at(), Packet::new(&[0; 100], 0));
            assert_eq!(line.free_at(), Time::from_nanos(frame * 800 / 3));
        }
    }

    #[test]
    fn a_frame_is_through_after_its_bits_and_the_delay() {
        let framing = Framing { min_bytes: 64, overhead_bytes: 20 };
        let rate = Rate::from_bps(1_000_000_000);
        let mut line = Line::new(LineConfig { rate, delay: Duration::from_micros(5), framing });
        line.put(Time::from_nanos(7), Packet::new(&[0; 60], 0));
        assert_eq!(line.free_at(), Time::from_nanos(7 + 84 * 8));
        assert_eq!(line.through_at(), Some(Time::from_nanos(7 + 84 * 8 + 5_000)));
        assert!(line.take().is_some() && line.through_at().is_none());
    }
}
