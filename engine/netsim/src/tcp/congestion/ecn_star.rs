// SPDX-License-Identifier: MIT OR Apache-2.0
//! ECN*: regular ECN-capable TCP, which treats a mark like a loss (RFC 3168).

use super::{CongestionControl, Window};

/// Halves the window once per window of data with marks.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct EcnStar;

impl CongestionControl for EcnStar {
    fn ecn(&self) -> bool {
        true
    }

    fn ssthresh_after_marks(&mut self, window: &Window) -> u64 {
        window.half(window.cwnd)
    }
}
