// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reno (RFC 5681) without ECN.

use super::{CongestionControl, Window};

/// Halves the window on loss; does not take part in ECN.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Reno;

impl CongestionControl for Reno {
    fn ecn(&self) -> bool {
        false
    }

    fn ssthresh_after_marks(&mut self, window: &Window) -> u64 {
        window.half(window.cwnd)
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::stack::Growth;
    use super::*;

    #[test]
    fn slow_start_doubles_and_avoidance_adds_one_segment_per_window() {
        let mut window = Window::new(1000, 2);
        window.ssthresh = 8_000;
        let mut reno = Reno;
        for expected in [4_000, 8_000, 9_000, 10_000] {
            for _ in 0..window.cwnd / 1000 {
                reno.grow(&mut window, 1000);
            }
            assert_eq!(window.cwnd, expected);
        }
    }

    #[test]
    fn a_window_that_counts_acknowledgements_grows_alike_whatever_they_acknowledge() {
        let mut window = Window { growth: Growth::Acks, ssthresh: 11_500, ..Window::new(1000, 10) };
        Reno.grow(&mut window, 3000);
        assert_eq!(window.cwnd, 11_000); // a whole threshold of 11 segments: slow start is over
        Reno.grow(&mut window, 1);
        assert_eq!(window.cwnd, 11_090);
    }

    #[test]
    fn a_loss_halves_what_is_in_flight() {
        let window = Window::new(1000, 10);
        assert_eq!(Reno.ssthresh_after_loss(&window, 10_000), 5_000);
        assert_eq!(Reno.ssthresh_after_loss(&window, 9_000), 4_500);
        assert_eq!(Reno.ssthresh_after_loss(&Window { unit: 1000, ..window }, 9_000), 4_000);
    }
}
