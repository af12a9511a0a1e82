// SPDX-License-Identifier: MIT OR Apache-2.0
//! Segments in flight: one record per segment that is sent and not yet acknowledged. Losses are found by RFC 6675,
//! counted in segments, and lost retransmissions by RFC 8985; or all of them by RFC 8985 (RACK); or, without selective
//! acknowledgements, by RFC 6582 (NewReno).

use std::collections::VecDeque;

use marklab_units::{Duration, Time};

use super::stack::{LossDetection, WindowUnit};

/// Segments that must be selectively acknowledged above a segment before it counts as lost (RFC 6675, DupThresh).
const DUP_THRESH: usize = 3;
/// Ranges that an acknowledgement has room for, besides timestamps (RFC 2018 section 3), and one more.
const SACK_RANGES: usize = 4;
/// Most segments by which Linux takes packets to be reordered (`net.ipv4.tcp_max_reordering`).
const MAX_REORDERING: usize = 300;

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
    /// Sent twice, though nothing shows that the first copy was lost: a probe of the tail. Both may be in the network.
    Probed,
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

impl Segment {
    fn end(&self) -> u64 {
        self.start + u64::from(self.len)
    }
}

/// The segments between `snd_una` and `snd_nxt`. Weights are bytes, or full segments if windows count segments.
#[derive(Clone, Debug, Default)]
pub(super) struct Scoreboard {
    segments: VecDeque<Segment>,
    detection: LossDetection,
    /// Weight of any segment; `None` if it is its length.
    full: Option<u32>,
    mss: u32,
    /// Weight of what may be in the network.
    pipe: u64,
    /// Segments in state `Lost`.
    lost: usize,
    /// Segments in state `Sacked`.
    sacked: usize,
    /// Segments in states `Resent` and `Probed`.
    resent: usize,
    /// Whether losses were taken back, so that a segment may have been sent after those behind it without a gap.
    shuffled: bool,
    rack: Rack,
    settled: Settled,
    reno: Reno,
}

/// What is known without selective acknowledgements (RFC 6582).
#[derive(Clone, Copy, Default, Debug)]
struct Reno {
    /// Segments behind the first that have arrived: one for each duplicate acknowledgement.
    duplicates: usize,
    /// Whether the last acknowledgement was for more data.
    advanced: bool,
    /// End of the data that were in flight at the last timeout. Duplicates before it are not counted.
    timed_out: u64,
}

/// What need not be looked at again. An acknowledgement repeats what those before it said, and a window has thousands of
/// segments. Nothing but time rests on it.
#[derive(Clone, Copy, Default, Debug)]
struct Settled {
    /// Ranges in which all segments are in state `Sacked`, which they never leave: those last reported.
    sacked: [(u64, u64); SACK_RANGES],
    /// No segment that begins before it is in state `InFlight`, of those found by [`Scoreboard::find_by_count`].
    counted: u64,
    /// No segment that begins before it is in state `Lost`.
    lost: u64,
}

/// What RFC 8985 section 6.1 keeps.
#[derive(Clone, Copy, Default, Debug)]
struct Rack {
    /// Of the segments that have arrived, the one sent last: when it was sent, and its first byte. Segments that were
    /// sent at the same time left in the order of their bytes.
    latest: (Time, u64),
    /// Its round trip.
    rtt: Duration,
    /// Whether a segment has arrived since losses were last looked for.
    advanced: bool,
    /// End of the highest segment that was selectively acknowledged.
    highest: u64,
    /// Segments by which packets were reordered at most, once that was seen.
    reordering: Option<usize>,
}

/// An acknowledgement, as the scoreboard needs it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Report<'a> {
    pub(super) now: Time,
    pub(super) una: u64,
    /// Ranges `[start, end)`. The first may repeat data that were acknowledged before (RFC 2883).
    pub(super) sacks: &'a [(u64, u64)],
    /// The shortest round trip: a segment retransmitted later than that ago cannot be acknowledged yet, so that an
    /// earlier copy has arrived.
    pub(super) min_rtt: Duration,
    /// End of the data that were in flight when a timeout or a loss was last found.
    pub(super) high_seq: u64,
    /// Whether losses up to there are being repaired by fast recovery.
    pub(super) recovery: bool,
}

/// Effect of an acknowledgement.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct Change {
    /// Sending times of the segments that were sent only once: the latest that is newly acknowledged, the earliest
    /// that is acknowledged cumulatively, and the earliest that is acknowledged selectively.
    pub(super) latest: Option<Time>,
    pub(super) earliest: Option<Time>,
    pub(super) earliest_sacked: Option<Time>,
    /// Whether a segment that was sent more than once is acknowledged cumulatively.
    pub(super) resent: bool,
    /// Weight of the segments that are newly acknowledged.
    pub(super) delivered: u64,
    /// Whether segments are newly acknowledged selectively.
    pub(super) sacked: bool,
    /// Whether a segment before `high_seq` has arrived that was sent only once.
    pub(super) original: bool,
    /// End of a range that was reported as received twice.
    pub(super) duplicate: Option<u64>,
}

/// What a look for losses found.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct Losses {
    /// Weight of the segments newly found lost.
    pub(super) lost: u64,
    /// Whether a retransmission was lost.
    pub(super) again: bool,
    /// When to look again, because a segment may only be late.
    pub(super) look_again: Option<Duration>,
}

impl Scoreboard {
    pub(super) fn new(detection: LossDetection, unit: WindowUnit, mss: u32) -> Scoreboard {
        let full = (unit == WindowUnit::Segments).then_some(mss);
        Scoreboard { detection, full, mss, ..Scoreboard::default() }
    }

    /// What a segment counts in a window.
    pub(super) fn weight(&self, len: u32) -> u64 {
        self.full.unwrap_or(len).into()
    }

    /// Estimate of what is in the network.
    pub(super) fn pipe(&self) -> u64 {
        self.pipe.saturating_sub(self.weight_of(self.reno.duplicates))
    }

    fn weight_of(&self, segments: usize) -> u64 {
        segments as u64 * self.weight(self.mss)
    }

    /// Weight of the segments that were not selectively acknowledged.
    pub(super) fn not_sacked(&self) -> u64 {
        let open = self.segments.iter().filter(|segment| segment.state != State::Sacked);
        open.map(|segment| self.weight(segment.len)).sum()
    }

    /// Number of segments.
    pub(super) fn len(&self) -> usize {
        self.segments.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.segments.is_empty()
    }

    /// Whether segments wait for their retransmission.
    pub(super) fn has_lost(&self) -> bool {
        self.lost > 0
    }

    /// Retransmissions without an answer.
    pub(super) fn retransmissions(&self) -> u64 {
        self.resent as u64
    }

    /// Whether segments have arrived out of order, are lost or retransmitted.
    pub(super) fn has_gaps(&self) -> bool {
        self.sacked + self.reno.duplicates + self.lost + self.resent > 0
    }

    /// Whether lost segments, retransmitted or not, are without an answer.
    pub(super) fn is_repairing(&self) -> bool {
        self.lost > 0 || self.resent > 0 && self.segments.iter().any(|segment| segment.state == State::Resent)
    }

    /// When the first segment was last sent.
    pub(super) fn head_sent(&self) -> Option<Time> {
        self.segments.front().map(|segment| segment.sent)
    }

    /// Records a new segment.
    pub(super) fn push(&mut self, start: u64, len: u32, now: Time) {
        self.shuffled &= !self.segments.is_empty();
        self.segments.push_back(Segment { start, len, state: State::InFlight, resent: false, sent: now });
        self.pipe += self.weight(len);
    }

    /// Handles a cumulative acknowledgement and selective ones. [`Scoreboard::find_losses`] is next.
    pub(super) fn acknowledge(&mut self, report: &Report<'_>) -> Change {
        let mut change = Change::default();
        let before = self.segments.len();
        while let Some(segment) = self.segments.pop_front_if(|segment| segment.end() <= report.una) {
            self.leave(segment);
            change.resent |= segment.resent;
            if segment.state != State::Sacked {
                self.arrived(segment, report, &mut change);
                if !segment.resent {
                    change.earliest.get_or_insert(segment.sent);
                }
            }
        }
        if self.detection == LossDetection::Newreno {
            self.count_duplicates(report, before - self.segments.len(), &mut change);
            return change;
        }
        if let Some(&(start, end)) = report.sacks.first() {
            let within = report.sacks.get(1).is_some_and(|&(from, to)| from <= start && end <= to);
            if start < report.una || within {
                change.duplicate = Some(end);
                // Linux's `tcp_dsack_seen`: what arrived twice has been delivered too.
                if self.detection == LossDetection::Rack {
                    change.delivered += self.weight((end - start) as u32);
                }
            }
            let known = self.settled.sacked;
            for (at, &(start, end)) in report.sacks.iter().enumerate() {
                let settled = known.iter().find(|&&(from, to)| from <= start && start <= to);
                let from = settled.map_or(start, |&(_, to)| to);
                let to = self.acknowledge_range(from, end, report, &mut change);
                self.settled.sacked[at % SACK_RANGES] = (start, to);
            }
        }
        change
    }

    /// An acknowledgement of `arrived` segments in order. Those that duplicates have told of are not new, and the first
    /// has waited for none: the others give no round trip. Ranges are not read: that there are some shows that a
    /// segment has arrived out of order. After a timeout all in flight counts as lost, and duplicates say no more: they
    /// may be of copies from before, and let nothing leave (RFC 6582 section 4).
    fn count_duplicates(&mut self, report: &Report<'_>, arrived: usize, change: &mut Change) {
        let duplicates = self.reno.duplicates;
        self.reno.advanced = arrived > 0;
        if arrived > 0 {
            let known = duplicates.min(arrived - 1);
            if known > 0 || change.resent {
                (change.latest, change.earliest) = (None, None);
            }
            change.delivered = change.delivered.saturating_sub(self.weight_of(known));
            let partial = report.recovery && report.una < report.high_seq;
            let behind = self.segments.len().saturating_sub(1);
            self.reno.duplicates = if partial { (duplicates - known).min(behind) } else { 0 };
        } else if !report.sacks.is_empty() && duplicates + 1 < self.segments.len() && report.una >= self.reno.timed_out
        {
            self.reno.duplicates += 1;
            change.delivered = self.weight_of(1);
        }
    }

    /// Returns the end of the last segment in the range, or the start of the range.
    fn acknowledge_range(&mut self, start: u64, end: u64, report: &Report<'_>, change: &mut Change) -> u64 {
        let mut covered = start;
        let first = self.index_of(start);
        for at in first..self.segments.len() {
            let segment = self.segments[at];
            if segment.end() > end {
                break;
            }
            covered = segment.end();
            if segment.state != State::Sacked {
                self.leave(segment);
                self.arrived(segment, report, change);
                self.segments[at].state = State::Sacked;
                self.sacked += 1;
                change.sacked = true;
                self.rack.highest = self.rack.highest.max(segment.end());
                if !segment.resent {
                    change.earliest_sacked =
                        Some(change.earliest_sacked.map_or(segment.sent, |sent| sent.min(segment.sent)));
                }
            }
        }
        covered
    }

    /// Index of the first segment that begins there or later.
    fn index_of(&self, start: u64) -> usize {
        self.segments.partition_point(|segment| segment.start < start)
    }

    /// Notes that a segment has arrived. `segment` is its state before.
    #[inline]
    fn arrived(&mut self, segment: Segment, report: &Report<'_>, change: &mut Change) {
        change.delivered += self.weight(segment.len);
        let rtt = report.now.since(segment.sent);
        if !segment.resent {
            change.latest = change.latest.max(Some(segment.sent));
            change.original |= segment.end() <= report.high_seq;
            if segment.start < self.rack.highest {
                self.note_reordering(segment);
            }
        } else if rtt < report.min_rtt {
            return;
        }
        self.rack.advanced = true;
        self.rack.rtt = rtt;
        self.rack.latest = self.rack.latest.max((segment.sent, segment.start));
    }

    /// A segment that was sent only once arrives after one that was sent later.
    #[cold]
    fn note_reordering(&mut self, segment: Segment) {
        let distance = (self.rack.highest - segment.start).div_ceil(segment.len.max(1).into()) as usize;
        let before = self.rack.reordering.unwrap_or(DUP_THRESH);
        self.rack.reordering = Some(before.max(distance.min(MAX_REORDERING)));
    }

    /// Removes a segment from the counts of its state.
    fn leave(&mut self, segment: Segment) {
        let weight = self.weight(segment.len);
        match segment.state {
            State::InFlight => self.pipe -= weight,
            State::Resent => {
                self.pipe -= weight;
                self.resent -= 1;
            }
            State::Probed => {
                self.pipe -= 2 * weight;
                self.resent -= 1;
            }
            State::Sacked => self.sacked -= 1,
            State::Lost => self.lost -= 1,
        }
    }

    /// Looks for losses. In `recovery`, no segment is waited for. Of RFC 8985, `srtt` and `min_rtt` bound the time.
    pub(super) fn find_losses(&mut self, now: Time, recovery: bool, srtt: Duration, min_rtt: Duration) -> Losses {
        match self.detection {
            LossDetection::DupthreshOnce => {
                Losses { lost: self.find_by_count(DUP_THRESH, DUP_THRESH), ..Losses::default() }
            }
            LossDetection::Dupthresh => {
                let lost = self.find_by_count(DUP_THRESH, DUP_THRESH);
                let again = if self.resent > 0 { self.find_lost_again() } else { 0 };
                Losses { lost: lost + again, again: again > 0, look_again: None }
            }
            LossDetection::Rack if std::mem::take(&mut self.rack.advanced) => {
                self.find_by_time(now, self.reordering_window(recovery, srtt, min_rtt))
            }
            LossDetection::Rack => Losses::default(),
            LossDetection::Holes => {
                let lost = self.find_by_count(if recovery { 1 } else { DUP_THRESH }, 1);
                Losses { lost, ..Losses::default() }
            }
            LossDetection::Newreno => Losses { lost: self.find_first(recovery), ..Losses::default() },
        }
    }

    /// The first segment is lost at the third duplicate (RFC 6582 section 3.2 step 2), and in a recovery at each partial
    /// acknowledgement (step 3).
    fn find_first(&mut self, recovery: bool) -> u64 {
        let due = if recovery { self.reno.advanced } else { self.reno.duplicates >= DUP_THRESH };
        let open = self.segments.front().is_some_and(|first| first.state == State::InFlight);
        if due && open { self.lose(0) } else { 0 }
    }

    /// Time that a segment may be late (RFC 8985 section 6.2 step 4, as in Linux).
    fn reordering_window(&self, recovery: bool, srtt: Duration, min_rtt: Duration) -> Duration {
        if self.rack.reordering.is_none() && (recovery || self.sacked >= DUP_THRESH) {
            return Duration::ZERO;
        }
        Duration::from_nanos((min_rtt.nanos() / 4).min(srtt.nanos()))
    }

    /// Looks for losses when the time is up that [`Losses::look_again`] gave.
    pub(super) fn find_late(&mut self, now: Time, recovery: bool, srtt: Duration, min_rtt: Duration) -> Losses {
        self.rack.advanced = false;
        self.find_by_time(now, self.reordering_window(recovery, srtt, min_rtt))
    }

    fn find_by_time(&mut self, now: Time, window: Duration) -> Losses {
        let mut losses = Losses::default();
        let Rack { latest, rtt, .. } = self.rack;
        // Without gaps, segments are in the order in which they were sent: if the first was sent late enough, all were.
        if !self.has_gaps()
            && !self.shuffled
            && self.segments.front().is_none_or(|first| (first.sent, first.start) >= latest)
        {
            return losses;
        }
        for at in 0..self.segments.len() {
            let segment = self.segments[at];
            let later = (segment.sent, segment.start) >= latest;
            if later && segment.state == State::InFlight && !segment.resent {
                break; // those behind it were sent later still
            }
            let open = matches!(segment.state, State::InFlight | State::Resent | State::Probed);
            if !open || later {
                continue;
            }
            let due = segment.sent + rtt + window;
            if due > now {
                losses.look_again = losses.look_again.max(Some(due.since(now)));
                continue;
            }
            losses.again |= segment.state != State::InFlight;
            losses.lost += self.lose(at);
        }
        losses
    }

    /// Marks a segment as lost. Returns its weight.
    fn lose(&mut self, at: usize) -> u64 {
        let segment = self.segments[at];
        self.leave(segment);
        self.segments[at].state = State::Lost;
        self.lost += 1;
        self.settled.lost = self.settled.lost.min(segment.start);
        self.weight(segment.len)
    }

    /// Once so many segments are selectively acknowledged, marks those as lost that have enough of them above.
    fn find_by_count(&mut self, sacked: usize, enough: usize) -> u64 {
        if self.sacked < sacked {
            return 0;
        }
        let (mut above, mut last) = (0, self.index_of(self.rack.highest));
        while above < enough {
            last -= 1;
            above += usize::from(self.segments[last].state == State::Sacked);
        }
        let mut lost = 0;
        for at in self.index_of(self.settled.counted)..last {
            if self.segments[at].state == State::InFlight {
                lost += self.lose(at);
            }
        }
        self.settled.counted = self.settled.counted.max(self.segments[last].start);
        lost
    }

    /// Marks retransmitted segments as lost if a segment that was sent later has arrived: RFC 8985 section 6.2, without
    /// a reordering window, as in Linux before it has seen reordering.
    fn find_lost_again(&mut self) -> u64 {
        let (mut lost, mut left) = (0, self.resent);
        for at in 0..self.segments.len() {
            let segment = self.segments[at];
            if !matches!(segment.state, State::Resent | State::Probed) {
                continue;
            }
            if (segment.sent, segment.start) < self.rack.latest {
                lost += self.lose(at);
            }
            left -= 1;
            if left == 0 {
                break;
            }
        }
        lost
    }

    /// Counts everything as lost that was not selectively acknowledged, after a timeout. By RFC 8985 section 6.3, what
    /// was sent less than a round trip ago does not count, except for the first segment.
    pub(super) fn lose_all(&mut self, now: Time) {
        self.reno.duplicates = 0;
        self.reno.timed_out = self.segments.back().map_or(0, Segment::end);
        for at in 0..self.segments.len() {
            let segment = self.segments[at];
            let recent = self.detection == LossDetection::Rack && segment.sent + self.rack.rtt > now;
            if !matches!(segment.state, State::Sacked | State::Lost) && (at == 0 || !recent) {
                self.lose(at);
            }
        }
    }

    /// Takes back that segments were lost, because they were only late: of those that were retransmitted, both copies
    /// are in the network.
    pub(super) fn forget_losses(&mut self) {
        self.reno.timed_out = 0;
        self.settled.counted = 0;
        self.shuffled = true;
        for at in 0..self.segments.len() {
            let segment = self.segments[at];
            let state = match segment.state {
                State::Lost => State::InFlight,
                State::Resent => State::Probed,
                _ => continue,
            };
            self.lost -= usize::from(segment.state == State::Lost);
            self.segments[at].state = state;
            self.pipe += self.weight(segment.len);
        }
    }

    /// First byte and weight of the first lost segment.
    pub(super) fn next_lost(&self) -> Option<(u64, u64)> {
        self.first_lost().map(|at| (self.segments[at].start, self.weight(self.segments[at].len)))
    }

    /// Records that the first lost segment is retransmitted. Returns its start and length, and whether it is the first
    /// of all.
    pub(super) fn resend(&mut self, now: Time) -> Option<(u64, u32, bool)> {
        let at = self.first_lost()?;
        self.lost -= 1;
        self.resent += 1;
        let segment = &mut self.segments[at];
        (segment.state, segment.resent, segment.sent) = (State::Resent, true, now);
        let (start, len) = (segment.start, segment.len);
        self.settled.lost = segment.end();
        self.pipe += self.weight(len);
        Some((start, len, at == 0))
    }

    /// Records that the last segment is sent again as a probe. `None` if there is none in flight.
    pub(super) fn probe(&mut self, now: Time) -> Option<(u64, u32)> {
        self.send_twice(self.segments.len().checked_sub(1)?, now)
    }

    /// First byte and weight of the first segment that was sent once and has no acknowledgement.
    pub(super) fn first_open(&self) -> Option<(u64, u64)> {
        let open = self.segments.iter().find(|segment| segment.state == State::InFlight)?;
        Some((open.start, self.weight(open.len)))
    }

    /// Records that the segment which begins there is sent again, though nothing shows that it was lost.
    pub(super) fn resend_at(&mut self, start: u64, now: Time) -> Option<(u64, u32)> {
        self.send_twice(self.index_of(start), now)
    }

    /// Records that the first segment is sent again, whatever is known of it.
    pub(super) fn resend_first(&mut self, now: Time) -> Option<(u64, u32)> {
        let sent = self.send_twice(0, now);
        sent.or_else(|| {
            let first = self.segments.front_mut()?;
            first.sent = now;
            Some((first.start, first.len))
        })
    }

    /// Whether the first segment was retransmitted, and has no acknowledgement.
    pub(super) fn is_first_resent(&self) -> bool {
        self.segments.front().is_some_and(|first| matches!(first.state, State::Resent | State::Probed))
    }

    /// Sends a segment again that was sent once and has no acknowledgement. `None` if it is another one.
    fn send_twice(&mut self, at: usize, now: Time) -> Option<(u64, u32)> {
        let weight = self.weight(self.segments.get(at)?.len);
        let segment = &mut self.segments[at];
        if segment.state != State::InFlight {
            return None;
        }
        (segment.state, segment.resent, segment.sent) = (State::Probed, true, now);
        self.resent += 1;
        self.pipe += weight;
        Some((segment.start, segment.len))
    }

    fn first_lost(&self) -> Option<usize> {
        if self.lost == 0 {
            return None;
        }
        (self.index_of(self.settled.lost)..self.segments.len()).find(|&at| self.segments[at].state == State::Lost)
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

    /// Handles an acknowledgement at a time, and looks for losses. Returns whether there are new ones.
    fn acknowledge_at(
        board: &mut Scoreboard,
        now: Time,
        min_rtt_ns: u64,
        una: u64,
        sacks: &[(u64, u64)],
    ) -> (Change, bool) {
        let min_rtt = Duration::from_nanos(min_rtt_ns);
        let change = board.acknowledge(&Report { now, una, sacks, min_rtt, high_seq: 0, recovery: false });
        let losses = board.find_losses(now, false, min_rtt, min_rtt);
        (change, losses.lost > 0)
    }

    fn acknowledge(board: &mut Scoreboard, una: u64, sacks: &[(u64, u64)]) -> bool {
        acknowledge_at(board, LATER, 0, una, sacks).1
    }

    #[test]
    fn three_segments_above_make_a_loss_two_do_not() {
        let mut board = board(10);
        assert!(!acknowledge(&mut board, 0, &[(100, 300)]));
        assert_eq!(board.pipe(), 800);
        assert!(acknowledge(&mut board, 0, &[(100, 400)]));
        assert_eq!((board.pipe(), board.next_lost()), (600, Some((0, 100))));
        assert_eq!(board.resend(Time::ZERO), Some((0, 100, true)));
        assert_eq!((board.pipe(), board.has_lost()), (700, false));
    }

    #[test]
    fn a_segment_sent_again_is_lost_again_once_one_sent_after_it_has_arrived() {
        let at = Time::from_nanos;
        let mut board = board(5);
        acknowledge(&mut board, 0, &[(200, 500)]); // the first two are lost
        assert_eq!((board.resend(at(50)), board.resend(at(50))), (Some((0, 100, true)), Some((100, 100, false))));
        board.push(500, 100, at(50));
        // A segment that was sent before gives no information.
        assert!(!acknowledge(&mut board, 0, &[]));
        // The second was sent at the same time, and after the first.
        assert!(acknowledge(&mut board, 0, &[(100, 500)]));
        assert_eq!((board.pipe(), board.next_lost()), (100, Some((0, 100))));
        assert_eq!(board.resend(at(60)), Some((0, 100, true)));
        // The segment that arrives now was sent before.
        assert!(!acknowledge(&mut board, 0, &[(100, 600)]));
        board.push(600, 100, at(61));
        assert!(acknowledge(&mut board, 0, &[(100, 700)]));
    }

    #[test]
    fn a_segment_that_can_not_be_back_yet_tells_nothing_of_those_sent_before() {
        let at = Time::from_nanos;
        for (rtt, lost_again) in [(11, false), (10, true), (9, true)] {
            let mut board = board(5);
            acknowledge(&mut board, 0, &[(200, 500)]);
            board.resend(at(50));
            board.resend(at(60));
            // Acknowledged at 70: the copy sent at 60 if that is at least a round trip ago, else the first one, late.
            let (_, lost) = acknowledge_at(&mut board, at(70), rtt, 0, &[(100, 500)]);
            assert_eq!(lost, lost_again, "{rtt} ns");
        }
    }

    #[test]
    fn segments_sent_again_give_no_sample() {
        let mut board = board(3);
        board.lose_all(LATER);
        board.resend(Time::from_nanos(50));
        assert_eq!(acknowledge_at(&mut board, LATER, 0, 100, &[]).0.latest, None);
        let mut board = self::board(3);
        assert_eq!(acknowledge_at(&mut board, LATER, 0, 200, &[]).0.latest, Some(Time::from_nanos(1)));
    }

    /// What happens to a scoreboard.
    #[derive(Clone, Debug)]
    enum Step {
        Push(u64),
        Acknowledge { una: u64, sacks: Vec<(u64, u64)>, min_rtt_ns: u64, recovery: bool },
        Resend,
        Probe,
        ResendAt(u64),
        LoseAll,
        FindLate,
        ForgetLosses,
    }

    fn any_step() -> impl Strategy<Value = Step> {
        let sacks = prop::collection::vec((0..60u64, 0..30u64), 0..=5);
        let acknowledge = (0..3u64, sacks, 0..40u64, any::<bool>()).prop_map(|(una, sacks, min_rtt_ns, recovery)| {
            let sacks = sacks.into_iter().map(|(at, len)| (at * 50, (at + len) * 50)).collect();
            Step::Acknowledge { una: una * 100, sacks, min_rtt_ns, recovery }
        });
        prop_oneof![
            4 => acknowledge,
            2 => (1..8u64).prop_map(Step::Push),
            2 => Just(Step::Resend),
            1 => Just(Step::Probe),
            1 => (0..60u64).prop_map(Step::ResendAt),
            1 => Just(Step::LoseAll),
            1 => Just(Step::FindLate),
            1 => Just(Step::ForgetLosses),
        ]
    }

    /// Does a step at a time; gives all that is seen of it.
    fn take(board: &mut Scoreboard, step: &Step, number: u64) -> String {
        let now = Time::from_nanos(number * 10);
        let rtt = Duration::from_nanos(15);
        match step {
            Step::Push(count) => {
                let next = board.segments.back().map_or(number * 10_000, Segment::end);
                (0..*count).for_each(|at| board.push(next + at * 100, 100, now));
                String::new()
            }
            Step::Acknowledge { una, sacks, min_rtt_ns, recovery } => {
                let first = board.segments.front().map_or(0, |segment| segment.start);
                let sacks: Vec<_> = sacks.iter().map(|&(from, to)| (first + from, first + to)).collect();
                let min_rtt = Duration::from_nanos(*min_rtt_ns);
                let report = Report {
                    now,
                    una: first + una,
                    sacks: &sacks,
                    min_rtt,
                    high_seq: first + 500,
                    recovery: *recovery,
                };
                let change = board.acknowledge(&report);
                format!("{change:?} {:?}", board.find_losses(now, *recovery, rtt, min_rtt))
            }
            Step::Resend => format!("{:?} {:?}", board.next_lost(), board.resend(now)),
            Step::Probe => format!("{:?}", board.probe(now)),
            Step::ResendAt(at) => format!("{:?}", board.resend_at(at * 100, now)),
            Step::LoseAll => {
                board.lose_all(now);
                String::new()
            }
            Step::FindLate => format!("{:?}", board.find_late(now, false, rtt, rtt)),
            Step::ForgetLosses => {
                board.forget_losses();
                String::new()
            }
        }
    }

    proptest! {
        /// A scoreboard that looks at everything again does the same, and a look for losses leaves none.
        #[test]
        fn what_is_settled_changes_nothing(
            detection in prop_oneof![
                Just(LossDetection::Rack),
                Just(LossDetection::Dupthresh),
                Just(LossDetection::DupthreshOnce),
                Just(LossDetection::Holes),
                Just(LossDetection::Newreno),
            ],
            steps in prop::collection::vec(any_step(), 1..80),
        ) {
            let mut board = Scoreboard::new(detection, WindowUnit::Bytes, 100);
            let mut forgetful = board.clone();
            for (number, step) in (1..).zip(&steps) {
                forgetful.settled = Settled::default();
                prop_assert_eq!(take(&mut board, step, number), take(&mut forgetful, step, number));
                prop_assert_eq!(format!("{:?}", &board.segments), format!("{:?}", &forgetful.segments));
                prop_assert_eq!((board.pipe, board.lost, board.sacked), (forgetful.pipe, forgetful.lost, forgetful.sacked));
                let counted = detection == LossDetection::Dupthresh && matches!(step, Step::Acknowledge { .. });
                let late = detection == LossDetection::Rack && matches!(step, Step::FindLate);
                let rtt = Duration::from_nanos(15);
                let earlier = Time::from_nanos(number * 10).since(Time::ZERO);
                let due = |segment: &Segment| {
                    segment.sent.since(Time::ZERO) + board.rack.rtt + board.reordering_window(false, rtt, rtt) <= earlier
                };
                let left = board.segments.iter().filter(|segment| match segment.state {
                    State::Sacked | State::Lost => false,
                    State::InFlight => late && due(segment),
                    State::Resent | State::Probed => counted || late && due(segment),
                });
                let left = left.filter(|segment| (segment.sent, segment.start) < board.rack.latest);
                prop_assert_eq!(left.count(), 0);
            }
        }

        /// NewReno does not read ranges: that there are some is all it knows. At most all segments behind the first have
        /// arrived.
        #[test]
        fn without_selective_acknowledgements_ranges_say_nothing(steps in prop::collection::vec(any_step(), 1..80)) {
            let mut board = Scoreboard::new(LossDetection::Newreno, WindowUnit::Bytes, 100);
            let mut blind = board.clone();
            for (number, step) in (1..).zip(&steps) {
                let hidden = match step.clone() {
                    Step::Acknowledge { una, sacks, min_rtt_ns, recovery } => {
                        let sacks = sacks.first().map(|_| (7, 8)).into_iter().collect();
                        Step::Acknowledge { una, sacks, min_rtt_ns, recovery }
                    }
                    step => step,
                };
                prop_assert_eq!(take(&mut board, step, number), take(&mut blind, &hidden, number));
                prop_assert_eq!(format!("{:?}", &board.segments), format!("{:?}", &blind.segments));
                prop_assert_eq!((board.pipe(), board.sacked), (blind.pipe(), 0));
                prop_assert!(board.reno.duplicates < board.segments.len().max(1));
            }
        }

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
                        acknowledge(&mut board, una, &[]);
                    }
                    1 => {
                        acknowledge(&mut board, una, &[(at * 100, (at + len) * 100)]);
                    }
                    2 => {
                        board.resend(Time::ZERO);
                    }
                    _ => board.lose_all(LATER),
                }
                let count = |state| board.segments.iter().filter(|segment| segment.state == state).count();
                prop_assert_eq!(board.pipe, 100 * (count(State::InFlight) + count(State::Resent)) as u64);
                prop_assert_eq!(board.resent, count(State::Resent));
                prop_assert_eq!((board.lost, board.sacked), (count(State::Lost), count(State::Sacked)));
            }
        }
    }
}
