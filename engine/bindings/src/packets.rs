// SPDX-License-Identifier: MIT OR Apache-2.0
//! Packets that were recorded one by one, for Python.

use marklab_netsim::{PacketRow, PacketTrace, Stay};
use numpy::{Element, IntoPyArray, PyArray1};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// In columns of numbers: there is none.
const NONE: u32 = u32::MAX;
/// In the column `lost`: it was not.
const SENT: u8 = u8::MAX;

/// Columns of a record of packets. `flow` is the largest number for packets of probes, `port` for those that were lost
/// before they had come to one, `enq_qdepth`, `deq_qdepth` and `sojourn_ns` for lost ones. `lost` is the number of a reason in the list
/// `reasons`, or the largest number. `dropped` counts earlier packets that were recorded and given up.
pub(crate) fn columns<'py>(python: Python<'py>, trace: &PacketTrace) -> PyResult<Bound<'py, PyDict>> {
    let result = PyDict::new(python);
    let mut reasons = Vec::new();
    let lost = trace.rows().map(|row| match row.stay {
        Stay::Sent { .. } => SENT,
        Stay::Lost(reason) => {
            let known = reasons.iter().position(|&known| known == reason);
            known.unwrap_or_else(|| {
                reasons.push(reason);
                reasons.len() - 1
            }) as u8
        }
    });
    result.set_item("lost", lost.collect::<Vec<_>>().into_pyarray(python))?;
    result.set_item("reasons", reasons.iter().map(|reason| reason.text()).collect::<Vec<_>>())?;
    result.set_item("dropped", trace.dropped())?;
    result.set_item("time_ns", column(python, trace, |row| row.time.nanos()))?;
    result.set_item("node", column(python, trace, |row| row.node))?;
    result.set_item("port", column(python, trace, |row| row.port.unwrap_or(u16::MAX)))?;
    result.set_item("queue", column(python, trace, |row| row.queue))?;
    result.set_item("flow", column(python, trace, |row| row.flow.unwrap_or(NONE)))?;
    result.set_item("by_client", column(python, trace, |row| row.five_tuple % 2 == 0))?;
    result.set_item("bytes", column(python, trace, |row| row.bytes))?;
    let sent = |row: &PacketRow| match row.stay {
        Stay::Sent { sojourn, enq_qdepth, deq_qdepth, marked } => (sojourn.nanos(), [enq_qdepth, deq_qdepth], marked),
        Stay::Lost(_) => (u64::MAX, [NONE; 2], false),
    };
    result.set_item("sojourn_ns", column(python, trace, |row| sent(row).0))?;
    result.set_item("enq_qdepth", column(python, trace, |row| sent(row).1[0]))?;
    result.set_item("deq_qdepth", column(python, trace, |row| sent(row).1[1]))?;
    result.set_item("marked", column(python, trace, |row| sent(row).2))?;
    Ok(result)
}

fn column<'py, Value: Element>(
    python: Python<'py>,
    trace: &PacketTrace,
    value: impl Fn(&PacketRow) -> Value,
) -> Bound<'py, PyArray1<Value>> {
    trace.rows().map(value).collect::<Vec<_>>().into_pyarray(python)
}
