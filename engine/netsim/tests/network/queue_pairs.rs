// SPDX-License-Identifier: MIT OR Apache-2.0
//! Queue pairs: pacing, notifications and go-back-N to the ns, and the rates that DCQCN sets.

use marklab_netsim::{Config, Connections, Control, Flow, Outcome, QueueLimit, Reason};
use marklab_switch::Loss;
use proptest::prelude::*;

use crate::support::*;

const DELAY: u64 = 20 * US;
const HOPS: u64 = 2;
/// Longer than any run of these tests.
const NEVER: u64 = 1_000_000 * MS;

/// ns that a full packet takes at 1 Gb/s: headers are as long as TCP's.
fn full() -> u64 {
    at_1g(MSS)
}

/// ns from the start of a full packet's transmission to its arrival.
fn way() -> u64 {
    HOPS * (full() + DELAY)
}

/// ns that an answer of `bytes` takes on an empty path back.
fn answer_ns(bytes: u64) -> u64 {
    HOPS * (8 * (bytes.max(60) + 24) + DELAY)
}

const ACK_BYTES: u64 = 58;
const CNP_BYTES: u64 = 70;

fn config() -> Config {
    star(&[(GBPS, DELAY); 2], QueueLimit::Packets(1000), Control::Dcqcn)
}

/// Runs one flow of full packets. The switch applies `what` to the packets with these numbers on the way to the
/// receiver.
fn scripted(config: &Config, packets: u64, what: &str, numbers: &[u64]) -> Outcome {
    let setup = |state: &mut _| script(state, what, 1, numbers.iter().copied());
    run(config, &Program::of("scripted"), setup, vec![flow(0, 0, 1, packets * MSS)])
}

#[test]
fn a_flow_that_hears_nothing_has_the_rate_of_its_line() {
    for (packets, extra_delay_ns) in [(1, 0), (2, 0), (1000, 0), (1000, 70_003)] {
        for connections in [Connections::New, Connections::Persistent { per_pair: 1 }] {
            let config = Config { connections, ..config() };
            let flows = vec![Flow { extra_delay_ns, ..flow(5, 0, 1, packets * MSS) }];
            let outcome = run(&config, &Program::of("droptail"), |_| (), flows);
            assert_eq!(fct(&outcome, 0), extra_delay_ns + (packets - 1) * full() + way());
            assert_eq!(frames_from(&outcome, 0), packets);
        }
    }
}

#[test]
fn an_application_limits_the_rate() {
    let flows = vec![Flow { rate_bps: GBPS / 4, ..flow(0, 0, 1, 10 * MSS) }];
    let outcome = run(&config(), &Program::of("droptail"), |_| (), flows);
    assert_eq!(fct(&outcome, 0), 9 * 4 * 8 * MSS + way());
}

/// Flows of a host take turns, packet by packet: the second finishes one packet after the first.
#[test]
fn queue_pairs_of_a_nic_take_turns() {
    let config = star(&[(GBPS, DELAY); 3], QueueLimit::Packets(1000), Control::Dcqcn);
    let flows = vec![flow(0, 0, 1, 100 * MSS), flow(0, 0, 2, 100 * MSS)];
    let outcome = run(&config, &Program::of("droptail"), |_| (), flows);
    assert_eq!((fct(&outcome, 0), fct(&outcome, 1)), (198 * full() + way(), 199 * full() + way()));
}

/// Oracle: one notification halves the rate, from the first packet on that is sent after it arrives.
#[test]
fn a_notification_halves_the_rate() {
    for (marked, extra_delay_ns) in [(1, 0), (7, 0), (7, 100 * US)] {
        let mut config = config();
        let rates = config.transport.dcqcn.as_mut().unwrap();
        (rates.alpha_timer_ns, rates.rate_timer_ns) = (NEVER, NEVER);
        let packets = 60;
        let setup = |state: &mut _| script(state, "mark", 1, [marked]);
        let flows = vec![Flow { extra_delay_ns, ..flow(0, 0, 1, packets * MSS) }];
        let outcome = run(&config, &Program::of("scripted"), setup, flows);
        // From the transmission of the first packet on. A sender's extra delay applies to the answers that it receives.
        let heard = (marked - 1) * full() + way() + answer_ns(CNP_BYTES) + extra_delay_ns;
        let at_full_rate = heard / full() + 1;
        let sent_last = at_full_rate * full() + (packets - 1 - at_full_rate) * 2 * full();
        assert_eq!(fct(&outcome, 0), extra_delay_ns + sent_last + way());
        assert_eq!((outcome.flows[0].marked, outcome.flows[0].sender.ecn_reductions), (1, 1));
    }
}

/// Oracle: a model of one sender, written from the paper, with the rate in floating point. All packets are marked.
#[test]
fn notifications_come_once_per_interval_and_set_the_rate() {
    let (packets, slowest) = (300, 100e6_f64);
    let mut config = config();
    config.transport.dcqcn.as_mut().unwrap().min_rate_bps = slowest as u64;
    let outcome = scripted(&config, packets, "mark", &(1..=packets).collect::<Vec<_>>());

    let (line, g, interval, timer) = (GBPS as f64, 1.0 / 256.0, 50_000.0, 55_000.0);
    let (mut rate, mut target, mut alpha, mut since, mut rounds, mut decays) = (line, line, 1.0, f64::MAX, 0.0, 0.0);
    let (mut notified, mut heard, mut count) = (f64::MIN, Vec::<f64>::new(), 0);
    let mut send = 0.0;
    for packet in 0..packets {
        while heard.first().is_some_and(|&time| time <= send) || since + timer * (rounds + 1.0) <= send {
            let time = heard.first().copied().unwrap_or(f64::MAX);
            if since + timer * (rounds + 1.0) < time {
                assert!(rounds < 5.0, "fast recovery only");
                (rate, rounds) = ((rate + target) / 2.0, rounds + 1.0);
            } else {
                while since + timer * (decays + 1.0) <= time {
                    (alpha, decays) = (alpha * (1.0 - g), decays + 1.0);
                }
                target = rate;
                rate = slowest.max(rate * (1.0 - alpha / 2.0));
                alpha = (1.0 - g) * alpha + g;
                (since, rounds, decays) = (time, 0.0, 0.0);
                heard.remove(0);
            }
        }
        let arrival = send + way() as f64;
        if arrival - notified >= interval {
            notified = arrival;
            count += 1;
            heard.push(arrival + answer_ns(CNP_BYTES) as f64);
        }
        if packet + 1 < packets {
            send += full() as f64 * line / rate;
        }
    }
    // Notifications that the sender has not handled when the last packet arrives do not count.
    let unheard = heard.iter().filter(|&&time| time > send + way() as f64).count();
    assert_eq!(outcome.flows[0].sender.ecn_reductions, count - unheard as u64);
    let expected = send + way() as f64;
    // The simulator rounds gaps to whole ns, and rates to whole bit/s.
    assert!((fct(&outcome, 0) as f64 - expected).abs() < 2.0 * packets as f64, "{} {expected}", fct(&outcome, 0));
    assert_eq!(outcome.flows[0].marked, packets);
    assert!(expected > 5.0 * (packets * full()) as f64, "the rate was low");
}

/// Oracle: the packet behind the lost one makes the responder send a NACK; the sender goes back with its next packet.
#[test]
fn a_loss_is_sent_again_with_all_that_follows() {
    let packets = 40;
    for lost in [1, 5, 20] {
        let outcome = scripted(&config(), packets, "drop", &[lost]);
        let heard = lost * full() + way() + answer_ns(ACK_BYTES);
        let sent_before = heard.div_ceil(full());
        let sent_last = (sent_before + packets - lost) * full();
        assert_eq!(fct(&outcome, 0), sent_last + way(), "{lost}");
        let sender = outcome.flows[0].sender;
        assert_eq!((sender.fast_recoveries, sender.timeouts), (1, 0));
        assert_eq!(sender.retransmissions, sent_before + 1 - lost);
        assert_eq!(frames_from(&outcome, 0), packets + sender.retransmissions);
    }
}

/// No packet behind the last one shows its loss, and a lost NACK is not repeated.
#[test]
fn the_timeout_repairs_what_nothing_tells_of() {
    let mut config = config();
    config.transport.min_rto_ns = 5 * MS;
    let outcome = scripted(&config, 10, "drop", &[10]);
    let acknowledged = 8 * full() + way() + answer_ns(ACK_BYTES);
    assert_eq!(fct(&outcome, 0), acknowledged + 5 * MS + way());
    assert_eq!((outcome.flows[0].sender.timeouts, outcome.flows[0].sender.retransmissions), (1, 1));

    // The only NACK is lost: the switch drops the fourth packet on the way back, after acknowledgements of 1 to 3.
    let setup = |state: &mut _| {
        script(state, "drop", 1, [4]);
        script(state, "drop", 0, [4]);
    };
    let outcome = run(&config, &Program::of("scripted"), setup, vec![flow(0, 0, 1, 10 * MSS)]);
    let acknowledged = 2 * full() + way() + answer_ns(ACK_BYTES);
    assert_eq!(fct(&outcome, 0), acknowledged + 5 * MS + 6 * full() + way());
    assert_eq!((outcome.flows[0].sender.timeouts, outcome.flows[0].sender.fast_recoveries), (1, 0));
}

/// Two senders of 10 Gb/s with the paper's marking; the second begins later. Each gets half of the line.
#[test]
fn two_flows_come_to_fair_shares() {
    let mut config = star(&[(10 * GBPS, 2 * US); 3], QueueLimit::Packets(10_000), Control::Dcqcn);
    config.stop_ns = 200 * MS;
    config.trace_flows_ns = Some(MS);
    let flows = vec![flow(0, 0, 2, 1 << 40), flow(20 * MS, 1, 2, 1 << 40)];
    // K_min 5 KB, K_max 200 KB, P_max 1 %, of the instantaneous queue: slope in 2^-32 per packet.
    let (min, max) = (3, 133);
    let slope = (1u64 << 32) / 100 / (max - min);
    let params = [("min_pkts", min), ("max_pkts", max), ("slope_q32", slope), ("weight_shift", 0), ("mark_above", 1)];
    let outcome = run(&config, &Program::of("red"), |state| set_params(state, &params), flows);
    assert_eq!(outcome.ledger.total(), 0);
    let rows = outcome.flow_trace.as_ref().unwrap().rows();
    let late = |flow: u32| {
        let rows = rows.iter().filter(move |row| row.flow == flow && row.time.nanos() >= 100 * MS);
        rows.map(|row| row.bytes)
    };
    let rates = [0, 1].map(|flow| late(flow).sum::<u64>() as f64 * 8.0 / 0.1);
    let payload = MSS as f64 / wire_bytes(MSS) as f64 * 10e9;
    assert!((rates[0] + rates[1]) / payload > 0.9, "{rates:?}");
    let share = rates[0] / (rates[0] + rates[1]);
    assert!((0.4..0.6).contains(&share), "{rates:?}");
}

#[test]
fn rates_that_cannot_be_are_refused() {
    let refused = |change: fn(&mut Config)| {
        let mut config = config();
        change(&mut config);
        build(&config, &Program::of("droptail"), |_| (), vec![flow(0, 0, 1, 1)]).err().unwrap().to_string()
    };
    assert!(refused(|config| config.transport.dcqcn = None).contains("DCQCN needs rates"));
    assert!(refused(|config| config.transport.control = Control::Dctcp).contains("other transports must have none"));
    assert!(refused(|config| config.transport.dcqcn.as_mut().unwrap().alpha_timer_ns = 0).contains("above 0"));
    assert!(refused(|config| config.transport.dcqcn.as_mut().unwrap().min_rate_bps = 0).contains("above 0"));
    assert!(refused(|config| config.transport.dcqcn.as_mut().unwrap().min_rate_bps = 2 * GBPS).contains("of a line"));
    assert!(refused(|config| config.transport.min_rto_ns = US).contains("longer than the timeout"));
}

fn flows(hosts: usize) -> impl Strategy<Value = Vec<Flow>> {
    let size = prop_oneof![1..4_000u64, 1..150_000u64];
    let one = (0..2_000_000u64, 0..hosts, 1..hosts, size, 0..30_000u64, any::<bool>());
    let one = one.prop_map(move |(start_ns, src, step, size_bytes, extra_delay_ns, slow)| Flow {
        extra_delay_ns,
        rate_bps: if slow { GBPS / 5 } else { 0 },
        ..flow(start_ns, src, (src + step) % hosts, size_bytes)
    });
    prop::collection::vec(one, 1..12).prop_map(|mut flows| {
        flows.sort_by_key(|flow| flow.start_ns);
        flows
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    /// With any losses in both directions, by decision and in full queues, every byte is delivered exactly once.
    #[test]
    fn every_flow_is_delivered_exactly_once(
        flows in flows(4),
        queue in 1..40u64,
        fresh in any::<bool>(),
        ack_every in 1..4u32,
        drops in prop::collection::vec(prop::collection::btree_set(1..80u64, 0..12), 4),
        marks in prop::collection::btree_set(1..80u64, 0..12),
    ) {
        let hosts = [(10 * GBPS, 5 * US), (GBPS, 5 * US), (10 * GBPS, US), (2 * GBPS, 50 * US)];
        let mut config = star(&hosts, QueueLimit::Packets(queue), Control::Dcqcn);
        config.transport.ack_every_segments = ack_every;
        if fresh {
            config.connections = Connections::New;
        }
        config.trace_flows_ns = Some(100 * US);
        let outcome = run(&config, &Program::of("scripted"), |state| {
            for (port, drops) in drops.iter().enumerate() {
                script(state, "drop", port as u64, drops.iter().copied());
                script(state, "mark", port as u64, marks.difference(drops).copied());
            }
        }, flows.clone());
        for (record, flow) in outcome.flows.iter().zip(&flows) {
            prop_assert!(record.fct.is_some());
            prop_assert_eq!(record.delivered_bytes, flow.size_bytes);
        }
        // Bytes delivered in order add up to the size of each flow, so no byte counts twice.
        let rows = outcome.flow_trace.as_ref().unwrap().rows();
        for (number, flow) in flows.iter().enumerate() {
            let delivered: u64 = rows.iter().filter(|row| row.flow == number as u32).map(|row| row.bytes).sum();
            prop_assert_eq!(delivered, flow.size_bytes);
        }
        let known = [Reason::Switch(Loss::QueueFull), Reason::Switch(Loss::Egress)];
        prop_assert!(outcome.ledger.iter().all(|(_, _, reason, _)| known.contains(&reason)));
        // Sent frames are first transmissions, retransmissions, or answers.
        let packets: u64 = flows.iter().map(|flow| flow.size_bytes.div_ceil(MSS)).sum();
        let again: u64 = outcome.flows.iter().map(|flow| flow.sender.retransmissions).sum();
        let sent: u64 = (0..4).map(|host| frames_from(&outcome, host)).sum();
        prop_assert!(flows.iter().any(|flow| flow.rate_bps > 0) || sent >= packets + again);
    }
}
