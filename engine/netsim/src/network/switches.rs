// SPDX-License-Identifier: MIT OR Apache-2.0
//! Switches in the network, with the lines that leave their ports.

use marklab_observe::{CaptureFile, Departure, Passage, PortDepth, PortTrace, became_marked, frame_ecn};
use marklab_switch::{Fate, Loss, Passed, Switch, Transmitted};
use marklab_units::{Duration, Time};

use super::env::Env;
use super::event::Event;
use super::line::Line;
use super::pause::PausedPort;
use super::{NetSwitch, PortReport, RunError, SwitchReport};
use crate::frame::NetFrame;
use crate::ledger::Reason;
use crate::packet_trace::Stay;
use crate::queue_samples::count;

/// A switch with its ports.
pub(super) struct SwitchNode {
    pub(super) node: u32,
    pub(super) switch: NetSwitch,
    pub(super) ports: Vec<Port>,
    /// Whether anything is recorded at any port.
    pub(super) recorded: bool,
    /// Whether its ingress lines are lossless.
    pub(super) lossless: bool,
    /// Samples of the queues of ports with a line, by port: their number for each number of waiting packets, and for each
    /// number of their 5-tuples.
    pub(super) samples: Option<Vec<[Vec<u64>; 2]>>,
}

/// A port in the network.
#[derive(Default)]
#[repr(align(64))]
pub(super) struct Port {
    pub(super) line: Option<Line>,
    marked: u64,
    pub(super) records: Option<Box<Records>>,
    /// Pauses, where lines that lead to switches are lossless.
    pub(super) pauses: Option<Box<PausedPort>>,
    /// Time that the line had been busy when the arrivals ended.
    pub(super) busy_during_arrivals: Duration,
}

/// What is recorded at a port.
#[derive(Default)]
pub(super) struct Records {
    pub(super) trace: Option<PortTrace>,
    pub(super) capture: Option<CaptureFile>,
}

impl Port {
    /// Packets marked so far.
    pub(super) fn marked(&self) -> u64 {
        self.marked
    }

    fn trace(&mut self) -> Option<&mut PortTrace> {
        self.records.as_mut().and_then(|records| records.trace.as_mut())
    }
}

impl SwitchNode {
    pub(super) fn new(node: usize, switch: NetSwitch, lossless: bool) -> SwitchNode {
        let ports = (0..switch.ports()).map(|_| Port::default()).collect();
        SwitchNode { node: node as u32, switch, ports, recorded: false, lossless, samples: None }
    }

    pub(super) fn report(self) -> SwitchReport {
        let ports = self
            .ports
            .iter()
            .enumerate()
            .map(|(number, port)| PortReport { marked: port.marked, queue: self.switch.port_stats(number) });
        SwitchReport { node: self.node as usize, ports: ports.collect(), state: Switch::into_state(self.switch) }
    }

    /// What is recorded at a port, from now on.
    pub(super) fn records(&mut self, port: usize) -> &mut Records {
        self.recorded = true;
        self.ports[port].records.get_or_insert_default()
    }

    /// Samples the queues of all ports with a line.
    pub(super) fn sample(&mut self, env: &mut Env) {
        let Some(samples) = &mut self.samples else { return };
        let mut tuples = Vec::new();
        let linked = samples.iter_mut().enumerate().filter(|(number, _)| self.ports[*number].line.is_some());
        for (number, [packets, flows]) in linked {
            tuples.clear();
            self.switch.for_each_waiting(number, |frame| tuples.push(frame.five_tuple()));
            count(packets, self.switch.depth(number).packets as usize);
            tuples.sort_unstable();
            tuples.dedup();
            count(flows, tuples.len());
        }
        let next = env.now + env.shared.sample_interval;
        if next <= env.shared.sample_until {
            env.push(next, Event::Sample { node: self.node });
        }
    }

    // Frames

    /// A frame arrives at a port.
    #[inline(always)]
    pub(super) fn receives(&mut self, env: &mut Env, port: usize, frame: Box<NetFrame>) {
        if self.lossless {
            return self.lossless_receives(env, port, frame);
        }
        self.takes(env, port, frame);
    }

    /// The switch takes a frame in: parser, ingress, queue. Returns the port and queue in which it waits, unless it was
    /// lost.
    #[inline(never)]
    pub(super) fn takes(&mut self, env: &mut Env, port: usize, mut frame: Box<NetFrame>) -> Option<(usize, usize)> {
        frame.notes.set_arrived_as(frame_ecn(&frame.packet));
        let now = env.now;
        if self.recorded {
            self.capture(env, port, &frame);
        }
        let (ports, plain) = (&self.ports, !self.lossless && !self.recorded);
        let ready = |to: usize| match ports.get(to) {
            Some(Port { line: Some(line), .. }) => plain && line.is_free(now),
            _ => false,
        };
        let passed = self.switch.pass(now, port, frame, ready);
        let copies = self.switch.has_copies();
        let place = match passed {
            Passed::Left { port, outcome } => {
                self.passed(env, port, outcome);
                Some((port, 0))
            }
            Passed::Stayed(Fate::Queued { port, queue }) => {
                if self.recorded {
                    self.trace_arrival(now, port, queue);
                }
                match self.ports[port].line {
                    Some(_) => self.start(env, port),
                    None => self.discard_waiting(env, port),
                }
                Some((port, queue))
            }
            Passed::Stayed(Fate::Lost(loss, port, frame)) => {
                self.lost(env, port, loss, frame);
                None
            }
        };
        if copies {
            self.copies_made(env);
        }
        place
    }

    /// A frame has come through a port whose queue was empty: its line transmits it.
    #[inline(always)]
    fn passed(&mut self, env: &mut Env, port: usize, mut outcome: Result<Box<NetFrame>, Fate<Box<NetFrame>>>) {
        self.count_mark(env, port, &mut outcome);
        match outcome {
            Ok(frame) => {
                if let Some(line) = &mut self.ports[port].line {
                    line.transmit(env, frame);
                }
            }
            Err(fate) => self.stayed(env, fate),
        }
    }

    /// Counts and notes whether a frame was marked on its way through the switch.
    #[inline(always)]
    fn count_mark(
        &mut self,
        env: &mut Env,
        port: usize,
        outcome: &mut Result<Box<NetFrame>, Fate<Box<NetFrame>>>,
    ) -> bool {
        let marked = outcome.as_ref().is_ok_and(|frame| became_marked(frame.notes.arrived_as(), &frame.packet));
        if let (true, Ok(frame)) = (marked, outcome) {
            self.ports[port].marked += 1;
            frame.notes.marked();
            env.count_priority(frame);
        }
        marked
    }

    #[inline(never)]
    fn lost(&mut self, env: &mut Env, port: Option<usize>, loss: Loss, frame: Box<NetFrame>) {
        if loss == Loss::Assertion
            && let Some(failed) = self.switch.failed_assertion()
        {
            env.fail(self.node, RunError::Assertion { node: self.node as usize, failed });
        }
        self.lose(env, port, Reason::Switch(loss), frame);
    }

    fn lose(&mut self, env: &mut Env, port: Option<usize>, reason: Reason, mut frame: Box<NetFrame>) {
        if frame.notes.is_held() {
            self.let_go(env, &mut frame);
        }
        if self.recorded {
            env.trace_packet(self.node, port, 0, &frame, Stay::Lost(reason));
        }
        env.lose(self.node, port, reason, frame);
    }

    /// Handles the copies that the switch made: they wait for their ports, or were lost.
    #[cold]
    fn copies_made(&mut self, env: &mut Env) {
        for copy in self.switch.take_copies() {
            self.stayed(env, copy);
        }
    }

    /// Handles a frame that the switch copied or recirculated: it waits for a port, or was lost. The port may be the one
    /// that is being served, so an event starts its transmission.
    #[inline(never)]
    fn stayed(&mut self, env: &mut Env, fate: Fate<Box<NetFrame>>) {
        match fate {
            Fate::Queued { port, queue } => {
                if self.recorded {
                    self.trace_arrival(env.now, port, queue);
                }
                match self.ports[port].line {
                    Some(_) => self.wake_when_free(env, port),
                    None => env.push(env.now, Event::Discard { port: port as u16, node: self.node }),
                }
            }
            Fate::Lost(loss, port, frame) => self.lost(env, port, loss, frame),
        }
    }

    /// Discards the frames in the queue of a port without a line.
    pub(super) fn discard_waiting(&mut self, env: &mut Env, port: usize) {
        while let Some((frame, _)) = self.next_frame(env, port) {
            self.lose(env, Some(port), Reason::NoLink, frame);
        }
    }

    // Lines

    /// Begins the next transmission of a port, or schedules it for the end of the present one.
    #[inline]
    pub(super) fn start(&mut self, env: &mut Env, port: usize) {
        let Some(line) = &self.ports[port].line else { return };
        if env.now < line.busy_until() {
            self.wake_when_free(env, port);
        } else if !line.paused {
            self.transmit(env, port);
        }
    }

    /// The transmission of a port has ended.
    #[inline(always)]
    pub(super) fn line_is_free(&mut self, env: &mut Env, port: usize) {
        if let Some(line) = &mut self.ports[port].line {
            line.free_pending = false;
            self.start(env, port);
        }
    }

    #[inline(never)]
    fn transmit(&mut self, env: &mut Env, port: usize) {
        let Some((mut frame, more)) = self.next_frame(env, port) else { return };
        if frame.notes.is_held() {
            self.let_go(env, &mut frame);
        }
        if let Some(line) = &mut self.ports[port].line {
            line.transmit(env, frame);
        }
        if more {
            self.wake_when_free(env, port);
        }
    }

    /// Schedules an event for the next transmission of a port: at the end of the present one, or now if there is none.
    #[inline]
    fn wake_when_free(&mut self, env: &mut Env, port: usize) {
        if let Some(time) = self.ports[port].line.as_mut().and_then(|line| line.await_free(env.now)) {
            env.push(time, Event::Free { port: port as u16, node: self.node });
        }
    }

    /// The next frame that a port sends, and whether more are waiting.
    fn next_frame(&mut self, env: &mut Env, port: usize) -> Option<(Box<NetFrame>, bool)> {
        let now = env.now;
        loop {
            let Transmitted { mut outcome, signals, queue, ends_turn } = self.switch.transmit(now, port)?;
            let more = !self.switch.is_idle(port);
            let copies = self.switch.has_copies();
            let marked = self.count_mark(env, port, &mut outcome);
            if self.recorded {
                let sojourn = now.since(signals.enq_timestamp);
                let sent_bytes = outcome.as_ref().map_or(0, |frame| frame.packet.len() as u64);
                self.trace_departure(now, port, queue, &Departure { sojourn, sent_bytes, marked, ends_turn });
                if let Ok(frame) = &outcome {
                    self.trace_passage(now, port, frame, signals.enq_timestamp, marked);
                    let [enq_qdepth, deq_qdepth] = [signals.enq_qdepth as u32, signals.deq_qdepth as u32];
                    let stay = Stay::Sent { sojourn, enq_qdepth, deq_qdepth, marked };
                    env.trace_packet(self.node, Some(port), queue, frame, stay);
                    self.capture(env, port, frame);
                }
            }
            if copies {
                self.copies_made(env);
            }
            match outcome {
                Ok(frame) => return Some((frame, more)),
                Err(fate) => self.stayed(env, fate),
            }
        }
    }

    // Records

    #[cold]
    fn capture(&mut self, env: &mut Env, port: usize, frame: &NetFrame) {
        let capture = self.ports[port].records.as_mut().and_then(|records| records.capture.as_mut());
        if let Some(Err(error)) = capture.map(|capture| capture.write(env.now, &frame.packet)) {
            env.fail(self.node, error.into());
        }
    }

    fn depths(&self, port: usize, queue: usize) -> PortDepth {
        PortDepth { port: self.switch.depth(port), queue: self.switch.queue_depth(port, queue) }
    }

    #[cold]
    fn trace_arrival(&mut self, now: Time, port: usize, queue: usize) {
        let depths = self.depths(port, queue);
        if let Some(trace) = self.ports[port].trace() {
            trace.arrived(now, queue, depths);
            trace.sample(self.switch.state());
        }
    }

    #[cold]
    fn trace_departure(&mut self, now: Time, port: usize, queue: usize, departure: &Departure) {
        let depths = self.depths(port, queue);
        if let Some(trace) = self.ports[port].trace() {
            trace.departed(now, queue, depths, departure);
            trace.sample(self.switch.state());
        }
    }

    /// Records a packet. Which flow it belongs to is found after the run.
    #[cold]
    fn trace_passage(&mut self, now: Time, port: usize, frame: &NetFrame, arrived: Time, marked: bool) {
        if let Some(trace) = self.ports[port].trace() {
            trace.passed(|| Passage {
                arrived,
                departed: now,
                five_tuple: frame.five_tuple(),
                flow: None,
                bytes: frame.packet.len() as u32,
                marked,
            });
        }
    }
}
