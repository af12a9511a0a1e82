//! The switch between its ports.

use std::collections::BTreeMap;
use std::sync::Arc;

use marklab_pipeline::{Engine, Packet, State};
use marklab_switch::replication::Replication;
use marklab_switch::{Fate, Switch};
use marklab_tm::{Pool, PortConfig, QueueStats};
use marklab_units::Time;

use crate::delay::Delays;
use crate::lateness::Lateness;
use crate::line::{Line, LineConfig};
use crate::port::Port;

/// Frames that a port may hand over before the others have their turn.
const BATCH: usize = 64;
/// Packets that are kept for later frames.
const SPARE: usize = 4_096;

/// What happened at a port.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct PortReport {
    /// Frames that came in.
    pub received: u64,
    /// Their bytes.
    pub received_bytes: u64,
    /// Frames that went out.
    pub sent: u64,
    /// Their bytes.
    pub sent_bytes: u64,
    /// Frames that the interface had no room for, after the switch had sent them: a loss that no switch has.
    pub unsent: u64,
    /// Frames that were lost before the switch could take them: it did not keep up.
    pub missed: u64,
    /// Frames that its hosts had left to their interfaces to finish: offloads are on, and the switch sees what no line carries.
    pub offloaded: u64,
    /// What happened in its queues.
    pub queue: QueueStats,
}

/// What happened so far.
#[derive(Clone, Debug)]
pub struct Report {
    /// At each port that has an interface.
    pub ports: BTreeMap<usize, PortReport>,
    /// Frames that the switch lost, by port, where they had come to one, and reason.
    pub losses: BTreeMap<(Option<usize>, &'static str), u64>,
    /// How late frames left their queues and lines.
    pub lateness: Lateness,
}

/// What a step leaves to be done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Step {
    /// Whether anything was done.
    pub worked: bool,
    /// When something is due next, should no frame come before.
    pub next: Option<Time>,
}

/// What is due at a port. Of things due at the same time frames leave first, so that there is room for those that come.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Due {
    /// A frame is through its line.
    Through,
    /// A frame was delayed for long enough.
    Delayed,
    /// The line is free, and frames wait for it.
    Free,
}

struct LivePort {
    io: Box<dyn Port>,
    line: Line,
    delays: Delays,
    /// Whether frames were sent that are not flushed.
    pending: bool,
    report: PortReport,
}

/// A switch that runs a program between real ports.
pub struct LiveSwitch {
    switch: Switch<Packet>,
    ports: Vec<Option<LivePort>>,
    /// Numbers of the ports that have interfaces, in order.
    attached: Vec<usize>,
    /// Ports that have got frames to send.
    woken: Vec<usize>,
    spare: Vec<Packet>,
    /// What a port has just handed over; empty between two ports.
    arrivals: Vec<Packet>,
    losses: BTreeMap<(Option<usize>, &'static str), u64>,
    lateness: Lateness,
}

impl std::fmt::Debug for LiveSwitch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LiveSwitch").field("switch", &self.switch).finish_non_exhaustive()
    }
}

impl LiveSwitch {
    /// A switch without interfaces, with queues for its ports, from port 0 on; see [`Switch::with_pool`].
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
        }
    }

    /// Puts an interface on a port, in place of the one that it has.
    ///
    /// # Panics
    ///
    /// If there is no such port.
    pub fn attach(&mut self, port: usize, io: Box<dyn Port>, line: LineConfig, delays: Delays) {
        if let Err(place) = self.attached.binary_search(&port) {
            self.attached.insert(place, port);
        }
        self.ports[port] =
            Some(LivePort { io, line: Line::new(line), delays, pending: false, report: PortReport::default() });
    }

    /// Number of ports, with interfaces or without.
    pub fn ports(&self) -> usize {
        self.ports.len()
    }

    /// Interfaces in use.
    pub(crate) fn interfaces(&self) -> impl Iterator<Item = &dyn Port> {
        self.ports.iter().flatten().map(|port| &*port.io)
    }

    /// Tables, registers and counters, and where copies go, for the control plane.
    pub fn control(&mut self) -> (&mut State, &mut Replication) {
        self.switch.control()
    }

    /// The switch itself.
    pub fn switch(&mut self) -> &mut Switch<Packet> {
        &mut self.switch
    }

    /// Lets a frame come in by a port, whether it has an interface or not.
    pub fn inject(&mut self, now: Time, port: usize, frame: &[u8]) {
        let packet = packet(&mut self.spare, frame);
        self.arrived(now, port, packet);
    }

    /// Does what is due and takes in what has come. `now` must not be before that of the last call.
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
                port.pending = false;
                port.io.flush();
            }
        }
        Step { worked, next: self.next_due().map(|(time, ..)| time) }
    }

    /// What happened so far.
    pub fn report(&mut self) -> Report {
        let mut ports = BTreeMap::new();
        for (number, port) in self.ports.iter_mut().enumerate() {
            let Some(port) = port else { continue };
            port.report.missed += port.io.missed();
            port.report.offloaded = port.io.offloaded();
            ports.insert(number, PortReport { queue: self.switch.port_stats(number), ..port.report });
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
                let packet = port.line.take().expect("it is due");
                port.hand_out(&packet);
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
        let fate = self.switch.receive(now, port, packet);
        self.settle(fate);
        self.settle_copies();
        self.serve_woken(now);
    }

    fn settle(&mut self, fate: Fate<Packet>) {
        match fate {
            Fate::Queued { port, .. } => self.woken.push(port),
            Fate::Lost(loss, port, packet) => self.lose(port, loss.text(), packet),
        }
    }

    fn settle_copies(&mut self) {
        if self.switch.has_copies() {
            self.switch.take_copies().into_iter().for_each(|fate| self.settle(fate));
        }
    }

    fn lose(&mut self, port: Option<usize>, reason: &'static str, packet: Packet) {
        *self.losses.entry((port, reason)).or_default() += 1;
        recycle(&mut self.spare, packet);
    }

    /// Lets ports that have got frames send them, as far as their lines are free.
    fn serve_woken(&mut self, now: Time) {
        while let Some(number) = self.woken.pop() {
            while self.ports[number].as_ref().is_none_or(|port| port.line.free_at() <= now) {
                let Some(sent) = self.switch.transmit(now, number) else { break };
                self.settle_copies();
                match sent.outcome {
                    Ok(packet) => self.put_on_line(now, number, packet),
                    Err(fate) => self.settle(fate),
                }
            }
        }
    }

    fn put_on_line(&mut self, now: Time, number: usize, packet: Packet) {
        let Some(port) = &mut self.ports[number] else {
            return self.lose(Some(number), "sent to a port without an interface", packet);
        };
        if port.line.is_instant() {
            port.hand_out(&packet);
            recycle(&mut self.spare, packet);
        } else {
            port.line.put(now, packet);
        }
    }
}

impl LivePort {
    fn hand_out(&mut self, packet: &Packet) {
        debug_assert_eq!(packet.stored().len(), packet.len(), "real frames have all their bytes");
        if self.io.send(packet.stored()) {
            self.pending = true;
            self.report.sent += 1;
            self.report.sent_bytes += packet.len() as u64;
        } else {
            self.report.unsent += 1;
        }
    }
}

/// A packet of a frame's bytes, with the memory of a former one.
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
