// SPDX-License-Identifier: MIT OR Apache-2.0
//! Priorities by bytes that a flow has sent (PIAS): tags in captures against a count of thresholds, and their effect in
//! strict-priority queues.

use std::cell::Cell;

use marklab_netsim::{Config, Connections, Control, Flow, Outcome, Pias, QueueLimit, Round};
use proptest::prelude::*;

use crate::determinism::described;
use crate::pcap::{self, Captured};
use crate::queues::{self, FRAME};
use crate::support::*;

fn pias(thresholds_bytes: &[u64]) -> Option<Pias> {
    Some(Pias { thresholds_bytes: thresholds_bytes.to_vec() })
}

/// Two hosts, with a capture at the sender and queues of 30 packets.
fn config(thresholds: &[u64], connections: Connections, name: &str) -> Config {
    let mut config = star(&[(10 * GBPS, 10 * US), (GBPS, 10 * US)], QueueLimit::Packets(30), Control::Dctcp);
    (config.pias, config.connections) = (pias(thresholds), connections);
    capture_host(&mut config, 0, name);
    config
}

fn run_marked(config: &Config, flows: Vec<Flow>) -> Outcome {
    run(config, &Program::of("dctcp-red"), |state| set_params(state, &[("k_pkts", 10)]), flows)
}

/// The code point of a packet whose flow has sent `sent_before` bytes before.
fn expected(thresholds: &[u64], sent_before: u64) -> u8 {
    thresholds.iter().filter(|&&threshold| sent_before <= threshold).count() as u8
}

/// Data packets of the sender: stream offset and code point.
fn data(frames: &[Captured]) -> Vec<(u64, u8)> {
    let data: Vec<_> = frames.iter().filter(|frame| frame.src == ip(0) && frame.payload > 0).collect();
    let first = data[0].sequence;
    data.iter().map(|frame| (frame.sequence.wrapping_sub(first).into(), frame.dscp)).collect()
}

fn captured(config: &Config) -> Vec<Captured> {
    pcap::read(&config.captures[0].path)
}

/// The third packet has 2 MSS before it: it is demoted if the threshold is one byte less.
#[test]
fn a_packet_beyond_the_threshold_by_one_byte_is_demoted() {
    for (threshold, third) in [(2 * MSS - 1, 0), (2 * MSS, 1), (2 * MSS + 1, 1)] {
        let config = config(&[threshold], Connections::New, &format!("pias-{threshold}"));
        run_marked(&config, vec![flow(0, 0, 1, 4 * MSS)]);
        let tags: Vec<_> = data(&captured(&config)).iter().map(|&(_, dscp)| dscp).collect();
        assert_eq!(tags, [1, 1, third, 0], "threshold {threshold}");
    }
}

#[test]
fn what_carries_no_data_has_the_highest_priority() {
    let request_bytes = 300;
    for (connections, name) in [(Connections::New, "new"), (Connections::Asked { request_bytes }, "asked")] {
        let config = config(&[1, 100_000, 200_000], connections, &format!("pias-control-{name}"));
        run_marked(&config, vec![flow(0, 0, 1, 300_000), flow(20 * MS, 0, 1, 1)]);
        let frames = captured(&config);
        let others: Vec<_> = frames.iter().filter(|frame| frame.src == ip(1) || frame.payload == 0).collect();
        assert!(others.len() > 200 && others.iter().any(|frame| frame.fin) && others.iter().any(|frame| frame.syn));
        assert!(others.iter().all(|frame| frame.dscp == 3), "{name}");
    }
}

/// Segments that the switch drops are retransmitted with the same tag.
#[test]
fn what_is_sent_again_keeps_its_priority() {
    let thresholds = [5 * MSS, 20 * MSS];
    let config = config(&thresholds, Connections::Persistent { per_pair: 1 }, "pias-again");
    let outcome = run(
        &config,
        &Program::of("scripted"),
        |state| script(state, "drop", 1, [3, 15]),
        vec![flow(0, 0, 1, 40 * MSS)],
    );
    assert_eq!(outcome.flows[0].sender.retransmissions, 2);
    let sent = data(&captured(&config));
    assert_eq!(sent.len(), 42);
    assert!(sent.windows(2).any(|pair| pair[1].1 > pair[0].1), "a packet sent again overtakes");
    for (offset, dscp) in sent {
        assert_eq!(dscp, expected(&thresholds, offset), "at {offset}");
    }
}

/// On a persistent connection, each flow begins with the highest priority.
#[test]
fn a_flow_begins_anew_on_a_connection_that_carried_another() {
    let thresholds = [10 * MSS];
    let config = config(&thresholds, Connections::Persistent { per_pair: 1 }, "pias-anew");
    let size = 25 * MSS + 7;
    let outcome = run_marked(&config, vec![flow(0, 0, 1, size), flow(50 * MS, 0, 1, size)]);
    let sent = data(&captured(&config));
    assert_eq!(sent.last(), Some(&(2 * size - 7, 0)), "one connection carries both");
    for (offset, dscp) in sent {
        assert_eq!(dscp, expected(&thresholds, offset % size), "at {offset}");
    }
    let priorities = outcome.priorities.unwrap();
    assert_eq!(priorities.iter().map(|each| each.sent).collect::<Vec<_>>(), [2 * 11, 2 * 15]);
}

/// For a slow application, the bytes sent so far count, not the size of the flow.
#[test]
fn a_slow_application_is_demoted_by_what_it_has_sent() {
    let thresholds = [3 * MSS, 6 * MSS];
    let config = config(&thresholds, Connections::Persistent { per_pair: 1 }, "pias-slow");
    run_marked(&config, vec![Flow { rate_bps: 100_000_000, ..flow(0, 0, 1, 12 * MSS) }]);
    let sent = data(&captured(&config));
    assert_eq!(sent.len(), 12);
    for (offset, dscp) in sent {
        assert_eq!(dscp, expected(&thresholds, offset), "at {offset}");
    }
}

/// A long flow has a standing queue in the lower level. A short flow waits only for the frame under way.
#[test]
fn a_short_flow_overtakes_a_long_one() {
    let (segments, start) = (5, 500 * US + 7);
    let fct_behind_long = |thresholds: &[u64]| {
        let mut config = queues::config(2, Round::Deficit, &[(0, FRAME), (1, FRAME)], None);
        config.pias = pias(thresholds);
        config.transport.initial_window_segments = 100;
        let flows = vec![flow(0, 0, 2, 100 * MSS), flow(start, 1, 2, segments * MSS)];
        fct(&queues::run_all(&config, flows), 1)
    };
    let (delay, at_4g) = (10 * US, at_1g(MSS) / 4);
    // Frames of the long flow leave back to back on the second line, from the arrival of the first on.
    let (first, arrival) = (at_4g + delay, start + at_4g + delay);
    let begin = first + (arrival - first).div_ceil(at_1g(MSS)) * at_1g(MSS);
    assert_eq!(fct_behind_long(&[10 * MSS]), begin + segments * at_1g(MSS) + delay - start);
    // With one level, it waits behind the whole long flow.
    assert_eq!(fct_behind_long(&[]), first + (100 + segments) * at_1g(MSS) + delay - start);
}

#[test]
fn one_level_is_a_run_without_priorities() {
    let flows = || (0..20).map(|number| flow(number * 40 * US, 0, 1, 1 + number * 9_973)).collect();
    let outcome = |pias: Option<Pias>, name| {
        let config = Config { pias, ..config(&[], Connections::New, name) };
        let mut outcome = run_marked(&config, flows());
        let priorities = outcome.priorities.take();
        (described(&outcome), captured(&config), priorities)
    };
    let (plain, tagged) = (outcome(None, "pias-plain"), outcome(pias(&[]), "pias-one"));
    assert_eq!((&plain.0, &plain.1), (&tagged.0, &tagged.1));
    assert_eq!(plain.2, None);
    let data = plain.1.iter().filter(|frame| frame.src == ip(0) && frame.payload > 0).count() as u64;
    assert_eq!(tagged.2.unwrap()[0].sent, data);
}

/// Marks by priority add up to the marks of ports.
#[test]
fn marks_are_counted_by_priority() {
    let config = config(&[20 * MSS, 60 * MSS], Connections::New, "pias-marks");
    let outcome = run_marked(&config, vec![flow(0, 0, 1, 300 * MSS)]);
    let priorities = outcome.priorities.unwrap();
    let marked: u64 = priorities.iter().map(|each| each.marked).sum();
    assert_eq!(marked, outcome.switches[0].ports.iter().map(|port| port.marked).sum::<u64>());
    assert!(priorities[2].marked > priorities[0].marked, "{priorities:?}");
    assert!(priorities.iter().all(|each| each.marked <= each.sent), "{priorities:?}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]

    /// Priorities of first transmissions never rise. With or without losses, every packet has the tag that a count
    /// gives.
    #[test]
    fn priorities_of_a_flow_never_rise(
        thresholds in prop::collection::btree_set(1u64..400_000, 0..8),
        size in 1u64..500_000,
    ) {
        thread_local!(static RUN: Cell<u32> = const { Cell::new(0) });
        let thresholds: Vec<_> = thresholds.into_iter().collect();
        let config = config(&thresholds, Connections::New, &format!("pias-any-{}", RUN.replace(RUN.get() + 1)));
        run_marked(&config, vec![flow(0, 0, 1, size)]);
        let (mut next, mut before) = (0, u8::MAX);
        for (offset, dscp) in data(&captured(&config)) {
            prop_assert_eq!(dscp, expected(&thresholds, offset));
            if offset == next {
                prop_assert!(dscp <= before);
                (next, before) = (next + MSS, dscp);
            }
        }
        prop_assert!(next >= size);
    }
}

#[test]
fn what_cannot_be_is_refused() {
    let refused = |change: &dyn Fn(&mut Config), flow: Flow| {
        let mut config = star(&[(GBPS, US); 2], QueueLimit::Packets(30), Control::Dctcp);
        config.pias = pias(&[MSS, 2 * MSS]);
        change(&mut config);
        build(&config, &Program::of("droptail"), |_| (), vec![flow]).err().map(|error| error.to_string())
    };
    let plain = flow(0, 0, 1, 1);
    assert_eq!(refused(&|_| (), plain), None);
    let most: Vec<_> = (1..=63).collect();
    assert_eq!(refused(&|config| config.pias = pias(&most), plain), None);
    let many: Vec<_> = (1..=64).collect();
    for (problem, why) in [
        (refused(&|config| config.pias = pias(&[0, MSS]), plain), "above 0"),
        (refused(&|config| config.pias = pias(&[MSS, MSS]), plain), "each above the one before"),
        (refused(&|config| config.pias = pias(&many), plain), "64 code points"),
        (refused(&|config| config.transport = transport(Control::Dcqcn), plain), "queue pairs do not tag"),
        (refused(&|_| (), Flow { dscp: 1, ..plain }), "no code points of their own"),
    ] {
        assert!(problem.as_ref().is_some_and(|problem| problem.contains(why)), "{problem:?} is not `{why}`");
    }
}
