// SPDX-License-Identifier: MIT OR Apache-2.0
//! Equal input gives equal output, and the order of the flow list decides ties.

use marklab_netsim::{Config, Connections, Control, Flow, Outcome, QueueLimit};
use marklab_pipeline::State;

use crate::pcap;
use crate::support::*;

/// All results of a run as text.
pub(crate) fn described(outcome: &Outcome) -> String {
    let switches = outcome.switches.iter().map(|switch| {
        let state = &switch.state;
        let counters = (0..state.program().counters.len() as u32).map(|counter| {
            let cells = (0..).map_while(|cell| state.counter(marklab_p4::ir::CounterId(counter), cell));
            cells.enumerate().filter(|(_, count)| count.packets > 0).collect::<Vec<_>>()
        });
        let registers = (0..state.program().registers.len() as u32).map(|register| {
            let cells = (0..).map_while(|cell| state.register(marklab_p4::ir::RegisterId(register), cell));
            cells.enumerate().filter(|(_, value)| value.bits() > 0).collect::<Vec<_>>()
        });
        let (counters, registers): (Vec<_>, Vec<_>) = (counters.collect(), registers.collect());
        format!("{} {:?} {counters:?} {registers:?} {}", switch.node, switch.ports, state.faults)
    });
    let switches: Vec<_> = switches.collect();
    let Outcome { flows, starts, ledger, ecn, lines, traces, flow_trace, sender_trace, probes, rtts, .. } = outcome;
    let Outcome { packet_trace, queue_samples, priorities, link_transmissions, events, arrivals_end, end, .. } =
        outcome;
    let rows = sender_trace.as_ref().map(|trace| trace.rows());
    let packets = packet_trace.as_ref().map(|trace| (trace.rows().collect::<Vec<_>>(), trace.dropped()));
    let rtts: Vec<_> = rtts.iter_recorded().map(|step| (step.value_iterated_to(), step.count_at_value())).collect();
    format!(
        "{flows:?}\n{starts:?}\n{ledger:?} {ecn:?}\n{lines:?}\n{traces:?}\n{flow_trace:?}\n{rows:?}\n{probes:?}\n{rtts:?}\n\
         {packets:?} {queue_samples:?} {priorities:?}\n{link_transmissions} {events} {arrivals_end} {end}\n{switches:?}"
    )
}

/// A crowded run: eight simultaneous senders, flows of different sizes, marks and losses.
fn crowd(control: Control, capture: &str) -> (Config, Vec<Flow>) {
    let mut hosts = vec![(10 * GBPS, 5 * US); 8];
    hosts.push((10 * GBPS, 5 * US));
    let mut config = star(&hosts, QueueLimit::Packets(60), control);
    config.connections = Connections::New;
    config.transport.ack_every_segments = 2;
    trace_queue(&mut config, 8);
    config.trace_flows_ns = Some(50 * US);
    capture_host(&mut config, 8, capture);
    let flows = (0..24).map(|number| Flow {
        dscp: number as u8 % 3,
        extra_delay_ns: 1_000 * (number % 5),
        ..flow(number / 8 * 50 * US, number as usize % 8, 8, 1 + number * 9_973)
    });
    (config, flows.collect())
}

fn read(config: &Config) -> Vec<u8> {
    std::fs::read(&config.captures[0].path).unwrap()
}

#[test]
fn the_same_run_twice_gives_the_same_bytes() {
    for control in [Control::Dctcp, Control::EcnStar, Control::Reno, Control::Dcqcn] {
        let outcome = |name| {
            let (config, flows) = crowd(control, name);
            let setup = |state: &mut _| set_params(state, &[("k_pkts", 20)]);
            let outcome = run(&config, &Program::of("dctcp-red"), setup, flows);
            assert!(outcome.ledger.total() > 0, "the run must have losses");
            (described(&outcome), read(&config))
        };
        let (first, second) = (outcome("determinism-1"), outcome("determinism-2"));
        assert!(first == second, "{control:?}");
    }
}

/// Several schemes, including RED's random draws.
#[test]
fn interpreter_and_machine_code_give_the_same_run() {
    for scheme in ["droptail", "dctcp-red", "red", "tcn", "codel", "ecn-sharp"] {
        let program = Program::of(scheme);
        let outcome = |program: &Program, name| {
            let (config, flows) = crowd(Control::Dctcp, name);
            let outcome = run(&config, program, |state| crowd_params(state, scheme), flows);
            (described(&outcome), read(&config), outcome.switches[0].ports[8].marked)
        };
        let compiled = outcome(&program, "determinism-jit");
        let interpreted = outcome(&program.interpreted(), "determinism-interpreter");
        assert!(compiled == interpreted, "{scheme}");
        assert_eq!(compiled.2 > 0, scheme != "droptail", "{scheme} marked {} packets", compiled.2);
    }
}

/// Parameters with which a scheme marks in a run of a few milliseconds with a queue of 60 packets.
fn crowd_params(state: &mut State, scheme: &str) {
    let params: &[(&str, u64)] = match scheme {
        "dctcp-red" => &[("k_pkts", 20)],
        // Marks with probability 1/2 at an average of 42 packets.
        "red" => {
            &[("min_pkts", 2), ("max_pkts", 42), ("slope_q32", (1 << 32) / 80), ("weight_shift", 2), ("mark_above", 1)]
        }
        "tcn" => &[("t_us", 25)],
        "codel" => &[("target_us", 10), ("interval_us", 50)],
        "ecn-sharp" => {
            &[("by_queue_length", 0), ("ins", 40), ("pst", 10), ("pst_interval_us", 50), ("next_from_now", 0)]
        }
        _ => return,
    };
    set_params(state, params);
}

/// Frames that arrive at a switch at the same instant: no port is favoured, and every run has the same order.
#[test]
fn frames_that_arrive_at_the_same_time_come_in_any_order_of_ports() {
    let firsts = |name| {
        let mut config = star(&[(GBPS, 10 * US); 4], QueueLimit::Packets(100), Control::Dctcp);
        let path = capture_host(&mut config, 3, name);
        let flows: Vec<_> = (0..120).map(|number| flow(number / 3 * MS, number as usize % 3, 3, 1)).collect();
        run(&config, &Program::of("droptail"), |_| (), flows);
        let data = pcap::read(&path).into_iter().filter(|frame| frame.payload > 0).map(|frame| frame.src);
        data.step_by(3).collect::<Vec<u32>>()
    };
    let (first, second) = (firsts("determinism-ties-1"), firsts("determinism-ties-2"));
    assert_eq!(first, second);
    let times = (0..3).map(|host| first.iter().filter(|&&src| src == ip(host)).count());
    assert!(times.clone().all(|times| times >= 5), "{:?} of 40", times.collect::<Vec<_>>());
}

/// Flows that start at the same time on a host start in the order of the list.
#[test]
fn flows_of_a_host_follow_the_order_of_the_list() {
    let mut config = star(&[(GBPS, 10 * US); 2], QueueLimit::Packets(100), Control::Dctcp);
    config.connections = Connections::New;
    let path = capture_host(&mut config, 0, "determinism-one-host");
    run(&config, &Program::of("droptail"), |_| (), vec![flow(7, 0, 1, 1); 5]);
    let frames = pcap::read(&path);
    let syns: Vec<u16> =
        frames.iter().filter(|frame| frame.syn && frame.src == ip(0)).map(|frame| frame.src_port).collect();
    assert!(syns.len() == 5 && syns.windows(2).all(|pair| pair[1] == pair[0] + 1), "{syns:?}");
}
