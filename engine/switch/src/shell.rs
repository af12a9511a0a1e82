// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a switch of any architecture has.

use std::sync::Arc;

use marklab_pipeline::{Digest, Effects, Engine, FailedAssertion, Phv, State};
use marklab_tm::Refusal;

use crate::replication::Replication;
use crate::{Fate, Loss};

/// What a program told the control plane, in order.
#[derive(Default)]
pub(crate) struct Messages {
    pub(crate) digests: Vec<Digest>,
    pub(crate) log: Vec<String>,
}

/// A switch without its ways: the program, what it remembers, and what the control plane sees of it.
pub(crate) struct Shell<F> {
    pub(crate) engine: Arc<dyn Engine>,
    pub(crate) state: State,
    /// Packet states that are not in use.
    pub(crate) spare: Vec<Phv>,
    pub(crate) replication: Replication,
    /// What became of copies, as far as it has not been asked for yet.
    pub(crate) copies: Vec<Fate<F>>,
    pub(crate) failure: Option<FailedAssertion>,
    /// `None` if no listener is set.
    pub(crate) messages: Option<Messages>,
}

impl<F> Shell<F> {
    pub(crate) fn new(engine: Arc<dyn Engine>, state: State) -> Shell<F> {
        Shell {
            engine,
            state,
            spare: Vec::new(),
            replication: Replication::default(),
            copies: Vec::new(),
            failure: None,
            messages: None,
        }
    }

    /// A packet state without any value.
    #[inline]
    pub(crate) fn blank(&mut self) -> Phv {
        let mut phv = self.spare.pop().unwrap_or_else(|| self.state.layout().phv());
        phv.clear();
        phv
    }

    /// What the stage that ran asked for; what it told the control plane is passed on.
    pub(crate) fn effects(&mut self) -> Effects {
        let mut effects = self.state.effects.take();
        self.failure = self.failure.or(effects.failed_assertion);
        if let Some(messages) = &mut self.messages {
            messages.log.append(&mut effects.log);
            messages.digests.extend(effects.digest.take());
        }
        effects
    }
}

/// What becomes of a frame that no queue takes.
pub(crate) fn refused<F>(refusal: Refusal, port: usize, frame: F) -> Fate<F> {
    let (loss, at) = match refusal {
        Refusal::Full => (Loss::QueueFull, Some(port)),
        Refusal::NoPort => (Loss::NoPort, None),
        Refusal::NoQueue => (Loss::NoQueue, Some(port)),
    };
    Fate::Lost(loss, at, frame)
}
