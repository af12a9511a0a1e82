// SPDX-License-Identifier: MIT OR Apache-2.0
//! Simulated runs.

use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};

use hdrhistogram::Histogram;
use marklab_netsim::{
    BuildError, Config, Control, EchoRecord, Flow, FlowTrace, Join, LineReport, NetSwitch, Network, Node, Outcome,
    Parallelism, Predecessor, QueueSamples, Queueing, RunError, SampledPort, SenderRow, SenderTrace, Traffic, Wait,
};
use marklab_observe::Passage;
use marklab_pipeline::{Engine, State};
use marklab_switch::Switch;
use marklab_switch::replication::Mirror;
use marklab_units::Duration;
use numpy::{IntoPyArray, PyReadonlyArray1};
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3::types::PyDict;
use serde_json::{Value, json};

use crate::entries::{self, Setting};
use crate::program::Program;
use crate::{CancelledError, observed, packets, refuse, views};

/// Progress of a run, and the request to cancel it. Any thread may read and set it.
#[pyclass(frozen, module = "marklab._engine")]
pub(crate) struct Progress {
    pub(crate) inner: Arc<marklab_netsim::Progress>,
}

#[pymethods]
impl Progress {
    #[new]
    fn new() -> Progress {
        Progress { inner: Arc::new(marklab_netsim::Progress { clock: Some(cpu_ns), ..Default::default() }) }
    }

    /// Flows finished.
    #[getter]
    fn finished(&self) -> u64 {
        self.inner.finished.load(Ordering::Relaxed)
    }

    /// Virtual time in ns.
    #[getter]
    fn now_ns(&self) -> u64 {
        self.inner.now_ns.load(Ordering::Relaxed)
    }

    /// Counts flows that have finished where the engine does not see them.
    fn add(&self, flows: u64) {
        self.inner.finished.fetch_add(flows, Ordering::Relaxed);
    }

    /// Whether `cancel` was called.
    #[getter]
    fn cancelled(&self) -> bool {
        self.inner.cancel.load(Ordering::Relaxed)
    }

    /// The last picture that the run has taken, and has another one taken soon: time in ns, flows finished, and a dict as
    /// `Session.view` gives it. None before the first, and if the run is on several threads.
    fn picture<'py>(&self, python: Python<'py>) -> PyResult<Option<(u64, usize, Bound<'py, PyDict>)>> {
        self.inner.wants_picture.store(true, Ordering::Relaxed);
        let picture = self.inner.picture.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let shown = picture.map(|picture| {
            let lines = views::line_columns(python, &picture.lines)?;
            Ok((picture.now.nanos(), picture.finished, lines))
        });
        shown.transpose()
    }

    /// Ends the run soon; `simulate` then raises CancelledError.
    fn cancel(&self) {
        self.inner.cancel.store(true, Ordering::Relaxed);
    }
}

/// CPU time of the calling thread in ns.
fn cpu_ns() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// A time in ns that never goes back.
fn monotonic_ns() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Columns of the flow list.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Flows<'py> {
    start_ns: PyReadonlyArray1<'py, u64>,
    src: PyReadonlyArray1<'py, u32>,
    dst: PyReadonlyArray1<'py, u32>,
    size_bytes: PyReadonlyArray1<'py, u64>,
    dscp: PyReadonlyArray1<'py, u8>,
    extra_delay_ns: PyReadonlyArray1<'py, u64>,
    rate_bps: PyReadonlyArray1<'py, u64>,
    ecn: PyReadonlyArray1<'py, bool>,
    receive_window_bytes: PyReadonlyArray1<'py, u64>,
    base_delay_ns: PyReadonlyArray1<'py, u64>,
    after: PyReadonlyArray1<'py, i64>,
    same_connection: PyReadonlyArray1<'py, bool>,
    joins: Joins<'py>,
    control: PyReadonlyArray1<'py, u8>,
}

/// Points at hosts that flows wait for. The numbers of flows and joins in `wait_number` are those of `after`.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Joins<'py> {
    /// A row for each join.
    host: PyReadonlyArray1<'py, u32>,
    not_before_ns: PyReadonlyArray1<'py, u64>,
    /// A row for each wait of a join.
    wait_join: PyReadonlyArray1<'py, u32>,
    wait_number: PyReadonlyArray1<'py, u32>,
    wait_pause_ns: PyReadonlyArray1<'py, u64>,
}

impl Joins<'_> {
    fn rows(&self) -> PyResult<Vec<Join>> {
        let (host, not_before) = (self.host.as_slice()?, self.not_before_ns.as_slice()?);
        let (of, number, pause) =
            (self.wait_join.as_slice()?, self.wait_number.as_slice()?, self.wait_pause_ns.as_slice()?);
        if number.len() != of.len() || pause.len() != of.len() || host.len() != not_before.len() {
            return Err(refuse("the columns of joins differ in length"));
        }
        let join = |(&host, &not_before_ns): (&u32, &u64)| Join { host: host as usize, not_before_ns, waits: vec![] };
        let mut joins: Vec<Join> = host.iter().zip(not_before).map(join).collect();
        for ((&of, &number), &pause_ns) in of.iter().zip(number).zip(pause) {
            let join = joins.get_mut(of as usize).ok_or_else(|| refuse(format!("there is no join {of} to wait")))?;
            join.waits.push(Wait { number, pause_ns });
        }
        Ok(joins)
    }
}

/// In the column `after`: the flow waits for nothing.
const NO_FLOW: i64 = -1;

impl Flows<'_> {
    fn traffic(&self, own_controls: &[Control]) -> PyResult<Traffic> {
        let (start, src, dst) = (self.start_ns.as_slice()?, self.src.as_slice()?, self.dst.as_slice()?);
        let (size, dscp) = (self.size_bytes.as_slice()?, self.dscp.as_slice()?);
        let (extra, rate, ecn) = (self.extra_delay_ns.as_slice()?, self.rate_bps.as_slice()?, self.ecn.as_slice()?);
        let (window, base) = (self.receive_window_bytes.as_slice()?, self.base_delay_ns.as_slice()?);
        let (after, same) = (self.after.as_slice()?, self.same_connection.as_slice()?);
        let control = self.control.as_slice()?;
        let rows = start.len();
        let hosts = [src.len(), dst.len(), ecn.len(), window.len(), base.len(), extra.len()];
        let application = [size.len(), dscp.len(), rate.len(), after.len(), same.len(), control.len()];
        if hosts.iter().chain(&application).any(|&len| len != rows) {
            return Err(refuse("the columns of the flow list differ in length"));
        }
        if let Some(at) = after.iter().position(|&after| after != NO_FLOW && u32::try_from(after).is_err()) {
            return Err(refuse(format!(
                "flow {at}: `after` is {}; it must be {NO_FLOW} for none, or the number of a flow above it or of a join",
                after[at]
            )));
        }
        if let Some(at) = control.iter().position(|&number| usize::from(number) > own_controls.len()) {
            return Err(refuse(format!(
                "flow {at}: `control` is {}; it must be 0 for that of all flows, or 1..={} for one of `own_controls`",
                control[at],
                own_controls.len()
            )));
        }
        let row = |at: usize| Flow {
            start_ns: start[at],
            after: u32::try_from(after[at]).ok().map(|number| Predecessor { number, same_connection: same[at] }),
            src: src[at] as usize,
            dst: dst[at] as usize,
            size_bytes: size[at],
            dscp: dscp[at],
            extra_delay_ns: extra[at],
            rate_bps: rate[at],
            ecn: ecn[at],
            receive_window_bytes: window[at],
            base_delay_ns: base[at],
            control: usize::from(control[at]).checked_sub(1).map(|number| own_controls[number]),
        };
        Ok(Traffic { flows: (0..rows).map(row).collect(), joins: self.joins.rows()? })
    }
}

/// Runs a network until all flows have finished, without the interpreter lock.
///
/// `config` is the JSON of `marklab_netsim::Config`. `program` runs on all switches. `shared_entries` go into the tables
/// of all switches, `entries[i]` into those of the i-th switch. `seed` seeds the programs' random streams. The result is the
/// same for any number of `threads`. With `measured`, it runs on one, and measures how many it could keep busy: each of
/// these numbers.
///
/// Returns a dict with `report` (JSON) and numpy arrays: columns with a value per flow, and dicts of columns.
///
/// - `traces`: for each recorded port a list of records over time. The first is of all its queues together, with a column
///   `register_N` for each requested register cell. If the port has several queues, a record of each queue follows.
/// - `passages`: for each recorded port the columns of single packets, or None.
/// - `flow_trace`: bytes that flows delivered, over time; only if requested.
/// - `sender_trace`: windows and states of senders, over time; only if requested.
/// - `packet_trace`: packets at switches, one by one, as in `packets`; only if requested.
/// - `rtts`: round-trip times of TCP, and their number.
/// - `queue_samples`: sampled queue lengths, and their number; only if requested.
/// - `flow_samples`: the same for the number of flows that wait.
/// - `threads`: on how many it ran; `other_threads_ns`: CPU time of all except the calling one.
/// - `parallelism`: number of `windows`, `work_events` and `work_ns` in them, and columns with a value for each of the
///   measured numbers of threads: `span_events` and `span_ns`; only if requested.
/// - `probes`: a row for each request of a probe; `rtt_ns` is -1 if no reply came.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "keyword arguments in Python")]
#[pyo3(signature = (config, program, shared_entries, entries, flows, seed, progress, threads=1, measured=vec![]))]
pub(crate) fn simulate<'py>(
    python: Python<'py>,
    config: &str,
    program: &Program,
    shared_entries: &str,
    entries: Vec<PyBackedStr>,
    flows: Flows<'_>,
    seed: u64,
    progress: &Progress,
    threads: usize,
    measured: Vec<usize>,
) -> PyResult<Bound<'py, PyDict>> {
    let inputs = Inputs { config, program, shared_entries, entries: &entries, flows: &flows, seed };
    let (config, network) = inputs.network(&program.engine)?;
    let inner = progress.inner.clone();
    let run = || match &measured[..] {
        [] => network.run_on(&inner, threads).map(|outcome| (outcome, None)),
        numbers => {
            network.measure(&inner, numbers, monotonic_ns).map(|(outcome, parallelism)| (outcome, Some(parallelism)))
        }
    };
    let (outcome, parallelism) = python.detach(run).map_err(|error| failed(error, program, &config))?;
    let result = result(python, &config, outcome)?;
    result.set_item("other_threads_ns", progress.inner.other_threads_ns.load(Ordering::Relaxed))?;
    result.set_item("threads", progress.inner.threads.load(Ordering::Relaxed))?;
    if let Some(parallelism) = parallelism {
        result.set_item("parallelism", parallelism_columns(python, &parallelism)?)?;
    }
    Ok(result)
}

/// What a run is made from, as Python gives it.
pub(crate) struct Inputs<'a, 'py> {
    pub(crate) config: &'a str,
    pub(crate) program: &'a Program,
    pub(crate) shared_entries: &'a str,
    pub(crate) entries: &'a [PyBackedStr],
    pub(crate) flows: &'a Flows<'py>,
    pub(crate) seed: u64,
}

impl Inputs<'_, '_> {
    /// The network, whose switches run this engine of the program.
    pub(crate) fn network(&self, engine: &Arc<dyn Engine>) -> PyResult<(Config, Network)> {
        let config: Config =
            serde_json::from_str(self.config).map_err(|error| refuse(format!("configuration: {error}")))?;
        let shared = entries::parse(self.shared_entries)?;
        let traffic = self.flows.traffic(&config.own_controls)?;
        config.check_switches().map_err(refuse)?;
        let switches = self.switches(&config, &shared, engine)?;
        let network = Network::new(&config, traffic, switches).map_err(|error| match error {
            BuildError::Capture(_) => PyOSError::new_err(error.to_string()),
            BuildError::Config(_) => refuse(error),
        })?;
        Ok((config, network))
    }

    fn switches(&self, config: &Config, shared: &[Setting], engine: &Arc<dyn Engine>) -> PyResult<Vec<NetSwitch>> {
        let described = config.nodes.iter().filter_map(|node| match node {
            Node::Switch { name, ports, queueing, mirrors } => Some((name, *ports, queueing, &mirrors[..])),
            Node::Host { .. } => None,
        });
        let switch = |(number, (name, ports, queueing, mirrors)): (usize, Described<'_>)| {
            // Switches draw from streams of their own.
            let stream = self.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(number as u64);
            let mut state = State::new(&self.program.program, &self.program.layout, stream).map_err(refuse)?;
            entries::install(&mut state, shared)?;
            if let Some(own) = self.entries.get(number) {
                // Read where they are needed: the entries of 5,000 switches take gigabytes.
                entries::install(&mut state, &entries::parse(own)?)?;
            }
            let port = queueing.port().map_err(|error| refuse(format!("ports of switch `{name}`: {error}")))?;
            let mut switch = Switch::with_pool(engine.clone(), state, vec![port; ports], queueing.pool());
            for &(session, port) in mirrors {
                switch.control().1.add_session(session, Mirror::Port(port)).map_err(refuse)?;
            }
            Ok(switch)
        };
        described.enumerate().map(switch).collect()
    }
}

/// A failed run as a Python exception.
pub(crate) fn failed(error: RunError, program: &Program, config: &Config) -> PyErr {
    match error {
        RunError::Cancelled => CancelledError::new_err(error.to_string()),
        RunError::Capture(_) => PyOSError::new_err(error.to_string()),
        RunError::Assertion { node, failed } => {
            refuse(format!("{} (at {})", program.explain(failed), config.nodes[node].name()))
        }
    }
}

/// Work and spans of a run.
fn parallelism_columns<'py>(python: Python<'py>, measured: &Parallelism) -> PyResult<Bound<'py, PyDict>> {
    let result = PyDict::new(python);
    result.set_item("windows", measured.windows)?;
    result.set_item("work_events", measured.work.events)?;
    result.set_item("work_ns", measured.work.ns)?;
    let spans = || measured.spans.iter();
    result.set_item("span_events", spans().map(|span| span.longest.events).collect::<Vec<_>>().into_pyarray(python))?;
    result.set_item("span_ns", spans().map(|span| span.longest.ns).collect::<Vec<_>>().into_pyarray(python))?;
    Ok(result)
}

/// Name, number of ports, queues and mirror sessions of a switch.
type Described<'a> = (&'a String, usize, &'a Queueing, &'a [(u32, usize)]);

/// A value of each flow.
type FlowNumber = fn(&marklab_netsim::FlowRecord) -> u64;

/// All that was observed in a run.
pub(crate) fn result<'py>(python: Python<'py>, config: &Config, outcome: Outcome) -> PyResult<Bound<'py, PyDict>> {
    let result = PyDict::new(python);
    result.set_item("report", report(config, &outcome).to_string())?;
    let fct = |fct: Option<Duration>| fct.map_or(-1, |fct| fct.nanos() as i64);
    let flows = &outcome.flows;
    let column = |value: FlowNumber| -> Vec<u64> { flows.iter().map(value).collect() };
    result.set_item("fct_ns", flows.iter().map(|flow| fct(flow.fct)).collect::<Vec<i64>>().into_pyarray(python))?;
    let starts = outcome.starts.iter().map(|start| start.map_or(-1, |start| start.nanos() as i64));
    result.set_item("start_ns", starts.collect::<Vec<_>>().into_pyarray(python))?;
    let columns: [(&str, FlowNumber); 9] = [
        ("retransmissions", |flow| flow.sender.retransmissions),
        ("timeouts", |flow| flow.sender.timeouts),
        ("fast_recoveries", |flow| flow.sender.fast_recoveries),
        ("ecn_reductions", |flow| flow.sender.ecn_reductions),
        ("marked_packets", |flow| flow.marked),
        ("delivered_bytes", |flow| flow.delivered_bytes),
        ("rtt_mean_ns", |flow| flow.sender.rtt_ns.checked_div(flow.sender.rtt_samples).unwrap_or(0)),
        ("cwnd_mean_bytes", |flow| flow.sender.cwnd_bytes.checked_div(flow.sender.rtt_samples).unwrap_or(0)),
        ("base_delay_ns", |flow| flow.base_delay.map_or(0, Duration::nanos)),
    ];
    for (name, value) in columns {
        result.set_item(name, column(value).into_pyarray(python))?;
    }
    let traces = outcome.traces.iter().map(|trace| observed::port_columns(python, trace));
    result.set_item("traces", traces.collect::<PyResult<Vec<_>>>()?)?;
    let passages = outcome.traces.iter().map(|trace| {
        let columns = trace.packets().map(|packets| passage_columns(python, packets));
        columns.transpose()
    });
    result.set_item("passages", passages.collect::<PyResult<Vec<_>>>()?)?;
    if let Some(trace) = &outcome.flow_trace {
        result.set_item("flow_trace", flow_columns(python, trace)?)?;
    }
    if let Some(trace) = &outcome.sender_trace {
        result.set_item("sender_trace", sender_columns(python, trace)?)?;
    }
    if let Some(trace) = &outcome.packet_trace {
        result.set_item("packet_trace", packets::columns(python, trace)?)?;
    }
    result.set_item("probes", probe_columns(python, &outcome.probes)?)?;
    result.set_item("rtts", rtt_columns(python, &outcome.rtts)?)?;
    if let Some(samples) = &outcome.queue_samples {
        result.set_item("queue_samples", sample_columns(python, samples, "packets", |port| &port.seen)?)?;
        result.set_item("flow_samples", sample_columns(python, samples, "flows", |port| &port.flows)?)?;
    }
    Ok(result)
}

/// Columns of a histogram of round-trip times: the middle of each range that has any, and their number.
pub(crate) fn rtt_columns<'py>(python: Python<'py>, rtts: &Histogram<u64>) -> PyResult<Bound<'py, PyDict>> {
    let result = PyDict::new(python);
    let counted: Vec<_> = rtts.iter_recorded().collect();
    let values: Vec<_> = counted.iter().map(|step| rtts.median_equivalent(step.value_iterated_to())).collect();
    result.set_item("rtt_ns", values.into_pyarray(python))?;
    let packets: Vec<_> = counted.iter().map(|step| step.count_since_last_iteration()).collect();
    result.set_item("packets", packets.into_pyarray(python))?;
    Ok(result)
}

/// Columns of samples of queues: one row per port and number of what was counted, which the column `counted` has.
fn sample_columns<'py>(
    python: Python<'py>,
    samples: &QueueSamples,
    counted: &str,
    of: fn(&SampledPort) -> &[u64],
) -> PyResult<Bound<'py, PyDict>> {
    let rows: Vec<_> = samples
        .ports
        .iter()
        .flat_map(|port| of(port).iter().enumerate().map(move |(number, &looks)| (port, number, looks)))
        .filter(|&(_, _, looks)| looks > 0)
        .collect();
    let result = PyDict::new(python);
    let column = |value: fn(&(&SampledPort, usize, u64)) -> u64| -> Vec<u64> { rows.iter().map(value).collect() };
    for (name, value) in [
        ("node", (|row| row.0.node as u64) as fn(&(&SampledPort, usize, u64)) -> u64),
        ("port", |row| row.0.port as u64),
        (counted, |row| row.1 as u64),
        ("looks", |row| row.2),
    ] {
        result.set_item(name, column(value).into_pyarray(python))?;
    }
    Ok(result)
}

/// Columns of a record of packets. Packets that belong to no flow have the largest number as their flow.
fn passage_columns<'py>(python: Python<'py>, packets: &[Passage]) -> PyResult<Bound<'py, PyDict>> {
    let result = PyDict::new(python);
    let times = |value: fn(&Passage) -> u64| packets.iter().map(value).collect::<Vec<_>>().into_pyarray(python);
    result.set_item("arrived_ns", times(|row| row.arrived.nanos()))?;
    result.set_item("departed_ns", times(|row| row.departed.nanos()))?;
    let numbers = |value: fn(&Passage) -> u32| packets.iter().map(value).collect::<Vec<_>>().into_pyarray(python);
    result.set_item("five_tuple", numbers(|row| row.five_tuple))?;
    result.set_item("flow", numbers(|row| row.flow.unwrap_or(u32::MAX)))?;
    result.set_item("bytes", numbers(|row| row.bytes))?;
    result.set_item("marked", packets.iter().map(|row| row.marked).collect::<Vec<_>>().into_pyarray(python))?;
    Ok(result)
}

/// Columns of a record of the bytes that flows delivered.
fn flow_columns<'py>(python: Python<'py>, trace: &FlowTrace) -> PyResult<Bound<'py, PyDict>> {
    let rows = trace.rows();
    let result = PyDict::new(python);
    result.set_item("time_ns", rows.iter().map(|row| row.time.nanos()).collect::<Vec<_>>().into_pyarray(python))?;
    result.set_item("flow", rows.iter().map(|row| row.flow).collect::<Vec<_>>().into_pyarray(python))?;
    result.set_item("bytes", rows.iter().map(|row| row.bytes).collect::<Vec<_>>().into_pyarray(python))?;
    Ok(result)
}

/// Columns of a record of senders. A threshold that does not exist yet is the largest number.
fn sender_columns<'py>(python: Python<'py>, trace: &SenderTrace) -> PyResult<Bound<'py, PyDict>> {
    let rows = trace.rows();
    let result = PyDict::new(python);
    let numbers = |value: fn(&SenderRow) -> u64| rows.iter().map(value).collect::<Vec<_>>().into_pyarray(python);
    result.set_item("time_ns", numbers(|row| row.time.nanos()))?;
    result.set_item("flow", rows.iter().map(|row| row.flow).collect::<Vec<_>>().into_pyarray(python))?;
    result.set_item("cwnd_bytes", numbers(|row| row.cwnd))?;
    result.set_item("ssthresh_bytes", numbers(|row| row.ssthresh))?;
    result.set_item("state", rows.iter().map(|row| row.state as u8).collect::<Vec<_>>().into_pyarray(python))?;
    result.set_item("alpha", rows.iter().map(|row| row.alpha).collect::<Vec<_>>().into_pyarray(python))?;
    Ok(result)
}

/// Columns of the results of probes: probe by probe, each in order of time.
fn probe_columns<'py>(python: Python<'py>, probes: &[Vec<EchoRecord>]) -> PyResult<Bound<'py, PyDict>> {
    let rows = || probes.iter().enumerate().flat_map(|(probe, records)| records.iter().map(move |row| (probe, row)));
    let result = PyDict::new(python);
    result.set_item("probe", rows().map(|(probe, _)| probe as u32).collect::<Vec<_>>().into_pyarray(python))?;
    result.set_item("time_ns", rows().map(|(_, row)| row.sent.nanos()).collect::<Vec<_>>().into_pyarray(python))?;
    let rtt = |row: &EchoRecord| row.rtt.map_or(-1, |rtt| rtt.nanos() as i64);
    result.set_item("rtt_ns", rows().map(|(_, row)| rtt(row)).collect::<Vec<_>>().into_pyarray(python))?;
    Ok(result)
}

/// All results that are not columns.
fn report(config: &Config, outcome: &Outcome) -> Value {
    let name = |node: usize| config.nodes[node].name();
    let drops = outcome.ledger.iter().map(|(node, port, reason, packets)| {
        json!({"place": reason.place(), "node": name(node), "port": port, "reason": reason.text(), "packets": packets})
    });
    let lines = outcome.lines.iter().map(|line| reported_line(&name, line));
    let mut ports = Vec::new();
    let mut counters = Vec::new();
    let mut faults = 0;
    for switch in &outcome.switches {
        for (number, port) in switch.ports.iter().enumerate() {
            ports.push(json!({
                "node": name(switch.node),
                "port": number,
                "marked": port.marked,
                "enqueued": port.queue.enqueued,
                "dropped": port.queue.dropped,
                "max_packets": port.queue.max.packets,
                "max_bytes": port.queue.max.bytes,
            }));
        }
        faults += switch.state.faults;
        counters.extend(observed::counters(&switch.state).map(|mut cell| {
            cell["node"] = name(switch.node).into();
            cell
        }));
    }
    let mut reported = json!({
        "drops": drops.collect::<Vec<_>>(),
        "lines": lines.collect::<Vec<_>>(),
        "ports": ports,
        "counters": counters,
        "faults": faults,
        "ecn": {
            "bleached": outcome.ecn.bleached,
            "forged": outcome.ecn.forged,
            "erased": outcome.ecn.erased,
            "rewritten": outcome.ecn.rewritten,
            "refused": outcome.ecn.refused,
        },
        "link_transmissions": outcome.link_transmissions,
        "events": outcome.events,
        "arrivals_end_ns": outcome.arrivals_end.nanos(),
        "end_ns": outcome.end.nanos(),
    });
    if let Some(priorities) = &outcome.priorities {
        let each = priorities.iter().map(|each| json!({"sent": each.sent, "marked": each.marked}));
        reported["priorities"] = each.collect();
    }
    reported
}

/// A direction of a link.
fn reported_line<'a>(name: &impl Fn(usize) -> &'a str, line: &LineReport) -> Value {
    let mut reported = json!({
        "from": [name(line.from.0), line.from.1],
        "to": [name(line.to.0), line.to.1],
        "frames": line.stats.frames,
        "wire_bytes": line.stats.bytes,
        "busy_ns": line.stats.busy.nanos(),
        "busy_during_arrivals_ns": line.busy_during_arrivals.nanos(),
    });
    if let Some(pauses) = line.pauses {
        reported["pauses"] = json!({
            "pauses": pauses.pauses,
            "frames": pauses.frames,
            "paused_ns": pauses.paused.nanos(),
            "max_held_bytes": pauses.max_held_bytes,
        });
    }
    reported
}
