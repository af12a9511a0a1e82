// SPDX-License-Identifier: MIT OR Apache-2.0
//! L4S: Prague with AccECN (RFC 9768), alone and beside CUBIC behind DualPI2 (RFC 9332).

use marklab_netsim::{Config, Connections, Control, Flow, Node, Outcome, QueueLimit, Queueing, Round, RttIndependence};
use marklab_netsim::{EcnInterference, QueueSpec};
use marklab_pipeline::State;

use crate::pcap::{self, Captured};
use crate::support::*;

const DELAY: u64 = 20 * US;
const ECT1: u8 = 1;

fn pair(connections: Connections) -> Config {
    Config { connections, ..star(&[(GBPS, DELAY); 2], QueueLimit::Packets(1000), Control::Prague) }
}

/// AE, CWR and ECE.
fn flags(frame: &Captured) -> (bool, bool, bool) {
    (frame.ae, frame.cwr, frame.ece)
}

/// The count that they carry.
fn ace(frame: &Captured) -> u64 {
    u64::from(frame.ae) << 2 | u64::from(frame.cwr) << 1 | u64::from(frame.ece)
}

/// RFC 9768 section 3.1 and table 2: the SYN has all three flags, and the answer tells that it came as ECT(1).
#[test]
fn hosts_agree_on_accurate_ecn_and_all_packets_are_ect1() {
    for (opener, connections) in [(0, Connections::New), (1, Connections::Asked { request_bytes: 300 })] {
        let mut config = pair(connections);
        let path = capture_host(&mut config, opener, &format!("l4s-handshake-{opener}"));
        let outcome = run(&config, &Program::of("droptail"), |_| {}, vec![flow(0, 0, 1, 20 * MSS)]);
        assert_eq!(outcome.ecn, EcnInterference::default());
        let frames = pcap::read(&path);
        let [syn, syn_ack, rest @ ..] = &frames[..] else { panic!("{} frames", frames.len()) };
        assert_eq!((syn.src, flags(syn)), (ip(opener), (true, true, true)));
        assert_eq!(flags(syn_ack), (false, true, true));
        assert!(frames.iter().all(|frame| frame.ecn == ECT1));
        // Nothing was marked: the counts stay where they begin.
        assert!(rest.iter().all(|frame| ace(frame) == 5));
    }
}

/// A switch rewrites CWR and ECE of SYNs or SYN-ACKs. AE stays as it is, and tells of nothing alone.
#[test]
fn without_accurate_ecn_the_sender_has_rfc_3168s_or_none() {
    for (syn_acks, (cwr, ece), data) in [
        (false, (0, 0), 0),
        (false, (0, 1), 0),
        (true, (0, 0), 0),
        // What a host answers that knows RFC 3168.
        (true, (0, 1), 2),
        (true, (1, 0), ECT1),
    ] {
        let mut config = pair(Connections::New);
        let path = capture_host(&mut config, 0, &format!("l4s-fallback-{syn_acks}-{cwr}-{ece}"));
        let keys = [("syn", 1), ("ack", u64::from(syn_acks))];
        let setup = |state: &mut State| insert(state, "handshakes", &keys, "set_flags", &[("cwr", cwr), ("ece", ece)]);
        let outcome = run(&config, &Program::of("meddling"), setup, vec![flow(0, 0, 1, 20 * MSS)]);
        let frames = pcap::read(&path);
        let sent: Vec<u8> = frames.iter().filter(|frame| frame.payload > 0).map(|frame| frame.ecn).collect();
        assert_eq!(sent, vec![data; sent.len()], "{syn_acks}, {cwr}, {ece}");
        assert_eq!(outcome.ecn.refused, u64::from(data != ECT1));
    }
}

/// Section 3.2.2: each acknowledgement counts all marked packets that have arrived, and it comes at once for the first mark
/// after a packet without one, and for two that wait.
#[test]
fn acknowledgements_count_marks() {
    for (number, marks) in [&[][..], &[3], &[4], &[1, 2, 3, 4, 5, 6, 7, 8], &[2, 4, 6, 8], &[7, 8]].iter().enumerate() {
        let mut config = pair(Connections::Persistent { per_pair: 1 });
        config.transport.ack_every_segments = 4;
        config.transport.ack_delay_ns = 500 * US;
        let path = capture_host(&mut config, 1, &format!("l4s-count-{number}"));
        let flows = vec![flow(0, 0, 1, 8 * MSS), flow(5 * MS, 0, 1, MSS)];
        let script = |state: &mut State| script(state, "mark", 1, marks.iter().copied());
        let outcome = run(&config, &Program::of("scripted"), script, flows);
        assert_eq!(outcome.flows[0].marked, marks.len() as u64);
        let frames = pcap::read(&path);
        let first = frames[0].sequence;
        let answers: Vec<_> = frames.iter().filter(|frame| frame.src == ip(1) && frame.time_ns < 5 * MS).collect();
        let mut counted = 0;
        for answer in &answers {
            let acked = u64::from(answer.ack.wrapping_sub(first)) / MSS;
            let arrived = marks.iter().filter(|&&mark| mark <= acked).count() as u64;
            assert_eq!(ace(answer), (5 + arrived) % 8, "{marks:?}, up to {acked}");
            assert!(arrived - counted <= 2, "{marks:?}: {counted} and {arrived}");
            counted = arrived;
        }
        assert_eq!(counted, marks.len() as u64);
        // What the sender made of them: one reduction, as all were in one window.
        assert_eq!(outcome.flows[0].sender.ecn_reductions, u64::from(!marks.is_empty()));
    }
}

/// `senders` hosts and a receiver at 1 Gb/s, and marks above K packets: the mean queue, and the outcome.
fn crowded(control: Control, senders: usize, k: u64, stop_ns: u64) -> (f64, Outcome) {
    let mut config = star(&vec![(GBPS, DELAY); senders + 1], QueueLimit::Packets(1000), control);
    trace_queue(&mut config, senders);
    config.stop_ns = stop_ns;
    let flows: Vec<_> = (0..senders).map(|sender| flow(0, sender, senders, 1 << 40)).collect();
    let outcome = run(&config, &Program::of("dctcp-red"), |state| set_params(state, &[("k_pkts", k)]), flows);
    let rows = outcome.traces[0].port().rows();
    let settled = rows.iter().filter(|row| row.time.nanos() > stop_ns / 2);
    let (sum, count) = settled.fold((0, 0), |(sum, count), row| (sum + row.last.packets, count + 1));
    (sum as f64 / f64::from(count), outcome)
}

/// A pipe of 7 packets, and 40 flows. With two segments for each, no mark could bring the queue below 70.
#[test]
fn many_flows_have_fractions_of_a_segment_each() {
    let (queue, outcome) = crowded(Control::Prague, 40, 10, 400 * MS);
    assert!(queue < 25.0, "{queue}");
    assert_eq!(outcome.flows.iter().map(|flow| flow.sender.timeouts + flow.sender.retransmissions).sum::<u64>(), 0);
    let line = outcome.lines.iter().find(|line| line.from == (41, 40)).unwrap();
    // A segment per round trip is much for such windows, so they swing, and the line has pauses.
    assert!(line.stats.busy.nanos() > 350 * MS, "{:?}", line.stats);
    // So do their rates: no flow starves, and Jain's index is that of a coefficient of variation below two thirds.
    let delivered: Vec<f64> = outcome.flows.iter().map(|flow| flow.delivered_bytes as f64).collect();
    let (sum, squares) =
        delivered.iter().fold((0.0, 0.0), |(sum, squares), bytes| (sum + bytes, squares + bytes * bytes));
    assert!(sum * sum / (40.0 * squares) > 0.7, "{delivered:?}");
    assert!(delivered.iter().all(|&bytes| bytes > 0.1 * sum / 40.0), "{delivered:?}");
    let (queue, _) = crowded(Control::Dctcp, 40, 10, 400 * MS);
    assert!(queue > 60.0, "{queue}");
}

/// Behind DualPI2 with the RFC's parameters, at 40 Mb/s and 10 ms: a flow from host 0 with Prague, and one from host 1 with
/// CUBIC.
fn coupled(stop_ns: u64) -> Outcome {
    let hosts = [(GBPS, 2_500 * US), (GBPS, 2_500 * US), (GBPS / 25, 2_500 * US)];
    let mut config = star(&hosts, QueueLimit::Packets(1000), Control::Prague);
    let queue = |quantum_bytes| QueueSpec { limit: QueueLimit::Packets(1000), level: 0, quantum_bytes };
    let queues = vec![queue(1514), queue(9 * 1514)];
    if let Node::Switch { queueing, .. } = &mut config.nodes[3] {
        *queueing = Queueing { queues, round: Round::Weighted, port_limit: None, pool: None };
    }
    config.connections = Connections::New;
    config.transport.prague = Some(RttIndependence { reference_rtt_ns: 25 * MS, transition_rounds: 500 });
    config.transport.min_rto_ns = 200 * MS;
    config.transport.initial_rto_ns = 1000 * MS;
    config.stop_ns = stop_ns;
    let flows = vec![flow(0, 0, 2, 1 << 40), Flow { control: Some(Control::Cubic), ..flow(0, 1, 2, 1 << 40) }];
    let period = [("period_us", 15_000), ("periods_per_us_q32", (1 << 32) / 15_000)];
    run(
        &config,
        &Program::of("dualpi2"),
        |state| set_default(state, "marking.periods.length", "set_length", &period),
        flows,
    )
}

/// The aim of RFC 9332 section 1: flows of both kinds have roughly equal rates.
#[test]
fn a_prague_flow_and_a_cubic_flow_share_a_line_behind_dualpi2() {
    let (before, after) = (coupled(20_000 * MS), coupled(80_000 * MS));
    let bytes = |flow: usize| (after.flows[flow].delivered_bytes - before.flows[flow].delivered_bytes) as f64;
    let ratio = bytes(0) / bytes(1);
    assert!((1.0 / 1.3..1.3).contains(&ratio), "{ratio}");
    let used = (bytes(0) + bytes(1)) * 1538.0 / 1460.0 * 8.0 / 60.0 / 40e6;
    assert!(used > 0.97, "{used}");
    // The one is marked and the other dropped.
    assert!(after.flows[0].marked > 0 && after.flows[0].sender.retransmissions == 0);
    assert!(after.flows[1].marked == 0 && after.flows[1].sender.fast_recoveries > 10);
    assert_eq!(after.ecn, EcnInterference::default());
}
