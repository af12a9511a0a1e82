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

use super::env::Env;
use super::event::{Event, PauseFrame};
use super::hosts::Host;
use super::pause::PausedPort;
use super::switches::{Port, SwitchNode};
use crate::config::PauseScope;
use crate::frame::NetFrame;

/// A pause frame without its checksum: the shortest frame.
const PAUSE_FRAME_BYTES: usize = 60;

impl SwitchNode {
    fn pauses(&mut self, port: usize) -> &mut PausedPort {
        self.ports[port].pauses.get_or_insert_default()
    }

    /// A frame arrives at a port of a lossless switch.
    #[cold]
    pub(super) fn lossless_receives(&mut self, env: &mut Env, port: usize, mut frame: Box<NetFrame>) {
        let part = self.hold(env, port, &mut frame);
        let place = self.takes(env, port, frame);
        self.pause_if_needed(env, port, part, place);
    }

    /// Counts a frame that arrives at a port. Returns the part that a pause because of it holds back.
    fn hold(&mut self, env: &Env, port: usize, frame: &mut NetFrame) -> Option<u32> {
        let part = env.part(frame);
        let bytes = frame.notes.hold(port, frame.packet.len());
        let state = self.pauses(port);
        state.bytes += bytes;
        if let (Some(part), PauseScope::Port | PauseScope::Destination) = (part, env.pause_scope()) {
            state.accounts.entry(part).or_default().bytes += bytes;
        }
        part
    }

    /// Asks for a pause if it is due after a frame has entered by a port. `place` is the port and queue of the frame,
    /// unless it was lost. A frame that the switch sends on at once does not count.
    fn pause_if_needed(&mut self, env: &mut Env, port: usize, part: Option<u32>, place: Option<(usize, usize)>) {
        let state = self.pauses(port);
        state.max_held_bytes = state.max_held_bytes.max(state.bytes);
        match (env.pause_scope(), part, place) {
            (PauseScope::Flow, Some(flow), Some(place)) => self.pause_if_long(env, port, flow, place),
            (PauseScope::Port | PauseScope::Destination, Some(part), _) => self.pause_if_full(env, port, part),
            _ => {}
        }
    }

    fn pause_if_full(&mut self, env: &mut Env, port: usize, part: u32) {
        let xoff_bytes = env.shared.pfc.map_or(0, |pfc| pfc.xoff_bytes);
        if self.pauses(port).accounts.get(&part).is_some_and(|of| of.bytes > xoff_bytes && !of.pause_requested) {
            self.ask(env, port, part, true);
        }
    }

    /// Pauses a flow if the queue of its frame is too long.
    fn pause_if_long(&mut self, env: &mut Env, port: usize, flow: u32, (to, queue): (usize, usize)) {
        let xoff_bytes = env.shared.pfc.map_or(0, |pfc| pfc.xoff_bytes);
        if self.weighed(to, queue) > xoff_bytes && self.pauses(to).flows.insert((port, flow), queue).is_none() {
            self.ask(env, port, flow, true);
        }
    }

    /// Bytes in a queue, times the number of non-empty queues of its port.
    fn weighed(&self, port: usize, queue: usize) -> u64 {
        let switch = &self.switch;
        let busy = (0..switch.queues(port)).filter(|&queue| switch.queue_depth(port, queue).packets > 0).count();
        switch.queue_depth(port, queue).bytes * busy as u64
    }

    /// Uncounts a held frame that leaves the switch, or is lost there.
    #[cold]
    pub(super) fn let_go(&mut self, env: &mut Env, frame: &mut NetFrame) {
        let Some((port, bytes)) = frame.notes.let_go() else { return };
        let part = env.part(frame);
        let xon_bytes = env.shared.pfc.map_or(0, |pfc| pfc.xon_bytes);
        let state = self.pauses(port);
        state.bytes -= bytes;
        if env.pause_scope() == PauseScope::Flow {
            return self.resume_flows(env);
        }
        if let Some(part) = part
            && let Some(account) = state.accounts.get_mut(&part)
        {
            account.bytes -= bytes;
            if account.pause_requested && account.bytes <= xon_bytes {
                self.ask(env, port, part, false);
            }
        }
    }

    /// Ends pauses of flows whose queues have become short enough.
    fn resume_flows(&mut self, env: &mut Env) {
        let xon_bytes = env.shared.pfc.map_or(0, |pfc| pfc.xon_bytes);
        for to in 0..self.ports.len() {
            let Some(pauses) = &mut self.ports[to].pauses else { continue };
            if pauses.flows.is_empty() {
                continue;
            }
            let mut paused = std::mem::take(&mut pauses.flows);
            let ended: Vec<_> = paused.extract_if(.., |_, queue| self.weighed(to, *queue) <= xon_bytes).collect();
            self.pauses(to).flows = paused;
            for ((port, flow), _) in ended {
                self.ask(env, port, flow, false);
            }
        }
    }

    /// Sends a pause frame back by a port.
    fn ask(&mut self, env: &mut Env, port: usize, part: u32, pause: bool) {
        let now = env.now;
        let Port { line: Some(line), pauses: Some(state), .. } = &mut self.ports[port] else { return };
        if let Some(account) = state.accounts.get_mut(&part) {
            account.pause_requested = pause;
        }
        // One frame can name any number of parts.
        if state.line.interjected.0 > now
            && let Some((_, PauseFrame { parts })) = state.waiting.back_mut()
        {
            match parts.iter_mut().find(|(other, _)| *other == part) {
                Some((_, said)) => *said = pause,
                None => parts.push((part, pause)),
            }
            return;
        }
        let (begin, end) = line.interject(now, env.shared.framing.wire_bytes(PAUSE_FRAME_BYTES));
        state.line.interjected = (begin, end);
        state.frames += 1;
        state.waiting.push_back((end, PauseFrame { parts: vec![(part, pause)] }));
        if begin > now {
            env.push(begin, Event::PauseLeaves { port: port as u16, node: self.node });
        } else {
            self.pause_leaves(env, port);
        }
    }

    /// The transmission of a pause frame begins: what it says is fixed.
    pub(super) fn pause_leaves(&mut self, env: &mut Env, port: usize) {
        let Port { line: Some(line), pauses: Some(state), .. } = &mut self.ports[port] else { return };
        if let Some((end, frame)) = state.waiting.pop_front() {
            line.bring_pause(env, end, frame);
        }
    }

    /// A pause frame arrives at a port.
    #[inline(never)]
    pub(super) fn pause(&mut self, env: &mut Env, port: usize, frame: &PauseFrame) {
        for &(part, pause) in &frame.parts {
            self.pauses(port).line.hear(env.now, part, pause);
            if let Some(line) = &mut self.ports[port].line {
                line.paused = pause;
                self.start(env, port);
            }
        }
    }
}

impl Host {
    /// A pause frame arrives.
    #[inline(never)]
    pub(super) fn pause(&mut self, env: &mut Env, frame: &PauseFrame) {
        for &(part, pause) in &frame.parts {
            self.pauses.get_or_insert_default().hear(env.now, part, pause);
            match (env.pause_scope(), pause) {
                (PauseScope::Port, _) => {
                    self.line.paused = pause;
                    self.start(env);
                }
                (PauseScope::Flow | PauseScope::Destination, true) => self.hold_back(part),
                (PauseScope::Flow | PauseScope::Destination, false) => self.release_part(env, part),
            }
        }
    }
}
