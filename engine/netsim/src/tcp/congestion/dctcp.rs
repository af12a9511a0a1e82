// SPDX-License-Identifier: MIT OR Apache-2.0
//! DCTCP (RFC 8257): the window is reduced in proportion to the fraction of bytes that met congestion. The sign of
//! congestion is a mark; in the variants of the EAR paper (APNet 2017, sections 3.1 and 4.1) it is a delay, or either.

use marklab_units::Duration;

use super::{Acked, CongestionControl, DelaySignal, Window};
use crate::tcp::stack::LossCut;

/// An estimate in 0..=1, in units of 2^-20.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Alpha(u32);

impl Alpha {
    const ONE: u32 = 1 << 20;
    /// The estimate of RFC 8257 section 4.2 on a new connection: assume congestion.
    pub(super) const CERTAIN: Alpha = Alpha(Alpha::ONE);
    /// The estimate as a floating-point number.
    pub fn as_f64(self) -> f64 {
        f64::from(self.0) / f64::from(Alpha::ONE)
    }

    /// `(1 - g) * alpha + g * marked / acked` with `g = 2^-gain_shift`; `acked` is not 0.
    pub(super) fn update(self, marked: u64, acked: u64, gain_shift: u32) -> Alpha {
        let share = (u128::from(marked) * u128::from(Alpha::ONE) / u128::from(acked)) as u32;
        Alpha(self.0 - (self.0 >> gain_shift) + (share >> gain_shift))
    }

    /// The same in Linux's integers: alpha in units of 2^-10, which falls to 0 once it is below 1 / g of them.
    fn update_as_linux(self, marked: u64, acked: u64, gain_shift: u32) -> Alpha {
        let alpha = self.0 >> 10;
        let loss = if alpha >> gain_shift == 0 { alpha } else { alpha >> gain_shift };
        let gain = u128::from(marked) * (1024 >> gain_shift) / u128::from(acked.max(1));
        Alpha((alpha - loss + gain as u32).min(1024) << 10)
    }

    /// `cwnd * (1 - alpha / 2)`.
    pub(super) fn reduce(self, window: &Window) -> u64 {
        window.cwnd - window.scaled(window.cwnd, self.0.into(), (2 * Alpha::ONE).into())
    }
}

/// Settings of DCTCP.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct DctcpConfig {
    /// g = 2^-gain_shift; RFC 8257 recommends 1/16.
    pub gain_shift: u32,
    /// Alpha of a new connection, in 0..=1; RFC 8257 section 4.2 recommends 1: assume congestion.
    pub initial_alpha: f64,
    /// Whether a loss halves a window that marks have just reduced, perhaps by little (RFC 8257 section 3.5; Linux since
    /// version 5.1).
    pub loss_after_marks: bool,
    /// Whether alpha has Linux's precision, and counts what was acknowledged selectively as Linux does.
    pub as_linux: bool,
    /// Whether reductions and the first window are ns-3's ([`super::super::stack::Stack::late_alpha`]).
    pub late: bool,
    /// What a loss takes from the window.
    pub loss_cut: LossCut,
}

impl Default for DctcpConfig {
    /// RFC 8257's.
    fn default() -> DctcpConfig {
        DctcpConfig {
            gain_shift: 4,
            initial_alpha: 1.0,
            loss_after_marks: true,
            as_linux: false,
            late: false,
            loss_cut: LossCut::Half,
        }
    }
}

/// The sender's side of DCTCP.
#[derive(Clone, PartialEq, Debug)]
pub struct Dctcp {
    alpha: Alpha,
    /// What reductions use.
    cut: Alpha,
    config: DctcpConfig,
    /// Bytes acknowledged in the present observation window, and the marked bytes among them.
    acked: u64,
    marked: u64,
    /// The observation window ends when this byte is acknowledged.
    window_end: u64,
    hears_marks: bool,
    delay: Option<DelaySignal>,
}

impl Dctcp {
    /// On a new connection.
    pub fn new(config: DctcpConfig) -> Dctcp {
        let alpha = Alpha((config.initial_alpha * f64::from(Alpha::ONE)).round() as u32);
        Dctcp { alpha, cut: alpha, config, acked: 0, marked: 0, window_end: 0, hears_marks: true, delay: None }
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

    fn hears_delay(&self) -> bool {
        self.delay.is_some()
    }

    fn know_base_delay(&mut self, base: Duration) {
        if let Some(signal) = &mut self.delay {
            signal.know(base);
        }
    }

    fn congested(&mut self, ece: bool, one_way: Option<Duration>) -> bool {
        // The delay is always evaluated, because it may be the shortest so far.
        let late = self.delay.as_mut().zip(one_way).is_some_and(|(signal, delay)| signal.exceeds(delay));
        late || (ece && self.hears_marks)
    }

    /// Section 3.3: alpha is updated once per window of data. As in Linux and ns-3, the window ends when the last byte
    /// that was sent in it is acknowledged. The RFC's wording would wait for one more acknowledgement.
    fn on_ack(&mut self, acked: Acked) {
        let DctcpConfig { gain_shift, as_linux, late, .. } = self.config;
        self.cut = self.alpha;
        if late && self.window_end == 0 {
            self.window_end = acked.snd_nxt;
        }
        let bytes = if as_linux { acked.delivered } else { acked.bytes };
        if bytes == 0 {
            return;
        }
        self.acked += bytes;
        if acked.congested {
            self.marked += bytes;
        }
        if acked.snd_una >= self.window_end {
            if as_linux {
                self.alpha = self.alpha.update_as_linux(self.marked, self.acked, gain_shift);
            } else if self.acked > 0 {
                self.alpha = self.alpha.update(self.marked, self.acked, gain_shift);
            }
            (self.acked, self.marked, self.window_end) = (0, 0, acked.snd_nxt);
        }
        if !late {
            self.cut = self.alpha;
        }
    }

    fn ssthresh_after_marks(&mut self, window: &Window) -> u64 {
        self.cut.reduce(window)
    }

    fn ssthresh_after_loss(&mut self, window: &Window, base: u64) -> u64 {
        match self.config.loss_cut {
            LossCut::Half => window.half(base),
            LossCut::Alpha => self.cut.reduce(window),
        }
    }

    fn loss_after_marks(&self) -> bool {
        self.config.loss_after_marks
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
    use marklab_units::Time;

    use super::*;

    /// One observation window of ten segments; `marked` of them are acknowledged with ECE.
    fn observe(dctcp: &mut Dctcp, marked: u64, window: u64) {
        for segment in 0..10 {
            dctcp.on_ack(Acked {
                bytes: 1000,
                delivered: 1000,
                congested: segment < marked,
                now: Time::ZERO,
                srtt: Duration::ZERO,
                snd_una: window * 10_000 + segment * 1000 + 1000,
                snd_nxt: (window + 1) * 10_000 + segment * 1000 + 1000,
            });
        }
    }

    #[test]
    fn alpha_converges_to_the_share_of_marked_bytes() {
        let mut dctcp = Dctcp::new(DctcpConfig::default());
        for window in 0..200 {
            observe(&mut dctcp, 3, window);
        }
        assert!((dctcp.alpha.as_f64() - 0.3).abs() < 1e-3, "{}", dctcp.alpha.as_f64());
    }

    /// In ns-3, alpha first counts the initial window, and a reduction does not know its own acknowledgement.
    #[test]
    fn a_late_alpha_is_that_before_the_acknowledgement() {
        let window = Window::new(1000, 10);
        for (late, alphas, threshold) in [(false, [15, 14], 5_600), (true, [16, 15], 5_000)] {
            let mut dctcp = Dctcp::new(DctcpConfig { late, ..DctcpConfig::default() });
            let mut after = |snd_una| {
                let (bytes, snd_nxt) = (1000, snd_una + 10_000);
                let (now, srtt) = (Time::ZERO, Duration::ZERO);
                dctcp.on_ack(Acked { bytes, delivered: bytes, congested: false, now, srtt, snd_una, snd_nxt });
                (dctcp.alpha.as_f64() * 16.0).round() as u32
            };
            assert_eq!([after(1000), after(11_000)], alphas);
            let cut = dctcp.ssthresh_after_marks(&window);
            assert!(cut.abs_diff(threshold) < 10, "{cut}");
        }
    }

    #[test]
    fn a_loss_takes_half_or_what_marks_take() {
        for (loss_cut, threshold) in [(LossCut::Half, 4_000), (LossCut::Alpha, 9_000)] {
            let mut dctcp = Dctcp::new(DctcpConfig { initial_alpha: 0.2, loss_cut, ..DctcpConfig::default() });
            assert_eq!(dctcp.ssthresh_after_loss(&Window::new(1000, 10), 8_000) / 10 * 10, threshold);
        }
    }

    #[test]
    fn without_marks_alpha_decays_by_one_sixteenth_per_window() {
        let mut dctcp = Dctcp::new(DctcpConfig::default());
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
        let dctcp = || Dctcp::new(DctcpConfig::default());
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
        let window = Window::new(1000, 100);
        let mut dctcp = Dctcp::new(DctcpConfig::default());
        assert_eq!(dctcp.ssthresh_after_marks(&window), 50_000);
        dctcp.cut = Alpha(Alpha::ONE / 4);
        assert_eq!(dctcp.ssthresh_after_marks(&window), 87_500);
        // Linux: 100 - ((100 * 256) >> 11).
        assert_eq!(dctcp.ssthresh_after_marks(&Window { unit: 1000, ..window }), 88_000);
        dctcp.cut = Alpha(0);
        assert_eq!(dctcp.ssthresh_after_marks(&window), 100_000);
    }

    /// Inputs and outputs of `dctcp_update_alpha` in Linux's net/ipv4/tcp_dctcp.c with `dctcp_shift_g` = 4: alpha
    /// before, segments delivered and those with ECE, alpha after, by the arithmetic of its text.
    #[test]
    fn alpha_is_linux_s_to_the_bit() {
        let table = [
            (1024, 10, 10, 1024), // 1024 - 64 + 640 / 10
            (1024, 10, 0, 960),
            (960, 10, 3, 919), // 960 - 60 + 192 / 10
            (15, 10, 0, 0),    // min_not_zero(15, 0)
            (16, 10, 0, 15),
            (0, 10, 0, 0),
            (0, 10, 1, 6), // 64 / 10
            (0, 1000, 1, 0),
            (1024, 0, 0, 960),
            (1, 3, 2, 42), // 1 - 1 + 128 / 3
        ];
        for (before, delivered, marked, after) in table {
            let alpha = Alpha(before << 10).update_as_linux(marked, delivered, 4);
            assert_eq!(alpha, Alpha(after << 10), "{before}, {marked} of {delivered}");
        }
    }

    #[test]
    fn a_connection_begins_with_the_alpha_that_is_set() {
        for alpha in [0.0, 0.5, 1.0] {
            let dctcp = Dctcp::new(DctcpConfig { initial_alpha: alpha, ..DctcpConfig::default() });
            assert_eq!(dctcp.alpha(), Some(alpha));
        }
    }
}
