// SPDX-License-Identifier: MIT OR Apache-2.0
//! The reaction point of DCQCN (Zhu et al., SIGCOMM 2015, section 3.1): the rate of a sender.

use marklab_units::{Duration, Rate, Time};

/// Parameters. Names in parentheses are the paper's.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReactionConfig {
    /// Rate of the line: the rate of a sender before its first notification.
    pub line: Rate,
    /// Smallest rate in bit/s.
    pub min_bps: u64,
    /// Weight of one notification in alpha: 2^-`gain_shift` (g).
    pub gain_shift: u32,
    /// Time without a notification after which alpha decays (K).
    pub alpha_timer: Duration,
    /// Time after which the rate increases (T).
    pub rate_timer: Duration,
    /// Bytes after which the rate increases (B).
    pub byte_counter: u64,
    /// Increases by timer or by bytes that only recover the rate before the cut (F).
    pub fast_recovery_rounds: u64,
    /// Additive increase of the target, in bit/s (R_AI).
    pub additive_bps: u64,
    /// Hyper increase of the target, in bit/s (R_HI).
    pub hyper_bps: u64,
}

/// 1 in units of alpha, which are 2^-32.
const ALPHA_ONE: u64 = 1 << 32;

/// A sender's rate: cut by notifications, raised by a timer and by a byte counter.
///
/// Timers are not events: a call with the time first does everything that was due by then.
#[derive(Clone, Debug)]
pub struct ReactionPoint {
    config: ReactionConfig,
    rate_bps: u64,
    target_bps: u64,
    alpha: u64,
    /// When the last notification arrived. Both timers count from it; without one, nothing limits the rate.
    since: Option<Time>,
    decays: u64,
    /// Increases by the timer and by the byte counter since then.
    timer_rounds: u64,
    byte_rounds: u64,
    /// Bytes sent since the last increase of the byte counter.
    bytes: u64,
}

impl ReactionPoint {
    /// A sender without notifications so far: line rate, and alpha 1.
    pub fn new(config: ReactionConfig) -> ReactionPoint {
        let line_bps = config.line.bps();
        ReactionPoint {
            rate_bps: line_bps,
            target_bps: line_bps,
            alpha: ALPHA_ONE,
            since: None,
            decays: 0,
            timer_rounds: 0,
            byte_rounds: 0,
            bytes: 0,
            config,
        }
    }

    /// The current rate (R_C).
    pub fn rate(&mut self, now: Time) -> Rate {
        self.advance(now);
        Rate::from_bps(self.rate_bps).expect("a rate is never below the smallest one, which is not 0")
    }

    /// The target rate of increases, in bit/s (R_T).
    pub fn target_bps(&mut self, now: Time) -> u64 {
        self.advance(now);
        self.target_bps
    }

    /// The estimate of congestion, in 0..=1.
    pub fn alpha(&mut self, now: Time) -> f64 {
        self.advance(now);
        self.alpha as f64 / ALPHA_ONE as f64
    }

    /// Handles a notification (Eq. 1): the cut uses the alpha before it.
    pub fn on_notification(&mut self, now: Time) {
        self.advance(now);
        self.target_bps = self.rate_bps;
        let cut = u128::from(self.rate_bps) * u128::from(self.alpha) / u128::from(2 * ALPHA_ONE);
        self.rate_bps = (self.rate_bps - cut as u64).max(self.config.min_bps);
        let shift = self.config.gain_shift;
        self.alpha = self.alpha - (self.alpha >> shift) + (ALPHA_ONE >> shift);
        self.since = Some(now);
        (self.decays, self.timer_rounds, self.byte_rounds, self.bytes) = (0, 0, 0, 0);
    }

    /// Counts bytes that are being sent.
    pub fn on_sent(&mut self, now: Time, bytes: u64) {
        self.advance(now);
        if self.since.is_none() {
            return;
        }
        self.bytes += bytes;
        while self.bytes >= self.config.byte_counter {
            self.bytes -= self.config.byte_counter;
            self.increase();
            self.byte_rounds += 1;
        }
    }

    /// Does everything that timers were due to do by now. Between notifications, alpha and rate do not depend on each
    /// other.
    fn advance(&mut self, now: Time) {
        let Some(since) = self.since else { return };
        let elapsed = now.since(since).nanos();
        let decays = elapsed / self.config.alpha_timer.nanos();
        while self.decays < decays {
            let less = self.alpha >> self.config.gain_shift;
            if less == 0 {
                self.decays = decays;
                break;
            }
            self.alpha -= less; // Eq. 2
            self.decays += 1;
        }
        let rounds = elapsed / self.config.rate_timer.nanos();
        while self.timer_rounds < rounds {
            if self.rate_bps == self.config.line.bps() {
                self.timer_rounds = rounds; // there is nothing to raise
                break;
            }
            self.increase();
            self.timer_rounds += 1;
        }
    }

    /// Increases the rate as in the paper's figure 7. The round that ends now is not counted yet, so the first F rounds
    /// are fast recovery.
    fn increase(&mut self) {
        let ReactionConfig { fast_recovery_rounds: fast, additive_bps, hyper_bps, line, .. } = self.config;
        let (timer, bytes) = (self.timer_rounds, self.byte_rounds);
        let more_bps = if timer.max(bytes) < fast {
            0
        } else if timer.min(bytes) > fast {
            hyper_bps
        } else {
            additive_bps
        };
        self.target_bps = (self.target_bps + more_bps).min(line.bps());
        // Rounded up, so that the target is reached.
        self.rate_bps = (self.rate_bps + self.target_bps).div_ceil(2);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const US: u64 = 1_000;
    const LINE: f64 = 40e9;
    const GAIN: f64 = 1.0 / 256.0;

    /// The paper's parameters.
    fn config() -> ReactionConfig {
        ReactionConfig {
            line: Rate::from_bps(LINE as u64).unwrap(),
            min_bps: 10_000_000,
            gain_shift: 8,
            alpha_timer: Duration::from_micros(55),
            rate_timer: Duration::from_micros(55),
            byte_counter: 10_000_000,
            fast_recovery_rounds: 5,
            additive_bps: 40_000_000,
            hyper_bps: 400_000_000,
        }
    }

    fn at(us: u64) -> Time {
        Time::from_nanos(us * US)
    }

    #[track_caller]
    fn close(found: f64, expected: f64) {
        assert!((found - expected).abs() <= 4.0 + expected * 1e-9, "{found} instead of {expected}");
    }

    #[test]
    fn a_sender_that_heard_nothing_has_line_rate_whatever_it_sends() {
        let mut point = ReactionPoint::new(config());
        point.on_sent(at(0), 100_000_000);
        assert_eq!((point.rate(at(1_000_000)).bps(), point.alpha(at(1_000_000))), (40_000_000_000, 1.0));
    }

    /// Oracle: if nothing is due between notifications, alpha stays 1 and each notification halves the rate.
    #[test]
    fn notifications_in_a_row_halve_the_rate() {
        let mut point = ReactionPoint::new(config());
        for n in 1..=8 {
            point.on_notification(at(50 * n));
            close(point.rate(at(50 * n)).bps() as f64, LINE / 2f64.powi(n as i32));
            assert_eq!(point.alpha(at(50 * n)), 1.0);
        }
        for n in 9..30 {
            point.on_notification(at(50 * n));
        }
        assert_eq!(point.rate(at(1_450)).bps(), 10_000_000, "the smallest rate");
    }

    /// Oracle: Eq. 2 in closed form, (1 - g)^k after k timers, and Eq. 1 for the notification after them.
    #[test]
    fn alpha_decays_by_its_timer_and_sets_the_next_cut() {
        for k in [0, 1, 7, 300] {
            let mut point =
                ReactionPoint::new(ReactionConfig { rate_timer: Duration::from_micros(1 << 40), ..config() });
            point.on_notification(at(10));
            let last = at(10 + 55 * (k + 1) - 1);
            let alpha = (1.0 - GAIN).powi(k as i32);
            assert!((point.alpha(last) - alpha).abs() < 1e-6);
            point.on_notification(last);
            close(point.rate(last).bps() as f64 / 1e3, LINE / 2.0 * (1.0 - alpha / 2.0) / 1e3);
            assert!((point.alpha(last) - ((1.0 - GAIN) * alpha + GAIN)).abs() < 1e-6);
            assert_eq!(point.target_bps(last), 20_000_000_000);
        }
    }

    /// Oracle: five halvings of the distance to the target, then a target that moves by R_AI (Eqs. 3 and 4).
    #[test]
    fn the_timer_recovers_fast_and_then_adds() {
        let mut point = ReactionPoint::new(config());
        point.on_notification(at(0));
        let (mut rate, mut target) = (LINE / 2.0, LINE);
        // A second cut, so that there is room above the target.
        point.on_notification(at(1));
        (rate, target) = (rate / 2.0, target / 2.0);
        for round in 1..=40 {
            assert_eq!(point.rate(at(55 * round)), point.rate(at(55 * round)));
            close(point.rate(at(55 * round)).bps() as f64, rate); // 1 us early
            if round > 5 {
                target += 40e6;
            }
            rate = (rate + target) / 2.0;
            close(point.rate(at(1 + 55 * round)).bps() as f64, rate);
            close(point.target_bps(at(1 + 55 * round)) as f64, target);
        }
    }

    #[test]
    fn the_byte_counter_does_the_same_without_time() {
        let mut point = ReactionPoint::new(config());
        point.on_notification(at(0));
        point.on_notification(at(1));
        let (mut rate, mut target) = (LINE / 4.0, LINE / 2.0);
        for round in 1..=10 {
            point.on_sent(at(2), 9_999_999);
            close(point.rate(at(2)).bps() as f64, rate);
            point.on_sent(at(2), 1);
            if round > 5 {
                target += 40e6;
            }
            rate = (rate + target) / 2.0;
            close(point.rate(at(2)).bps() as f64, rate);
        }
    }

    /// Timer and byte counter are both beyond F rounds: the increase is R_HI.
    #[test]
    fn hyper_increase_needs_timer_and_bytes() {
        let mut point = ReactionPoint::new(config());
        point.on_notification(at(0));
        point.on_notification(at(1));
        point.on_sent(at(2), 6 * 10_000_000);
        let (before, _) = (point.target_bps(at(1 + 6 * 55)), ());
        assert_eq!(point.target_bps(at(1 + 7 * 55)) - before, 400_000_000);
    }

    #[test]
    fn a_cut_begins_again_with_fast_recovery() {
        let mut point = ReactionPoint::new(config());
        point.on_notification(at(0));
        point.on_notification(at(55 * 8));
        let target = point.target_bps(at(55 * 8));
        assert_eq!(point.target_bps(at(55 * 13)), target);
        assert!(point.target_bps(at(55 * 14)) > target);
    }

    #[test]
    fn the_rate_comes_back_to_that_of_the_line() {
        let mut point = ReactionPoint::new(config());
        for n in 0..20 {
            point.on_notification(at(n));
        }
        assert_eq!(point.rate(at(10_000_000)).bps(), 40_000_000_000);
    }
}
