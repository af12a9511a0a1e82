// SPDX-License-Identifier: MIT OR Apache-2.0
//! Parts that switches of all architectures have.

use std::sync::Arc;

use marklab_pipeline::{Digest, Effects, Engine, FailedAssertion, Phv, State};
use marklab_tm::Refusal;

use crate::replication::Replication;
use crate::{Fate, Loss};

/// Messages of a program to the control plane, in order.
#[derive(Default)]
pub(crate) struct Messages {
    pub(crate) digests: Vec<Digest>,
    pub(crate) log: Vec<String>,
}

/// The parts of a switch beside the paths of packets: the program, its state, and the control plane's view of it.
pub(crate) struct Common<F> {
    pub(crate) engine: Arc<dyn Engine>,
    pub(crate) state: State,
    /// Packet states that are not in use.
    pub(crate) spare: Vec<Phv>,
    pub(crate) replication: Replication,
    /// Fates of copies that the caller has not taken yet.
    pub(crate) copies: Vec<Fate<F>>,
    pub(crate) failure: Option<FailedAssertion>,
    /// `None` if no listener is set.
    pub(crate) messages: Option<Messages>,
}

impl<F> Common<F> {
    pub(crate) fn new(engine: Arc<dyn Engine>, state: State) -> Common<F> {
        Common {
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

    /// Effects that the last stage requested. Its messages to the control plane are stored.
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

/// The fate of a frame that no queue accepts.
pub(crate) fn refused<F>(refusal: Refusal, port: usize, frame: F) -> Fate<F> {
    let (loss, at) = match refusal {
        Refusal::Full => (Loss::QueueFull, Some(port)),
        Refusal::NoPort => (Loss::NoPort, None),
        Refusal::NoQueue => (Loss::NoQueue, Some(port)),
    };
    Fate::Lost(loss, at, frame)
}
