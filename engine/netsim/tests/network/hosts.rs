// SPDX-License-Identifier: MIT OR Apache-2.0
//! Hosts: the order in which they send, the ECN fields that they set, and the packets and settings that they refuse.

use marklab_netsim::{Config, Control, Discipline, Outcome, QueueLimit, Reason, wire::Malformed};
use marklab_pipeline::State;
use marklab_switch::Loss;

use crate::pcap;
use crate::support::*;

const DELAY: u64 = 10 * US;

/// The destinations of sent segments, in order, of two simultaneous flows of a host.
fn order_of_sending(discipline: Discipline, budget_segments: u64, name: &str) -> Vec<u32> {
    let mut config = star(&[(GBPS, DELAY); 3], QueueLimit::Packets(100), Control::Dctcp);
    config.nic.discipline = discipline;
    // A segment is added while less than the budget waits.
    config.nic.budget_bytes = budget_segments * 1514;
    let path = capture_host(&mut config, 0, name);
    run(&config, &Program::of("droptail"), |_| (), vec![flow(0, 0, 1, 6 * MSS), flow(0, 0, 2, 6 * MSS)]);
    let sent = pcap::read(&path).into_iter().filter(|frame| frame.src == ip(0));
    sent.map(|frame| frame.dst - ip(0)).collect()
}

#[test]
fn a_fair_nic_takes_connections_in_turn_and_a_fifo_does_not() {
    let fair = order_of_sending(Discipline::Fair, 100, "hosts-fair");
    // The first segment leaves before the second flow starts.
    assert_eq!(fair, [1, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 2]);
    let fifo = order_of_sending(Discipline::Fifo, 100, "hosts-fifo");
    assert_eq!(fifo, [1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2]);
}

/// Like TCP small queues in Linux: the budget of a connection in the NIC limits how long others wait behind it.
#[test]
fn a_budget_below_tcp_mixes_connections_even_in_a_fifo() {
    let order = order_of_sending(Discipline::Fifo, 2, "hosts-budget");
    // One segment is on the line and two wait when the second flow begins. Then each departure admits another segment.
    assert_eq!(order, [1, 1, 1, 2, 2, 1, 1, 2, 2, 1, 2, 2]);
}

/// The extra delay of a flow lies behind the network: its segments wait in the NIC as others do.
#[test]
fn an_extra_delay_hides_nothing_from_the_budget() {
    let mut config = star(&[(GBPS, DELAY); 3], QueueLimit::Packets(100), Control::Dctcp);
    config.nic.discipline = Discipline::Fifo;
    config.nic.budget_bytes = 2 * 1514;
    let path = capture_host(&mut config, 0, "hosts-delayed-budget");
    let delayed = marklab_netsim::Flow { extra_delay_ns: 50 * US, ..flow(0, 0, 1, 6 * MSS) };
    run(&config, &Program::of("droptail"), |_| (), vec![delayed, flow(0, 0, 2, 6 * MSS)]);
    let sent = pcap::read(&path).into_iter().filter(|frame| frame.src == ip(0));
    assert_eq!(sent.map(|frame| frame.dst - ip(0)).collect::<Vec<_>>(), [1, 1, 1, 2, 2, 1, 1, 2, 2, 1, 2, 2]);
}

/// RFC 3168 section 6.1.5: retransmissions are not ECN capable. In Linux's DCTCP, they are.
#[test]
fn retransmissions_are_ecn_capable_in_dctcp_only() {
    for (control, ecn) in [(Control::Dctcp, 2), (Control::EcnStar, 0), (Control::Reno, 0)] {
        let mut config = star(&[(GBPS, DELAY); 2], QueueLimit::Packets(100), control);
        let path = capture_host(&mut config, 0, "hosts-retransmission");
        run(&config, &Program::of("scripted"), |state| script(state, "drop", 1, [2]), vec![flow(0, 0, 1, 10 * MSS)]);
        let frames = pcap::read(&path);
        let second = frames[0].sequence + MSS as u32;
        let sent: Vec<u8> = frames
            .iter()
            .filter(|frame| frame.src == ip(0) && frame.sequence == second)
            .map(|frame| frame.ecn)
            .collect();
        assert_eq!(sent.len(), 2);
        assert_eq!(sent[1], ecn, "{control:?}");
    }
}

fn broken(config: &Config, lower_ttl: u64, other_port: u64) -> Outcome {
    let params = [("lower_ttl", lower_ttl), ("other_port", other_port)];
    let setup = |state: &mut State| set_default(state, "params", "set_params", &params);
    run(config, &Program::of("broken"), setup, vec![flow(0, 0, 1, MSS)])
}

/// Hosts rely only on bytes: if a program breaks a header, packets are lost, with a reason that names the place.
#[test]
fn a_program_that_breaks_headers_loses_packets_at_hosts() {
    let mut config = star(&[(GBPS, DELAY); 2], QueueLimit::Packets(100), Control::Dctcp);
    config.stop_ns = 100 * MS;
    assert!(broken(&config, 0, 1).flows[0].fct.is_some());
    // Sent at 0, 30 and 90 ms.
    let outcome = broken(&config, 1, 1);
    let reason = Reason::Malformed(Malformed::Ipv4Checksum);
    assert_eq!(outcome.ledger.iter().collect::<Vec<_>>(), [(1, None, reason, 3)]);
    assert_eq!((outcome.flows[0].fct, outcome.flows[0].sender.timeouts, reason.place()), (None, 2, "host"));
    assert!(outcome.end.nanos() <= config.stop_ns);
}

#[test]
fn a_program_that_sends_packets_nowhere_is_told_so() {
    let mut config = star(&[(GBPS, DELAY); 2], QueueLimit::Packets(100), Control::Dctcp);
    config.stop_ns = 100 * MS;
    let no_port = broken(&config, 0, 2);
    assert_eq!(no_port.ledger.iter().collect::<Vec<_>>(), [(2, None, Reason::Switch(Loss::NoPort), 3)]);
    // Back to the sender, which has no connection for these packets.
    let back = broken(&config, 0, 0);
    assert_eq!(back.ledger.iter().collect::<Vec<_>>(), [(0, None, Reason::NoConnection, 3)]);
    // A port without a link.
    config.links.pop();
    config.links.push(marklab_netsim::Link { a: (1, 0), b: (2, 2), rate_bps: GBPS, delay_ns: DELAY });
    let Some(marklab_netsim::Node::Switch { ports, .. }) = config.nodes.last_mut() else { unreachable!() };
    *ports = 3;
    let no_link = broken(&config, 0, 1);
    assert_eq!(no_link.ledger.iter().collect::<Vec<_>>(), [(2, Some(1), Reason::NoLink, 3)]);
}

/// By RFC 6298 section 2.5, an upper limit of timeouts must be at least 60 s. Here it is 60 s. A longer smallest
/// timeout would make the estimator's bounds cross.
#[test]
fn a_timeout_of_a_minute_is_the_longest() {
    let refused = |min_rto_ns, initial_rto_ns| {
        let mut config = star(&[(GBPS, DELAY); 2], QueueLimit::Packets(100), Control::Dctcp);
        (config.transport.min_rto_ns, config.transport.initial_rto_ns) = (min_rto_ns, initial_rto_ns);
        build(&config, &Program::of("droptail"), |_| (), vec![flow(0, 0, 1, MSS)]).is_err()
    };
    let minute = 60_000 * MS;
    assert!(!refused(minute, minute));
    assert!(refused(minute + 1, MS));
    assert!(refused(MS, minute + 1));
}

/// Gaps between the departures of a flow's data in ns, behind the ten segments that are not held.
fn gaps(pacing: bool) -> Vec<u64> {
    let mut config = star(&[(GBPS, MS); 2], QueueLimit::Packets(100), Control::Reno);
    config.transport.stack.pacing = pacing;
    let path = capture_host(&mut config, 0, if pacing { "hosts-paced" } else { "hosts-unpaced" });
    let outcome = run(&config, &Program::of("droptail"), |_| (), vec![flow(0, 0, 1, 40 * MSS)]);
    assert!(outcome.flows[0].fct.is_some());
    assert_eq!((outcome.flows[0].sender.timeouts, outcome.flows[0].sender.retransmissions), (0, 0));
    let frames = pcap::read(&path);
    let sent: Vec<u64> = frames.iter().filter(|frame| frame.src == ip(0)).map(|frame| frame.time_ns).collect();
    sent[9..40].windows(2).map(|pair| pair[1] - pair[0]).collect()
}

/// Two windows of at most 40 segments leave in a round trip of 4 ms: one each 50 us, and half of that after a late one.
/// Without pacing each acknowledgement lets two segments go in slow start, which leave 12 us apart.
#[test]
fn a_paced_flow_spreads_its_segments() {
    assert!(gaps(false).into_iter().any(|gap| gap < 13_000));
    assert!(gaps(true).into_iter().all(|gap| gap >= 25_000), "{:?}", gaps(true));
}
