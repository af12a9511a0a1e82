// SPDX-License-Identifier: MIT OR Apache-2.0
//! Flows over real TCP connections.

use std::net::SocketAddrV4;
use std::sync::{Mutex, PoisonError};

use marklab_replay::{Connections, Departure, Direction, Flow, FlowRecord, Plan, Server, Watch, replay};
use numpy::{IntoPyArray, PyReadonlyArray1};
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::refuse;
use crate::simulate::Progress;

fn watch(progress: &Progress) -> Watch<'_> {
    Watch { ended: &progress.inner.finished, cancel: &progress.inner.cancel }
}

fn address(text: &str) -> PyResult<SocketAddrV4> {
    text.parse().map_err(|_| refuse(format!("`{text}` is not an IPv4 address and port")))
}

/// Receives flows from clients, and sends the flows that clients request. Listens from its creation on.
#[pyclass(frozen, module = "marklab._engine")]
pub(crate) struct FlowServer {
    /// The address that it listens on, as `address:port`.
    #[pyo3(get)]
    address: String,
    server: Mutex<Option<Server>>,
}

#[pymethods]
impl FlowServer {
    /// Listens on an address such as `10.0.0.1:5000`; port 0 chooses a free port.
    #[new]
    fn new(listen: &str) -> PyResult<FlowServer> {
        let failed = |error| PyOSError::new_err(format!("cannot listen on {listen}: {error}"));
        let server = Server::bind(address(listen)?).map_err(failed)?;
        let address = server.address().map_err(failed)?.to_string();
        Ok(FlowServer { address, server: Mutex::new(Some(server)) })
    }

    /// Serves until it is cancelled, without the interpreter lock; once.
    ///
    /// Returns columns of the flows that it received: `flow`, `end_ns` (CLOCK_MONOTONIC, -1 if the last byte has not
    /// come) and `bytes`; and of the flows that clients requested: `asked`, the flow, and counts of its segments,
    /// `asked_retransmissions`, `asked_timeouts` and `asked_marked`.
    fn serve<'py>(&self, python: Python<'py>, progress: &Progress) -> PyResult<Bound<'py, PyDict>> {
        let server = self.server.lock().unwrap_or_else(PoisonError::into_inner).take();
        let server = server.ok_or_else(|| refuse("the server has served already"))?;
        let served = python.detach(|| server.serve(watch(progress)))?;
        let arrivals = &served.arrivals;
        let result = PyDict::new(python);
        result.set_item("flow", arrivals.iter().map(|row| row.flow).collect::<Vec<_>>().into_pyarray(python))?;
        let ends = arrivals.iter().map(|row| instant(row.end_ns)).collect::<Vec<_>>();
        result.set_item("end_ns", ends.into_pyarray(python))?;
        result.set_item("bytes", arrivals.iter().map(|row| row.bytes).collect::<Vec<_>>().into_pyarray(python))?;
        let asked = served.departures.iter().map(|row| row.flow).collect::<Vec<_>>();
        result.set_item("asked", asked.into_pyarray(python))?;
        let counts =
            |value: fn(&Departure) -> u64| served.departures.iter().map(value).collect::<Vec<_>>().into_pyarray(python);
        result.set_item("asked_retransmissions", counts(|row| row.sender.retransmissions))?;
        result.set_item("asked_timeouts", counts(|row| row.sender.timeouts))?;
        result.set_item("asked_marked", counts(|row| row.sender.marked))?;
        Ok(result)
    }
}

/// Columns of the flows that a client starts. `peer` is an index into the list of servers; that server sends a `pull`.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct ClientFlows<'py> {
    id: PyReadonlyArray1<'py, u32>,
    start_ns: PyReadonlyArray1<'py, u64>,
    peer: PyReadonlyArray1<'py, u32>,
    size_bytes: PyReadonlyArray1<'py, u64>,
    dscp: PyReadonlyArray1<'py, u8>,
    ttl: PyReadonlyArray1<'py, u8>,
    pull: PyReadonlyArray1<'py, bool>,
}

impl ClientFlows<'_> {
    fn rows(&self, peers: &[SocketAddrV4]) -> PyResult<Vec<Flow>> {
        let (id, start, peer) = (self.id.as_slice()?, self.start_ns.as_slice()?, self.peer.as_slice()?);
        let (size, dscp) = (self.size_bytes.as_slice()?, self.dscp.as_slice()?);
        let (ttl, pull) = (self.ttl.as_slice()?, self.pull.as_slice()?);
        if [start.len(), peer.len(), size.len(), dscp.len(), ttl.len(), pull.len()].iter().any(|&len| len != id.len()) {
            return Err(refuse("the columns of the flow list differ in length"));
        }
        let row = |at: usize| {
            let unknown = || refuse(format!("flow {}: there is no server {}", id[at], peer[at]));
            Ok(Flow {
                id: id[at],
                start_ns: start[at],
                peer: *peers.get(peer[at] as usize).ok_or_else(unknown)?,
                size_bytes: size[at],
                dscp: dscp[at],
                ttl: ttl[at],
                direction: if pull[at] { Direction::Pull } else { Direction::Push },
            })
        };
        (0..id.len()).map(row).collect()
    }
}

/// Replays flows to `peers` (`address:port`) over real connections, without the interpreter lock, until all have ended,
/// until `stop_at_ns` (CLOCK_MONOTONIC, as `start_at_ns`), or until it is cancelled.
///
/// `per_pair` is the number of connections to each server that are opened before the start, or None for a connection per
/// flow.
///
/// Returns columns: `id`, `start_ns` (-1 if it did not start), `late_ns`, `end_ns` (-1 if it is not done), `status` (an
/// index into FLOW_STATUSES), `errno` (of `failed`, else 0), `bytes`, and counts of the client's segments,
/// `retransmissions`, `timeouts` and `marked`. Times are since `start_at_ns`.
#[pyfunction]
#[pyo3(signature = (flows, peers, start_at_ns, stop_at_ns, per_pair, progress))]
pub(crate) fn replay_flows<'py>(
    python: Python<'py>,
    flows: ClientFlows<'_>,
    peers: Vec<String>,
    start_at_ns: u64,
    stop_at_ns: u64,
    per_pair: Option<u32>,
    progress: &Progress,
) -> PyResult<Bound<'py, PyDict>> {
    let peers = peers.iter().map(|text| address(text)).collect::<PyResult<Vec<_>>>()?;
    let rows = flows.rows(&peers)?;
    let connections = per_pair.map_or(Connections::New, |per_pair| Connections::Persistent { per_pair });
    let plan = Plan { flows: &rows, connections, start_at_ns, stop_at_ns };
    let records = python.detach(|| replay(&plan, watch(progress)))?;
    columns(python, &records)
}

fn columns<'py>(python: Python<'py>, records: &[FlowRecord]) -> PyResult<Bound<'py, PyDict>> {
    let result = PyDict::new(python);
    result.set_item("id", records.iter().map(|row| row.id).collect::<Vec<_>>().into_pyarray(python))?;
    let instants =
        |value: fn(&FlowRecord) -> Option<u64>| -> Vec<i64> { records.iter().map(|row| instant(value(row))).collect() };
    result.set_item("start_ns", instants(|row| row.start_ns).into_pyarray(python))?;
    result.set_item("end_ns", instants(|row| row.end_ns).into_pyarray(python))?;
    let numbers = |value: fn(&FlowRecord) -> u64| records.iter().map(value).collect::<Vec<u64>>();
    result.set_item("late_ns", numbers(|row| row.late_ns).into_pyarray(python))?;
    result.set_item("bytes", numbers(|row| row.bytes).into_pyarray(python))?;
    result.set_item("retransmissions", numbers(|row| row.sender.retransmissions).into_pyarray(python))?;
    result.set_item("timeouts", numbers(|row| row.sender.timeouts).into_pyarray(python))?;
    result.set_item("marked", numbers(|row| row.sender.marked).into_pyarray(python))?;
    result.set_item("status", records.iter().map(|row| row.status.code()).collect::<Vec<_>>().into_pyarray(python))?;
    result.set_item("errno", records.iter().map(|row| row.status.errno()).collect::<Vec<_>>().into_pyarray(python))?;
    Ok(result)
}

/// -1 stands for an event that did not happen, as in the columns of a simulation.
fn instant(ns: Option<u64>) -> i64 {
    ns.map_or(-1, |ns| ns as i64)
}
