// SPDX-License-Identifier: MIT OR Apache-2.0
//! Delay lines in front of the switch, like netem at a testbed's senders.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use marklab_pipeline::Packet;
use marklab_units::{Duration, Framing, Rate, Time};
use rustc_hash::FxHashMap;

/// TTL that selects the first delay of a list: the one that Linux gives packets by default.
pub const FIRST_TTL: u8 = 64;

/// Delays of the frames that come in by a port.
///
/// All frames have a common delay. IPv4 packets have an additional one, which their sender chooses by their TTL. If the
/// TTL of a flow changes, its packets stay in order: none is released before one that came earlier.
#[derive(Debug, Default)]
pub struct Delays {
    all: Duration,
    line: Option<(Rate, Framing)>,
    by_ttl: Vec<Duration>,
    waiting: BinaryHeap<Reverse<Waiting>>,
    packets: Vec<Option<Packet>>,
    spare: Vec<usize>,
    count: u64,
    /// For each flow with waiting packets, when its last one is due.
    last_of_flow: FxHashMap<u128, Time>,
}

/// When a frame is due, its number, and the index of its packet.
type Waiting = (Time, u64, usize);

impl Delays {
    /// A delay of all frames, and additional ones for IPv4 packets with a TTL of [`FIRST_TTL`], [`FIRST_TTL`] + 1, and
    /// so on.
    pub fn new(all: Duration, by_ttl: Vec<Duration>) -> Delays {
        Delays { all, by_ttl, ..Delays::default() }
    }

    /// Adds the transmission time at this rate: a frame comes in with its last bit, but a shaped sender hands it over
    /// with its first bit.
    #[must_use]
    pub fn over(self, rate: Option<Rate>, framing: Framing) -> Delays {
        Delays { line: rate.map(|rate| (rate, framing)), ..self }
    }

    /// Whether no frame is delayed.
    pub fn is_empty(&self) -> bool {
        self.all == Duration::ZERO && self.by_ttl.is_empty() && self.line.is_none()
    }

    /// The delay of a frame without earlier frames of its flow.
    pub fn of(&self, frame: &[u8]) -> Duration {
        let above = ipv4(frame).and_then(|ip| ip[8].checked_sub(FIRST_TTL));
        let chosen = above.and_then(|above| self.by_ttl.get(usize::from(above)));
        let bits = self.line.map(|(rate, framing)| rate.transmission(framing.wire_bytes(frame.len()), 0).0);
        self.all + bits.unwrap_or_default() + chosen.copied().unwrap_or_default()
    }

    /// Holds back a frame that came at `now`.
    pub(crate) fn hold(&mut self, now: Time, packet: Packet) {
        let mut due = now + self.of(packet.stored());
        if let Some(flow) = self.flow_of(&packet) {
            let last = self.last_of_flow.entry(flow).or_default();
            due = due.max(*last);
            *last = due;
        }
        let place = self.spare.pop().unwrap_or_else(|| {
            self.packets.push(None);
            self.packets.len() - 1
        });
        self.packets[place] = Some(packet);
        self.waiting.push(Reverse((due, self.count, place)));
        self.count += 1;
    }

    /// When the next frame is due.
    pub(crate) fn due_at(&self) -> Option<Time> {
        self.waiting.peek().map(|Reverse((due, ..))| *due)
    }

    /// Takes the next frame.
    pub(crate) fn take(&mut self) -> Option<Packet> {
        let Reverse((due, _, place)) = self.waiting.pop()?;
        self.spare.push(place);
        let packet = self.packets[place].take()?;
        // A flow is forgotten with its last packet, so that memory does not grow with the number of flows. Its other
        // packets that are due at the same time still come before later arrivals.
        if let Some(flow) = self.flow_of(&packet)
            && self.last_of_flow.get(&flow) == Some(&due)
        {
            self.last_of_flow.remove(&flow);
        }
        Some(packet)
    }

    /// The flow of a packet, if delays can bring it out of order.
    fn flow_of(&self, packet: &Packet) -> Option<u128> {
        if self.by_ttl.is_empty() { None } else { ipv4(packet.stored()).map(five_tuple) }
    }
}

/// The IPv4 packet in an Ethernet frame, if there is one with a whole header.
fn ipv4(frame: &[u8]) -> Option<&[u8]> {
    const TYPE: [u8; 2] = [0x08, 0x00];
    (frame.len() >= 34 && frame[12..14] == TYPE).then(|| &frame[14..])
}

/// Protocol, addresses and, for TCP and UDP, ports.
fn five_tuple(ip: &[u8]) -> u128 {
    let (protocol, header) = (ip[9], usize::from(ip[0] & 0x0f) * 4);
    let ports = match ip.get(header..header + 4) {
        Some(ports) if matches!(protocol, 6 | 17) => ports,
        _ => &[0; 4],
    };
    let bytes = ip[12..20].iter().chain(ports);
    bytes.fold(protocol.into(), |key, &byte| key << 8 | u128::from(byte))
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;

    fn tcp(port: u16, ttl: u8) -> Vec<u8> {
        let mut frame = vec![0; 54];
        frame[12..14].copy_from_slice(&[8, 0]);
        frame[14] = 0x45;
        frame[22] = ttl;
        frame[23] = 6;
        frame[26..34].copy_from_slice(&[10, 0, 0, 1, 10, 0, 0, 2]);
        frame[34..36].copy_from_slice(&port.to_be_bytes());
        frame
    }

    fn ns(list: &[u64]) -> Vec<Duration> {
        list.iter().map(|&ns| Duration::from_nanos(ns)).collect()
    }

    #[test]
    fn a_ttl_chooses_a_delay_beside_that_of_all() {
        let delays = Delays::new(Duration::from_nanos(5), ns(&[0, 100, 200]));
        let delay = |frame: &[u8]| delays.of(frame).nanos();
        let of_ttl = [63, 64, 65, 66, 67, 255].map(|ttl| delay(&tcp(1, ttl)));
        assert_eq!(of_ttl, [5, 5, 105, 205, 5, 5]);
        let mut arp = tcp(1, 65);
        arp[13] = 6;
        assert_eq!(delay(&arp), 5);
        assert_eq!(delay(&tcp(1, 65)[..33]), 5);
        assert!(!delays.is_empty() && Delays::new(Duration::ZERO, Vec::new()).is_empty());
    }

    #[test]
    fn frames_come_with_their_last_bit() {
        let framing = Framing { min_bytes: 60, overhead_bytes: 24 };
        let delays = Delays::new(Duration::from_nanos(5), Vec::new()).over(Rate::from_bps(1_000_000_000), framing);
        // Padded to 60 bytes, and 24 of framing: 84 bytes at 8 ns each.
        assert_eq!(delays.of(&tcp(1, 64)).nanos(), 5 + 84 * 8);
        assert_eq!(delays.of(&[0; 1_514]).nanos(), 5 + 1_538 * 8);
        assert!(!Delays::new(Duration::ZERO, Vec::new()).over(Rate::from_bps(8), framing).is_empty());
    }

    #[test]
    fn packets_of_a_flow_do_not_overtake_and_those_of_others_do() {
        let mut delays = Delays::new(Duration::ZERO, ns(&[0, 100]));
        for (now, port, ttl) in [(10, 1, 65), (20, 1, 64), (20, 2, 64), (109, 1, 64), (200, 1, 64)] {
            delays.hold(Time::from_nanos(now), Packet::new(&tcp(port, ttl), 0));
        }
        let mut released = Vec::new();
        while let Some(due) = delays.due_at() {
            let packet = delays.take().unwrap();
            released.push((due.nanos(), packet.stored()[35], packet.stored()[22]));
        }
        assert_eq!(released, [(20, 2, 64), (110, 1, 65), (110, 1, 64), (110, 1, 64), (200, 1, 64)]);
        assert!(delays.last_of_flow.is_empty(), "flows without packets are forgotten");
    }

    proptest! {
        /// Oracle: each flow's own recursion, as in the simulator: release = max(now + delay, release before).
        #[test]
        fn frames_come_out_when_they_are_due_and_flows_in_order(
            frames in prop::collection::vec((0..1_000u64, 0..4u16, 60..70u8), 1..60),
        ) {
            let mut delays = Delays::new(Duration::from_nanos(40), ns(&[7, 3_000, 90, 500]));
            let (mut now, mut released) = (0, Vec::new());
            let mut last = HashMap::new();
            let mut expected = Vec::new();
            for (number, (gap, flow, ttl)) in frames.into_iter().enumerate() {
                now += gap;
                while delays.due_at().is_some_and(|due| due.nanos() <= now) {
                    released.push((delays.due_at().unwrap().nanos(), delays.take().unwrap()));
                }
                let mut frame = tcp(flow, ttl);
                let release = last.entry(flow).or_insert(0);
                *release = (now + delays.of(&frame).nanos()).max(*release);
                expected.push((*release, number));
                frame.extend((number as u16).to_be_bytes());
                delays.hold(Time::from_nanos(now), Packet::new(&frame, 0));
            }
            while let Some(due) = delays.due_at() {
                released.push((due.nanos(), delays.take().unwrap()));
            }
            expected.sort_unstable();
            let number = |packet: &Packet| usize::from(u16::from_be_bytes([packet.stored()[54], packet.stored()[55]]));
            let released: Vec<_> = released.iter().map(|(due, packet)| (*due, number(packet))).collect();
            prop_assert_eq!(released, expected);
            prop_assert!(delays.last_of_flow.is_empty());
        }

        #[test]
        fn any_bytes_have_a_delay(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
            let mut delays = Delays::new(Duration::ZERO, ns(&[3]));
            delays.hold(Time::ZERO, Packet::new(&bytes, 0));
            prop_assert!(delays.take().is_some());
        }
    }
}
