// SPDX-License-Identifier: MIT OR Apache-2.0
//! Proportional rate reduction: the window comes down to `ssthresh` over a round trip, in proportion to what arrives
//! (RFC 6937; RFC 9937, whose rule for a safe bound is Linux's; `TcpPrrRecovery` of ns-3.37).

use super::stack::Recovery;

/// One reduction. Numbers are weights of segments ([`super::stack::WindowUnit`]).
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct Prr {
    recovery: Recovery,
    /// The window when the reduction began, or in ns-3 the data that were not acknowledged: RecoverFS.
    prior: u64,
    /// Newly acknowledged since then.
    delivered: u64,
    /// Sent since then.
    sent: u64,
}

/// What an acknowledgement reports during a reduction.
#[derive(Clone, Copy, Debug)]
pub(super) struct Progress {
    /// Newly acknowledged, in order or selectively.
    pub(super) delivered: u64,
    /// Whether `snd_una` advanced.
    pub(super) advanced: bool,
    /// Whether it did, and no segment was found lost: the repair goes well.
    pub(super) safe: bool,
    /// Whether losses are being repaired, and not only marks answered.
    pub(super) repairing: bool,
}

impl Prr {
    pub(super) fn new(recovery: Recovery, prior: u64) -> Prr {
        Prr { recovery, prior, delivered: 0, sent: 0 }
    }

    /// Notes that a segment was sent.
    pub(super) fn sent(&mut self, weight: u64) {
        self.sent += weight;
    }

    /// The window after an acknowledgement. `None` if it reports nothing new.
    pub(super) fn on_ack(&mut self, progress: Progress, ssthresh: u64, pipe: u64, mss: u64) -> Option<u64> {
        let Progress { delivered, safe, .. } = progress;
        if delivered == 0 || self.prior == 0 {
            return None;
        }
        if self.recovery == Recovery::PrrNs3 {
            // `TcpSocketBase::ProcessAck` has no step for it while marks are being answered.
            if !progress.advanced && !progress.repairing {
                return None;
            }
            return Some(pipe + self.allowed_by_ns3(progress, ssthresh, pipe, mss));
        }
        self.delivered += delivered;
        let allowed = if pipe > ssthresh {
            // In units of a segment, rounded up, as in Linux: integers of packets there.
            let unit = u128::from(mss);
            let (ssthresh, delivered, prior) = (
                u128::from(ssthresh) / unit,
                u128::from(self.delivered) / unit,
                (u128::from(self.prior) / unit).max(1),
            );
            let allowed = ((ssthresh * delivered).div_ceil(prior) * unit) as u64;
            allowed.saturating_sub(self.sent)
        } else {
            let bound = self.delivered.saturating_sub(self.sent).max(delivered) + if safe { mss } else { 0 };
            bound.min(ssthresh - pipe)
        };
        // A fast retransmission leaves when recovery begins.
        let allowed = if self.sent == 0 { allowed.max(mss) } else { allowed };
        Some(pipe + allowed)
    }

    /// `TcpPrrRecovery::DoRecovery` of ns-3.37. The acknowledgement that begins a reduction by marks counts twice. The
    /// product has 32 bits: from a window of 64 KB on it overflows, and then nothing leaves until `pipe` fits. Below the
    /// threshold, as much leaves as arrives, and more only if losses are being repaired; there, a difference that would
    /// be negative is the larger of two numbers without a sign, and a limit below 0 in the end.
    fn allowed_by_ns3(&mut self, progress: Progress, ssthresh: u64, pipe: u64, mss: u64) -> u64 {
        let Progress { delivered, safe, repairing, .. } = progress;
        let begins = self.delivered == 0 && !repairing;
        self.delivered += if begins { 2 * delivered } else { delivered };
        let allowed = if pipe > ssthresh {
            let product = (self.delivered as u32).wrapping_mul(ssthresh as u32);
            u64::from(product).div_ceil(self.prior).saturating_sub(self.sent)
        } else {
            let more = (self.delivered as u32).wrapping_sub(self.sent as u32).max(delivered as u32);
            let limit = if repairing && safe { more.wrapping_add(mss as u32) as i32 } else { delivered as i32 };
            u64::from(limit.max(0).cast_unsigned()).min(ssthresh - pipe)
        };
        if self.sent == 0 { allowed.max(mss) } else { allowed }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(delivered: u64, safe: bool) -> Progress {
        Progress { delivered, advanced: true, safe, repairing: true }
    }

    /// A window of 20 segments, the first of which is lost, and a threshold of 10: every second acknowledgement lets a
    /// segment go, until as many are in flight as the threshold allows (RFC 6937 section 4).
    #[test]
    fn the_window_comes_down_in_proportion_to_what_arrives() {
        let mut prr = Prr::new(Recovery::Prr, 20);
        let (mut pipe, mut sent) = (16, Vec::new()); // three acknowledged, one lost
        for _ in 0..16 {
            pipe -= 1;
            let cwnd = prr.on_ack(given(1, false), 10, pipe, 1).unwrap();
            prr.sent(cwnd - pipe);
            sent.push(cwnd - pipe);
            pipe = cwnd;
        }
        assert_eq!(sent, [1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 0, 1, 1, 1, 1, 1]);
        assert_eq!(pipe, 10);
    }

    /// By the text of `TcpPrrRecovery::DoRecovery`: 10 of 11 segments of 1000 bytes in flight, ssthresh 5500. Each
    /// acknowledgement allows half a segment, the first one a whole one; it counts twice.
    #[test]
    fn ns3_counts_bytes_and_the_first_acknowledgement_twice() {
        let mut prr = Prr::new(Recovery::PrrNs3, 10_000);
        let marked = Progress { delivered: 1000, advanced: true, safe: true, repairing: false };
        assert_eq!(prr.on_ack(marked, 5_500, 10_000, 1000), Some(11_100));
        prr.sent(1000);
        assert_eq!(prr.on_ack(marked, 5_500, 10_000, 1000), Some(10_650));
        assert_eq!(prr.on_ack(marked, 5_500, 5_000, 1000), Some(5_500));
        assert_eq!(prr.on_ack(marked, 5_500, 3_000, 1000), Some(4_000)); // as much as arrived, though less was sent
        assert_eq!(prr.on_ack(Progress { repairing: true, ..marked }, 9_500, 3_000, 1000), Some(9_000)); // six arrived, one left, and one more
    }

    /// 20 segments of a window of 300 kB, of which half is to go: 30,000 * 150,000 is more than 2^32.
    #[test]
    fn ns3_s_product_overflows() {
        let allowed = |delivered| {
            let mut prr = Prr::new(Recovery::PrrNs3, 300_000);
            prr.sent(1000);
            prr.on_ack(given(delivered, true), 150_000, 250_000, 1000).unwrap() - 250_000
        };
        assert_eq!([allowed(20_000), allowed(30_000)], [9_000, 0]);
    }

    /// 3 segments arrived and 4 or 5 left: one more may leave in place of the fourth, none in place of the fifth. RFC 6937
    /// lets two leave, the one that arrived and one more.
    #[test]
    fn ns3_lets_less_leave_below_the_threshold_if_more_left_than_arrived() {
        let after = |recovery, left| {
            let mut prr = Prr::new(recovery, 20_000);
            prr.on_ack(given(2_000, true), 10_000, 5_000, 1000);
            prr.sent(left);
            prr.on_ack(given(1_000, true), 10_000, 5_000, 1000)
        };
        assert_eq!(
            [2_999, 3_000, 3_500, 4_000, 5_000].map(|left| after(Recovery::PrrNs3, left)).map(Option::unwrap),
            [7_000, 7_000, 5_500, 5_000, 5_000]
        );
        assert_eq!([4_000, 5_000].map(|left| after(Recovery::Prr, left)), [Some(7_000); 2]);
    }

    #[test]
    fn while_marks_are_answered_ns3_does_not_count_what_arrives_out_of_order() {
        for (advanced, repairing, counts) in [(true, false, true), (false, false, false), (false, true, true)] {
            let mut prr = Prr::new(Recovery::PrrNs3, 20_000);
            let progress = Progress { delivered: 1_000, advanced, safe: false, repairing };
            assert_eq!(prr.on_ack(progress, 10_000, 15_000, 1000).is_some(), counts);
        }
    }

    #[test]
    fn below_the_threshold_it_sends_what_arrives_and_one_more_if_that_is_safe() {
        let mut prr = Prr::new(Recovery::Prr, 20);
        assert_eq!(prr.on_ack(given(2, false), 10, 4, 1), Some(6));
        prr.sent(2);
        assert_eq!(prr.on_ack(given(2, true), 10, 4, 1), Some(7));
        prr.sent(3);
        assert_eq!(prr.on_ack(given(2, true), 10, 9, 1), Some(10));
        assert_eq!(prr.on_ack(given(0, true), 10, 9, 1), None);
    }
}
