// SPDX-License-Identifier: MIT OR Apache-2.0
//! Switches in the network.

use marklab_observe::{Departure, Passage, PortDepth, became_marked, frame_ecn};
use marklab_switch::{Fate, Loss, Passed, Switch, Transmitted};
use marklab_units::Time;

use super::{Event, NetSwitch, Network, PortReport, RunError, SwitchReport};
use crate::frame::NetFrame;
use crate::ledger::Reason;

/// A switch with the lines of its ports.
pub(super) struct SwitchNode {
    pub(super) switch: NetSwitch,
    pub(super) ports: Vec<Port>,
}

/// State of a port in the network.
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

    fn depths(&self, port: usize, queue: usize) -> PortDepth {
        PortDepth { port: self.switch.depth(port), queue: self.switch.queue_depth(port, queue) }
    }

    pub(super) fn report(self, node: usize) -> SwitchReport {
        let ports = self
            .ports
            .iter()
            .enumerate()
            .map(|(number, port)| PortReport { marked: port.marked, queue: self.switch.port_stats(number) });
        SwitchReport { node, ports: ports.collect(), state: Switch::into_state(self.switch) }
    }
}

impl Network {
    pub(super) fn switch(&mut self, node: usize) -> &mut SwitchNode {
        self.nodes[node].switch()
    }

    /// A switch receives a frame: parser, ingress, queue. Returns the port and queue in which it waits, unless it was
    /// lost.
    #[inline(never)]
    pub(super) fn switch_receives(
        &mut self,
        node: usize,
        port: usize,
        mut frame: Box<NetFrame>,
    ) -> Option<(usize, usize)> {
        frame.notes.set_arrived_as(frame_ecn(&frame.packet));
        let now = self.now;
        let mut switch = self.nodes[node].switch();
        if let Some(capture) = switch.ports[port].capture {
            self.capture(Some(capture), &frame);
            switch = self.nodes[node].switch();
        }
        let SwitchNode { switch, ports } = switch;
        let (lines, lossless) = (&self.lines, self.pfc.is_some());
        let ready = |to: usize| match ports.get(to) {
            Some(Port { line: Some(line), trace: None, .. }) => !lossless && lines[*line as usize].is_free(now),
            _ => false,
        };
        let passed = switch.pass(now, port, frame, ready);
        let copies = switch.has_copies();
        let place = match passed {
            Passed::Left { port, outcome } => {
                self.passed(node, port, outcome);
                Some((port, 0))
            }
            Passed::Stayed(Fate::Queued { port, queue }) => {
                let Port { line, trace, .. } = ports[port];
                if let Some(trace) = trace {
                    self.trace_arrival(trace, node, port, queue);
                }
                match line {
                    Some(line) => self.start(line as usize),
                    None => self.discard_waiting(node, port),
                }
                Some((port, queue))
            }
            Passed::Stayed(Fate::Lost(loss, port, frame)) => {
                self.lost_in_switch(node, port, loss, frame);
                None
            }
        };
        if copies {
            self.copies_made(node);
        }
        place
    }

    /// A frame has come through a port whose queue was empty: its line transmits it.
    #[inline(always)]
    fn passed(&mut self, node: usize, port: usize, mut outcome: Result<Box<NetFrame>, Fate<Box<NetFrame>>>) {
        self.count_mark(node, port, &mut outcome);
        let Port { line, capture, .. } = self.switch(node).ports[port];
        match outcome {
            Ok(frame) => {
                self.capture(capture, &frame);
                if let Some(line) = line {
                    self.put_on_line(line as usize, frame);
                }
            }
            Err(fate) => self.stayed(node, fate),
        }
    }

    /// Counts and notes whether a frame was marked on its way through a switch.
    #[inline(always)]
    fn count_mark(
        &mut self,
        node: usize,
        port: usize,
        outcome: &mut Result<Box<NetFrame>, Fate<Box<NetFrame>>>,
    ) -> bool {
        let marked = outcome.as_ref().is_ok_and(|frame| became_marked(frame.notes.arrived_as(), &frame.packet));
        self.switch(node).ports[port].marked += u64::from(marked);
        if let (true, Ok(frame)) = (marked, outcome) {
            frame.notes.marked();
            if let Some(pias) = &mut self.pias {
                pias.marked(frame);
            }
        }
        marked
    }

    #[cold]
    fn trace_arrival(&mut self, trace: u32, node: usize, port: usize, queue: usize) {
        let (switch, trace) = (self.nodes[node].switch(), &mut self.traces[trace as usize]);
        trace.arrived(self.now, queue, switch.depths(port, queue));
        trace.sample(switch.switch.state());
    }

    #[cold]
    fn trace_departure(&mut self, trace: u32, node: usize, port: usize, queue: usize, departure: &Departure) {
        let (switch, trace) = (self.nodes[node].switch(), &mut self.traces[trace as usize]);
        trace.departed(self.now, queue, switch.depths(port, queue), departure);
        trace.sample(switch.switch.state());
    }

    #[cold]
    fn trace_passage(&mut self, trace: u32, frame: &NetFrame, arrived: Time, marked: bool) {
        let flow = self.latest_flow(frame.connection);
        self.traces[trace as usize].passed(|| Passage {
            arrived,
            departed: self.now,
            five_tuple: 2 * frame.connection + u32::from(!frame.notes.by_client()),
            flow,
            bytes: frame.packet.len() as u32,
            marked,
        });
    }

    #[inline(never)]
    fn lost_in_switch(&mut self, node: usize, port: Option<usize>, loss: Loss, frame: Box<NetFrame>) {
        if loss == Loss::Assertion
            && let Some(failed) = self.switch(node).switch.failed_assertion()
        {
            self.failure.get_or_insert(RunError::Assertion { node, failed });
        }
        self.lose(node, port, Reason::Switch(loss), frame);
    }

    /// Handles the copies that a switch made: they wait for their ports, or were lost.
    #[cold]
    fn copies_made(&mut self, node: usize) {
        for copy in self.switch(node).switch.take_copies() {
            self.stayed(node, copy);
        }
    }

    /// Handles a frame that a switch copied or recirculated: it waits for a port, or was lost. The port may be the one
    /// that is being served, so an event starts its transmission.
    #[inline(never)]
    fn stayed(&mut self, node: usize, fate: Fate<Box<NetFrame>>) {
        match fate {
            Fate::Queued { port, queue } => {
                let Port { line, trace, .. } = self.switch(node).ports[port];
                if let Some(trace) = trace {
                    self.trace_arrival(trace, node, port, queue);
                }
                match line {
                    Some(line) => self.wake_when_free(line as usize),
                    None => self.events.push(self.now, Event::Discard(node as u32, port as u32)),
                }
            }
            Fate::Lost(loss, port, frame) => self.lost_in_switch(node, port, loss, frame),
        }
    }

    /// Discards the frames in the queue of a port without a link.
    pub(super) fn discard_waiting(&mut self, node: usize, port: usize) {
        while let Some((frame, _)) = self.switch_next(node, port) {
            self.lose(node, Some(port), Reason::NoLink, frame);
        }
    }

    /// The next frame that a switch port sends, and whether more are waiting.
    pub(super) fn switch_next(&mut self, node: usize, port: usize) -> Option<(Box<NetFrame>, bool)> {
        let now = self.now;
        loop {
            let switch = self.switch(node);
            let Transmitted { mut outcome, signals, queue, ends_turn } = switch.switch.transmit(now, port)?;
            let more = !switch.switch.is_idle(port);
            let copies = switch.switch.has_copies();
            let Port { trace, capture, .. } = switch.ports[port];
            let marked = self.count_mark(node, port, &mut outcome);
            if let Some(trace) = trace {
                let sojourn = now.since(signals.enq_timestamp);
                let sent_bytes = outcome.as_ref().map_or(0, |frame| frame.packet.len() as u64);
                let departure = Departure { sojourn, sent_bytes, marked, ends_turn };
                self.trace_departure(trace, node, port, queue, &departure);
                if let Ok(frame) = &outcome {
                    self.trace_passage(trace, frame, signals.enq_timestamp, marked);
                }
            }
            if copies {
                self.copies_made(node);
            }
            match outcome {
                Ok(frame) => {
                    self.capture(capture, &frame);
                    return Some((frame, more));
                }
                Err(fate) => self.stayed(node, fate),
            }
        }
    }
}
