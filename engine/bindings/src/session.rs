// SPDX-License-Identifier: MIT OR Apache-2.0
//! Runs in steps, to look at.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use marklab_netsim::{Birth, Config, End, Hop, Journey, RunError, TracePackets, Wanted};
use marklab_pipeline::{Engine, Packet, Spotlight};
use marklab_tm::Depth;
use marklab_units::{Duration, Time};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3::types::PyDict;
use serde_json::{Value, json};

use crate::program::Program;
use crate::simulate::{Flows, Inputs, failed};
use crate::{packets, refuse, trace, views};

/// A run in steps: the same events in the same order as in `simulate`.
#[pyclass(frozen, module = "marklab._engine")]
pub(crate) struct Session {
    /// Boxed, since Python's allocator does not align to cache lines.
    inner: Mutex<Box<marklab_netsim::Session>>,
    spotlight: Arc<Spotlight>,
    program: Py<Program>,
    config: Config,
}

/// Node and port of both ends of a line.
type Line = (usize, usize, usize, usize);

/// Arrival of a packet from its host: time in ns, switch, port.
type Arrival = (u64, usize, usize);

#[pymethods]
impl Session {
    /// A run before its first event; the arguments are those of `simulate`.
    #[new]
    fn new(
        config: &str,
        program: Py<Program>,
        shared_entries: &str,
        entries: Vec<PyBackedStr>,
        flows: Flows<'_>,
        seed: u64,
    ) -> PyResult<Session> {
        let own = program.get();
        let spotlight = Arc::new(Spotlight::new(own.engine.clone(), &own.program, &own.layout));
        let engine: Arc<dyn Engine> = spotlight.clone();
        let inputs = Inputs { config, program: own, shared_entries, entries: &entries, flows: &flows, seed };
        let (config, network) = inputs.network(&engine)?;
        let inner = Mutex::new(Box::new(marklab_netsim::Session::new(network)));
        Ok(Session { inner, spotlight, program, config })
    }

    /// Time of the last event in ns.
    #[getter]
    fn now_ns(&self) -> u64 {
        self.inner().now().nanos()
    }

    /// Events handled.
    #[getter]
    fn events(&self) -> u64 {
        self.inner().events()
    }

    /// Flows finished.
    #[getter]
    fn finished(&self) -> usize {
        self.inner().finished()
    }

    /// Whether the run has ended.
    #[getter]
    fn ended(&self) -> bool {
        self.inner().ended()
    }

    /// Node and port of both ends of each line: `simulate`'s numbers of nodes.
    fn lines(&self) -> Vec<Line> {
        self.inner().lines().iter().map(|&[from, to]| (from.0, from.1, to.0, to.1)).collect()
    }

    /// Handles the events up to a time, at most `most` of them, without the interpreter lock. Returns whether it has
    /// handled all up to that time.
    fn run(&self, python: Python<'_>, until_ns: u64, most: u64) -> PyResult<bool> {
        let done = python.detach(|| self.inner().run(Time::from_nanos(until_ns), most));
        done.map_err(|error| self.failed(error))
    }

    /// How the lines stand now: a dict of numpy arrays with a value per line, in the order of `lines`. `frames`,
    /// `wire_bytes`, `marked` and `lost` count from the start; `packets` and `bytes` wait at the switch port.
    fn view<'py>(&self, python: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        views::line_columns(python, &self.inner().view())
    }

    /// Records the packets of a flow at switches from now on, the last `last` ones, for `packets`.
    fn record(&self, flow: u32, last: usize) -> PyResult<()> {
        let flows = self.inner().flows();
        if flow as usize >= flows || last == 0 {
            return Err(refuse(format!("there are {flows} flows, and a record needs room for a packet")));
        }
        self.inner().record(TracePackets { ports: Vec::new(), only: Vec::new(), flow: Some(flow), last });
        Ok(())
    }

    /// The packets that were recorded so far, as `simulate` gives them; None if none are.
    fn packets<'py>(&self, python: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        self.inner().packets().map(|trace| packets::columns(python, &trace)).transpose()
    }

    /// The sender of a flow as a dict, or None: `cwnd_bytes`, `ssthresh_bytes` (None before the first reduction),
    /// `pipe_bytes`, `acknowledged_bytes`, `srtt_ns`, `alpha`, `state`, `retransmissions`, `timeouts`, `ecn_reductions`.
    fn sender<'py>(&self, python: Python<'py>, flow: u32) -> PyResult<Option<Bound<'py, PyDict>>> {
        let Some(view) = self.inner().sender(flow) else { return Ok(None) };
        let result = PyDict::new(python);
        result.set_item("cwnd_bytes", view.cwnd)?;
        result.set_item("ssthresh_bytes", (view.ssthresh < u64::MAX).then_some(view.ssthresh))?;
        result.set_item("pipe_bytes", view.pipe)?;
        result.set_item("acknowledged_bytes", view.acknowledged)?;
        result.set_item("srtt_ns", view.srtt.map(Duration::nanos))?;
        result.set_item("alpha", view.alpha)?;
        result.set_item("state", view.state as u8)?;
        result.set_item("retransmissions", view.stats.retransmissions)?;
        result.set_item("timeouts", view.stats.timeouts)?;
        result.set_item("ecn_reductions", view.stats.ecn_reductions)?;
        Ok(Some(result))
    }

    /// Runs on to the first packet that does what is `wanted` at a port of a switch, at `from_ns` or later: a
    /// `departure`, a `mark`, or a `loss`. Returns its time in ns, and its arrival from its host, which `follow` takes;
    /// None for the arrival if that was before the session began to look. None if there is no such packet until the end.
    fn find(
        &self,
        python: Python<'_>,
        node: usize,
        port: usize,
        from_ns: u64,
        wanted: &str,
    ) -> PyResult<Option<(u64, Option<Arrival>)>> {
        let wanted = match wanted {
            "departure" => Wanted::Departure,
            "mark" => Wanted::Mark,
            "loss" => Wanted::Loss,
            _ => return Err(refuse(format!("`{wanted}` cannot be looked for; try departure, mark or loss"))),
        };
        if node >= self.config.nodes.len() {
            return Err(refuse(format!("there is no node {node}")));
        }
        let found = python.detach(|| self.inner().find(node, port, Time::from_nanos(from_ns), wanted));
        let found = found.map_err(|error| self.failed(error))?;
        let arrival = |birth: Birth| (birth.time.nanos(), birth.node, birth.port);
        Ok(found.map(|sighting| (sighting.time.nanos(), sighting.birth.map(arrival))))
    }

    /// Runs on through all that happens to the packet of an arrival, and returns it as JSON; None if no packet arrives
    /// there at that time.
    fn follow(&self, python: Python<'_>, arrival: Arrival) -> PyResult<Option<String>> {
        let (time, node, port) = arrival;
        let birth = Birth { time: Time::from_nanos(time), node, port };
        let journey =
            python.detach(|| self.inner().follow(&self.spotlight, birth)).map_err(|error| self.failed(error))?;
        Ok(journey.map(|journey| self.described(&journey).to_string()))
    }
}

impl Session {
    fn inner(&self) -> MutexGuard<'_, Box<marklab_netsim::Session>> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn failed(&self, error: RunError) -> PyErr {
        failed(error, self.program.get(), &self.config)
    }

    fn name(&self, node: usize) -> &str {
        self.config.nodes[node].name()
    }

    fn described(&self, journey: &Journey) -> Value {
        let end = match journey.end {
            End::Delivered { time, node } => {
                json!({"kind": "delivered", "time_ns": time.nanos(), "node": self.name(node)})
            }
            End::Lost { time, port, reason } => json!({
                "kind": "lost", "time_ns": time.nanos(), "port": port, "place": reason.place(), "reason": reason.text(),
            }),
            End::Underway => json!({"kind": "under way"}),
        };
        json!({
            "flow": journey.flow,
            "by_client": journey.by_client,
            "hops": journey.hops.iter().map(|hop| self.hop(hop)).collect::<Vec<_>>(),
            "end": end,
        })
    }

    fn hop(&self, hop: &Hop) -> Value {
        let program = self.program.get();
        let depth = |depth: Depth| json!({"packets": depth.packets, "bytes": depth.bytes});
        let queued = hop
            .queued
            .map(|queued| json!({"port": queued.port, "found": depth(queued.found), "left": depth(queued.left)}));
        let left = hop.left.as_ref().map(|(time, packet)| json!({"time_ns": time.nanos(), "packet": bytes(packet)}));
        json!({
            "node": self.name(hop.node),
            "ingress_port": hop.ingress_port,
            "arrived_ns": hop.arrived.nanos(),
            "packet": bytes(&hop.before),
            "queue": queued,
            "left": left,
            "marked": hop.marked,
            "events": trace::to_json(&hop.seen.events, &program.program, &program.sources),
        })
    }
}

/// The stored bytes of a packet in hexadecimal digits, and its length. The bytes that are not stored are 0.
fn bytes(packet: &Packet) -> Value {
    let stored: String = packet.stored().iter().map(|byte| format!("{byte:02x}")).collect();
    json!({"stored": stored, "bytes": packet.len()})
}
