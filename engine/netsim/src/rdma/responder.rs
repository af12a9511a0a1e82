// SPDX-License-Identifier: MIT OR Apache-2.0
//! The receiving end of a queue pair, and the notification point of DCQCN.

use marklab_units::{Duration, Time};

/// How a responder behaves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ResponderConfig {
    /// Packets per acknowledgement. The end of a message is acknowledged at once.
    pub ack_every: u32,
    /// Shortest time between notifications (N).
    pub notification_interval: Duration,
}

/// A packet that arrived.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Heard {
    /// Its number.
    pub number: u64,
    /// Bytes of payload.
    pub len: u32,
    /// Whether it requests an acknowledgement.
    pub ack_request: bool,
    /// Whether it is marked (CE).
    pub ce: bool,
}

/// The answers to a packet.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Answer {
    /// A notification of congestion (CNP).
    pub notification: bool,
    /// An acknowledgement of all packets before the next expected packet.
    pub acknowledge: bool,
    /// The next expected packet was skipped, so the acknowledgement is a NACK.
    pub missing: bool,
}

/// Takes packets only in order.
#[derive(Debug)]
pub struct Responder {
    config: ResponderConfig,
    expected: u64,
    delivered: u64,
    /// Packets since the last acknowledgement.
    pending: u32,
    /// Whether a NACK for the expected packet was sent. There is one NACK per gap.
    nack_sent: bool,
    notified: Option<Time>,
}

impl Responder {
    /// A responder that has received nothing.
    pub fn new(config: ResponderConfig) -> Responder {
        Responder { config, expected: 0, delivered: 0, pending: 0, nack_sent: false, notified: None }
    }

    /// Number of the next expected packet.
    pub fn expected(&self) -> u64 {
        self.expected
    }

    /// Bytes that arrived in order.
    pub fn delivered(&self) -> u64 {
        self.delivered
    }

    /// Handles a packet, and returns the answers to send.
    pub fn on_packet(&mut self, now: Time, heard: Heard) -> Answer {
        let notification = heard.ce && self.may_notify(now);
        if notification {
            self.notified = Some(now);
        }
        if heard.number > self.expected {
            let missing = !std::mem::replace(&mut self.nack_sent, true);
            return Answer { notification, acknowledge: missing, missing };
        }
        let mut due = heard.ack_request;
        if heard.number == self.expected {
            self.expected += 1;
            self.delivered += u64::from(heard.len);
            self.nack_sent = false;
            self.pending += 1;
            due |= self.pending >= self.config.ack_every;
        } else {
            // The sender does not know that this packet has arrived: the acknowledgement was lost, or is late.
            due = true;
        }
        if due {
            self.pending = 0;
        }
        Answer { notification, acknowledge: due, missing: false }
    }

    fn may_notify(&self, now: Time) -> bool {
        self.notified.is_none_or(|last| now.since(last) >= self.config.notification_interval)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn responder(ack_every: u32) -> Responder {
        Responder::new(ResponderConfig { ack_every, notification_interval: Duration::from_micros(50) })
    }

    fn heard(number: u64) -> Heard {
        Heard { number, len: 100, ack_request: false, ce: false }
    }

    fn at(us: u64) -> Time {
        Time::from_nanos(us * 1_000)
    }

    #[test]
    fn one_notification_per_interval_and_only_for_marks() {
        let mut responder = responder(1);
        let mut notified = |us, number, ce| responder.on_packet(at(us), Heard { ce, ..heard(number) }).notification;
        assert!(!notified(0, 0, false));
        assert!(notified(1, 1, true));
        assert!(!notified(50, 2, true));
        assert!(notified(51, 3, true));
        assert!(!notified(200, 4, false));
        assert!(notified(201, 90, true), "a packet that is not taken was marked all the same");
    }

    #[test]
    fn a_gap_is_told_once() {
        let mut responder = responder(4);
        let mut answer = |number| {
            let Answer { acknowledge, missing, .. } = responder.on_packet(at(0), heard(number));
            (acknowledge, missing)
        };
        assert_eq!(answer(0), (false, false));
        assert_eq!(answer(2), (true, true));
        assert_eq!(answer(3), (false, false));
        assert_eq!(answer(1), (false, false));
        assert_eq!(answer(4), (true, true));
        assert_eq!(answer(0), (true, false), "a packet that came before");
        assert_eq!(responder.delivered(), 200);
    }

    #[test]
    fn acknowledgements_are_counted_or_asked_for() {
        let mut responder = responder(3);
        let mut acknowledged =
            |number, ack_request| responder.on_packet(at(0), Heard { ack_request, ..heard(number) }).acknowledge;
        assert_eq!(
            [(0, false), (1, false), (2, false), (3, true)].map(|(n, ask)| acknowledged(n, ask)),
            [false, false, true, true]
        );
        assert_eq!([4, 5, 6].map(|n| acknowledged(n, false)), [false, false, true]);
    }

    proptest! {
        /// Oracle: a count of the packets that came in order.
        #[test]
        fn packets_are_taken_once_and_in_order(numbers in prop::collection::vec(0..12u64, 0..100)) {
            let mut responder = responder(2);
            let mut next = 0;
            for number in numbers {
                responder.on_packet(at(0), heard(number));
                next += u64::from(number == next);
                prop_assert_eq!((responder.expected(), responder.delivered()), (next, 100 * next));
            }
        }
    }
}
