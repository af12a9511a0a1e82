// SPDX-License-Identifier: MIT OR Apache-2.0
//! DCTCP (RFC 8257): the window is reduced in proportion to the fraction of bytes that met congestion. The sign of
//! congestion is a mark; in the variants of the EAR paper (APNet 2017, sections 3.1 and 4.1) it is a delay, or either.

use marklab_units::Duration;

use super::{Acked, CongestionControl, DelaySignal, Window};

/// An estimate in 0..=1, in units of 2^-20.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Alpha(u32);

impl Alpha {
    const ONE: u32 = 1 << 20;
    /// The initial value that RFC 8257 section 4.2 recommends: assume congestion.
    pub const FULL: Alpha = Alpha(Alpha::ONE);

    /// The estimate as a floating-point number.
    pub fn as_f64(self) -> f64 {
        f64::from(self.0) / f64::from(Alpha::ONE)
    }

    /// `(1 - g) * alpha + g * marked / acked` with `g = 2^-gain_shift`; `acked` is not 0.
    fn update(self, marked: u64, acked: u64, gain_shift: u32) -> Alpha {
        let share = (u128::from(marked) * u128::from(Alpha::ONE) / u128::from(acked)) as u32;
        Alpha(self.0 - (self.0 >> gain_shift) + (share >> gain_shift))
    }

    /// `cwnd * (1 - alpha / 2)`.
    fn reduce(self, cwnd: u64) -> u64 {
        cwnd - (u128::from(cwnd) * u128::from(self.0) / u128::from(2 * Alpha::ONE)) as u64
    }
}

/// The sender's side of DCTCP.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Dctcp {
    alpha: Alpha,
    /// g = 2^-gain_shift.
    gain_shift: u32,
    /// Bytes acknowledged in the present observation window, and the marked bytes among them.
    acked: u64,
    marked: u64,
    /// The observation window ends when this byte is acknowledged.
    window_end: u64,
    loss_after_marks: bool,
    hears_marks: bool,
    delay: Option<DelaySignal>,
}

impl Dctcp {
    /// With alpha = 1 and g = 2^-`gain_shift`; RFC 8257 recommends 1/16. By its section 3.5, a loss halves the window
    /// as in any TCP, even after marks, which may have reduced it little. Linux does so since version 5.1 (2019).
    pub fn new(gain_shift: u32, loss_after_marks: bool) -> Dctcp {
        Dctcp {
            alpha: Alpha::FULL,
            gain_shift,
            acked: 0,
            marked: 0,
            window_end: 0,
            loss_after_marks,
            hears_marks: true,
            delay: None,
        }
    }

    /// EAR: delays beyond a threshold signal congestion too.
    #[must_use]
    pub fn and_delay(self, threshold: Duration) -> Dctcp {
        Dctcp { delay: Some(DelaySignal::new(threshold)), ..self }
    }

    /// Delay-based DCTCP: delays beyond a threshold signal congestion instead of marks.
    #[must_use]
    pub fn by_delay(self, threshold: Duration) -> Dctcp {
        Dctcp { hears_marks: false, ..self.and_delay(threshold) }
    }
}

impl CongestionControl for Dctcp {
    fn ecn(&self) -> bool {
        self.hears_marks
    }

    fn ecn_control_packets(&self) -> bool {
        self.hears_marks
    }

    fn hears_delay(&self) -> bool {
        self.delay.is_some()
    }

    fn congested(&mut self, ece: bool, one_way: Option<Duration>) -> bool {
        // The delay is always evaluated, because it may be the shortest so far.
        let late = self.delay.as_mut().zip(one_way).is_some_and(|(signal, delay)| signal.exceeds(delay));
        late || (ece && self.hears_marks)
    }

    /// Section 3.3: alpha is updated once per window of data. As in Linux and ns-3, the window ends when the last byte
    /// that was sent in it is acknowledged. The RFC's wording would wait for one more acknowledgement.
    fn on_ack(&mut self, acked: Acked) {
        self.acked += acked.bytes;
        if acked.congested {
            self.marked += acked.bytes;
        }
        if acked.snd_una >= self.window_end {
            if self.acked > 0 {
                self.alpha = self.alpha.update(self.marked, self.acked, self.gain_shift);
            }
            (self.acked, self.marked, self.window_end) = (0, 0, acked.snd_nxt);
        }
    }

    fn on_congestion(&mut self, window: &mut Window) {
        window.reduce_to(self.alpha.reduce(window.cwnd));
    }

    fn loss_after_marks(&self) -> bool {
        self.loss_after_marks
    }

    fn base_delay(&self) -> Option<Duration> {
        self.delay.and_then(|signal| signal.base())
    }

    fn alpha(&self) -> Option<f64> {
        Some(self.alpha.as_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One observation window of ten segments; `marked` of them are acknowledged with ECE.
    fn observe(dctcp: &mut Dctcp, marked: u64, window: u64) {
        for segment in 0..10 {
            dctcp.on_ack(Acked {
                bytes: 1000,
                congested: segment < marked,
                snd_una: window * 10_000 + segment * 1000 + 1000,
                snd_nxt: (window + 1) * 10_000 + segment * 1000 + 1000,
            });
        }
    }

    #[test]
    fn alpha_converges_to_the_share_of_marked_bytes() {
        let mut dctcp = Dctcp::new(4, true);
        for window in 0..200 {
            observe(&mut dctcp, 3, window);
        }
        assert!((dctcp.alpha.as_f64() - 0.3).abs() < 1e-3, "{}", dctcp.alpha.as_f64());
    }

    #[test]
    fn without_marks_alpha_decays_by_one_sixteenth_per_window() {
        let mut dctcp = Dctcp::new(4, true);
        observe(&mut dctcp, 0, 0); // the first acknowledgement closes the empty initial window
        let start = dctcp.alpha.as_f64();
        for window in 1..=10 {
            observe(&mut dctcp, 0, window);
        }
        let expected = start * (15.0f64 / 16.0).powi(10);
        assert!((dctcp.alpha.as_f64() - expected).abs() < 1e-4);
    }

    #[test]
    fn ear_hears_marks_and_delays_and_the_others_one_of_them() {
        let ns = Duration::from_nanos;
        let dctcp = || Dctcp::new(4, true);
        for (mut control, marks, delays) in
            [(dctcp(), true, false), (dctcp().by_delay(ns(100)), false, true), (dctcp().and_delay(ns(100)), true, true)]
        {
            assert_eq!((control.ecn(), control.hears_delay()), (marks, delays));
            assert!(!control.congested(false, Some(ns(50))));
            assert_eq!(control.congested(true, Some(ns(150))), marks);
            assert_eq!(control.congested(false, Some(ns(151))), delays);
            assert!(control.congested(true, Some(ns(151))));
            assert_eq!(control.congested(true, None), marks);
            assert_eq!(control.base_delay(), delays.then_some(ns(50)));
        }
    }

    #[test]
    fn the_window_is_cut_by_half_of_alpha() {
        let mut window = Window::new(1000, 100);
        let mut dctcp = Dctcp::new(4, true);
        dctcp.on_congestion(&mut window);
        assert_eq!(window.cwnd, 50_000);
        dctcp.alpha = Alpha(Alpha::ONE / 4);
        dctcp.on_congestion(&mut window);
        assert_eq!((window.cwnd, window.ssthresh), (43_750, 43_750));
        window.cwnd = 2_000;
        dctcp.on_congestion(&mut window);
        assert_eq!(window.cwnd, 2_000);
    }
}
