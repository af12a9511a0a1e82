// SPDX-License-Identifier: MIT OR Apache-2.0
//! A switch in its own thread.

use std::num::NonZeroU64;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread::JoinHandle;
use std::{io, thread};

use marklab_units::{Duration, Time};
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::io::Errno;
use rustix::thread::{CpuSet, sched_setaffinity, set_current_timer_slack};
use thiserror::Error;

use crate::clock::Clock;
use crate::port::Source;
use crate::switch::LiveSwitch;

/// A sleep mostly ends less than this too late, so the thread sleeps less by this time and spins for the rest.
const SPIN: Duration = Duration::from_micros(10);
/// Interval at which ports without a descriptor are polled.
const ASK_AGAIN: Duration = Duration::from_micros(200);

type Command = Box<dyn FnOnce(&mut LiveSwitch, Time) + Send>;

/// The switch has stopped.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[error("the switch has stopped")]
pub struct Stopped;

/// A running switch.
#[derive(Debug)]
pub struct Runner {
    commands: Sender<Command>,
    doorbell: Arc<Doorbell>,
    thread: Mutex<Option<JoinHandle<LiveSwitch>>>,
}

impl Runner {
    /// Runs a switch by a clock, on any processor or only on `cpu`.
    ///
    /// # Errors
    ///
    /// The system has no thread or no file descriptor left, or there is no such processor.
    pub fn start(switch: LiveSwitch, clock: Clock, cpu: Option<usize>) -> io::Result<Runner> {
        let (commands, waiting) = channel();
        let doorbell = Arc::new(Doorbell::new()?);
        let rung = doorbell.clone();
        let (started, placed) = channel();
        let thread = thread::Builder::new().name("switch".to_owned()).spawn(move || {
            let stays = cpu.map_or(Ok(()), stay_on);
            let runs = stays.is_ok();
            // The thread that called `start` waits for this.
            let _ = started.send(stays);
            if runs { run(switch, clock, &rung, &waiting) } else { switch }
        })?;
        placed.recv().map_err(io::Error::other)??;
        Ok(Runner { commands, doorbell, thread: Mutex::new(Some(thread)) })
    }

    /// Runs a closure on the switch between two steps, and returns its result.
    ///
    /// # Errors
    ///
    /// The switch has stopped.
    pub fn with<R: Send + 'static>(
        &self,
        act: impl FnOnce(&mut LiveSwitch, Time) -> R + Send + 'static,
    ) -> Result<R, Stopped> {
        let (answer, answered) = mpsc::sync_channel(1);
        let command: Command = Box::new(move |switch, now| {
            // An error means that no thread waits for the answer any more.
            let _ = answer.send(act(switch, now));
        });
        self.commands.send(command).map_err(|_| Stopped)?;
        self.doorbell.ring();
        answered.recv().map_err(|_| Stopped)
    }

    /// Ends the thread and returns the switch; `None` if the thread failed or was stopped before.
    pub fn stop(&self) -> Option<LiveSwitch> {
        self.doorbell.stop.store(true, Ordering::Release);
        self.doorbell.ring();
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        thread?.join().ok()
    }
}

impl Drop for Runner {
    fn drop(&mut self) {
        self.stop();
    }
}

fn run(mut switch: LiveSwitch, clock: Clock, doorbell: &Doorbell, commands: &Receiver<Command>) -> LiveSwitch {
    come_first();
    loop {
        if doorbell.answer() {
            commands.try_iter().for_each(|command| command(&mut switch, clock.now()));
            if doorbell.stop.load(Ordering::Acquire) {
                return switch;
            }
        }
        let step = switch.step(clock.now());
        if !step.worked && !sleep(&switch, doorbell, step.next.map(|next| next.since(clock.now()))) {
            switch.check_ports();
        }
    }
}

/// Keeps this thread on a processor.
fn stay_on(cpu: usize) -> io::Result<()> {
    if cpu >= CpuSet::MAX_CPU {
        return Err(Errno::INVAL.into());
    }
    let mut set = CpuSet::new();
    set.set(cpu);
    Ok(sched_setaffinity(None, &set)?)
}

/// Gives this thread a real-time priority, so that it wakes on time: a hardware switch does not wait for its hosts.
/// Linux leaves other threads a fraction of time even if this one never sleeps (sched(7)). Without the permission for
/// such a priority the thread runs like any other, and its lateness shows that.
#[expect(unsafe_code, reason = "system call that rustix lacks")]
fn come_first() {
    const SLACK_NS: NonZeroU64 = NonZeroU64::MIN;
    // The lab's hosts have 1: a sender that never sleeps must not keep the switch from its lines.
    const ABOVE_HOSTS: libc::sched_param = libc::sched_param { sched_priority: 2 };
    let _ = set_current_timer_slack(Some(SLACK_NS));
    // SAFETY: the pointer is to a constant, and 0 is the calling thread.
    unsafe { libc::sched_setscheduler(0, libc::SCHED_RR, &ABOVE_HOSTS) };
}

/// Waits until a frame comes, the bell rings, or something is due, which is after `left`. Returns false if a port
/// signals another event.
fn sleep(switch: &LiveSwitch, doorbell: &Doorbell, left: Option<Duration>) -> bool {
    let mut polled = vec![PollFd::new(&doorbell.event, PollFlags::IN)];
    let mut asked = false;
    for port in switch.interfaces() {
        match port.source() {
            Source::Readable(readable) => polled.push(PollFd::from_borrowed_fd(readable, PollFlags::IN)),
            Source::Asked => asked = true,
            Source::Silent => {}
        }
    }
    let left = if asked { Some(left.unwrap_or(ASK_AGAIN).min(ASK_AGAIN)) } else { left };
    match left {
        Some(left) if left <= SPIN => std::hint::spin_loop(),
        left => {
            let timeout = left.map(|left| timespec(Duration::from_nanos(left.nanos() - SPIN.nanos())));
            // An interrupted call has the same effect as one that ended early.
            let _ = poll(&mut polled, timeout.as_ref());
        }
    }
    polled.iter().all(|polled| PollFlags::IN.contains(polled.revents()))
}

fn timespec(time: Duration) -> Timespec {
    Timespec { tv_sec: (time.nanos() / 1_000_000_000) as i64, tv_nsec: (time.nanos() % 1_000_000_000) as _ }
}

/// Wakes the thread.
#[derive(Debug)]
struct Doorbell {
    event: OwnedFd,
    rung: AtomicBool,
    stop: AtomicBool,
}

impl Doorbell {
    fn new() -> io::Result<Doorbell> {
        let event = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Doorbell { event, rung: AtomicBool::new(false), stop: AtomicBool::new(false) })
    }

    fn ring(&self) {
        self.rung.store(true, Ordering::Release);
        // A full counter rings as well, so an error does not matter.
        let _ = rustix::io::write(&self.event, &1u64.to_ne_bytes());
    }

    /// Whether it was rung since the last answer.
    fn answer(&self) -> bool {
        if !self.rung.swap(false, Ordering::AcqRel) {
            return false;
        }
        // The descriptor does not block, and its content does not matter.
        let _ = rustix::io::read(&self.event, &mut [0u8; 8]);
        true
    }
}
