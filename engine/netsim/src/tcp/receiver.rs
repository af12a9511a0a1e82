// SPDX-License-Identifier: MIT OR Apache-2.0
//! The receiving end of a connection.

use marklab_units::{Duration, Time};

use super::autotuning::{Autotuning, AutotuningConfig, Held};

/// How congestion marks are echoed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EchoMode {
    /// The connection does not use ECN.
    None,
    /// RFC 3168: every acknowledgement after a mark carries the echo, until the sender signals a reduction (CWR).
    Latched,
    /// RFC 8257 section 3.2: the echo shows exactly which segments were marked; a change is acknowledged at once.
    Dctcp,
    /// RFC 9768 section 3.2.2.5.1: acknowledgements count marks, which the connection does. The first mark after a segment
    /// without one is acknowledged at once, and so is the second one that was not acknowledged.
    Accurate,
}

/// How a receiver behaves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReceiverConfig {
    /// Segments per acknowledgement; with 1, each segment is acknowledged.
    pub ack_every: u32,
    /// Longest time that an acknowledgement is delayed.
    pub ack_delay: Duration,
    /// Echo of marks.
    pub echo: EchoMode,
    /// Segments that are acknowledged at once when a connection begins. If it is not 0, also a mark that is the first of
    /// a window (two segments), CWR, and a segment that arrives twice (16 segments) end the delay of acknowledgements for
    /// a while, as Linux has it (`tcp_enter_quickack_mode`).
    pub quick_acks: u32,
    /// Whether segments that arrive twice are reported (RFC 2883).
    pub dsack: bool,
    /// Whether a mark counts only on a segment above the last marked one ([`super::stack::Stack::rising_marks`]).
    pub rising_marks: bool,
    /// What bounds the window, if it is tuned ([`super::stack::Stack::window_autotuning`]).
    pub autotuning: Option<AutotuningConfig>,
}

/// Selective acknowledgements to report: the first `len` of `blocks`, the most recent first (RFC 2018). A range that
/// arrived twice comes before them (RFC 2883).
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct SackBlocks {
    /// Ranges of stream offsets.
    pub blocks: [(u64, u64); 4],
    /// Number of valid blocks.
    pub len: usize,
}

impl SackBlocks {
    /// The blocks.
    pub fn as_slice(&self) -> &[(u64, u64)] {
        &self.blocks[..self.len]
    }
}

/// Acknowledgements to send now, each with its echo.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct AckPlan {
    /// An acknowledgement for data before this segment: the next byte that was expected then, and the echo. Sent first.
    pub earlier: Option<(u64, bool)>,
    /// An acknowledgement for everything so far, with this echo.
    pub now: Option<bool>,
}

/// Segments that Linux acknowledges at once after one that arrived twice (`TCP_MAX_QUICKACKS`).
const MAX_QUICK_ACKS: u32 = 16;

/// Reassembles a stream and acknowledges it.
#[derive(Clone, Debug)]
pub struct Receiver {
    config: ReceiverConfig,
    rcv_nxt: u64,
    /// Received ranges beyond `rcv_nxt`, the most recently extended first.
    islands: Vec<(u64, u64)>,
    /// Segments not acknowledged yet.
    pending: u32,
    /// Echo of the next acknowledgement: the latched mark, or DCTCP's state.
    echo: bool,
    /// Start of the last segment whose mark counted.
    marked: u64,
    deadline: Option<Time>,
    /// Acknowledgements that are not delayed.
    quick: u32,
    /// The range of the latest segment, if it had arrived before.
    duplicate: Option<(u64, u64)>,
    /// The window, if it is tuned. Seldom used, and therefore not here.
    autotuning: Option<Box<Autotuning>>,
}

impl Receiver {
    /// A receiver at the start of a stream.
    pub fn new(config: ReceiverConfig) -> Receiver {
        Receiver {
            config,
            rcv_nxt: 0,
            islands: Vec::new(),
            pending: 0,
            echo: false,
            marked: 0,
            deadline: None,
            // A window that grows ends the delay of acknowledgements itself.
            quick: if config.autotuning.is_some() { config.quick_acks.min(MAX_QUICK_ACKS) } else { config.quick_acks },
            duplicate: None,
            autotuning: config.autotuning.map(|config| Box::new(Autotuning::new(config))),
        }
    }

    /// Echoes marks this way from now on: the handshake did not agree on what was asked for.
    pub fn set_echo(&mut self, echo: EchoMode) {
        self.config.echo = echo;
    }

    /// Next expected byte: everything before it has arrived.
    pub fn rcv_nxt(&self) -> u64 {
        self.rcv_nxt
    }

    /// When [`Receiver::on_ack_timer`] is due, unless an acknowledgement is sent before.
    pub fn deadline(&self) -> Option<Time> {
        self.deadline
    }

    /// Bounds a window that is tuned, before any data arrive, unless the bound is 0. Returns the first window.
    pub fn limit_window(&mut self, limit: u64) -> Option<u64> {
        let config = self.config.autotuning.as_mut()?;
        if limit > 0 {
            config.limit = limit;
        }
        let tuned = Autotuning::new(*config);
        let first = tuned.advertised();
        self.autotuning = Some(Box::new(tuned));
        Some(first)
    }

    /// The window to advertise now, if it is tuned.
    pub fn select_window(&mut self) -> Option<u64> {
        self.autotuning.is_some().then(|| self.select_tuned_window())
    }

    #[cold]
    fn select_tuned_window(&mut self) -> u64 {
        let held = self.held();
        self.autotuning.as_mut().map_or(0, |window| window.select_window(&held))
    }

    /// Tunes the window after a segment up to `end`, if it brought new data.
    #[cold]
    fn tune_window(&mut self, now: Time, len: u32, end: u64, in_order: bool) {
        let held = self.held();
        let Some(window) = &mut self.autotuning else { return };
        if in_order || end > held.rcv_nxt {
            let grows = window.on_data(now, len, in_order.then_some(end), &held);
            // `tcp_grow_window` sets the lowest bit.
            if grows && self.config.quick_acks > 0 {
                self.quick |= 1;
            }
        }
    }

    fn held(&self) -> Held {
        let waiting = self.islands.iter().map(|&(start, end)| end - start).sum();
        let last = self.islands.iter().map(|&(_, end)| end).max();
        Held { rcv_nxt: self.rcv_nxt, waiting, span: last.map_or(0, |end| end - self.rcv_nxt) }
    }

    /// The ranges to report with an acknowledgement.
    pub fn sack_blocks(&self) -> SackBlocks {
        let mut report = SackBlocks::default();
        for (target, block) in
            report.blocks.iter_mut().zip(self.duplicate.into_iter().chain(self.islands.iter().copied()))
        {
            *target = block;
            report.len += 1;
        }
        report
    }

    /// Handles a segment of `len` bytes from `offset`. `ce` is congestion experienced; `cwr` is the sender's signal
    /// that it reduced its window.
    pub fn on_segment(&mut self, now: Time, offset: u64, len: u32, ce: bool, cwr: bool) -> AckPlan {
        self.on_segments(now, offset, len, 1, ce, cwr)
    }

    /// Handles this many segments of `len` bytes in all that a NIC has merged: one acknowledgement is for all of them.
    // Inlined, so that its arguments and its result are not copied.
    #[inline(always)]
    pub fn on_segments(&mut self, now: Time, offset: u64, len: u32, segments: u32, ce: bool, cwr: bool) -> AckPlan {
        let mut plan = AckPlan::default();
        let mut changed = false;
        let ce = ce && (offset > self.marked || !self.config.rising_marks);
        if ce {
            self.marked = offset;
        }
        match self.config.echo {
            EchoMode::None => {}
            // A mark on the segment that carries CWR is a new mark (RFC 3168 section 6.1.3).
            EchoMode::Latched => {
                // Linux acknowledges the first mark of a window and CWR at once.
                changed = self.config.quick_acks > 0 && (cwr || (ce && !self.echo));
                if ce && !self.echo {
                    self.quicken(2);
                }
                self.echo = ce || (self.echo && !cwr);
            }
            EchoMode::Dctcp => {
                // A change is acknowledged at once. Segments that waited are acknowledged before it, with the old echo.
                changed = ce != self.echo;
                if changed && self.pending > 0 {
                    plan.earlier = Some((self.rcv_nxt, self.echo));
                    self.pending = 0;
                }
                self.echo = ce;
            }
            EchoMode::Accurate => {
                changed = ce && (!self.echo || self.pending > 0);
                self.echo = ce;
            }
        }
        let had_islands = !self.islands.is_empty();
        self.duplicate = None;
        if self.config.dsack {
            self.note_duplicate(offset, offset + u64::from(len));
        }
        let in_order = self.take(offset, offset + u64::from(len));
        if self.autotuning.is_some() {
            self.tune_window(now, len, offset + u64::from(len), in_order);
        }
        self.pending += segments;
        // A segment out of order, one that fills a gap, or a duplicate is acknowledged at once (RFC 5681 section 4.2).
        if changed || !in_order || had_islands || self.quick > 0 || self.pending >= self.config.ack_every {
            plan.now = Some(self.acknowledge());
        } else if self.deadline.is_none() {
            self.deadline = Some(now + self.config.ack_delay);
        }
        plan
    }

    /// The deadline has passed: an acknowledgement with the returned echo is due.
    pub fn on_ack_timer(&mut self) -> bool {
        self.acknowledge()
    }

    /// Notes that everything so far is being acknowledged. Returns the echo.
    pub fn acknowledge(&mut self) -> bool {
        self.pending = 0;
        self.deadline = None;
        self.quick = self.quick.saturating_sub(1);
        self.echo
    }

    /// Does not delay this many acknowledgements, if the stack has them.
    fn quicken(&mut self, acknowledgements: u32) {
        if self.config.quick_acks > 0 {
            self.quick = self.quick.max(acknowledgements);
        }
    }

    /// Notes what of a segment has arrived before.
    fn note_duplicate(&mut self, start: u64, end: u64) {
        let known = self.islands.iter().any(|&(from, to)| from <= start && end <= to);
        if start < self.rcv_nxt && start < end {
            self.duplicate = Some((start, end.min(self.rcv_nxt)));
        } else if known {
            self.duplicate = Some((start, end));
        }
        if self.duplicate.is_some() {
            self.quicken(MAX_QUICK_ACKS);
        }
    }

    /// Adds a range. Returns whether it contained the next expected byte.
    fn take(&mut self, start: u64, end: u64) -> bool {
        if end <= self.rcv_nxt {
            return false;
        }
        if start <= self.rcv_nxt {
            self.rcv_nxt = end;
            // The end of an island that is reached may reach the next island.
            while let Some(at) = self.islands.iter().position(|&(start, _)| start <= self.rcv_nxt) {
                let (_, end) = self.islands.remove(at);
                self.rcv_nxt = self.rcv_nxt.max(end);
            }
            return true;
        }
        let mut merged = (start, end);
        self.islands.retain(|&(start, end)| {
            let touches = start <= merged.1 && merged.0 <= end;
            if touches {
                merged = (merged.0.min(start), merged.1.max(end));
            }
            !touches
        });
        self.islands.insert(0, merged);
        false
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn receiver(echo: EchoMode, ack_every: u32) -> Receiver {
        Receiver::new(ReceiverConfig {
            ack_every,
            ack_delay: Duration::from_micros(500),
            echo,
            quick_acks: 0,
            dsack: false,
            rising_marks: false,
            autotuning: None,
        })
    }

    fn now() -> Time {
        Time::from_nanos(1000)
    }

    #[test]
    fn acknowledgements_are_not_delayed_while_a_tuned_window_grows() {
        // Nine segments grow it to 81,408 bytes; the 16 acknowledgements of a new connection follow.
        for (quick_acks, at_once) in [(0, 0), (300, 25)] {
            let config = receiver(EchoMode::None, 2).config;
            let autotuning = Some(AutotuningConfig { mss: 1000, limit: 1 << 20 });
            let mut receiver = Receiver::new(ReceiverConfig { quick_acks, autotuning, ..config });
            let acked = |number: u64| receiver.on_segment(now(), 1000 * number, 1000, false, false).now.is_some();
            let acked: Vec<bool> = (0..60).map(acked).collect();
            let delayed = acked.iter().position(|&acked| !acked);
            assert_eq!(delayed, Some(at_once), "{acked:?}");
        }
    }

    #[test]
    fn every_second_segment_is_acknowledged_or_the_timer_does_it() {
        let mut receiver = receiver(EchoMode::None, 2);
        assert_eq!(receiver.on_segment(now(), 0, 100, false, false), AckPlan::default());
        assert_eq!(receiver.deadline(), Some(now() + Duration::from_micros(500)));
        assert_eq!(receiver.on_segment(now(), 100, 100, false, false).now, Some(false));
        assert_eq!((receiver.deadline(), receiver.rcv_nxt()), (None, 200));
    }

    #[test]
    fn gaps_are_acknowledged_at_once_with_the_latest_block_first() {
        let mut receiver = receiver(EchoMode::None, 2);
        for offset in [200, 600, 400] {
            assert_eq!(receiver.on_segment(now(), offset, 100, false, false).now, Some(false));
        }
        assert_eq!(receiver.sack_blocks().as_slice(), [(400, 500), (600, 700), (200, 300)]);
        receiver.on_segment(now(), 300, 100, false, false);
        assert_eq!(receiver.sack_blocks().as_slice(), [(200, 500), (600, 700)]);
        assert_eq!(receiver.on_segment(now(), 0, 200, false, false).now, Some(false));
        assert_eq!((receiver.rcv_nxt(), receiver.sack_blocks().as_slice()), (500, &[(600, 700)][..]));
    }

    #[test]
    fn a_latched_echo_lasts_until_cwr() {
        let mut receiver = receiver(EchoMode::Latched, 1);
        let mut echo = |offset, ce, cwr| receiver.on_segment(now(), offset, 100, ce, cwr).now.unwrap();
        assert!(!echo(0, false, false));
        assert!(echo(100, true, false));
        assert!(echo(200, false, false));
        assert!(!echo(300, false, true));
        assert!(echo(400, true, true));
    }

    /// RFC 8257 figure 1, with delayed acknowledgements.
    #[test]
    fn a_change_of_marks_acknowledges_what_came_before() {
        let mut receiver = receiver(EchoMode::Dctcp, 2);
        assert_eq!(receiver.on_segment(now(), 0, 100, false, false), AckPlan::default());
        let plan = receiver.on_segment(now(), 100, 100, true, false);
        assert_eq!(plan, AckPlan { earlier: Some((100, false)), now: Some(true) });
        assert_eq!(receiver.on_segment(now(), 200, 100, true, false), AckPlan::default());
        assert_eq!(receiver.on_segment(now(), 300, 100, true, false), AckPlan { earlier: None, now: Some(true) });
        let plan = receiver.on_segment(now(), 400, 100, false, false);
        assert_eq!(plan, AckPlan { earlier: None, now: Some(false) }); // nothing was pending
        assert_eq!(receiver.deadline(), None);
    }

    #[test]
    fn the_first_segments_are_acknowledged_at_once_if_the_stack_does_so() {
        let config = receiver(EchoMode::None, 2).config;
        let mut receiver = Receiver::new(ReceiverConfig { quick_acks: 3, dsack: true, ..config });
        let mut acknowledged = Vec::new();
        for number in 0..7 {
            acknowledged.push(receiver.on_segment(now(), number * 100, 100, false, false).now.is_some());
        }
        assert_eq!(acknowledged, [true, true, true, false, true, false, true]);
        assert!(receiver.on_segment(now(), 100, 100, false, false).now.is_some());
        assert_eq!(receiver.sack_blocks().as_slice(), [(100, 200)]);
        assert!(receiver.on_segment(now(), 700, 100, false, false).now.is_some()); // quick again
        assert_eq!(receiver.sack_blocks().as_slice(), []);
    }

    #[test]
    fn a_segment_that_arrives_twice_above_a_gap_is_reported_before_its_block() {
        let config = receiver(EchoMode::None, 2).config;
        let mut receiver = Receiver::new(ReceiverConfig { dsack: true, ..config });
        for offset in [200, 300, 200] {
            receiver.on_segment(now(), offset, 100, false, false);
        }
        assert_eq!(receiver.sack_blocks().as_slice(), [(200, 300), (200, 400)]);
    }

    #[test]
    fn a_mark_on_the_first_segment_or_one_sent_again_counts_unless_marks_have_to_rise() {
        for (rising_marks, echoes) in [(false, [true, true, false, true]), (true, [false, true, false, false])] {
            let config = ReceiverConfig { rising_marks, ..receiver(EchoMode::Dctcp, 1).config };
            let mut receiver = Receiver::new(config);
            let mut echo = |offset, ce| receiver.on_segment(now(), offset, 100, ce, false).now.unwrap();
            assert_eq!([echo(0, true), echo(200, true), echo(300, false), echo(100, true)], echoes);
        }
    }

    proptest! {
        /// Oracle: the set of bytes received.
        #[test]
        fn the_stream_is_complete_up_to_the_first_gap(order in Just((0..30u64).collect::<Vec<_>>()).prop_shuffle(), lost in 0..30usize) {
            let mut receiver = receiver(EchoMode::None, 2);
            let mut seen = [false; 30];
            for &number in &order[..30 - lost] {
                receiver.on_segment(now(), number * 10, 10, false, false);
                seen[number as usize] = true;
                let complete = seen.iter().position(|&seen| !seen).unwrap_or(30);
                prop_assert_eq!(receiver.rcv_nxt(), complete as u64 * 10);
                for &(start, end) in &receiver.islands {
                    prop_assert!((start / 10..end / 10).all(|at| seen[at as usize]));
                    prop_assert!(start > receiver.rcv_nxt() && seen.get(end as usize / 10) != Some(&true));
                }
            }
        }
    }
}
