// SPDX-License-Identifier: MIT OR Apache-2.0
//! A network, from its description.

use std::sync::Arc;
use std::time::Duration as StdDuration;

use marklab_observe::{CaptureFile, PortTrace};
use marklab_units::{Duration, Time};

use super::env::Shared;
use super::event::Event;
use super::flows::{OfHost, Plan};
use super::hosts::Host;
use super::line::Line;
use super::lookahead::Lookahead;
use super::shard::Node;
use super::switches::SwitchNode;
use super::{BuildError, NetSwitch, Network};
use crate::config::{Config, ConfigError, Connections, Node as NodeSpec};
use crate::traffic::{Join, Traffic};

impl Network {
    /// Builds a network. `switches` are in the order of the switches among the nodes.
    ///
    /// # Errors
    ///
    /// [`BuildError`] if the description is not valid, or a capture cannot be created.
    pub fn new(config: &Config, traffic: impl Into<Traffic>, switches: Vec<NetSwitch>) -> Result<Network, BuildError> {
        let traffic = traffic.into();
        config.check(&traffic)?;
        let expected = config.nodes.iter().filter(|node| matches!(node, NodeSpec::Switch { .. })).count();
        if expected != switches.len() {
            return Err(ConfigError::Switches { expected, given: switches.len() }.into());
        }
        let timed = timed_joins(&traffic);
        let (shared, of_hosts) = shared(config, traffic)?;
        let (mut leaving, lines) = lines(config)?;
        let mut switches = switches.into_iter();
        let mut nodes = Vec::with_capacity(config.nodes.len());
        for ((node, spec), flows) in config.nodes.iter().enumerate().zip(of_hosts) {
            let mut ports = std::mem::take(&mut leaving[node]).into_iter();
            nodes.push(match spec {
                NodeSpec::Host { name, .. } => {
                    let line = ports.next().flatten().ok_or_else(|| ConfigError::Unlinked(name.clone()))?;
                    Node::Host(Box::new(Host::new(node, line, flows, &shared)))
                }
                NodeSpec::Switch { .. } => {
                    let switch = switches.next().expect("as many as switches among the nodes");
                    let mut switch = SwitchNode::new(node, switch, config.pfc.is_some());
                    for (port, line) in switch.ports.iter_mut().zip(ports) {
                        port.line = line;
                    }
                    Node::Switch(Box::new(switch))
                }
            });
        }
        let mut network = Network {
            shared: Arc::new(shared),
            nodes,
            events: Vec::new(),
            lines,
            traces: config.traces.iter().map(|trace| (trace.node, trace.port)).collect(),
            stop: Time::from_nanos(config.stop_ns),
            trace_flows_ns: config.trace_flows_ns,
            sampled: config.sample_queues.is_some(),
        };
        network.record(config)?;
        network.events.extend(timed);
        network.first_events();
        Ok(network)
    }

    /// Prepares traces and captures.
    fn record(&mut self, config: &Config) -> Result<(), BuildError> {
        for spec in &config.traces {
            let Node::Switch(switch) = &mut self.nodes[spec.node] else {
                return Err(ConfigError::Value("only queues of switches can be traced").into());
            };
            if let NodeSpec::Switch { queueing, .. } = &config.nodes[spec.node] {
                let interval = Duration::from_nanos(spec.interval_ns);
                let port = queueing.port().map_err(ConfigError::Queues)?;
                let cells = spec.registers.iter().map(|cell| cell.find(switch.switch.state()));
                let cells = cells.collect::<Result<_, _>>().map_err(ConfigError::Cell)?;
                switch.records(spec.port).trace = Some(PortTrace::new(interval, &port, cells, spec.packets));
            }
        }
        if let Some(traced) = &config.trace_packets {
            let here = |node| traced.ports.is_empty() || traced.ports.iter().any(|&(at, _)| at == node);
            for (number, node) in self.nodes.iter_mut().enumerate() {
                if let Node::Switch(switch) = node {
                    switch.recorded |= here(number);
                }
            }
        }
        for spec in &config.captures {
            let capture = CaptureFile::create(&spec.path, StdDuration::ZERO)?;
            match &mut self.nodes[spec.node] {
                Node::Switch(switch) => switch.records(spec.port).capture = Some(capture),
                Node::Host(host) => host.capture = Some(Box::new(capture)),
                Node::Elsewhere => {}
            }
        }
        Ok(())
    }

    /// Events that are known before the run.
    fn first_events(&mut self) {
        let ends = self.shared.flows.iter().any(|flow| flow.after.is_none()).then_some(self.shared.plan.arrivals_end);
        for (number, node) in self.nodes.iter_mut().enumerate() {
            let node_number = number as u32;
            match node {
                Node::Host(host) => {
                    if let Some(time) = host.first_start(&self.shared) {
                        self.events.push((time, Event::Start { node: node_number }));
                    }
                }
                Node::Switch(switch) if self.sampled => {
                    switch.samples = Some(vec![<[Vec<u64>; 2]>::default(); switch.ports.len()]);
                    self.events.push((Time::ZERO, Event::Sample { node: node_number }));
                }
                Node::Switch(_) | Node::Elsewhere => {}
            }
            if let Some(end) = ends {
                self.events.push((end, Event::ArrivalsEnd { node: node_number }));
            }
        }
        for (number, probe) in self.shared.probes.iter().enumerate() {
            for node in [probe.src, probe.dst] {
                self.nodes[node].host().probes.insert(number as u32, Default::default());
            }
            let event = Event::Probe { node: probe.src as u32, number: number as u32 };
            self.events.push((Time::from_nanos(probe.start_ns), event));
        }
    }
}

/// The times for which joins wait.
fn timed_joins(traffic: &Traffic) -> Vec<(Time, Event)> {
    let numbers = traffic.flows.len() as u32..;
    let timed = numbers.zip(&traffic.joins).filter(|(_, join)| join.is_timed());
    let follow = |number, join: &Join| Event::Follow { node: join.host as u32, number, connection: 0 };
    timed.map(|(number, join)| (Time::from_nanos(join.not_before_ns), follow(number, join))).collect()
}

/// What does not change during the run, and the flows of each node.
fn shared(config: &Config, traffic: Traffic) -> Result<(Shared, Vec<OfHost>), ConfigError> {
    // Nobody asks for messages of queue pairs.
    let mode = match config.connections {
        Connections::Asked { .. } if config.transport.dcqcn.is_some() => Connections::New,
        mode => mode,
    };
    let (plan, of_hosts) = Plan::new(&traffic, mode, config.nodes.len(), Lookahead::new(config)?);
    let shared = Shared {
        framing: config.framing,
        transport: config.transport,
        nic: config.nic,
        mode,
        rates: config.transport.dcqcn,
        pfc: config.pfc,
        pias: config.pias.as_ref().map(|pias| pias.thresholds_bytes.clone()),
        probes: config.probes.clone(),
        flows: traffic.flows,
        plan,
        addresses: config.nodes.iter().map(address).collect(),
        stamps: config.transport.measures_delay(),
        trace_flows: config.trace_flows_ns.is_some(),
        trace_senders: config.trace_senders_ns.map(Duration::from_nanos),
        trace_packets: config.trace_packets.clone(),
        sample_interval: Duration::from_nanos(config.sample_queues.map_or(0, |plan| plan.interval_ns)),
        sample_until: Time::from_nanos(config.sample_queues.map_or(0, |plan| plan.until_ns)),
    };
    Ok((shared, of_hosts))
}

/// Ethernet and IPv4 address of a node; switches have none.
fn address(node: &NodeSpec) -> ([u8; 6], u32) {
    match node {
        NodeSpec::Host { mac, ip, .. } => (*mac, *ip),
        NodeSpec::Switch { .. } => ([0; 6], 0),
    }
}

/// The lines that leave each node, by port, and the two ends of each line. Each link has two lines.
type Lines = (Vec<Vec<Option<Line>>>, Vec<[(usize, usize); 2]>);

fn lines(config: &Config) -> Result<Lines, ConfigError> {
    let ports = config.nodes.iter().map(|node| match node {
        NodeSpec::Host { .. } => 1,
        NodeSpec::Switch { ports, .. } => *ports,
    });
    let mut leaving: Vec<Vec<Option<Line>>> = ports.map(|ports| (0..ports).map(|_| None).collect()).collect();
    let mut ends = Vec::with_capacity(2 * config.links.len());
    for (number, link) in config.links.iter().enumerate() {
        let (rate, delay) = (link.rate(number)?, Duration::from_nanos(link.delay_ns));
        for [from, to] in [[link.a, link.b], [link.b, link.a]] {
            match leaving.get_mut(from.0).and_then(|ports| ports.get_mut(from.1)) {
                Some(place @ None) => *place = Some(Line::new(to, rate, delay)),
                _ => return Err(ConfigError::Port { link: number, node: from.0, port: from.1 }),
            }
            ends.push([from, to]);
        }
    }
    Ok((leaving, ends))
}
