// SPDX-License-Identifier: MIT OR Apache-2.0
//! A frame that passes at once fares like one that is received and then transmitted.

use marklab_pipeline::Packet;
use marklab_switch::{Fate, Passed, Switch};
use marklab_tm::Limit;
use proptest::prelude::*;

use crate::support::*;

const PORTS: usize = 3;

/// What became of a frame: it waits, was lost, or left a port.
#[derive(PartialEq, Debug)]
enum End {
    Stayed(Fate<Packet>),
    Left(usize, Result<Packet, Fate<Packet>>),
}

fn at_once(switch: &mut Switch<Packet>, now: u64, port: usize, packet: Packet, ready: &[bool]) -> End {
    match switch.pass(at(now), port, packet, |port| ready.get(port).is_some_and(|ready| *ready)) {
        Passed::Stayed(fate) => End::Stayed(fate),
        Passed::Left { port, outcome } => End::Left(port, outcome),
    }
}

/// Oracle: a port whose queue is empty and that is ready transmits what has come.
fn in_turn(switch: &mut Switch<Packet>, now: u64, port: usize, packet: Packet, ready: &[bool]) -> End {
    let idle: Vec<bool> = (0..PORTS).map(|port| switch.is_idle(port)).collect();
    match switch.receive(at(now), port, packet) {
        Fate::Queued { port, .. } if idle[port] && ready[port] => {
            End::Left(port, switch.transmit(at(now), port).expect("it waits").outcome)
        }
        fate => End::Stayed(fate),
    }
}

fn request() -> impl Strategy<Value = Request> {
    let port = prop_oneof![8 => 0..PORTS as u16, 1 => Just(PORTS as u16), 1 => Just(MARK_TO_DROP), 1 => Just(511)];
    (port, prop::option::weighted(0.1, 1..3u8), 0..3u8, any::<bool>(), 0..200usize).prop_map(
        |(egress_spec, priority, egress_drop, has_extra, payload)| Request {
            priority: priority.unwrap_or(0),
            egress_drop,
            has_extra,
            payload,
            ..Request::to(egress_spec)
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_passing_frame_is_received_and_transmitted(
        steps in prop::collection::vec((request(), any::<[bool; PORTS]>(), prop::option::of(0..PORTS)), 1..40),
        by_bytes in any::<bool>(),
        room in 0..4u64,
    ) {
        let limit = if by_bytes { Limit::Bytes(room * 100) } else { Limit::Packets(room) };
        let pairs = switches(&[limit; PORTS]).into_iter().zip(switches(&[limit; PORTS]));
        for (mut passing, mut waiting) in pairs {
            for (now, (request, ready, then)) in steps.iter().enumerate() {
                let now = 5_000 * now as u64;
                let ends = [
                    at_once(&mut passing, now, now as usize % PORTS, request.packet(), ready),
                    in_turn(&mut waiting, now, now as usize % PORTS, request.packet(), ready),
                ];
                prop_assert_eq!(&ends[0], &ends[1]);
                if let Some(port) = *then {
                    let out = [&mut passing, &mut waiting].map(|switch| {
                        switch.transmit(at(now + 3_000), port).map(|out| (out.outcome, out.signals))
                    });
                    prop_assert_eq!(&out[0], &out[1]);
                }
            }
            for port in 0..PORTS {
                prop_assert_eq!(passing.port_stats(port), waiting.port_stats(port));
            }
        }
    }
}

#[test]
fn only_the_first_frame_of_an_empty_queue_passes() {
    for mut switch in switches(&[Limit::Packets(2)]) {
        let mut pass = |ready| at_once(&mut switch, 0, 0, Request::to(0).packet(), &[ready]);
        assert!(matches!(pass(true), End::Left(0, Ok(_))));
        assert_eq!(pass(false), End::Stayed(Fate::Queued { port: 0, queue: 0 }));
        assert_eq!(pass(true), End::Stayed(Fate::Queued { port: 0, queue: 0 }));
        assert_eq!(switch.port_stats(0).enqueued, 3);
    }
}
