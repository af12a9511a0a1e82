// SPDX-License-Identifier: MIT OR Apache-2.0
//! Ports: where frames come from and go to.

use std::collections::VecDeque;
use std::io;
use std::os::fd::BorrowedFd;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use marklab_pipeline::Packet;
use thiserror::Error;

/// An interface that cannot be used.
#[derive(Debug, Error)]
pub enum PortError {
    /// There is no interface of that name.
    #[error("there is no interface `{0}`")]
    NoInterface(String),
    /// The interface was deleted.
    #[error("interface `{0}` is gone")]
    Gone(String),
    /// Another switch uses the interface.
    #[error("interface `{0}` is a port of another switch")]
    Taken(String),
    /// The system refused an operation.
    #[error("interface `{interface}`: {what}: {error}")]
    System {
        /// The interface.
        interface: String,
        /// The operation.
        what: &'static str,
        /// The system's error.
        error: io::Error,
    },
}

/// How a port shows that frames wait.
#[derive(Clone, Copy, Debug)]
pub enum Source<'a> {
    /// This descriptor becomes readable.
    Readable(BorrowedFd<'a>),
    /// It must be polled now and then.
    Asked,
    /// No frames ever come.
    Silent,
}

/// Frames that were lost on sending, since there was no room for them.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Unsent {
    /// How many.
    pub frames: u64,
    /// Their bytes.
    pub bytes: u64,
}

impl Unsent {
    pub(crate) fn add(&mut self, frame: &Packet) {
        self.frames += 1;
        self.bytes += frame.len() as u64;
    }
}

/// An end of a link.
pub trait Port: Send {
    /// Hands over waiting frames, `budget` at most. Returns their number.
    fn receive(&mut self, budget: usize, take: &mut dyn FnMut(&[u8])) -> usize;

    /// Takes a frame to send. Leaves a packet of any content in its place, whose memory can be used again.
    fn send(&mut self, frame: &mut Packet);

    /// Sends the frames taken since the last call that have not been sent. Returns those for which there was no room.
    fn flush(&mut self) -> Unsent;

    /// How the port shows that frames wait.
    fn source(&self) -> Source<'_>;

    /// Why no frames can come or go any more, if the port has failed. Call it now and then, and when the source signals
    /// an event other than frames.
    fn failed(&mut self) -> Option<PortError> {
        None
    }

    /// Frames that were lost before they could be received, since the last call.
    fn missed(&mut self) -> u64;

    /// Frames so far whose sender offloaded work to its interface: frames larger than any on a line, which are lost,
    /// and frames without a checksum, which are broken.
    fn offloaded(&self) -> u64 {
        0
    }
}

type Frames = Arc<Mutex<VecDeque<Vec<u8>>>>;

/// A port whose frames are in memory, for tests.
#[derive(Debug)]
pub struct Memory {
    incoming: Frames,
    outgoing: Frames,
}

/// The other end of a [`Memory`] port.
#[derive(Clone, Debug)]
pub struct MemoryEnd {
    to_port: Frames,
    from_port: Frames,
}

impl Memory {
    /// A port and its other end.
    pub fn new() -> (Memory, MemoryEnd) {
        let (there, back) = (Frames::default(), Frames::default());
        (Memory { incoming: there.clone(), outgoing: back.clone() }, MemoryEnd { to_port: there, from_port: back })
    }
}

impl MemoryEnd {
    /// Sends a frame to the port.
    pub fn send(&self, frame: &[u8]) {
        lock(&self.to_port).push_back(frame.to_vec());
    }

    /// Frames that the port has sent since the last call.
    pub fn take(&self) -> Vec<Vec<u8>> {
        lock(&self.from_port).drain(..).collect()
    }
}

impl Port for Memory {
    fn receive(&mut self, budget: usize, take: &mut dyn FnMut(&[u8])) -> usize {
        let mut waiting = lock(&self.incoming);
        let count = budget.min(waiting.len());
        waiting.drain(..count).for_each(|frame| take(&frame));
        count
    }

    fn send(&mut self, frame: &mut Packet) {
        lock(&self.outgoing).push_back(frame.stored().to_vec());
    }

    fn flush(&mut self) -> Unsent {
        Unsent::default()
    }

    fn source(&self) -> Source<'_> {
        Source::Asked
    }

    fn missed(&mut self) -> u64 {
        0
    }
}

/// A port that keeps the frames sent to it for another thread: the control plane, behind a CPU port.
#[derive(Debug)]
pub struct Mailbox {
    letters: Arc<Letters>,
    unsent: Unsent,
}

/// The other end of a [`Mailbox`].
#[derive(Clone, Debug)]
pub struct MailboxEnd(Arc<Letters>);

#[derive(Debug, Default)]
struct Letters {
    frames: Mutex<VecDeque<Vec<u8>>>,
    arrived: Condvar,
}

/// Frames that a mailbox holds at most; it has no room for others.
const MAILBOX: usize = 4_096;

impl Mailbox {
    /// A port and its other end.
    pub fn new() -> (Mailbox, MailboxEnd) {
        let letters = Arc::new(Letters::default());
        (Mailbox { letters: letters.clone(), unsent: Unsent::default() }, MailboxEnd(letters))
    }
}

impl MailboxEnd {
    /// Frames that have been sent since the last call. Waits for the first one, at most for `patience`.
    pub fn wait(&self, patience: Duration) -> Vec<Vec<u8>> {
        let frames = lock(&self.0.frames);
        let waited = self.0.arrived.wait_timeout_while(frames, patience, |frames| frames.is_empty());
        waited.unwrap_or_else(PoisonError::into_inner).0.drain(..).collect()
    }
}

impl Port for Mailbox {
    fn receive(&mut self, _budget: usize, _take: &mut dyn FnMut(&[u8])) -> usize {
        0
    }

    fn send(&mut self, frame: &mut Packet) {
        let mut frames = lock(&self.letters.frames);
        if frames.len() < MAILBOX {
            frames.push_back(frame.stored().to_vec());
            self.letters.arrived.notify_one();
        } else {
            self.unsent.add(frame);
        }
    }

    fn flush(&mut self) -> Unsent {
        std::mem::take(&mut self.unsent)
    }

    fn source(&self) -> Source<'_> {
        Source::Silent
    }

    fn missed(&mut self) -> u64 {
        0
    }
}

/// Frames are consistent even if a thread died while it held the lock.
fn lock(frames: &Mutex<VecDeque<Vec<u8>>>) -> MutexGuard<'_, VecDeque<Vec<u8>>> {
    frames.lock().unwrap_or_else(PoisonError::into_inner)
}
