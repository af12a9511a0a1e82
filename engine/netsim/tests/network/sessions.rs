// SPDX-License-Identifier: MIT OR Apache-2.0
//! Runs in steps are the same runs, and one packet is found and followed.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use marklab_netsim::{
    Birth, Config, Connections, Control, End, Flow, Journey, Link, Network, Node, Outcome, Progress, QueueLimit,
    RunError, Session, TracePackets, Wanted,
};
use marklab_pipeline::{EventKind, Spotlight};
use marklab_units::{Duration, Time};

use crate::support::*;

const SENDERS: usize = 8;
/// The switch of the senders, and the port by which it sends to the other one.
const FIRST: usize = SENDERS + 1;
const UPLINK: usize = SENDERS;
/// The switch of the receiver, and its port to it.
const SECOND: usize = SENDERS + 2;
const RECEIVER: usize = SENDERS;

/// Eight senders at one switch, their receiver at another one; the line between them is the bottleneck.
fn config(queue: u64) -> Config {
    let mut config = star(&[(10 * GBPS, 5 * US); SENDERS + 1], QueueLimit::Packets(queue), Control::Dctcp);
    config.connections = Connections::New;
    let second =
        Node::Switch { name: "t".into(), ports: 2, queueing: QueueLimit::Packets(queue).into(), mirrors: Vec::new() };
    config.nodes.push(second);
    config.links.pop();
    config.links.push(Link { a: (FIRST, UPLINK), b: (SECOND, 1), rate_bps: 10 * GBPS, delay_ns: 3 * US });
    config.links.push(Link { a: (RECEIVER, 0), b: (SECOND, 0), rate_bps: 10 * GBPS, delay_ns: 5 * US });
    config
}

fn flows() -> Vec<Flow> {
    let flows =
        (0..24).map(|number| flow(number / 8 * 50 * US, number as usize % SENDERS, RECEIVER, 1 + number * 9_973));
    flows.collect()
}

fn network(program: &Program, queue: u64) -> Network {
    network_of(&config(queue), program)
}

fn network_of(config: &Config, program: &Program) -> Network {
    let port = |switch, host| match (switch, host) {
        (0, RECEIVER) => UPLINK,
        (0, host) => host,
        (_, RECEIVER) => 0,
        _ => 1,
    };
    build_fabric(config, program, |state| set_params(state, &[("k_pkts", 20)]), port, flows())
}

fn session(queue: u64) -> Session {
    spotlit(queue).0
}

/// A session, and the engine of its switches.
fn spotlit(queue: u64) -> (Session, Arc<Spotlight>) {
    let (program, spotlight): (Program, Arc<Spotlight>) = Program::of("dctcp-red").spotlit();
    (Session::new(network(&program, queue)), spotlight)
}

fn outcome(queue: u64) -> Outcome {
    network(&Program::of("dctcp-red"), queue).run(&Progress::default()).unwrap()
}

fn ended(mut session: Session) -> Session {
    while !session.ended() {
        session.run(Time::from_nanos(u64::MAX / 2), u64::MAX / 2).unwrap();
    }
    session
}

#[track_caller]
fn agrees(session: &Session, outcome: &Outcome) {
    assert_eq!(session.now(), outcome.end.min(session.now()));
    assert_eq!(session.events(), outcome.events);
    assert_eq!(session.finished(), outcome.flows.len());
    assert_eq!(session.ledger(), &outcome.ledger);
    for ((view, line), ends) in session.view().iter().zip(&outcome.lines).zip(session.lines()) {
        assert_eq!((ends[0], ends[1]), (line.from, line.to));
        assert_eq!((view.sent, view.depth.packets), (line.stats, 0));
        let port = outcome.switches.iter().find(|switch| switch.node == line.from.0);
        let port = port.map(|switch| switch.ports[line.from.1]);
        assert_eq!(view.marked, port.map_or(0, |port| port.marked));
        assert_eq!(view.lost, port.map_or(0, |port| port.queue.dropped));
    }
}

#[test]
fn steps_of_any_size_are_the_same_run() {
    let outcome = outcome(60);
    assert!(outcome.ledger.total() > 0, "the run must have losses");
    for (step_ns, most) in [(u64::MAX / 2, u64::MAX / 2), (997, u64::MAX / 2), (50_000, 3), (u64::MAX / 2, 1_000)] {
        let mut session = session(60);
        let mut until = Time::ZERO;
        while !session.ended() {
            let handled = session.events();
            let whole = session.run(until, most).unwrap();
            assert!(session.now() <= until && session.events() - handled <= most);
            assert!(whole || session.events() - handled == most);
            if whole {
                until += Duration::from_nanos(step_ns.min(1_000_000_000));
            }
        }
        agrees(&session, &outcome);
    }
}

/// Also of a run that ends at its stop, or that has no events left before it.
#[test]
fn a_session_that_has_ended_gives_the_outcome_of_the_run() {
    for stop_us in [200, 500, 10_000_000] {
        let mut config = config(60);
        config.stop_ns = stop_us * US;
        let program = Program::of("dctcp-red");
        let outcome = network_of(&config, &program).run(&Progress::default()).unwrap();
        let mut session = Session::new(network_of(&config, &program));
        let progress = Progress::default();
        let mut until = Time::ZERO;
        while !session.ended() {
            until += Duration::from_nanos(70 * US);
            session.run_shown(until, &progress).unwrap();
            assert!(session.now() <= until);
        }
        assert_eq!(progress.finished.load(Ordering::Relaxed), session.finished() as u64);
        let stepped = session.outcome().unwrap();
        assert_eq!((stepped.end, stepped.events), (outcome.end, outcome.events));
        assert_eq!((&stepped.flows, &stepped.starts), (&outcome.flows, &outcome.starts));
        assert_eq!((&stepped.ledger, &stepped.lines), (&outcome.ledger, &outcome.lines));
        assert_eq!(stepped.link_transmissions, outcome.link_transmissions);
        assert!(stepped.rtts == outcome.rtts);
        for (stepped, switch) in stepped.switches.iter().zip(&outcome.switches) {
            assert_eq!((stepped.node, &stepped.ports), (switch.node, &switch.ports));
        }
    }
}

#[test]
fn a_cancelled_session_says_so() {
    let (mut session, progress) = (session(60), Progress::default());
    progress.cancel.store(true, Ordering::Relaxed);
    let error = session.run_shown(Time::from_nanos(US), &progress).unwrap_err();
    assert!(matches!(error, RunError::Cancelled));
}

/// With thresholds written between two steps, packets are marked from then on by these.
#[test]
fn what_is_written_into_a_switch_holds_from_then_on() {
    let mut session = session(600);
    assert!(session.switch(0).is_none() && session.switch(SECOND + 1).is_none());
    let middle = Time::from_nanos(100 * US);
    session.run(middle, u64::MAX).unwrap();
    let marked = |session: &Session| session.view().iter().map(|line| line.marked).sum::<u64>();
    let before = marked(&session);
    assert!(before > 0);
    for node in [FIRST, SECOND] {
        set_params(session.switch(node).unwrap().control().0, &[("k_pkts", 10_000)]);
    }
    let session = ended(session);
    assert_eq!(marked(&session), before);
    assert!(session.now() > middle);
}

/// The first packet that does what is wanted from a time on, and all that happened to it.
fn journey(queue: u64, from: Time, wanted: Wanted) -> (Time, Birth, Journey) {
    let sighting = session(queue).find(FIRST, UPLINK, from, wanted).unwrap().expect("there is such a packet");
    let birth = sighting.birth.expect("the session saw its arrival");
    let (mut session, spotlight) = spotlit(queue);
    let journey = session.follow(&spotlight, birth).unwrap().expect("it is followed");
    agrees(&ended(session), &outcome(queue));
    (sighting.time, birth, journey)
}

fn stages(journey: &Journey, hop: usize) -> usize {
    journey.hops[hop].seen.events.iter().filter(|event| matches!(event.kind, EventKind::Block { .. })).count()
}

#[test]
fn a_marked_packet_is_followed_to_its_receiver() {
    let (time, birth, journey) = journey(60, Time::from_nanos(30 * US), Wanted::Mark);
    let [first, second] = &journey.hops[..] else { panic!("two switches are on the path") };
    assert_eq!((first.node, first.ingress_port, first.arrived), (FIRST, birth.port, birth.time));
    assert_eq!((second.node, second.ingress_port), (SECOND, 1));
    let queued = first.queued.expect("it waited");
    assert!(queued.port == UPLINK && queued.found.packets >= 20, "{queued:?}");
    let (left, packet) = first.left.as_ref().expect("it left");
    assert_eq!(*left, time);
    assert!(first.marked && !second.marked);
    // 10 Gb/s, and the delays of the lines.
    let on_the_line = Duration::from_nanos((packet.len() as u64 + 24) * 8 / 10);
    assert!(second.arrived.since(*left + on_the_line).nanos().abs_diff(3 * US) <= 1);
    let left = second.left.as_ref().expect("it left").0;
    let End::Delivered { time, node: RECEIVER } = journey.end else { panic!("{:?}", journey.end) };
    assert!(time.since(left + on_the_line).nanos().abs_diff(5 * US) <= 1);
    assert!(journey.by_client);
    let flow = journey.flow.expect("it is one of a flow");
    assert_eq!(flows()[flow as usize].src, birth.port);
    assert!(stages(&journey, 0) >= 3, "parser, ingress and egress");
}

#[test]
fn a_lost_packet_is_followed_to_its_end() {
    let (time, _, journey) = journey(60, Time::ZERO, Wanted::Loss);
    let [hop] = &journey.hops[..] else { panic!("it came to one switch") };
    assert!(hop.left.is_none() && !hop.marked);
    let End::Lost { time: lost, port: Some(UPLINK), reason } = journey.end else { panic!("{:?}", journey.end) };
    assert_eq!((lost, reason.text()), (time, "queue full"));
}

#[test]
fn a_packet_that_leaves_is_the_first_from_that_time_on() {
    for from in [0, 20 * US, 100 * US, 200 * US] {
        let (time, _, journey) = journey(1_000, Time::from_nanos(from), Wanted::Departure);
        assert!(time >= Time::from_nanos(from));
        assert_eq!(journey.hops[0].left.as_ref().map(|(left, _)| *left), Some(time));
        assert!(matches!(journey.end, End::Delivered { .. }));
    }
}

#[test]
fn what_is_not_there_is_not_found() {
    assert_eq!(session(10_000).find(FIRST, UPLINK, Time::ZERO, Wanted::Loss).unwrap(), None);
    assert_eq!(session(60).find(0, 0, Time::ZERO, Wanted::Departure).unwrap(), None);
    assert_eq!(session(60).find(FIRST, SENDERS + 1, Time::ZERO, Wanted::Departure).unwrap(), None);
    let nobody = Birth { time: Time::from_nanos(17), node: FIRST, port: 0 };
    let (mut session, spotlight) = spotlit(60);
    assert!(session.follow(&spotlight, nobody).unwrap().is_none());
}

/// A packet that came before the session began to look has no birth.
#[test]
fn a_packet_from_before_is_found_without_its_birth() {
    let whole = session(60).find(FIRST, UPLINK, Time::from_nanos(30 * US), Wanted::Mark).unwrap().unwrap();
    let mut late = session(60);
    let shortly = Time::from_nanos(whole.time.nanos() - 1);
    late.run(shortly, u64::MAX / 2).unwrap();
    let found = late.find(FIRST, UPLINK, shortly, Wanted::Mark).unwrap().unwrap();
    assert_eq!((found.time, found.birth), (whole.time, None));
}

/// A session that begins to record in the middle of a run has the packets that the run records from then on.
#[test]
fn packets_are_recorded_from_any_time() {
    let traced = TracePackets { ports: vec![], only: vec![], flow: Some(9), last: 1 << 20 };
    let mut recorded = config(40);
    recorded.trace_packets = Some(traced.clone());
    let whole = network_of(&recorded, &Program::of("dctcp-red")).run(&Progress::default()).unwrap();
    let whole = whole.packet_trace.expect("it was asked for");
    let mut session = session(40);
    let begin = Time::from_nanos(300 * US);
    session.run(begin, u64::MAX).unwrap();
    session.record(traced);
    session.run(Time::from_nanos(u64::MAX - 1), u64::MAX).unwrap();
    let later = session.packets().expect("it was asked for");
    let expected: Vec<_> = whole.rows().filter(|row| row.time > begin).collect();
    assert!(expected.len() > 4 && expected.len() < whole.rows().len(), "{} {}", expected.len(), whole.rows().len());
    assert_eq!(later.rows().collect::<Vec<_>>(), expected);
}
