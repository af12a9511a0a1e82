//! Delay lines in front of the switch: what netem does at a testbed's senders.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use marklab_pipeline::Packet;
use marklab_units::{Duration, Time};

/// Delays of the frames that come in by a port, one per flow: a flow always has the same, so that its frames stay in
/// order.
#[derive(Debug, Default)]
pub struct Delays {
    choices: Vec<Duration>,
    waiting: BinaryHeap<Reverse<Waiting>>,
    packets: Vec<Option<Packet>>,
    spare: Vec<usize>,
    count: u64,
}

/// When it is due, which one it was, and where its packet is.
type Waiting = (Time, u64, usize);

impl Delays {
    /// Delays that flows choose among, by the hash of addresses and ports, each as often as it is listed. Without any there
    /// is none.
    pub fn new(choices: Vec<Duration>) -> Delays {
        Delays { choices, ..Delays::default() }
    }

    /// Whether there is any.
    pub fn is_empty(&self) -> bool {
        self.choices.is_empty()
    }

    /// The delay of a frame.
    pub fn of(&self, frame: &[u8]) -> Duration {
        match self.choices.len() {
            0 => Duration::ZERO,
            count => self.choices[(flow_hash(frame) % count as u64) as usize],
        }
    }

    /// Holds a frame back that came at a time.
    pub(crate) fn hold(&mut self, now: Time, packet: Packet) {
        let due = now + self.of(packet.stored());
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
        let Reverse((_, _, place)) = self.waiting.pop()?;
        self.spare.push(place);
        self.packets[place].take()
    }
}

/// Hash of a frame's IPv4 addresses, protocol and ports, the same in both directions; of Ethernet addresses if it is
/// something else.
///
/// FNV-1a, and a mixing step, so that its low bits can be used.
pub fn flow_hash(frame: &[u8]) -> u64 {
    const IPV4: [u8; 2] = [0x08, 0x00];
    let ipv4 = frame.len() >= 34 && frame[12..14] == IPV4;
    if !ipv4 {
        let end = |range: std::ops::Range<usize>| frame.get(range).map_or(0, hash);
        return mix(end(0..6) ^ end(6..12));
    }
    let header = 14 + usize::from(frame[14] & 0x0f) * 4;
    let has_ports = matches!(frame[23], 6 | 17) && frame.len() >= header + 4;
    let end = |address: usize, port: usize| {
        let mut bytes = [0; 6];
        bytes[..4].copy_from_slice(&frame[address..address + 4]);
        if has_ports {
            bytes[4..].copy_from_slice(&frame[header + port..header + port + 2]);
        }
        hash(&bytes)
    };
    mix(end(26, 0) ^ end(30, 2) ^ u64::from(frame[23]))
}

fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// The finaliser of SplitMix64 (Steele, Lea and Flood 2014).
fn mix(mut hash: u64) -> u64 {
    hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    hash ^ (hash >> 31)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn tcp(src: [u8; 4], dst: [u8; 4], ports: (u16, u16)) -> Vec<u8> {
        let mut frame = vec![0; 54];
        frame[12..14].copy_from_slice(&[8, 0]);
        frame[14] = 0x45;
        frame[23] = 6;
        frame[26..30].copy_from_slice(&src);
        frame[30..34].copy_from_slice(&dst);
        frame[34..36].copy_from_slice(&ports.0.to_be_bytes());
        frame[36..38].copy_from_slice(&ports.1.to_be_bytes());
        frame
    }

    #[test]
    fn both_directions_of_a_connection_have_one_hash() {
        let there = tcp([10, 0, 0, 1], [10, 0, 0, 2], (40_000, 80));
        let back = tcp([10, 0, 0, 2], [10, 0, 0, 1], (80, 40_000));
        assert_eq!(flow_hash(&there), flow_hash(&back));
        assert_ne!(flow_hash(&there), flow_hash(&tcp([10, 0, 0, 1], [10, 0, 0, 2], (40_001, 80))));
    }

    #[test]
    fn connections_choose_evenly() {
        let delays = Delays::new((0..10).map(Duration::from_micros).collect());
        let mut counts = [0; 10];
        for port in 0..10_000 {
            counts[(delays.of(&tcp([10, 0, 0, 1], [10, 0, 0, 2], (port, 80))).nanos() / 1_000) as usize] += 1;
        }
        // Four standard deviations of a binomial distribution with n = 10,000 and p = 0.1.
        assert!(counts.iter().all(|&count: &i32| (count - 1_000).abs() < 120), "{counts:?}");
    }

    proptest! {
        #[test]
        fn frames_come_out_when_they_are_due_and_flows_in_order(
            frames in prop::collection::vec((0..1_000u64, 0..4u16), 1..60),
        ) {
            let mut delays = Delays::new([7, 3_000, 90, 500].map(Duration::from_nanos).to_vec());
            let mut now = 0;
            let mut expected = Vec::new();
            for (number, (gap, flow)) in frames.into_iter().enumerate() {
                now += gap;
                let mut frame = tcp([10, 0, 0, 1], [10, 0, 0, 2], (flow, 80));
                frame.extend((number as u16).to_be_bytes());
                expected.push((now + delays.of(&frame).nanos(), number));
                delays.hold(Time::from_nanos(now), Packet::new(&frame, 0));
            }
            expected.sort_unstable();
            for (due, number) in expected {
                prop_assert_eq!(delays.due_at(), Some(Time::from_nanos(due)));
                let packet = delays.take().unwrap();
                prop_assert_eq!(&packet.stored()[54..], &(number as u16).to_be_bytes()[..]);
            }
            prop_assert!(delays.take().is_none());
        }

        #[test]
        fn any_bytes_have_a_hash(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
            flow_hash(&bytes);
        }
    }
}
