//! Where frames come from and go to.

use std::collections::VecDeque;
use std::io;
use std::os::fd::BorrowedFd;
use std::sync::{Arc, Mutex, PoisonError};

use thiserror::Error;

/// An interface that cannot be used.
#[derive(Debug, Error)]
pub enum PortError {
    /// There is none of that name.
    #[error("there is no interface `{0}`")]
    NoInterface(String),
    /// The system refused something.
    #[error("interface `{interface}`: {what}: {error}")]
    System {
        /// The interface.
        interface: String,
        /// What was asked for.
        what: &'static str,
        /// The system's answer.
        error: io::Error,
    },
}

/// An end of a link.
pub trait Port: Send {
    /// Hands over frames that wait, `budget` at most; gives how many.
    fn receive(&mut self, budget: usize, take: &mut dyn FnMut(&[u8])) -> usize;

    /// Accepts a frame to be sent; false if there is no room for it, so that it is lost.
    fn send(&mut self, frame: &[u8]) -> bool;

    /// Sends what was accepted.
    fn flush(&mut self);

    /// What becomes readable when frames wait; `None` if the port must be asked.
    fn readable(&self) -> Option<BorrowedFd<'_>>;

    /// Frames that were lost before they could be received, since the last call.
    fn missed(&mut self) -> u64;
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

    fn send(&mut self, frame: &[u8]) -> bool {
        lock(&self.outgoing).push_back(frame.to_vec());
        true
    }

    fn flush(&mut self) {}

    fn readable(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    fn missed(&mut self) -> u64 {
        0
    }
}

/// Frames are whole even if a thread died while it held them.
fn lock(frames: &Frames) -> std::sync::MutexGuard<'_, VecDeque<Vec<u8>>> {
    frames.lock().unwrap_or_else(PoisonError::into_inner)
}
