// SPDX-License-Identifier: MIT OR Apache-2.0
//! Description of a run: the network to build, and the behaviour of its hosts. Read from JSON; names contain the units.

use marklab_observe::{Cell, CellError};
use marklab_tm::InvalidPort;
use marklab_units::{Duration, Framing, Rate};
use serde::Deserialize;
use thiserror::Error;

use crate::control::Control;
use crate::packet_trace::TracePackets;
use crate::queue_samples::SampleQueues;
use crate::queueing::Queueing;
use crate::tcp::congestion::{CongestionControl, Cubic, Dctcp, DctcpConfig, EcnStar, Prague, PragueConfig, Reno};
use crate::tcp::stack::{MAX_GRO_SEGMENTS, Stack, WindowUnit};
use crate::tcp::{AutotuningConfig, EchoMode, MAX_ADVERTISED, ReceiverConfig, RtoConfig, SenderConfig};
use crate::traffic::{Flow, Join, Predecessor, Traffic};
use crate::wire::{Echo, options};

/// A run without its flows and programs.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Hosts and switches. Everything else refers to them by index.
    pub nodes: Vec<Node>,
    /// Links, each with one transmitter per direction.
    pub links: Vec<Link>,
    /// Bytes that a frame takes on a line.
    pub framing: Framing,
    /// TCP.
    pub transport: Transport,
    /// Congestion controls of flows that have their own, which their list numbers from 1 on.
    #[serde(default)]
    pub own_controls: Vec<Control>,
    /// NICs of hosts, between TCP and the line.
    pub nic: Nic,
    /// Makes all lines that lead to switches lossless.
    #[serde(default)]
    pub pfc: Option<Pfc>,
    /// Makes hosts tag packets with priorities.
    #[serde(default)]
    pub pias: Option<Pias>,
    /// Life of connections.
    pub connections: Connections,
    /// Virtual time at which the run ends, even with unfinished flows.
    pub stop_ns: u64,
    /// Probes, which measure round trips.
    #[serde(default)]
    pub probes: Vec<Probe>,
    /// Ports whose queues are recorded.
    #[serde(default)]
    pub traces: Vec<Trace>,
    /// Records the bytes that each flow delivers, per interval of this many ns.
    #[serde(default)]
    pub trace_flows_ns: Option<u64>,
    /// Records windows and states of the senders: the last change of each in an interval of this many ns; every change
    /// if it is 0.
    #[serde(default)]
    pub trace_senders_ns: Option<u64>,
    /// Records packets at switches, one by one.
    #[serde(default)]
    pub trace_packets: Option<TracePackets>,
    /// Samples the queues of all ports.
    #[serde(default)]
    pub sample_queues: Option<SampleQueues>,
    /// Ports whose frames are written to files.
    #[serde(default)]
    pub captures: Vec<Capture>,
}

/// A host or a switch.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Node {
    /// A host with one port, number 0.
    Host {
        /// Name in reports.
        name: String,
        /// Ethernet address.
        mac: [u8; 6],
        /// IPv4 address.
        ip: u32,
    },
    /// A switch. Its program and table entries are given separately, in the order of the switches.
    Switch {
        /// Name in reports.
        name: String,
        /// Number of ports.
        ports: usize,
        /// Queues of its ports.
        queueing: Queueing,
        /// Mirror sessions, each with its destination port.
        #[serde(default)]
        mirrors: Vec<(u32, usize)>,
    },
}

impl Node {
    /// Name in reports.
    pub fn name(&self) -> &str {
        match self {
            Node::Host { name, .. } | Node::Switch { name, .. } => name,
        }
    }
}

/// A link between two ports.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// Node and port of one end.
    pub a: (usize, usize),
    /// Node and port of the other end.
    pub b: (usize, usize),
    /// Line rate in bit/s.
    pub rate_bps: u64,
    /// Propagation delay in ns.
    pub delay_ns: u64,
}

/// How far flows of Prague depend on their round trips.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RttIndependence {
    /// Flows with shorter round trips behave as if they had this one, in ns.
    pub reference_rtt_ns: u64,
    /// Rounds after slow start until then.
    pub transition_rounds: u32,
}

/// Rates of queue pairs; the names in parentheses are the paper's.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Dcqcn {
    /// Shortest time between notifications of a flow, in ns (N).
    pub cnp_interval_ns: u64,
    /// Weight of a notification in alpha: g = 2^-gain_shift.
    pub gain_shift: u32,
    /// Time without a notification after which alpha decays, in ns (K).
    pub alpha_timer_ns: u64,
    /// Time after which a rate increases, in ns (T).
    pub rate_timer_ns: u64,
    /// Bytes on the line after which a rate increases (B).
    pub byte_counter_bytes: u64,
    /// Increases that only recover the rate before the cut (F).
    pub fast_recovery_rounds: u64,
    /// Additive increase in bit/s (R_AI).
    pub additive_bps: u64,
    /// Hyper increase in bit/s (R_HI).
    pub hyper_bps: u64,
    /// Smallest rate in bit/s.
    pub min_rate_bps: u64,
    /// Most bytes of unacknowledged payload of a queue pair, if there is a limit.
    #[serde(default)]
    pub window_bytes: Option<u64>,
}

/// TCP settings of all connections. Queue pairs use three of them: the segment size, the smallest timeout, which is
/// their fixed timeout, and the segments per acknowledgement.
#[derive(Clone, Copy, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Transport {
    /// Congestion control.
    pub control: Control,
    /// Largest segment in bytes.
    pub mss_bytes: u32,
    /// Initial window in segments.
    pub initial_window_segments: u32,
    /// Smallest retransmission timeout in ns.
    pub min_rto_ns: u64,
    /// Timeout before the first round-trip sample, also of SYNs, in ns.
    pub initial_rto_ns: u64,
    /// Segments per acknowledgement.
    pub ack_every_segments: u32,
    /// Longest time that an acknowledgement is delayed, in ns.
    pub ack_delay_ns: u64,
    /// Receive window in bytes.
    pub receive_window_bytes: u64,
    /// Whether the window grows only while it limits the sender.
    pub cwnd_validation: bool,
    /// DCTCP: g = 2^-gain_shift.
    pub dctcp_gain_shift: u32,
    /// DCTCP: whether a loss reduces a window that marks have just reduced.
    pub dctcp_loss_after_marks: bool,
    /// Delay-based DCTCP and EAR: excess over the shortest one-way delay that signals congestion, in ns.
    #[serde(default)]
    pub delay_threshold_ns: Option<u64>,
    /// Whether SYN-ACKs are ECN capable (ECN+, RFC 5562).
    #[serde(default)]
    pub ecn_plus: bool,
    /// Whether SYN-ACKs are also retransmitted by a timer of their own, not only in answer to a repeated SYN.
    #[serde(default)]
    pub syn_ack_timer: bool,
    /// What stacks do differently.
    #[serde(default)]
    pub stack: Stack,
    /// DCQCN: rates.
    #[serde(default)]
    pub dcqcn: Option<Dcqcn>,
    /// Prague: how far flows depend on their round trips. Without it, as far as with DCTCP.
    #[serde(default)]
    pub prague: Option<RttIndependence>,
}

/// Most ports of a switch: v1model numbers ports in 9 bits.
const MAX_PORTS: usize = 512;
/// Largest code point (RFC 2474).
const MAX_DSCP: u8 = 63;
/// Frames of probes: from headers only to roughly the largest IPv4 packet.
const PROBE_BYTES: std::ops::RangeInclusive<u32> = Echo::HEADERS as u32..=65_000;
const SMALL_RECEIVE_WINDOW: &str = "the receive window must be at least one segment";
/// Longest retransmission timeout: RFC 6298 section 2.5.
const MAX_RTO: Duration = Duration::from_nanos(60_000_000_000);

impl Transport {
    /// Checks values that types do not constrain.
    ///
    /// # Errors
    ///
    /// [`ConfigError::Value`].
    pub fn check(&self) -> Result<(), ConfigError> {
        let failed = self.checks().into_iter().find(|(holds, _)| !holds);
        failed.map_or(Ok(()), |(_, problem)| Err(ConfigError::Value(problem)))
    }

    fn checks(&self) -> [(bool, &'static str); 14] {
        [
            (self.mss_bytes > 0 && self.mss_bytes <= 65_000, "the segment size must be 1..65000 bytes"),
            (
                !self.measures_delay() || self.mss_bytes as usize > options::TIMING_BYTES,
                "the segment size leaves no room for the option that measures delays",
            ),
            (
                !self.measures_delay() || self.delay_threshold_ns.is_some_and(|threshold| threshold > 0),
                "a transport that reacts to delays needs a delay threshold above 0",
            ),
            (
                (self.control == Control::Dcqcn) == self.dcqcn.is_some(),
                "DCQCN needs rates, and other transports must have none",
            ),
            (self.initial_window_segments > 0, "the initial window must be at least one segment"),
            (self.ack_every_segments > 0, "an acknowledgement must cover at least one segment"),
            (self.receive_window_bytes >= self.mss_bytes.into(), SMALL_RECEIVE_WINDOW),
            (self.dctcp_gain_shift < 20, "the gain of DCTCP must be at least 2^-19"),
            (self.initial_rto_ns > 0 && self.min_rto_ns > 0, "a retransmission timeout must be above 0"),
            (
                Duration::from_nanos(self.min_rto_ns.max(self.initial_rto_ns)) <= MAX_RTO,
                "a retransmission timeout must be at most 60 s",
            ),
            (
                !self.stack.window_autotuning || self.receive_window_bytes <= MAX_ADVERTISED,
                "a receive window that is tuned is at most 16776960 bytes, which a header can advertise",
            ),
            (self.stack.gro_segments <= MAX_GRO_SEGMENTS, "a NIC merges at most 44 segments"),
            (self.stack.gro_timeout_ns <= 1_000_000_000, "merged segments wait at most 1 s"),
            (
                self.stack.merges() == (self.stack.gro_timeout_ns > 0),
                "merging needs both a number of segments above 1 and a timeout above 0",
            ),
        ]
    }

    /// The transport of a flow.
    pub(crate) fn of(&self, flow: &Flow) -> Transport {
        Transport { control: flow.control.unwrap_or(self.control), ..*self }
    }

    /// Settings of senders.
    pub fn sender(&self) -> SenderConfig {
        let smooth = self.control == Control::Prague;
        // Each segment leaves when its time comes, and fractions of segments count.
        let paced = Stack { pacing: true, tso_defer: false, window_unit: WindowUnit::Bytes, ..self.stack };
        SenderConfig {
            mss: self.payload_bytes(),
            initial_window: self.initial_window_segments,
            rto: self.rto(),
            receive_window: self.receive_window_bytes,
            cwnd_validation: self.cwnd_validation,
            smooth,
            stack: if smooth { paced } else { self.stack },
        }
    }

    pub(crate) fn rto(&self) -> RtoConfig {
        let ns = Duration::from_nanos;
        RtoConfig {
            min: ns(self.min_rto_ns),
            max: MAX_RTO,
            initial: ns(self.initial_rto_ns),
            estimator: self.stack.rto_estimator,
        }
    }

    /// Settings of receivers. With `ecn`, both hosts take part in ECN, if the transport does.
    pub fn receiver(&self, ecn: bool) -> ReceiverConfig {
        let echo = match self.control {
            _ if !ecn => EchoMode::None,
            Control::Dctcp | Control::Ear => EchoMode::Dctcp,
            Control::Prague => EchoMode::Accurate,
            Control::EcnStar => EchoMode::Latched,
            Control::Reno | Control::Cubic | Control::DelayDctcp | Control::Dcqcn => EchoMode::None,
        };
        let ack_delay = Duration::from_nanos(self.ack_delay_ns);
        ReceiverConfig {
            ack_every: self.ack_every_segments,
            ack_delay,
            echo,
            quick_acks: self.stack.quick_acks,
            dsack: self.stack.dsack,
            rising_marks: self.stack.rising_marks,
            autotuning: self
                .stack
                .window_autotuning
                .then(|| AutotuningConfig { mss: self.payload_bytes(), limit: self.receive_window_bytes }),
        }
    }

    /// Whether an option in each segment measures one-way delays.
    pub(crate) fn measures_delay(&self) -> bool {
        self.control.measures_delay()
    }

    /// Payload of a full segment: the largest segment without its options.
    pub(crate) fn payload_bytes(&self) -> u32 {
        self.mss_bytes - if self.measures_delay() { options::TIMING_BYTES as u32 } else { 0 }
    }

    fn prague_config(&self) -> PragueConfig {
        PragueConfig {
            gain_shift: self.dctcp_gain_shift,
            mss: self.payload_bytes().into(),
            reference_rtt: Duration::from_nanos(self.prague.map_or(0, |rtt| rtt.reference_rtt_ns)),
            transition_rounds: self.prague.map_or(0, |rtt| rtt.transition_rounds),
        }
    }

    /// Congestion control of a connection. If its hosts do not take part in ECN, what would need it is Reno.
    pub fn control(&self, ecn: bool) -> Box<dyn CongestionControl> {
        if self.control == Control::Cubic {
            return Box::<Cubic>::default();
        }
        if !ecn {
            return Box::new(Reno);
        }
        let dctcp = || {
            Dctcp::new(DctcpConfig {
                gain_shift: self.dctcp_gain_shift,
                initial_alpha: self.stack.initial_alpha,
                loss_after_marks: self.dctcp_loss_after_marks,
                as_linux: self.stack.linux_alpha,
                late: self.stack.late_alpha,
                loss_cut: self.stack.loss_cut,
            })
        };
        let threshold = Duration::from_nanos(self.delay_threshold_ns.unwrap_or(0));
        match self.control {
            Control::Dctcp => Box::new(dctcp()),
            Control::DelayDctcp => Box::new(dctcp().by_delay(threshold)),
            Control::Ear => Box::new(dctcp().and_delay(threshold)),
            Control::EcnStar => Box::new(EcnStar),
            Control::Prague => Box::new(Prague::new(self.prague_config())),
            // With queue pairs, only probes have connections, and these carry no segment.
            Control::Reno | Control::Cubic | Control::Dcqcn => Box::new(Reno),
        }
    }
}

/// What a pause holds back.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PauseScope {
    /// All traffic of a line: waiting bytes are counted per ingress port (IEEE 802.1Qbb).
    #[default]
    Port,
    /// A flow, when its queue is long (Goyal et al., "Backpressure Flow Control", NSDI 2022).
    Flow,
    /// All packets for one host: waiting bytes are counted per ingress port and destination host (Liu et al.,
    /// "Floodgate", CoNEXT 2021).
    Destination,
}

/// Priority flow control (IEEE 802.1Qbb) with one class of packets, or pauses of a part of a port's traffic. A switch
/// that holds too many bytes asks their sender to pause.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pfc {
    /// Unit in which bytes are counted and senders are paused.
    #[serde(default)]
    pub per: PauseScope,
    /// More bytes than this trigger a pause. Per flow, it is divided by the number of non-empty queues of the port.
    pub xoff_bytes: u64,
    /// At this many bytes or fewer the pause ends; divided likewise.
    pub xon_bytes: u64,
}

/// Order in which a NIC sends the packets of its connections.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Discipline {
    /// First come, first served.
    Fifo,
    /// One packet of each connection in turn.
    Fair,
}

/// A host's NIC.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Nic {
    /// Order of sending.
    pub discipline: Discipline,
    /// Most packets in the NIC; more are lost.
    pub limit_packets: u64,
    /// TCP adds segments of a connection while fewer bytes of it are in the NIC (Linux: TCP small queues).
    pub budget_bytes: u64,
}

/// Priorities that sending hosts give to packets, by the bytes that the flow has sent before (PIAS, NSDI 2015).
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pias {
    /// Demotion thresholds in bytes, ascending.
    pub thresholds_bytes: Vec<u64>,
}

/// Life of connections.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Connections {
    /// One per flow: handshake, data, close.
    New,
    /// Taken from a pool per pair of hosts. Some are open before the run, and more are opened when all are busy.
    Persistent {
        /// Connections that are open before the run, per pair of hosts.
        per_pair: u32,
    },
    /// One of those of a pair of hosts at random, all open before the run. What it carries already comes first.
    Queued {
        /// Connections per pair of hosts.
        per_pair: u32,
    },
    /// One per flow, opened by the receiving host, which sends a request for the flow as soon as it can.
    Asked {
        /// Payload of the request.
        request_bytes: u32,
    },
}

/// A host that sends ICMP echo requests to another at an interval, until the run ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Probe {
    /// Index of the requesting host.
    pub src: usize,
    /// Index of the replying host.
    pub dst: usize,
    /// Code point of requests and replies.
    pub dscp: u8,
    /// Length of their frames, without checksum.
    pub frame_bytes: u32,
    /// When the first request is sent, in ns.
    pub start_ns: u64,
    /// Time between requests in ns.
    pub interval_ns: u64,
}

/// A port whose queues are recorded.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Trace {
    /// Switch.
    pub node: usize,
    /// Port.
    pub port: usize,
    /// At most one row per this many ns.
    pub interval_ns: u64,
    /// Register cells of the program, to be recorded beside the port.
    #[serde(default)]
    pub registers: Vec<Cell>,
    /// Whether each packet that leaves the port is recorded too.
    #[serde(default)]
    pub packets: bool,
}

/// A port whose frames are written to a file.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Capture {
    /// Host or switch.
    pub node: usize,
    /// Port.
    pub port: usize,
    /// Output file in pcap format.
    pub path: std::path::PathBuf,
}

/// Why a description cannot be run.
#[derive(Clone, PartialEq, Debug, Error)]
pub enum ConfigError {
    /// A link names a port that does not exist or is taken.
    #[error("link {link}: node {node} has no free port {port}")]
    Port {
        /// Index of the link.
        link: usize,
        /// Index of the node.
        node: usize,
        /// The port.
        port: usize,
    },
    /// A link has rate 0.
    #[error("link {0} has a rate of 0")]
    Rate(usize),
    /// A host has no link.
    #[error("host `{0}` has no link")]
    Unlinked(String),
    /// A flow does not run between two hosts, is empty, is not in order of time, or has another problem.
    #[error("flow {flow}: {problem}")]
    Flow {
        /// Index of the flow.
        flow: usize,
        /// What is wrong with it.
        problem: String,
    },
    /// A join is not at a host, or waits for what is not there.
    #[error("join {join}: {problem}")]
    Join {
        /// Index of the join.
        join: usize,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// A probe does not run between two hosts, or its numbers are out of range.
    #[error("probe {probe}: {problem}")]
    Probe {
        /// Index of the probe.
        probe: usize,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// A switch has more ports than a program can name.
    #[error("switch `{switch}` has {ports} ports; a switch has at most {MAX_PORTS}")]
    Ports {
        /// Name of the switch.
        switch: String,
        /// Its ports.
        ports: usize,
    },
    /// The number of given switches differs from the number of switch nodes.
    #[error("{expected} switch(es) described, {given} given")]
    Switches {
        /// Switches among the nodes.
        expected: usize,
        /// Switches given.
        given: usize,
    },
    /// A trace or capture names a port that does not exist.
    #[error("cannot record port {port} of node {node}: no such port")]
    Record {
        /// Index of the node.
        node: usize,
        /// The port.
        port: usize,
    },
    /// Queues with which a port cannot send.
    #[error(transparent)]
    Queues(#[from] InvalidPort),
    /// A record of packets names a flow that does not exist.
    #[error("there is no flow {0} whose packets could be recorded")]
    TracedFlow(u32),
    /// A trace names a cell that the program does not have.
    #[error(transparent)]
    Cell(#[from] CellError),
    /// A number is out of its range.
    #[error("{0}")]
    Value(&'static str),
}

impl Config {
    /// Checks the sizes of the switches before memory is allocated for them.
    ///
    /// # Errors
    ///
    /// [`ConfigError::Ports`].
    pub fn check_switches(&self) -> Result<(), ConfigError> {
        let too_many = self.nodes.iter().find_map(|node| match node {
            Node::Switch { name, ports, .. } if *ports > MAX_PORTS => Some((name.clone(), *ports)),
            _ => None,
        });
        too_many.map_or(Ok(()), |(switch, ports)| Err(ConfigError::Ports { switch, ports }))
    }

    /// Checks values that types do not constrain.
    pub(crate) fn check(&self, traffic: &Traffic) -> Result<(), ConfigError> {
        self.check_switches()?;
        let flows = &traffic.flows[..];
        let rates = self.transport.dcqcn.map(|rates| self.check_rates(&rates)).into_iter().flatten();
        let checks = self.transport.checks().into_iter().chain(self.check_windows(flows)).chain(self.check_pauses());
        let checks = checks.chain(self.check_priorities(flows)).chain(self.check_queued(flows));
        let checks = checks.chain(self.check_mix(flows)).chain(self.check_rest());
        if let Some((_, problem)) = checks.chain(rates).into_iter().find(|(holds, _)| !holds) {
            return Err(ConfigError::Value(problem));
        }
        self.check_flows(traffic)?;
        self.check_probes()?;
        let traced = self.trace_packets.as_ref().and_then(|traced| traced.flow);
        if let Some(flow) = traced.filter(|&flow| flow as usize >= flows.len()) {
            return Err(ConfigError::TracedFlow(flow));
        }
        self.check_records()
    }

    /// Whether the receive windows of flows that have their own hold a segment.
    fn check_windows(&self, flows: &[Flow]) -> [(bool, &'static str); 1] {
        let mut own = flows.iter().map(|flow| flow.receive_window_bytes).filter(|&bytes| bytes > 0);
        [(own.all(|bytes| bytes >= self.transport.mss_bytes.into()), SMALL_RECEIVE_WINDOW)]
    }

    fn check_pauses(&self) -> [(bool, &'static str); 4] {
        let per_port = self.pfc.is_none_or(|pfc| pfc.per == PauseScope::Port);
        let mirrors = |node: &Node| matches!(node, Node::Switch { mirrors, .. } if !mirrors.is_empty());
        [
            (
                self.pfc.is_none_or(|pfc| pfc.xon_bytes < pfc.xoff_bytes + u64::from(pfc.per == PauseScope::Flow)),
                "a pause must end with fewer bytes than it begins with",
            ),
            (
                per_port || self.transport.control == Control::Dcqcn,
                "pauses per flow or destination need queue pairs: only their NICs hold back a part of their packets",
            ),
            (
                per_port || !self.links.iter().any(|link| self.joins_switches(link)),
                "pauses per flow or destination need hosts, which hold them back: no link may join two switches",
            ),
            (
                self.pfc.is_none() || !self.nodes.iter().any(mirrors),
                "lossless switches cannot mirror packets: a copy arrives by no port that could be paused",
            ),
        ]
    }

    fn check_priorities(&self, flows: &[Flow]) -> [(bool, &'static str); 4] {
        let thresholds_bytes = self.pias.as_ref().map_or(&[][..], |pias| &pias.thresholds_bytes);
        [
            (
                self.pias.is_none() || self.transport.dcqcn.is_none(),
                "priorities by bytes sent need TCP: queue pairs do not tag their packets",
            ),
            (
                thresholds_bytes.first() != Some(&0) && thresholds_bytes.is_sorted_by(|a, b| a < b),
                "thresholds of priorities must be above 0, and each above the one before",
            ),
            (thresholds_bytes.len() < 64, "there are 64 code points, so at most 63 thresholds of priorities"),
            (
                self.pias.is_none() || flows.iter().all(|flow| flow.dscp == 0),
                "flows can have no code points of their own if hosts tag packets with priorities",
            ),
        ]
    }

    /// Whether flows may be behind others on their connection: it is one stream, sent as fast as possible.
    fn check_queued(&self, flows: &[Flow]) -> [(bool, &'static str); 3] {
        let Connections::Queued { per_pair } = self.connections else { return [(true, ""); 3] };
        let alike = |flow: &Flow| (flow.dscp, flow.extra_delay_ns, flow.ecn, flow.receive_window_bytes);
        [
            (per_pair > 0, "flows that wait for others on their connection need at least one per pair of hosts"),
            (
                self.transport.dcqcn.is_none() && self.pias.is_none(),
                "flows cannot wait for others on queue pairs, nor with priorities by bytes sent",
            ),
            (
                flows.iter().all(|flow| flow.rate_bps == 0 && alike(flow) == alike(&flows[0])),
                "flows that wait for others on their connection have the same code point, delay, ECN and window, and no rate",
            ),
        ]
    }

    /// Whether flows may have congestion controls of their own.
    fn check_mix(&self, flows: &[Flow]) -> [(bool, &'static str); 2] {
        let mut own = flows.iter().filter_map(|flow| flow.control).peekable();
        if own.peek().is_none() {
            return [(true, ""); 2];
        }
        let keeps = matches!(self.connections, Connections::Persistent { .. } | Connections::Queued { .. });
        [
            (
                self.transport.control.may_be_mixed() && own.all(Control::may_be_mixed),
                "transports that measure delays, and queue pairs, cannot be mixed with others in a run",
            ),
            (!keeps, "flows with transports of their own need connections of their own"),
        ]
    }

    fn check_rest(&self) -> [(bool, &'static str); 5] {
        let mss_bytes = self.transport.mss_bytes;
        [
            (
                self.sample_queues.is_none_or(|plan| plan.interval_ns > 0),
                "the interval between samples of queues must be above 0",
            ),
            (
                self.trace_packets.as_ref().is_none_or(|traced| traced.last > 0),
                "a record of packets must have at least one",
            ),
            (self.nic.budget_bytes >= mss_bytes.into(), "a connection's NIC budget must be at least one segment"),
            (
                !matches!(self.connections, Connections::Asked { request_bytes }
                    if request_bytes == 0 || request_bytes > mss_bytes),
                "a request must have at least 1 byte and fit into a segment",
            ),
            (self.framing.overhead_bytes > -40, "the framing overhead must be above -40 bytes"),
        ]
    }

    fn is_host(&self, node: usize) -> bool {
        matches!(self.nodes.get(node), Some(Node::Host { .. }))
    }

    fn check_flows(&self, traffic: &Traffic) -> Result<(), ConfigError> {
        let Traffic { flows, joins } = traffic;
        let mut latest_ns = 0;
        let mut continued = vec![false; flows.len()];
        for (flow, spec) in flows.iter().enumerate() {
            let problem = if !self.is_host(spec.src) || !self.is_host(spec.dst) {
                "source and destination must be hosts"
            } else if spec.src == spec.dst {
                "source and destination are the same host"
            } else if spec.size_bytes == 0 {
                "it has no bytes"
            } else if spec.dscp > MAX_DSCP {
                let problem = format!("its code point is {}; a code point is 0..{MAX_DSCP}", spec.dscp);
                return Err(ConfigError::Flow { flow, problem });
            } else if let Some(problem) =
                spec.after.and_then(|after| self.check_after(flow, after, traffic, &mut continued))
            {
                problem
            } else if spec.after.is_none() && spec.start_ns < std::mem::replace(&mut latest_ns, spec.start_ns) {
                "flows must be in order of their start"
            } else {
                continue;
            };
            return Err(ConfigError::Flow { flow, problem: problem.to_owned() });
        }
        self.check_joins(flows.len(), joins)?;
        if joins.is_empty() || traffic.is_reached() {
            Ok(())
        } else {
            Err(ConfigError::Value("flows and joins wait for each other in a cycle"))
        }
    }

    fn check_joins(&self, flows: usize, joins: &[Join]) -> Result<(), ConfigError> {
        for (join, spec) in joins.iter().enumerate() {
            let problem = if !self.is_host(spec.host) {
                "it must be at a host"
            } else if spec.waits.iter().any(|wait| wait.number as usize >= flows + joins.len()) {
                "it waits for what is not there"
            } else {
                continue;
            };
            return Err(ConfigError::Join { join, problem });
        }
        Ok(())
    }

    fn check_probes(&self) -> Result<(), ConfigError> {
        for (probe, spec) in self.probes.iter().enumerate() {
            let problem = if !self.is_host(spec.src) || !self.is_host(spec.dst) || spec.src == spec.dst {
                "it must run between two hosts"
            } else if spec.interval_ns == 0 {
                "its interval must be above 0"
            } else if !PROBE_BYTES.contains(&spec.frame_bytes) {
                "its frames must have 42..65000 bytes"
            } else if spec.dscp > MAX_DSCP {
                "a code point is 0..63"
            } else if probe > u16::MAX.into() {
                "there can be at most 65536 probes"
            } else {
                continue;
            };
            return Err(ConfigError::Probe { probe, problem });
        }
        Ok(())
    }

    fn check_records(&self) -> Result<(), ConfigError> {
        for (node, port) in self.records() {
            let ports = match self.nodes.get(node) {
                Some(Node::Host { .. }) => 1,
                Some(Node::Switch { ports, .. }) => *ports,
                None => 0,
            };
            if port >= ports {
                return Err(ConfigError::Record { node, port });
            }
        }
        Ok(())
    }

    /// The problem with a flow that waits, if there is one. `continued` has the flows with another one behind them on their
    /// connection.
    fn check_after(
        &self,
        flow: usize,
        after: Predecessor,
        traffic: &Traffic,
        continued: &mut [bool],
    ) -> Option<&'static str> {
        let Traffic { flows, joins } = traffic;
        let before = after.number as usize;
        let is_join = (flows.len()..flows.len() + joins.len()).contains(&before);
        if before >= flow && !is_join {
            Some("a flow can only wait for a flow above it in the list")
        } else if !after.same_connection {
            None
        } else if is_join || std::mem::replace(&mut continued[before], true) {
            Some("only one flow can follow another on a connection")
        } else if !matches!(self.connections, Connections::Asked { .. }) {
            Some("flows can follow on the same connection only if receivers open connections")
        } else {
            let (one, other) = (&flows[before], &flows[flow]);
            let ends = |flow: &Flow| (flow.src, flow.dst, flow.ecn, flow.control);
            let problem = "flows on one connection must have the same hosts, the same ECN and the same transport";
            (ends(one) != ends(other)).then_some(problem)
        }
    }

    fn joins_switches(&self, link: &Link) -> bool {
        [link.a, link.b].iter().all(|&(node, _)| matches!(self.nodes.get(node), Some(Node::Switch { .. })))
    }

    fn check_rates(&self, rates: &Dcqcn) -> [(bool, &'static str); 6] {
        let timers = [rates.alpha_timer_ns, rates.rate_timer_ns, rates.byte_counter_bytes];
        let transport = &self.transport;
        // The packets that an acknowledgement covers, and the packet before them.
        let packets = u64::from(transport.ack_every_segments) + 1;
        let slowest = Rate::from_bps(rates.min_rate_bps).map(|rate| {
            let bytes = self.framing.wire_bytes(crate::wire::HEADERS + transport.mss_bytes as usize);
            rate.transmission(bytes.saturating_mul(packets), 0).0
        });
        [
            (timers.iter().all(|&timer| timer > 0), "timers and the byte counter of DCQCN must be above 0"),
            (rates.gain_shift < 32, "the gain of DCQCN must be at least 2^-31"),
            (slowest.is_some(), "the smallest rate of DCQCN must be above 0"),
            (
                slowest.is_none_or(|slowest| slowest < Duration::from_nanos(transport.min_rto_ns)),
                "at the smallest rate of DCQCN, the packets of one acknowledgement take longer than the timeout",
            ),
            (
                self.links.iter().all(|link| link.rate_bps >= rates.min_rate_bps),
                "the smallest rate of DCQCN is above the rate of a line",
            ),
            (
                rates.window_bytes.is_none_or(|window| {
                    window >= u64::from(transport.payload_bytes()) * u64::from(transport.ack_every_segments)
                }),
                "the window of DCQCN is smaller than the packets that one acknowledgement covers",
            ),
        ]
    }

    fn records(&self) -> impl Iterator<Item = (usize, usize)> {
        let traces = self.traces.iter().map(|trace| (trace.node, trace.port));
        let packets = self.trace_packets.iter().flat_map(|trace| trace.ports.iter().copied());
        traces.chain(self.captures.iter().map(|capture| (capture.node, capture.port))).chain(packets)
    }
}

impl Link {
    pub(crate) fn rate(&self, link: usize) -> Result<Rate, ConfigError> {
        Rate::from_bps(self.rate_bps).ok_or(ConfigError::Rate(link))
    }
}
