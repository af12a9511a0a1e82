// SPDX-License-Identifier: MIT OR Apache-2.0
//! The network: nodes, lines, connections, and the event loop.

mod connection;
mod flows;
mod gro;
mod handshake;
mod hosts;
mod link;
mod pause;
mod pias;
mod probes;
mod queue_pairs;
mod switches;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration as StdDuration;

use hdrhistogram::Histogram;
use marklab_observe::{CaptureError, CaptureFile, PortTrace};
use marklab_pipeline::{FailedAssertion, State};
use marklab_switch::Switch;
use marklab_tm::{Chains, QueueStats};
use marklab_units::{Duration, Framing, Time};
use thiserror::Error;

use crate::config::{Config, ConfigError, Connections, Discipline, Flow, Nic, Node, Transport};
use crate::ecn::EcnInterference;
use crate::events::EventQueue;
use crate::flow_trace::FlowTrace;
use crate::frame::{Delayed, FramePool, NetFrame};
use crate::ledger::{Ledger, Reason};
use crate::queue_samples::{QueueSamples, SampleQueues};
use crate::sender_trace::SenderTrace;
use crate::tcp::SenderStats;
use connection::Connection;
use flows::{followers, started};
use hosts::{Host, Pool};
use link::Line;
pub use link::LineStats;
pub use pause::PauseStats;
use pause::Pauses;
use pias::Priorities;
pub use pias::PriorityStats;
pub use probes::EchoRecord;
use probes::ProbeState;
use queue_pairs::{PairEvent, Rdma};
use switches::SwitchNode;

/// A future event. The numbers are indices of lines and connections, unless the variant names others.
#[derive(Debug)]
enum Event {
    /// A frame arrives at the end of a line.
    Arrival(u32, Box<NetFrame>),
    /// A transmitter becomes free.
    Free(u32),
    /// The first frame in a connection's delay line is due.
    Release(u32),
    /// A sender's retransmission timer may have expired.
    SenderTimer(u32),
    /// A receiver's acknowledgement timer may have expired.
    ReceiverTimer(u32),
    /// The time may have passed that segments merged by a receiver's NIC wait.
    HandUp(u32),
    /// A rate-limited application writes more.
    Write(u32),
    /// The next flow starts.
    Start,
    /// A flow starts that waited for another flow on a connection.
    Follow(u32, u32),
    /// A probe sends its next request.
    Probe(u32),
    /// Frames that a switch made wait at a port (node, port) without a link, and are discarded.
    Discard(u32, u32),
    /// Queues are sampled.
    Sample,
    /// An event of a queue pair.
    Pair(PairEvent, u32),
    /// A queue pair of a host (node) may send.
    Pace(u32),
    /// A pause frame reaches the transmitter of a line: it pauses or resumes.
    Pause(u32),
}

enum NodeState {
    Host(Box<Host>),
    Switch(Box<SwitchNode>),
}

/// Progress of a run, and a request to cancel it. May be shared with another thread.
#[derive(Debug, Default)]
pub struct Progress {
    /// Flows finished.
    pub finished: AtomicU64,
    /// Virtual time in ns.
    pub now_ns: AtomicU64,
    /// Set to end the run.
    pub cancel: AtomicBool,
}

/// Why a run ended without an outcome.
#[derive(Debug, Error)]
pub enum RunError {
    /// [`Progress::cancel`] was set.
    #[error("the run was cancelled")]
    Cancelled,
    /// A capture could not be written.
    #[error("cannot write {0}")]
    Capture(#[from] CaptureError),
    /// An `assert` or `assume` of a switch's program did not hold.
    #[error("an assertion of the program failed at node {node}")]
    Assertion {
        /// The switch.
        node: usize,
        /// The assertion.
        failed: FailedAssertion,
    },
}

/// Result of a flow.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct FlowRecord {
    /// Time from the start of the flow to its last byte at the receiver; `None` if it did not finish.
    pub fct: Option<Duration>,
    /// Counts of its sender.
    pub sender: SenderStats,
    /// Data packets that arrived with congestion experienced.
    pub marked: u64,
    /// Bytes of payload that the receiver could deliver to its application, in order.
    pub delivered_bytes: u64,
    /// Shortest one-way delay that the flow's connection had measured by the end of the flow, if it measures delays.
    pub base_delay: Option<Duration>,
}

/// A line after the run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LineReport {
    /// Node and port of the transmitter.
    pub from: (usize, usize),
    /// Node and port at the other end.
    pub to: (usize, usize),
    /// Counts of the transmitter.
    pub stats: LineStats,
    /// Time spent transmitting until [`Outcome::arrivals_end`].
    pub busy_during_arrivals: Duration,
    /// Its pauses, where lines that lead to switches are lossless.
    pub pauses: Option<PauseStats>,
}

/// A switch port after the run.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct PortReport {
    /// Packets that arrived ECN capable and left with congestion experienced.
    pub marked: u64,
    /// Its queue.
    pub queue: QueueStats,
}

/// A switch after the run.
pub struct SwitchReport {
    /// Its node.
    pub node: usize,
    /// Its ports.
    pub ports: Vec<PortReport>,
    /// Its tables, registers and counters.
    pub state: State,
}

/// Everything observed in a run.
pub struct Outcome {
    /// One per flow, in order.
    pub flows: Vec<FlowRecord>,
    /// When each flow started, if it started before the end of the run.
    pub starts: Vec<Option<Time>>,
    /// Losses by place.
    pub ledger: Ledger,
    /// What happened to ECN between hosts, apart from marks.
    pub ecn: EcnInterference,
    /// One per line.
    pub lines: Vec<LineReport>,
    /// One per switch.
    pub switches: Vec<SwitchReport>,
    /// One per requested trace.
    pub traces: Vec<PortTrace>,
    /// Bytes that flows delivered over time, if requested.
    pub flow_trace: Option<FlowTrace>,
    /// Windows and states of senders over time, if requested.
    pub sender_trace: Option<SenderTrace>,
    /// Requests of each probe, in order of time.
    pub probes: Vec<Vec<EchoRecord>>,
    /// Round-trip times from data to acknowledgement in ns, as the transport measures them, to one part in a hundred.
    pub rtts: Histogram<u64>,
    /// Samples of the queue lengths of switch ports, if requested.
    pub queue_samples: Option<QueueSamples>,
    /// Packets per priority, the highest first, if hosts tag packets.
    pub priorities: Option<Vec<PriorityStats>>,
    /// Frames that finished leaving a NIC or a switch port.
    pub link_transmissions: u64,
    /// Events handled.
    pub events: u64,
    /// Start of the last flow that waits for no other flow.
    pub arrivals_end: Time,
    /// When the run ended.
    pub end: Time,
}

/// A switch for the frames of this network.
pub type NetSwitch = Switch<Box<NetFrame>>;

/// A network ready to run.
pub struct Network {
    now: Time,
    events: EventQueue<Event>,
    nodes: Vec<NodeState>,
    lines: Vec<Line>,
    /// Frames in the delay lines of connections.
    delayed: Delayed,
    /// Frames in NICs.
    queued: Chains<Box<NetFrame>>,
    framing: Framing,
    transport: Transport,
    nic: Nic,
    mode: Connections,
    stop: Time,
    connections: Vec<Connection>,
    /// Persistent connections, by pair of hosts.
    pools: BTreeMap<(usize, usize), Pool>,
    /// Queue pairs, in runs that use them instead of connections.
    rdma: Option<Box<Rdma>>,
    /// Pauses, where lines that lead to switches are lossless.
    pfc: Option<Box<Pauses>>,
    /// Priorities, where hosts tag packets by the bytes that their flow has sent.
    pias: Option<Box<Priorities>>,
    flows: Vec<Flow>,
    /// The next flow that starts at a time of its own, or the number of flows if there is none.
    next_flow: usize,
    /// For each flow, the flow that waits for it; empty if no flow waits.
    followers: Vec<Option<u32>>,
    finished: usize,
    records: Vec<FlowRecord>,
    frames: FramePool,
    ledger: Ledger,
    ecn: EcnInterference,
    traces: Vec<PortTrace>,
    flow_trace: Option<Box<FlowTrace>>,
    sender_trace: Option<Box<SenderTrace>>,
    probes: Vec<ProbeState>,
    rtts: Histogram<u64>,
    queue_samples: Option<Box<QueueSamples>>,
    /// Whether NICs write the time into the segments that they send.
    stamps: bool,
    captures: Vec<CaptureFile>,
    /// First failure, which ends the run.
    failure: Option<RunError>,
    /// Start of the last flow that waits for no other flow, and the time that each line had been busy by then.
    arrivals_end: Time,
    busy_during_arrivals: Vec<Duration>,
}

/// Longest round-trip time of the histogram; longer ones count as this.
const LONGEST_RTT_NS: u64 = 60_000_000_000;
/// Events between two updates of [`Progress`].
const PROGRESS_EVENTS: u64 = 1 << 14;

impl Network {
    /// Builds a network. `switches` are in the order of the switches among the nodes, `flows` in order of their start.
    ///
    /// # Errors
    ///
    /// [`BuildError`] if the description is not valid, or a capture cannot be created.
    pub fn new(config: &Config, flows: Vec<Flow>, switches: Vec<NetSwitch>) -> Result<Network, BuildError> {
        config.check(&flows)?;
        let expected = config.nodes.iter().filter(|node| matches!(node, Node::Switch { .. })).count();
        if expected != switches.len() {
            return Err(ConfigError::Switches { expected, given: switches.len() }.into());
        }
        let mut switches = switches.into_iter();
        let nodes = config.nodes.iter().map(|node| match node {
            Node::Host { mac, ip, .. } => NodeState::Host(Box::new(Host::new(*mac, *ip))),
            Node::Switch { .. } => {
                let switch = switches.next().expect("as many as switches among the nodes");
                NodeState::Switch(Box::new(SwitchNode::new(switch)))
            }
        });
        let records = vec![FlowRecord::default(); flows.len()];
        let mut network = Network {
            now: Time::ZERO,
            events: EventQueue::default(),
            nodes: nodes.collect(),
            lines: Vec::new(),
            delayed: Delayed::default(),
            queued: Chains::default(),
            framing: config.framing,
            transport: config.transport,
            nic: config.nic,
            mode: config.connections,
            stop: Time::from_nanos(config.stop_ns),
            connections: Vec::new(),
            pools: BTreeMap::new(),
            pfc: config.pfc.map(|pfc| Box::new(Pauses::new(pfc, 2 * config.links.len()))),
            pias: config.pias.as_ref().map(|pias| Box::new(Priorities::new(pias))),
            rdma: config.transport.dcqcn.map(|rates| Box::new(Rdma::new(rates, config.nodes.len()))),
            followers: followers(&flows),
            flows,
            next_flow: 0,
            finished: 0,
            records,
            frames: FramePool::default(),
            ledger: Ledger::default(),
            ecn: EcnInterference::default(),
            traces: Vec::new(),
            flow_trace: None,
            sender_trace: None,
            probes: Vec::new(),
            rtts: Histogram::new_with_max(LONGEST_RTT_NS, 2).expect("a range that a histogram can have"),
            queue_samples: None,
            stamps: config.transport.measures_delay(),
            captures: Vec::new(),
            failure: None,
            arrivals_end: Time::ZERO,
            busy_during_arrivals: Vec::new(),
        };
        network.link_up(config)?;
        network.record(config)?;
        network.plan_probes(&config.probes);
        if let Some(plan) = config.sample_queues {
            network.plan_samples(plan);
        }
        Ok(network)
    }

    fn plan_samples(&mut self, plan: SampleQueues) {
        let ports = self.nodes.iter().enumerate().flat_map(|(node, state)| {
            let ports = match state {
                NodeState::Switch(switch) => &switch.ports[..],
                NodeState::Host(_) => &[],
            };
            let linked = ports.iter().enumerate().filter(|(_, port)| port.line.is_some());
            linked.map(move |(port, _)| (node, port))
        });
        self.queue_samples = Some(Box::new(QueueSamples::new(plan, ports)));
        self.events.push(Time::ZERO, Event::Sample);
    }

    fn sample_queues(&mut self) {
        let nodes = &self.nodes;
        let waiting = |node: usize, port: usize| match &nodes[node] {
            NodeState::Switch(switch) => switch.switch.depth(port).packets as usize,
            NodeState::Host(_) => 0,
        };
        let next = self.queue_samples.as_mut().and_then(|samples| samples.look(self.now, waiting));
        if let Some(next) = next {
            self.events.push(next, Event::Sample);
        }
    }

    /// Makes two lines of each link.
    fn link_up(&mut self, config: &Config) -> Result<(), ConfigError> {
        for (link, spec) in config.links.iter().enumerate() {
            let (rate, delay) = (spec.rate(link)?, Duration::from_nanos(spec.delay_ns));
            for (from, to) in [(spec.a, spec.b), (spec.b, spec.a)] {
                let line = self.lines.len();
                let free = self.nodes.get_mut(from.0).and_then(|node| node.line_of(from.1));
                match free {
                    Some(place @ None) => *place = Some(line as u32),
                    _ => return Err(ConfigError::Port { link, node: from.0, port: from.1 }),
                }
                self.lines.push(Line::new(from, to, rate, delay));
            }
        }
        let unlinked = self.nodes.iter().position(|node| matches!(node, NodeState::Host(host) if host.line.is_none()));
        unlinked.map_or(Ok(()), |node| Err(ConfigError::Unlinked(config.nodes[node].name().to_owned())))
    }

    fn record(&mut self, config: &Config) -> Result<(), BuildError> {
        for trace in &config.traces {
            let NodeState::Switch(switch) = &mut self.nodes[trace.node] else {
                return Err(ConfigError::Value("only queues of switches can be traced").into());
            };
            switch.ports[trace.port].trace = Some(self.traces.len() as u32);
            if let Node::Switch { queueing, .. } = &config.nodes[trace.node] {
                let interval = Duration::from_nanos(trace.interval_ns);
                let port = queueing.port().map_err(ConfigError::Queues)?;
                let cells = trace.registers.iter().map(|cell| cell.find(switch.switch.state()));
                let cells = cells.collect::<Result<_, _>>().map_err(ConfigError::Cell)?;
                self.traces.push(PortTrace::new(interval, &port, cells, trace.packets));
            }
        }
        self.flow_trace = config.trace_flows_ns.map(|interval| Box::new(FlowTrace::new(interval, self.flows.len())));
        self.sender_trace = config.trace_senders.then(|| Box::new(SenderTrace::new(self.flows.len())));
        for capture in &config.captures {
            let number = Some(self.captures.len() as u32);
            match &mut self.nodes[capture.node] {
                NodeState::Switch(switch) => switch.ports[capture.port].capture = number,
                NodeState::Host(host) => host.capture = number,
            }
            self.captures.push(CaptureFile::create(&capture.path, StdDuration::ZERO)?);
        }
        Ok(())
    }

    /// Runs until all flows have finished, or until the end given in the [`Config`].
    ///
    /// # Errors
    ///
    /// If the run was cancelled, a capture could not be written, or an assertion of the program did not hold. Then
    /// there is no outcome.
    pub fn run(mut self, progress: &Progress) -> Result<Outcome, RunError> {
        if let Some(first) = self.flows.first() {
            self.events.push(Time::from_nanos(first.start_ns), Event::Start);
        }
        let mut handled = 0;
        while self.finished < self.flows.len() {
            let Some((time, event)) = self.events.pop().filter(|(time, _)| *time <= self.stop) else { break };
            self.now = time;
            self.handle(event);
            handled += 1;
            if handled % PROGRESS_EVENTS == 0 {
                progress.finished.store(self.finished as u64, Ordering::Relaxed);
                progress.now_ns.store(self.now.nanos(), Ordering::Relaxed);
                if progress.cancel.load(Ordering::Relaxed) {
                    return Err(RunError::Cancelled);
                }
                if self.failure.is_some() {
                    break;
                }
            }
        }
        if let Some(error) = self.failure {
            return Err(error);
        }
        progress.finished.store(self.finished as u64, Ordering::Relaxed);
        for capture in std::mem::take(&mut self.captures) {
            capture.finish()?;
        }
        self.record_unfinished();
        self.record_unfinished_messages();
        Ok(self.outcome(handled))
    }

    // Inlined, so that the event does not go through memory.
    #[inline(always)]
    fn handle(&mut self, event: Event) {
        match event {
            Event::Arrival(line, frame) => self.arrival(line as usize, frame),
            Event::Free(line) => {
                self.lines[line as usize].free_pending = false;
                self.start(line as usize);
            }
            Event::Release(connection) => self.release(connection as usize),
            Event::SenderTimer(connection) => self.sender_timer(connection as usize),
            Event::ReceiverTimer(connection) => self.receiver_timer(connection as usize),
            Event::HandUp(connection) => self.merge_timer(connection as usize),
            Event::Write(connection) => self.write_more(connection as usize),
            Event::Start => self.start_next_flow(),
            Event::Follow(flow, connection) => self.start_follower(flow as usize, connection as usize),
            Event::Probe(number) => self.send_probe(number),
            Event::Sample => self.sample_queues(),
            Event::Discard(node, port) => self.discard_waiting(node as usize, port as usize),
            Event::Pair(event, pair) => self.pair_event(event, pair as usize),
            Event::Pace(node) => self.pace(node as usize),
            Event::Pause(line) => self.pause(line as usize),
        }
    }

    #[inline(always)]
    fn arrival(&mut self, line: usize, frame: Box<NetFrame>) {
        let (node, port) = self.lines[line].to();
        match &self.nodes[node] {
            NodeState::Host(_) => self.host_receives(node, frame),
            NodeState::Switch(_) if self.pfc.is_some() => self.lossless_receives(line, node, port, frame),
            NodeState::Switch(_) => _ = self.switch_receives(node, port, frame),
        }
    }

    /// Begins the next transmission on a line, or schedules it for the end of the present one.
    #[inline]
    fn start(&mut self, line: usize) {
        let state = &self.lines[line];
        if self.now < state.busy_until() {
            self.wake_when_free(line);
        } else if !state.paused {
            self.transmit(line);
        }
    }

    #[inline(never)]
    fn transmit(&mut self, line: usize) {
        let (node, port) = self.lines[line].from();
        let from_host = matches!(self.nodes[node], NodeState::Host(_));
        let next = if !from_host {
            self.switch_next(node, port)
        } else {
            match (self.host_next(node), &self.rdma) {
                (next, None) => next,
                (Some((frame, _)), Some(_)) => Some((frame, true)),
                (None, Some(_)) => self.queue_pair_next(node),
            }
        };
        let Some((mut frame, more)) = next else { return };
        if frame.notes.is_held() {
            self.let_go(node, &mut frame);
        }
        let (connection, by_client) = (frame.connection as usize, frame.notes.by_client());
        self.put_on_line(line, frame);
        if more {
            self.wake_when_free(line);
        }
        if from_host && by_client && self.rdma.is_none() {
            self.nic_has_room(connection);
        }
    }

    /// Begins the transmission of a frame on a line that is free.
    #[inline(always)]
    fn put_on_line(&mut self, line: usize, frame: Box<NetFrame>) {
        let bytes = self.framing.wire_bytes(frame.packet.len());
        let arrival = self.lines[line].transmit(self.now, bytes);
        self.events.push(arrival, Event::Arrival(line as u32, frame));
    }

    /// Schedules an event for the next transmission on a line: at the end of the present one, or now if there is none.
    #[inline]
    fn wake_when_free(&mut self, line: usize) {
        if !self.lines[line].free_pending {
            self.push_free(line);
        }
    }

    #[inline(never)]
    fn push_free(&mut self, line: usize) {
        let line_state = &mut self.lines[line];
        line_state.free_pending = true;
        self.events.push(self.now.max(line_state.busy_until()), Event::Free(line as u32));
    }

    fn lose(&mut self, node: usize, port: Option<usize>, reason: Reason, mut frame: Box<NetFrame>) {
        if frame.notes.is_held() {
            self.let_go(node, &mut frame);
        }
        self.ledger.add(node, port, reason);
        self.frames.give(frame);
    }

    #[inline]
    fn capture(&mut self, capture: Option<u32>, frame: &NetFrame) {
        if let Some(number) = capture {
            self.write_capture(number, frame);
        }
    }

    #[cold]
    fn write_capture(&mut self, number: u32, frame: &NetFrame) {
        if let Err(error) = self.captures[number as usize].write(self.now, &frame.packet) {
            self.failure.get_or_insert(error.into());
        }
    }

    fn outcome(self, events: u64) -> Outcome {
        let now = self.now;
        let pfc = self.pfc.as_deref();
        let is_data = |line: usize| pfc.is_none_or(|pauses| !pauses.sends(line, now));
        let busy_lines = (0..self.lines.len()).filter(|&line| self.lines[line].busy_until() > now);
        let under_way = busy_lines.filter(|&line| is_data(line)).count() as u64;
        let begun: u64 = self.lines.iter().map(|line| line.stats().frames).sum();
        let busy = |at: usize| self.busy_during_arrivals.get(at).copied().unwrap_or(Duration::ZERO);
        let lines = self.lines.iter().enumerate().map(|(at, line)| LineReport {
            from: line.from(),
            to: line.to(),
            stats: line.stats(),
            busy_during_arrivals: busy(at),
            pauses: pfc.map(|pauses| pauses.stats(at, now)),
        });
        let lines = lines.collect();
        let switches = self.nodes.into_iter().enumerate().filter_map(|(node, state)| match state {
            NodeState::Switch(switch) => Some(switch.report(node)),
            NodeState::Host(_) => None,
        });
        Outcome {
            switches: switches.collect(),
            lines,
            starts: self.flows.iter().map(|flow| started(flow, now)).collect(),
            flows: self.records,
            ledger: self.ledger,
            ecn: self.ecn,
            traces: self.traces,
            flow_trace: self.flow_trace.map(|trace| *trace),
            sender_trace: self.sender_trace.map(|trace| *trace),
            probes: self.probes.into_iter().map(|probe| probe.records).collect(),
            rtts: self.rtts,
            queue_samples: self.queue_samples.map(|samples| *samples),
            priorities: self.pias.map(|pias| pias.stats()),
            link_transmissions: begun - under_way,
            events,
            arrivals_end: self.arrivals_end,
            end: now,
        }
    }

    /// Whether NICs serve their connections in turn.
    fn fair(&self) -> bool {
        self.nic.discipline == Discipline::Fair
    }
}

impl NodeState {
    /// The host; the caller knows that it is one.
    fn host(&mut self) -> &mut Host {
        match self {
            NodeState::Host(host) => host,
            NodeState::Switch(_) => unreachable!("it is a switch"),
        }
    }

    /// The switch; the caller knows that it is one.
    fn switch(&mut self) -> &mut SwitchNode {
        match self {
            NodeState::Switch(switch) => switch,
            NodeState::Host(_) => unreachable!("it is a host"),
        }
    }

    /// The place that stores the line of a port; `None` if there is no such port.
    fn line_of(&mut self, port: usize) -> Option<&mut Option<u32>> {
        match self {
            NodeState::Host(host) => (port == 0).then_some(&mut host.line),
            NodeState::Switch(switch) => switch.ports.get_mut(port).map(|port| &mut port.line),
        }
    }
}

/// Why a network cannot be built.
#[derive(Debug, Error)]
pub enum BuildError {
    /// The description is not valid.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A capture file cannot be created.
    #[error("cannot create {0}")]
    Capture(#[from] CaptureError),
}
