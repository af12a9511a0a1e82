// SPDX-License-Identifier: MIT OR Apache-2.0
//! Points of applications that several flows lead to, and from which several flows start.

use marklab_netsim::{Config, Connections, Control, Flow, Join, Outcome, Predecessor, QueueLimit, Traffic, Wait};
use marklab_units::Time;
use proptest::prelude::*;

use crate::support::*;

const DELAY: u64 = 20 * US;

fn hosts(count: usize) -> Config {
    Config {
        connections: Connections::New,
        ..star(&vec![(GBPS, DELAY); count], QueueLimit::Packets(1000), Control::Dctcp)
    }
}

fn simulated(config: &Config, flows: Vec<Flow>, joins: Vec<Join>) -> Outcome {
    run(config, &Program::of("droptail"), |_| (), Traffic { flows, joins })
}

/// A flow that starts `pause_ns` after a flow or a join.
fn after(number: usize, pause_ns: u64, src: usize, dst: usize, size_bytes: u64) -> Flow {
    Flow {
        after: Some(Predecessor { number: number as u32, same_connection: false }),
        ..flow(pause_ns, src, dst, size_bytes)
    }
}

fn join(host: usize, waits: &[(usize, u64)]) -> Join {
    let waits = waits.iter().map(|&(number, pause_ns)| Wait { number: number as u32, pause_ns }).collect();
    Join { host, not_before_ns: 0, waits }
}

fn end(outcome: &Outcome, flow: usize) -> u64 {
    outcome.starts[flow].expect("it started").nanos() + fct(outcome, flow)
}

fn refused(flows: Vec<Flow>, joins: Vec<Join>) -> String {
    build(&hosts(3), &Program::of("droptail"), |_| (), Traffic { flows, joins }).err().unwrap().to_string()
}

#[test]
fn flows_start_when_the_last_wait_of_their_join_is_over() {
    let flows =
        vec![flow(0, 0, 1, 9 * MSS), flow(0, 2, 1, 2 * MSS), after(4, 3 * US, 1, 0, MSS), after(4, 0, 1, 2, 5 * MSS)];
    for pauses in [[0, 0], [0, 900 * US], [5 * US, 1]] {
        let outcome = simulated(&hosts(3), flows.clone(), vec![join(1, &[(0, pauses[0]), (1, pauses[1])])]);
        let reached = (end(&outcome, 0) + pauses[0]).max(end(&outcome, 1) + pauses[1]);
        assert_eq!(outcome.starts[2], Some(Time::from_nanos(reached + 3 * US)), "{pauses:?}");
        assert_eq!(outcome.starts[3], Some(Time::from_nanos(reached)), "{pauses:?}");
    }
}

#[test]
fn a_join_that_is_not_reached_starts_nothing() {
    let flows = vec![flow(0, 0, 1, MSS), flow(0, 2, 1, 1 << 40), after(3, 0, 1, 0, MSS)];
    let config = Config { stop_ns: 5 * MS, ..hosts(3) };
    let outcome = simulated(&config, flows, vec![join(1, &[(0, 0), (1, 0)])]);
    assert_eq!((outcome.flows[0].fct.is_some(), outcome.starts[2]), (true, None));
}

#[test]
fn a_join_is_not_reached_before_its_time() {
    let flows = vec![flow(0, 0, 1, MSS), after(3, 0, 1, 2, MSS), after(4, 0, 1, 2, MSS)];
    for time in [1, 5 * MS] {
        let timed = |waits: &[(usize, u64)]| Join { not_before_ns: time, ..join(1, waits) };
        let outcome = simulated(&hosts(3), flows.clone(), vec![timed(&[]), timed(&[(0, 0)])]);
        assert_eq!(outcome.starts[1], Some(Time::from_nanos(time)));
        assert_eq!(outcome.starts[2], Some(Time::from_nanos(time.max(end(&outcome, 0)))));
    }
}

#[test]
fn joins_wait_for_joins() {
    let flows = vec![flow(0, 0, 1, MSS), after(3, 0, 1, 2, MSS)];
    let outcome = simulated(&hosts(3), flows, vec![join(1, &[(0, 7 * US)]), join(1, &[(2, 2 * US), (0, US)])]);
    assert_eq!(outcome.starts[1], Some(Time::from_nanos(end(&outcome, 0) + 9 * US)));
}

/// What happens at one host is known at another no earlier than a packet could say it.
#[test]
fn news_of_an_end_takes_as_long_as_the_line() {
    let outcome = simulated(&hosts(3), vec![flow(0, 0, 1, MSS), after(0, 0, 2, 1, MSS)], vec![]);
    let shortest = DELAY + (60 + 24) * 8;
    assert_eq!(outcome.starts[1], Some(Time::from_nanos(end(&outcome, 0) + shortest)));
}

#[test]
fn messages_of_queue_pairs_wait_as_well() {
    let config = star(&[(GBPS, DELAY); 3], QueueLimit::Packets(1000), Control::Dcqcn);
    let flows = vec![flow(0, 0, 1, 9 * MSS), flow(0, 2, 1, 2 * MSS), after(3, 3 * US, 1, 2, MSS)];
    let outcome = simulated(&config, flows, vec![join(1, &[(0, 0), (1, 0)])]);
    let reached = end(&outcome, 0).max(end(&outcome, 1));
    assert_eq!(outcome.starts[2], Some(Time::from_nanos(reached + 3 * US)));
    assert!(outcome.flows[2].fct.is_some());
}

#[test]
fn joins_that_cannot_be_reached_are_refused() {
    let first = flow(0, 0, 1, 1);
    let cases = [
        (vec![first], vec![join(3, &[(0, 0)])], "join 0: it must be at a host"),
        (vec![first], vec![join(1, &[(2, 0)])], "join 0: it waits for what is not there"),
        (vec![first], vec![join(1, &[(0, 0), (1, 0)])], "in a cycle"),
        (vec![first, after(2, 0, 1, 0, 1)], vec![join(0, &[(1, 0)])], "in a cycle"),
        (vec![first, after(2, 0, 1, 0, 1)], vec![], "flow 1: a flow can only wait for a flow above it"),
    ];
    for (flows, joins, reason) in cases {
        let error = refused(flows, joins);
        assert!(error.contains(reason), "{error}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// Each flow starts when all that it waits for is over, as recomputed from the ends of the flows.
    #[test]
    fn any_graph_is_followed(
        flows in prop::collection::vec((0..4usize, 1..4usize, 1..30 * MSS, 50 * US..MS, any::<prop::sample::Index>()), 2..12),
        joins in prop::collection::vec(
            (0..4usize, 0..2 * MS, prop::collection::vec((any::<prop::sample::Index>(), 50 * US..MS), 1..4)), 1..6),
    ) {
        let count = flows.len();
        // The first half starts at once. A flow of the second half follows the join that its index takes, if there is one
        // before it: join j waits for flows of the first half, and for joins before it.
        let roots = count.div_ceil(2);
        let made: Vec<Join> = joins.iter().enumerate().map(|(at, (host, not_before_ns, waits))| {
            let choose = |index: &prop::sample::Index| match index.index(roots + at) {
                flow if flow < roots => flow,
                other => count + other - roots,
            };
            let waits: Vec<_> = waits.iter().map(|(index, pause)| (choose(index), *pause)).collect();
            Join { not_before_ns: *not_before_ns, ..join(*host, &waits) }
        }).collect();
        let list: Vec<Flow> = flows.iter().enumerate().map(|(number, &(src, behind, size, pause, index))| {
            let dst = (src + behind) % 4;
            if number < roots { flow(0, src, dst, size) } else { after(count + index.index(made.len()), pause, src, dst, size) }
        }).collect();
        let outcome = simulated(&hosts(4), list.clone(), made.clone());
        let mut reached: Vec<u64> = Vec::new();
        for spec in &made {
            let over = |wait: &Wait| match wait.number as usize {
                number if number < count => end(&outcome, number) + wait.pause_ns,
                number => reached[number - count] + wait.pause_ns,
            };
            reached.push(spec.waits.iter().map(over).max().unwrap().max(spec.not_before_ns));
        }
        for (number, spec) in list.iter().enumerate().skip(roots) {
            let before = spec.after.unwrap().number as usize;
            prop_assert_eq!(outcome.starts[number].unwrap().nanos(), reached[before - count] + spec.start_ns);
        }
    }
}
