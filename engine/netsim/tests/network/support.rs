// SPDX-License-Identifier: MIT OR Apache-2.0
//! Networks around one switch, programs for that switch, and transmission times on its lines.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock};

use marklab_netsim::tcp::stack::Stack;
use marklab_netsim::{
    BuildError, Capture, Config, Connections, Control, Dcqcn, Discipline, Flow, Framing, Link, NetSwitch, Network, Nic,
    Node, Outcome, Progress, QueueLimit, Trace, Traffic, Transport,
};
use marklab_p4::ir;
use marklab_pipeline::{ActionSpec, Engine, EntrySpec, Interpreter, Jit, KeyMatch, Layout, Spotlight, State};
use marklab_switch::Switch;

pub(crate) const MSS: u64 = 1460;
/// Ethernet, IPv4 and TCP headers without options.
const HEADERS: u64 = 54;
/// Options of a SYN: segment size, SACK permitted, window scale.
const SYN_OPTIONS: u64 = 12;
/// Length of the shortest frame, and checksum, preamble and gap of each frame (IEEE 802.3).
const FRAMING: Framing = Framing { min_bytes: 60, overhead_bytes: 24 };

pub(crate) const GBPS: u64 = 1_000_000_000;
pub(crate) const US: u64 = 1_000;
pub(crate) const MS: u64 = 1_000_000;

/// Bytes on the line of a segment that carries `payload`.
pub(crate) fn wire_bytes(payload: u64) -> u64 {
    (HEADERS + payload).max(60) + 24
}

/// ns that a segment takes at 1 Gb/s: a whole number for any length, so nothing is rounded.
pub(crate) fn at_1g(payload: u64) -> u64 {
    wire_bytes(payload) * 8
}

/// ns that a SYN takes at 1 Gb/s.
pub(crate) fn syn_at_1g() -> u64 {
    at_1g(SYN_OPTIONS)
}

/// A compiled program and an engine for it.
#[derive(Clone)]
pub(crate) struct Program {
    ir: Arc<ir::Program>,
    layout: Arc<Layout>,
    engine: Arc<dyn Engine>,
}

impl Program {
    /// A scheme of the lab, or a program of these tests, as machine code.
    pub(crate) fn of(name: &'static str) -> Program {
        static COMPILED: OnceLock<Mutex<BTreeMap<&str, Program>>> = OnceLock::new();
        let mut compiled = COMPILED.get_or_init(Mutex::default).lock().unwrap();
        compiled.entry(name).or_insert_with(|| Program::compile(name)).clone()
    }

    fn compile(name: &str) -> Program {
        let crate_dir = Path::new(env!("CARGO_MANIFEST_DIR"));
        let schemes = crate_dir.join("../../p4src/v1model");
        let file = format!("{name}.p4");
        let own = crate_dir.join("tests/programs").join(&file);
        let path = if own.exists() { own } else { schemes.join(&file) };
        let compilation =
            marklab_p4::compile(&path, &marklab_p4::Options { include_dirs: vec![schemes], defines: vec![] });
        let messages = compilation.render(false);
        let ir = Arc::new(compilation.program.unwrap_or_else(|| panic!("{name} does not compile:\n{messages}")));
        let layout = Arc::new(Layout::new(&ir));
        let engine = Arc::new(Jit::compile(&ir, &layout).expect("the JIT takes the program"));
        Program { ir, layout, engine }
    }

    /// The same program, run by the interpreter.
    pub(crate) fn interpreted(&self) -> Program {
        Program { engine: Arc::new(Interpreter::new(&self.ir, &self.layout)), ..self.clone() }
    }

    /// The same program behind a spotlight.
    pub(crate) fn spotlit(&self) -> (Program, Arc<Spotlight>) {
        let spotlight = Arc::new(Spotlight::new(self.engine.clone(), &self.ir, &self.layout));
        (Program { engine: spotlight.clone(), ..self.clone() }, spotlight)
    }
}

fn action(action: &str, params: &[(&str, u64)]) -> ActionSpec {
    let params = params.iter().map(|&(name, value)| (name.to_owned(), value.into())).collect();
    ActionSpec { action: action.to_owned(), params }
}

/// Sets the parameters of a scheme.
pub(crate) fn set_params(state: &mut State, params: &[(&str, u64)]) {
    set_default(state, "marking.params", "set_params", params);
}

/// Sets the default action of a table.
pub(crate) fn set_default(state: &mut State, table: &str, name: &str, params: &[(&str, u64)]) {
    state.set_default_action(table, &action(name, params)).unwrap();
}

/// Makes `scripted` `mark` or `drop` the packets with these numbers, from 1 on, that leave by a port.
pub(crate) fn script(state: &mut State, what: &str, port: u64, numbers: impl IntoIterator<Item = u64>) {
    for number in numbers {
        insert(state, "marking.script", &[("port", port), ("number", number)], what, &[]);
    }
}

/// Adds an entry to a table whose keys are exact.
pub(crate) fn insert(state: &mut State, table: &str, keys: &[(&str, u64)], name: &str, params: &[(&str, u64)]) {
    let matches = keys.iter().map(|&(key, value)| (key.to_owned(), KeyMatch::Exact(value.into()))).collect();
    state.insert_entry(table, &EntrySpec { matches, call: action(name, params), priority: 0 }).unwrap();
}

/// Rates of the DCQCN paper (section 5); R_HI is ten times R_AI, as in QCN.
const RATES: Dcqcn = Dcqcn {
    cnp_interval_ns: 50 * US,
    gain_shift: 8,
    alpha_timer_ns: 55 * US,
    rate_timer_ns: 55 * US,
    byte_counter_bytes: 10_000_000,
    fast_recovery_rounds: 5,
    additive_bps: 40_000_000,
    hyper_bps: 400_000_000,
    min_rate_bps: 10_000_000,
    window_bytes: None,
};

fn mac(host: usize) -> [u8; 6] {
    [2, 0, 0, 0, 0, host as u8 + 1]
}

/// Address of a host.
pub(crate) fn ip(host: usize) -> u32 {
    0x0a00_0001 + host as u32
}

/// TCP settings with this congestion control. Each segment is acknowledged, so rounds are simple.
pub(crate) fn transport(control: Control) -> Transport {
    Transport {
        control,
        mss_bytes: MSS as u32,
        initial_window_segments: 10,
        min_rto_ns: 10 * MS,
        initial_rto_ns: 30 * MS,
        ack_every_segments: 1,
        ack_delay_ns: MS,
        receive_window_bytes: 64 << 20,
        cwnd_validation: true,
        stack: Stack::default(),
        dctcp_gain_shift: 4,
        dctcp_loss_after_marks: true,
        delay_threshold_ns: None,
        ecn_plus: false,
        syn_ack_timer: false,
        dcqcn: (control == Control::Dcqcn).then_some(RATES),
        prague: None,
    }
}

/// Hosts around one switch, which is the last node; host `i` has port `i`. `hosts` has rate and delay of each host's
/// link. Connections are persistent.
pub(crate) fn star(hosts: &[(u64, u64)], queue: QueueLimit, control: Control) -> Config {
    let host = |number| Node::Host { name: format!("h{number}"), mac: mac(number), ip: ip(number) };
    let mut nodes: Vec<Node> = (0..hosts.len()).map(host).collect();
    nodes.push(Node::Switch { name: "s".into(), ports: hosts.len(), queueing: queue.into(), mirrors: Vec::new() });
    let link = |(number, &(rate_bps, delay_ns))| Link { a: (number, 0), b: (hosts.len(), number), rate_bps, delay_ns };
    Config {
        nodes,
        links: hosts.iter().enumerate().map(link).collect(),
        framing: FRAMING,
        transport: transport(control),
        own_controls: vec![],
        nic: Nic { discipline: Discipline::Fair, limit_packets: 100_000, budget_bytes: 1 << 30 },
        pfc: None,
        pias: None,
        connections: Connections::Persistent { per_pair: 1 },
        stop_ns: 1_000_000 * MS,
        probes: vec![],
        traces: vec![],
        trace_flows_ns: None,
        trace_senders_ns: None,
        trace_packets: None,
        sample_queues: None,
        captures: vec![],
    }
}

/// Node of the switch of a [`star`].
pub(crate) fn switch_of(config: &Config) -> usize {
    config.nodes.len() - 1
}

/// Records every change of the queue towards a host of a [`star`].
pub(crate) fn trace_queue(config: &mut Config, host: usize) {
    config.traces.push(Trace {
        node: switch_of(config),
        port: host,
        interval_ns: 1,
        registers: vec![],
        packets: false,
    });
}

/// Captures the frames that a host sends and receives. `name` must be unique among all tests.
pub(crate) fn capture_host(config: &mut Config, host: usize, name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.pcap"));
    config.captures.push(Capture { node: host, port: 0, path: path.clone() });
    path
}

/// A flow without extra delay, as fast as possible.
pub(crate) fn flow(start_ns: u64, src: usize, dst: usize, size_bytes: u64) -> Flow {
    Flow {
        start_ns,
        after: None,
        src,
        dst,
        size_bytes,
        dscp: 0,
        extra_delay_ns: 0,
        rate_bps: 0,
        ecn: true,
        receive_window_bytes: 0,
        base_delay_ns: 0,
        control: None,
    }
}

/// A [`star`] whose switch runs a program; `setup` fills its tables.
pub(crate) fn build(
    config: &Config,
    program: &Program,
    setup: impl Fn(&mut State),
    traffic: impl Into<Traffic>,
) -> Result<Network, BuildError> {
    build_switch(config, program, |switch| setup(switch.state_mut()), traffic)
}

/// The same; `setup` has access to the whole switch. If there are several switches, all are alike.
pub(crate) fn build_switch(
    config: &Config,
    program: &Program,
    setup: impl Fn(&mut NetSwitch),
    traffic: impl Into<Traffic>,
) -> Result<Network, BuildError> {
    let switches = config.nodes.iter().filter_map(|node| match node {
        Node::Switch { ports, queueing, .. } => {
            let mut switch =
                Switch::new(program.engine.clone(), routes(program, *ports), vec![queueing.port().unwrap(); *ports]);
            setup(&mut switch);
            Some(switch)
        }
        Node::Host { .. } => None,
    });
    Network::new(config, traffic, switches.collect())
}

/// A network whose switches run a program. `port` has the port by which the switch of a number sends to a host.
pub(crate) fn build_fabric(
    config: &Config,
    program: &Program,
    setup: impl Fn(&mut State),
    port: impl Fn(usize, usize) -> usize,
    traffic: impl Into<Traffic>,
) -> Network {
    let hosts = config.nodes.iter().filter(|node| matches!(node, Node::Host { .. })).count();
    let specs = config.nodes.iter().filter_map(|node| match node {
        Node::Switch { ports, queueing, .. } => Some((*ports, queueing.port().unwrap())),
        Node::Host { .. } => None,
    });
    let switches = specs.enumerate().map(|(number, (ports, queues))| {
        let mut state = routes_by(program, (0..hosts).map(|host| (host, port(number, host))));
        setup(&mut state);
        Switch::new(program.engine.clone(), state, vec![queues; ports])
    });
    Network::new(config, traffic, switches.collect()).unwrap()
}

/// The state of a switch that sends packets for each host by the port with the host's number.
fn routes(program: &Program, ports: usize) -> State {
    routes_by(program, (0..ports).map(|host| (host, host)))
}

/// The state of a switch that sends packets for these hosts by these ports.
fn routes_by(program: &Program, ports: impl Iterator<Item = (usize, usize)>) -> State {
    let mut state = State::new(&program.ir, &program.layout, 1).unwrap();
    for (host, port) in ports {
        let matches = vec![("dst_addr".to_owned(), KeyMatch::Lpm { value: ip(host).into(), prefix_len: 32 })];
        let dst_addr = mac(host).iter().fold(0, |value, &byte| value << 8 | u64::from(byte));
        let call = action("forward", &[("port", port as u64), ("dst_addr", dst_addr)]);
        state.insert_entry("ipv4_lpm", &EntrySpec { matches, call, priority: 0 }).unwrap();
    }
    state
}

/// Runs flows through a [`star`].
pub(crate) fn run(
    config: &Config,
    program: &Program,
    setup: impl Fn(&mut State),
    traffic: impl Into<Traffic>,
) -> Outcome {
    build(config, program, setup, traffic).unwrap().run(&Progress::default()).unwrap()
}

/// ns that a flow took.
#[track_caller]
pub(crate) fn fct(outcome: &Outcome, flow: usize) -> u64 {
    outcome.flows[flow].fct.expect("the flow finished").nanos()
}

/// Frames that a host began to send.
pub(crate) fn frames_from(outcome: &Outcome, node: usize) -> u64 {
    outcome.lines.iter().find(|line| line.from == (node, 0)).expect("a host has one line").stats.frames
}
