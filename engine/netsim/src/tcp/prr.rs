// SPDX-License-Identifier: MIT OR Apache-2.0
//! Proportional rate reduction: the window comes down to `ssthresh` over a round trip, in proportion to what arrives
//! (RFC 6937; RFC 9937, whose rule for a safe bound is Linux's).

/// One reduction. Numbers are weights of segments ([`super::stack::WindowUnit`]).
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct Prr {
    /// The window when the reduction began: RecoverFS.
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
    /// Whether `snd_una` advanced and no segment was found lost: the repair goes well.
    pub(super) safe: bool,
}

impl Prr {
    pub(super) fn new(cwnd: u64) -> Prr {
        Prr { prior: cwnd, delivered: 0, sent: 0 }
    }

    /// Notes that a segment was sent.
    pub(super) fn sent(&mut self, weight: u64) {
        self.sent += weight;
    }

    /// The window after an acknowledgement. `None` if it reports nothing new.
    pub(super) fn on_ack(&mut self, progress: Progress, ssthresh: u64, pipe: u64, mss: u64) -> Option<u64> {
        let Progress { delivered, safe } = progress;
        if delivered == 0 || self.prior == 0 {
            return None;
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
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A window of 20 segments, the first of which is lost, and a threshold of 10: every second acknowledgement lets a
    /// segment go, until as many are in flight as the threshold allows (RFC 6937 section 4).
    #[test]
    fn the_window_comes_down_in_proportion_to_what_arrives() {
        let mut prr = Prr::new(20);
        let (mut pipe, mut sent) = (16, Vec::new()); // three acknowledged, one lost
        for _ in 0..16 {
            pipe -= 1;
            let cwnd = prr.on_ack(Progress { delivered: 1, safe: false }, 10, pipe, 1).unwrap();
            prr.sent(cwnd - pipe);
            sent.push(cwnd - pipe);
            pipe = cwnd;
        }
        assert_eq!(sent, [1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 0, 1, 1, 1, 1, 1]);
        assert_eq!(pipe, 10);
    }

    #[test]
    fn below_the_threshold_it_sends_what_arrives_and_one_more_if_that_is_safe() {
        let mut prr = Prr::new(20);
        assert_eq!(prr.on_ack(Progress { delivered: 2, safe: false }, 10, 4, 1), Some(6));
        prr.sent(2);
        assert_eq!(prr.on_ack(Progress { delivered: 2, safe: true }, 10, 4, 1), Some(7));
        prr.sent(3);
        assert_eq!(prr.on_ack(Progress { delivered: 2, safe: true }, 10, 9, 1), Some(10));
        assert_eq!(prr.on_ack(Progress { delivered: 0, safe: true }, 10, 9, 1), None);
    }
}
