// SPDX-License-Identifier: MIT OR Apache-2.0
//! Completion times of one flow in an empty network, to the ns. At 1 Gb/s every frame takes whole ns.

use marklab_netsim::{Connections, Control, Flow, QueueLimit};

use crate::pcap;
use crate::support::*;

/// A round trip takes longer than the segments of the third round, so rounds do not overlap.
const DELAY: u64 = 200 * US;
/// Line, switch, line.
const HOPS: u64 = 2;
const INITIAL_WINDOW: u64 = 10;

/// Segments, and payload of the last one.
fn cut(size: u64) -> (u64, u64) {
    let segments = size.div_ceil(MSS);
    (segments, size - (segments - 1) * MSS)
}

/// Rounds of slow start that `segments` need, and the number of segments in the last one.
fn rounds(segments: u64) -> (u64, u64) {
    let (mut round, mut left, mut window) = (1, segments, INITIAL_WINDOW);
    while left > window {
        (round, left, window) = (round + 1, left - window, 2 * window);
    }
    (round, left)
}

/// Time from the first bit at the sender to the last bit at the receiver.
///
/// Segments of a round leave back to back: acknowledgements of the previous round arrive at the rate of its segments,
/// and allow two segments for each. A round begins at the first acknowledgement of the previous round: after
/// `ack_every` segments.
fn stream_ns(size: u64, ack_every: u64) -> u64 {
    let (full, ack) = (at_1g(MSS), at_1g(0));
    let (segments, last) = cut(size);
    let (round, in_round) = rounds(segments);
    let round_trip = ack_every * full + (HOPS - 1) * full + HOPS * ack + 2 * HOPS * DELAY;
    // On the second line, the last segment waits for the segment before it, if they arrived back to back.
    let before = (in_round - 1) * full + if in_round > 1 { full } else { at_1g(last) };
    (round - 1) * round_trip + before + at_1g(last) + HOPS * DELAY
}

/// SYN, SYN-ACK, and the ACK that is sent before the data.
fn handshake_ns() -> u64 {
    2 * HOPS * (syn_at_1g() + DELAY) + at_1g(0)
}

fn measured(size: u64, ack_every: u64, connections: Connections, control: Control) -> u64 {
    let mut config = star(&[(GBPS, DELAY); 2], QueueLimit::Packets(1000), control);
    config.connections = connections;
    config.transport.ack_every_segments = ack_every as u32;
    let outcome = run(&config, &Program::of("droptail"), |_| (), vec![flow(5_000, 0, 1, size)]);
    assert_eq!((outcome.ledger.total(), outcome.flows[0].sender.retransmissions), (0, 0));
    fct(&outcome, 0)
}

/// Sizes around a segment, around the initial window, around the window of the second round, and in the third round.
fn sizes() -> Vec<u64> {
    let boundaries = [1, 2, 9, 10, 11, 29, 30, 31, 70].map(|segments| segments * MSS);
    let mut sizes: Vec<u64> = boundaries.iter().flat_map(|&size| [size - 1, size, size + 1]).collect();
    sizes.extend([1, 6, 7]); // 6 bytes of payload fill the shortest frame
    sizes
}

#[test]
fn a_flow_on_an_open_connection_takes_slow_start_rounds_and_its_own_length() {
    let open = Connections::Persistent { per_pair: 1 };
    for ack_every in [1, 2] {
        for size in sizes() {
            let measured = measured(size, ack_every, open, Control::Dctcp);
            assert_eq!(measured, stream_ns(size, ack_every), "{size} bytes, one ACK per {ack_every}");
        }
    }
}

#[test]
fn a_flow_on_a_new_connection_takes_the_handshake_as_well() {
    for control in [Control::Dctcp, Control::EcnStar, Control::Reno] {
        for size in sizes() {
            let measured = measured(size, 1, Connections::New, control);
            assert_eq!(measured, handshake_ns() + stream_ns(size, 1), "{size} bytes, {control:?}");
        }
    }
}

/// More flows at once than open connections: the second flow needs a handshake, and a flow after both uses an open
/// connection.
#[test]
fn a_pool_opens_a_connection_when_all_are_busy() {
    let config = star(&[(GBPS, DELAY); 2], QueueLimit::Packets(1000), Control::Dctcp);
    let flows = vec![flow(0, 0, 1, MSS), flow(50_000, 0, 1, MSS), flow(5 * MS, 0, 1, MSS)];
    let outcome = run(&config, &Program::of("droptail"), |_| (), flows);
    let alone = stream_ns(MSS, 1);
    let times: Vec<u64> = (0..3).map(|flow| fct(&outcome, flow)).collect();
    assert_eq!(times, [alone, handshake_ns() + alone, alone]);
}

/// With one connection, a flow that starts while another is sent comes as the end of one flow of both sizes: its window is
/// that of the connection, and it counts from its own start.
#[test]
fn a_flow_waits_for_those_before_it_on_its_connection() {
    let mut config = star(&[(GBPS, DELAY); 2], QueueLimit::Packets(1000), Control::Dctcp);
    config.connections = Connections::Queued { per_pair: 1 };
    for (before, size) in [(10, 1), (10, 21), (30, 1), (70, 5)] {
        let start = 50 * US;
        let flows = vec![flow(0, 0, 1, before * MSS), flow(start, 0, 1, size * MSS), flow(20 * MS, 0, 1, MSS)];
        let outcome = run(&config, &Program::of("droptail"), |_| (), flows);
        assert_eq!(fct(&outcome, 0), stream_ns(before * MSS, 1));
        assert_eq!(fct(&outcome, 1), stream_ns((before + size) * MSS, 1) - start, "{size} behind {before}");
        assert_eq!(fct(&outcome, 2), stream_ns(MSS, 1), "nothing is before it, and its connection is open");
    }
}

/// Of 16 connections each carries some of 200 flows to a host, and no other connection is opened.
#[test]
fn flows_draw_one_of_the_connections_to_a_host() {
    let mut config = star(&[(GBPS, DELAY); 3], QueueLimit::Packets(1000), Control::Dctcp);
    config.connections = Connections::Queued { per_pair: 16 };
    let path = capture_host(&mut config, 0, "queued-lots");
    let flows: Vec<_> = (0..400).map(|number| flow(number * 10 * US, 0, 1 + number as usize % 2, MSS)).collect();
    let outcome = run(&config, &Program::of("droptail"), |_| (), flows);
    let frames = pcap::read(&path);
    assert!(frames.iter().all(|frame| !frame.syn));
    for host in [1, 2] {
        let ports =
            frames.iter().filter(|frame| frame.dst == ip(host) && frame.payload > 0).map(|frame| frame.src_port);
        let mut carried = std::collections::BTreeMap::<u16, usize>::new();
        ports.for_each(|port| *carried.entry(port).or_default() += 1);
        // Poisson with a mean of 12.5 per connection; 3 to 30 are within four standard deviations of it.
        assert_eq!((carried.len(), carried.values().sum::<usize>()), (16, 200));
        assert!(carried.values().all(|flows| (3..=30).contains(flows)), "{carried:?}");
    }
    assert!((0..400).all(|number| outcome.flows[number].fct.is_some()));
}

#[test]
fn flows_that_one_connection_cannot_carry_in_turn_are_refused() {
    let refused = |per_pair, other: Flow, reason: &str| {
        let mut config = star(&[(GBPS, DELAY); 2], QueueLimit::Packets(1000), Control::Dctcp);
        config.connections = Connections::Queued { per_pair };
        let error = build(&config, &Program::of("droptail"), |_| (), vec![flow(0, 0, 1, 1), other]).err().unwrap();
        assert!(error.to_string().contains(reason), "{error}");
    };
    refused(0, flow(0, 0, 1, 1), "at least one per pair");
    refused(1, Flow { dscp: 1, ..flow(0, 0, 1, 1) }, "the same code point");
    refused(1, Flow { rate_bps: GBPS, ..flow(0, 0, 1, 1) }, "no rate");
    refused(1, Flow { extra_delay_ns: 1, ..flow(0, 0, 1, 1) }, "delay");
}

/// The extra delay lies between TCP and NIC: it delays the SYN once, and then ACK and data together once.
#[test]
fn extra_delay_counts_once_per_way_there() {
    const EXTRA: u64 = 33 * US;
    for (connections, ways) in [(Connections::New, 2), (Connections::Persistent { per_pair: 1 }, 1)] {
        let mut config = star(&[(GBPS, DELAY); 2], QueueLimit::Packets(1000), Control::Dctcp);
        config.connections = connections;
        let delayed = Flow { extra_delay_ns: EXTRA, ..flow(0, 0, 1, 3 * MSS) };
        let program = Program::of("droptail");
        let without = fct(&run(&config, &program, |_| (), vec![flow(0, 0, 1, 3 * MSS)]), 0);
        assert_eq!(fct(&run(&config, &program, |_| (), vec![delayed]), 0), without + ways * EXTRA);
    }
}

/// An application of rate R writes segment by segment. The time between two writes is that of a payload at R.
#[test]
fn a_rate_limited_application_sets_the_pace() {
    let config = star(&[(GBPS, DELAY); 2], QueueLimit::Packets(1000), Control::Dctcp);
    let slow = Flow { rate_bps: GBPS / 10, ..flow(0, 0, 1, 5 * MSS) };
    let outcome = run(&config, &Program::of("droptail"), |_| (), vec![slow]);
    assert_eq!(fct(&outcome, 0), 4 * MSS * 8 * 10 + stream_ns(MSS, 1));
}

/// At 25 Gb/s, segments are written every 467.2 ns. The fractions of intervals add up, and each write begins at its
/// exact time rounded down to whole ns.
#[test]
fn an_application_keeps_its_rate_in_the_long_run() {
    let config = star(&[(100 * GBPS, DELAY); 2], QueueLimit::Packets(1000), Control::Dctcp);
    let of = |segments| Flow { rate_bps: 25 * GBPS, ..flow(0, 0, 1, segments * MSS) };
    let time = |segments| fct(&run(&config, &Program::of("droptail"), |_| (), vec![of(segments)]), 0);
    let one = time(1);
    for (segments, written_ns) in [(2, 467), (5, 1868), (6, 2336), (10, 4204)] {
        assert_eq!(time(segments), written_ns + one, "{segments} segments");
    }
}

/// At 10 Gb/s a full frame takes 1230.4 ns. Rounding of transmitters stays below a ns per line.
#[test]
fn fractions_of_a_ns_do_not_add_up() {
    let config = star(&[(10 * GBPS, 10 * US); 2], QueueLimit::Packets(1000), Control::Dctcp);
    let mut config = config;
    config.transport.initial_window_segments = 5_000;
    for segments in [1, 2, 7, 1_000, 4_999] {
        let outcome = run(&config, &Program::of("droptail"), |_| (), vec![flow(0, 0, 1, segments * MSS)]);
        let exact = (segments + 1) as f64 * 1230.4 + 2.0 * 10e3;
        let off = exact - fct(&outcome, 0) as f64;
        assert!((0.0..2.0).contains(&off), "{segments} segments: {off} ns before {exact}");
    }
}

/// A stream beyond 32-bit sequence numbers: 5 GB in the largest segments.
#[test]
fn a_stream_longer_than_its_sequence_numbers_is_whole() {
    const SEGMENT: u64 = 65_000;
    const SEGMENTS: u64 = 77_000;
    let mut config = star(&[(100 * GBPS, US); 2], QueueLimit::Packets(1000), Control::Dctcp);
    config.transport.mss_bytes = SEGMENT as u32;
    let outcome = run(&config, &Program::of("droptail"), |_| (), vec![flow(0, 0, 1, SEGMENTS * SEGMENT)]);
    assert_eq!((outcome.ledger.total(), outcome.flows[0].sender.retransmissions), (0, 0));
    // Ten segments take longer than a round trip, so the line is never idle.
    let exact = (SEGMENTS + 1) as f64 * (wire_bytes(SEGMENT) * 8) as f64 / 100.0 + 2e3;
    let off = exact - fct(&outcome, 0) as f64;
    assert!((0.0..2.0).contains(&off), "{off} ns before {exact}");
}

/// The receiver advertises its window in acknowledgements, and the sender sends one window per round trip.
#[test]
fn a_connection_has_the_receive_window_of_the_flow_that_it_is_made_for() {
    let (windows, rounds) = ([0, 2 * MSS, 4 * MSS], [1, 4, 2]);
    for (window, rounds) in windows.into_iter().zip(rounds) {
        let mut config = star(&[(GBPS, DELAY); 2], QueueLimit::Packets(100), Control::Reno);
        config.connections = Connections::Persistent { per_pair: 0 };
        let path = capture_host(&mut config, 1, &format!("completion-window-{window}"));
        let wide = Flow { receive_window_bytes: window, ..flow(0, 0, 1, 8 * MSS) };
        let outcome = run(&config, &Program::of("droptail"), |_| (), vec![wide]);
        let round = HOPS * (at_1g(MSS) + at_1g(0) + 2 * DELAY);
        let last = 8 * MSS / rounds;
        assert_eq!(fct(&outcome, 0), handshake_ns() + (rounds - 1) * round + stream_ns(last, 1), "{window} bytes");
        let reported =
            pcap::read(&path).iter().rfind(|frame| frame.src == ip(1)).map(|frame| u64::from(frame.window) << 8);
        let expected = if window == 0 { u64::from(u16::MAX) << 8 } else { window >> 8 << 8 };
        assert_eq!(reported, Some(expected));
    }
}
