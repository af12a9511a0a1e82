// SPDX-License-Identifier: MIT OR Apache-2.0
//! Flows between two network namespaces. These tests need root: without it they pass, and print that they were skipped.

use std::fs::File;
use std::net::SocketAddrV4;
use std::os::fd::AsFd;
use std::process::{self, Command};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use marklab_replay::{Connections, Direction, Flow, FlowRecord, Plan, Server, Status, Watch, now_ns, replay};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

const MS: u64 = 1_000_000;
const RATE_BPS: u64 = 100_000_000;
/// A full frame with its headers, and its TCP payload without timestamps.
const FRAME_BYTES: u64 = 1514;
const SEGMENT_BYTES: u64 = 1460;
/// DSCP 46 with ECT(0).
const DSCP: u8 = 46;
const TOS: &str = "0xba";

fn run(command: &str) -> String {
    let mut words = command.split_whitespace();
    let output = Command::new(words.next().unwrap()).args(words).output().unwrap();
    assert!(output.status.success(), "`{command}`: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Two namespaces and a line between them. Its first end shapes, and classifies by the byte of DSCP and ECN.
struct Line {
    names: [String; 2],
}

impl Line {
    /// `None` if namespaces cannot be made here.
    #[expect(clippy::print_stderr, reason = "a test that does nothing has to say so")]
    fn new(tag: &str) -> Option<Line> {
        if !rustix::process::geteuid().is_root() {
            eprintln!("skipped: needs privileges, as network namespaces do: run it as root");
            return None;
        }
        if let Some(tool) = ["ip", "tc", "ethtool", "sysctl"].iter().find(|tool| Command::new(tool).output().is_err()) {
            eprintln!("skipped: needs network tools, and {tool} is not on PATH");
            return None;
        }
        let line = Line { names: ["a", "b"].map(|end| format!("mlr{}{tag}{end}", process::id())) };
        let [a, b] = &line.names;
        run(&format!("ip netns add {a}"));
        run(&format!("ip netns add {b}"));
        run(&format!("ip -n {a} link add eth0 type veth peer name eth0 netns {b}"));
        for (name, host) in [(a, 1), (b, 2)] {
            run(&format!("ip netns exec {name} ethtool -K eth0 tso off gso off gro off"));
            run(&format!("ip netns exec {name} sysctl -qw net.ipv4.tcp_ecn=1 net.ipv4.tcp_timestamps=0"));
            run(&format!("ip -n {name} address add 10.79.0.{host}/24 dev eth0"));
            run(&format!("ip -n {name} link set eth0 up"));
            run(&format!("ip -n {name} route replace 10.79.0.0/24 dev eth0 src 10.79.0.{host} congctl reno"));
        }
        let tc = |words: &str| run(&format!("ip netns exec {a} tc {words}"));
        tc("qdisc add dev eth0 root handle 1: htb default 1");
        for class in [1, 2] {
            tc(&format!(
                "class add dev eth0 parent 1: classid 1:{class} htb rate {RATE_BPS}bit burst 3200 cburst 3200"
            ));
            tc(&format!("qdisc add dev eth0 parent 1:{class} handle {class}0: bfifo limit 10000000"));
        }
        tc(&format!("filter add dev eth0 parent 1: protocol ip u32 match ip tos {TOS} 0xff flowid 1:2"));
        Some(line)
    }

    /// Bytes sent in the class of the flow's data, and in the class of everything else.
    fn sent_bytes(&self) -> (u64, u64) {
        let sent = |class: &str| {
            let shown = run(&format!("ip netns exec {} tc -s class show dev eth0 classid {class}", self.names[0]));
            let sent = shown.split("Sent ").nth(1).and_then(|rest| rest.split(' ').next());
            sent.and_then(|number| number.parse().ok()).unwrap_or_else(|| panic!("{shown}"))
        };
        (sent("1:2"), sent("1:1"))
    }

    /// Replays from the first namespace to a server in the second.
    fn replay(&self, flows: &[Flow], connections: Connections) -> Vec<FlowRecord> {
        let (ended, cancel) = (AtomicU64::new(0), AtomicBool::new(false));
        let watch = Watch { ended: &ended, cancel: &cancel };
        thread::scope(|scope| {
            let server = scope.spawn(|| in_namespace(&self.names[1], || Server::bind("0.0.0.0:5000".parse().unwrap())));
            let server = server.join().unwrap().unwrap();
            // Sockets stay in the namespace in which they were made.
            scope.spawn(move || server.serve(watch).unwrap());
            let client = scope.spawn(|| {
                in_namespace(&self.names[0], || {
                    let start_at_ns = now_ns() + 50 * MS;
                    let stop_at_ns = start_at_ns + 10_000 * MS;
                    replay(&Plan { flows, connections, start_at_ns, stop_at_ns }, watch).unwrap()
                })
            });
            let records = client.join();
            cancel.store(true, Ordering::Relaxed);
            records.unwrap()
        })
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        for name in &self.names {
            let _ = Command::new("ip").args(["netns", "delete", name]).status();
        }
    }
}

/// Moves this thread into a namespace permanently, and calls `then`.
fn in_namespace<T>(name: &str, then: impl FnOnce() -> T) -> T {
    let namespace = File::open(format!("/run/netns/{name}")).unwrap();
    move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Network)).unwrap();
    then()
}

fn flow(id: u32, peer: &str, size_bytes: u64) -> Flow {
    let peer: SocketAddrV4 = peer.parse().unwrap();
    Flow { id, start_ns: 0, peer, size_bytes, dscp: DSCP, ttl: 0, direction: Direction::Push }
}

#[test]
fn a_flow_takes_what_the_line_takes_in_its_class_with_ecn() {
    let Some(line) = Line::new("f") else { return };
    let size_bytes = 4_000_000_u64;
    let wire_bytes = size_bytes.div_ceil(SEGMENT_BYTES) * (FRAME_BYTES - SEGMENT_BYTES) + size_bytes;
    let ideal_ns = wire_bytes * 8 * 1_000_000_000 / RATE_BPS;
    // Other work on the machine can only make a flow slower, so the fastest of three counts.
    let fct_ns = (0..3).map(|id| {
        let records = line.replay(&[flow(id, "10.79.0.2:5000", size_bytes)], Connections::New);
        assert_eq!(records[0].status, Status::Done);
        records[0].end_ns.unwrap() - records[0].start_ns.unwrap()
    });
    let fct_ns = fct_ns.min().unwrap();
    assert!((ideal_ns * 98 / 100..ideal_ns * 110 / 100).contains(&fct_ns), "{fct_ns} ns, ideally {ideal_ns} ns");
    // All data is in the flow's class, ECN capable, and in full segments: TCP keeps its two bits of the byte.
    let (data_bytes, other_bytes) = line.sent_bytes();
    let wire_bytes = 3 * wire_bytes;
    assert!((wire_bytes..wire_bytes + 20 * FRAME_BYTES).contains(&data_bytes), "{data_bytes} for {wire_bytes}");
    assert!(other_bytes < 10_000, "handshake, receipt's acknowledgement, ARP: {other_bytes}");
}

#[test]
fn what_the_network_does_to_a_flow_is_its_status() {
    let Some(line) = Line::new("s") else { return };
    let [a, _] = &line.names;
    run(&format!("ip netns exec {a} sysctl -qw net.ipv4.tcp_syn_retries=1"));
    run(&format!("ip -n {a} route add unreachable 10.80.0.0/24"));
    // A neighbour entry without a host.
    run(&format!("ip -n {a} neighbour add 10.79.0.3 lladdr 02:00:00:00:00:03 dev eth0 nud permanent"));
    let flows = [
        flow(0, "10.79.0.2:5000", 1000),
        flow(1, "10.79.0.2:5001", 1000),
        flow(2, "10.80.0.1:5000", 1000),
        flow(3, "10.79.0.3:5000", 1000),
    ];
    let statuses: Vec<Status> = line.replay(&flows, Connections::New).iter().map(|record| record.status).collect();
    assert_eq!(statuses, [Status::Done, Status::Refused, Status::Unreachable, Status::TimedOut]);
}
