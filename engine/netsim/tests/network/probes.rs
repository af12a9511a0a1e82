// SPDX-License-Identifier: MIT OR Apache-2.0
//! Round trips of probes, to the ns. At 1 Gb/s every frame takes whole ns.

use marklab_netsim::{Config, Control, EchoRecord, Outcome, Probe, QueueLimit};

use crate::support::*;

const DELAY: u64 = 20 * US;
/// Long enough for some requests.
const FLOW_BYTES: u64 = 100 * MSS;
const HEADERS: u32 = 42;

fn probe(frame_bytes: u32, interval_ns: u64) -> Probe {
    Probe { src: 0, dst: 1, dscp: 0, frame_bytes, start_ns: 5 * US, interval_ns }
}

fn with(probes: Vec<Probe>) -> Config {
    Config { probes, ..star(&[(GBPS, DELAY); 3], QueueLimit::Packets(1000), Control::Dctcp) }
}

fn probed(config: &Config, flows: Vec<marklab_netsim::Flow>) -> Outcome {
    run(config, &Program::of("droptail"), |_| (), flows)
}

fn rtts(records: &[EchoRecord]) -> Vec<Option<u64>> {
    records.iter().map(|record| record.rtt.map(|rtt| rtt.nanos())).collect()
}

/// ns of a frame on a line of 1 Gb/s: padded to 60 bytes, and 24 bytes of checksum, preamble and gap.
fn at_1g_frame(bytes: u32) -> u64 {
    (u64::from(bytes).max(60) + 24) * 8
}

/// A round trip takes four lines, each with its delay.
#[test]
fn in_an_empty_network_a_round_trip_is_what_its_lines_take() {
    for bytes in [HEADERS, 59, 60, 61, 98, 1514] {
        // The path is empty: the flow has another sender, and starts later.
        let outcome = probed(&with(vec![probe(bytes, 10 * MS)]), vec![flow(MS, 2, 1, 1)]);
        let (sent, rtt) = (outcome.probes[0][0].sent.nanos(), outcome.probes[0][0].rtt.map(|rtt| rtt.nanos()));
        assert_eq!((sent, rtt), (5 * US, Some(4 * (at_1g_frame(bytes) + DELAY))), "{bytes} bytes");
        assert_eq!(outcome.ledger.total(), 0);
    }
}

#[test]
fn requests_come_at_their_interval_and_those_under_way_have_no_round_trip() {
    let outcome = probed(&with(vec![probe(98, 100 * US), probe(98, 50 * US)]), vec![flow(0, 2, 1, FLOW_BYTES)]);
    for (records, interval) in outcome.probes.iter().zip([100 * US, 50 * US]) {
        let expected: Vec<u64> = (0..records.len() as u64).map(|number| 5 * US + number * interval).collect();
        assert_eq!(records.iter().map(|record| record.sent.nanos()).collect::<Vec<_>>(), expected);
        let there = rtts(records).iter().take_while(|rtt| rtt.is_some()).count();
        assert!(there > 5 && rtts(records)[there..].iter().all(Option::is_none));
    }
    assert_eq!(outcome.flows[0].delivered_bytes, FLOW_BYTES);
}

/// A probe waits in the queue on its path, which makes its round trip longer.
#[test]
fn a_round_trip_holds_the_queue() {
    let mut config = with(vec![Probe { start_ns: 3 * MS, ..probe(98, 500 * US) }]);
    trace_queue(&mut config, 1);
    config.stop_ns = 20 * MS;
    let outcome = probed(&config, vec![flow(0, 2, 1, 1 << 40), flow(0, 0, 1, 1 << 40)]);
    let alone = 4 * (at_1g_frame(98) + DELAY);
    let longest = rtts(&outcome.probes[0]).into_iter().flatten().max().unwrap();
    let sojourn = outcome.traces[0].port().rows().iter().map(|row| row.max_sojourn.nanos()).max().unwrap();
    assert!(longest > 2 * alone && longest < alone + sojourn + MS, "{longest} {sojourn}");
}

#[test]
fn a_request_that_is_lost_has_no_round_trip_and_others_do() {
    let drop = |state: &mut _| script(state, "drop", 1, [3]);
    let config = with(vec![probe(98, 200 * US)]);
    // The third packet towards host 1 is the third request.
    let outcome = run(&config, &Program::of("scripted"), drop, vec![flow(MS, 2, 0, 1)]);
    let lost: Vec<bool> = rtts(&outcome.probes[0]).iter().map(Option::is_none).collect();
    assert_eq!(lost[..4], [false, false, true, false]);
}

#[test]
fn more_requests_than_there_are_numbers_are_told_apart() {
    let config = with(vec![probe(HEADERS, US)]);
    let outcome = probed(&config, vec![flow(0, 2, 0, 1), flow(70 * MS, 2, 0, 1)]);
    let there: Vec<u64> = rtts(&outcome.probes[0]).into_iter().flatten().collect();
    assert!(there.len() > 1 << 16);
    let alone = 4 * (at_1g_frame(HEADERS) + DELAY);
    // The flows share the last line for a moment.
    assert!(there.iter().all(|rtt| (alone..alone + US).contains(rtt)), "{:?}", there.iter().max());
}

#[test]
fn probes_that_cannot_be_sent_are_refused() {
    let good = probe(98, US);
    let bad = [
        (Probe { dst: 0, ..good }, "between two hosts"),
        (Probe { dst: 3, ..good }, "between two hosts"),
        (Probe { interval_ns: 0, ..good }, "interval must be above 0"),
        (Probe { frame_bytes: HEADERS - 1, ..good }, "42..65000"),
        (Probe { frame_bytes: 65_001, ..good }, "42..65000"),
        (Probe { dscp: 64, ..good }, "0..63"),
    ];
    for (probe, why) in bad {
        let error = build(&with(vec![probe]), &Program::of("droptail"), |_| (), vec![]).err().expect("refused");
        assert!(error.to_string().contains(why), "{error}");
    }
}
