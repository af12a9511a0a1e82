// SPDX-License-Identifier: MIT OR Apache-2.0
//! Flows that wait for another flow: their start times, and the packets on a connection that both flows share.

use marklab_netsim::{Config, Connections, Control, Flow, Predecessor, QueueLimit};
use marklab_pipeline::State;
use marklab_units::Time;
use proptest::prelude::*;

use crate::pcap;
use crate::support::*;

const DELAY: u64 = 20 * US;
const REQUEST: u64 = 300;
const PAUSE: u64 = 3 * MS;
const ASKED: Connections = Connections::Asked { request_bytes: REQUEST as u32 };

fn between(connections: Connections) -> Config {
    Config { connections, ..star(&[(GBPS, DELAY); 2], QueueLimit::Packets(1000), Control::EcnStar) }
}

/// A flow that starts `pause_ns` after the end of a flow, or after a join.
fn later(number: u32, same_connection: bool, pause_ns: u64, size_bytes: u64) -> Flow {
    Flow { after: Some(Predecessor { number, same_connection }), ..flow(pause_ns, 0, 1, size_bytes) }
}

fn across(frame_bytes: u64) -> u64 {
    2 * ((frame_bytes.max(60) + 24) * 8 + DELAY)
}

/// ns until `segments` segments have arrived that are sent at once when the request arrives.
fn asked_for(segments: u64) -> u64 {
    across(54 + REQUEST) + across(54 + MSS) + (segments - 1) * (54 + MSS + 24) * 8
}

#[test]
fn a_follower_starts_after_the_end_of_the_other() {
    let flows = vec![flow(5 * US, 0, 1, 9 * MSS), flow(6 * US, 0, 1, MSS), later(0, false, PAUSE, 4 * MSS)];
    for connections in [Connections::New, Connections::Persistent { per_pair: 2 }, ASKED] {
        let outcome = run(&between(connections), &Program::of("droptail"), |_| (), flows.clone());
        let start = 5 * US + fct(&outcome, 0) + PAUSE;
        assert_eq!(outcome.starts[2], Some(Time::from_nanos(start)), "{connections:?}");
        let alone = run(&between(connections), &Program::of("droptail"), |_| (), vec![flow(0, 0, 1, 4 * MSS)]);
        assert_eq!(fct(&outcome, 2), fct(&alone, 0), "{connections:?}");
        assert_eq!(outcome.arrivals_end, Time::from_nanos(6 * US), "the last flow that does not wait");
    }
}

#[test]
fn a_flow_is_asked_for_on_the_connection_of_the_one_before() {
    let flows = vec![flow(0, 0, 1, 2 * MSS), later(0, true, PAUSE, 3 * MSS), later(1, true, 0, MSS)];
    let mut config = between(ASKED);
    let path = capture_host(&mut config, 1, "followers-same");
    let outcome = run(&config, &Program::of("droptail"), |_| (), flows);
    // The last request follows the acknowledgement that is sent at the same time.
    assert_eq!((fct(&outcome, 1), fct(&outcome, 2)), (asked_for(3), at_1g(0) + asked_for(1)), "no handshake");
    let frames = pcap::read(&path);
    assert_eq!(frames.iter().filter(|frame| frame.syn).count(), 2);
    // Both streams are complete: three requests, six segments and the FIN.
    let of = |host: usize| frames.iter().filter(move |frame| frame.src == ip(host));
    let requests: Vec<_> = of(1).filter(|frame| frame.payload > 0).collect();
    for (before, after) in requests.iter().zip(&requests[1..]) {
        assert_eq!(before.end(), after.sequence);
    }
    let answers = of(0).find(|frame| frame.syn).unwrap().sequence;
    let last = of(1).next_back().unwrap();
    assert_eq!(last.ack, answers.wrapping_add(1 + 6 * MSS as u32 + 1));
    let heard: Vec<_> = of(0).map(|frame| frame.ack.wrapping_sub(requests[0].sequence) / REQUEST as u32).collect();
    assert_eq!(heard.iter().max(), Some(&3), "{heard:?}");
    assert!(heard.is_sorted(), "no acknowledgement comes early: {heard:?}");
}

/// The round trip is known from earlier packets, so the smallest timeout applies.
#[test]
fn a_lost_further_request_is_sent_again() {
    let flows = vec![flow(0, 0, 1, 2 * MSS), later(0, true, PAUSE, 2 * MSS)];
    // SYN, request, two acknowledgements, request.
    let lost = |state: &mut State| script(state, "drop", 0, [5]);
    let config = between(ASKED);
    let outcome = run(&config, &Program::of("scripted"), lost, flows);
    assert_eq!(fct(&outcome, 1), config.transport.min_rto_ns + asked_for(2));
    assert_eq!((outcome.flows[0].sender.timeouts, outcome.flows[1].sender.timeouts), (0, 1));
}

#[test]
fn a_request_acknowledges_what_came_before_it() {
    let flows = vec![flow(0, 0, 1, 2 * MSS), later(0, true, PAUSE, 2 * MSS)];
    let lost = |state: &mut State| script(state, "drop", 0, [3, 4]);
    let outcome = run(&between(ASKED), &Program::of("scripted"), lost, flows);
    assert_eq!(fct(&outcome, 1), asked_for(2));
    assert_eq!((outcome.flows[0].sender.timeouts, outcome.flows[1].sender.timeouts), (0, 0));
}

/// Retransmitted data that have arrived before are not taken for the answer to the next request.
#[test]
fn old_data_do_not_answer_a_request() {
    let flows = vec![flow(0, 0, 1, 2 * MSS), later(0, true, PAUSE, 2 * MSS)];
    // Drop all acknowledgements of the first flow until its sender's timeout, and the request, which is between them.
    let mut config = between(ASKED);
    config.transport.min_rto_ns = PAUSE + 2 * MS;
    let lost = |state: &mut State| script(state, "drop", 0, [3, 4, 5]);
    let outcome = run(&config, &Program::of("scripted"), lost, flows);
    assert_eq!(outcome.flows.iter().map(|flow| flow.sender.timeouts).sum::<u64>(), 2);
    assert_eq!(fct(&outcome, 1), config.transport.min_rto_ns + asked_for(2));
}

#[test]
fn what_the_end_came_before_has_not_started() {
    let flows = vec![flow(0, 0, 1, MSS), later(0, false, 50 * MS, MSS), later(1, false, 0, MSS)];
    let mut config = between(Connections::New);
    config.stop_ns = 49 * MS;
    let outcome = run(&config, &Program::of("droptail"), |_| (), flows);
    assert_eq!(outcome.starts, [Some(Time::ZERO), None, None]);
    assert_eq!(outcome.flows[2].delivered_bytes, 0);
}

#[test]
fn flows_that_cannot_follow_are_refused() {
    let refused = |connections: Connections, flows: Vec<Flow>, reason: &str| {
        let error = build(&between(connections), &Program::of("droptail"), |_| (), flows).err().unwrap().to_string();
        assert!(error.contains(reason), "{error}");
    };
    let first = flow(0, 0, 1, 1);
    refused(ASKED, vec![later(0, false, 0, 1)], "flow 0: a flow can only wait for a flow above it");
    refused(ASKED, vec![first, later(0, true, 0, 1), later(0, true, 0, 1)], "flow 2: only one flow can follow");
    refused(Connections::New, vec![first, later(0, true, 0, 1)], "only if receivers open connections");
    let elsewhere = Flow { src: 1, dst: 0, ..later(0, true, 0, 1) };
    refused(ASKED, vec![first, elsewhere], "must have the same hosts");
    refused(ASKED, vec![flow(5, 0, 1, 1), later(0, true, 0, 1), flow(4, 0, 1, 1)], "flow 2: flows must be in order");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// For any losses, all bytes of a chain of flows arrive, one flow after the other.
    #[test]
    fn all_of_a_chain_come_in_order(
        sizes in prop::collection::vec(1..20 * MSS, 1..6),
        pauses in prop::collection::vec(0..30 * MS, 6),
        same in prop::collection::vec(any::<bool>(), 6),
        there in prop::collection::btree_set(1_u64..60, 0..12),
        back in prop::collection::btree_set(1_u64..40, 0..12),
    ) {
        let flows = sizes.iter().enumerate().map(|(at, &size)| match at {
            0 => flow(0, 0, 1, size),
            _ => later(at as u32 - 1, same[at], pauses[at], size),
        });
        let lost = |state: &mut State| {
            script(state, "drop", 1, there.iter().copied());
            script(state, "drop", 0, back.iter().copied());
        };
        let mut config = between(ASKED);
        config.stop_ns = 3600 * 1000 * MS;
        let outcome = run(&config, &Program::of("scripted"), lost, flows.collect::<Vec<_>>());
        let mut end = 0;
        for (at, record) in outcome.flows.iter().enumerate() {
            let start = outcome.starts[at].expect("it started").nanos();
            prop_assert_eq!(start, if at == 0 { 0 } else { end + pauses[at] });
            prop_assert_eq!(record.delivered_bytes, sizes[at]);
            end = start + record.fct.expect("it finished").nanos();
        }
    }
}
