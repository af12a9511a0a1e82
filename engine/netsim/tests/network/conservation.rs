// SPDX-License-Identifier: MIT OR Apache-2.0
//! Conservation: packets and bytes are neither created nor lost without account, for any flows, queues and transports.

use std::collections::BTreeMap;

use marklab_netsim::{Config, Connections, Control, Discipline, Flow, Nic, Outcome, QueueLimit, Reason};
use marklab_switch::Loss;
use proptest::prelude::*;

use crate::pcap::{self, Captured};
use crate::support::*;

const HOSTS: usize = 4;
/// Longer than any flow takes: the first five timeouts last 10, 20, 40, 80 and 160 ms.
const LATE: u64 = 1_000_000 * MS;

/// Losses by reason.
fn losses(outcome: &Outcome) -> BTreeMap<Reason, u64> {
    let mut losses = BTreeMap::new();
    for (_, _, reason, packets) in outcome.ledger.iter() {
        *losses.entry(reason).or_default() += packets;
    }
    losses
}

/// Bytes received by a host, each counted once, by the source of the connection.
fn bytes_received(frames: &[Captured], host: usize) -> BTreeMap<(u32, u16), u64> {
    let mut ranges: BTreeMap<(u32, u16), Vec<(u32, u32)>> = BTreeMap::new();
    for frame in frames.iter().filter(|frame| frame.dst == ip(host) && frame.payload > 0) {
        ranges.entry((frame.src, frame.src_port)).or_default().push((frame.sequence, frame.end()));
    }
    let total = |mut ranges: Vec<(u32, u32)>| {
        ranges.sort_unstable();
        let (mut end, mut bytes) = (0, 0);
        for (from, to) in ranges {
            bytes += u64::from(to.max(end) - from.max(end));
            end = end.max(to);
        }
        bytes
    };
    ranges.into_iter().map(|(connection, ranges)| (connection, total(ranges))).collect()
}

/// Checks a run of `flows`; the last one starts after all others have ended and the network is idle.
fn check(config: &Config, outcome: &Outcome, flows: &[Flow], frames: &[Vec<Captured>]) -> Result<(), TestCaseError> {
    let switch = switch_of(config);
    let losses = losses(outcome);
    let lost = |reason| losses.get(&reason).copied().unwrap_or(0);
    prop_assert!(outcome.flows.iter().all(|flow| flow.fct.is_some()), "not all flows finished");

    // The run ends the shortest latency of a line after the arrival of the last flow's last segment. Its answer is on the
    // first or on the second line then, unless it is delayed.
    let in_flight = match config.connections {
        Connections::Persistent { .. } if config.transport.ack_every_segments > 1 => 0,
        _ => 1,
    };
    let sent: u64 = (0..HOSTS).map(|host| frames_from(outcome, host)).sum();
    let ports = &outcome.switches[0].ports;
    let enqueued: u64 = ports.iter().map(|port| port.queue.enqueued).sum();
    let dropped: u64 = ports.iter().map(|port| port.queue.dropped).sum();
    let forwarded: u64 = outcome.lines.iter().filter(|line| line.from.0 == switch).map(|line| line.stats.frames).sum();
    let received: u64 = (0..HOSTS).map(|host| frames[host].iter().filter(|f| f.dst == ip(host)).count() as u64).sum();
    prop_assert_eq!(dropped, lost(Reason::Switch(Loss::QueueFull)));
    let [to_switch, to_host] = [sent - enqueued - dropped, forwarded - received];
    prop_assert_eq!(enqueued, forwarded + lost(Reason::Switch(Loss::Egress)), "out of the switch");
    prop_assert_eq!(to_switch + to_host, in_flight, "{} to the switch", to_switch);
    let known = [Reason::NicFull, Reason::Switch(Loss::QueueFull), Reason::Switch(Loss::Egress)];
    prop_assert!(losses.keys().all(|reason| known.contains(reason)), "{losses:?}");
    // The answer has left its transmitter, or not.
    let all = sent + forwarded;
    prop_assert!((all - in_flight..=all).contains(&outcome.link_transmissions), "{}", outcome.link_transmissions);

    // Every byte is delivered exactly once.
    let mut expected = [0; HOSTS];
    for flow in flows {
        expected[flow.dst] += flow.size_bytes;
    }
    for (host, frames) in frames.iter().enumerate() {
        let streams = bytes_received(frames, host);
        prop_assert_eq!(streams.values().sum::<u64>(), expected[host], "host {}", host);
        if config.connections == Connections::New {
            let mut sizes: Vec<u64> =
                flows.iter().filter(|flow| flow.dst == host).map(|flow| flow.size_bytes).collect();
            let mut streams: Vec<u64> = streams.into_values().collect();
            sizes.sort_unstable();
            streams.sort_unstable();
            prop_assert_eq!(streams, sizes);
        }
        // Packets that are never ECN capable are never marked.
        let without_ecn = matches!(config.transport.control, Control::Reno | Control::Cubic);
        prop_assert!(!without_ecn || frames.iter().all(|frame| (frame.ecn, frame.ece, frame.cwr) == (0, false, false)));
    }
    Ok(())
}

fn flows() -> impl Strategy<Value = Vec<Flow>> {
    let one =
        (0..2_000_000u64, 0..HOSTS, 1..HOSTS, prop_oneof![1..4_000u64, 1..150_000u64], 0..30_000u64, any::<bool>());
    let one = one.prop_map(|(start_ns, src, step, size_bytes, extra_delay_ns, slow)| Flow {
        extra_delay_ns,
        rate_bps: if slow { GBPS / 5 } else { 0 },
        ..flow(start_ns, src, (src + step) % HOSTS, size_bytes)
    });
    prop::collection::vec(one, 1..12).prop_map(|mut flows| {
        flows.sort_by_key(|flow| flow.start_ns);
        flows.push(flow(LATE, 0, 1, 1));
        flows
    })
}

fn queue() -> impl Strategy<Value = QueueLimit> {
    prop_oneof![(1..40u64).prop_map(QueueLimit::Packets), (1_600..60_000u64).prop_map(QueueLimit::Bytes)]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_packet_is_accounted_for_and_every_flow_finishes(
        flows in flows(),
        queue in queue(),
        control in prop_oneof![Just(Control::Dctcp), Just(Control::EcnStar), Just(Control::Reno), Just(Control::Cubic), Just(Control::Prague)],
        connections in prop_oneof![Just(Connections::New), (0..3u32).prop_map(|per_pair| Connections::Persistent { per_pair })],
        nic in (any::<bool>(), 5..200u64, 1_600..30_000u64),
        ack_every in 1..4u32,
        drops in prop::collection::btree_set(1..60u64, 0..8),
    ) {
        let mut config = star(&[(10 * GBPS, 5 * US), (GBPS, 5 * US), (10 * GBPS, US), (2 * GBPS, 50 * US)], queue, control);
        config.connections = connections;
        config.transport.ack_every_segments = ack_every;
        config.transport.initial_rto_ns = 10 * MS;
        let (fair, limit_packets, budget_bytes) = nic;
        let discipline = if fair { Discipline::Fair } else { Discipline::Fifo };
        config.nic = Nic { discipline, limit_packets, budget_bytes };
        config.stop_ns = 2 * LATE;
        let paths = (0..HOSTS).map(|host| capture_host(&mut config, host, &format!("conservation-{host}")));
        let paths: Vec<_> = paths.collect();
        let outcome = run(&config, &Program::of("scripted"), |state| script(state, "drop", 1, drops.iter().copied()), flows.clone());
        let frames: Vec<_> = paths.iter().map(|path| pcap::read(path)).collect();
        check(&config, &outcome, &flows, &frames)?;
    }
}

/// Packets beyond a NIC's limit are lost there, and retransmitted.
#[test]
fn a_full_nic_loses_packets_at_the_host() {
    let mut config = star(&[(GBPS, DELAY), (GBPS, DELAY)], QueueLimit::Packets(100), Control::Reno);
    const DELAY: u64 = 10 * US;
    config.nic.limit_packets = 4;
    let outcome = run(&config, &Program::of("droptail"), |_| (), vec![flow(0, 0, 1, 10 * MSS)]);
    // One is on the line and four wait.
    assert_eq!(outcome.ledger.iter().collect::<Vec<_>>(), [(0, None, Reason::NicFull, 5)]);
    assert_eq!((Reason::NicFull.place(), outcome.flows[0].sender.retransmissions), ("host", 5));
    assert!(outcome.flows[0].fct.is_some());
}
