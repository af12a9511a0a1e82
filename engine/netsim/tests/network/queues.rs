// SPDX-License-Identifier: MIT OR Apache-2.0
//! Switch ports with many queues: services, one per code point, share the bottleneck as its scheduler is configured.

use marklab_netsim::{Config, Control, Flow, Node, Outcome, QueueLimit, QueueSpec, Queueing, Round};
use marklab_pipeline::{ActionSpec, EntrySpec, KeyMatch, State};

use crate::support::*;

const DELAY: u64 = 10 * US;
/// A full frame without its checksum.
pub(crate) const FRAME: u32 = 1514;
const MB: u64 = 1_000_000;

/// `senders` hosts, followed by one receiver; ports with these queues (level, quantum).
pub(crate) fn config(senders: usize, round: Round, queues: &[(u8, u32)], port_limit: Option<QueueLimit>) -> Config {
    let mut hosts = vec![(4 * GBPS, DELAY); senders];
    hosts.push((GBPS, DELAY));
    let mut config = star(&hosts, QueueLimit::Packets(1), Control::Dctcp);
    let Some(Node::Switch { queueing, .. }) = config.nodes.last_mut() else { panic!("the last node is the switch") };
    let limit = QueueLimit::Packets(if port_limit.is_some() { u64::MAX } else { 250 });
    let queue = |&(level, quantum_bytes): &(u8, u32)| QueueSpec { limit, level, quantum_bytes };
    *queueing = Queueing { queues: queues.iter().map(queue).collect(), round, port_limit, pool: None };
    config
}

/// Flow `service` comes from host `service` and waits in queue `service`.
pub(crate) fn flows(senders: usize, sizes: &[u64]) -> Vec<Flow> {
    let of = |(service, &size): (usize, &u64)| Flow { dscp: service as u8, ..flow(0, service, senders, size) };
    sizes.iter().enumerate().map(of).collect()
}

/// Maps code point n to queue n; queues mark above `k_pkts`.
fn services(state: &mut State) {
    set_params(state, &[("k_pkts", 20)]);
    for service in 1..8u64 {
        let matches = vec![("dscp".to_owned(), KeyMatch::Exact(service.into()))];
        let params = vec![("queue".to_owned(), service.into())].into_iter().collect();
        let call = ActionSpec { action: "set_queue".to_owned(), params };
        state.insert_entry("service_queue", &EntrySpec { matches, call, priority: 0 }).unwrap();
    }
}

pub(crate) fn run_all(config: &Config, flows: Vec<Flow>) -> Outcome {
    run(config, &Program::of("dctcp-red"), services, flows)
}

fn fct_ms(outcome: &Outcome) -> Vec<f64> {
    outcome.flows.iter().map(|flow| flow.fct.expect("it finishes").nanos() as f64 / 1e6).collect()
}

/// Flows whose sizes are in the ratio of the quanta take equally long.
#[test]
fn services_share_by_their_quanta() {
    for round in [Round::Deficit, Round::Weighted] {
        let config = config(3, round, &[(0, 2 * FRAME), (0, FRAME), (0, FRAME)], None);
        let fct = fct_ms(&run_all(&config, flows(3, &[20 * MB, 10 * MB, 10 * MB])));
        let alone = 40.0 * (FRAME + 24) as f64 / MSS as f64 * 8.0;
        for fct in fct {
            assert!((fct / alone - 1.0).abs() < 0.02, "{fct} ms instead of {alone}");
        }
    }
}

/// A flow of the upper level is as fast as alone.
#[test]
fn the_upper_level_does_not_notice_the_lower_one() {
    let config = config(2, Round::Deficit, &[(0, FRAME), (1, FRAME)], None);
    let both = fct_ms(&run_all(&config, flows(2, &[20 * MB, 10 * MB])));
    let alone = fct_ms(&run_all(&config, vec![Flow { dscp: 1, ..flow(0, 1, 2, 10 * MB) }]));
    assert!((both[1] / alone[0] - 1.0).abs() < 0.001, "{} ms instead of {}", both[1], alone[0]);
    let work = 30.0 * (FRAME + 24) as f64 / MSS as f64 * 8.0;
    assert!((both[0] / work - 1.0).abs() < 0.02, "the line is never idle: {} ms instead of {work}", both[0]);
}

/// A port's own limit applies to all of its queues together, as the report shows.
#[test]
fn a_port_limit_holds_for_all_queues_together() {
    let config = config(4, Round::Deficit, &[(0, FRAME); 4], Some(QueueLimit::Bytes(96_000)));
    let outcome = run_all(&config, flows(4, &[5 * MB; 4]));
    let queue = outcome.switches[0].ports[4].queue;
    assert!(queue.max.bytes <= 96_000 && queue.max.bytes > 90_000, "{queue:?}");
    assert!(queue.dropped > 0);
    fct_ms(&outcome);
}
