// SPDX-License-Identifier: MIT OR Apache-2.0
//! Ports with one queue.

use std::collections::VecDeque;

use marklab_tm::{Depth, Limit, Refusal, TrafficManager};
use marklab_units::Time;
use proptest::prelude::*;

fn enqueue<T>(
    tm: &mut TrafficManager<T>,
    now: u64,
    (port, queue): (usize, usize),
    bytes: u64,
    item: T,
) -> Result<(), Refusal> {
    tm.admit(port, queue, bytes)?.put(Time::from_nanos(now), item);
    Ok(())
}

#[test]
fn metadata_tell_the_stay() {
    let mut tm = TrafficManager::new([Limit::Packets(3)]);
    for (time, item) in [(10, 'a'), (20, 'b'), (30, 'c')] {
        enqueue(&mut tm, time, (0, 0), 100, item).unwrap();
    }
    let seen: Vec<_> = std::iter::from_fn(|| tm.dequeue(0))
        .map(|out| (out.item, out.enq_timestamp.nanos(), out.enq_qdepth, out.deq_qdepth, out.ends_turn))
        .collect();
    assert_eq!(seen, [('a', 10, 0, 2, false), ('b', 20, 1, 1, false), ('c', 30, 2, 0, true)]);
}

#[test]
fn limits_hold_one_below_at_and_one_above() {
    for (limit, bytes, accepted) in [
        (Limit::Packets(2), 1, 2),
        (Limit::Bytes(299), 100, 2),
        (Limit::Bytes(300), 100, 3),
        (Limit::Bytes(301), 100, 3),
        (Limit::Packets(0), 1, 0),
    ] {
        let mut tm = TrafficManager::new([limit]);
        let taken = (0..5).filter(|&item| enqueue(&mut tm, 0, (0, 0), bytes, item).is_ok()).count();
        assert_eq!(taken, accepted, "{limit:?}");
        assert_eq!(tm.stats(0).dropped, 5 - accepted as u64);
    }
}

#[test]
fn an_item_passes_an_empty_queue_that_would_admit_it() {
    for (limit, bytes, passes) in [
        (Limit::Bytes(99), 100, false),
        (Limit::Bytes(100), 100, true),
        (Limit::Bytes(101), 100, true),
        (Limit::Packets(0), 100, false),
    ] {
        let mut tm = TrafficManager::<char>::new([limit]);
        assert_eq!(tm.pass(0, 0, bytes), passes, "{limit:?}");
        // It was counted if it passed, and otherwise nothing has happened.
        let stats = tm.stats(0);
        let most = if passes { Depth { packets: 1, bytes } } else { Depth::default() };
        assert_eq!((stats.enqueued, stats.dropped, stats.max), (passes.into(), 0, most));
        assert_eq!(tm.depth(0), Depth::default());
    }
    let mut tm = TrafficManager::new([Limit::Packets(2)]);
    enqueue(&mut tm, 0, (0, 0), 1, 'x').unwrap();
    assert!(!tm.pass(0, 0, 1) && !tm.pass(1, 0, 1) && !tm.pass(0, 1, 1));
    tm.dequeue(0).unwrap();
    assert!(tm.pass(0, 0, 1) && !tm.pass(0, 1, 1));
}

#[test]
fn a_refusal_has_its_reason() {
    let mut tm = TrafficManager::new([Limit::Packets(1)]);
    assert_eq!(enqueue(&mut tm, 0, (1, 0), 1, 'x'), Err(Refusal::NoPort));
    assert_eq!(enqueue(&mut tm, 0, (0, 1), 1, 'x'), Err(Refusal::NoQueue));
    assert_eq!(enqueue(&mut tm, 0, (0, 0), 1, 'x'), Ok(()));
    assert_eq!(enqueue(&mut tm, 0, (0, 0), 1, 'y'), Err(Refusal::Full));
}

proptest! {
    /// Conservation, order and limits under any sequence of operations. Oracle: a plain list.
    #[test]
    fn a_port_is_a_bounded_list(
        by_bytes in any::<bool>(),
        limit in 0..2000u64,
        steps in prop::collection::vec(prop::option::weighted(0.6, 1..400u64), 0..200),
    ) {
        let limit = if by_bytes { Limit::Bytes(limit) } else { Limit::Packets(limit / 100) };
        let mut tm = TrafficManager::new([limit]);
        let mut list: VecDeque<(usize, u64)> = VecDeque::new();
        for (number, step) in steps.into_iter().enumerate() {
            match step {
                Some(bytes) => {
                    let sum: u64 = list.iter().map(|(_, bytes)| bytes).sum();
                    let fits = match limit {
                        Limit::Packets(limit) => (list.len() as u64) < limit,
                        Limit::Bytes(limit) => sum + bytes <= limit,
                    };
                    prop_assert_eq!(enqueue(&mut tm, number as u64, (0, 0), bytes, number).is_ok(), fits);
                    if fits {
                        list.push_back((number, bytes));
                    }
                }
                None => {
                    let out = tm.dequeue(0).map(|out| (out.item, out.bytes));
                    prop_assert_eq!(out, list.pop_front());
                }
            }
            let bytes = list.iter().map(|(_, bytes)| bytes).sum();
            prop_assert_eq!(tm.depth(0), Depth { packets: list.len() as u64, bytes });
        }
    }
}
