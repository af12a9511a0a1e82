// SPDX-License-Identifier: MIT OR Apache-2.0
//! A switch without a network: each frame passes the whole switch at once.

use std::collections::VecDeque;

use marklab_units::Time;

use crate::{Core, Fate, Frame, Loss, QueueSignals, Switch, Transmitted};

/// Limit of the frames that leave a queue because of one frame. A packet of a real program causes a few. Without a
/// limit, copies of copies would fill the memory before one of them reaches [`crate::MAX_ROUNDS`].
const MAX_TRANSMISSIONS: usize = 1 << 16;

/// The results of a frame.
#[derive(PartialEq, Eq, Debug)]
pub struct Completed<F> {
    /// Frames that left, and their ports.
    pub sent: Vec<(usize, F)>,
    /// Frames that were lost, with the reason and the port, if they had come to one.
    pub lost: Vec<(Loss, Option<usize>, F)>,
}

impl<F: Frame> Switch<F> {
    /// Runs a frame, and all copies that it causes, through the switch. Queues must be empty before, and are empty
    /// afterwards. Frames leave in the order in which they came to their queues. `signals`, if given, replace the
    /// signals of a queue.
    ///
    /// After a failed assertion, or when the frame causes more than 2^16 others, all frames that still wait are lost.
    ///
    /// # Panics
    ///
    /// If, by `signals`, the frame came to its queue after `now`.
    pub fn run(&mut self, now: Time, port: usize, frame: F, signals: Option<QueueSignals>) -> Completed<F> {
        let mut completed = Completed { sent: Vec::new(), lost: Vec::new() };
        let mut waiting = VecDeque::new();
        // A TNA program may compute its sojourn time from two timestamps, so ingress needs the earlier time.
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

    /// Copies came to their queues before the frame from which they were copied.
    fn settle_copies(&mut self, waiting: &mut VecDeque<usize>, completed: &mut Completed<F>) {
        for copy in self.take_copies() {
            match copy {
                Fate::Queued { port, .. } => waiting.push_back(port),
                Fate::Lost(loss, port, frame) => completed.lost.push((loss, port, frame)),
            }
        }
    }
}
