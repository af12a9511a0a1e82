// SPDX-License-Identifier: MIT OR Apache-2.0
//! Operations on a packet on the straight path, and the metadata that it gets.

use marklab_p4::ir::{Chip, CounterId};
use marklab_pipeline::{Count, Packet};
use marklab_switch::{Fate, Loss};
use marklab_tm::{Limit, PortConfig, QueueConfig, Round};

use crate::support::*;

const ROOM: Limit = Limit::Packets(1000);

#[test]
fn a_packet_is_told_its_ports_times_and_queue() {
    for chip in CHIPS {
        let queue = QueueConfig { limit: ROOM, level: 0, quantum_bytes: 1500 };
        let port = PortConfig::new(vec![queue; 4], Round::Deficit, None).unwrap();
        for mut switch in switches("tofino.p4", chip, &[port.clone(), port.clone()]) {
            let request = Request { queue: 3, class: 5, ..Request::to(1) };
            assert_eq!(offer(&mut switch, 1_000_000, 0, request.packet(200)), Ok((1, 3)));
            let packet = take(&mut switch, 1_000_300, 1);
            let stamp_bits = if chip == Chip::Tofino1 { 18 } else { 32 };
            let expected = Report {
                ingress_port: 0,
                mac_tstamp: 1_000_000,
                ingress_tstamp: 1_000_000,
                egress_port: 1,
                egress_tstamp: 1_000_300,
                enq_tstamp: 1_000_000 % (1 << stamp_bits),
                deq_timedelta: 300,
                enq_qdepth: 0,
                deq_qdepth: 0,
                egress_qid: 3,
                egress_cos: 5,
                pkt_length: 200 + BRIDGE,
            };
            assert_eq!(Report::of(&packet), expected, "{chip:?}");
            assert_eq!(packet.len(), 200);
            let count = |id| switch.state().counter(CounterId(id), 0);
            let once = Some(Count { packets: 1, bytes: 200 });
            assert_eq!([count(0), count(1)], [once; 2], "as it came in");
        }
    }
}

#[test]
fn depths_are_cells_without_the_packet() {
    for chip in CHIPS {
        let cell = cell_bytes(chip);
        for mut switch in switches("tofino.p4", chip, &[ROOM]) {
            let sizes = [cell - 1, cell, cell + 1, 2 * cell, 2 * cell + 1, cell];
            let sizes = sizes.map(|size| size.max(60));
            let cells = [1, 1, 2, 2, 3, 1];
            for size in sizes {
                offer(&mut switch, 0, 0, Request::to(0).packet(size)).unwrap();
            }
            let total: u64 = cells.iter().sum();
            let mut before = 0;
            for cells in cells {
                let report = Report::of(&take(&mut switch, 100, 0));
                assert_eq!(report.enq_qdepth, before);
                before += cells;
                assert_eq!(report.deq_qdepth, total - before);
            }
            assert_eq!(before, total);
        }
    }
}

#[test]
fn a_stay_wraps_after_18_bits_of_nanoseconds_on_tofino_1() {
    for (chip, stay, told) in [
        (Chip::Tofino1, (1 << 18) - 1, (1 << 18) - 1),
        (Chip::Tofino1, 1 << 18, 0),
        (Chip::Tofino2, 1 << 18, 1 << 18),
        (Chip::Tofino2, (1 << 32) + 7, 7),
    ] {
        for mut switch in switches("tofino.p4", chip, &[ROOM]) {
            offer(&mut switch, 50, 0, Request::to(0).packet(100)).unwrap();
            assert_eq!(Report::of(&take(&mut switch, 50 + stay, 0)).deq_timedelta, told);
        }
    }
}

#[test]
fn who_drops_is_told_apart() {
    for mut switch in switches("tofino.p4", Chip::Tofino1, &[ROOM, Limit::Packets(1)]) {
        let lost = |switch: &mut _, request: Request| offer(switch, 0, 0, request.packet(100)).unwrap_err();
        assert_eq!(lost(&mut switch, Request::to(0xffff)), (Loss::Ingress, None), "no port is set");
        assert_eq!(lost(&mut switch, Request::to(0x1ff)), (Loss::Ingress, None));
        assert_eq!(lost(&mut switch, Request { ingress_drop: 1, ..Request::to(0) }), (Loss::Ingress, None));
        assert_eq!(lost(&mut switch, Request { refuse: 1, ..Request::to(0) }), (Loss::Parser, None));
        assert_eq!(lost(&mut switch, Request::to(2)), (Loss::NoPort, None));
        assert_eq!(lost(&mut switch, Request { queue: 1, ..Request::to(0) }), (Loss::NoQueue, Some(0)));
        // The other bits of drop_ctl are about copies.
        let others = Request { ingress_drop: 6, egress_drop: 6, ..Request::to(1) };
        assert_eq!(offer(&mut switch, 0, 0, others.packet(100)), Ok((1, 0)));
        assert_eq!(lost(&mut switch, Request::to(1)), (Loss::QueueFull, Some(1)));
        take(&mut switch, 0, 1);
        offer(&mut switch, 0, 0, Request { egress_drop: 1, ..Request::to(0) }.packet(100)).unwrap();
        let outcome = switch.transmit(at(0), 0).unwrap().outcome;
        assert!(matches!(outcome, Err(Fate::Lost(Loss::Egress, Some(0), _))));
    }
}

#[test]
fn a_program_that_chooses_no_port_sends_nothing() {
    for mut switch in switches("tofino_idle.p4", Chip::Tofino1, &[ROOM]) {
        assert_eq!(offer(&mut switch, 0, 0, Packet::new(&[1, 2], 0)), Err((Loss::Ingress, None)));
    }
}

#[test]
fn a_packet_that_bypasses_egress_leaves_as_ingress_made_it() {
    for mut switch in switches("tofino.p4", Chip::Tofino1, &[ROOM]) {
        let request = Request { bypass: 1, egress_drop: 1, ..Request::to(0) };
        offer(&mut switch, 7, 0, request.packet(100)).unwrap();
        let packet = take(&mut switch, 9, 0);
        assert_eq!(packet.len() as u64, 100 + BRIDGE);
        assert_eq!(switch.state().counter(CounterId(1), 0).unwrap().packets, 0);
    }
}

#[test]
fn queues_hold_frames_as_long_as_they_came() {
    for mut switch in switches("tofino.p4", Chip::Tofino1, &[Limit::Bytes(200)]) {
        for expected in [Ok((0, 0)), Ok((0, 0)), Err((Loss::QueueFull, Some(0)))] {
            assert_eq!(offer(&mut switch, 0, 0, Request::to(0).packet(100)), expected);
        }
        assert_eq!(switch.depth(0).bytes, 200);
    }
}

#[test]
fn a_switch_alone_takes_signals_as_they_are_given() {
    let signals =
        marklab_switch::QueueSignals { enq_timestamp: at(1000), enq_qdepth: 1 << 20, deq_qdepth: (1 << 19) - 1 };
    for mut switch in switches("tofino.p4", Chip::Tofino1, &[ROOM]) {
        let completed = switch.run(at(3000), 0, Request::to(0).packet(100), Some(signals));
        let [(0, packet)]: &[(usize, Packet)] = &completed.sent else { panic!("{completed:?}") };
        let report = Report::of(packet);
        assert_eq!((report.enq_tstamp, report.deq_timedelta), (1000, 2000));
        let most = (1 << 19) - 1;
        assert_eq!((report.enq_qdepth, report.deq_qdepth), (most, most), "as large as the field holds");
    }
}
