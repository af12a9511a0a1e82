// SPDX-License-Identifier: MIT OR Apache-2.0
//! A run in steps that several objects of Python share.

use std::sync::{Mutex, MutexGuard, PoisonError};

use marklab_netsim::Session;
use pyo3::prelude::*;

use crate::refuse;

/// The run, until its outcome is taken. Boxed, since Python's allocator does not align to cache lines.
pub(crate) struct Steps(Mutex<Option<Box<Session>>>);

impl Steps {
    pub(crate) fn new(session: Session) -> Steps {
        Steps(Mutex::new(Some(Box::new(session))))
    }

    /// Calls a function with the run. Raises EngineError if its outcome was taken.
    pub(crate) fn with<R>(&self, call: impl FnOnce(&mut Session) -> R) -> PyResult<R> {
        self.lock().as_mut().map(|session| call(session)).ok_or_else(taken)
    }

    /// Takes the run. Raises EngineError if it was taken before.
    pub(crate) fn take(&self) -> PyResult<Session> {
        self.lock().take().map(|session| *session).ok_or_else(taken)
    }

    fn lock(&self) -> MutexGuard<'_, Option<Box<Session>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn taken() -> PyErr {
    refuse("the outcome of this run was taken")
}
