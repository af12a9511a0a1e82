// SPDX-License-Identifier: MIT OR Apache-2.0
//! Intrinsic metadata: values, units, widths.

use marklab_p4::Options;
use marklab_pipeline::{Packet, prune};
use marklab_switch::{Fate, QueueSignals};
use marklab_tm::Limit;

use crate::common::{compiled, either_way, numbers};
use crate::support::*;

/// Three packets for one port, taken later. BMv2's clock counts whole us; depths count packets, without the packet.
#[test]
fn a_stay_in_the_queue_is_told_in_microseconds_and_packets() {
    for mut switch in switches(&[Limit::Packets(10), Limit::Packets(10)]) {
        for (ns, port) in [(1_999, 0), (2_000, 1), (5_500, 0)] {
            assert_eq!(offer(&mut switch, ns, port, Request::to(1).packet()), Ok(1));
        }
        let reports = [2_000, 2_999, 9_400].map(|ns| Report::of(&take(&mut switch, ns, 1)));
        let expected = |number: usize| Report {
            ingress_port: [0, 1, 0][number],
            egress_port: 1,
            ingress_length: 172,
            egress_length: 172,
            ingress_time: [1, 2, 5][number],
            egress_time: [2, 2, 9][number],
            enq_timestamp: [1, 2, 5][number],
            enq_qdepth: [0, 1, 2][number],
            // The difference of the two clock readings: 1 us for a stay of 1 ns, 0 for one of 999 ns.
            deq_timedelta: [1, 0, 4][number],
            deq_qdepth: [2, 1, 0][number],
            ingress_number: number as u64 + 1,
            egress_number: number as u64 + 1,
            ..Report::default()
        };
        assert_eq!(reports, [0, 1, 2].map(expected));
    }
}

#[test]
fn each_port_has_a_queue_of_its_own() {
    for mut switch in switches(&[Limit::Packets(10); 3]) {
        for port in [2, 0, 2, 2, 0] {
            offer(&mut switch, 0, 1, Request::to(port).packet()).unwrap();
        }
        assert_eq!([0, 1, 2].map(|port| switch.depth(port).packets), [2, 0, 3]);
        let seen = [2, 0, 2, 0, 2].map(|port| {
            let report = Report::of(&take(&mut switch, 0, port));
            (report.egress_port, report.enq_qdepth, report.deq_qdepth)
        });
        assert_eq!(seen, [(2, 0, 2), (0, 0, 1), (2, 1, 1), (0, 1, 0), (2, 2, 0)]);
    }
}

/// enq_timestamp and deq_timedelta have 32 bits, the global timestamps 48: about 72 minutes, and 8.9 years.
#[test]
fn clocks_wrap_at_their_widths() {
    const W32: u64 = 1 << 32;
    const W48: u64 = 1 << 48;
    for mut switch in switches(&[Limit::Packets(10)]) {
        let cases = [
            (W32 - 1, W32 - 1),
            (W32 - 1, W32),
            (W32 - 1, W32 + 6),
            (W32, W32 + 1),
            (7, W32 + 6),
            (7, W32 + 7),
            (W48 - 1, W48 - 1),
            (W48 - 1, W48),
            (W48 - 2, W48 + 5),
            (W48, 3 * W48 + 1),
        ];
        for (enqueued, dequeued) in cases {
            offer(&mut switch, enqueued * 1_000, 0, Request::to(0).packet()).unwrap();
            let report = Report::of(&take(&mut switch, dequeued * 1_000, 0));
            let seen = (report.ingress_time, report.egress_time, report.enq_timestamp, report.deq_timedelta);
            let expected = (enqueued % W48, dequeued % W48, enqueued % W32, (dequeued - enqueued) % W32);
            assert_eq!(seen, expected, "from {enqueued} to {dequeued} us");
        }
    }
}

/// Its stay would be the largest number that the field holds.
#[test]
#[should_panic = "a frame that came at 5000000 ns cannot leave at 1000000 ns"]
fn a_frame_cannot_leave_before_it_came() {
    let mut switch = switches(&[Limit::Packets(1)]).pop().expect("machine code comes last");
    offer(&mut switch, 5_000_000, 0, Request::to(0).packet()).unwrap();
    switch.transmit(at(1_000_000), 0);
}

/// A queue of more packets than the field counts reads as the longest, not as a short one: a scheme must not stop
/// marking because the queue is too long. (BMv2 would wrap; its queues are not that long.)
#[test]
fn depths_stop_at_their_width() {
    const W19: u64 = 1 << 19;
    for mut switch in switches(&[Limit::Packets(1)]) {
        for depth in [0, 1, W19 - 2, W19 - 1, W19, W19 + 1, 5 * W19] {
            let signals = QueueSignals { enq_timestamp: at(0), enq_qdepth: depth, deq_qdepth: depth / 2 };
            let sent = switch.run(at(0), 0, Request::to(0).packet(), Some(signals)).sent;
            let report = Report::of(&sent[0].1);
            assert_eq!((report.enq_qdepth, report.deq_qdepth), (depth.min(W19 - 1), (depth / 2).min(W19 - 1)));
        }
    }
}

/// The same values from a queue of that length.
#[test]
fn a_queue_longer_than_its_field_is_counted_in_full_outside_the_program() {
    const PACKETS: u64 = (1 << 19) + 2;
    let mut switch = switches(&[Limit::Packets(PACKETS)]).pop().expect("machine code comes last");
    for _ in 0..PACKETS {
        offer(&mut switch, 0, 0, Request::to(0).packet()).unwrap();
    }
    assert_eq!(switch.depth(0).packets, PACKETS);
    let first = Report::of(&take(&mut switch, 0, 0));
    assert_eq!((first.enq_qdepth, first.deq_qdepth), (0, (1 << 19) - 1));
    for _ in 2..PACKETS {
        take(&mut switch, 0, 0);
    }
    let last = Report::of(&take(&mut switch, 0, 0));
    assert_eq!((last.enq_qdepth, last.deq_qdepth), ((1 << 19) - 1, 0));
}

/// Headers before the metadata may take any room: a stack of 4,096 headers of 20 bytes takes 96 KiB of each packet's state.
#[test]
fn metadata_behind_64_kib_of_headers_is_read_and_written() {
    for mut switch in switches_with("tall.p4", &[Limit::Packets(10); 2]) {
        for ns in [1_000, 2_000] {
            offer(&mut switch, ns, 3, Packet::new(&[0xff; 12], 50)).unwrap();
        }
        for (enq_qdepth, deq_timedelta) in [(0, 6), (1, 5)] {
            let sent = take(&mut switch, 7_000, 1).to_vec();
            let mut next = numbers(&sent, 0);
            assert_eq!([2, 2, 4, 4].map(&mut next), [3, 1, enq_qdepth, deq_timedelta]);
            assert_eq!((sent.len(), sent[12 + 19], &sent[12 + 20..]), (12 + 20 + 50, 7, &[0; 50][..]));
        }
    }
}

/// The length at arrival, and at the start of egress with the headers that are valid then.
#[test]
fn packet_length_follows_the_headers_that_ingress_adds_or_takes_away() {
    for mut switch in switches(&[Limit::Packets(10)]) {
        for (has_extra, change, difference) in
            [(false, 0, 0), (true, 0, 0), (false, 1, 4), (true, 1, 0), (false, 2, 0), (true, 2, -4)]
        {
            for payload in [0, 1, 1_400] {
                let request = Request { has_extra, change, payload, ..Request::to(0) };
                offer(&mut switch, 0, 0, request.packet()).unwrap();
                let bytes = switch.depth(0).bytes;
                let packet = take(&mut switch, 0, 0);
                let report = Report::of(&packet);
                let expected = request.len().saturating_add_signed(difference);
                assert_eq!(report.ingress_length, request.len(), "{request:?}");
                assert_eq!((report.egress_length, packet.len() as u64), (expected, expected), "{request:?}");
                // The queue holds the packet as it came.
                assert_eq!(bytes, request.len());
            }
        }
    }
}

/// Options count with the bytes that they have, not with those that they may have.
#[test]
fn packet_length_counts_options_as_long_as_they_are() {
    for mut switch in switches_with("options.p4", &[Limit::Packets(1)]) {
        for (option_bytes, change) in [(0, 0), (0, 1), (1, 1), (31, 1), (32, 1), (8, 2), (32, 2)] {
            let mut bytes = vec![option_bytes, change, 0, 0];
            bytes.resize(4 + usize::from(option_bytes), 0xaa);
            let arrived = bytes.len() as u64 + 50;
            let expected = match change {
                1 => arrived + 4,
                2 => arrived - u64::from(option_bytes),
                _ => arrived,
            };
            let sent = switch.run(at(0), 0, Packet::new(&bytes, 50), None).sent;
            let told = u16::from_be_bytes(sent[0].1.to_vec()[2..4].try_into().unwrap());
            assert_eq!((sent[0].1.len() as u64, u64::from(told)), (expected, expected), "{option_bytes} {change}");
        }
    }
}

/// A packet shorter than its headers keeps its bytes; none are added.
#[test]
fn a_packet_too_short_for_its_headers_keeps_its_length() {
    for mut switch in switches(&[Limit::Packets(10)]) {
        // The request is whole and forwards to port 0; the report is cut, so it stays payload.
        let bytes = &Request::to(0).packet().to_vec()[..20];
        let packet = Packet::new(bytes, 0);
        offer(&mut switch, 0, 0, packet.clone()).unwrap();
        assert_eq!(take(&mut switch, 0, 0), packet);
    }
}

/// Metadata of one packet never appears in another, whatever happened to the first.
#[test]
fn packets_do_not_see_each_others_metadata() {
    for mut switch in switches(&[Limit::Packets(1)]) {
        let noted = |request: Request| Request { note: 77, ..request }.packet();
        offer(&mut switch, 0, 0, noted(Request::to(0))).unwrap();
        assert!(offer(&mut switch, 0, 0, noted(Request::to(0))).is_err(), "full");
        assert!(offer(&mut switch, 0, 0, noted(Request::to(MARK_TO_DROP))).is_err());
        assert_eq!(Report::of(&take(&mut switch, 0, 0)).note, 77);
        offer(&mut switch, 0, 0, noted(Request { egress_drop: 1, ..Request::to(0) })).unwrap();
        assert!(switch.transmit(at(0), 0).expect("waits").outcome.is_err());
        for _ in 0..5 {
            offer(&mut switch, 0, 0, Request::to(FORWARD_DEFAULT).packet()).unwrap();
            let report = Report::of(&take(&mut switch, 0, 0));
            assert_eq!((report.note, report.egress_port), (0, 0));
        }
    }
}

/// Depths that do not fit are the largest that do; times wrap around.
#[test]
fn fields_under_an_alias_are_as_wide_as_they_are_declared() {
    // Without the standard fields, which the program does not mention.
    let program = prune(&compiled("aliases.p4", &Options::default()));
    for mut switch in either_way(program, &[Limit::Packets(9)]) {
        for _ in 0..6 {
            let fate = switch.receive(at(300_000), 1, Packet::new(&[0; 30], 0));
            assert!(matches!(fate, Fate::Queued { port: 0, .. }), "{fate:?}");
        }
        for number in 0..6u8 {
            let sent = switch.transmit(at(1_000_000), 0).unwrap().outcome.unwrap().to_vec();
            let signals = [number.min(3), (5 - number).min(3), (300 % 256) as u8, (700 % 256) as u8];
            assert_eq!(sent[..4], signals);
            assert_eq!(sent[4..20], [300u64.to_be_bytes(), 1_000u64.to_be_bytes()].concat());
        }
    }
}
