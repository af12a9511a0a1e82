// SPDX-License-Identifier: MIT OR Apache-2.0
//! Echoes of marks: the exact acknowledgements of receivers for given marks.

use marklab_netsim::{Connections, Control, QueueLimit};

use crate::pcap;
use crate::support::*;

const DELAY: u64 = 20 * US;
const ACK_DELAY: u64 = 500 * US;

/// Acknowledgements of a flow, each as acknowledged segments and echo. `marks` are the numbers of marked segments.
fn acknowledgements(name: &str, control: Control, ack_every: u32, segments: u64, marks: &[u64]) -> Vec<(u64, bool)> {
    let mut config = star(&[(GBPS, DELAY); 2], QueueLimit::Packets(1000), control);
    config.transport.ack_every_segments = ack_every;
    config.transport.ack_delay_ns = ACK_DELAY;
    config.transport.initial_window_segments = segments as u32;
    let path = capture_host(&mut config, 1, name);
    // A second flow, much later, keeps the run going until the delayed acknowledgement of the first flow is sent.
    let flows = vec![flow(0, 0, 1, segments * MSS), flow(5 * MS, 0, 1, MSS)];
    let outcome =
        run(&config, &Program::of("scripted"), |state| script(state, "mark", 1, marks.iter().copied()), flows);
    assert_eq!((outcome.flows[0].marked, outcome.flows[0].sender.retransmissions), (marks.len() as u64, 0));
    let frames = pcap::read(&path);
    let first = frames[0].sequence;
    let data = frames.iter().filter(|frame| frame.src == ip(0) && frame.payload > 0);
    let marked: Vec<u64> = data.zip(1..).filter(|(frame, _)| frame.ecn == 3).map(|(_, number)| number).collect();
    assert_eq!(marked, marks);
    let answers = frames.iter().filter(|frame| frame.src == ip(1) && frame.time_ns < 5 * MS);
    answers.map(|frame| (u64::from(frame.ack.wrapping_sub(first)) / MSS, frame.ece)).collect()
}

/// RFC 8257 section 3.2 with m = 1: each segment is acknowledged with its own mark.
#[test]
fn dctcp_echoes_each_mark_when_each_segment_is_acknowledged() {
    for (number, marks) in
        [&[][..], &[1], &[8], &[1, 2, 3, 4, 5, 6, 7, 8], &[2, 4, 6, 8], &[3, 4, 7]].iter().enumerate()
    {
        let expected: Vec<_> = (1..=8).map(|segment| (segment, marks.contains(&segment))).collect();
        let name = format!("echo-each-{number}");
        assert_eq!(acknowledgements(&name, Control::Dctcp, 1, 8, marks), expected, "marked: {marks:?}");
    }
}

/// RFC 8257 section 3.2 and figure 1 with m = 2. A change of state sends an acknowledgement at once. Segments of the
/// old state that still wait are acknowledged before it and separately, as the section allows, so every byte is
/// acknowledged with its own mark.
#[test]
fn dctcp_acknowledges_at_once_when_marks_begin_or_end() {
    const NO: bool = false;
    const CE: bool = true;
    // Marked segments, and acknowledgements with their echo.
    type Case<'a> = (&'a [u64], &'a [(u64, bool)]);
    let cases: [Case; 9] = [
        // No change: every second segment.
        (&[], &[(2, NO), (4, NO), (6, NO), (8, NO)]),
        // A change at the first segment.
        (&[1, 2, 3, 4, 5, 6, 7, 8], &[(1, CE), (3, CE), (5, CE), (7, CE), (8, CE)]),
        // A change when no segment waits.
        (&[3, 4, 5, 6, 7, 8], &[(2, NO), (3, CE), (5, CE), (7, CE), (8, CE)]),
        // A change when a segment waits.
        (&[4, 5, 6, 7, 8], &[(2, NO), (3, NO), (4, CE), (6, CE), (8, CE)]),
        // A single mark: a change, and a change back.
        (&[3], &[(2, NO), (3, CE), (4, NO), (6, NO), (8, NO)]),
        (&[4], &[(2, NO), (3, NO), (4, CE), (5, NO), (7, NO), (8, NO)]),
        // A change at each segment.
        (&[2, 4, 6, 8], &[(1, NO), (2, CE), (3, NO), (4, CE), (5, NO), (6, CE), (7, NO), (8, CE)]),
        // Marks end when a segment waits.
        (&[1, 2], &[(1, CE), (2, CE), (3, NO), (5, NO), (7, NO), (8, NO)]),
        // A mark on the last segment needs no timer.
        (&[8], &[(2, NO), (4, NO), (6, NO), (7, NO), (8, CE)]),
    ];
    for (number, (marks, expected)) in cases.iter().enumerate() {
        let name = format!("echo-second-{number}");
        assert_eq!(acknowledgements(&name, Control::Dctcp, 2, 8, marks), *expected, "marked: {marks:?}");
    }
}

/// For any marks, the bytes acknowledged with an echo are those of marked segments.
#[test]
fn dctcp_tells_exactly_how_many_bytes_were_marked() {
    for pattern in 0..64u64 {
        let marks: Vec<u64> = (1..=6).filter(|segment| pattern >> (segment - 1) & 1 == 1).collect();
        for ack_every in [2, 3] {
            let acks = acknowledgements("echo-count", Control::Dctcp, ack_every, 6, &marks);
            let mut before = 0;
            for (acked, echo) in acks {
                let reported: Vec<bool> = (before + 1..=acked).map(|segment| marks.contains(&segment)).collect();
                assert!(
                    reported.iter().all(|&marked| marked == echo),
                    "{marks:?}: {before}..{acked} reported as {echo}"
                );
                before = acked;
            }
            assert_eq!(before, 6);
        }
    }
}

/// RFC 3168 section 6.1.3: after a mark, every acknowledgement carries the echo until CWR arrives. Section 6.1.2: the
/// first new segment after the reduction carries CWR.
#[test]
fn ecn_star_echoes_until_the_sender_has_answered() {
    let mut config = star(&[(GBPS, DELAY); 2], QueueLimit::Packets(1000), Control::EcnStar);
    let path = capture_host(&mut config, 1, "echo-latched");
    let mark = |state: &mut _| script(state, "mark", 1, [3]);
    let outcome = run(&config, &Program::of("scripted"), mark, vec![flow(0, 0, 1, 60 * MSS)]);
    assert_eq!(outcome.flows[0].sender.ecn_reductions, 1);
    let frames = pcap::read(&path);
    let first = frames[0].sequence;
    let cwr: Vec<_> = frames.iter().filter(|frame| frame.cwr).collect();
    assert_eq!(cwr.len(), 1, "one answer to one mark");
    // Acknowledgements from the mark until the CWR segment arrives carry the echo; no others do.
    let answered = cwr[0].end().wrapping_sub(first);
    for frame in frames.iter().filter(|frame| frame.src == ip(1)) {
        let acked = frame.ack.wrapping_sub(first);
        let expected = (3 * MSS as u32..answered).contains(&acked);
        assert_eq!(frame.ece, expected, "ACK of {} segments", u64::from(acked) / MSS);
    }
}

/// RFC 1122 section 4.2.3.2: an ACK for every second segment, and for a single segment after the delay.
#[test]
fn a_lone_segment_is_acknowledged_after_the_delay() {
    for (segments, expected) in [(1, ACK_DELAY), (2, 0), (3, ACK_DELAY)] {
        let mut config = star(&[(GBPS, DELAY); 2], QueueLimit::Packets(1000), Control::Reno);
        config.transport.ack_every_segments = 2;
        config.transport.ack_delay_ns = ACK_DELAY;
        let path = capture_host(&mut config, 1, &format!("echo-lone-{segments}"));
        let flows = vec![flow(0, 0, 1, segments * MSS), flow(5 * MS, 0, 1, 1)];
        let outcome = run(&config, &Program::of("droptail"), |_| (), flows);
        let answers: Vec<_> = pcap::read(&path).into_iter().filter(|frame| frame.src == ip(1)).collect();
        assert_eq!(answers.len() as u64, segments.div_ceil(2));
        assert_eq!(answers.last().unwrap().time_ns - fct(&outcome, 0), expected, "{segments} segments");
    }
}

/// RFC 3168 section 6.1.1: the handshake negotiates ECN. Without negotiation no ECN bit is ever set.
#[test]
fn the_handshake_negotiates_ecn() {
    for (control, syn_flags, syn_ack_ece, syn_ecn, data_ecn) in [
        (Control::Dctcp, true, true, 2, 2), // Linux's DCTCP sends all packets as ECN capable
        (Control::EcnStar, true, true, 0, 2),
        (Control::Reno, false, false, 0, 0),
    ] {
        let mut config = star(&[(GBPS, DELAY); 2], QueueLimit::Packets(1000), control);
        config.connections = Connections::New;
        let path = capture_host(&mut config, 0, &format!("echo-handshake-{control:?}"));
        run(&config, &Program::of("droptail"), |_| (), vec![flow(0, 0, 1, 3 * MSS)]);
        let frames = pcap::read(&path);
        let [syn, syn_ack, ack, data] = &frames[..4] else { panic!("{} frames", frames.len()) };
        assert!(syn.syn && syn_ack.syn && !ack.syn && data.payload > 0);
        assert_eq!((syn.ece, syn.cwr, syn.ecn), (syn_flags, syn_flags, syn_ecn), "{control:?}");
        assert_eq!((syn_ack.ece, syn_ack.cwr, syn_ack.ecn), (syn_ack_ece, false, syn_ecn), "{control:?}");
        assert_eq!((ack.ecn, data.ecn), (syn_ecn, data_ecn), "{control:?}");
    }
}
