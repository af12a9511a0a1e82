// SPDX-License-Identifier: MIT OR Apache-2.0
//! Any number of threads gives the same bytes: random topologies, delays, rates, transports and recordings.

use marklab_netsim::{
    Capture, Config, Connections, Control, Flow, Framing, Join, Link, Node, PauseScope, Pfc, Predecessor, Probe,
    Progress, QueueLimit, SampleQueues, Trace, TracePackets, Traffic, Wait,
};
use proptest::prelude::*;

use crate::determinism::described;
use crate::support::*;

/// Leaves with hosts, and a spine if there are several leaves.
#[derive(Clone, Debug)]
struct Shape {
    leaves: usize,
    hosts: usize,
    /// Rates in Gb/s and delays in ns of the lines to hosts and between switches.
    host_line: (u64, u64),
    spine_line: (u64, u64),
}

#[derive(Clone, Debug)]
struct Case {
    shape: Shape,
    control: Control,
    connections: Connections,
    ack_every: u32,
    limit: u64,
    lossless: bool,
    /// Source, destination behind the source, size, start and extra delay of flows.
    flows: Vec<(usize, usize, u64, u64, u64)>,
    followers: bool,
    packets: TracePackets,
}

impl Case {
    fn count(&self) -> usize {
        self.shape.leaves * self.shape.hosts
    }

    fn config(&self) -> Config {
        let Shape { leaves, hosts, host_line, spine_line } = self.shape;
        let count = self.count();
        let mut config = star(&vec![(GBPS, 0); count], QueueLimit::Packets(self.limit), self.control);
        config.nodes.pop();
        let switch = |name: String, ports| Node::Switch {
            name,
            ports,
            queueing: QueueLimit::Packets(self.limit).into(),
            mirrors: Vec::new(),
        };
        config.nodes.extend((0..leaves).map(|leaf| switch(format!("l{leaf}"), hosts + 1)));
        let line = |a, b, (gbps, delay_ns): (u64, u64)| Link { a, b, rate_bps: gbps * GBPS, delay_ns };
        config.links =
            (0..count).map(|host| line((host, 0), (count + host / hosts, host % hosts), host_line)).collect();
        if leaves > 1 {
            config.nodes.push(switch("spine".into(), leaves));
            let up = |leaf| line((count + leaf, hosts), (count + leaves, leaf), spine_line);
            config.links.extend((0..leaves).map(up));
        }
        config.connections = self.connections;
        config.transport.ack_every_segments = self.ack_every;
        config.pfc = self.lossless.then_some(Pfc { per: PauseScope::Port, xoff_bytes: 20_000, xon_bytes: 10_000 });
        config.trace_flows_ns = Some(20 * US);
        config.trace_senders_ns = (self.control != Control::Dcqcn).then_some(0);
        config.sample_queues = Some(SampleQueues { interval_ns: 7 * US, until_ns: MS });
        config.traces = vec![Trace { node: count, port: 0, interval_ns: 1, registers: vec![], packets: true }];
        config.trace_packets = Some(self.packets.clone());
        config.probes =
            vec![Probe { src: 0, dst: count - 1, dscp: 0, frame_bytes: 100, start_ns: 0, interval_ns: 50 * US }];
        config.stop_ns = 300 * MS;
        config.framing = Framing { min_bytes: 60, overhead_bytes: 24 };
        config
    }

    fn traffic(&self) -> Traffic {
        let count = self.count();
        let mut flows: Vec<Flow> = Vec::new();
        let mut specs = self.flows.clone();
        specs.sort_by_key(|spec| spec.3);
        let all = specs.len() as u32;
        let mut joins = Vec::new();
        for (number, (src, behind, size, start, extra_delay_ns)) in specs.into_iter().enumerate() {
            let dst = (src % count + 1 + behind % (count - 1)) % count;
            let mut next = Flow { extra_delay_ns, ..flow(start, src % count, dst, size) };
            if matches!(self.connections, Connections::Queued { .. }) {
                next.extra_delay_ns = 0;
            }
            // Every third flow waits for the one before it.
            if self.followers && number % 3 == 2 {
                next.after = Some(Predecessor { number: number as u32 - 1, same_connection: false });
                next.start_ns %= 20 * US;
            }
            // Every sixth waits at its host for the first flow and the one before it, together.
            if self.followers && number % 6 == 5 {
                let wait = |number, pause_ns| Wait { number, pause_ns };
                joins.push(Join {
                    host: next.src,
                    not_before_ns: start / 2,
                    waits: vec![wait(0, start % US), wait(number as u32 - 1, 0)],
                });
                next.after = Some(Predecessor { number: all + joins.len() as u32 - 1, same_connection: false });
            }
            flows.push(next);
        }
        Traffic { flows, joins }
    }

    /// All results on so many threads.
    fn results(&self, threads: usize, name: &str) -> (String, Vec<u8>) {
        let mut config = self.config();
        let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{threads}.pcap"));
        config.captures = vec![Capture { node: 0, port: 0, path: path.clone() }];
        let Shape { leaves, hosts, .. } = self.shape;
        let port = |switch: usize, host: usize| match (switch, host / hosts) {
            (switch, leaf) if switch == leaves => leaf,
            (switch, leaf) if switch == leaf => host % hosts,
            _ => hosts,
        };
        let setup = |state: &mut _| set_params(state, &[("k_pkts", 5)]);
        let network = build_fabric(&config, &Program::of("dctcp-red"), setup, port, self.traffic());
        let outcome = network.run_on(&Progress::default(), threads).unwrap();
        (described(&outcome), std::fs::read(path).unwrap())
    }
}

/// Where two texts differ first.
fn difference(one: &str, other: &str) -> String {
    let at = one.bytes().zip(other.bytes()).position(|(a, b)| a != b).unwrap_or(one.len().min(other.len()));
    let around = |text: &str| text.chars().skip(at.saturating_sub(150)).take(300).collect::<String>();
    format!("\n{}\nand\n{}", around(one), around(other))
}

fn line() -> impl Strategy<Value = (u64, u64)> {
    (prop_oneof![Just(1u64), Just(3), Just(10)], prop_oneof![Just(0u64), Just(1), Just(500), Just(5_000)])
}

fn case() -> impl Strategy<Value = Case> {
    let shape = (1..4usize, 1..4usize, line(), line())
        .prop_filter("two hosts", |(leaves, hosts, ..)| leaves * hosts > 1)
        .prop_map(|(leaves, hosts, host_line, spine_line)| Shape { leaves, hosts, host_line, spine_line });
    let control = prop_oneof![Just(Control::Dctcp), Just(Control::EcnStar), Just(Control::Reno), Just(Control::Dcqcn)];
    let connections = prop_oneof![
        Just(Connections::New),
        Just(Connections::Persistent { per_pair: 1 }),
        Just(Connections::Queued { per_pair: 2 }),
        Just(Connections::Asked { request_bytes: 100 })
    ];
    let start = prop_oneof![Just(0u64), 0..200 * US];
    let extra = prop_oneof![Just(0u64), 0..30 * US];
    let flows = prop::collection::vec((0..9usize, 0..8usize, 1..60_000u64, start, extra), 1..25);
    let packets = (1..2_000usize, prop_oneof![Just(None), Just(Some(0))]).prop_map(|(last, flow)| TracePackets {
        ports: vec![],
        only: vec![],
        flow,
        last,
    });
    (shape, control, connections, 1..3u32, 8..60u64, any::<bool>(), flows, any::<bool>(), packets).prop_map(
        |(shape, control, connections, ack_every, limit, lossless, flows, followers, packets)| {
            let rdma = control == Control::Dcqcn;
            let asked = matches!(connections, Connections::Asked { .. } | Connections::Queued { .. });
            Case {
                shape,
                control,
                // Queue pairs are not asked for, and their flows do not wait for each other.
                connections: if rdma && asked { Connections::New } else { connections },
                ack_every,
                limit: if lossless { 10_000 } else { limit },
                lossless,
                flows,
                followers: followers && !rdma,
                packets,
            }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn any_number_of_threads_gives_the_same_bytes(case in case()) {
        let one = case.results(1, "threads");
        for threads in [2, 3, 16] {
            let several = case.results(threads, "threads");
            prop_assert!(one.0 == several.0, "{} threads: {}", threads, difference(&one.0, &several.0));
            prop_assert!(one.1 == several.1, "{} threads: the capture differs", threads);
        }
    }
}
