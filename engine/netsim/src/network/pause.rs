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
use crate::config::{PauseScope, Pfc};
use crate::frame::NetFrame;

/// A pause frame without its checksum: the shortest frame.
const PAUSE_FRAME_BYTES: usize = 60;

/// Pauses of a transmitter, or of parts of its traffic.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct PauseStats {
    /// Number of pauses.
    pub pauses: u64,
    /// Pause frames sent to the transmitter: frames that begin pauses, and frames that end them.
    pub frames: u64,
    /// Time during which the transmitter, or any part of its traffic, was paused.
    pub paused: Duration,
    /// Most bytes of its frames that the switch at the other end held.
    pub max_held_bytes: u64,
}

/// Held bytes and pauses, per line.
#[derive(Debug)]
pub(super) struct Pauses {
    pfc: Pfc,
    lines: Vec<LineState>,
    /// For pauses per flow: paused flows, as line and part, with their queue, by node and port of the queue.
    flows: BTreeMap<(usize, usize), BTreeMap<(usize, u32), usize>>,
}

#[derive(Clone, Default, Debug)]
struct LineState {
    /// Bytes of frames from this line that wait in the switch at its end.
    bytes: u64,
    /// The same per part, and whether the latest request was a pause. Unused for pauses per flow.
    accounts: BTreeMap<u32, Account>,
    /// Contents of pause frames that are on their way to its transmitter: parts, and whether to pause each of them.
    under_way: VecDeque<Vec<(u32, bool)>>,
    /// Parts that its transmitter has paused, and since when there are any.
    paused: BTreeSet<u32>,
    since: Option<Time>,
    stats: PauseStats,
    /// Start and end of the last pause frame that this line itself carried, for the other direction.
    interjected: (Time, Time),
}

#[derive(Clone, Copy, Default, Debug)]
struct Account {
    bytes: u64,
    pause_requested: bool,
}

/// The part that stands for all traffic.
const ALL: u32 = 0;

/// The other direction of a line: each link has two lines.
fn opposite(line: usize) -> usize {
    line ^ 1
}

impl Pauses {
    pub(super) fn new(pfc: Pfc, lines: usize) -> Pauses {
        Pauses { pfc, lines: vec![LineState::default(); lines], flows: BTreeMap::new() }
    }

    /// Whether a line is transmitting a pause frame.
    pub(super) fn sends(&self, line: usize, now: Time) -> bool {
        let (begin, end) = self.lines[line].interjected;
        (begin..end).contains(&now)
    }

    /// Pauses of a line's transmitter, including the current one.
    pub(super) fn stats(&self, line: usize, now: Time) -> PauseStats {
        let LineState { stats, since, .. } = &self.lines[line];
        let under_way = since.map_or(Duration::ZERO, |since| now.since(since));
        PauseStats { paused: stats.paused + under_way, ..*stats }
    }
}

impl Network {
    fn pauses(&mut self) -> &mut Pauses {
        self.pfc.as_mut().expect("a run with lossless lines")
    }

    /// The part of a line's traffic that a pause because of this frame holds back. Answers belong only to the whole.
    fn part(&self, per: PauseScope, frame: &NetFrame) -> Option<u32> {
        match per {
            PauseScope::Port => Some(ALL),
            PauseScope::Flow => self.sending_pair(frame).map(|pair| pair as u32),
            PauseScope::Destination => self.sending_pair(frame).map(|pair| self.destination(pair) as u32),
        }
    }

    /// The part of its NIC's traffic that a queue pair belongs to.
    pub(super) fn part_of(&self, pair: usize) -> u32 {
        match self.pfc.as_ref().map(|pauses| pauses.pfc.per) {
            Some(PauseScope::Flow) => pair as u32,
            Some(PauseScope::Destination) => self.destination(pair) as u32,
            Some(PauseScope::Port) | None => ALL,
        }
    }

    /// A frame arrives by a line at a port of a lossless switch.
    #[cold]
    pub(super) fn lossless_receives(&mut self, line: usize, node: usize, port: usize, mut frame: Box<NetFrame>) {
        let part = self.hold(line, port, &mut frame);
        let place = self.switch_receives(node, port, frame);
        self.pause_if_needed(line, part, node, place);
    }

    /// Counts a frame that arrives by a line at a port of a switch. Returns the part that a pause because of it holds
    /// back.
    fn hold(&mut self, line: usize, port: usize, frame: &mut NetFrame) -> Option<u32> {
        let per = self.pauses().pfc.per;
        let part = self.part(per, frame);
        let bytes = frame.notes.hold(port, frame.packet.len());
        let state = &mut self.pauses().lines[line];
        state.bytes += bytes;
        if let (Some(part), PauseScope::Port | PauseScope::Destination) = (part, per) {
            state.accounts.entry(part).or_default().bytes += bytes;
        }
        part
    }

    /// Asks for a pause if it is due after a line's frame has entered a switch. `place` is the port and queue of the
    /// frame, unless it was lost. A frame that the switch sends on at once does not count.
    fn pause_if_needed(&mut self, line: usize, part: Option<u32>, node: usize, place: Option<(usize, usize)>) {
        let Pauses { pfc, lines, .. } = self.pauses();
        let state = &mut lines[line];
        state.stats.max_held_bytes = state.stats.max_held_bytes.max(state.bytes);
        match (pfc.per, part, place) {
            (PauseScope::Flow, Some(flow), Some((port, queue))) => self.pause_if_long(line, flow, (node, port), queue),
            (PauseScope::Port | PauseScope::Destination, Some(part), _) => self.pause_if_full(line, part),
            _ => {}
        }
    }

    fn pause_if_full(&mut self, line: usize, part: u32) {
        let Pauses { pfc, lines, .. } = self.pauses();
        if lines[line].accounts.get(&part).is_some_and(|of| of.bytes > pfc.xoff_bytes && !of.pause_requested) {
            self.ask(line, part, true);
        }
    }

    /// Pauses a flow if the queue of its frame is too long.
    fn pause_if_long(&mut self, line: usize, flow: u32, at: (usize, usize), queue: usize) {
        let weighed = self.weighed(at, queue);
        let Pauses { pfc, flows, .. } = self.pauses();
        if weighed > pfc.xoff_bytes && flows.entry(at).or_default().insert((line, flow), queue).is_none() {
            self.ask(line, flow, true);
        }
    }

    /// Bytes in a queue, times the number of non-empty queues of its port.
    fn weighed(&mut self, (node, port): (usize, usize), queue: usize) -> u64 {
        let switch = &self.switch(node).switch;
        let busy = (0..switch.queues(port)).filter(|&queue| switch.queue_depth(port, queue).packets > 0).count();
        switch.queue_depth(port, queue).bytes * busy as u64
    }

    /// Uncounts a held frame that leaves a switch, or is lost there.
    #[cold]
    pub(super) fn let_go(&mut self, node: usize, frame: &mut NetFrame) {
        let Some((port, bytes)) = frame.notes.let_go() else { return };
        let line = self.switch(node).ports[port].line.expect("the frame has come by a line");
        let line = opposite(line as usize);
        let per = self.pauses().pfc.per;
        let part = self.part(per, frame);
        let Pauses { pfc, lines, .. } = self.pauses();
        let state = &mut lines[line];
        state.bytes -= bytes;
        if per == PauseScope::Flow {
            return self.resume_flows(node);
        }
        if let Some(part) = part
            && let Some(account) = state.accounts.get_mut(&part)
        {
            account.bytes -= bytes;
            if account.pause_requested && account.bytes <= pfc.xon_bytes {
                self.ask(line, part, false);
            }
        }
    }

    /// Ends pauses of flows whose queues at a switch have become short enough.
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
            account.pause_requested = pause;
        }
        // One frame can name any number of parts.
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

    /// A pause frame arrives at the transmitter of a line.
    #[inline(never)]
    pub(super) fn pause(&mut self, line: usize) {
        let now = self.now;
        let said = self.pauses().lines[line].under_way.pop_front().expect("a pause frame says something");
        for (part, pause) in said {
            let LineState { paused, since, stats, .. } = &mut self.pauses().lines[line];
            // A frame that was updated while it waited may repeat the present state.
            if pause && paused.insert(part) {
                since.get_or_insert(now);
                stats.pauses += 1;
            } else if !pause && paused.remove(&part) && paused.is_empty() {
                stats.paused += since.take().map_or(Duration::ZERO, |since| now.since(since));
            }
            let (node, _) = self.lines[line].from();
            match (self.pauses().pfc.per, pause) {
                (PauseScope::Port, _) => {
                    self.lines[line].paused = pause;
                    self.start(line);
                }
                (PauseScope::Flow | PauseScope::Destination, true) => self.hold_back(node, part),
                (PauseScope::Flow | PauseScope::Destination, false) => self.release_part(node, part),
            }
        }
    }
}
