// SPDX-License-Identifier: MIT OR Apache-2.0
//! One-way delays as hosts measure them, and how senders react to them.

use marklab_netsim::{Config, Control, Outcome, QueueLimit, Transport};

use crate::support::*;

const DELAY: u64 = 20 * US;
/// A threshold that no queue reaches: the largest value that the program accepts.
const NEVER: u64 = (1 << 19) - 1;
/// Payload of a full segment with the option that measures delays.
const PAYLOAD: u64 = MSS - 8;

fn hearing(control: Control, threshold_ns: u64, hosts: &[(u64, u64)]) -> Config {
    let transport = Transport { delay_threshold_ns: Some(threshold_ns), ..transport(control) };
    Config { transport, ..star(hosts, QueueLimit::Packets(1000), control) }
}

/// ns that a full frame takes on a line of 1 Gb/s: the same with the option and less payload as without it.
fn full_frame() -> u64 {
    (MSS + 54 + 24) * 8
}

#[test]
fn the_base_delay_is_that_of_the_lines_whatever_a_host_adds() {
    for extra_delay_ns in [0, 80 * US] {
        let config = hearing(Control::Ear, 100 * US, &[(GBPS, DELAY); 2]);
        let flows = vec![marklab_netsim::Flow { extra_delay_ns, ..flow(0, 0, 1, 30 * PAYLOAD) }];
        let outcome = run(&config, &Program::of("droptail"), |_| (), flows);
        let base = outcome.flows[0].base_delay.map(|delay| delay.nanos());
        assert_eq!(base, Some(2 * (full_frame() + DELAY)));
    }
}

/// Two connections that find a queue: one is open before the run and was told the base delay, the other, which takes
/// the first one's place when that is busy, learns it behind the queue. The last segment is short, and faster.
#[test]
fn only_connections_that_are_open_before_the_run_know_the_base_delay() {
    let base_delay_ns = 2 * (full_frame() + DELAY);
    for told_ns in [0, base_delay_ns] {
        let config = hearing(Control::Ear, 100 * US, &[(GBPS, DELAY); 3]);
        let late = |start_ns| marklab_netsim::Flow { base_delay_ns: told_ns, ..flow(start_ns, 0, 2, 20 * PAYLOAD + 1) };
        let flows = vec![flow(0, 1, 2, 1000 * PAYLOAD), late(5 * MS), late(5 * MS)];
        let outcome = run(&config, &Program::of("droptail"), |_| (), flows);
        let [open, opened] = [1, 2].map(|number| outcome.flows[number].base_delay.unwrap().nanos());
        assert_eq!(open == base_delay_ns, told_ns > 0, "{open}");
        assert!(opened > base_delay_ns, "{opened}");
    }
}

#[test]
fn transports_that_do_not_hear_delays_measure_none() {
    let config = star(&[(GBPS, DELAY); 2], QueueLimit::Packets(1000), Control::Dctcp);
    let outcome = run(&config, &Program::of("droptail"), |_| (), vec![flow(0, 0, 1, 3 * MSS)]);
    assert_eq!(outcome.flows[0].base_delay, None);
}

/// Two long flows to host 2, whose queue is traced.
fn contend(control: Control, threshold_ns: u64, k_packets: u64) -> Outcome {
    let mut config = hearing(control, threshold_ns, &[(GBPS, DELAY); 3]);
    trace_queue(&mut config, 2);
    config.stop_ns = 300 * MS;
    let flows = vec![flow(0, 0, 2, 1 << 40), flow(0, 1, 2, 1 << 40)];
    run(&config, &Program::of("dctcp-red"), |state| set_params(state, &[("k_pkts", k_packets)]), flows)
}

/// Time-weighted mean of the queue from 100 ms on, in packets.
fn mean_queue(outcome: &Outcome) -> f64 {
    let rows = outcome.traces[0].port().rows();
    let (mut area, mut time) = (0.0, 0.0);
    for pair in rows.windows(2).filter(|pair| pair[0].time.nanos() >= 100 * MS) {
        let span = (pair[1].time.nanos() - pair[0].time.nanos()) as f64;
        area += span * pair[0].last.packets as f64;
        time += span;
    }
    area / time
}

/// With one bottleneck, a queue of K packets and the delay that it causes are equivalent signals (EAR, section 3.1).
#[test]
fn one_queue_is_controlled_by_its_delay_as_by_its_length() {
    let k = 40;
    let by_marks = mean_queue(&contend(Control::Dctcp, 1, k));
    let by_delay = mean_queue(&contend(Control::DelayDctcp, k * full_frame(), NEVER));
    assert!((by_delay / by_marks - 1.0).abs() < 0.15, "{by_marks} {by_delay}");
    assert!((15.0..45.0).contains(&by_marks), "{by_marks}");
}

#[test]
fn ear_keeps_to_the_lower_of_its_signals() {
    let (high, low) = (120, 30);
    let by_marks = mean_queue(&contend(Control::Ear, high * full_frame(), low));
    let by_delay = mean_queue(&contend(Control::Ear, low * full_frame(), high));
    let by_delay_alone = mean_queue(&contend(Control::Ear, low * full_frame(), NEVER));
    assert!((by_delay / by_marks - 1.0).abs() < 0.2, "{by_marks} {by_delay}");
    assert_eq!(by_delay, by_delay_alone, "the queue never reaches the marking threshold");
    assert!(mean_queue(&contend(Control::Ear, high * full_frame(), NEVER)) > 2.0 * by_delay);
}

#[test]
fn delay_based_dctcp_is_not_ecn_capable() {
    let outcome = contend(Control::DelayDctcp, 40 * full_frame(), 1);
    assert!(outcome.flows.iter().all(|flow| flow.marked == 0 && flow.sender.ecn_reductions > 0));
    let outcome = contend(Control::Ear, 40 * full_frame(), 1);
    assert!(outcome.flows.iter().all(|flow| flow.marked > 0));
}

#[test]
fn a_transport_that_hears_delays_needs_a_threshold() {
    for threshold in [None, Some(0)] {
        let mut config = hearing(Control::Ear, 1, &[(GBPS, DELAY); 2]);
        config.transport.delay_threshold_ns = threshold;
        let error = build(&config, &Program::of("droptail"), |_| (), vec![flow(0, 0, 1, 1)]).err().unwrap();
        assert!(error.to_string().contains("threshold above 0"), "{error}");
    }
    let mut config = hearing(Control::Ear, 1, &[(GBPS, DELAY); 2]);
    config.transport.mss_bytes = 8;
    let error = build(&config, &Program::of("droptail"), |_| (), vec![flow(0, 0, 1, 1)]).err().unwrap();
    assert!(error.to_string().contains("no room"), "{error}");
}
