// SPDX-License-Identifier: MIT OR Apache-2.0
//! Flows that their receivers ask for: handshake, request, answer, and the repair of a loss of any of them.

use marklab_netsim::{Config, Connections, Control, Flow, Outcome, QueueLimit};
use marklab_pipeline::State;

use crate::pcap;
use crate::support::*;

const DELAY: u64 = 20 * US;
const REQUEST: u64 = 300;
/// Frames of a SYN and its answer: headers of 54 bytes, and 12 bytes of options.
const SYN: u64 = 66;
const INITIAL_RTO: u64 = 30 * MS;

fn requested(control: Control) -> Config {
    let connections = Connections::Asked { request_bytes: REQUEST as u32 };
    Config { connections, ..star(&[(GBPS, DELAY); 2], QueueLimit::Packets(1000), control) }
}

/// ns that a frame takes from host to host, over both lines of 1 Gb/s.
fn across(frame_bytes: u64) -> u64 {
    2 * ((frame_bytes.max(60) + 24) * 8 + DELAY)
}

/// ns until `segments` segments, sent at once, have arrived, after a handshake and a request without a loss.
fn undisturbed(segments: u64) -> u64 {
    2 * across(SYN) + across(54 + REQUEST) + across(54 + MSS) + (segments - 1) * (54 + MSS + 24) * 8
}

fn lose(config: &Config, port: u64, number: u64, flow: Flow) -> Outcome {
    run(config, &Program::of("scripted"), |state: &mut State| script(state, "drop", port, [number]), vec![flow])
}

#[test]
fn an_answer_comes_after_handshake_and_request() {
    for segments in [1, 2, 10] {
        let config = requested(Control::EcnStar);
        let outcome = run(&config, &Program::of("droptail"), |_| (), vec![flow(7 * US, 0, 1, segments * MSS)]);
        assert_eq!(fct(&outcome, 0), undisturbed(segments), "{segments} segments");
        assert_eq!(outcome.flows[0].sender.timeouts, 0);
    }
}

#[test]
fn the_extra_delay_is_that_of_the_host_with_the_data() {
    let extra_delay_ns = 3 * MS;
    let flow = Flow { extra_delay_ns, ..flow(0, 0, 1, 2 * MSS) };
    let outcome = run(&requested(Control::Reno), &Program::of("droptail"), |_| (), vec![flow]);
    assert_eq!(fct(&outcome, 0), undisturbed(2) + 2 * extra_delay_ns, "of the SYN-ACK and of the data");
}

/// ECN+ (SIGCOMM 2005), section 3.2: the SYN is not ECN capable; its answer is, if both ends take part in ECN.
#[test]
fn ecn_plus_makes_answers_to_syns_ecn_capable() {
    for (control, ecn, plus, negotiated, syn_ack_ecn, data_ecn) in [
        (Control::EcnStar, true, false, true, 0, 2),
        (Control::EcnStar, true, true, true, 2, 2),
        (Control::EcnStar, false, true, false, 0, 0),
        (Control::Reno, true, true, false, 0, 0),
    ] {
        let mut config = requested(control);
        config.transport.ecn_plus = plus;
        let path = capture_host(&mut config, 1, &format!("asked-{control:?}-{ecn}-{plus}"));
        run(&config, &Program::of("droptail"), |_| (), vec![Flow { ecn, ..flow(0, 0, 1, 2 * MSS) }]);
        let frames = pcap::read(&path);
        let [syn, syn_ack, request, data] = &frames[..4] else { panic!("{} frames", frames.len()) };
        assert_eq!((syn.src, syn.syn, syn.ecn, syn.ece), (ip(1), true, 0, negotiated));
        assert_eq!((syn_ack.src, syn_ack.syn, syn_ack.ecn, syn_ack.ece), (ip(0), true, syn_ack_ecn, negotiated));
        assert_eq!((request.src, u64::from(request.payload), request.syn), (ip(1), REQUEST, false));
        assert_eq!((data.src, u64::from(data.payload), data.ecn), (ip(0), MSS, data_ecn));
        // Sequence and acknowledgement numbers of both streams match.
        assert_eq!(syn_ack.ack, syn.sequence.wrapping_add(1));
        assert_eq!((request.sequence, request.ack), (syn_ack.ack, syn_ack.sequence.wrapping_add(1)));
        assert_eq!((data.sequence, data.ack), (request.ack, request.end()));
        let last_ack = frames.iter().rfind(|frame| frame.src == ip(1)).unwrap();
        assert_eq!(last_ack.ack, data.sequence.wrapping_add(2 * MSS as u32 + 1), "data and FIN");
    }
}

#[test]
fn a_lost_syn_costs_the_first_timeout() {
    let outcome = lose(&requested(Control::EcnStar), 0, 1, flow(0, 0, 1, 2 * MSS));
    assert_eq!(fct(&outcome, 0), INITIAL_RTO + undisturbed(2));
    assert_eq!((outcome.flows[0].sender.timeouts, outcome.flows[0].sender.retransmissions), (1, 1));
}

/// RFC 5681 section 3.1: the host with the data then begins with one segment.
#[test]
fn a_lost_answer_costs_a_timeout_and_the_first_window() {
    let outcome = lose(&requested(Control::EcnStar), 1, 1, flow(0, 0, 1, 2 * MSS));
    let ack = across(54);
    assert_eq!(fct(&outcome, 0), INITIAL_RTO + undisturbed(1) + ack + across(54 + MSS));
    assert_eq!(outcome.flows[0].sender.timeouts, 1);
}

#[test]
fn timeouts_of_lost_answers_double() {
    let drops = |state: &mut State| script(state, "drop", 1, [1, 2, 3]);
    let outcome = run(&requested(Control::Reno), &Program::of("scripted"), drops, vec![flow(0, 0, 1, MSS)]);
    assert_eq!(fct(&outcome, 0), (1 + 2 + 4) * INITIAL_RTO + undisturbed(1));
    assert_eq!(outcome.flows[0].sender.timeouts, 3);
}

fn with_timer(connections: Connections) -> Config {
    let mut config = Config { connections, ..requested(Control::Reno) };
    config.transport.syn_ack_timer = true;
    config
}

const ASKED: Connections = Connections::Asked { request_bytes: REQUEST as u32 };

/// Kinds of connections, each with the port of the host that opens it, the port of the other host, and the time of a
/// flow of one segment without a loss.
fn kinds() -> [(Connections, u64, u64, u64); 2] {
    // ACK and data are sent back to back.
    let pushed = 2 * across(SYN) + 84 * 8 + across(54 + MSS);
    [(ASKED, 1, 0, undisturbed(1)), (Connections::New, 0, 1, pushed)]
}

/// RFC 9293: a SYN-ACK is retransmitted until it is acknowledged, even if the SYN is not repeated.
#[test]
fn an_answer_has_a_timer_of_its_own() {
    for (connections, opener, other, alone) in kinds() {
        for (syns, answers, timeouts) in [
            (&[][..], &[][..], 0),
            // The timer and the repeated SYN, in one round trip.
            (&[], &[1], 1),
            (&[2], &[1], 1),
            (&[2], &[1, 2], 3),
            (&[2, 3], &[1, 2], 3),
            (&[2, 3], &[1, 2, 3], 7),
        ] {
            let config = with_timer(connections);
            let losses = |state: &mut State| {
                script(state, "drop", other, syns.iter().copied());
                script(state, "drop", opener, answers.iter().copied());
            };
            let outcome = run(&config, &Program::of("scripted"), losses, vec![flow(0, 0, 1, MSS)]);
            assert_eq!(fct(&outcome, 0), timeouts * INITIAL_RTO + alone, "{connections:?}: {syns:?}, {answers:?}");
        }
    }
}

#[test]
fn without_a_timer_an_answer_waits_for_the_syn() {
    for (connections, opener, other, alone) in kinds() {
        let mut config = with_timer(connections);
        config.transport.syn_ack_timer = false;
        let losses = |state: &mut State| {
            script(state, "drop", other, [2]);
            script(state, "drop", opener, [1]);
        };
        let outcome = run(&config, &Program::of("scripted"), losses, vec![flow(0, 0, 1, MSS)]);
        assert_eq!(fct(&outcome, 0), (1 + 2) * INITIAL_RTO + alone, "{connections:?}");
    }
}

/// The flow takes longer than the timer.
#[test]
fn what_is_acknowledged_is_not_answered_again() {
    for (connections, opener, other, _) in kinds() {
        let mut config = with_timer(connections);
        let path = capture_host(&mut config, opener as usize, &format!("answered-{opener}"));
        let outcome = run(&config, &Program::of("droptail"), |_| (), vec![flow(0, 0, 1, 5000 * MSS)]);
        assert!(fct(&outcome, 0) > 2 * INITIAL_RTO);
        assert_eq!(outcome.flows[0].sender.timeouts, 0);
        let frames = pcap::read(&path);
        assert_eq!(frames.iter().filter(|frame| frame.syn && frame.src == ip(other as usize)).count(), 1);
    }
}

/// The timer and the repeated SYN cause one answer each: the second is acknowledged, and has no other effect.
#[test]
fn an_answer_that_comes_twice_is_acknowledged() {
    for (connections, opener, other, _) in kinds() {
        let mut config = with_timer(connections);
        let path = capture_host(&mut config, opener as usize, &format!("answer-twice-{opener}"));
        let outcome = lose(&config, opener, 1, flow(0, 0, 1, MSS));
        assert_eq!(outcome.flows[0].delivered_bytes, MSS);
        let frames = pcap::read(&path);
        let answers: Vec<_> = frames.iter().filter(|frame| frame.syn && frame.src == ip(other as usize)).collect();
        assert_eq!(answers.len(), 2, "{connections:?}");
        let acknowledged = answers[0].sequence.wrapping_add(1);
        let bare = frames.iter().filter(|frame| {
            frame.src == ip(opener as usize) && !frame.syn && frame.payload == 0 && frame.ack == acknowledged
        });
        // A client acknowledges the first answer with an ACK of its own, a host that asks for data with its request.
        let expected = if connections == ASKED { 1 } else { 2 };
        assert_eq!(bare.count(), expected, "{connections:?}");
        // Timers retransmitted one SYN and one SYN-ACK.
        assert_eq!((outcome.flows[0].sender.timeouts, outcome.flows[0].sender.retransmissions), (2, 2));
    }
}

/// The handshake has measured the round trip, so the smallest timeout applies.
#[test]
fn a_lost_request_is_sent_again() {
    let config = requested(Control::EcnStar);
    let outcome = lose(&config, 0, 2, flow(0, 0, 1, 2 * MSS));
    assert_eq!(fct(&outcome, 0), config.transport.min_rto_ns + undisturbed(2));
    assert_eq!(outcome.flows[0].sender.timeouts, 1);
}

/// Both hosts have measured the round trip in the handshake, so both wait for the smallest timeout.
#[test]
fn lost_data_come_once_and_the_request_twice() {
    // The first frame towards host 1 is the answer to the SYN.
    let mut config = requested(Control::EcnStar);
    config.transport.initial_window_segments = 1;
    let path = capture_host(&mut config, 1, "asked-lost-data");
    let outcome = lose(&config, 1, 2, flow(0, 0, 1, MSS));
    assert_eq!(outcome.flows[0].delivered_bytes, MSS);
    let frames = pcap::read(&path);
    let requests = frames.iter().filter(|frame| frame.src == ip(1) && frame.payload > 0).count();
    let data = frames.iter().filter(|frame| frame.src == ip(0) && frame.payload > 0).count();
    assert_eq!((requests, data), (2, 1), "each after its timeout");
    let request_came = 2 * across(SYN) + across(54 + REQUEST);
    assert_eq!(fct(&outcome, 0), request_came + config.transport.min_rto_ns + across(54 + MSS));
}

#[test]
fn requests_that_do_not_fit_are_refused() {
    for request_bytes in [0, MSS as u32 + 1] {
        let config = Config { connections: Connections::Asked { request_bytes }, ..requested(Control::Reno) };
        let error = build(&config, &Program::of("droptail"), |_| (), vec![flow(0, 0, 1, 1)]).err().unwrap();
        assert!(error.to_string().contains("fit into a segment"), "{error}");
    }
}
