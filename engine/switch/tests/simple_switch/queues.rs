// SPDX-License-Identifier: MIT OR Apache-2.0
//! Many queues per port, chosen by the program.

use marklab_pipeline::Packet;
use marklab_switch::Loss;
use marklab_tm::{Limit, PortConfig, QueueConfig, Round};

use crate::support::{Request, at, offer, switches_with, take};

const BYTES: usize = 100;

fn packet(queue: u8, priority: u8) -> Packet {
    let mut bytes = [0; BYTES];
    bytes[..2].copy_from_slice(&[queue, priority]);
    Packet::new(&bytes, 0)
}

/// What egress saw: the queue, `enq_qdepth` and `deq_qdepth`.
fn seen(packet: &Packet) -> (u8, u32, u32) {
    let bytes = packet.to_vec();
    let number = |at: usize| u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap());
    (bytes[2], number(3), number(7))
}

fn port(queues: usize, level: impl Fn(usize) -> u8) -> PortConfig {
    let queue = |number| QueueConfig { limit: Limit::Packets(3), level: level(number), quantum_bytes: BYTES as u32 };
    PortConfig::new((0..queues).map(queue).collect(), Round::Deficit, None).unwrap()
}

#[test]
fn the_aliased_field_chooses_the_queue_and_not_the_priority() {
    for mut switch in switches_with("queues.p4", &[port(128, |_| 0)]) {
        offer(&mut switch, 0, 1, packet(127, 7)).unwrap();
        offer(&mut switch, 0, 1, packet(127, 0)).unwrap();
        offer(&mut switch, 0, 1, packet(8, 0)).unwrap();
        assert_eq!([127, 8, 0, 7].map(|queue| switch.queue_depth(0, queue).packets), [2, 1, 0, 0]);
        let order: Vec<_> = (0..3).map(|_| seen(&take(&mut switch, 10, 0))).collect();
        assert_eq!(order, [(127, 0, 1), (8, 0, 0), (127, 1, 0)]);
    }
}

#[test]
fn a_queue_beyond_those_of_the_port_loses_the_packet() {
    for mut switch in switches_with("queues.p4", &[port(32, |_| 0)]) {
        assert_eq!(offer(&mut switch, 0, 1, packet(31, 0)), Ok(0));
        assert_eq!(offer(&mut switch, 0, 1, packet(32, 0)), Err((Loss::NoQueue, Some(0))));
    }
}

#[test]
fn queues_fill_one_by_one() {
    for mut switch in switches_with("queues.p4", &[port(2, |_| 0)]) {
        for _ in 0..3 {
            offer(&mut switch, 0, 1, packet(0, 0)).unwrap();
        }
        assert_eq!(offer(&mut switch, 0, 1, packet(0, 0)), Err((Loss::QueueFull, Some(0))));
        offer(&mut switch, 0, 1, packet(1, 0)).unwrap();
        assert_eq!([0, 1].map(|queue| switch.queue_stats(0, queue).dropped), [1, 0]);
        assert_eq!((switch.port_stats(0).dropped, switch.port_stats(0).max.packets), (1, 4));
    }
}

#[test]
fn strict_levels_go_first_and_turns_are_told() {
    for mut switch in switches_with("queues.p4", &[port(3, |queue| u8::from(queue == 2))]) {
        for queue in [0, 1, 0, 1, 2] {
            offer(&mut switch, 0, 1, packet(queue, 0)).unwrap();
        }
        let order: Vec<_> =
            std::iter::from_fn(|| switch.transmit(at(5), 0)).map(|out| (out.queue, out.ends_turn)).collect();
        assert_eq!(order, [(2, true), (0, true), (1, true), (0, true), (1, true)]);
    }
}

#[test]
fn priorities_choose_the_queue_where_nothing_is_aliased() {
    for mut switch in switches_with("probe.p4", &[port(8, |priority| priority as u8)]) {
        for priority in [0, 7, 3] {
            offer(&mut switch, 0, 0, Request { priority, ..Request::to(0) }.packet()).unwrap();
        }
        let order: Vec<_> = std::iter::from_fn(|| switch.transmit(at(5), 0)).map(|out| out.queue).collect();
        assert_eq!(order, [7, 3, 0], "the larger priority goes first, as in simple_switch");
    }
}
