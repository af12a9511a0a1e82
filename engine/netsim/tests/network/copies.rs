// SPDX-License-Identifier: MIT OR Apache-2.0
//! Frames that a switch copies or recirculates reach their ports and are accounted for.

use std::collections::BTreeMap;

use marklab_netsim::{Config, Control, Flow, NetSwitch, Node, Outcome, Progress, QueueLimit, Reason, RunError};
use marklab_switch::Loss;
use marklab_switch::replication::Mirror;

use crate::support::*;

/// Modes of `copies.p4`.
const STRAIGHT: u64 = 0;
const CLONE_INGRESS: u64 = 1;
const CLONE_EGRESS: u64 = 2;
const MULTICAST: u64 = 3;
const RECIRCULATE: u64 = 4;
const RECIRCULATE_EVER: u64 = 5;
const FAIL: u64 = 6;

/// Hosts 0 and 1 send and receive; host 2 gets copies; port 3 leads nowhere.
const WATCHER: usize = 2;
const NOWHERE: usize = 3;

fn network() -> Config {
    let mut config =
        star(&[(10 * GBPS, 5 * US), (GBPS, 5 * US), (GBPS, 5 * US)], QueueLimit::Packets(1_000), Control::Reno);
    let Some(Node::Switch { ports, .. }) = config.nodes.last_mut() else { panic!("the last node is the switch") };
    *ports = 4;
    config
}

/// The last flow starts after all copies of the others have arrived.
fn flows() -> Vec<Flow> {
    vec![flow(0, 0, 1, 40 * MSS), flow(10 * US, 1, 0, 20 * MSS), flow(1_000 * MS, 0, 1, 1)]
}

fn set_up(switch: &mut NetSwitch, mode: u64, copies_to: &[usize]) {
    set_default(switch.state_mut(), "modes", "set", &[("mode", mode)]);
    let replication = switch.replication_mut();
    replication.create_group(1);
    let node = replication.create_node(1, copies_to).unwrap();
    replication.associate(1, node).unwrap();
    replication.add_session(1, Mirror::Group(1)).unwrap();
}

fn try_run(config: &Config, mode: u64, copies_to: &[usize], interpret: bool) -> Result<Outcome, RunError> {
    let program = Program::of("copies");
    let program = if interpret { program.interpreted() } else { program };
    let network = build_switch(config, &program, |switch| set_up(switch, mode, copies_to), flows()).unwrap();
    network.run(&Progress::default())
}

fn run_mode(mode: u64, copies_to: &[usize]) -> Outcome {
    let outcome = try_run(&network(), mode, copies_to, false).unwrap();
    assert!(outcome.flows.iter().all(|flow| flow.fct.is_some()), "not all flows finished");
    outcome
}

fn losses(outcome: &Outcome) -> BTreeMap<(usize, Option<usize>, Reason), u64> {
    outcome.ledger.iter().map(|(node, port, reason, packets)| ((node, port, reason), packets)).collect()
}

/// Frames that the switch began to send, per port.
fn forwarded(outcome: &Outcome) -> [u64; 3] {
    [0, 1, 2].map(|port| outcome.lines.iter().find(|line| line.from == (3, port)).unwrap().stats.frames)
}

fn enqueued(outcome: &Outcome) -> [u64; 4] {
    [0, 1, 2, 3].map(|port| outcome.switches[0].ports[port].queue.enqueued)
}

fn times(outcome: &Outcome) -> [u64; 2] {
    [0, 1].map(|number| fct(outcome, number))
}

/// Copies for a port of their own delay no other packet: packets, times and queues of the other ports do not change.
#[test]
fn a_watcher_gets_a_copy_of_each_frame_and_nothing_else_changes() {
    let plain = run_mode(STRAIGHT, &[]);
    let [to_0, to_1, none] = forwarded(&plain);
    assert_eq!((none, losses(&plain)), (0, BTreeMap::new()));
    for mode in [CLONE_INGRESS, CLONE_EGRESS] {
        let watched = run_mode(mode, &[WATCHER]);
        assert_eq!(times(&watched), times(&plain));
        let [also_to_0, also_to_1, copies] = forwarded(&watched);
        assert_eq!((also_to_0, also_to_1), (to_0, to_1));
        let came: u64 = losses(&watched).values().sum();
        assert_eq!(losses(&watched).into_keys().collect::<Vec<_>>(), [(WATCHER, None, Reason::NoConnection)]);
        assert_eq!(enqueued(&watched)[WATCHER], to_0 + to_1);
        // Copies of the last segment may still be on their way.
        assert!(came <= copies && copies <= to_0 + to_1 && came + 2 >= to_0 + to_1, "{came} {copies}");
    }
}

#[test]
fn a_group_sends_to_all_of_its_ports() {
    // Each port gets the packets of both hosts.
    let outcome = run_mode(MULTICAST, &[0, 1]);
    let [to_0, to_1, none, _] = enqueued(&outcome);
    assert_eq!((to_0, none), (to_1, 0));
    let strangers = losses(&outcome).into_keys().collect::<Vec<_>>();
    assert_eq!(strangers, [(0, None, Reason::NoConnection), (1, None, Reason::NoConnection)]);
}

#[test]
fn copies_for_a_port_without_a_link_are_lost_there() {
    for mode in [CLONE_INGRESS, CLONE_EGRESS] {
        let outcome = run_mode(mode, &[NOWHERE]);
        let [to_0, to_1, none, copies] = enqueued(&outcome);
        assert_eq!((none, copies), (0, to_0 + to_1));
        assert_eq!(losses(&outcome), BTreeMap::from([((3, Some(NOWHERE), Reason::NoLink), copies)]));
    }
}

/// Clones for the port that is being served: its line continues with them.
#[test]
fn copies_may_follow_their_original() {
    let outcome = run_mode(CLONE_EGRESS, &[1]);
    let ([to_0, to_1, _], [queued_0, queued_1, ..]) = (forwarded(&outcome), enqueued(&outcome));
    // Host 1 gets the frames of host 0, a copy of each, and a copy of each of its own. Its last answers are on their way.
    let sent = [0, 1].map(|host| frames_from(&outcome, host));
    assert_eq!((queued_0, queued_1), (sent[1] - 2, 2 * sent[0] + sent[1] - 2));
    // Some copies of the last flow may still wait.
    assert!(to_0 == queued_0 && queued_1 - to_1 <= 2, "{queued_1} {to_1}");
}

/// Recirculation takes no time, so only the queues' counts change.
#[test]
fn a_recirculated_frame_waits_once_more_and_leaves() {
    let (plain, twice) = (run_mode(STRAIGHT, &[]), run_mode(RECIRCULATE, &[]));
    assert_eq!((forwarded(&twice), losses(&twice)), (forwarded(&plain), BTreeMap::new()));
    let [to_0, to_1, none] = forwarded(&plain);
    assert_eq!(enqueued(&twice), [2 * to_0, 2 * to_1, none, 0]);
    assert_eq!(times(&twice), times(&plain));
}

#[test]
fn a_frame_that_goes_round_for_ever_is_lost_with_that_reason() {
    let mut config = network();
    config.stop_ns = 100 * MS;
    let outcome = try_run(&config, RECIRCULATE_EVER, &[], false).unwrap();
    assert!(outcome.flows.iter().all(|flow| flow.fct.is_none()));
    let losses = losses(&outcome);
    assert!(losses.values().sum::<u64>() > 0);
    assert!(
        losses.keys().all(|(node, _, reason)| (*node, *reason) == (3, Reason::Switch(Loss::Endless))),
        "{losses:?}"
    );
    assert_eq!(forwarded(&outcome), [0; 3]);
}

#[test]
fn a_failed_assertion_ends_the_run() {
    for interpret in [false, true] {
        let Err(error) = try_run(&network(), FAIL, &[], interpret) else { panic!("it ran") };
        let RunError::Assertion { node: 3, failed } = error else { panic!("{error}") };
        let text = include_str!("../programs/copies.p4");
        let condition = &text[failed.span.start as usize..failed.span.end as usize];
        assert_eq!(condition, "meta.mode != mode_t.FAIL || standard_metadata.packet_length <= 1000");
        assert!(!failed.assume);
    }
}
