//! Switches in the network.

use marklab_switch::{Received, Switch, Transmitted};

use super::{NetSwitch, Network, PortReport, SwitchReport};
use crate::frame::NetFrame;
use crate::ledger::Reason;
use crate::wire::{Ecn, frame_ecn};

/// A switch with the lines of its ports.
pub(super) struct SwitchNode {
    pub(super) switch: NetSwitch,
    pub(super) ports: Vec<Port>,
}

/// What the network knows of a port.
// Half a cache line.
#[derive(Default)]
#[repr(align(32))]
pub(super) struct Port {
    pub(super) line: Option<u32>,
    pub(super) trace: Option<u32>,
    pub(super) capture: Option<u32>,
    marked: u64,
}

impl SwitchNode {
    pub(super) fn new(switch: NetSwitch) -> SwitchNode {
        let ports = (0..switch.ports()).map(|_| Port::default()).collect();
        SwitchNode { switch, ports }
    }

    pub(super) fn report(self, node: usize) -> SwitchReport {
        let ports = self
            .ports
            .iter()
            .enumerate()
            .map(|(number, port)| PortReport { marked: port.marked, queue: self.switch.queue_stats(number) });
        SwitchReport { node, ports: ports.collect(), state: Switch::into_state(self.switch) }
    }
}

impl Network {
    fn switch(&mut self, node: usize) -> &mut SwitchNode {
        self.nodes[node].switch()
    }

    /// A frame comes to a switch: parser, ingress, queue.
    pub(super) fn switch_receives(&mut self, node: usize, port: usize, mut frame: Box<NetFrame>) {
        frame.arrived_as = frame_ecn(&frame.packet);
        let now = self.now;
        if let Some(capture) = self.switch(node).ports[port].capture {
            self.capture(Some(capture), &frame);
        }
        let switch = self.switch(node);
        match switch.switch.receive(now, port, frame) {
            Received::Queued(port) => {
                let Port { line, trace, .. } = switch.ports[port];
                let depth = switch.switch.depth(port);
                if let Some(trace) = trace {
                    self.traces[trace as usize].arrived(now, depth);
                }
                match line {
                    Some(line) => self.start(line as usize),
                    None => self.discard_waiting(node, port),
                }
            }
            Received::Lost(loss, port, frame) => self.lose(node, port, Reason::Switch(loss), frame),
        }
    }

    /// Empties the queue of a port that leads nowhere.
    fn discard_waiting(&mut self, node: usize, port: usize) {
        while let Some((frame, _)) = self.switch_next(node, port) {
            self.lose(node, Some(port), Reason::NoLink, frame);
        }
    }

    /// The next frame that a port sends, and whether more are waiting.
    pub(super) fn switch_next(&mut self, node: usize, port: usize) -> Option<(Box<NetFrame>, bool)> {
        let now = self.now;
        loop {
            let switch = self.switch(node);
            let Transmitted { outcome, signals } = switch.switch.transmit(now, port)?;
            let depth = switch.switch.depth(port);
            let capable = |ecn| matches!(ecn, Some(Ecn::Ect0 | Ecn::Ect1));
            let marked = match &outcome {
                Ok(frame) => capable(frame.arrived_as) && frame_ecn(&frame.packet) == Some(Ecn::Ce),
                Err(_) => false,
            };
            let Port { trace, capture, marked: marks, .. } = &mut switch.ports[port];
            *marks += u64::from(marked);
            let (trace, capture) = (*trace, *capture);
            if let Some(trace) = trace {
                self.traces[trace as usize].departed(now, depth, now.since(signals.enq_timestamp), marked);
            }
            match outcome {
                Ok(frame) => {
                    self.capture(capture, &frame);
                    return Some((frame, depth.packets > 0));
                }
                Err((loss, frame)) => self.lose(node, Some(port), Reason::Switch(loss), frame),
            }
        }
    }
}
