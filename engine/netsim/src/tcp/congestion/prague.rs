// SPDX-License-Identifier: MIT OR Apache-2.0
//! Prague (draft-briscoe-iccrg-prague-congestion-control, and Linux's tcp_prague.c): DCTCP for the Internet, under the
//! requirements of RFC 9331. Each marked packet counts, and the window grows while it comes down; a flow on a short path has
//! the rate of one on a reference path. The sender paces it, and lets the window be a fraction of a segment.
//!
//! Simpler than the original: no fallback where a queue marks as RFC 3168 says, and slow start ends at the first mark.

use marklab_units::{Duration, Time};

use super::{Acked, Alpha, CongestionControl, Window};

/// Settings of Prague.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PragueConfig {
    /// g = 2^-gain_shift, of the marked share.
    pub gain_shift: u32,
    /// Largest segment, for which a marked packet counts.
    pub mss: u64,
    /// A flow with a shorter round trip behaves as if it had this one; 0: no flow does.
    pub reference_rtt: Duration,
    /// Rounds after slow start that it takes until then, so that short flows are quick.
    pub transition_rounds: u32,
}

/// The sender's side of Prague.
#[derive(Clone, PartialEq, Debug)]
pub struct Prague {
    config: PragueConfig,
    alpha: Alpha,
    /// Whether a packet was marked yet: before, nothing says that a queue on the path marks.
    marks_seen: bool,
    /// Rounds since slow start ended, if it has.
    rounds: Option<u32>,
    /// The round ends when this byte is acknowledged.
    round_end: u64,
    /// When alpha last changed, and bytes acknowledged since then, and marked ones among them.
    updated: Time,
    acked: u64,
    marked: u64,
    /// Marked packets that an acknowledgement tells of which is not handled yet.
    heard: u32,
    /// The latest acknowledgement, and marked bytes of it.
    latest: Latest,
    /// When the window last came down, and the next new byte at that time.
    reduced: Option<(Time, u64)>,
    /// Growth below a byte, in 2^-20 bytes.
    fraction_q20: u128,
}

#[derive(Clone, Copy, PartialEq, Default, Debug)]
struct Latest {
    now: Time,
    srtt: Duration,
    snd_una: u64,
    snd_nxt: u64,
    marked: u64,
}

impl Prague {
    /// On a new connection.
    pub fn new(config: PragueConfig) -> Prague {
        Prague {
            config,
            alpha: Alpha::CERTAIN,
            marks_seen: false,
            rounds: None,
            round_end: 0,
            updated: Time::ZERO,
            acked: 0,
            marked: 0,
            heard: 0,
            latest: Latest::default(),
            reduced: None,
            fraction_q20: 0,
        }
    }

    /// Whether the flow behaves as if it had the reference round trip.
    fn is_independent(&self) -> bool {
        self.latest.srtt < self.config.reference_rtt
            && self.rounds.is_some_and(|rounds| rounds >= self.config.transition_rounds)
    }

    /// Whether a round trip of the flow's behaviour has passed, if one of its packets has.
    fn is_due(&self, since: Time) -> bool {
        !self.is_independent() || self.latest.now.since(since) >= self.config.reference_rtt
    }

    /// Additive increase: by a segment in a round trip. To behave as on the reference path, the rate grows by a segment per
    /// reference round trip in such a time: the window by the square of the round trips' ratio in each of its own.
    fn increase(&mut self, window: &mut Window, acked: u64) {
        let [acked, mss, cwnd] = [acked, window.mss, window.cwnd.max(window.mss)].map(u128::from);
        let mut grown = ((acked * mss) << 20) / cwnd;
        if self.is_independent() {
            let [srtt, reference] = [self.latest.srtt, self.config.reference_rtt].map(|time| u128::from(time.nanos()));
            grown = grown * (srtt * srtt) / (reference * reference);
        }
        self.fraction_q20 += grown;
        window.cwnd += (self.fraction_q20 >> 20) as u64;
        self.fraction_q20 &= (1 << 20) - 1;
    }
}

impl CongestionControl for Prague {
    fn ecn(&self) -> bool {
        true
    }

    fn accurate_ecn(&self) -> bool {
        true
    }

    fn hear_marks(&mut self, packets: u32) {
        self.heard += packets;
    }

    /// Alpha follows the marked share of each round, as DCTCP's (RFC 8257 section 3.3).
    fn on_ack(&mut self, acked: Acked) {
        let Acked { delivered, now, srtt, snd_una, snd_nxt, .. } = acked;
        let marked = (u64::from(std::mem::take(&mut self.heard)) * self.config.mss).min(delivered);
        self.latest = Latest { now, srtt, snd_una, snd_nxt, marked };
        self.marks_seen |= marked > 0;
        self.acked += delivered;
        self.marked += marked;
        if snd_una < self.round_end {
            return;
        }
        self.round_end = snd_nxt;
        self.rounds = self.rounds.map(|rounds| rounds.saturating_add(1));
        if self.is_due(self.updated) {
            if self.marks_seen && self.acked > 0 {
                self.alpha = self.alpha.update(self.marked, self.acked, self.config.gain_shift);
            }
            (self.updated, self.acked, self.marked) = (now, 0, 0);
        }
    }

    /// Marked packets do not let the window grow.
    fn grow(&mut self, window: &mut Window, acked: u64) {
        let left = window.slow_start(acked.saturating_sub(self.latest.marked));
        if left > 0 {
            self.increase(window, left);
        }
    }

    /// By alpha / 2, at most once per round trip.
    fn reduce_at_once(&mut self, window: &mut Window) -> Option<bool> {
        let due = self.reduced.is_none_or(|(time, end)| self.latest.snd_una > end && self.is_due(time));
        if due {
            self.reduced = Some((self.latest.now, self.latest.snd_nxt));
            self.rounds.get_or_insert(0);
            window.cwnd = self.alpha.reduce(window).max(window.smallest);
            window.ssthresh = window.cwnd;
        }
        Some(due)
    }

    fn ssthresh_after_marks(&mut self, window: &Window) -> u64 {
        self.alpha.reduce(window)
    }

    fn ssthresh_after_loss(&mut self, window: &Window, base: u64) -> u64 {
        self.rounds.get_or_insert(0);
        window.half(base)
    }

    fn alpha(&self) -> Option<f64> {
        Some(self.alpha.as_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1000;
    const RATE_FREE: Duration = Duration::ZERO;

    fn prague(reference_rtt: Duration) -> Prague {
        Prague::new(PragueConfig { gain_shift: 4, mss: MSS, reference_rtt, transition_rounds: 10 })
    }

    fn ms(ms: u64) -> Duration {
        Duration::from_micros(1000 * ms)
    }

    /// A connection on which every n-th packet is marked.
    struct Path {
        prague: Prague,
        window: Window,
        rtt: Duration,
        now: Time,
        sent: u64,
        every: u64,
        reductions: u64,
    }

    impl Path {
        fn new(reference_rtt: Duration, rtt: Duration, every: u64) -> Path {
            let window = Window { smallest: MSS / 64, ..Window::new(MSS, 10) };
            Path { prague: prague(reference_rtt), window, rtt, now: Time::ZERO, sent: 0, every, reductions: 0 }
        }

        /// A round trip, in which each packet of the window is acknowledged alone. Below a segment, it takes longer.
        fn round(&mut self) {
            let packets = (self.window.cwnd / MSS).max(1);
            let time = self.rtt.nanos() * (MSS * packets).max(self.window.cwnd) / self.window.cwnd;
            let end = self.sent + packets;
            for packet in 1..=packets {
                self.sent += 1;
                self.now += Duration::from_nanos(time / packets);
                let marked = self.sent.is_multiple_of(self.every);
                if marked {
                    self.prague.hear_marks(1);
                }
                let (snd_una, snd_nxt) = (MSS * self.sent, MSS * (end + packet));
                let congested = self.prague.congested(marked, None);
                let (now, srtt) = (self.now, self.rtt);
                self.prague.on_ack(Acked { bytes: MSS, delivered: MSS, congested, now, srtt, snd_una, snd_nxt });
                if congested {
                    self.reductions += u64::from(self.prague.reduce_at_once(&mut self.window) == Some(true));
                }
                self.prague.grow(&mut self.window, MSS);
            }
        }

        /// Mean window in segments, and mean rate in segments per second, in so many rounds.
        fn mean(&mut self, rounds: u64) -> (f64, f64) {
            let (from, before) = (self.now, self.sent);
            let mut sum = 0;
            for _ in 0..rounds {
                sum += self.window.cwnd;
                self.round();
            }
            let seconds = self.now.since(from).nanos() as f64 / 1e9;
            (sum as f64 / (rounds * MSS) as f64, (self.sent - before) as f64 / seconds)
        }
    }

    /// Closed form: a segment more per round trip, without what is marked, and p / 2 of the window less: 2 (1 - p) / p.
    #[test]
    fn the_window_is_inverse_to_the_marked_share() {
        for every in [10, 25, 50, 100] {
            let mut path = Path::new(RATE_FREE, ms(10), every);
            path.mean(2000);
            let (mean, _) = path.mean(2000);
            let formula = 2.0 * (every as f64 - 1.0);
            assert!((mean / formula - 1.0).abs() < 0.1, "1 of {every}: {mean} and {formula}");
        }
    }

    /// The draft: flows on paths up to the reference have the rate of one on that path.
    #[test]
    fn rates_do_not_depend_on_round_trips_below_the_reference() {
        let rate = |rtt, reference| {
            let mut path = Path::new(reference, rtt, 40);
            path.mean(5000);
            path.mean(5000).1
        };
        let reference = rate(ms(25), ms(25));
        for rtt in [ms(5), ms(10)] {
            let (independent, dependent) = (rate(rtt, ms(25)), rate(rtt, RATE_FREE));
            // Reductions wait for a mark after the reference round trip.
            assert!((0.95..1.45).contains(&(independent / reference)), "{rtt:?}: {independent} and {reference}");
            assert!(dependent > 2.0 * reference, "{rtt:?}: {dependent}");
        }
    }

    #[test]
    fn flows_depend_on_their_round_trips_until_some_rounds_have_passed() {
        let mut path = Path::new(ms(25), ms(5), 40);
        assert!(!path.prague.is_independent());
        path.mean(8);
        assert!(path.prague.rounds.is_some_and(|rounds| rounds < 10) && !path.prague.is_independent());
        path.mean(10);
        assert!(path.prague.is_independent());
    }

    #[test]
    fn the_first_mark_halves_the_window_and_ends_slow_start() {
        let mut path = Path::new(RATE_FREE, ms(10), 25);
        path.round();
        assert_eq!((path.window.cwnd, path.prague.alpha()), (20 * MSS, Some(1.0)));
        path.round();
        let Window { cwnd, ssthresh, .. } = path.window;
        // At the 15th of 20 packets, with 34 in the window; what came then added less than a segment.
        assert_eq!((ssthresh, path.reductions), (17 * MSS, 1));
        assert!((17 * MSS..18 * MSS).contains(&cwnd), "{cwnd}");
    }

    #[test]
    fn a_window_comes_down_once_in_a_round_trip_and_below_a_segment() {
        let mut path = Path::new(RATE_FREE, ms(10), 1);
        for rounds in 1..=20 {
            path.round();
            assert!(path.reductions <= rounds);
        }
        assert!(path.window.cwnd < MSS / 4, "{}", path.window.cwnd);
        path.every = 1000;
        path.mean(30);
        assert!(path.window.cwnd > MSS, "{}", path.window.cwnd);
    }
}
