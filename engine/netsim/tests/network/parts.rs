// SPDX-License-Identifier: MIT OR Apache-2.0
//! Pauses of a part of a line's traffic: a flow, or all packets for one host.

use marklab_netsim::{Config, Control, Flow, Node, Outcome, PauseScope, PauseStats, Pfc, QueueLimit, QueueSpec};
use marklab_pipeline::{ActionSpec, EntrySpec, KeyMatch, State};
use proptest::prelude::*;

use crate::pauses::{FRAME, PAUSE_WIRE, flows, headroom};
use crate::support::*;

const DELAY: u64 = 20 * US;
const FAST: u64 = 4 * GBPS;

/// ns at 4 Gb/s.
fn at_4g(wire: u64) -> u64 {
    wire * 2
}

fn full() -> u64 {
    at_4g(wire_bytes(MSS))
}

/// Hosts 0 and 3 have lines of 4 Gb/s, hosts 1 and 2 lines of 1 Gb/s. A pause begins when a third packet waits, and
/// ends when one packet waits. Until the end, lines back carry only pause frames.
fn config(per: PauseScope) -> Config {
    let hosts = [(FAST, DELAY), (GBPS, DELAY), (GBPS, DELAY), (FAST, DELAY)];
    let mut config = star(&hosts, QueueLimit::Packets(10_000), Control::Dcqcn);
    config.pfc = Some(Pfc { per, xoff_bytes: FRAME * 5 / 2, xon_bytes: FRAME * 3 / 2 });
    config.transport.ack_every_segments = 10_000;
    config.transport.min_rto_ns = 1000 * MS;
    config.transport.dcqcn.as_mut().unwrap().min_rate_bps = GBPS;
    config
}

fn run_flows(config: &Config, flows: Vec<Flow>) -> Outcome {
    run(config, &Program::of("droptail"), |_| (), flows)
}

fn pauses_of(outcome: &Outcome, host: usize) -> PauseStats {
    outcome.lines.iter().find(|line| line.from == (host, 0)).unwrap().pauses.unwrap()
}

fn switch_queue(outcome: &Outcome, port: usize) -> u64 {
    outcome.switches[0].ports[port].queue.max.packets
}

/// The first pause of a long flow from host 0 to host 1 that waits in one queue: start and end in ns, and packets sent
/// before it.
fn first_pause() -> (u64, u64, u64) {
    let first_arrival = full() + DELAY;
    let frame_back = at_4g(PAUSE_WIRE) + DELAY;
    // Of packets 0, 1, 2, 3, only the first has begun to leave when the last arrives.
    let from = first_arrival + 3 * full() + frame_back;
    let packets = from / full() + 1;
    // All packets but one have begun to leave.
    (from, first_arrival + (packets - 2) * 4 * full() + frame_back, packets)
}

/// A flow alone is paused like a line: it has the queue for itself, and is all traffic of the line.
#[test]
fn a_flow_alone_is_paused_and_goes_on_to_the_ns() {
    let (from, to, packets) = first_pause();
    for per in [PauseScope::Port, PauseScope::Flow, PauseScope::Destination] {
        for pauses in [0, 1, 5] {
            let outcome = run_flows(&config(per), vec![flow(0, 0, 1, (pauses * packets + 1) * MSS)]);
            let found = pauses_of(&outcome, 0);
            let expected = (pauses, 2 * pauses, pauses * (to - from));
            assert_eq!((found.pauses, found.frames, found.paused.nanos()), expected, "{per:?}");
            assert_eq!(fct(&outcome, 0), pauses * to + full() + 4 * full() + 2 * DELAY, "{per:?}");
            assert_eq!(outcome.ledger.total(), 0);
        }
    }
}

/// During the pause of a long flow to host 1, a short flow begins, from the same host to host 2. With pauses per port,
/// both wait. Per flow and per destination, the short flow is as fast as alone.
#[test]
fn another_flow_on_the_line_goes_on() {
    let (from, to, _) = first_pause();
    let start = from + 50 * US;
    let alone = 5 * full() + 2 * DELAY;
    // When the line continues, a packet of the long flow goes first.
    for (per, expected) in
        [(PauseScope::Port, to + full() + alone - start), (PauseScope::Flow, alone), (PauseScope::Destination, alone)]
    {
        let outcome = run_flows(&config(per), vec![flow(0, 0, 1, 40 * MSS), flow(start, 0, 2, MSS)]);
        assert_eq!(fct(&outcome, 1), expected, "{per:?}");
        assert_eq!(outcome.ledger.total(), 0);
        assert!(outcome.flows[0].fct.is_some());
    }
}

/// During the pause of a flow, another flow begins between the same hosts. Per destination, both are held back. Per
/// flow, the only packet of the second flow reaches the queue, and the second flow is paused too.
#[test]
fn to_the_same_host_a_flow_waits_in_the_queue_or_in_the_nic() {
    let (from, to, packets) = first_pause();
    let start = from + 50 * US;
    let run =
        |per: PauseScope| run_flows(&config(per), vec![flow(0, 0, 1, (packets + 1) * MSS), flow(start, 0, 1, MSS)]);
    let outcome = run(PauseScope::Destination);
    assert_eq!(fct(&outcome, 1), to + full() + DELAY + 2 * 4 * full() + DELAY - start, "behind the other's packet");
    assert_eq!(pauses_of(&outcome, 0).pauses, 1);
    let outcome = run(PauseScope::Flow);
    assert_eq!(fct(&outcome, 1), full() + DELAY + (packets + 1) * 4 * full() + DELAY - start, "behind the queue");
    assert_eq!(pauses_of(&outcome, 0).pauses, 2);
}

/// Gives ports `count` queues that take turns.
fn bring_queues(config: &mut Config, count: usize) {
    let node = switch_of(config);
    if let Node::Switch { queueing, .. } = &mut config.nodes[node] {
        let queue = QueueSpec { quantum_bytes: FRAME as u32, ..queueing.queues[0] };
        queueing.queues = vec![queue; count];
    }
}

/// Lets `bfc` assign flows to `count` queues.
fn deal_out(count: usize) -> impl Fn(&mut State) {
    move |state| {
        set_default(state, "steering.steering_params", "set_steering", &[("last", count as u64 - 1)]);
        for number in 0..count {
            let value = KeyMatch::Ternary { value: 0u8.into(), mask: (1u64 << number).into() };
            let call = ActionSpec { action: "set_empty".into(), params: vec![("number".into(), number.into())] };
            let entry = EntrySpec { matches: vec![("busy".into(), value)], call, priority: number as u32 + 1 };
            state.insert_entry("steering.empty_queue.by_bits", &entry).unwrap();
        }
    }
}

/// With queues of their own, flows are paused above an even share of XOFF, so two flows at half of it. Thus the backlog
/// of a port is no longer with two flows than with one.
#[test]
fn a_flow_has_a_share_of_the_threshold() {
    let mut config = star(&[(FAST, US), (GBPS, US), (FAST, US)], QueueLimit::Packets(10_000), Control::Dcqcn);
    config.pfc = Some(Pfc { per: PauseScope::Flow, xoff_bytes: 40 * FRAME, xon_bytes: 40 * FRAME });
    config.transport.min_rto_ns = 1000 * MS;
    bring_queues(&mut config, 32);
    let long = |flows: Vec<Flow>| {
        let outcome = run(&config, &Program::of("bfc"), deal_out(32), flows);
        assert_eq!(outcome.ledger.total(), 0);
        assert!(outcome.flows.iter().all(|flow| flow.fct.is_some() && flow.sender.retransmissions == 0));
        (switch_queue(&outcome, 1), outcome)
    };
    // A round trip of 2 us, a pause frame and two frames are at most four packets at 4 Gb/s.
    let (one, outcome) = long(vec![flow(0, 0, 1, 2_000 * MSS)]);
    assert!((41..=45).contains(&one), "{one}");
    assert!(pauses_of(&outcome, 0).pauses > 0);
    // Each flow brings as many packets after the pause. The first flow had the whole threshold for itself at first.
    let (two, outcome) = long(vec![flow(0, 0, 1, 2_000 * MSS), flow(0, 2, 1, 2_000 * MSS)]);
    assert!((41..=50).contains(&two), "{two}");
    assert!(pauses_of(&outcome, 0).pauses > 0 && pauses_of(&outcome, 2).pauses > 0);
    // The line was never idle: pauses end while packets still wait.
    let last = outcome.flows.iter().map(|flow| flow.fct.unwrap().nanos()).max().unwrap();
    assert!(last < 4_000 * 4 * full() + 20 * US, "{last}");
    // In one queue, the longer backlog would hold back both flows. DWRR serves them evenly.
    let fcts: Vec<_> = outcome.flows.iter().map(|flow| flow.fct.unwrap().nanos()).collect();
    assert!(fcts[0].abs_diff(fcts[1]) < 60 * 4 * full(), "{fcts:?}");
}

/// More flows than queues: flows that share a queue are paused and resumed together, and all of them are resumed.
#[test]
fn flows_that_share_a_queue_all_go_on() {
    let mut config = star(&[(40 * GBPS, US); 9], QueueLimit::Packets(10_000), Control::Dcqcn);
    config.pfc = Some(Pfc { per: PauseScope::Flow, xoff_bytes: 20_000, xon_bytes: 20_000 });
    bring_queues(&mut config, 2);
    let flows: Vec<_> = (0..8).map(|host| flow(host as u64, host, 8, 500_000)).collect();
    let found = |program: &Program| run(&config, program, deal_out(2), flows.clone());
    let outcome = found(&Program::of("bfc"));
    assert_eq!(outcome.ledger.total(), 0);
    for host in 0..8 {
        assert!(outcome.flows[host].fct.is_some() && pauses_of(&outcome, host).pauses > 0, "{host}");
    }
    // The same results in a second run, and with the interpreter.
    assert_eq!(found(&Program::of("bfc")).flows, outcome.flows);
    assert_eq!(found(&Program::of("bfc").interpreted()).flows, outcome.flows);
}

/// A window limits unacknowledged bytes, so no more than a window is sent per round trip.
#[test]
fn a_window_limits_what_is_on_the_way() {
    for (window, packets) in [(MSS, 1), (2 * MSS, 2), (5 * MSS - 1, 4), (5 * MSS, 5)] {
        let mut config = star(&[(GBPS, DELAY); 2], QueueLimit::Packets(100), Control::Dcqcn);
        config.transport.dcqcn.as_mut().unwrap().window_bytes = Some(window);
        let outcome = run_flows(&config, vec![flow(0, 0, 1, 20 * MSS)]);
        // A packet over two lines, and its acknowledgement of 84 bytes back; then the next packet leaves.
        let round_trip = 2 * (at_1g(MSS) + DELAY) + 2 * (84 * 8 + DELAY);
        let rounds = 20u64.div_ceil(packets) - 1;
        let last = (20 - rounds * packets - 1) * at_1g(MSS) + 2 * (at_1g(MSS) + DELAY);
        assert_eq!(fct(&outcome, 0), rounds * round_trip + last, "{packets} packets");
    }
}

#[test]
fn parts_that_no_sender_can_hold_back_are_refused() {
    let refused = |config: &Config| {
        build(config, &Program::of("droptail"), |_| (), vec![flow(0, 0, 1, 1)]).err().unwrap().to_string()
    };
    for per in [PauseScope::Flow, PauseScope::Destination] {
        let mut tcp = star(&[(GBPS, US); 2], QueueLimit::Packets(100), Control::Dctcp);
        tcp.pfc = Some(Pfc { per, xoff_bytes: 2, xon_bytes: 1 });
        assert!(refused(&tcp).contains("queue pairs"));
    }
    let with =
        |per: PauseScope, xon_bytes: u64| Config { pfc: Some(Pfc { per, xoff_bytes: 1000, xon_bytes }), ..config(per) };
    for (per, most) in [(PauseScope::Port, 999), (PauseScope::Destination, 999), (PauseScope::Flow, 1000)] {
        assert!(build(&with(per, most), &Program::of("droptail"), |_| (), vec![flow(0, 0, 1, 1)]).is_ok());
        assert!(refused(&with(per, most + 1)).contains("end with fewer bytes"));
    }
    let mut small = star(&[(GBPS, US); 2], QueueLimit::Packets(100), Control::Dcqcn);
    small.transport.ack_every_segments = 2;
    small.transport.dcqcn.as_mut().unwrap().window_bytes = Some(2 * MSS - 1);
    assert!(refused(&small).contains("smaller than the packets that one acknowledgement covers"));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, failure_persistence: None, ..ProptestConfig::default() })]

    /// With large enough queues, all bytes arrive for any pauses.
    #[test]
    fn everything_arrives(
        flows in flows(5),
        lines in prop::collection::vec((1..40u64, 0..20_000u64), 5),
        xoff_bytes in 1..40_000u64,
        xon in 0.0..1.0,
        per in prop_oneof![Just(PauseScope::Flow), Just(PauseScope::Destination)],
        queues in 2..33usize,
    ) {
        let lines: Vec<_> = lines.into_iter().map(|(gbps, delay_ns)| (gbps * GBPS, delay_ns)).collect();
        let mut config = star(&lines, QueueLimit::Packets(1_000_000), Control::Dcqcn);
        config.pfc = Some(Pfc { per, xoff_bytes, xon_bytes: ((xoff_bytes as f64 * xon) as u64).min(xoff_bytes - 1) });
        bring_queues(&mut config, queues);
        let outcome = run(&config, &Program::of("bfc"), deal_out(queues), flows.clone());
        prop_assert_eq!(outcome.ledger.total(), 0);
        for (flow, record) in flows.iter().zip(&outcome.flows) {
            prop_assert!(record.fct.is_some() && record.sender.retransmissions == 0);
            prop_assert_eq!(record.delivered_bytes, flow.size_bytes);
        }
        // Per destination, a line may hold that room for each of the four other hosts, and answers, which are not
        // paused.
        if per == PauseScope::Destination {
            for (host, &(rate, delay)) in lines.iter().enumerate() {
                let answered: u64 = flows.iter().filter(|flow| flow.dst == host).map(|flow| flow.size_bytes.div_ceil(MSS)).sum();
                let room = 4 * (xoff_bytes + FRAME + headroom(rate, delay)) + 60 * answered;
                let found = pauses_of(&outcome, host);
                prop_assert!(found.max_held_bytes <= room, "{:?} of {}", found, room);
            }
        }
    }
}
