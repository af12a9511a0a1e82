// SPDX-License-Identifier: MIT OR Apache-2.0
//! The engine as the Python module `marklab._engine`.
//!
//! A run crosses the boundary to Python twice: once with all its input, once with all its results. Descriptions and
//! reports are JSON, columns are numpy arrays.

mod comments;
mod control;
mod control_plane;
mod controlled;
mod diagnostics;
mod entries;
mod forwarding;
mod harness;
mod language;
mod live;
mod matches;
mod objects;
mod observed;
mod packets;
mod program;
mod replay;
mod session;
mod simulate;
mod steps;
mod tcp;
mod tofino;
mod trace;
mod views;

use mimalloc::MiMalloc;
use pyo3::create_exception;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;

/// Frames and packet states are aligned to cache lines: here they lie without gaps, and the system's allocator leaves some.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

create_exception!(marklab._engine, EngineError, PyException, "The engine refused its input, or a run failed.");
create_exception!(marklab._engine, CompileError, EngineError, "A P4 program has errors; the text shows them.");
create_exception!(marklab._engine, CancelledError, EngineError, "The run was cancelled.");

/// Runs ECN marking schemes written in P4 in a simulated network, and real TCP flows.
#[pymodule]
#[pyo3(name = "_engine")]
fn engine(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let python = module.py();
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("EngineError", python.get_type::<EngineError>())?;
    module.add("CompileError", python.get_type::<CompileError>())?;
    module.add("CancelledError", python.get_type::<CancelledError>())?;
    module.add_class::<program::Program>()?;
    module.add_function(wrap_pyfunction!(comments::write_comments, module)?)?;
    module.add_function(wrap_pyfunction!(control_plane::control_plane, module)?)?;
    module.add_function(wrap_pyfunction!(diagnostics::diagnostics, module)?)?;
    module.add_function(wrap_pyfunction!(language::names_of, module)?)?;
    module.add_function(wrap_pyfunction!(language::interface, module)?)?;
    module.add_function(wrap_pyfunction!(language::declared, module)?)?;
    module.add_function(wrap_pyfunction!(language::candidates_at, module)?)?;
    module.add_function(wrap_pyfunction!(tofino::tofino_check, module)?)?;
    module.add_class::<control::Control>()?;
    module.add_class::<controlled::ControlledRun>()?;
    module.add_class::<harness::Harness>()?;
    module.add_class::<live::LiveSwitch>()?;
    module.add_class::<simulate::Progress>()?;
    module.add_class::<session::Session>()?;
    module.add_class::<tcp::TcpSender>()?;
    module.add_class::<tcp::TcpReceiver>()?;
    module.add("FLOW_STATUSES", marklab_replay::Status::NAMES)?;
    module.add_class::<replay::FlowServer>()?;
    module.add_function(wrap_pyfunction!(replay::replay_flows, module)?)?;
    module.add_function(wrap_pyfunction!(forwarding::forward_rounds, module)?)?;
    module.add_function(wrap_pyfunction!(simulate::simulate, module)?)
}

/// The engine's message as a Python exception.
fn refuse(error: impl std::fmt::Display) -> PyErr {
    EngineError::new_err(error.to_string())
}
