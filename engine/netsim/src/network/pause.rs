// SPDX-License-Identifier: MIT OR Apache-2.0
//! Pauses: what the two ends of a line know of them, and the part of a line's traffic that a pause holds back.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use marklab_units::{Duration, Time};

use super::env::Env;
use super::event::PauseFrame;
use crate::config::PauseScope;
use crate::frame::NetFrame;

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

/// What the transmitter of a line knows of pauses.
#[derive(Default, Debug)]
pub(super) struct PausedLine {
    /// Parts that are paused, and since when there are any.
    parts: BTreeSet<u32>,
    since: Option<Time>,
    pauses: u64,
    paused: Duration,
    /// Start and end of the last pause frame that this line itself carried, for the other direction.
    pub(super) interjected: (Time, Time),
}

/// What a port of a lossless switch knows of pauses.
#[derive(Default, Debug)]
pub(super) struct PausedPort {
    /// The line that leaves the port.
    pub(super) line: PausedLine,
    /// Bytes of frames that came by this port and wait in the switch.
    pub(super) bytes: u64,
    /// The same per part, and whether the latest request was a pause. Unused for pauses per flow.
    pub(super) accounts: BTreeMap<u32, Account>,
    /// Pause frames that wait for the line, and when their transmission ends.
    pub(super) waiting: VecDeque<(Time, PauseFrame)>,
    pub(super) frames: u64,
    pub(super) max_held_bytes: u64,
    /// For pauses per flow: flows that are paused because of a queue of this port, by the port by which they come.
    pub(super) flows: BTreeMap<(usize, u32), usize>,
}

/// Bytes of a part of a line's traffic, as a port counts them.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Account {
    pub(super) bytes: u64,
    pub(super) pause_requested: bool,
}

/// The part that stands for all traffic.
const ALL: u32 = 0;

impl PausedLine {
    /// Whether the line is transmitting a pause frame.
    pub(super) fn sends(&self, now: Time) -> bool {
        let (begin, end) = self.interjected;
        (begin..end).contains(&now)
    }

    /// A pause frame arrives that names a part.
    pub(super) fn hear(&mut self, now: Time, part: u32, pause: bool) {
        // A frame that was updated while it waited may repeat the present state.
        if pause && self.parts.insert(part) {
            self.since.get_or_insert(now);
            self.pauses += 1;
        } else if !pause && self.parts.remove(&part) && self.parts.is_empty() {
            self.paused += self.since.take().map_or(Duration::ZERO, |since| now.since(since));
        }
    }

    /// Pauses of the line, including the current one. `other_end` is the port at its other end, if a switch is there.
    pub(super) fn stats(&self, now: Time, other_end: Option<&PausedPort>) -> PauseStats {
        let under_way = self.since.map_or(Duration::ZERO, |since| now.since(since));
        PauseStats {
            pauses: self.pauses,
            frames: other_end.map_or(0, |port| port.frames),
            paused: self.paused + under_way,
            max_held_bytes: other_end.map_or(0, |port| port.max_held_bytes),
        }
    }
}

impl Env {
    pub(super) fn pause_scope(&self) -> PauseScope {
        self.shared.pfc.map_or(PauseScope::Port, |pfc| pfc.per)
    }

    /// The part of a line's traffic that a pause because of this frame holds back. Answers belong only to the whole.
    pub(super) fn part(&self, frame: &NetFrame) -> Option<u32> {
        match self.pause_scope() {
            PauseScope::Port => Some(ALL),
            _ if !frame.notes.by_client() => None,
            _ => self.shared.opener(frame.connection).map(|pair| self.part_of(pair)),
        }
    }

    /// The part of its NIC's traffic that a queue pair belongs to.
    pub(super) fn part_of(&self, pair: u32) -> u32 {
        match self.pause_scope() {
            PauseScope::Flow => pair,
            PauseScope::Destination => self.shared.flow(pair).dst as u32,
            PauseScope::Port => ALL,
        }
    }
}
