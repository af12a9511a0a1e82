// SPDX-License-Identifier: MIT OR Apache-2.0
//! How the lines of a network stand, for Python.

use marklab_netsim::LineView;
use numpy::IntoPyArray;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// A value of each line.
type LineNumber = fn(&LineView) -> u64;

/// Columns with a value per line. `frames`, `wire_bytes`, `marked` and `lost` count from the start of the run; `packets` and
/// `bytes` wait at the switch port.
pub(crate) fn line_columns<'py>(python: Python<'py>, lines: &[LineView]) -> PyResult<Bound<'py, PyDict>> {
    let columns: [(&str, LineNumber); 6] = [
        ("frames", |line| line.sent.frames),
        ("wire_bytes", |line| line.sent.bytes),
        ("packets", |line| line.depth.packets),
        ("bytes", |line| line.depth.bytes),
        ("marked", |line| line.marked),
        ("lost", |line| line.lost),
    ];
    let result = PyDict::new(python);
    for (name, value) in columns {
        result.set_item(name, lines.iter().map(value).collect::<Vec<_>>().into_pyarray(python))?;
    }
    Ok(result)
}
