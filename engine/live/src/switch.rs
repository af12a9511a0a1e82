// SPDX-License-Identifier: MIT OR Apache-2.0
//! A switch between its ports.

use std::collections::BTreeMap;
use std::sync::Arc;

use marklab_observe::{CaptureError, CaptureFile, Departure, Ecn, PortDepth, PortTrace, became_marked, frame_ecn};
use marklab_pipeline::{Engine, Packet, State};
use marklab_switch::replication::Replication;
use marklab_switch::{Fate, Frame, Switch, Transmitted};
use marklab_tm::{Pool, PortConfig};
use marklab_units::Time;
use thiserror::Error;

use crate::delay::Delays;
use crate::lateness::Lateness;
use crate::line::{Line, LineConfig};
use crate::port::{Port, PortError, Unsent};
use crate::report::{PortReport, Reason, Report};

/// Frames that a port may hand over before the others have their turn.
const BATCH: usize = 64;
/// Packets whose memory is kept for later frames.
const SPARE: usize = 4_096;

/// Result of a step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Step {
    /// Whether anything was done.
    pub worked: bool,
    /// When something is due next, unless a frame comes before.
    pub next: Option<Time>,
}

/// Why the records or the traffic are incomplete.
#[derive(Debug, Error)]
pub enum Failure {
    /// A capture could not be written.
    #[error(transparent)]
    Capture(#[from] CaptureError),
    /// A port cannot be used any more.
    #[error(transparent)]
    Port(#[from] PortError),
}

/// What is due at a port. At the same time frames leave before others come, so that there is room for them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Due {
    /// A frame has passed its line.
    Through,
    /// A frame was delayed for long enough.
    Delayed,
    /// The line is free, and frames wait for it.
    Free,
}

/// A frame in the switch.
#[derive(Clone, Debug)]
pub struct LiveFrame {
    packet: Packet,
    /// Its ECN field when it came.
    arrived_as: Option<Ecn>,
}

impl Frame for LiveFrame {
    fn packet(&mut self) -> &mut Packet {
        &mut self.packet
    }

    fn duplicate(&self) -> LiveFrame {
        self.clone()
    }
}

struct LivePort {
    io: Box<dyn Port>,
    line: Line,
    delays: Delays,
    trace: Option<PortTrace>,
    capture: Option<CaptureFile>,
    /// Whether sent frames are not yet flushed.
    pending: bool,
    failed: bool,
    report: PortReport,
}

/// A switch that runs a program between real ports.
pub struct LiveSwitch {
    switch: Switch<LiveFrame>,
    ports: Vec<Option<LivePort>>,
    /// Numbers of the ports that have interfaces, in order.
    attached: Vec<usize>,
    /// Ports that have new frames to send.
    woken: Vec<usize>,
    spare: Vec<Packet>,
    /// Frames that a port has just handed over; empty between two ports.
    arrivals: Vec<Packet>,
    losses: BTreeMap<(Option<usize>, Reason), u64>,
    lateness: Lateness,
    failure: Option<Failure>,
}

impl std::fmt::Debug for LiveSwitch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LiveSwitch").field("switch", &self.switch).finish_non_exhaustive()
    }
}

impl LiveSwitch {
    /// A switch without interfaces, with the queues of its ports, from port 0 on; see [`Switch::with_pool`].
    pub fn new(
        engine: Arc<dyn Engine>,
        state: State,
        ports: impl IntoIterator<Item = PortConfig>,
        pool: Option<Pool>,
    ) -> LiveSwitch {
        let mut switch = Switch::with_pool(engine, state, ports, pool);
        switch.listen();
        LiveSwitch {
            ports: (0..switch.ports()).map(|_| None).collect(),
            switch,
            attached: Vec::new(),
            woken: Vec::new(),
            spare: Vec::new(),
            arrivals: Vec::new(),
            losses: BTreeMap::new(),
            lateness: Lateness::default(),
            failure: None,
        }
    }

    /// Attaches an interface to a port, in place of its present one.
    ///
    /// # Panics
    ///
    /// If there is no such port.
    pub fn attach(&mut self, port: usize, io: Box<dyn Port>, line: LineConfig, delays: Delays) {
        if let Err(place) = self.attached.binary_search(&port) {
            self.attached.insert(place, port);
        }
        self.ports[port] = Some(LivePort {
            io,
            line: Line::new(line),
            delays,
            trace: None,
            capture: None,
            pending: false,
            failed: false,
            report: PortReport::default(),
        });
    }

    /// Records the queues of a port from now on.
    ///
    /// # Panics
    ///
    /// If the port has no interface.
    pub fn trace(&mut self, port: usize, trace: PortTrace) {
        self.ports[port].as_mut().expect("it has an interface").trace = Some(trace);
    }

    /// Writes the frames that come in and leave by a port to a file from now on.
    ///
    /// # Panics
    ///
    /// If the port has no interface.
    pub fn capture(&mut self, port: usize, capture: CaptureFile) {
        self.ports[port].as_mut().expect("it has an interface").capture = Some(capture);
    }

    /// Ends the records of queues and returns them.
    pub fn take_traces(&mut self) -> BTreeMap<usize, PortTrace> {
        let ports = self.ports.iter_mut().enumerate();
        ports.filter_map(|(number, port)| Some((number, port.as_mut()?.trace.take()?))).collect()
    }

    /// Ends the captures.
    pub fn end_captures(&mut self) {
        for capture in self.ports.iter_mut().flatten().filter_map(|port| port.capture.take()) {
            if let Err(error) = capture.finish() {
                self.failure.get_or_insert(error.into());
            }
        }
    }

    /// The first failure.
    pub fn failure(&self) -> Option<&Failure> {
        self.failure.as_ref()
    }

    /// Checks whether ports have failed, for [`LiveSwitch::failure`]. A failed port is not polled any more.
    ///
    /// The runner calls this when a port's descriptor signals an event other than frames. That is not enough: when an
    /// interface is deleted, Linux only signals that it is down.
    pub fn check_ports(&mut self) {
        for port in self.ports.iter_mut().flatten().filter(|port| !port.failed) {
            if let Some(error) = port.io.failed() {
                port.failed = true;
                self.failure.get_or_insert(error.into());
            }
        }
    }

    /// Number of ports, with interfaces or without.
    pub fn ports(&self) -> usize {
        self.ports.len()
    }

    /// Interfaces that have not failed.
    pub(crate) fn interfaces(&self) -> impl Iterator<Item = &dyn Port> {
        self.ports.iter().flatten().filter(|port| !port.failed).map(|port| &*port.io)
    }

    /// Tables, registers and counters, and where copies go, for the control plane.
    pub fn control(&mut self) -> (&mut State, &mut Replication) {
        self.switch.control()
    }

    /// The switch itself.
    pub fn switch(&mut self) -> &mut Switch<LiveFrame> {
        &mut self.switch
    }

    /// Passes a frame to a port, whether it has an interface or not.
    pub fn inject(&mut self, now: Time, port: usize, frame: &[u8]) {
        let packet = packet(&mut self.spare, frame);
        self.arrived(now, port, packet);
    }

    /// Performs what is due and takes in the frames that have come. `now` must not be before that of the last call.
    pub fn step(&mut self, now: Time) -> Step {
        let mut worked = false;
        while let Some((time, due, port)) = self.next_due()
            && time <= now
        {
            self.lateness.record(now.since(time));
            self.perform(time, due, port);
            worked = true;
        }
        for place in 0..self.attached.len() {
            worked |= self.receive(now, self.attached[place]) > 0;
        }
        for &number in &self.attached {
            if let Some(port) = self.ports[number].as_mut().filter(|port| port.pending) {
                port.flush();
            }
        }
        Step { worked, next: self.next_due().map(|(time, ..)| time) }
    }

    /// The report so far.
    pub fn report(&mut self) -> Report {
        let mut ports = BTreeMap::new();
        for (number, port) in self.ports.iter_mut().enumerate() {
            let Some(port) = port else { continue };
            port.report.missed += port.io.missed();
            port.report.offloaded = port.io.offloaded();
            let (line, queue) = (port.line.stats(), self.switch.port_stats(number));
            ports.insert(number, PortReport { line, queue, ..port.report });
        }
        Report { ports, losses: self.losses.clone(), lateness: self.lateness.clone() }
    }

    fn next_due(&self) -> Option<(Time, Due, usize)> {
        let dues = self.attached.iter().filter_map(|&number| {
            let port = self.ports[number].as_ref()?;
            let free = (self.switch.depth(number).packets > 0).then(|| port.line.free_at());
            let dues =
                [(port.line.through_at(), Due::Through), (port.delays.due_at(), Due::Delayed), (free, Due::Free)];
            dues.into_iter().filter_map(|(time, due)| Some((time?, due, number))).min()
        });
        dues.min()
    }

    fn perform(&mut self, time: Time, due: Due, number: usize) {
        let port = self.ports[number].as_mut().expect("what is due is due at an interface");
        match due {
            Due::Through => {
                let mut packet = port.line.take().expect("it is due");
                port.hand_out(&mut packet);
                recycle(&mut self.spare, packet);
            }
            Due::Delayed => {
                let packet = port.delays.take().expect("it is due");
                self.arrived(time, number, packet);
            }
            Due::Free => {
                self.woken.push(number);
                self.serve_woken(time);
            }
        }
    }

    fn receive(&mut self, now: Time, number: usize) -> usize {
        let (spare, arrivals) = (&mut self.spare, &mut self.arrivals);
        let Some(port) = &mut self.ports[number] else { return 0 };
        let report = &mut port.report;
        let count = port.io.receive(BATCH, &mut |frame| {
            report.received += 1;
            report.received_bytes += frame.len() as u64;
            arrivals.push(packet(spare, frame));
        });
        if !port.delays.is_empty() {
            arrivals.drain(..).for_each(|packet| port.delays.hold(now, packet));
        }
        let mut arrivals = std::mem::take(&mut self.arrivals);
        for packet in arrivals.drain(..) {
            self.arrived(now, number, packet);
        }
        self.arrivals = arrivals;
        count
    }

    fn arrived(&mut self, now: Time, port: usize, packet: Packet) {
        self.write_capture(now, port, &packet);
        let frame = LiveFrame { arrived_as: frame_ecn(&packet), packet };
        let fate = self.switch.receive(now, port, frame);
        self.settle(now, fate);
        self.settle_copies(now);
        self.serve_woken(now);
    }

    fn settle(&mut self, now: Time, fate: Fate<LiveFrame>) {
        match fate {
            Fate::Queued { port, queue } => {
                self.woken.push(port);
                if let Some(trace) = trace_of(&mut self.ports[port]) {
                    trace.arrived(now, queue, depths(&self.switch, port, queue));
                    trace.sample(self.switch.state());
                }
            }
            Fate::Lost(loss, port, frame) => self.lose(port, Reason::Switch(loss), frame.packet),
        }
    }

    fn settle_copies(&mut self, now: Time) {
        if self.switch.has_copies() {
            self.switch.take_copies().into_iter().for_each(|fate| self.settle(now, fate));
        }
    }

    fn lose(&mut self, port: Option<usize>, reason: Reason, packet: Packet) {
        *self.losses.entry((port, reason)).or_default() += 1;
        recycle(&mut self.spare, packet);
    }

    /// Lets ports with new frames send them while their lines are free.
    fn serve_woken(&mut self, now: Time) {
        while let Some(number) = self.woken.pop() {
            while self.ports[number].as_ref().is_none_or(|port| port.line.free_at() <= now) {
                let Some(left) = self.switch.transmit(now, number) else { break };
                self.left(now, number, left);
            }
        }
    }

    /// A frame has left its queue.
    fn left(&mut self, now: Time, number: usize, left: Transmitted<LiveFrame>) {
        let Transmitted { outcome, signals, queue, ends_turn } = left;
        let marked = outcome.as_ref().is_ok_and(|frame| became_marked(frame.arrived_as, &frame.packet));
        if let Some(trace) = trace_of(&mut self.ports[number]) {
            let sent_bytes = outcome.as_ref().map_or(0, |frame| frame.packet.len() as u64);
            let departure = Departure { sojourn: now.since(signals.enq_timestamp), sent_bytes, marked, ends_turn };
            trace.departed(now, queue, depths(&self.switch, number, queue), &departure);
            trace.sample(self.switch.state());
        }
        self.settle_copies(now);
        match outcome {
            Ok(frame) => self.put_on_line(now, number, frame.packet, marked),
            Err(fate) => self.settle(now, fate),
        }
    }

    fn put_on_line(&mut self, now: Time, number: usize, mut packet: Packet, marked: bool) {
        self.write_capture(now, number, &packet);
        let Some(port) = &mut self.ports[number] else {
            return self.lose(Some(number), Reason::NoInterface, packet);
        };
        port.report.marked += u64::from(marked);
        if port.line.is_instant() {
            port.line.pass(packet.len());
            port.hand_out(&mut packet);
            recycle(&mut self.spare, packet);
        } else {
            port.line.put(now, packet);
        }
    }

    /// Writes a frame to the capture of a port, if there is one. A capture that fails ends.
    fn write_capture(&mut self, now: Time, number: usize, packet: &Packet) {
        let Some(Some(LivePort { capture: place, .. })) = self.ports.get_mut(number) else { return };
        if let Some(capture) = place
            && let Err(error) = capture.write(now, packet)
        {
            *place = None;
            self.failure.get_or_insert(error.into());
        }
    }
}

fn trace_of(port: &mut Option<LivePort>) -> Option<&mut PortTrace> {
    port.as_mut()?.trace.as_mut()
}

fn depths(switch: &Switch<LiveFrame>, port: usize, queue: usize) -> PortDepth {
    PortDepth { port: switch.depth(port), queue: switch.queue_depth(port, queue) }
}

impl LivePort {
    fn hand_out(&mut self, packet: &mut Packet) {
        debug_assert_eq!(packet.stored().len(), packet.len(), "real frames have all their bytes");
        self.pending = true;
        self.report.sent += 1;
        self.report.sent_bytes += packet.len() as u64;
        self.io.send(packet);
    }

    fn flush(&mut self) {
        self.pending = false;
        let Unsent { frames, bytes } = self.io.flush();
        self.report.unsent += frames;
        self.report.sent -= frames;
        self.report.sent_bytes -= bytes;
    }
}

/// A packet with a frame's bytes, in the memory of a former packet.
fn packet(spare: &mut Vec<Packet>, frame: &[u8]) -> Packet {
    let mut packet = spare.pop().unwrap_or_default();
    packet.set(frame, 0);
    packet
}

fn recycle(spare: &mut Vec<Packet>, packet: Packet) {
    if spare.len() < SPARE {
        spare.push(packet);
    }
}
