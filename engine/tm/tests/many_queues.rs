// SPDX-License-Identifier: MIT OR Apache-2.0
//! Ports with many queues: schedulers and shared buffers.
//!
//! Oracle: [`Model`], a port as a list of lists, with the textbook's loops over all queues.

use std::collections::VecDeque;

use marklab_tm::{InvalidPort, Limit, MAX_QUEUES, Pool, PortConfig, QueueConfig, Refusal, Round, TrafficManager};
use marklab_units::Time;
use proptest::prelude::*;

const FREE: Limit = Limit::Packets(u64::MAX);

fn queue(level: u8, quantum_bytes: u32) -> QueueConfig {
    QueueConfig { limit: FREE, level, quantum_bytes }
}

fn port(queues: &[QueueConfig], round: Round) -> PortConfig {
    PortConfig::new(queues.to_vec(), round, None).expect("a valid port")
}

/// Puts an item that is named by its number.
fn put(tm: &mut TrafficManager<usize>, (port, queue): (usize, usize), bytes: u64, item: usize) -> Result<(), Refusal> {
    tm.admit(port, queue, bytes)?.put(Time::from_nanos(item as u64), item);
    Ok(())
}

/// Sends `count` items. Returns (queue, bytes, whether the turn ended) for each.
fn send(tm: &mut TrafficManager<usize>, count: usize) -> Vec<(usize, u64, bool)> {
    (0..count).map(|_| tm.dequeue(0).expect("an item waits")).map(|out| (out.queue, out.bytes, out.ends_turn)).collect()
}

/// A port with `count` items of `bytes` bytes in each of its queues.
fn backlogged(config: PortConfig, count: usize, bytes: u64) -> TrafficManager<usize> {
    let queues = config.queues().len();
    let mut tm = TrafficManager::new([config]);
    for item in 0..count {
        for queue in 0..queues {
            put(&mut tm, (0, queue), bytes, item).expect("there is room");
        }
    }
    tm
}

/// Shreedhar and Varghese's algorithm by loops over plain lists.
struct Model {
    config: PortConfig,
    round: Round,
    items: Vec<VecDeque<(usize, u64)>>,
    deficit: Vec<u64>,
    /// Busy queues in the order of their turns.
    line: Vec<usize>,
    begun: Vec<bool>,
}

impl Model {
    fn new(config: PortConfig, round: Round) -> Model {
        let count = config.queues().len();
        let lists = || 0..count;
        Model {
            items: lists().map(|_| VecDeque::new()).collect(),
            deficit: vec![0; count],
            begun: vec![false; count],
            line: Vec::new(),
            round,
            config,
        }
    }

    fn put(&mut self, queue: usize, bytes: u64, item: usize) {
        if self.items[queue].is_empty() {
            self.line.push(queue);
        }
        self.items[queue].push_back((item, bytes));
    }

    fn level(&self, queue: usize) -> u8 {
        self.config.queues()[queue].level
    }

    fn take(&mut self) -> Option<(usize, usize)> {
        let level = self.line.iter().map(|&queue| self.level(queue)).max()?;
        loop {
            let queue = *self.line.iter().find(|&&queue| self.level(queue) == level)?;
            if !self.begun[queue] {
                self.begun[queue] = true;
                self.deficit[queue] += u64::from(self.config.queues()[queue].quantum_bytes);
            }
            let (item, bytes) = self.items[queue][0];
            if self.round == Round::Deficit && bytes > self.deficit[queue] {
                self.end_turn(queue);
                continue;
            }
            self.items[queue].pop_front();
            self.deficit[queue] = self.deficit[queue].saturating_sub(bytes);
            match self.items[queue].front() {
                None => {
                    self.deficit[queue] = 0;
                    self.begun[queue] = false;
                    self.line.retain(|&other| other != queue);
                }
                Some(&(_, next)) if next > self.deficit[queue] => self.end_turn(queue),
                Some(_) => {}
            }
            return Some((queue, item));
        }
    }

    fn end_turn(&mut self, queue: usize) {
        self.begun[queue] = false;
        if self.round == Round::Weighted {
            self.deficit[queue] = 0;
        }
        self.line.retain(|&other| other != queue);
        self.line.push(queue);
    }
}

fn configs() -> impl Strategy<Value = (Vec<QueueConfig>, Round)> {
    let queues = prop::collection::vec((0..3u8, 1..4000u32), 1..12);
    (queues, any::<bool>()).prop_map(|(queues, carries)| {
        let round = if carries { Round::Deficit } else { Round::Weighted };
        (queues.into_iter().map(|(level, quantum)| queue(level, quantum)).collect(), round)
    })
}

proptest! {
    /// Order of service, first-in first-out per queue, conservation and work conservation: the oracle determines which
    /// item is next, and there is one whenever an item waits.
    #[test]
    fn queues_are_served_as_the_textbook_says(
        (queues, round) in configs(),
        steps in prop::collection::vec(prop::option::weighted(0.55, (any::<usize>(), 1..2000u64)), 0..300),
    ) {
        let config = port(&queues, round);
        let mut tm = TrafficManager::new([config.clone()]);
        let mut model = Model::new(config, round);
        let drain = model.items.len() + steps.len();
        let steps = steps.into_iter().chain(std::iter::repeat_n(None, drain));
        for (item, step) in steps.enumerate() {
            match step {
                Some((queue, bytes)) => {
                    let queue = queue % queues.len();
                    put(&mut tm, (0, queue), bytes, item).unwrap();
                    model.put(queue, bytes, item);
                }
                None => prop_assert_eq!(tm.dequeue(0).map(|out| (out.queue, out.item)), model.take()),
            }
            for (queue, items) in model.items.iter().enumerate() {
                let depth = tm.queue_depth(0, queue);
                let bytes: u64 = items.iter().map(|(_, bytes)| bytes).sum();
                prop_assert_eq!((depth.packets, depth.bytes), (items.len() as u64, bytes));
            }
        }
        prop_assert_eq!(tm.depth(0).packets, 0, "all that came has left");
    }

    /// A lower level is served only while the higher ones are empty.
    #[test]
    fn strict_priority_is_never_inverted(
        (queues, round) in configs(),
        steps in prop::collection::vec(prop::option::weighted(0.6, (any::<usize>(), 1..2000u64)), 0..200),
    ) {
        let mut tm = TrafficManager::new([port(&queues, round)]);
        for (item, step) in steps.into_iter().enumerate() {
            let Some((queue, bytes)) = step else {
                let busy = (0..queues.len()).filter(|&queue| tm.queue_depth(0, queue).packets > 0);
                let highest = busy.map(|queue| queues[queue].level).max();
                prop_assert_eq!(tm.dequeue(0).map(|out| queues[out.queue].level), highest);
                continue;
            };
            put(&mut tm, (0, queue % queues.len()), bytes, item).unwrap();
        }
    }

    /// MQ-ECN paper, Eq. 7: after M turns, a queue that was always busy has sent M quanta to within one packet.
    #[test]
    fn shares_are_within_a_packet_of_the_quanta(
        quanta in prop::collection::vec(1500..6000u32, 2..8),
        lengths in prop::collection::vec(64..=1500u64, 4000),
        sent in 1..1500usize,
    ) {
        let queues: Vec<_> = quanta.iter().map(|&quantum| queue(0, quantum)).collect();
        let mut tm = TrafficManager::new([port(&queues, Round::Deficit)]);
        for (item, bytes) in lengths.into_iter().enumerate() {
            put(&mut tm, (0, item % queues.len()), bytes, item).unwrap();
        }
        // Queues stay busy: the longest turn has 94 packets, and each queue has at least 500.
        let mut account = vec![(0u64, 0u64); queues.len()];
        for _ in 0..sent {
            let out = tm.dequeue(0).unwrap();
            if tm.queue_depth(0, out.queue).packets == 0 {
                break;
            }
            let (turns, bytes) = &mut account[out.queue];
            *bytes += out.bytes;
            if out.ends_turn {
                *turns += 1;
                let fair = *turns * u64::from(quanta[out.queue]);
                prop_assert!(bytes.abs_diff(fair) <= 1500, "{bytes} bytes in {turns} turns");
            }
        }
        let turns: Vec<_> = account.iter().map(|(turns, _)| turns).collect();
        let (least, most) = (turns.iter().min().unwrap(), turns.iter().max().unwrap());
        prop_assert!(**most - **least <= 1, "all queues take part in each round: {turns:?}");
    }

    /// The limits of queues, ports and the pool hold, and every item that fits all of them is accepted.
    #[test]
    fn limits_are_never_exceeded(
        queue_limit in (any::<bool>(), 0..4000u64),
        port_limit in prop::option::of((any::<bool>(), 0..6000u64)),
        pool in prop::option::of((0..10_000u64, 1..2048u32)),
        steps in prop::collection::vec((any::<bool>(), 0..2usize, 0..3usize, 1..1500u64), 0..300),
    ) {
        let limit = |(by_bytes, amount)| if by_bytes { Limit::Bytes(amount) } else { Limit::Packets(amount / 300) };
        let (each, together) = (limit(queue_limit), port_limit.map(limit));
        let queues = vec![QueueConfig { limit: each, level: 0, quantum_bytes: 1500 }; 3];
        let config = PortConfig::new(queues, Round::Deficit, together).unwrap();
        let pool = pool.map(|(total_bytes, alpha_128ths)| Pool { total_bytes, alpha_128ths });
        let mut tm = TrafficManager::with_pool(vec![config; 2], pool);
        let holds = |limit: Limit, packets: u64, bytes: u64| match limit {
            Limit::Packets(most) => packets <= most,
            Limit::Bytes(most) => bytes <= most,
        };
        let mut drops = [[0; 3]; 2];
        for (item, (take, port, queue, bytes)) in steps.into_iter().enumerate() {
            if take {
                tm.dequeue(port);
                continue;
            }
            let (here, all) = (tm.queue_depth(port, queue), tm.depth(port));
            let used = tm.depth(0).bytes + tm.depth(1).bytes;
            let room = holds(each, here.packets + 1, here.bytes + bytes)
                && together.is_none_or(|limit| holds(limit, all.packets + 1, all.bytes + bytes))
                && pool.is_none_or(|pool| {
                    let free = pool.total_bytes - used;
                    bytes <= free && 128 * (here.bytes + bytes) <= u64::from(pool.alpha_128ths) * free
                });
            prop_assert_eq!(put(&mut tm, (port, queue), bytes, item).is_ok(), room);
            drops[port][queue] += u64::from(!room);
            for (port, drops) in drops.iter().enumerate() {
                let counted: Vec<_> = (0..3).map(|queue| tm.queue_stats(port, queue).dropped).collect();
                prop_assert_eq!(&counted[..], &drops[..]);
                prop_assert_eq!(tm.stats(port).dropped, drops.iter().sum::<u64>());
                let depth: u64 = (0..3).map(|queue| tm.queue_depth(port, queue).bytes).sum();
                prop_assert_eq!(tm.depth(port).bytes, depth);
            }
        }
    }
}

#[test]
fn deficits_are_carried_and_forgotten_when_the_queue_is_empty() {
    // 1000-byte packets and a quantum of 1500: alternately one packet and two.
    let mut tm = backlogged(port(&[queue(0, 1500); 2], Round::Deficit), 6, 1000);
    let turns =
        [(0, 1000, true), (1, 1000, true), (0, 1000, false), (0, 1000, true), (1, 1000, false), (1, 1000, true)];
    assert_eq!(send(&mut tm, 6), turns);

    // The first packet leaves 500 bytes of the quantum. The queue runs empty, and starts with 1500 again.
    let mut tm = TrafficManager::new([port(&[queue(0, 1500), queue(0, 10_000)], Round::Deficit)]);
    put(&mut tm, (0, 0), 1000, 0).unwrap();
    assert_eq!(send(&mut tm, 1), [(0, 1000, true)]);
    for item in 0..3 {
        put(&mut tm, (0, 0), 1000, item).unwrap();
    }
    put(&mut tm, (0, 1), 1000, 3).unwrap();
    assert_eq!(send(&mut tm, 2), [(0, 1000, true), (1, 1000, true)]);
}

#[test]
fn a_round_by_weight_carries_nothing() {
    let mut tm = backlogged(port(&[queue(0, 1500), queue(0, 3000)], Round::Weighted), 8, 1000);
    let turn = [(0, 1000, true), (1, 1000, false), (1, 1000, false), (1, 1000, true)];
    assert_eq!(send(&mut tm, 8), [turn, turn].concat());
}

#[test]
fn a_turn_of_weight_below_a_packet_sends_one_packet() {
    let mut tm = backlogged(port(&[queue(0, 1); 2], Round::Weighted), 2, 1500);
    assert_eq!(send(&mut tm, 4), [(0, 1500, true), (1, 1500, true), (0, 1500, true), (1, 1500, true)]);
}

#[test]
fn the_pool_leaves_room_for_other_queues() {
    // With an alpha of 1, one queue takes half of the pool, and a second one half of the rest.
    let pool = Pool { total_bytes: 8000, alpha_128ths: 128 };
    let mut tm = TrafficManager::with_pool([port(&[queue(0, 1500); 3], Round::Deficit)], Some(pool));
    let mut fill = |queue| (0..).take_while(|&item| put(&mut tm, (0, queue), 1000, item).is_ok()).count();
    assert_eq!([fill(0), fill(1), fill(2)], [4, 2, 1]);
}

#[test]
fn many_queues_are_addressed_port_by_port() {
    let ports = [
        port(&[queue(0, 1500); 2], Round::Deficit),
        Limit::Packets(1).into(),
        port(&[queue(0, 1); 128], Round::Deficit),
    ];
    let mut tm = TrafficManager::new(ports);
    assert_eq!((tm.ports(), [0, 1, 2].map(|port| tm.queues(port))), (3, [2, 1, 128]));
    for (place, refusal) in [
        ((0, 2), Refusal::NoQueue),
        ((1, 1), Refusal::NoQueue),
        ((2, 128), Refusal::NoQueue),
        ((3, 0), Refusal::NoPort),
    ] {
        assert_eq!(put(&mut tm, place, 1, 0), Err(refusal));
    }
    put(&mut tm, (2, 127), 1, 7).unwrap();
    put(&mut tm, (1, 0), 1, 8).unwrap();
    assert_eq!(put(&mut tm, (1, 0), 1, 9), Err(Refusal::Full));
    let out = tm.dequeue(2).unwrap();
    assert_eq!((out.queue, out.item), (127, 7));
    assert_eq!(tm.dequeue(1).unwrap().item, 8);
    assert_eq!((tm.dequeue(0), tm.dequeue(3)), (None, None));
    assert_eq!((tm.stats(1).dropped, tm.queue_stats(2, 127).enqueued), (1, 1));
}

#[test]
fn ports_that_could_not_send_are_refused() {
    let build = |queues: Vec<QueueConfig>| PortConfig::new(queues, Round::Deficit, None).map(|_| ());
    assert_eq!(build(vec![]), Err(InvalidPort::NoQueues));
    assert_eq!(build(vec![queue(0, 1); MAX_QUEUES]), Ok(()));
    assert_eq!(build(vec![queue(0, 1); MAX_QUEUES + 1]), Err(InvalidPort::TooManyQueues(129)));
    assert_eq!(build(vec![queue(0, 1), queue(0, 0)]), Err(InvalidPort::NoQuantum(1)));
}
