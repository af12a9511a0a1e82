// SPDX-License-Identifier: MIT OR Apache-2.0
//! Traces over time agree with the other results of a run.

use marklab_netsim::tcp::CaState;
use marklab_netsim::{
    Cell, Connections, Control, Flow, Notable, Outcome, PacketRow, QueueLimit, QueueTrace, Round, Stay, TracePackets,
    TraceRow,
};

use crate::queues::{FRAME, config, flows, run_all};
use crate::support::*;

const SIZE: u64 = 10 * 1_000_000;

/// Four queues, the last on a level above the others. Its flow is rate-limited by its sender.
fn four_queues(quanta: &[u32; 3], interval_ns: u64) -> Outcome {
    let [a, b, c] = *quanta;
    let mut config = config(4, Round::Deficit, &[(0, a), (0, b), (0, c), (1, FRAME)], None);
    trace_queue(&mut config, 4);
    config.traces[0].interval_ns = interval_ns;
    let mut flows = flows(4, &[SIZE, SIZE, SIZE, SIZE / 10]);
    flows[3].rate_bps = GBPS / 20;
    run_all(&config, flows)
}

fn sum(trace: &QueueTrace, value: fn(&TraceRow) -> u64) -> u64 {
    trace.rows().iter().map(value).sum()
}

#[test]
fn a_port_is_the_sum_of_its_queues() {
    let outcome = four_queues(&[FRAME; 3], 10 * US);
    let (trace, port) = (&outcome.traces[0], outcome.switches[0].ports[4]);
    let values: [fn(&TraceRow) -> u64; 5] =
        [|row| row.departed, |row| row.sent_bytes, |row| row.marked, |row| row.rounds, |row| row.sum_sojourn.nanos()];
    for value in values {
        assert!(sum(trace.port(), value) > 0);
        assert_eq!(sum(trace.port(), value), trace.queues().map(|queue| sum(queue, value)).sum::<u64>());
    }
    assert_eq!(sum(trace.port(), |row| row.departed), port.queue.enqueued);
    assert_eq!(sum(trace.port(), |row| row.marked), port.marked);
    assert_eq!(trace.port().rows().iter().map(|row| row.max_packets).max(), Some(port.queue.max.packets));
    // The last backlogs of the queues in an interval add up to that of the port.
    for row in trace.port().rows() {
        let held = |queue: &QueueTrace| {
            let rows = queue.rows();
            let upto = rows.partition_point(|each| each.time <= row.time);
            rows[..upto].last().map_or(0, |row| row.last.bytes)
        };
        assert_eq!(row.last.bytes, trace.queues().map(held).sum::<u64>());
    }
}

/// While three queues are backlogged, a round at 1 Gb/s takes as many frames as the quanta add up to.
#[test]
fn a_round_takes_what_the_quanta_take() {
    for (quanta, frames) in [([FRAME; 3], 3), ([2 * FRAME, FRAME, FRAME], 4)] {
        let mut config = config(3, Round::Deficit, &quanta.map(|quantum| (0, quantum)), None);
        trace_queue(&mut config, 3);
        let outcome = run_all(&config, flows(3, &[SIZE; 3]));
        for queue in outcome.traces[0].queues() {
            let steady = queue.rows().iter().filter(|row| (20 * MS..100 * MS).contains(&row.time.nanos()));
            let rounds: Vec<_> = steady.filter(|row| row.rounds > 0).map(|row| row.sum_round.nanos()).collect();
            assert!(rounds.len() > 1_000, "{}", rounds.len());
            assert!(rounds.iter().all(|&round| round == frames * at_1g(MSS)), "{rounds:?}");
        }
    }
}

#[test]
fn a_queue_above_the_others_takes_no_turns() {
    let outcome = four_queues(&[FRAME; 3], 10 * US);
    let rounds: Vec<u64> = outcome.traces[0].queues().map(|queue| sum(queue, |row| row.rounds)).collect();
    assert!(rounds[..3].iter().all(|&rounds| rounds > 5_000), "{rounds:?}");
    assert_eq!(rounds[3], 0);
}

/// Delivered bytes of a flow add up to its size; of a paced flow, they match its rate in each interval.
#[test]
fn flows_deliver_their_bytes_at_their_rate() {
    let mut config = star(&[(GBPS, 10 * US); 3], QueueLimit::Packets(1000), Control::Dctcp);
    config.trace_flows_ns = Some(10 * MS);
    let paced = Flow { rate_bps: GBPS / 10, ..flow(0, 0, 2, 1000 * MSS) };
    let outcome = run(&config, &Program::of("droptail"), |_| (), vec![paced, flow(5 * MS, 1, 2, 300 * MSS + 1)]);
    let trace = outcome.flow_trace.as_ref().expect("it was asked for");
    for (number, size) in [(0, 1000 * MSS), (1, 300 * MSS + 1)] {
        let rows = trace.rows().iter().filter(|row| row.flow == number);
        assert_eq!(rows.map(|row| row.bytes).sum::<u64>(), size);
        assert_eq!(outcome.flows[number as usize].delivered_bytes, size);
    }
    let inner = trace.rows().iter().filter(|row| row.flow == 0 && (20 * MS..100 * MS).contains(&row.time.nanos()));
    // 100 Mb/s for 10 ms are 125 kB, within a segment.
    let off: Vec<_> = inner.map(|row| row.bytes.abs_diff(125_000)).collect();
    assert!(off.len() == 8 && off.iter().all(|&off| off < MSS), "{off:?}");
}

/// Without losses and marks, the window of a flow only grows, and there is no threshold.
#[test]
fn windows_of_senders_are_recorded_when_they_change() {
    let mut config = star(&[(GBPS, 10 * US); 2], QueueLimit::Packets(1000), Control::Reno);
    config.transport.ack_every_segments = 1;
    config.trace_senders_ns = Some(0);
    let outcome = run(&config, &Program::of("droptail"), |_| (), vec![flow(0, 0, 1, 40 * MSS)]);
    let rows = outcome.sender_trace.as_ref().expect("it was asked for").rows();
    assert!(rows.is_sorted_by_key(|row| row.time));
    let windows: Vec<_> = rows.iter().map(|row| row.cwnd / MSS).collect();
    // The first acknowledgement is that of the first segment.
    assert!(windows.is_sorted() && windows.first() == Some(&11) && windows.len() > 10, "{windows:?}");
    assert!(rows.iter().all(|row| row.state == CaState::Open && row.ssthresh == u64::MAX && row.alpha == 0.0));
}

/// Every packet is recorded in order: its arrival and departure, its flow, and whether it was marked.
#[test]
fn packets_are_recorded_one_by_one() {
    let mut config = star(&[(GBPS, 10 * US); 3], QueueLimit::Packets(1000), Control::Dctcp);
    trace_queue(&mut config, 2);
    config.traces[0].packets = true;
    let both = vec![flow(0, 0, 2, 500 * MSS), flow(0, 1, 2, 400 * MSS), flow(90 * MS, 2, 0, 20 * MSS)];
    let setup = |state: &mut _| set_params(state, &[("k_pkts", 20)]);
    let outcome = run(&config, &Program::of("dctcp-red"), setup, both);
    let (trace, port) = (&outcome.traces[0], outcome.switches[0].ports[2]);
    let packets = trace.packets().expect("they were asked for");
    assert_eq!(
        (packets.len() as u64, packets.iter().filter(|row| row.marked).count() as u64),
        (port.queue.enqueued, port.marked)
    );
    assert!(port.marked > 10);
    assert!(packets.windows(2).all(|pair| pair[0].departed < pair[1].departed));
    let waited: u64 = packets.iter().map(|row| row.departed.since(row.arrived).nanos()).sum();
    assert_eq!(waited, sum(trace.port(), |row| row.sum_sojourn.nanos()));
    for (flow, segments, five_tuple) in [(0, 500, 0), (1, 400, 2)] {
        let own: Vec<_> = packets.iter().filter(|row| row.flow == Some(flow)).collect();
        assert_eq!(own.iter().map(|row| u64::from(row.bytes)).sum::<u64>(), segments * (MSS + 54));
        assert!(own.iter().all(|row| row.five_tuple == five_tuple));
    }
    // Acknowledgements of the flow in the other direction come from that flow's receiver.
    let last = packets[packets.len() - 1];
    assert_eq!((last.flow, last.five_tuple), (Some(2), 5));
    trace_queue(&mut config, 0);
    let outcome = run(&config, &Program::of("dctcp-red"), setup, vec![flow(0, 0, 2, MSS)]);
    assert!(outcome.traces[1].packets().is_none());
}

/// Two flows to one host, of which the second begins when the first has half of its packets sent; and one back.
fn recorded(packets: TracePackets, queue: u64) -> Outcome {
    let mut config = star(&[(GBPS, 10 * US); 3], QueueLimit::Packets(queue), Control::Dctcp);
    trace_queue(&mut config, 2);
    config.traces[0].packets = true;
    config.trace_packets = Some(packets);
    let flows = vec![flow(0, 0, 2, 500 * MSS), flow(0, 1, 2, 400 * MSS), flow(9 * MS, 2, 0, 20 * MSS)];
    run(&config, &Program::of("dctcp-red"), |state: &mut _| set_params(state, &[("k_pkts", 20)]), flows)
}

fn all() -> TracePackets {
    TracePackets { ports: vec![], only: vec![], flow: None, last: 1 << 20 }
}

fn rows(outcome: &Outcome) -> Vec<PacketRow> {
    outcome.packet_trace.as_ref().expect("it was asked for").rows().copied().collect()
}

/// The record of all packets has those of each port, and each loss.
#[test]
fn packets_of_all_ports_are_recorded() {
    let outcome = recorded(all(), 24);
    let (rows, ports) = (rows(&outcome), &outcome.switches[0].ports);
    assert!(outcome.ledger.total() > 5 && ports[2].marked > 10, "{}", outcome.ledger.total());
    for (number, port) in ports.iter().enumerate() {
        let own = || rows.iter().filter(|row| row.port == Some(number as u16));
        let stay = |which: fn(&Stay) -> bool| own().filter(|row| which(&row.stay)).count() as u64;
        assert_eq!(stay(|stay| matches!(stay, Stay::Sent { .. })), port.queue.enqueued);
        assert_eq!(stay(|stay| matches!(stay, Stay::Sent { marked: true, .. })), port.marked);
        assert_eq!(stay(|stay| matches!(stay, Stay::Lost(_))), port.queue.dropped);
    }
    // The same packets as in the record of one port, which knows other things of them.
    let sent = rows.iter().filter(|row| row.port == Some(2) && matches!(row.stay, Stay::Sent { .. }));
    let passages = outcome.traces[0].packets().expect("they were asked for");
    assert_eq!(sent.clone().count(), passages.len());
    for (row, passage) in sent.zip(passages) {
        let Stay::Sent { sojourn, marked, .. } = row.stay else { unreachable!("only those were taken") };
        assert_eq!(
            (row.time, sojourn, row.five_tuple, row.flow, row.bytes, marked),
            (
                passage.departed,
                passage.departed.since(passage.arrived),
                passage.five_tuple,
                passage.flow,
                passage.bytes,
                passage.marked
            )
        );
    }
}

/// Whether a packet is one of those that a record is to have.
type Chosen = fn(&PacketRow) -> bool;

/// Each condition leaves what it says of all packets.
#[test]
fn some_packets_are_recorded() {
    let outcome = recorded(all(), 24);
    let whole = rows(&outcome);
    let cases: [(TracePackets, Chosen); 4] = [
        (TracePackets { only: vec![Notable::Mark], ..all() }, |row| {
            matches!(row.stay, Stay::Sent { marked: true, .. })
        }),
        (TracePackets { only: vec![Notable::Loss], ..all() }, |row| matches!(row.stay, Stay::Lost(_))),
        (TracePackets { ports: vec![(3, 2)], ..all() }, |row| row.port == Some(2)),
        (TracePackets { flow: Some(1), ..all() }, |row| row.flow == Some(1)),
    ];
    for (packets, wanted) in cases {
        let some = rows(&recorded(packets, 24));
        assert_eq!(some, whole.iter().copied().filter(wanted).collect::<Vec<_>>());
        assert!(!some.is_empty() && some.len() < whole.len());
    }
    let last = recorded(TracePackets { last: 100, ..all() }, 24);
    assert_eq!(rows(&last), whole[whole.len() - 100..]);
    assert_eq!(last.packet_trace.map(|trace| trace.dropped()), Some(whole.len() as u64 - 100));
}

/// Of a connection that serves several flows, each packet belongs to the flow that had begun last.
#[test]
fn packets_of_a_flow_on_a_connection_with_others() {
    let mut config = star(&[(GBPS, 10 * US); 2], QueueLimit::Packets(100), Control::Dctcp);
    config.connections = Connections::Persistent { per_pair: 1 };
    config.trace_packets = Some(TracePackets { flow: Some(1), ..all() });
    let flows = vec![flow(0, 0, 1, 10 * MSS), flow(MS, 0, 1, 7 * MSS), flow(2 * MS, 0, 1, 5 * MSS)];
    let rows = rows(&run(&config, &Program::of("droptail"), |_| (), flows));
    let data = rows.iter().filter(|row| row.five_tuple % 2 == 0 && u64::from(row.bytes) > MSS);
    assert_eq!(data.count(), 7);
    assert!(rows.iter().all(|row| row.flow == Some(1) && row.time.nanos() > MS));
}

/// The delivered bytes of an unfinished flow match its trace.
#[test]
fn what_an_unfinished_flow_delivered_is_known() {
    let mut config = star(&[(GBPS, 10 * US); 2], QueueLimit::Packets(1000), Control::Dctcp);
    config.trace_flows_ns = Some(MS);
    config.stop_ns = 20 * MS;
    let outcome = run(&config, &Program::of("droptail"), |_| (), vec![flow(0, 0, 1, 1 << 40)]);
    let delivered = outcome.flow_trace.as_ref().expect("it was asked for").rows().iter().map(|row| row.bytes).sum();
    assert_eq!((outcome.flows[0].fct, outcome.flows[0].delivered_bytes), (None, delivered));
    assert!(delivered > 20 * MS * MSS / at_1g(MSS) * 9 / 10, "{delivered}");
}

/// There is a sample for each row; the last one is the register's value at the end.
#[test]
fn registers_are_recorded_beside_their_port() {
    let mut config = config(2, Round::Deficit, &[(0, FRAME), (0, FRAME)], None);
    trace_queue(&mut config, 2);
    let cell = |register: &str, index| Cell { register: register.to_owned(), index };
    config.traces[0].registers = vec![cell("marking.t_round", 2), cell("marking.last_time", 2)];
    let program = Program::of("mq-ecn");
    let quantum = [("quantum_bytes", FRAME.into()), ("quantum_rtt_q8", 1 << 39)];
    let setup = |state: &mut _| set_default(state, "marking.quanta", "set_quantum", &quantum);
    let outcome = run(&config, &program, setup, flows(2, &[SIZE / 10, SIZE / 10]));
    let (trace, state) = (&outcome.traces[0], &outcome.switches[0].state);
    let times: Vec<u64> = trace.samples(1).collect();
    assert_eq!((trace.registers(), times.len()), (2, trace.port().rows().len()));
    assert!(times.is_sorted() && times[times.len() - 1] > 1_000);
    let last = state.register(state.find_register("marking.t_round").unwrap(), 2).unwrap();
    assert_eq!(trace.samples(0).last().map(Into::into), Some(last));
}

#[test]
fn a_cell_that_is_not_there_is_refused() {
    for (register, index, why) in [("marking.t_rund", 0, "t_rund"), ("marking.t_round", 1 << 20, "has no cell 1048576")]
    {
        let mut config = config(2, Round::Deficit, &[(0, FRAME), (0, FRAME)], None);
        trace_queue(&mut config, 2);
        config.traces[0].registers = vec![Cell { register: register.to_owned(), index }];
        let error = build(&config, &Program::of("mq-ecn"), |_| (), vec![]).err().expect("refused");
        assert!(error.to_string().contains(why), "{error}");
    }
}
