// SPDX-License-Identifier: MIT OR Apache-2.0
//! Segments that the receiver's NIC merges: when TCP receives them, and what it acknowledges.

use marklab_netsim::{Config, Control, QueueLimit};

use crate::pcap;
use crate::support::*;

const DELAY: u64 = 20 * US;
/// Full segments arrive so many ns apart.
const APART: u64 = 12_304;
const ACK_DELAY: u64 = 500 * US;

fn merging(control: Control, segments: u32, timeout_ns: u64) -> Config {
    let mut config = star(&[(GBPS, DELAY); 2], QueueLimit::Packets(1000), control);
    config.transport.initial_window_segments = 10;
    (config.transport.ack_every_segments, config.transport.ack_delay_ns) = (2, ACK_DELAY);
    config.transport.delay_threshold_ns = Some(144 * US);
    (config.transport.stack.gro_segments, config.transport.stack.gro_timeout_ns) = (segments, timeout_ns);
    config
}

/// Acknowledgements of a flow of ten segments, each as its time in ns after the first segment's arrival, the segments
/// acknowledged, and the echo.
fn acknowledgements(mut config: Config, marks: &[u64], name: &str) -> Vec<(u64, u64, bool)> {
    let path = capture_host(&mut config, 1, name);
    // The second flow, much later, keeps the run going until the last acknowledgement of the first one is sent.
    let flows = vec![flow(0, 0, 1, 10 * MSS), flow(50 * MS, 0, 1, MSS)];
    let outcome =
        run(&config, &Program::of("scripted"), |state| script(state, "mark", 1, marks.iter().copied()), flows);
    assert_eq!((outcome.flows[0].marked, outcome.flows[0].sender.retransmissions), (marks.len() as u64, 0));
    let frames = pcap::read(&path);
    let first = &frames[0];
    let answers = frames.iter().filter(|frame| frame.src == ip(1) && frame.time_ns < 50 * MS);
    let acked = |ack: u32| u64::from(ack.wrapping_sub(first.sequence)) / MSS;
    answers.map(|frame| (frame.time_ns - first.time_ns, acked(frame.ack), frame.ece)).collect()
}

fn acked(segments: u32, timeout_ns: u64) -> Vec<u64> {
    let name = format!("gro-{segments}-{timeout_ns}");
    let all = acknowledgements(merging(Control::Reno, segments, timeout_ns), &[], &name);
    all.into_iter().map(|(_, acked, _)| acked).collect()
}

#[test]
fn one_acknowledgement_is_for_all_merged_segments() {
    assert_eq!(APART, at_1g(MSS));
    // Without merging, one for every second segment.
    for segments in [0, 1] {
        assert_eq!(acked(segments, 0), [2, 4, 6, 8, 10]);
    }
    for (segments, expected) in [(3, &[3, 6, 9, 10][..]), (4, &[4, 8, 10]), (5, &[5, 10]), (9, &[9, 10]), (10, &[10])] {
        assert_eq!(acked(segments, MS), expected, "at most {segments}");
    }
    // The last segment of written data ends it before the limit is reached.
    assert_eq!(acked(44, MS), [10]);
}

#[test]
fn merged_segments_wait_for_the_timeout_of_the_first() {
    // A segment that arrives just then comes too late.
    assert_eq!(acked(44, 3 * APART - 1), [3, 6, 9, 10]);
    assert_eq!(acked(44, 3 * APART), [3, 6, 9, 10]);
    assert_eq!(acked(44, 3 * APART + 1), [4, 8, 10]);
    // TCP receives them when it has passed. The acknowledgement of the last one is delayed.
    let all = acknowledgements(merging(Control::Reno, 44, 3 * APART - 1), &[], "gro-time");
    let times: Vec<_> = all.into_iter().map(|(time, ..)| time).collect();
    assert_eq!(times, [3 * APART - 1, 6 * APART - 1, 9 * APART - 1, 9 * APART + ACK_DELAY]);
}

/// A mark is another header: it ends what was merged before, and every byte is acknowledged with its own mark.
#[test]
fn marked_segments_are_merged_among_themselves() {
    for (marks, expected) in [
        (&[5][..], &[(4, false), (5, true), (10, false)][..]),
        (&[5, 6, 7], &[(4, false), (7, true), (10, false)]),
        (&[1, 2, 3, 4, 5, 6, 7, 8, 9, 10], &[(10, true)]),
    ] {
        let all = acknowledgements(merging(Control::Dctcp, 10, MS), marks, &format!("gro-marks-{}", marks.len()));
        let heard: Vec<_> = all.into_iter().map(|(_, acked, ece)| (acked, ece)).collect();
        assert_eq!(heard, expected, "marked: {marks:?}");
    }
}

#[test]
fn a_gap_ends_what_was_merged() {
    let mut config = merging(Control::Reno, 44, MS);
    let path = capture_host(&mut config, 1, "gro-gap");
    run(&config, &Program::of("scripted"), |state| script(state, "drop", 1, [5]), vec![flow(0, 0, 1, 10 * MSS)]);
    let frames = pcap::read(&path);
    let first = frames[0].sequence;
    let answers = frames.iter().filter(|frame| frame.src == ip(1));
    let heard: Vec<_> = answers
        .map(|frame| (u64::from(frame.ack.wrapping_sub(first)) / MSS, !frame.sacks.is_empty()))
        .take(2)
        .collect();
    // Four before the gap, and all five behind it at once.
    assert_eq!(heard, [(4, false), (4, true)]);
}

/// A run with merging ends as one without does: what waits is never lost.
#[test]
fn flows_finish_whatever_is_merged() {
    for (control, extra_delay_ns) in [(Control::Dctcp, 0), (Control::EcnStar, 30 * US), (Control::DelayDctcp, 0)] {
        let config = merging(control, 44, 50 * US);
        let delayed = marklab_netsim::Flow { extra_delay_ns, ..flow(0, 0, 1, 300 * MSS + 1) };
        let outcome = run(&config, &Program::of("droptail"), |_| (), vec![delayed, flow(US, 0, 1, MSS)]);
        assert!(outcome.flows.iter().all(|flow| flow.fct.is_some()), "{control:?}");
        assert_eq!(outcome.flows[0].sender.timeouts, 0);
    }
}

#[test]
fn settings_of_merging_have_bounds() {
    let refused = |segments, timeout_ns| {
        let config = merging(Control::Reno, segments, timeout_ns);
        let built = build(&config, &Program::of("droptail"), |_| (), vec![flow(0, 0, 1, MSS)]);
        built.err().map(|error| error.to_string())
    };
    for accepted in [(0, 0), (1, 0), (2, 1), (44, 1_000 * MS)] {
        assert_eq!(refused(accepted.0, accepted.1), None);
    }
    assert!(refused(45, MS).unwrap().contains("at most 44 segments"));
    assert!(refused(44, 1_000 * MS + 1).unwrap().contains("at most 1 s"));
    for contradictory in [(0, 1), (1, 1), (2, 0)] {
        assert!(refused(contradictory.0, contradictory.1).unwrap().contains("both"));
    }
}
