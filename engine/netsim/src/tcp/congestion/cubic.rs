// SPDX-License-Identifier: MIT OR Apache-2.0
//! CUBIC (RFC 9438) without ECN. Slow start ends at a loss: there is no HyStart++ (RFC 9406).

use marklab_units::{Duration, Time};

use super::{Acked, CongestionControl, Window};

/// Beta, 0.7, by which a loss multiplies the window.
const BETA: (u64, u64) = (7, 10);
/// What W_max keeps if the window has not come back to the one before, (1 + beta) / 2: fast convergence (section 4.7).
const CONVERGENCE: (u64, u64) = (17, 20);
/// Alpha of Reno's estimate, 3 (1 - beta) / (1 + beta), in which a Reno with beta has the throughput of one with a half.
const ALPHA: (u128, u128) = (9, 17);
/// C, 0.4 segments per second cubed.
const C: (u128, u128) = (4, 10);
const US_PER_S: u128 = 1_000_000;

/// Grows the window by a cubic function of the time since the last loss.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Cubic {
    /// Window in bytes around which the function is flat (W_max).
    flat: u64,
    /// Window before the last loss (cwnd_prior).
    prior: u64,
    /// Whether the last loss was a timeout.
    restarted: bool,
    epoch: Option<Epoch>,
    now: Time,
    srtt: Duration,
}

/// A time of congestion avoidance, between two losses.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Epoch {
    /// When it began, later by the time in which the window did not limit the sender.
    start: Time,
    /// Time from the start to W_max, in us (K).
    k_us: u64,
    /// When the window last grew.
    grown: Time,
    /// The window in 2^-16 bytes, which windows of whole segments do not have.
    exact_q16: u128,
    /// What Reno would have, in 2^-16 bytes (W_est).
    reno_q16: u128,
}

impl Cubic {
    fn begin(&mut self, window: &Window) -> Epoch {
        if self.restarted || self.flat < window.cwnd {
            // Section 4.8 after a timeout; section 4.2 if there was no loss before.
            self.flat = window.cwnd;
        }
        // C (t - K)^3 + W_max is the window at t = 0.
        let missing = u128::from(self.flat - window.cwnd);
        let cubed = missing * C.1 * US_PER_S.pow(3) / (C.0 * u128::from(window.mss));
        let exact_q16 = u128::from(window.cwnd) << 16;
        Epoch { start: self.now, k_us: cube_root(cubed), grown: self.now, exact_q16, reno_q16: exact_q16 }
    }

    /// A reduction begins: what the next epoch needs to know.
    fn note(&mut self, cwnd: u64) {
        self.flat = if cwnd < self.flat { cwnd * CONVERGENCE.0 / CONVERGENCE.1 } else { cwnd };
        self.prior = cwnd;
        self.restarted = false;
        self.epoch = None;
    }

    /// W_cubic of section 4.2 at a time since the start, in 2^-16 bytes.
    fn at(flat: u64, mss: u64, k_us: u64, since_us: u64) -> u128 {
        let away = u128::from(since_us.abs_diff(k_us));
        // Beyond a day the window is bounded by anything else.
        let away = away.min(86_400 * US_PER_S);
        let bytes_q16 = ((away.pow(3) / US_PER_S * u128::from(mss) * C.0 / C.1) << 16) / US_PER_S.pow(2);
        let flat_q16 = u128::from(flat) << 16;
        if since_us < k_us { flat_q16.saturating_sub(bytes_q16) } else { flat_q16 + bytes_q16 }
    }

    /// Congestion avoidance (sections 4.3 to 4.5).
    fn avoid_congestion(&mut self, window: &mut Window, acked: u64) {
        let mut epoch = match self.epoch.take() {
            Some(epoch) => epoch,
            None => self.begin(window),
        };
        // Section 5.8: time in which the window did not limit the sender does not count. A sender that it limits grows it
        // at least once in a round trip.
        let pause = self.now.since(epoch.grown);
        if pause > self.srtt {
            epoch.start += Duration::from_nanos(pause.nanos() - self.srtt.nanos());
        }
        epoch.grown = self.now;
        let since_us = self.now.since(epoch.start).nanos() / 1000;
        // Idle connections, and those that do not use their windows, have had them reduced.
        epoch.exact_q16 = epoch.exact_q16.min((u128::from(window.cwnd + window.unit) << 16) - 1);
        let cwnd_q16 = epoch.exact_q16.max(1 << 16);
        let (acked, mss) = (u128::from(acked), u128::from(window.mss));
        // Once Reno has the window from before the loss, it grows like Reno.
        let (alpha, of) = if epoch.reno_q16 >= u128::from(self.prior) << 16 { (1, 1) } else { ALPHA };
        epoch.reno_q16 += ((acked * mss * alpha / of) << 32) / cwnd_q16;
        let present = Cubic::at(self.flat, window.mss, epoch.k_us, since_us);
        if present < epoch.reno_q16 {
            epoch.exact_q16 = epoch.exact_q16.max(epoch.reno_q16);
        } else {
            let later_us = since_us + self.srtt.nanos() / 1000;
            let target = Cubic::at(self.flat, window.mss, epoch.k_us, later_us).clamp(cwnd_q16, cwnd_q16 * 3 / 2);
            epoch.exact_q16 += (target - cwnd_q16) * (acked << 16) / cwnd_q16;
        }
        let whole = (epoch.exact_q16 >> 16) as u64;
        window.cwnd = window.cwnd.max(whole / window.unit * window.unit);
        self.epoch = Some(epoch);
    }
}

impl CongestionControl for Cubic {
    fn ecn(&self) -> bool {
        false
    }

    fn on_ack(&mut self, acked: Acked) {
        (self.now, self.srtt) = (acked.now, acked.srtt);
    }

    fn grow(&mut self, window: &mut Window, acked: u64) {
        let left = window.slow_start(acked);
        if left > 0 {
            self.avoid_congestion(window, left);
        }
    }

    fn on_timeout(&mut self) {
        self.restarted = true;
        self.epoch = None;
    }

    fn ssthresh_after_marks(&mut self, window: &Window) -> u64 {
        self.ssthresh_after_loss(window, window.cwnd)
    }

    fn ssthresh_after_loss(&mut self, window: &Window, base: u64) -> u64 {
        self.note(window.cwnd);
        window.scaled(base, BETA.0, BETA.1)
    }
}

/// The largest number whose cube is at most `value`. In whole numbers, as a cube root of the platform's library is not
/// the same everywhere.
fn cube_root(value: u128) -> u64 {
    // The cube of 2^42 is 2^126.
    (0..42).rev().fold(0u64, |root, bit| {
        let wider = root | 1 << bit;
        if u128::from(wider).pow(3) <= value { wider } else { root }
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MSS: u64 = 1000;

    fn window(segments: u64) -> Window {
        Window { ssthresh: 0, ..Window::new(MSS, segments) }
    }

    /// A round trip in which each segment of the window is acknowledged alone, at equal distances.
    fn round(cubic: &mut Cubic, window: &mut Window, from: Time, rtt: Duration) {
        let acks = window.cwnd / MSS;
        for ack in 1..=acks {
            let now = from + Duration::from_nanos(rtt.nanos() * ack / acks);
            cubic.on_ack(Acked {
                bytes: MSS,
                delivered: MSS,
                congested: false,
                now,
                srtt: rtt,
                snd_una: 0,
                snd_nxt: 0,
            });
            cubic.grow(window, MSS);
        }
    }

    /// Windows in segments after each of so many round trips since a loss, without a timeout.
    fn since_loss(cubic: &mut Cubic, window: &mut Window, rtt: Duration, rounds: u64) -> Vec<f64> {
        window.cwnd = cubic.ssthresh_after_loss(window, window.cwnd);
        window.ssthresh = window.cwnd;
        (0..rounds)
            .map(|number| {
                round(cubic, window, Time::from_nanos(number * rtt.nanos()), rtt);
                window.cwnd as f64 / MSS as f64
            })
            .collect()
    }

    /// Oracle: the function of section 4.2, and the window that the last acknowledgement aimed at, a round trip ago.
    #[test]
    fn a_window_follows_the_cubic_function_back_to_where_it_was_and_beyond() {
        let rtt = Duration::from_micros(100_000);
        let windows = since_loss(&mut Cubic::default(), &mut window(200), rtt, 100);
        let k = (200.0 * 0.3 / 0.4_f64).cbrt();
        for (number, seen) in windows.iter().enumerate().skip(1) {
            let at = |seconds: f64| 0.4 * (seconds - k).powi(3) + 200.0;
            let now = (number + 1) as f64 * 0.1;
            assert!(at(now - 0.2) - 1.0 < *seen && *seen < at(now + 0.1) + 1.0, "{now} s: {seen} and {}", at(now));
        }
        // It is flat around K.
        let flat = windows.iter().filter(|seen| (**seen - 200.0).abs() < 2.0).count();
        assert!((25..40).contains(&flat), "{flat} round trips within two segments");
    }

    /// Section 4.3: a window that grows as Reno would where that is faster. In 2 ms, the cubic function does not move.
    #[test]
    fn on_short_paths_the_window_is_that_of_a_reno_which_has_the_same_throughput() {
        let rtt = Duration::from_micros(2_000);
        let windows = since_loss(&mut Cubic::default(), &mut window(20), rtt, 30);
        let mut reno = 14.0;
        for (number, seen) in windows.iter().enumerate() {
            // In a round trip, alpha segments; one from the old window on. The acknowledgements are whole segments.
            reno += if reno < 20.0 { 9.0 / 17.0 } else { 1.0 };
            assert!((seen - reno).abs() < 0.8, "round {number}: {seen} and {reno}");
        }
    }

    /// Oracle: section 5, the mean window if every 1/p-th segment is lost, without fast convergence. A window
    /// that begins there stays there; one that begins elsewhere takes hundreds of losses, as the function is flat.
    #[test]
    fn the_mean_window_follows_from_the_fraction_of_losses() {
        for (rtt_ms, every) in [(100, 10_000), (100, 100_000), (20, 1_000_000)] {
            let (seconds, lost) = (rtt_ms as f64 / 1e3, 1.0 / every as f64);
            let formula = (0.4_f64 * 3.7 / (4.0 * 0.3)).powf(0.25) * (seconds / lost).powf(0.75);
            // A loss comes at K, and C K^3 / 4 is missing on average.
            let mut window = window((formula / 0.925).round() as u64);
            let (rtt, mut cubic) = (Duration::from_micros(rtt_ms * 1000), Cubic::default());
            let (mut acked, mut losses, mut sum, mut rounds) = (every, 0, 0, 0);
            for number in 0.. {
                if acked >= every {
                    (acked, losses) = (0, losses + 1);
                    window.cwnd = cubic.ssthresh_after_loss(&window, window.cwnd);
                    window.ssthresh = window.cwnd;
                    cubic.flat = cubic.prior;
                }
                if losses > 20 {
                    break;
                }
                (sum, rounds) = (sum + window.cwnd / MSS, rounds + 1);
                acked += window.cwnd / MSS;
                round(&mut cubic, &mut window, Time::from_nanos(number * rtt.nanos()), rtt);
            }
            let mean = sum as f64 / rounds as f64;
            assert!((mean / formula - 1.0).abs() < 0.02, "1 of {every}: {mean} and {formula}");
        }
    }

    #[test]
    fn a_window_that_has_not_come_back_gives_way() {
        let mut cubic = Cubic::default();
        let at_100 = window(100);
        assert_eq!(cubic.ssthresh_after_loss(&at_100, at_100.cwnd), 70_000);
        assert_eq!((cubic.flat, cubic.prior), (100_000, 100_000));
        let at_80 = window(80);
        assert_eq!(cubic.ssthresh_after_loss(&at_80, at_80.cwnd), 56_000);
        assert_eq!((cubic.flat, cubic.prior), (68_000, 80_000));
        // At the old window or beyond, there is nobody to give way to.
        let at_68 = window(68);
        cubic.ssthresh_after_loss(&at_68, at_68.cwnd);
        assert_eq!(cubic.flat, 68_000);
    }

    #[test]
    fn after_a_timeout_the_window_grows_from_where_slow_start_ends() {
        let mut cubic = Cubic::default();
        let mut window = window(100);
        window.ssthresh = cubic.ssthresh_after_loss(&window, window.cwnd);
        cubic.on_timeout();
        window.cwnd = MSS;
        let rtt = Duration::from_micros(100_000);
        for number in 0..7 {
            round(&mut cubic, &mut window, Time::from_nanos(number * rtt.nanos()), rtt);
        }
        let epoch = cubic.epoch.as_ref().expect("slow start is over");
        assert_eq!((cubic.flat, epoch.k_us), (70_000, 0));
    }

    #[test]
    fn time_in_which_the_window_does_not_limit_the_sender_does_not_count() {
        let (rtt, hour) = (Duration::from_micros(100_000), Duration::from_micros(3_600_000_000));
        let [mut steady, mut paused] = [Cubic::default(), Cubic::default()];
        let [mut a, mut b] = [window(200), window(200)];
        since_loss(&mut steady, &mut a, rtt, 10);
        since_loss(&mut paused, &mut b, rtt, 10);
        round(&mut steady, &mut a, Time::from_nanos(10 * rtt.nanos()), rtt);
        round(&mut paused, &mut b, Time::from_nanos(10 * rtt.nanos()) + hour, rtt);
        // A round trip of the pause counts.
        assert!(a.cwnd.abs_diff(b.cwnd) < 2 * MSS, "{} and {}", a.cwnd, b.cwnd);
    }

    #[test]
    fn windows_of_whole_segments_stay_whole_and_grow_alike() {
        let rtt = Duration::from_micros(50_000);
        let [mut bytes, mut whole] = [window(50), Window { unit: MSS, ..window(50) }];
        let fine = since_loss(&mut Cubic::default(), &mut bytes, rtt, 60);
        let coarse = since_loss(&mut Cubic::default(), &mut whole, rtt, 60);
        for (fine, coarse) in fine.iter().zip(&coarse) {
            assert!(coarse.fract() == 0.0 && (fine - coarse).abs() < 1.5, "{fine} and {coarse}");
        }
    }

    proptest! {
        #[test]
        fn a_cube_root_is_the_largest_number_whose_cube_is_not_larger(value in 0..1u128 << 126) {
            let root = u128::from(cube_root(value));
            prop_assert!(root.pow(3) <= value && (root + 1).pow(3) > value);
        }

        /// Whatever happens, a window is at least what it was, and nothing overflows.
        #[test]
        fn no_acknowledgement_shrinks_a_window(
            segments in 1..2_000_000u64,
            steps in prop::collection::vec((0..u64::MAX >> 20, 1..100_000u64, 0..1u64 << 40), 1..30),
        ) {
            let (mut cubic, mut window) = (Cubic::default(), window(segments));
            cubic.ssthresh_after_loss(&window, window.cwnd);
            let mut now = Time::ZERO;
            for (later, acked, srtt) in steps {
                now += Duration::from_nanos(later);
                let before = window.cwnd;
                cubic.on_ack(Acked {
                    bytes: acked,
                    delivered: acked,
                    congested: false,
                    now,
                    srtt: Duration::from_nanos(srtt),
                    snd_una: 0,
                    snd_nxt: 0,
                });
                cubic.grow(&mut window, acked);
                prop_assert!(window.cwnd >= before);
            }
        }
    }
}
