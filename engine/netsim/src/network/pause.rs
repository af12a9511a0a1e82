// SPDX-License-Identifier: MIT OR Apache-2.0
//! Lossless lines: priority flow control (IEEE 802.1Qbb) with one class of packets, and pauses of only a part of a
//! line's traffic: a flow, or all packets for one host.
//!
//! A switch holds a frame from its arrival until its transmission begins, and counts its bytes on the line that it came
//! by. Above XOFF the switch sends a pause frame back; at XON it sends a frame that ends the pause. Each goes out
//! behind the frame under way, and before all waiting frames. While it waits, it is updated to the latest request. A
//! paused transmitter finishes its frame and begins no other. Pauses do not expire: a real switch would repeat its
//! pause frame before the time in it runs out. Hosts receive at the rate of their lines, and never ask for a pause.
//!
//! Per destination, bytes are counted and paused separately for each destination host. Per flow, the queue's length
//! counts: a frame pauses its flow if its queue holds more than XOFF, divided by the number of non-empty queues of the
//! port. The pause ends when that queue has fallen to XON, divided likewise. NICs carry out these two kinds of pauses:
//! they hold back queue pairs. They never hold back answers, which are not counted there either.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use marklab_units::{Duration, Time};

use super::{Event, Network};
use crate::config::{Per, Pfc};
use crate::frame::NetFrame;

/// A pause frame without its checksum: as short as frames are.
const PAUSE_FRAME_BYTES: usize = 60;

/// Pauses of a transmitter, or of parts of what it sends.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct PauseStats {
    /// How often it was told to pause.
    pub pauses: u64,
    /// Pause frames that it was sent: those that begin pauses, and those that end them.
    pub frames: u64,
    /// Time that it was told to pause, or to pause something.
    pub paused: Duration,
    /// Most bytes that its frames held at the other end, a switch.
    pub max_held_bytes: u64,
}

/// What is held and paused, by line.
#[derive(Debug)]
pub(super) struct Pauses {
    pfc: Pfc,
    lines: Vec<Held>,
    /// Per flow: flows that were asked to pause last, as line and part, with their queues, by the port that these are of.
    flows: BTreeMap<(usize, usize), BTreeMap<(usize, u32), usize>>,
}

#[derive(Clone, Default, Debug)]
struct Held {
    /// What the line has brought that waits in the switch at its end.
    bytes: u64,
    /// That of each part, and whether a pause was asked for last; not per flow.
    accounts: BTreeMap<u32, Account>,
    /// What pause frames to its transmitter say that have not come there: of which parts, and whether to pause.
    under_way: VecDeque<Vec<(u32, bool)>>,
    /// Parts that its transmitter was told to pause, and since when there are any.
    told: BTreeSet<u32>,
    since: Option<Time>,
    stats: PauseStats,
    /// Begin and end of the last pause frame that it carried itself, for the other direction.
    interjected: (Time, Time),
}

#[derive(Clone, Copy, Default, Debug)]
struct Account {
    bytes: u64,
    asked: bool,
}

/// The part that is all.
const ALL: u32 = 0;

/// The other direction of a line: links make two lines each.
fn opposite(line: usize) -> usize {
    line ^ 1
}

impl Pauses {
    pub(super) fn new(pfc: Pfc, lines: usize) -> Pauses {
        Pauses { pfc, lines: vec![Held::default(); lines], flows: BTreeMap::new() }
    }

    /// Whether a line is busy with a pause frame.
    pub(super) fn sends(&self, line: usize, now: Time) -> bool {
        let (begin, end) = self.lines[line].interjected;
        (begin..end).contains(&now)
    }

    /// Pauses of a line's transmitter, the one under way included.
    pub(super) fn stats(&self, line: usize, now: Time) -> PauseStats {
        let Held { stats, since, .. } = &self.lines[line];
        let under_way = since.map_or(Duration::ZERO, |since| now.since(since));
        PauseStats { paused: stats.paused + under_way, ..*stats }
    }
}

impl Network {
    fn pauses(&mut self) -> &mut Pauses {
        self.pfc.as_mut().expect("a run with lossless lines")
    }

    /// What a pause because of a frame would hold back; answers are part of nothing less than the line.
    fn part(&self, per: Per, frame: &NetFrame) -> Option<u32> {
        match per {
            Per::Port => Some(ALL),
            Per::Flow => self.sending_pair(frame).map(|pair| pair as u32),
            Per::Destination => self.sending_pair(frame).map(|pair| self.destination(pair) as u32),
        }
    }

    /// What holds back a queue pair.
    pub(super) fn part_of(&self, pair: usize) -> u32 {
        match self.pfc.as_ref().map(|pauses| pauses.pfc.per) {
            Some(Per::Flow) => pair as u32,
            Some(Per::Destination) => self.destination(pair) as u32,
            Some(Per::Port) | None => ALL,
        }
    }

    /// A frame comes by a line to a port of a switch. Gives what a pause because of it would hold back.
    #[cold]
    pub(super) fn hold(&mut self, line: usize, port: usize, frame: &mut NetFrame) -> Option<u32> {
        let per = self.pauses().pfc.per;
        let part = self.part(per, frame);
        let bytes = frame.notes.hold(port, frame.packet.len());
        let held = &mut self.pauses().lines[line];
        held.bytes += bytes;
        if let (Some(part), Per::Port | Per::Destination) = (part, per) {
            held.accounts.entry(part).or_default().bytes += bytes;
        }
        part
    }

    /// The switch has taken a line's frame in, which waits at a place if it does; what it sent on at once does not count.
    #[cold]
    pub(super) fn pause_if_needed(
        &mut self,
        line: usize,
        part: Option<u32>,
        node: usize,
        place: Option<(usize, usize)>,
    ) {
        let Pauses { pfc, lines, .. } = self.pauses();
        let held = &mut lines[line];
        held.stats.max_held_bytes = held.stats.max_held_bytes.max(held.bytes);
        match (pfc.per, part, place) {
            (Per::Flow, Some(flow), Some((port, queue))) => self.pause_if_long(line, flow, (node, port), queue),
            (Per::Port | Per::Destination, Some(part), _) => self.pause_if_full(line, part),
            _ => {}
        }
    }

    fn pause_if_full(&mut self, line: usize, part: u32) {
        let Pauses { pfc, lines, .. } = self.pauses();
        if lines[line].accounts.get(&part).is_some_and(|of| of.bytes > pfc.xoff_bytes && !of.asked) {
            self.ask(line, part, true);
        }
    }

    /// A flow's frame waits in a queue of a port.
    fn pause_if_long(&mut self, line: usize, flow: u32, at: (usize, usize), queue: usize) {
        let weighed = self.weighed(at, queue);
        let Pauses { pfc, flows, .. } = self.pauses();
        if weighed > pfc.xoff_bytes && flows.entry(at).or_default().insert((line, flow), queue).is_none() {
            self.ask(line, flow, true);
        }
    }

    /// Bytes in a queue, times the queues of its port that hold packets.
    fn weighed(&mut self, (node, port): (usize, usize), queue: usize) -> u64 {
        let switch = &self.switch(node).switch;
        let busy = (0..switch.queues(port)).filter(|&queue| switch.queue_depth(port, queue).packets > 0).count();
        switch.queue_depth(port, queue).bytes * busy as u64
    }

    /// A frame that was held leaves a switch, or is lost there.
    #[cold]
    pub(super) fn let_go(&mut self, node: usize, frame: &mut NetFrame) {
        let Some((port, bytes)) = frame.notes.let_go() else { return };
        let line = self.switch(node).ports[port].line.expect("the frame has come by a line");
        let line = opposite(line as usize);
        let per = self.pauses().pfc.per;
        let part = self.part(per, frame);
        let Pauses { pfc, lines, .. } = self.pauses();
        let held = &mut lines[line];
        held.bytes -= bytes;
        if per == Per::Flow {
            return self.resume_flows(node);
        }
        if let Some(part) = part
            && let Some(account) = held.accounts.get_mut(&part)
        {
            account.bytes -= bytes;
            if account.asked && account.bytes <= pfc.xon_bytes {
                self.ask(line, part, false);
            }
        }
    }

    /// Queues of a switch have become shorter, or fewer.
    fn resume_flows(&mut self, node: usize) {
        let ports: Vec<_> = self.pauses().flows.keys().copied().filter(|at| at.0 == node).collect();
        for at in ports {
            let mut paused = self.pauses().flows.remove(&at).expect("it is listed");
            let xon_bytes = self.pauses().pfc.xon_bytes;
            let ended: Vec<_> = paused.extract_if(.., |_, queue| self.weighed(at, *queue) <= xon_bytes).collect();
            if !paused.is_empty() {
                self.pauses().flows.insert(at, paused);
            }
            for ((line, flow), _) in ended {
                self.ask(line, flow, false);
            }
        }
    }

    /// Sends a pause frame to the transmitter of a line.
    fn ask(&mut self, line: usize, part: u32, pause: bool) {
        let (now, back) = (self.now, opposite(line));
        let lines = &mut self.pauses().lines;
        if let Some(account) = lines[line].accounts.get_mut(&part) {
            account.asked = pause;
        }
        // A frame names as many parts as there are.
        if lines[back].interjected.0 > now
            && let Some(waiting) = lines[line].under_way.back_mut()
        {
            match waiting.iter_mut().find(|(other, _)| *other == part) {
                Some((_, said)) => *said = pause,
                None => waiting.push((part, pause)),
            }
            return;
        }
        lines[line].under_way.push_back(vec![(part, pause)]);
        lines[line].stats.frames += 1;
        let bytes = self.framing.wire_bytes(PAUSE_FRAME_BYTES);
        let begin = now.max(self.lines[back].busy_until());
        let arrival = self.lines[back].interject(now, bytes);
        let end = self.lines[back].busy_until();
        self.pauses().lines[back].interjected = (begin, end);
        self.events.push(arrival, Event::Pause(line as u32));
    }

    /// A pause frame comes to the transmitter of a line.
    #[inline(never)]
    pub(super) fn pause(&mut self, line: usize) {
        let now = self.now;
        let said = self.pauses().lines[line].under_way.pop_front().expect("a pause frame says something");
        for (part, pause) in said {
            let Held { told, since, stats, .. } = &mut self.pauses().lines[line];
            // One that changed its mind while it waited says what is known.
            if pause && told.insert(part) {
                since.get_or_insert(now);
                stats.pauses += 1;
            } else if !pause && told.remove(&part) && told.is_empty() {
                stats.paused += since.take().map_or(Duration::ZERO, |since| now.since(since));
            }
            let (node, _) = self.lines[line].from();
            match (self.pauses().pfc.per, pause) {
                (Per::Port, _) => {
                    self.lines[line].paused = pause;
                    self.start(line);
                }
                (Per::Flow | Per::Destination, true) => self.hold_back(node, part),
                (Per::Flow | Per::Destination, false) => self.release_part(node, part),
            }
        }
    }
}
