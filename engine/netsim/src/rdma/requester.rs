// SPDX-License-Identifier: MIT OR Apache-2.0
//! The sending end of a queue pair: go-back-N.

use std::collections::VecDeque;

use marklab_units::{Duration, Time};

use super::MOST_UNACKNOWLEDGED;
use crate::tcp::SenderStats;

/// A packet to be sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Outgoing {
    /// Packet number.
    pub number: u64,
    /// Bytes of payload; never 0.
    pub len: u32,
    /// Whether it begins with the first byte of a message.
    pub first: bool,
    /// Whether it ends with the last byte written so far; such a packet requests an acknowledgement.
    pub last: bool,
}

/// A packet that was sent and is not yet acknowledged.
#[derive(Clone, Copy, Debug)]
struct Sent {
    len: u32,
    first: bool,
    last: bool,
    /// When it was sent, if only once: retransmitted packets give no round-trip sample.
    once: Option<Time>,
}

/// Sends packets in order. It retransmits a packet that the responder misses, and all packets after it.
#[derive(Debug)]
pub struct Requester {
    mtu: u32,
    /// Most unacknowledged packets.
    window: usize,
    /// Fixed, as in NICs: InfiniBand's local ACK timeout does not adapt to round-trip times.
    timeout: Duration,
    unacknowledged: VecDeque<Sent>,
    /// Number of the first unacknowledged packet, and bytes before it.
    oldest: u64,
    acknowledged: u64,
    /// Unacknowledged packets that were sent since the requester last went back.
    sent: usize,
    /// Written bytes that are not in a packet yet, and whether they begin a message.
    unsent: u64,
    begins: bool,
    deadline: Option<Time>,
    /// Counts so far; entries into fast recovery count how often a NACK made it go back.
    pub stats: SenderStats,
}

impl Requester {
    /// A requester with nothing to send, whose packets carry at most `mtu` bytes. If there is a `window` in bytes, it
    /// limits unacknowledged packets to the number of full packets in it.
    pub fn new(mtu: u32, window: Option<u64>, timeout: Duration) -> Requester {
        let most = MOST_UNACKNOWLEDGED as u64;
        Requester {
            mtu,
            window: window.map_or(most, |bytes| (bytes / u64::from(mtu)).min(most)) as usize,
            timeout,
            unacknowledged: VecDeque::new(),
            oldest: 0,
            acknowledged: 0,
            sent: 0,
            unsent: 0,
            begins: false,
            deadline: None,
            stats: SenderStats::default(),
        }
    }

    /// The application begins a message.
    pub fn begin(&mut self) {
        self.begins = true;
    }

    /// The application writes more bytes. A packet holds bytes of one message only, because a message begins after the
    /// previous one has arrived.
    pub fn write(&mut self, bytes: u64) {
        self.unsent += bytes;
    }

    /// When [`Requester::on_timeout`] is due, unless a packet is acknowledged before.
    pub fn deadline(&self) -> Option<Time> {
        self.deadline
    }

    /// Number of the first unacknowledged packet.
    pub fn oldest(&self) -> u64 {
        self.oldest
    }

    /// Bytes of payload that are acknowledged.
    pub fn acknowledged(&self) -> u64 {
        self.acknowledged
    }

    /// Whether there is a packet to send.
    pub fn has_next(&self) -> bool {
        self.sent < self.unacknowledged.len() || (self.unsent > 0 && self.sent < self.window)
    }

    /// The next packet. The caller sends it.
    pub fn next_packet(&mut self, now: Time) -> Option<Outgoing> {
        if !self.has_next() {
            return None;
        }
        let number = self.oldest + self.sent as u64;
        if let Some(again) = self.unacknowledged.get_mut(self.sent) {
            again.once = None;
            self.stats.retransmissions += 1;
        } else {
            let len = self.unsent.min(self.mtu.into()) as u32;
            self.unsent -= u64::from(len);
            let (first, last) = (std::mem::take(&mut self.begins), self.unsent == 0);
            self.unacknowledged.push_back(Sent { len, first, last, once: Some(now) });
        }
        let Sent { len, first, last, .. } = self.unacknowledged[self.sent];
        self.sent += 1;
        self.deadline.get_or_insert(now + self.timeout);
        Some(Outgoing { number, len, first, last })
    }

    /// The responder has all packets before `next`. Returns the round-trip time of the last one, if it was sent once.
    pub fn on_ack(&mut self, now: Time, next: u64) -> Option<Duration> {
        let news = next.checked_sub(self.oldest).filter(|&news| news > 0)? as usize;
        if news > self.unacknowledged.len() {
            return None; // never sent
        }
        let last = *self.unacknowledged.get(news - 1)?;
        self.acknowledged += self.unacknowledged.drain(..news).map(|packet| u64::from(packet.len)).sum::<u64>();
        self.oldest = next;
        self.sent = self.sent.saturating_sub(news);
        self.deadline = (!self.unacknowledged.is_empty()).then_some(now + self.timeout);
        let rtt = last.once.map(|sent| now.since(sent))?;
        self.stats.rtt_samples += 1;
        self.stats.rtt_ns += rtt.nanos();
        Some(rtt)
    }

    /// The responder misses packet `next`, and takes no later packet before it arrives.
    pub fn on_nack(&mut self, now: Time, next: u64) -> Option<Duration> {
        let rtt = self.on_ack(now, next);
        if next == self.oldest && self.sent > 0 {
            self.go_back(now);
            self.stats.fast_recoveries += 1;
        }
        rtt
    }

    /// The deadline has passed.
    pub fn on_timeout(&mut self, now: Time) {
        self.go_back(now);
        self.stats.timeouts += 1;
    }

    fn go_back(&mut self, now: Time) {
        self.sent = 0;
        self.deadline = Some(now + self.timeout);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(us: u64) -> Time {
        Time::from_nanos(us * 1_000)
    }

    fn requester(bytes: u64) -> Requester {
        let mut requester = Requester::new(1_000, None, Duration::from_micros(500));
        requester.begin();
        requester.write(bytes);
        requester
    }

    fn send(requester: &mut Requester, now: Time, most: usize) -> Vec<u64> {
        let packets = std::iter::from_fn(|| requester.next_packet(now));
        packets.take(most).map(|packet| packet.number).collect()
    }

    #[test]
    fn a_message_is_cut_into_packets() {
        let mut requester = requester(2_500);
        let packets: Vec<_> = std::iter::from_fn(|| requester.next_packet(at(0))).collect();
        let said: Vec<_> = packets.iter().map(|packet| (packet.len, packet.first, packet.last)).collect();
        assert_eq!(said, [(1000, true, false), (1000, false, false), (500, false, true)]);
    }

    #[test]
    fn what_is_missed_and_all_after_it_are_sent_again() {
        let mut requester = requester(10_000);
        assert_eq!(send(&mut requester, at(0), 6), [0, 1, 2, 3, 4, 5]);
        requester.on_nack(at(10), 2);
        assert_eq!(send(&mut requester, at(10), 3), [2, 3, 4]);
        assert_eq!(requester.on_ack(at(20), 4), None, "packet 3 was sent twice");
        assert_eq!(send(&mut requester, at(20), 9), [5, 6, 7, 8, 9]);
        let stats = requester.stats;
        assert_eq!((stats.retransmissions, stats.fast_recoveries, stats.timeouts), (4, 1, 0));
        assert_eq!(requester.on_ack(at(90), 10), Some(Duration::from_micros(70)));
        assert!(!requester.has_next());
    }

    #[test]
    fn an_acknowledgement_of_what_is_to_be_sent_again_skips_it() {
        let mut requester = requester(10_000);
        send(&mut requester, at(0), 6);
        requester.on_timeout(at(500));
        assert_eq!(send(&mut requester, at(500), 1), [0]);
        requester.on_ack(at(510), 5);
        assert_eq!(send(&mut requester, at(510), 2), [5, 6]);
    }

    #[test]
    fn the_deadline_follows_what_is_acknowledged() {
        let mut requester = requester(3_000);
        assert_eq!(requester.deadline(), None);
        send(&mut requester, at(0), 1);
        send(&mut requester, at(7), 2);
        assert_eq!(requester.deadline(), Some(at(500)));
        requester.on_ack(at(10), 1);
        assert_eq!(requester.deadline(), Some(at(510)));
        requester.on_ack(at(11), 1);
        assert_eq!(requester.deadline(), Some(at(510)), "nothing new");
        requester.on_ack(at(12), 3);
        assert_eq!(requester.deadline(), None);
        requester.on_ack(at(13), 9);
        assert_eq!(requester.oldest, 3, "packets that were never sent cannot have come");
    }
}
