// SPDX-License-Identifier: MIT OR Apache-2.0
//! Lossless lines: pauses to the ns, and no loss with the headroom that the formula requires.

use marklab_netsim::{Config, Control, Flow, Node, Outcome, PauseScope, PauseStats, Pfc, QueueLimit};
use marklab_units::Time;
use proptest::prelude::*;

use crate::support::*;

const DELAY: u64 = 20 * US;
pub(crate) const FRAME: u64 = 54 + MSS;
/// A pause frame on the line: 64 bytes, preamble and gap.
pub(crate) const PAUSE_WIRE: u64 = 84;
const FAST: u64 = 4 * GBPS;

/// ns at 4 Gb/s.
fn at_4g(wire: u64) -> u64 {
    wire * 2
}

fn full() -> u64 {
    at_4g(wire_bytes(MSS))
}

/// A sender of 4 Gb/s, a receiver of 1 Gb/s, and a host that sends to the sender. A pause begins when a third packet
/// waits, and ends when one packet waits.
fn config() -> Config {
    let mut config = star(&[(FAST, DELAY), (GBPS, DELAY), (FAST, DELAY)], QueueLimit::Packets(10_000), Control::Dcqcn);
    config.pfc = Some(Pfc { per: PauseScope::Port, xoff_bytes: FRAME * 5 / 2, xon_bytes: FRAME * 3 / 2 });
    // Until the end, lines back carry only pause frames.
    config.transport.ack_every_segments = 10_000;
    config.transport.min_rto_ns = 1000 * MS;
    config.transport.dcqcn.as_mut().unwrap().min_rate_bps = GBPS;
    config
}

fn pauses_of(outcome: &Outcome, host: usize) -> PauseStats {
    outcome.lines.iter().find(|line| line.from == (host, 0)).unwrap().pauses.unwrap()
}

/// The one pause of a burst: start and end in ns from its first packet on, and packets sent before it. A pause frame
/// waits for `wait` ns, because the line back is busy.
fn one_pause(wait: u64) -> (u64, u64, u64) {
    let first_arrival = full() + DELAY;
    let frame_back = wait + at_4g(PAUSE_WIRE) + DELAY;
    // The receiver's line takes four times as long, so of packets 0, 1, 2, 3 only the first has begun to leave.
    let from = first_arrival + 3 * full() + frame_back;
    let packets = from / full() + 1;
    // All packets but one have begun to leave.
    let to = first_arrival + (packets - 2) * 4 * full() + frame_back;
    (from, to, packets)
}

/// The queue is empty long before the sender continues, so each burst is like the first.
#[test]
fn a_sender_is_paused_and_goes_on_to_the_ns() {
    let (from, to, packets) = one_pause(0);
    for pauses in [0, 1, 5] {
        let outcome =
            run(&config(), &Program::of("droptail"), |_| (), vec![flow(0, 0, 1, (pauses * packets + 1) * MSS)]);
        let found = pauses_of(&outcome, 0);
        assert_eq!((found.pauses, found.frames, found.paused.nanos()), (pauses, 2 * pauses, pauses * (to - from)));
        assert_eq!(fct(&outcome, 0), pauses * to + full() + 4 * full() + 2 * DELAY);
        assert_eq!(outcome.ledger.total(), 0);
        assert_eq!((pauses_of(&outcome, 1).pauses, pauses_of(&outcome, 2).pauses), (0, 0));
    }
}

/// On a line back with data, a pause frame waits only for the frame under way.
#[test]
fn a_pause_frame_waits_for_the_frame_under_way_only() {
    // Frames of the other flow begin 1000 ns behind the arrivals here, and 168 ns later after a pause frame between
    // them.
    let offset = 1_000;
    let (from, _, packets) = one_pause(offset);
    let (_, to, _) = one_pause(offset + at_4g(PAUSE_WIRE));
    let flows = vec![flow(0, 0, 1, packets * MSS), flow(offset, 2, 0, 10_000 * MSS)];
    let outcome = run(&config(), &Program::of("droptail"), |_| (), flows);
    let found = pauses_of(&outcome, 0);
    assert_eq!((found.pauses, found.paused.nanos()), (1, to - from));
}

/// Small packets arrive in pairs, one from each of two hosts. The second of a pair waits until the first has left: it
/// asks for a pause and ends it, many times within one frame of the line back. At most one pause frame waits there.
#[test]
fn a_pause_frame_that_waits_says_what_is_asked_last() {
    let slow = 3 * GBPS / 2;
    let hosts = [(slow, DELAY), (FAST, DELAY), (FAST, DELAY), (slow, DELAY)];
    let mut config = star(&hosts, QueueLimit::Packets(10_000), Control::Dcqcn);
    config.pfc = Some(Pfc { per: PauseScope::Port, xoff_bytes: 1, xon_bytes: 0 });
    config.stop_ns = MS;
    let pairs = 100;
    let mut flows = vec![flow(0, 2, 3, 1 << 30)];
    flows.extend((0..2 * pairs).map(|number| flow(200 * US, if number % 2 == 0 { 0 } else { 3 }, 1, 1)));
    let outcome = run(&config, &Program::of("droptail"), |_| (), flows);
    let waited = outcome.switches[0].ports[1].queue.enqueued;
    assert_eq!(waited, 2 * pairs, "all have come");
    let found = pauses_of(&outcome, 3);
    // A full frame takes 8.2 us on the line back; pairs of small packets are 0.4 us apart.
    assert!(found.frames > 1, "{found:?}");
    assert!(found.frames < pairs, "each pair would make two: {found:?}");
    assert_eq!(outcome.ledger.total(), 0);
}

/// A run that ends during a pause counts it.
#[test]
fn a_pause_under_way_counts() {
    let (from, _, packets) = one_pause(0);
    let config = Config { stop_ns: from + 100_000, ..config() };
    let outcome = run(&config, &Program::of("droptail"), |_| (), vec![flow(0, 0, 1, packets * MSS)]);
    assert_eq!(pauses_of(&outcome, 0).paused.nanos(), outcome.end.since(Time::from_nanos(from)).nanos());
}

/// Bytes that may still arrive by a line after more than XOFF are held. They are those of two propagation delays, of
/// the frame that the pause frame waits for, of the pause frame, and of the frame under way when the pause frame
/// arrives.
pub(crate) fn headroom(rate_bps: u64, delay_ns: u64) -> u64 {
    2 * delay_ns * rate_bps / 8_000_000_000 + 2 * wire_bytes(MSS) + PAUSE_WIRE
}

#[test]
fn forty_senders_lose_nothing() {
    for control in [Control::Dcqcn, Control::Dctcp, Control::Reno] {
        let mut config = star(&[(40 * GBPS, US); 41], QueueLimit::Packets(1), control);
        config.stop_ns = 1000 * MS;
        let pfc = Pfc { per: PauseScope::Port, xoff_bytes: 20_000, xon_bytes: 10_000 };
        let room = pfc.xoff_bytes + FRAME + headroom(40 * GBPS, US);
        lossless(&mut config, pfc, 41 * room);
        let flows: Vec<_> = (0..40).map(|host| flow(0, host, 40, 1_000_000)).collect();
        let outcome = run(&config, &Program::of("droptail"), |_| (), flows);
        assert_eq!(outcome.ledger.total(), 0, "{control:?}");
        for host in 0..40 {
            let found = pauses_of(&outcome, host);
            assert!(found.pauses > 0 && found.max_held_bytes > pfc.xoff_bytes, "{control:?} {found:?}");
            assert!(found.max_held_bytes <= room, "{control:?} {found:?}");
            assert!(outcome.flows[host].fct.is_some());
        }
        assert_eq!(outcome.flows.iter().map(|flow| flow.sender.retransmissions).sum::<u64>(), 0, "{control:?}");
        // The line was busy from the first packet on, so the time is roughly the bytes on the line at its rate.
        let last = outcome.flows.iter().map(|flow| flow.fct.unwrap().nanos()).max().unwrap();
        let packets = 1_000_000u64.div_ceil(MSS);
        let least = 40 * (1_000_000 + packets * (wire_bytes(MSS) - MSS)) * 8 / 40;
        assert!(last >= least && last < least * 11 / 10, "{control:?}: {last} of {least} ns");
    }
}

/// Makes lines lossless, and limits a switch's queues to `bytes`.
fn lossless(config: &mut Config, pfc: Pfc, bytes: u64) {
    config.pfc = Some(pfc);
    let node = switch_of(config);
    if let Node::Switch { queueing, .. } = &mut config.nodes[node] {
        *queueing = QueueLimit::Bytes(bytes).into();
    }
}

#[test]
fn pauses_that_cannot_be_are_refused() {
    let refused = |config: &Config| {
        build(config, &Program::of("droptail"), |_| (), vec![flow(0, 0, 1, 1)]).err().unwrap().to_string()
    };
    let config = Config { pfc: Some(Pfc { per: PauseScope::Port, xoff_bytes: 1000, xon_bytes: 1000 }), ..config() };
    assert!(refused(&config).contains("end with fewer bytes"));
    let mut config = self::config();
    let node = switch_of(&config);
    if let Node::Switch { mirrors, .. } = &mut config.nodes[node] {
        mirrors.push((1, 1));
    }
    assert!(refused(&config).contains("cannot mirror"));
}

pub(crate) fn flows(hosts: usize) -> impl Strategy<Value = Vec<Flow>> {
    let size = prop_oneof![1..100u64, 1..4_000u64, 1..300_000u64];
    let one = (0..300_000u64, 0..hosts, 1..hosts, size);
    let one = one.prop_map(move |(start_ns, src, step, size)| flow(start_ns, src, (src + step) % hosts, size));
    prop::collection::vec(one, 1..40).prop_map(|mut flows| {
        flows.sort_by_key(|flow| flow.start_ns);
        flows
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    /// Oracle: the formula for the bytes that arrive after XOFF. The queue has room for the most that all lines may
    /// hold.
    #[test]
    fn nothing_is_lost_within_the_headroom(
        flows in flows(5),
        lines in prop::collection::vec((1..40u64, 0..20_000u64), 5),
        xoff_bytes in 1..40_000u64,
        xon in prop_oneof![0.0..1.0, Just(1.0)],
        control in prop_oneof![Just(Control::Dcqcn), Just(Control::Dctcp), Just(Control::Reno)],
    ) {
        let lines: Vec<_> = lines.into_iter().map(|(gbps, delay_ns)| (gbps * GBPS, delay_ns)).collect();
        let mut config = star(&lines, QueueLimit::Packets(1), control);
        let pfc = Pfc { per: PauseScope::Port, xoff_bytes, xon_bytes: ((xoff_bytes as f64 * xon) as u64).min(xoff_bytes - 1) };
        let rooms: Vec<_> = lines.iter().map(|&(rate, delay)| xoff_bytes + FRAME + headroom(rate, delay)).collect();
        lossless(&mut config, pfc, rooms.iter().sum());
        let outcome = run(&config, &Program::of("droptail"), |_| (), flows);
        prop_assert_eq!(outcome.ledger.total(), 0);
        for (host, room) in rooms.into_iter().enumerate() {
            let found = pauses_of(&outcome, host);
            prop_assert!(found.max_held_bytes <= room, "{:?} of {}", found, room);
            prop_assert!(found.frames >= found.pauses && found.paused <= outcome.end.since(Time::ZERO));
        }
        for flow in &outcome.flows {
            prop_assert!(flow.fct.is_some() && flow.sender.retransmissions == 0);
        }
    }
}
