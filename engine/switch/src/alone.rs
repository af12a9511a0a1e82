// SPDX-License-Identifier: MIT OR Apache-2.0
//! A switch without a network: each frame goes through all of it at once.

use std::collections::VecDeque;

use marklab_units::Time;

use crate::{Core, Fate, Frame, Loss, QueueSignals, Switch, Transmitted};

/// Frames that one frame may cause to leave a queue. A packet of a real program causes a few; copies of copies would
/// otherwise fill the memory before one of them reaches [`crate::MAX_ROUNDS`].
const MAX_TRANSMISSIONS: usize = 1 << 16;

/// Everything that became of a frame.
#[derive(PartialEq, Eq, Debug)]
pub struct Completed<F> {
    /// Frames that left, and their ports.
    pub sent: Vec<(usize, F)>,
    /// Frames that did not.
    pub lost: Vec<(Loss, Option<usize>, F)>,
}

impl<F: Frame> Switch<F> {
    /// Runs a frame, and everything that it causes, through the switch. Queues must be empty before, and are
    /// afterwards. Frames leave in the order in which they came to their queues; `signals` stand for those of a queue,
    /// if they are given.
    ///
    /// After a failed assertion, or when the frame causes more than 2^16 others, all that still waits is lost.
    ///
    /// # Panics
    ///
    /// If the frame came to its queue after `now`, as `signals` have it.
    pub fn run(&mut self, now: Time, port: usize, frame: F, signals: Option<QueueSignals>) -> Completed<F> {
        let mut completed = Completed { sent: Vec::new(), lost: Vec::new() };
        let mut waiting = VecDeque::new();
        // What a program of TNA knows of its sojourn may be two stamps of its own.
        let came = match (&self.core, signals) {
            (Core::Tna(_), Some(signals)) => signals.enq_timestamp,
            _ => now,
        };
        let fate = self.receive(came, port, frame);
        self.settle(fate, &mut waiting, &mut completed);
        let mut transmissions = 0;
        while let Some(port) = waiting.pop_front() {
            transmissions += 1;
            if let Some(loss) = self.giving_up(transmissions) {
                let rest = self.withdraw(port).expect("a frame came to this queue and has not left it");
                completed.lost.push((loss, Some(port), rest));
                continue;
            }
            let next = self.transmit_under(now, port, signals);
            let Transmitted { outcome, .. } = next.expect("a frame came to this queue and has not left it");
            match outcome {
                Ok(frame) => completed.sent.push((port, frame)),
                Err(fate) => self.settle(fate, &mut waiting, &mut completed),
            }
            self.settle_copies(&mut waiting, &mut completed);
        }
        completed
    }

    fn giving_up(&self, transmissions: usize) -> Option<Loss> {
        if self.failed_assertion().is_some() {
            return Some(Loss::Assertion);
        }
        (transmissions > MAX_TRANSMISSIONS).then_some(Loss::Endless)
    }

    fn settle(&mut self, fate: Fate<F>, waiting: &mut VecDeque<usize>, completed: &mut Completed<F>) {
        self.settle_copies(waiting, completed);
        match fate {
            Fate::Queued { port, .. } => waiting.push_back(port),
            Fate::Lost(loss, port, frame) => completed.lost.push((loss, port, frame)),
        }
    }

    /// Copies came to their queues before the frame that they are copies of.
    fn settle_copies(&mut self, waiting: &mut VecDeque<usize>, completed: &mut Completed<F>) {
        for copy in self.take_copies() {
            match copy {
                Fate::Queued { port, .. } => waiting.push_back(port),
                Fate::Lost(loss, port, frame) => completed.lost.push((loss, port, frame)),
            }
        }
    }
}
