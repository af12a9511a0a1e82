//! Lines that lose nothing: priority flow control (IEEE 802.1Qbb) with one class of packets.
//!
//! A frame is held by a switch from its arrival until it begins to leave, and counts on the line that brought it. Above
//! XOFF the switch sends a pause frame back, at XON one that ends the pause: each goes out behind the frame under way, and
//! before all that waits; as long as it waits, it says what is asked last. A transmitter that is told to pause ends its
//! frame, and begins no other. Pauses have no end of their own: a switch would send its pause frame again before the time
//! in it runs out. Hosts receive as fast as their lines bring it, and ask for no pause.

use std::collections::VecDeque;

use marklab_units::{Duration, Time};

use super::{Event, Network};
use crate::config::Pfc;
use crate::frame::NetFrame;

/// A pause frame without its checksum: as short as frames are.
const PAUSE_FRAME_BYTES: usize = 60;

/// Pauses of a transmitter.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct PauseStats {
    /// How often it was told to pause.
    pub pauses: u64,
    /// Pause frames that it was sent: those that begin pauses, and those that end them.
    pub frames: u64,
    /// Time that it was told to pause.
    pub paused: Duration,
    /// Most bytes that its frames held at the other end, a switch.
    pub max_held_bytes: u64,
}

/// What is held and paused, by line.
#[derive(Debug)]
pub(super) struct Pauses {
    pfc: Pfc,
    lines: Vec<Held>,
}

#[derive(Clone, Default, Debug)]
struct Held {
    /// What the line has brought that waits in the switch at its end.
    bytes: u64,
    /// Whether a pause was asked for last.
    asked: bool,
    /// What pause frames to its transmitter say that have not come there.
    under_way: VecDeque<bool>,
    /// When its transmitter was told to pause.
    since: Option<Time>,
    stats: PauseStats,
    /// Begin and end of the last pause frame that it carried itself, for the other direction.
    interjected: (Time, Time),
}

/// The other direction of a line: links make two lines each.
fn opposite(line: usize) -> usize {
    line ^ 1
}

impl Pauses {
    pub(super) fn new(pfc: Pfc, lines: usize) -> Pauses {
        Pauses { pfc, lines: vec![Held::default(); lines] }
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

    /// A frame comes by a line to a port of a switch.
    #[cold]
    pub(super) fn hold(&mut self, line: usize, port: usize, frame: &mut NetFrame) {
        let bytes = frame.notes.hold(port, frame.packet.len());
        self.pauses().lines[line].bytes += bytes;
    }

    /// The switch has taken a line's frame in; what it sent on at once does not wait.
    #[cold]
    pub(super) fn pause_if_full(&mut self, line: usize) {
        let Pauses { pfc, lines } = self.pauses();
        let held = &mut lines[line];
        held.stats.max_held_bytes = held.stats.max_held_bytes.max(held.bytes);
        if held.bytes > pfc.xoff_bytes && !held.asked {
            self.ask(line, true);
        }
    }

    /// A frame that was held leaves a switch, or is lost there.
    #[cold]
    pub(super) fn let_go(&mut self, node: usize, frame: &mut NetFrame) {
        let Some((port, bytes)) = frame.notes.let_go() else { return };
        let line = self.switch(node).ports[port].line.expect("the frame has come by a line");
        let line = opposite(line as usize);
        let Pauses { pfc, lines } = self.pauses();
        let held = &mut lines[line];
        held.bytes -= bytes;
        if held.asked && held.bytes <= pfc.xon_bytes {
            self.ask(line, false);
        }
    }

    /// Sends a pause frame to the transmitter of a line.
    fn ask(&mut self, line: usize, pause: bool) {
        let (now, back) = (self.now, opposite(line));
        let lines = &mut self.pauses().lines;
        lines[line].asked = pause;
        if lines[back].interjected.0 > now
            && let Some(waiting) = lines[line].under_way.back_mut()
        {
            *waiting = pause;
            return;
        }
        lines[line].under_way.push_back(pause);
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
        let Held { since, stats, under_way, .. } = &mut self.pauses().lines[line];
        let pause = under_way.pop_front().expect("a pause frame says something");
        // One that changed its mind while it waited says what is known.
        match (pause, *since) {
            (true, None) => {
                *since = Some(now);
                stats.pauses += 1;
            }
            (false, Some(began)) => {
                *since = None;
                stats.paused += now.since(began);
            }
            (true, Some(_)) | (false, None) => {}
        }
        self.lines[line].paused = pause;
        self.start(line);
    }
}
