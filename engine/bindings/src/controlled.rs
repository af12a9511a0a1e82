// SPDX-License-Identifier: MIT OR Apache-2.0
//! Runs in steps, between which a controller reads and writes switches.

use std::sync::Arc;

use marklab_netsim::{Config, Session};
use marklab_units::Time;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3::types::PyDict;

use crate::control::{Control, Target};
use crate::program::Program;
use crate::simulate::{Flows, Inputs, Progress, failed, result, rtt_columns};
use crate::steps::Steps;
use crate::{refuse, views};

/// A run in steps: without a change in between, the same events in the same order as in `simulate`.
#[pyclass(frozen, module = "marklab._engine")]
pub(crate) struct ControlledRun {
    steps: Arc<Steps>,
    program: Py<Program>,
    config: Config,
}

#[pymethods]
impl ControlledRun {
    /// A run before its first event; the arguments are those of `simulate`.
    #[new]
    fn new(
        config: &str,
        program: Py<Program>,
        shared_entries: &str,
        entries: Vec<PyBackedStr>,
        flows: Flows<'_>,
        seed: u64,
    ) -> PyResult<ControlledRun> {
        let own = program.get();
        let inputs = Inputs { config, program: own, shared_entries, entries: &entries, flows: &flows, seed };
        let (config, network) = inputs.network(&own.engine)?;
        let steps = Arc::new(Steps::new(Session::new(network)));
        Ok(ControlledRun { steps, program, config })
    }

    /// Whether the run has ended.
    #[getter]
    fn ended(&self) -> PyResult<bool> {
        self.steps.with(|session| session.ended())
    }

    /// Node and port of both ends of each line: `simulate`'s numbers of nodes.
    fn lines(&self) -> PyResult<Vec<(usize, usize, usize, usize)>> {
        self.steps.with(|session| session.lines().iter().map(|&[from, to]| (from.0, from.1, to.0, to.1)).collect())
    }

    /// Handles all events up to a time, without the interpreter lock. Raises CancelledError if `progress` was cancelled.
    fn run(&self, python: Python<'_>, until_ns: u64, progress: &Bound<'_, Progress>) -> PyResult<()> {
        let progress = progress.get().inner.clone();
        let until = Time::from_nanos(until_ns);
        let done = python.detach(|| self.steps.with(|session| session.run_shown(until, &progress)))?;
        done.map_err(|error| failed(error, self.program.get(), &self.config))
    }

    /// How the lines stand now, as `Session.view` gives it.
    fn view<'py>(&self, python: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let view = self.steps.with(|session| session.view())?;
        views::line_columns(python, &view)
    }

    /// Round-trip times that hosts have measured so far: a dict of `rtt_ns` and `packets`, to one part in a hundred.
    fn rtts<'py>(&self, python: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.steps.with(|session| rtt_columns(python, session.rtts()))?
    }

    /// The control plane of a switch.
    fn switch(&self, node: usize) -> PyResult<Control> {
        if self.steps.with(|session| session.switch(node).is_none())? {
            return Err(refuse(format!("node {node} is no switch")));
        }
        Ok(Control::new(Target::Simulated(self.steps.clone(), node)))
    }

    /// Ends a run that has come to its end, and returns what `simulate` returns.
    fn outcome<'py>(&self, python: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        if !self.ended()? {
            return Err(refuse("the run has not come to its end"));
        }
        let session = self.steps.take()?;
        let outcome =
            python.detach(|| session.outcome()).map_err(|error| failed(error, self.program.get(), &self.config))?;
        let result = result(python, &self.config, outcome)?;
        result.set_item("other_threads_ns", 0)?;
        result.set_item("threads", 1)?;
        Ok(result)
    }
}
