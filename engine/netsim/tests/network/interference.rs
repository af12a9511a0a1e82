// SPDX-License-Identifier: MIT OR Apache-2.0
//! Switches that do more to ECN than mark: what is counted, and what the handshake makes of it.

use marklab_netsim::{Config, Connections, Control, EcnInterference, Flow, Link, Outcome, Probe, QueueLimit};
use marklab_pipeline::State;

use crate::pcap::{self, Captured};
use crate::support::*;

const DELAY: u64 = 20 * US;
const NOT_ECT: u64 = 0;
const ECT1: u64 = 1;
const ECT0: u64 = 2;
const CE: u64 = 3;

fn pair(control: Control, connections: Connections) -> Config {
    Config { connections, ..star(&[(GBPS, DELAY); 2], QueueLimit::Packets(1000), control) }
}

const WARM: Connections = Connections::Persistent { per_pair: 1 };
const ASKED: Connections = Connections::Asked { request_bytes: 300 };

/// Runs with switches that turn one ECN field into another, if the packet came by one of these ports.
fn rewriting(config: &Config, ports: &[u64], rules: &[(u64, u64)], flows: Vec<Flow>) -> Outcome {
    let setup = |state: &mut State| {
        for (&port, &(from, to)) in ports.iter().flat_map(|port| rules.iter().map(move |rule| (port, rule))) {
            insert(state, "fields", &[("port", port), ("ecn", from)], "set_ecn", &[("ecn", to)]);
        }
    };
    run(config, &Program::of("meddling"), setup, flows)
}

/// Runs with a switch that sets CWR and ECE of SYNs, or of SYN-ACKs.
fn handshaking(config: &Config, syn_acks: bool, (cwr, ece): (u64, u64), flows: Vec<Flow>) -> Outcome {
    let keys = [("syn", 1), ("ack", u64::from(syn_acks))];
    let setup = |state: &mut State| insert(state, "handshakes", &keys, "set_flags", &[("cwr", cwr), ("ece", ece)]);
    run(config, &Program::of("meddling"), setup, flows)
}

/// Every packet that arrives at a host is compared with how it was sent, data or not.
#[test]
fn each_packet_that_arrives_otherwise_than_it_was_sent_counts() {
    type Count = fn(u64) -> EcnInterference;
    let bleached: Count = |bleached| EcnInterference { bleached, ..Default::default() };
    let forged: Count = |forged| EcnInterference { forged, ..Default::default() };
    let rewritten: Count = |rewritten| EcnInterference { rewritten, ..Default::default() };
    for (number, (control, from, to, expected)) in [
        (Control::Dctcp, ECT0, NOT_ECT, bleached),
        (Control::Dctcp, ECT0, ECT1, rewritten),
        (Control::Reno, NOT_ECT, ECT0, forged),
        (Control::Reno, NOT_ECT, ECT1, forged),
        (Control::Reno, NOT_ECT, CE, forged),
    ]
    .into_iter()
    .enumerate()
    {
        let mut config = pair(control, WARM);
        let paths = [0, 1].map(|host| capture_host(&mut config, host, &format!("interference-{number}-{host}")));
        let outcome = rewriting(&config, &[0, 1], &[(from, to)], vec![flow(0, 0, 1, 20 * MSS)]);
        let arrived = |host: usize| {
            pcap::read(&paths[host]).iter().filter(|frame| frame.dst == ip(host) && u64::from(frame.ecn) == to).count()
        };
        let count = (arrived(0) + arrived(1)) as u64;
        assert!(count >= 20);
        assert_eq!(outcome.ecn, expected(count), "{control:?}: {from} to {to}");
    }
}

/// Marks, RFC 5562's SYN-ACKs, hosts without ECN among others, notifications of queue pairs, and probes.
#[test]
fn nothing_counts_if_switches_only_mark() {
    let tcp = [Control::Dctcp, Control::EcnStar, Control::Reno, Control::DelayDctcp, Control::Ear, Control::Prague];
    for control in tcp.into_iter().chain([Control::Dcqcn]) {
        for connections in [WARM, Connections::New, ASKED] {
            let mut config = Config { connections, ..star(&[(GBPS, DELAY); 3], QueueLimit::Packets(60), control) };
            config.transport.ecn_plus = true;
            config.transport.delay_threshold_ns = Some(50 * US);
            config.probes =
                vec![Probe { src: 1, dst: 2, dscp: 3, frame_bytes: 100, start_ns: 0, interval_ns: 100 * US }];
            let flows = (0..12)
                .map(|number| Flow { ecn: number % 3 > 0, ..flow(number * 70 * US, number as usize % 2, 2, 40 * MSS) });
            let marking = |state: &mut State| set_params(state, &[("k_pkts", 8)]);
            let outcome = run(&config, &Program::of("dctcp-red"), marking, flows.collect::<Vec<_>>());
            let marked = outcome.switches[0].ports[2].marked > 0;
            assert_eq!(marked, !matches!(control, Control::Reno | Control::DelayDctcp), "{control:?}");
            assert_eq!(outcome.ecn, EcnInterference::default(), "{control:?}, {connections:?}");
        }
    }
}

/// Two switches in a row: the first marks all data, the second takes the marks away.
#[test]
fn a_mark_that_another_switch_takes_away_is_erased() {
    for (second, expected) in [
        (ECT0, EcnInterference { erased: 20, ..Default::default() }),
        (ECT1, EcnInterference { erased: 20, ..Default::default() }),
        (NOT_ECT, EcnInterference { bleached: 20, ..Default::default() }),
        (CE, EcnInterference::default()),
    ] {
        let outcome = rewriting(&chain(Control::EcnStar), &[0], &[(ECT0, CE), (CE, second)], one());
        assert_eq!(outcome.switches[0].ports[1].marked, 20);
        assert_eq!(outcome.ecn, expected, "CE to {second}");
    }
}

/// The first switch makes packets ECN capable, and the second marks them.
#[test]
fn a_mark_hides_no_forgery() {
    let outcome = rewriting(&chain(Control::Reno), &[0], &[(NOT_ECT, ECT0), (ECT0, CE)], one());
    assert_eq!(outcome.switches[1].ports[1].marked, 20);
    assert_eq!(outcome.ecn, EcnInterference { forged: 20, ..Default::default() });
}

fn one() -> Vec<Flow> {
    vec![flow(0, 0, 1, 20 * MSS)]
}

/// A [`pair`] with a second switch in front of host 1.
fn chain(control: Control) -> Config {
    let mut config = pair(control, WARM);
    let (first, second) = (2, 3);
    config.nodes.push(config.nodes[first].clone());
    config.links[1].b = (second, 1);
    config.links.push(Link { a: (first, 1), b: (second, 0), rate_bps: GBPS, delay_ns: DELAY });
    config
}

/// Frames of a flow over a connection with this handshake, as its opener sends and receives them.
fn frames(connections: Connections, control: Control, syn_acks: bool, flags: (u64, u64)) -> (Vec<Captured>, Outcome) {
    let mut config = pair(control, connections);
    config.transport.ecn_plus = true;
    let opener = usize::from(connections == ASKED);
    let path = capture_host(&mut config, opener, &format!("handshake-{opener}-{control:?}-{syn_acks}-{flags:?}"));
    let outcome = handshaking(&config, syn_acks, flags, vec![flow(0, 0, 1, 5 * MSS)]);
    (pcap::read(&path), outcome)
}

/// RFC 3168 section 6.1.1: only a SYN with both flags asks for ECN, and its answer then has ECE. Without both, nothing is
/// sent as ECN capable after the SYN, whichever host opens the connection.
#[test]
fn a_syn_that_arrives_without_its_flags_leads_to_a_connection_without_ecn() {
    for connections in [Connections::New, ASKED] {
        for control in [Control::Dctcp, Control::EcnStar] {
            for flags in [(0, 0), (0, 1), (1, 0), (1, 1)] {
                let agreed = flags == (1, 1);
                let (frames, outcome) = frames(connections, control, false, flags);
                let [syn, syn_ack, ..] = &frames[..] else { panic!("{} frames", frames.len()) };
                assert!(syn.ece && syn.cwr, "it asks");
                assert_eq!((syn_ack.ece, syn_ack.cwr), (agreed, false), "{control:?}, {flags:?}");
                let capable = frames[1..].iter().any(|frame| frame.ecn != 0);
                assert_eq!(capable, agreed, "{connections:?}, {control:?}, {flags:?}");
                assert_eq!(outcome.ecn, EcnInterference { refused: u64::from(!agreed), ..Default::default() });
            }
        }
    }
}

/// The end that reads the SYN-ACK does without ECN, the other end does not know it. A host that reflects the flags of the
/// SYN knows no ECN, either.
#[test]
fn a_syn_ack_that_arrives_otherwise_than_with_ece_alone_refuses() {
    for flags in [(0, 0), (1, 0), (1, 1)] {
        for (connections, opener) in [(Connections::New, 0), (ASKED, 1)] {
            let (frames, outcome) = frames(connections, Control::Dctcp, true, flags);
            assert_eq!(outcome.ecn, EcnInterference { refused: 1, ..Default::default() });
            for frame in &frames[1..] {
                let expected = if frame.src == ip(opener) { 0 } else { 2 };
                assert_eq!(frame.ecn, expected, "{connections:?}, {flags:?}");
            }
        }
    }
    for connections in [Connections::New, ASKED] {
        assert_eq!(frames(connections, Control::Dctcp, true, (0, 1)).1.ecn, EcnInterference::default());
    }
}

/// Hosts that did not ask hear no answer: flags that come out of nowhere turn ECN on nowhere.
#[test]
fn forged_flags_do_not_turn_ecn_on() {
    for connections in [Connections::New, ASKED] {
        for (syn_acks, flags) in [(false, (1, 1)), (true, (0, 1))] {
            let (frames, outcome) = frames(connections, Control::Reno, syn_acks, flags);
            assert!(frames.iter().all(|frame| frame.ecn == 0), "{connections:?}");
            assert_eq!(outcome.ecn, EcnInterference::default());
        }
    }
}

/// As Linux's DCTCP: to the ns, through losses.
#[test]
fn without_ecn_every_sender_is_reno() {
    let run = |control| {
        let connections = Connections::New;
        let config = Config { connections, ..star(&[(GBPS, DELAY); 3], QueueLimit::Packets(12), control) };
        let flows = (0..6).map(|number| flow(number * 90 * US, number as usize % 2, 2, 300 * MSS)).collect();
        let outcome = handshaking(&config, false, (0, 0), flows);
        assert!(outcome.flows.iter().map(|flow| flow.sender.fast_recoveries).sum::<u64>() > 0);
        outcome
    };
    let reno = run(Control::Reno);
    assert_eq!(reno.ecn.refused, 0, "it does not ask");
    for control in [Control::Dctcp, Control::EcnStar] {
        let outcome = run(control);
        assert_eq!(outcome.flows, reno.flows, "{control:?}");
        assert_eq!(outcome.ecn.refused, 6);
    }
}

/// Connections that are open before the run have agreed before the run. A second one, opened while the first is busy,
/// has a handshake.
#[test]
fn connections_that_are_open_before_the_run_have_agreed() {
    let config = pair(Control::Dctcp, WARM);
    for (flows, refused) in [(one(), 0), (vec![flow(0, 0, 1, 20 * MSS), flow(1, 0, 1, MSS)], 1)] {
        let outcome = handshaking(&config, false, (0, 0), flows);
        assert_eq!(outcome.ecn, EcnInterference { refused, ..Default::default() });
    }
}

/// Queue pairs: their data are ECN capable, and their answers are not.
#[test]
fn packets_of_queue_pairs_are_compared_too() {
    let config = pair(Control::Dcqcn, WARM);
    let outcome = rewriting(&config, &[0, 1], &[(ECT0, NOT_ECT)], one());
    assert_eq!(outcome.ecn, EcnInterference { bleached: 20, ..Default::default() });
    let outcome = rewriting(&config, &[0, 1], &[(NOT_ECT, ECT0)], one());
    assert!(outcome.ecn.forged > 0);
    assert_eq!(outcome.ecn, EcnInterference { forged: outcome.ecn.forged, ..Default::default() });
}

#[test]
fn probes_are_compared_too() {
    let mut config = pair(Control::EcnStar, WARM);
    config.probes = vec![Probe { src: 0, dst: 1, dscp: 0, frame_bytes: 100, start_ns: 0, interval_ns: 1000 * MS }];
    // From host 0, everything but the request is data.
    let outcome = rewriting(&config, &[0], &[(NOT_ECT, ECT1)], one());
    assert_eq!(outcome.ecn, EcnInterference { forged: 1, ..Default::default() });
}
