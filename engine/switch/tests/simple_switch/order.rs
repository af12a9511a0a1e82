// SPDX-License-Identifier: MIT OR Apache-2.0
//! The order of operations on a packet, and where it can be lost.

use marklab_pipeline::ActionSpec;
use marklab_switch::{Fate, Loss, QueueSignals};
use marklab_tm::Limit;

use crate::support::*;

const DROP_PORT: u16 = 511;

#[test]
fn ingress_drops_by_extern_and_by_assignment() {
    for mut switch in switches(&[Limit::Packets(10)]) {
        for (number, egress_spec) in [MARK_TO_DROP, DROP_PORT, DROP_PORT | 0x200].into_iter().enumerate() {
            // A drop comes before the choice of a queue, so that a priority without a queue does not matter.
            let request = Request { priority: number as u8, ..Request::to(egress_spec) };
            assert_eq!(offer(&mut switch, 0, 0, request.packet()), Err((Loss::Ingress, None)));
        }
        assert_eq!(switch.depth(0).packets, 0);
        assert!(switch.transmit(at(0), 0).is_none());
    }
}

/// simple_switch starts with egress_spec 0.
#[test]
fn a_packet_that_ingress_leaves_alone_goes_to_port_0() {
    for mut switch in switches(&[Limit::Packets(10); 2]) {
        assert_eq!(offer(&mut switch, 0, 1, Request::to(FORWARD_DEFAULT).packet()), Ok(0));
    }
}

#[test]
fn egress_drops_by_extern_and_by_assignment_and_the_next_packet_follows_at_once() {
    for mut switch in switches(&[Limit::Packets(10)]) {
        for egress_drop in [1, 2, 0] {
            offer(&mut switch, 0, 0, Request { egress_drop, ..Request::to(0) }.packet()).unwrap();
        }
        for left in [2, 1] {
            let lost = switch.transmit(at(5_000), 0).expect("a packet waits");
            let Err(Fate::Lost(Loss::Egress, Some(0), packet)) = lost.outcome else { panic!("{lost:?}") };
            assert_eq!(lost.signals.deq_qdepth, left);
            // It was not deparsed: what egress wrote is not in it.
            assert_eq!(Report::of(&packet), Report::default());
        }
        // Egress ran for all three.
        assert_eq!(Report::of(&take(&mut switch, 5_000, 0)).egress_number, 3);
        assert!(switch.transmit(at(5_000), 0).is_none());
    }
}

#[test]
fn a_full_queue_refuses_what_comes_and_hands_it_back_as_it_came() {
    for (limit, room) in [(Limit::Packets(2), 2), (Limit::Bytes(2 * 172), 2), (Limit::Bytes(2 * 172 - 1), 1)] {
        for mut switch in switches(&[limit, Limit::Packets(10)]) {
            for _ in 0..room {
                assert_eq!(offer(&mut switch, 0, 1, Request::to(0).packet()), Ok(0));
            }
            let packet = Request { change: 1, ..Request::to(0) }.packet();
            match switch.receive(at(0), 1, packet.clone()) {
                Fate::Lost(Loss::QueueFull, Some(0), back) => assert_eq!(back, packet),
                other => panic!("{other:?}"),
            }
            // Other ports have room, and this one again when a packet has left.
            assert_eq!(offer(&mut switch, 0, 1, Request::to(1).packet()), Ok(1));
            take(&mut switch, 0, 0);
            assert_eq!(offer(&mut switch, 0, 1, Request::to(0).packet()), Ok(0));
            let stats = switch.port_stats(0);
            assert_eq!((stats.enqueued, stats.dropped, stats.max.packets), (room + 1, 1, room));
        }
    }
}

#[test]
fn ports_and_queues_that_do_not_exist_lose_the_packet() {
    for mut switch in switches(&[Limit::Packets(10); 2]) {
        for port in [2, 3, 255, 510] {
            assert_eq!(offer(&mut switch, 0, 0, Request::to(port).packet()), Err((Loss::NoPort, None)));
        }
        for priority in 1..8 {
            let request = Request { priority, ..Request::to(1) };
            assert_eq!(offer(&mut switch, 0, 0, request.packet()), Err((Loss::NoQueue, Some(1))));
        }
        // bit<3>: priority 8 is priority 0.
        assert_eq!(offer(&mut switch, 0, 0, Request { priority: 8, ..Request::to(1) }.packet()), Ok(1));
        assert!(switch.transmit(at(0), 7).is_none(), "a port that does not exist has nothing to send");
    }
}

/// Ingress runs when a packet comes, egress when it leaves: state that changes between the two shows.
#[test]
fn egress_runs_at_dequeue() {
    for mut switch in switches(&[Limit::Packets(10); 2]) {
        for port in [0, 0, 1] {
            offer(&mut switch, 0, 0, Request::to(port).packet()).unwrap();
        }
        assert_eq!(Report::of(&take(&mut switch, 0, 1)).label, 0);
        let give = ActionSpec { action: "give".into(), params: vec![("label".into(), 9u32.into())] };
        switch.state_mut().set_default_action("labels", &give).unwrap();
        let seen = [1, 2].map(|_| {
            let report = Report::of(&take(&mut switch, 0, 0));
            (report.ingress_number, report.egress_number, report.label)
        });
        assert_eq!(seen, [(1, 2, 9), (2, 3, 9)]);
    }
}

/// simple_switch sets egress_spec to its drop port + 1 before egress, which is 0 in 9 bits.
#[test]
fn egress_finds_its_port_and_a_clean_egress_spec() {
    for mut switch in switches(&[Limit::Packets(10); 512]) {
        for port in [0, 1, 255, 510] {
            offer(&mut switch, 0, 0, Request::to(port).packet()).unwrap();
            let report = Report::of(&take(&mut switch, 0, port.into()));
            assert_eq!((report.egress_port, report.egress_spec, report.instance_type), (port.into(), 0, 0));
        }
        // Port 511 exists here, but means drop.
        assert_eq!(offer(&mut switch, 0, 0, Request::to(511).packet()), Err((Loss::Ingress, None)));
    }
}

/// A switch without a driver behaves the same, with the queue signals of the test.
#[test]
fn a_packet_test_sees_the_same_switch() {
    for mut switch in switches(&[Limit::Packets(1); 2]) {
        let signals = Some(QueueSignals { enq_timestamp: at(1_000), enq_qdepth: 7, deq_qdepth: 5 });
        let completed = switch.run(at(3_000), 1, Request::to(1).packet(), signals);
        let [(1, packet)] = &completed.sent[..] else { panic!("{completed:?}") };
        let report = Report::of(packet);
        assert_eq!((report.ingress_port, report.egress_port, report.egress_time), (1, 1, 3));
        assert_eq!((report.deq_timedelta, report.enq_qdepth, report.deq_qdepth), (2, 7, 5));
        let mut losses = |request: Request| -> Vec<Loss> {
            switch.run(at(0), 0, request.packet(), None).lost.into_iter().map(|(loss, ..)| loss).collect()
        };
        assert_eq!(losses(Request::to(MARK_TO_DROP)), [Loss::Ingress]);
        assert_eq!(losses(Request { egress_drop: 1, ..Request::to(0) }), [Loss::Egress]);
        assert_eq!(losses(Request::to(2)), [Loss::NoPort]);
        assert_eq!(losses(Request::to(0)), []);
    }
}
