// SPDX-License-Identifier: MIT OR Apache-2.0
//! Waiting for sockets, and for points in time.

use std::mem::MaybeUninit;
use std::os::fd::AsFd;

use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::fd::OwnedFd;
use rustix::io::{self, Errno};
use rustix::time::Timespec;

use crate::clock::now_ns;

/// Longest wait, after which a run checks again whether it is cancelled.
const LONGEST_WAIT_NS: u64 = 20_000_000;

const MOST_EVENTS: usize = 256;

/// The event that a socket waits for. A message is read or written, never both at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Interest {
    Read,
    Write,
}

impl From<Interest> for EventFlags {
    fn from(interest: Interest) -> EventFlags {
        match interest {
            Interest::Read => EventFlags::IN,
            Interest::Write => EventFlags::OUT,
        }
    }
}

/// An epoll instance. Sockets leave it when they are closed.
pub(crate) struct Poller {
    epoll: OwnedFd,
}

impl Poller {
    pub(crate) fn new() -> io::Result<Poller> {
        Ok(Poller { epoll: epoll::create(CreateFlags::CLOEXEC)? })
    }

    pub(crate) fn add(&self, socket: impl AsFd, token: usize, interest: Interest) -> io::Result<()> {
        epoll::add(&self.epoll, socket, EventData::new_u64(token as u64), interest.into())
    }

    pub(crate) fn modify(&self, socket: impl AsFd, token: usize, interest: Interest) -> io::Result<()> {
        epoll::modify(&self.epoll, socket, EventData::new_u64(token as u64), interest.into())
    }

    /// Waits for sockets that can continue or have failed, and fills `ready` with their tokens. Returns at `until_ns`
    /// at the latest, or after `LONGEST_WAIT_NS` if that is earlier.
    pub(crate) fn wait(&self, until_ns: u64, ready: &mut Vec<usize>) -> io::Result<()> {
        let wait_ns = until_ns.saturating_sub(now_ns()).min(LONGEST_WAIT_NS);
        let timeout = Timespec { tv_sec: 0, tv_nsec: wait_ns as i64 };
        let mut space = [MaybeUninit::<Event>::uninit(); MOST_EVENTS];
        ready.clear();
        match epoll::wait(&self.epoll, &mut space, Some(&timeout)) {
            Ok((events, _)) => ready.extend(events.iter().map(|event| event.data.u64() as usize)),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }
}
