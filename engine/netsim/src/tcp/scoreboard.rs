// SPDX-License-Identifier: MIT OR Apache-2.0
//! Segments in flight: one record per segment that is sent and not yet acknowledged. Losses are found by RFC 6675,
//! counted in segments, and lost retransmissions by RFC 8985.

use std::collections::VecDeque;

use marklab_units::Time;

/// Segments that must be selectively acknowledged above a segment before it counts as lost (RFC 6675, DupThresh).
const DUP_THRESH: usize = 3;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    /// Sent, without any acknowledgement.
    InFlight,
    /// Selectively acknowledged.
    Sacked,
    /// Lost, to be retransmitted.
    Lost,
    /// Retransmitted, without any acknowledgement.
    Resent,
}

#[derive(Clone, Copy, Debug)]
struct Segment {
    start: u64,
    len: u32,
    state: State,
    /// Whether it was ever retransmitted; then it gives no round-trip sample (Karn).
    resent: bool,
    sent: Time,
}

/// The segments between `snd_una` and `snd_nxt`.
#[derive(Clone, Debug, Default)]
pub(super) struct Scoreboard {
    segments: VecDeque<Segment>,
    /// Bytes in states `InFlight` and `Resent`.
    pipe: u64,
    /// Segments in state `Lost`.
    lost: usize,
    /// Segments in state `Sacked`.
    sacked: usize,
    /// Segments in state `Resent`.
    resent: usize,
    /// Of the segments that have arrived, the one sent last: when it was sent, and its first byte. Segments that were
    /// sent at the same time left in the order of their bytes.
    latest: (Time, u64),
}

/// Effect of an acknowledgement.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct Change {
    /// Latest sending time of the newly acknowledged segments that were sent only once.
    pub(super) sent: Option<Time>,
    /// Whether segments were found lost.
    pub(super) new_loss: bool,
}

impl Scoreboard {
    /// Estimate of the bytes in the network.
    pub(super) fn pipe(&self) -> u64 {
        self.pipe
    }

    pub(super) fn is_empty(&self) -> bool {
        self.segments.is_empty()
    }

    pub(super) fn has_lost(&self) -> bool {
        self.lost > 0
    }

    /// Records a new segment.
    pub(super) fn push(&mut self, start: u64, len: u32, now: Time) {
        self.segments.push_back(Segment { start, len, state: State::InFlight, resent: false, sent: now });
        self.pipe += u64::from(len);
    }

    /// Handles a cumulative acknowledgement and selective ones, `[start, end)` each. A segment that was sent after
    /// `back_since` cannot be acknowledged yet: if it was retransmitted since then, an earlier copy has arrived.
    pub(super) fn acknowledge(&mut self, una: u64, sacks: &[(u64, u64)], back_since: Time) -> Change {
        let mut change = Change::default();
        while let Some(segment) = self.segments.front().copied() {
            if segment.start + u64::from(segment.len) > una {
                break;
            }
            self.leave(segment);
            self.segments.pop_front();
            self.arrived(segment, back_since);
            if !segment.resent && segment.state != State::Sacked {
                change.sent = change.sent.max(Some(segment.sent));
            }
        }
        let mut newly_sacked = false;
        for &(start, end) in sacks {
            let first = self.segments.partition_point(|segment| segment.start < start);
            for at in first..self.segments.len() {
                let segment = self.segments[at];
                if segment.start + u64::from(segment.len) > end {
                    break;
                }
                if segment.state != State::Sacked {
                    self.leave(segment);
                    self.arrived(segment, back_since);
                    self.segments[at].state = State::Sacked;
                    self.sacked += 1;
                    newly_sacked = true;
                    if !segment.resent {
                        change.sent = change.sent.max(Some(segment.sent));
                    }
                }
            }
        }
        change.new_loss = newly_sacked && self.find_losses();
        change.new_loss |= self.resent > 0 && self.find_lost_again();
        change
    }

    /// Notes that a segment has arrived. `segment` is its state before.
    fn arrived(&mut self, segment: Segment, back_since: Time) {
        if segment.state != State::Sacked && (!segment.resent || segment.sent <= back_since) {
            self.latest = self.latest.max((segment.sent, segment.start));
        }
    }

    /// Removes a segment from the counts of its state.
    fn leave(&mut self, segment: Segment) {
        match segment.state {
            State::InFlight => self.pipe -= u64::from(segment.len),
            State::Resent => {
                self.pipe -= u64::from(segment.len);
                self.resent -= 1;
            }
            State::Sacked => self.sacked -= 1,
            State::Lost => self.lost -= 1,
        }
    }

    /// Marks segments as lost that have enough selectively acknowledged segments above them.
    fn find_losses(&mut self) -> bool {
        if self.sacked < DUP_THRESH {
            return false;
        }
        let mut above = 0;
        let mut found = false;
        for segment in self.segments.iter_mut().rev() {
            match segment.state {
                State::Sacked => above += 1,
                State::InFlight if above >= DUP_THRESH => {
                    segment.state = State::Lost;
                    self.pipe -= u64::from(segment.len);
                    self.lost += 1;
                    found = true;
                }
                _ => {}
            }
        }
        found
    }

    /// Marks retransmitted segments as lost if a segment that was sent later has arrived: RFC 8985 section 6.2, without
    /// a reordering window, as in Linux before it has seen reordering.
    fn find_lost_again(&mut self) -> bool {
        let lost_before = self.lost;
        for segment in &mut self.segments {
            if segment.state == State::Resent && (segment.sent, segment.start) < self.latest {
                segment.state = State::Lost;
                self.pipe -= u64::from(segment.len);
                self.resent -= 1;
                self.lost += 1;
            }
        }
        self.lost > lost_before
    }

    /// Counts everything that was not selectively acknowledged as lost, after a timeout.
    pub(super) fn lose_all(&mut self) {
        for segment in &mut self.segments {
            if segment.state != State::Sacked && segment.state != State::Lost {
                segment.state = State::Lost;
                self.lost += 1;
            }
        }
        (self.pipe, self.resent) = (0, 0);
    }

    /// Length of the first lost segment.
    pub(super) fn next_lost(&self) -> Option<u32> {
        self.first_lost().map(|at| self.segments[at].len)
    }

    /// Records that the first lost segment is retransmitted. Returns its start and length.
    pub(super) fn resend(&mut self, now: Time) -> Option<(u64, u32)> {
        let at = self.first_lost()?;
        let segment = &mut self.segments[at];
        segment.state = State::Resent;
        segment.resent = true;
        segment.sent = now;
        self.lost -= 1;
        self.resent += 1;
        self.pipe += u64::from(segment.len);
        Some((segment.start, segment.len))
    }

    fn first_lost(&self) -> Option<usize> {
        if self.lost == 0 {
            return None;
        }
        self.segments.iter().position(|segment| segment.state == State::Lost)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn board(segments: u64) -> Scoreboard {
        let mut board = Scoreboard::default();
        for number in 0..segments {
            board.push(number * 100, 100, Time::from_nanos(number));
        }
        board
    }

    const LATER: Time = Time::from_nanos(1000);

    #[test]
    fn three_segments_above_make_a_loss_two_do_not() {
        let mut board = board(10);
        assert!(!board.acknowledge(0, &[(100, 300)], LATER).new_loss);
        assert_eq!(board.pipe(), 800);
        assert!(board.acknowledge(0, &[(100, 400)], LATER).new_loss);
        assert_eq!((board.pipe(), board.next_lost()), (600, Some(100)));
        assert_eq!(board.resend(Time::ZERO), Some((0, 100)));
        assert_eq!((board.pipe(), board.has_lost()), (700, false));
    }

    #[test]
    fn a_segment_sent_again_is_lost_again_once_one_sent_after_it_has_arrived() {
        let at = Time::from_nanos;
        let mut board = board(5);
        board.acknowledge(0, &[(200, 500)], LATER); // the first two are lost
        assert_eq!((board.resend(at(50)), board.resend(at(50))), (Some((0, 100)), Some((100, 100))));
        board.push(500, 100, at(50));
        // A segment that was sent before gives no information.
        assert!(!board.acknowledge(0, &[], LATER).new_loss);
        // The second was sent at the same time, and after the first.
        assert!(board.acknowledge(0, &[(100, 500)], LATER).new_loss);
        assert_eq!((board.pipe(), board.next_lost()), (100, Some(100)));
        assert_eq!(board.resend(at(60)), Some((0, 100)));
        // The segment that arrives now was sent before.
        assert!(!board.acknowledge(0, &[(100, 600)], LATER).new_loss);
        board.push(600, 100, at(61));
        assert!(board.acknowledge(0, &[(100, 700)], LATER).new_loss);
    }

    #[test]
    fn a_segment_that_can_not_be_back_yet_tells_nothing_of_those_sent_before() {
        let at = Time::from_nanos;
        for (rtt, lost_again) in [(11, false), (10, true), (9, true)] {
            let mut board = board(5);
            board.acknowledge(0, &[(200, 500)], LATER);
            board.resend(at(50));
            board.resend(at(60));
            // Acknowledged at 70: the copy sent at 60 if that is at least a round trip ago, else the first one, late.
            let change = board.acknowledge(0, &[(100, 500)], at(70 - rtt));
            assert_eq!(change.new_loss, lost_again, "{rtt} ns");
        }
    }

    #[test]
    fn segments_sent_again_give_no_sample() {
        let mut board = board(3);
        board.lose_all();
        board.resend(Time::from_nanos(50));
        assert_eq!(board.acknowledge(100, &[], LATER).sent, None);
        let mut board = self::board(3);
        assert_eq!(board.acknowledge(200, &[], LATER).sent, Some(Time::from_nanos(1)));
    }

    proptest! {
        /// For any acknowledgements in any order, the counts match a recount.
        #[test]
        fn counts_match_a_recount(
            steps in prop::collection::vec((0..4u8, 0..20u64, 0..6u64), 1..40),
        ) {
            let mut board = board(20);
            let mut una = 0;
            for (kind, at, len) in steps {
                match kind {
                    0 => {
                        una = una.max(at * 100);
                        board.acknowledge(una, &[], LATER);
                    }
                    1 => {
                        board.acknowledge(una, &[(at * 100, (at + len) * 100)], LATER);
                    }
                    2 => {
                        board.resend(Time::ZERO);
                    }
                    _ => board.lose_all(),
                }
                let count = |state| board.segments.iter().filter(|segment| segment.state == state).count();
                prop_assert_eq!(board.pipe, 100 * (count(State::InFlight) + count(State::Resent)) as u64);
                prop_assert_eq!(board.resent, count(State::Resent));
                prop_assert_eq!((board.lost, board.sacked), (count(State::Lost), count(State::Sacked)));
            }
        }
    }
}
