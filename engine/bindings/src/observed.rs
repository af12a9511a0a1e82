// SPDX-License-Identifier: MIT OR Apache-2.0
//! Records of a switch, for Python.

use marklab_observe::{PortTrace, QueueTrace, TraceRow};
use marklab_p4::ir::CounterId;
use marklab_pipeline::State;
use numpy::IntoPyArray;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::{Value, json};

/// Columns of a port: first of all its queues together, with a column `register_N` for each requested cell; then of
/// each queue, if the port has several.
pub(crate) fn port_columns<'py>(python: Python<'py>, trace: &PortTrace) -> PyResult<Vec<Bound<'py, PyDict>>> {
    let port = queue_columns(python, trace.port())?;
    for register in 0..trace.registers() {
        let values = trace.samples(register).collect::<Vec<_>>();
        port.set_item(format!("register_{register}"), values.into_pyarray(python))?;
    }
    let queues = trace.queues().map(|queue| queue_columns(python, queue));
    std::iter::once(Ok(port)).chain(queues).collect()
}

/// A value of each row of a trace.
type RowNumber = fn(&TraceRow) -> u64;

/// Columns of a queue's record.
fn queue_columns<'py>(python: Python<'py>, trace: &QueueTrace) -> PyResult<Bound<'py, PyDict>> {
    let columns: [(&str, RowNumber); 11] = [
        ("time_ns", |row| row.time.nanos()),
        ("packets", |row| row.last.packets),
        ("bytes", |row| row.last.bytes),
        ("max_packets", |row| row.max_packets),
        ("departed", |row| row.departed),
        ("sent_bytes", |row| row.sent_bytes),
        ("marked", |row| row.marked),
        ("max_sojourn_ns", |row| row.max_sojourn.nanos()),
        ("sum_sojourn_ns", |row| row.sum_sojourn.nanos()),
        ("rounds", |row| row.rounds),
        ("sum_round_ns", |row| row.sum_round.nanos()),
    ];
    let result = PyDict::new(python);
    for (name, value) in columns {
        result.set_item(name, trace.rows().iter().map(value).collect::<Vec<_>>().into_pyarray(python))?;
    }
    Ok(result)
}

/// Counter cells that are not 0.
pub(crate) fn counters(state: &State) -> impl Iterator<Item = Value> {
    let counters = state.program().counters.iter().enumerate();
    counters.flat_map(move |(number, counter)| {
        let id = CounterId(number as u32);
        (0..counter.size.unwrap_or(0)).filter_map(move |index| {
            let count = state.counter(id, index).filter(|count| count.packets > 0)?;
            Some(json!({
                "counter": counter.name, "index": index, "packets": count.packets, "bytes": count.bytes,
            }))
        })
    })
}
