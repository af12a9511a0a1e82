// SPDX-License-Identifier: MIT OR Apache-2.0
//! Queues sampled at fixed intervals, and round trips that TCP measures.

use marklab_netsim::{Config, Control, QueueLimit, SampleQueues};

use crate::support::*;

const DELAY: u64 = 20 * US;

fn sampled(interval_ns: u64, until_ns: u64) -> Config {
    let sample_queues = Some(SampleQueues { interval_ns, until_ns });
    Config { sample_queues, ..star(&[(GBPS, DELAY); 3], QueueLimit::Packets(1000), Control::Reno) }
}

#[test]
fn every_port_is_looked_at_in_each_interval_up_to_the_end() {
    for (until_ns, looks) in [(999 * US, 10), (MS, 11), (1_001 * US, 11)] {
        let outcome = run(&sampled(100 * US, until_ns), &Program::of("droptail"), |_| (), vec![flow(0, 0, 2, 1 << 20)]);
        let samples = outcome.queue_samples.unwrap();
        assert_eq!(
            samples.ports.iter().map(|port| (port.node, port.port)).collect::<Vec<_>>(),
            [(3, 0), (3, 1), (3, 2)]
        );
        assert!(samples.ports.iter().all(|port| port.seen.iter().sum::<u64>() == looks), "{until_ns}");
    }
}

/// Oracle: the record of every change of the queue.
#[test]
fn what_is_seen_is_what_a_trace_holds() {
    let interval = 10 * US;
    let mut config = sampled(interval, 40 * MS);
    trace_queue(&mut config, 2);
    config.stop_ns = 40 * MS;
    let flows = vec![flow(0, 0, 2, 1 << 40), flow(0, 1, 2, 1 << 40)];
    let outcome = run(&config, &Program::of("droptail"), |_| (), flows);
    let rows = outcome.traces[0].port().rows();
    let mut expected = vec![0; 1001];
    for look in 0..=40 * MS / interval {
        let before = rows.partition_point(|row| row.time.nanos() < look * interval);
        expected[if before == 0 { 0 } else { rows[before - 1].last.packets as usize }] += 1;
    }
    let mut seen = outcome.queue_samples.unwrap().ports.remove(2).seen;
    seen.resize(1001, 0);
    // A change at the time of a sample may be processed before or after the sample.
    let apart: u64 = seen.iter().zip(&expected).map(|(&seen, &expected): (&u64, &u64)| seen.abs_diff(expected)).sum();
    assert!(apart <= 80, "{apart} of {} looks", 40 * MS / interval);
    assert!(seen.iter().skip(50).sum::<u64>() > 1000);
}

/// Before the line of the receiver wait the packets of as many flows as have sent so far, and acknowledgements are flows of
/// their own.
#[test]
fn flows_are_counted_once_while_their_packets_wait() {
    let mut config = sampled(10 * US, 9 * MS);
    config.stop_ns = 9 * MS;
    let flows = vec![flow(0, 0, 2, 1 << 40), flow(3 * MS, 1, 2, 1 << 40), flow(6 * MS, 0, 2, 1 << 40)];
    let ports = run(&config, &Program::of("droptail"), |_| (), flows).queue_samples.unwrap().ports;
    let receiver = &ports[2];
    assert_eq!(receiver.flows.iter().sum::<u64>(), 901);
    assert_eq!(receiver.flows[0], receiver.seen[0], "where nothing waits, no flow waits");
    // One flow alone does not fill a line that is as fast as its own.
    assert!(receiver.flows[2] > 200 && receiver.flows[3] > 100, "{:?}", receiver.flows);
    assert_eq!(receiver.flows.len(), 4);
    assert!(ports[0].flows.len() <= 3, "acknowledgements of two connections: {:?}", ports[0].flows);
}

#[test]
fn an_interval_of_0_is_refused() {
    let error = build(&sampled(0, MS), &Program::of("droptail"), |_| (), vec![flow(0, 0, 2, 1)]).err().unwrap();
    assert!(error.to_string().contains("must be above 0"), "{error}");
}

#[test]
fn round_trips_and_windows_are_those_of_the_lines() {
    let config = star(&[(GBPS, DELAY); 2], QueueLimit::Packets(1000), Control::Reno);
    let outcome = run(&config, &Program::of("droptail"), |_| (), vec![flow(0, 0, 1, MSS), flow(MS, 0, 1, MSS)]);
    let (data, ack) = ((MSS + 78) * 8, 84 * 8);
    let rtt = 2 * (data + DELAY) + 2 * (ack + DELAY);
    // The run ends before the acknowledgement of the second flow arrives.
    assert_eq!(outcome.flows.iter().map(|flow| flow.sender.rtt_samples).collect::<Vec<_>>(), [1, 0]);
    assert_eq!(outcome.rtts.len(), 1);
    let found = outcome.rtts.max();
    assert!(found.abs_diff(rtt) * 100 <= rtt, "{found} {rtt}");
}
