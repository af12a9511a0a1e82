// SPDX-License-Identifier: MIT OR Apache-2.0
//! Losses: how they are repaired, and when, to the ns.

use marklab_netsim::{Config, Connections, Control, Outcome, QueueLimit, Reason};
use marklab_switch::Loss;

use crate::pcap;
use crate::support::*;

const DELAY: u64 = 20 * US;
const HOPS: u64 = 2;

fn config(control: Control) -> Config {
    star(&[(GBPS, DELAY); 2], QueueLimit::Packets(1000), control)
}

/// Runs one flow of full segments; the switch drops the packets with these numbers on the way to the receiver.
fn with_drops(config: &Config, segments: u64, drops: &[u64]) -> Outcome {
    let setup = |state: &mut _| script(state, "drop", 1, drops.iter().copied());
    let outcome = run(config, &Program::of("scripted"), setup, vec![flow(0, 0, 1, segments * MSS)]);
    let expected: Vec<_> = (!drops.is_empty())
        .then_some((2, Some(1), Reason::Switch(Loss::Egress), drops.len() as u64))
        .into_iter()
        .collect();
    assert_eq!(outcome.ledger.iter().collect::<Vec<_>>(), expected);
    outcome
}

/// A segment of `payload` and its acknowledgement on an empty path.
fn round_trip(payload: u64) -> u64 {
    HOPS * (at_1g(payload) + at_1g(0) + 2 * DELAY)
}

/// Arrival time of the segment with this number, in a burst that begins at 0.
fn burst(number: u64) -> u64 {
    (number + HOPS - 1) * at_1g(MSS) + HOPS * DELAY
}

/// Time of an acknowledgement on the way back.
fn ack_ns() -> u64 {
    HOPS * (at_1g(0) + DELAY)
}

/// The same with one SACK block: 12 bytes of options.
fn sack_ns() -> u64 {
    HOPS * (at_1g(12) + DELAY)
}

/// The first of ten segments is lost. The third SACK shows it (RFC 6675), and the window is halved to 5. The
/// retransmission leaves at once, though six segments are in flight (section 5, step 4.3).
#[test]
fn three_sacks_repair_a_loss_without_timeout() {
    for control in [Control::Reno, Control::EcnStar, Control::Dctcp] {
        let outcome = with_drops(&config(control), 10, &[1]);
        let sender = outcome.flows[0].sender;
        assert_eq!((sender.retransmissions, sender.timeouts, sender.fast_recoveries), (1, 0, 1), "{control:?}");
        // The third SACK is for segment 4.
        assert_eq!(fct(&outcome, 0), burst(4) + sack_ns() + burst(1), "{control:?}");
    }
}

/// Up to seven of ten segments are lost, with three segments after them: no timeout is needed.
#[test]
fn sacks_repair_many_losses_of_one_window() {
    for drops in [vec![2, 4, 6], vec![1, 2, 3, 4, 5, 6, 7], vec![7], vec![1, 7]] {
        let outcome = with_drops(&config(Control::Reno), 10, &drops);
        let sender = outcome.flows[0].sender;
        let expected = (drops.len() as u64, 0, 1);
        assert_eq!((sender.retransmissions, sender.timeouts, sender.fast_recoveries), expected, "{drops:?}");
    }
}

/// A retransmission is lost too: a segment that was sent after it and arrives shows the loss, a round trip later.
#[test]
fn lost_retransmissions_are_found_without_timeout() {
    let (segments, window) = (40, 10);
    for control in [Control::Reno, Control::EcnStar, Control::Dctcp] {
        let repaired = |drops: &[u64]| {
            let outcome = with_drops(&config(control), segments, drops);
            let sender = outcome.flows[0].sender;
            assert_eq!((sender.retransmissions, sender.timeouts), (drops.len() as u64, 0), "{control:?} {drops:?}");
            assert_eq!(sender.fast_recoveries, 1, "{control:?} {drops:?}");
            fct(&outcome, 0)
        };
        // The first segment of the window, and its retransmission directly after the window.
        let once = repaired(&[1]);
        let twice = repaired(&[1, window + 1]);
        assert!(twice > once && twice - once < 3 * round_trip(MSS), "{control:?}: {once} and {twice} ns");
    }
}

/// A loss with fewer than three segments behind it needs the timer. The last acknowledgement of new data restarted the
/// timer. With much shorter round trips, it is the smallest timeout.
#[test]
fn a_tail_loss_takes_the_smallest_timeout_exactly() {
    for control in [Control::Reno, Control::EcnStar, Control::Dctcp] {
        for min_rto in [1, 5, 10].map(|ms| ms * MS) {
            let mut config = config(control);
            config.transport.min_rto_ns = min_rto;
            // The last of ten segments: the acknowledgement of the ninth restarts the timer.
            let outcome = with_drops(&config, 10, &[10]);
            let sender = outcome.flows[0].sender;
            assert_eq!((sender.retransmissions, sender.timeouts, sender.fast_recoveries), (1, 1, 0));
            assert_eq!(fct(&outcome, 0), burst(9) + ack_ns() + min_rto + burst(1));
            // The last three segments: the window restarts with one segment, then two.
            let outcome = with_drops(&config, 10, &[8, 9, 10]);
            let sender = outcome.flows[0].sender;
            assert_eq!((sender.retransmissions, sender.timeouts, sender.fast_recoveries), (3, 1, 0));
            assert_eq!(fct(&outcome, 0), burst(7) + ack_ns() + min_rto + round_trip(MSS) + burst(2));
        }
    }
}

/// Of a burst of ten packets at ten times the rate of the port, three fit into the queue and one onto the line.
#[test]
fn a_full_queue_drops_the_tail_of_a_burst() {
    let mut config = star(&[(10 * GBPS, DELAY), (GBPS, DELAY)], QueueLimit::Packets(3), Control::Reno);
    trace_queue(&mut config, 1);
    let outcome = run(&config, &Program::of("droptail"), |_| (), vec![flow(0, 0, 1, 10 * MSS)]);
    let full = Reason::Switch(Loss::QueueFull);
    assert_eq!(outcome.ledger.iter().collect::<Vec<_>>(), [(2, Some(1), full, 6)]);
    assert_eq!(full.place(), "queue");
    let port = outcome.switches[0].ports[1];
    assert_eq!((port.queue.dropped, port.queue.max.packets), (6, 3));
    assert_eq!(outcome.traces[0].port().rows().iter().map(|row| row.max_packets).max(), Some(3));
    let sender = outcome.flows[0].sender;
    assert_eq!((sender.retransmissions, sender.timeouts), (6, 1));
    // Segments take 1230.4 ns on the first line and 12304 ns on the second. The first four leave there back to back.
    // Then follow one segment, two, and the last three.
    let fast = |payload: u64| wire_bytes(payload) * 8 / 10;
    let first_four = fast(MSS) + 4 * at_1g(MSS) + 2 * DELAY;
    let back = at_1g(0) + fast(0) + 2 * DELAY;
    let round = fast(MSS) + at_1g(MSS) + 2 * DELAY + back;
    let expected = first_four + back + config.transport.min_rto_ns + 2 * round + fast(MSS) + 3 * at_1g(MSS) + 2 * DELAY;
    let off = fct(&outcome, 0).abs_diff(expected);
    assert!(off <= 6, "{off} ns beside {expected}: more than a ns for each rounded transmission");
}

/// RFC 6298 section 5.5: each timeout is twice the previous one.
#[test]
fn timeouts_double() {
    for lost in 1..=8u64 {
        let config = config(Control::Dctcp);
        let drops: Vec<u64> = (1..=lost).collect();
        let outcome = with_drops(&config, 1, &drops);
        // Without a sample the timeout is the initial one.
        let waited = config.transport.initial_rto_ns * ((1 << lost) - 1);
        assert_eq!(fct(&outcome, 0), waited + burst(1));
        assert_eq!((outcome.flows[0].sender.timeouts, outcome.flows[0].sender.retransmissions), (lost, lost));
    }
}

/// No timeout is longer than a minute (RFC 6298 section 2.5).
#[test]
fn timeouts_stop_doubling_at_a_minute() {
    let outcome = with_drops(&config(Control::Reno), 1, &(1..=14).collect::<Vec<_>>());
    // 30 ms double up to 30 ms * 2^10 = 30.72 s; the 12th to 14th timeouts take 60 s.
    assert_eq!(fct(&outcome, 0), 30 * MS * ((1 << 11) - 1) + 3 * 60_000 * MS + burst(1));
}

/// RFC 6298 sections 3 and 5.7: a retransmission gives no sample (Karn), so the timeout stays doubled until a segment
/// that was sent only once is acknowledged.
#[test]
fn only_a_sample_ends_backing_off() {
    let config = config(Control::Reno);
    // Three flows of one segment on one connection. The first is sent three times.
    let flows = || [0, 1, 2].map(|second| flow(second * 1_000 * MS, 0, 1, MSS)).to_vec();
    let times = |drops: [u64; 3]| {
        let setup = |state: &mut _| script(state, "drop", 1, drops);
        let outcome = run(&config, &Program::of("scripted"), setup, flows());
        [0, 1, 2].map(|flow| fct(&outcome, flow) - burst(1))
    };
    let initial = config.transport.initial_rto_ns;
    assert_eq!(times([1, 2, 4]), [3 * initial, 4 * initial, 0]);
    assert_eq!(times([1, 2, 5]), [3 * initial, 0, config.transport.min_rto_ns]);
}

#[test]
fn a_lost_syn_is_sent_again_after_the_initial_timeout() {
    let syn_and_ack = 2 * HOPS * (syn_at_1g() + DELAY);
    for lost in 0..=4u64 {
        for back in [false, true] {
            let mut config = config(Control::Dctcp);
            config.connections = Connections::New;
            let port = if back { 0 } else { 1 };
            let setup = |state: &mut _| script(state, "drop", port, 1..=lost);
            let outcome = run(&config, &Program::of("scripted"), setup, vec![flow(0, 0, 1, MSS)]);
            let waited = config.transport.initial_rto_ns * ((1 << lost) - 1);
            assert_eq!(fct(&outcome, 0), waited + syn_and_ack + at_1g(0) + burst(1));
            assert_eq!((outcome.flows[0].sender.timeouts, outcome.ledger.total()), (lost, lost), "SYN-ACK: {back}");
        }
    }
}

/// RFC 5681 section 3.1: after a lost SYN or SYN-ACK the first window is one segment.
#[test]
fn a_lost_syn_leaves_a_window_of_one_segment() {
    let mut config = config(Control::Reno);
    config.connections = Connections::New;
    let setup = |state: &mut _| script(state, "drop", 1, [1]);
    let outcome = run(&config, &Program::of("scripted"), setup, vec![flow(0, 0, 1, 3 * MSS)]);
    let opened = config.transport.initial_rto_ns + 2 * HOPS * (syn_at_1g() + DELAY) + at_1g(0);
    assert_eq!(fct(&outcome, 0), opened + round_trip(MSS) + burst(2));
}

/// Karn's rule for the handshake: a SYN that was sent twice gives no round-trip sample, so the next timeout is the
/// initial one. A SYN that was sent once gives a sample, so the next timeout is the smallest one.
#[test]
fn a_syn_sent_twice_gives_no_sample() {
    let mut config = config(Control::Dctcp);
    config.connections = Connections::New;
    let opened = 2 * HOPS * (syn_at_1g() + DELAY);
    // Packets to the receiver: SYN, ACK, data; or SYN, SYN, ACK, data.
    for (drops, waited) in [
        ([3, 60], config.transport.min_rto_ns),
        ([1, 4], config.transport.initial_rto_ns + config.transport.initial_rto_ns),
    ] {
        let setup = |state: &mut _| script(state, "drop", 1, drops);
        let outcome = run(&config, &Program::of("scripted"), setup, vec![flow(0, 0, 1, MSS)]);
        // No ACK is sent before the retransmitted data.
        assert_eq!(fct(&outcome, 0), opened + waited + burst(1), "{drops:?}");
    }
}

/// A lost acknowledgement costs no time when a later one arrives, nor when it is the last of the flow.
#[test]
fn lost_acknowledgements_are_made_good_by_later_ones() {
    let config = config(Control::Dctcp);
    let without = fct(&with_drops(&config, 40, &[]), 0);
    for drops in [vec![1], vec![3, 4, 5], vec![40]] {
        let setup = |state: &mut _| script(state, "drop", 0, drops.iter().copied());
        let outcome = run(&config, &Program::of("scripted"), setup, vec![flow(0, 0, 1, 40 * MSS)]);
        assert_eq!(outcome.flows[0].sender.retransmissions, 0, "{drops:?}");
        assert!(fct(&outcome, 0) >= without);
    }
}

/// RFC 3168 section 6.1.2: the first new segment after a reduction for any reason carries CWR, which ends the echo of
/// an earlier mark. The reason here is a loss that only the timer repairs.
#[test]
fn a_timeout_is_told_by_cwr() {
    let mut config = config(Control::EcnStar);
    let path = capture_host(&mut config, 1, "loss-cwr");
    let setup = |state: &mut _| script(state, "drop", 1, 2..=12);
    let outcome = run(&config, &Program::of("scripted"), setup, vec![flow(0, 0, 1, 30 * MSS)]);
    assert_eq!(outcome.flows[0].sender.timeouts, 1);
    let frames = pcap::read(&path);
    let first = frames[0].sequence;
    let reported = frames.iter().filter(|frame| frame.cwr).map(|frame| u64::from(frame.sequence - first) / MSS);
    // Two more were sent when segment 1 was acknowledged, so the first new segment after the timeout is number 13.
    assert_eq!(reported.collect::<Vec<_>>(), [12]);
}

/// Receivers report segments that arrive out of order, until the holes are filled.
#[test]
fn receivers_report_what_they_have_beyond_a_hole() {
    let mut config = config(Control::Reno);
    let path = capture_host(&mut config, 1, "loss-sack");
    let setup = |state: &mut _| script(state, "drop", 1, [3, 6, 8]);
    run(&config, &Program::of("scripted"), setup, vec![flow(0, 0, 1, 10 * MSS)]);
    let frames = pcap::read(&path);
    let first = frames[0].sequence;
    let segment = |sequence: u32| u64::from(sequence.wrapping_sub(first)) / MSS + 1;
    let blocks = |frame: &pcap::Captured| -> Vec<(u64, u64)> {
        frame.sacks.iter().map(|&(start, end)| (segment(start), segment(end) - 1)).collect()
    };
    let answers = frames.iter().filter(|frame| frame.src == ip(1));
    let reported: Vec<_> = answers.map(|frame| (segment(frame.ack) - 1, blocks(frame))).collect();
    let expected: [(u64, &[(u64, u64)]); 10] = [
        (1, &[]),
        (2, &[]),
        (2, &[(4, 4)]),
        (2, &[(4, 5)]),
        (2, &[(7, 7), (4, 5)]),
        (2, &[(9, 9), (7, 7), (4, 5)]),
        (2, &[(9, 10), (7, 7), (4, 5)]),
        (5, &[(9, 10), (7, 7)]),
        (7, &[(9, 10)]),
        (10, &[]),
    ];
    let reported: Vec<_> = reported.iter().map(|(acked, blocks)| (*acked, &blocks[..])).collect();
    assert_eq!(reported, expected);
}

/// A FIN that arrives beyond a hole is acknowledged when the hole is filled.
#[test]
fn an_end_of_data_beyond_a_hole_is_acknowledged() {
    for drops in [vec![], vec![5], vec![9, 10], vec![11]] {
        let mut config = config(Control::Dctcp);
        config.connections = Connections::New;
        let path = capture_host(&mut config, 0, "loss-fin");
        // SYN and ACK are packets 1 and 2. A second flow keeps the run going until the first connection is closed.
        let flows = vec![flow(0, 0, 1, 10 * MSS), flow(1_000 * MS, 0, 1, MSS)];
        run(&config, &Program::of("scripted"), |state| script(state, "drop", 1, drops.iter().copied()), flows);
        let frames = pcap::read(&path);
        let syn = &frames[0];
        let of_first = frames.iter().filter(|frame| frame.dst_port == syn.src_port);
        let ends: Vec<_> = of_first.filter(|frame| frame.fin).map(|frame| frame.ack - syn.sequence).collect();
        assert_eq!(ends, [10 * MSS as u32 + 2], "SYN, data and FIN; lost: {drops:?}");
    }
}
