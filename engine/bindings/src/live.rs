// SPDX-License-Identifier: MIT OR Apache-2.0
//! A switch in real time, for Python.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration as Patience;

use marklab_live::{
    Clock, Delays, Failure, Framing, Lateness, LineConfig, LiveSwitch as Switch, Mailbox, MailboxEnd, PacketSocket,
    Report, Runner,
};
use marklab_netsim::Queueing;
use marklab_observe::{CaptureFile, Cell, PortTrace};
use marklab_pipeline::State;
use marklab_tm::PortConfig;
use marklab_units::{Duration, Rate, Time};
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::control::{Control, Target, to_python};
use crate::program::Program;
use crate::{entries, harness, observed, refuse};

/// Description of a switch, from JSON.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Config {
    interfaces: Vec<Interface>,
    /// Queues of each port; by default, one without a limit, or as many as the program can choose from.
    #[serde(default)]
    queueing: Option<Value>,
    /// Port of the control plane.
    #[serde(default)]
    cpu_port: Option<usize>,
    /// Processor that the switch stays on; by default it runs on any.
    #[serde(default)]
    cpu: Option<usize>,
    #[serde(default)]
    traces: Vec<Trace>,
    #[serde(default)]
    captures: Vec<Capture>,
}

/// An interface and its line.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Interface {
    port: usize,
    name: String,
    /// By default, frames are sent as fast as the interface takes them.
    #[serde(default)]
    rate_bps: Option<u64>,
    #[serde(default)]
    delay_ns: u64,
    #[serde(default)]
    min_bytes: u32,
    #[serde(default)]
    overhead_bytes: i32,
    /// Rate of the line over which frames come in, if they are handed over with their first bit.
    #[serde(default)]
    arrival_rate_bps: Option<u64>,
    /// Delay of all frames that come in.
    #[serde(default)]
    arrival_delay_ns: u64,
    /// Additional delay of an IPv4 packet, indexed by its TTL minus 64.
    #[serde(default)]
    ttl_delays_ns: Vec<u64>,
}

/// A port whose queues are recorded.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Trace {
    port: usize,
    /// At most one row per this many ns.
    interval_ns: u64,
    /// Register cells that are recorded with the queues.
    #[serde(default)]
    registers: Vec<Cell>,
}

/// A port whose frames are written to a file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Capture {
    port: usize,
    path: PathBuf,
}

impl Interface {
    fn line(&self) -> PyResult<LineConfig> {
        let rate = self.rate(self.rate_bps)?;
        Ok(LineConfig { rate, delay: Duration::from_nanos(self.delay_ns), framing: self.framing() })
    }

    fn framing(&self) -> Framing {
        Framing { min_bytes: self.min_bytes, overhead_bytes: self.overhead_bytes }
    }

    fn rate(&self, bps: Option<u64>) -> PyResult<Option<Rate>> {
        bps.map(|bps| {
            Rate::from_bps(bps).ok_or_else(|| refuse(format!("interface `{}`: the rate must not be 0", self.name)))
        })
        .transpose()
    }

    fn delays(&self) -> PyResult<Delays> {
        let by_ttl = self.ttl_delays_ns.iter().map(|&ns| Duration::from_nanos(ns)).collect();
        let rate = self.rate(self.arrival_rate_bps)?;
        Ok(Delays::new(Duration::from_nanos(self.arrival_delay_ns), by_ttl).over(rate, self.framing()))
    }
}

impl Config {
    /// Starts the requested traces and captures.
    fn record(&self, switch: &mut Switch, queues: &PortConfig, clock: &Clock) -> PyResult<()> {
        let attached = self.interfaces.iter().map(|interface| interface.port).chain(self.cpu_port);
        let attached: Vec<usize> = attached.collect();
        let check = |port: usize| match attached.contains(&port) {
            true => Ok(port),
            false => Err(refuse(format!("port {port} has no interface, so nothing can be recorded there"))),
        };
        for trace in &self.traces {
            let state = switch.switch().state();
            let cells = trace.registers.iter().map(|cell| cell.find(state)).collect::<Result<_, _>>();
            let interval = Duration::from_nanos(trace.interval_ns);
            let record = PortTrace::new(interval, queues, cells.map_err(refuse)?, false);
            switch.trace(check(trace.port)?, record);
        }
        for Capture { port, path } in &self.captures {
            let file = CaptureFile::create(path, clock.started_at());
            let file = file.map_err(|error| PyOSError::new_err(error.to_string()))?;
            switch.capture(check(*port)?, file);
        }
        Ok(())
    }
}

/// A switch that runs a program between interfaces of this machine, in its own thread, from its creation until `stop`
/// or `end`.
#[pyclass(extends = Control, frozen, module = "marklab._engine")]
pub(crate) struct LiveSwitch {
    runner: Arc<Runner>,
    clock: Clock,
    cpu: Option<MailboxEnd>,
}

#[pymethods]
impl LiveSwitch {
    /// Starts a switch. `config` describes its interfaces and queues (JSON: `Config` in engine/bindings/src/live.rs),
    /// `entries` its table entries (JSON).
    #[new]
    #[pyo3(signature = (program, config, entries = "[]", seed = 0))]
    fn new(program: &Program, config: &str, entries: &str, seed: u64) -> PyResult<PyClassInitializer<LiveSwitch>> {
        let config: Config = serde_json::from_str(config).map_err(|error| refuse(format!("switch: {error}")))?;
        let Program { program: ir, layout, engine, .. } = program;
        let mut state = State::new(ir, layout, seed).map_err(refuse)?;
        entries::install(&mut state, &entries::parse(entries)?)?;
        let queueing = config.queueing.as_ref().map(Value::to_string);
        let port = harness::port(ir, queueing.as_deref())?;
        let pool = match &config.queueing {
            None => None,
            Some(queueing) => Queueing::deserialize(queueing).map_err(refuse)?.pool(),
        };
        let numbers = config.interfaces.iter().map(|interface| interface.port).chain(config.cpu_port);
        let ports = numbers.max().map_or(0, |largest| largest + 1);
        if ports > harness::PORTS {
            return Err(refuse(format!("there is no port {}: ports are 0 to {}", ports - 1, harness::PORTS - 1)));
        }
        let mut switch = Switch::new(engine.clone(), state, vec![port.clone(); ports], pool);
        for interface in &config.interfaces {
            let socket = PacketSocket::open(&interface.name).map_err(refuse)?;
            switch.attach(interface.port, Box::new(socket), interface.line()?, interface.delays()?);
        }
        let cpu = config.cpu_port.map(|port| {
            let (mailbox, end) = Mailbox::new();
            switch.attach(port, Box::new(mailbox), LineConfig::default(), Delays::default());
            end
        });
        let clock = Clock::start();
        config.record(&mut switch, &port, &clock)?;
        let runner = Arc::new(Runner::start(switch, clock, config.cpu).map_err(|error| match config.cpu {
            Some(cpu) => refuse(format!("the switch cannot run on processor {cpu}: {error}")),
            None => refuse(error),
        })?);
        let control = Control::new(Target::Live(runner.clone()));
        Ok(PyClassInitializer::from(control).add_subclass(LiveSwitch { runner, clock, cpu }))
    }

    /// Passes a frame to a port, as if its interface had received it. Raises EngineError if there is no such port.
    fn inject(&self, python: Python<'_>, port: usize, frame: Vec<u8>) -> PyResult<()> {
        let inject = move || {
            self.runner.with(move |switch, now| {
                if port >= switch.ports() {
                    return Err(format!("there is no port {port}"));
                }
                switch.inject(now, port, &frame);
                Ok(())
            })
        };
        python.detach(inject).map_err(refuse)?.map_err(refuse)
    }

    /// Returns the frames that were sent to the CPU port since the last call; waits up to `seconds` for the first one.
    fn packets_in<'py>(&self, python: Python<'py>, seconds: f64) -> PyResult<Vec<Bound<'py, PyBytes>>> {
        let cpu = self.cpu.as_ref().ok_or_else(|| refuse("the switch has no CPU port"))?;
        let patience = Patience::try_from_secs_f64(seconds).map_err(refuse)?;
        let frames = python.detach(|| cpu.wait(patience));
        Ok(frames.iter().map(|frame| PyBytes::new(python, frame)).collect())
    }

    /// Name and values of each digest since the last call.
    fn digests<'py>(&self, python: Python<'py>) -> PyResult<Vec<(String, Vec<Bound<'py, PyAny>>)>> {
        let digests = python.detach(|| self.runner.with(|switch, _| switch.switch().take_digests()));
        let digests = digests.map_err(refuse)?.into_iter().map(|digest| {
            let values = digest.values.iter().map(|value| to_python(python, value)).collect::<PyResult<_>>()?;
            Ok((digest.name, values))
        });
        digests.collect()
    }

    /// Texts of `log_msg` since the last call.
    fn log(&self, python: Python<'_>) -> PyResult<Vec<String>> {
        python.detach(|| self.runner.with(|switch, _| switch.switch().take_log())).map_err(refuse)
    }

    /// The report so far, as JSON.
    fn report(&self, python: Python<'_>) -> PyResult<String> {
        let clock = self.clock;
        let report = move |switch: &mut Switch, now| to_json(switch, &clock, now);
        Ok(python.detach(|| self.runner.with(report)).map_err(refuse)?.to_string())
    }

    /// Raises the first error so far, if there was one: OSError for a capture that cannot be written, EngineError for
    /// an interface that is gone.
    fn check(&self, python: Python<'_>) -> PyResult<()> {
        let failure = |switch: &mut Switch, _| {
            switch.check_ports();
            switch.failure().map(raised)
        };
        python.detach(|| self.runner.with(failure)).map_err(refuse)?.map_or(Ok(()), Err)
    }

    /// Stops the switch, unless it has stopped already.
    fn end(&self, python: Python<'_>) {
        python.detach(|| self.runner.stop());
    }

    /// Stops the switch. Returns a dict: `report` (JSON), and `traces`, which has for each recorded port, by its
    /// number, columns as in `simulate`. Raises EngineError if the switch had stopped before or its thread failed, and
    /// the errors of `check`.
    fn stop<'py>(&self, python: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let mut switch = python.detach(|| self.runner.stop()).ok_or_else(|| refuse("the switch has stopped"))?;
        switch.end_captures();
        if let Some(failure) = switch.failure() {
            return Err(raised(failure));
        }
        let result = PyDict::new(python);
        result.set_item("report", to_json(&mut switch, &self.clock, self.clock.now()).to_string())?;
        let traces = switch.take_traces().into_iter();
        let traces = traces.map(|(port, trace)| Ok((port, observed::port_columns(python, &trace)?)));
        result.set_item("traces", traces.collect::<PyResult<BTreeMap<_, _>>>()?)?;
        Ok(result)
    }
}

fn raised(failure: &Failure) -> PyErr {
    match failure {
        Failure::Capture(error) => PyOSError::new_err(error.to_string()),
        Failure::Port(error) => refuse(error),
    }
}

/// The report until now. Names are those of the simulator's report for values that it has too; times are in ns.
fn to_json(switch: &mut Switch, clock: &Clock, now: Time) -> Value {
    let Report { ports, losses, lateness } = switch.report();
    let ports = ports.iter().map(|(number, port)| {
        json!({
            "port": number,
            "received": port.received, "received_bytes": port.received_bytes,
            "sent": port.sent, "sent_bytes": port.sent_bytes,
            "wire_bytes": port.line.wire_bytes, "busy_ns": port.line.busy.nanos(),
            "unsent": port.unsent, "missed": port.missed, "offloaded": port.offloaded,
            "marked": port.marked, "enqueued": port.queue.enqueued, "dropped": port.queue.dropped,
            "max_packets": port.queue.max.packets, "max_bytes": port.queue.max.bytes,
        })
    });
    let drops = losses.iter().map(|((port, reason), packets)| {
        json!({"place": reason.place(), "port": port, "reason": reason.text(), "packets": packets})
    });
    let state = switch.switch().state();
    json!({
        "ports": ports.collect::<Vec<_>>(),
        "drops": drops.collect::<Vec<_>>(),
        "counters": observed::counters(state).collect::<Vec<_>>(),
        "faults": state.faults,
        "lateness_ns": late(&lateness),
        "started_ns": clock.started_ns(),
        "end_ns": now.nanos(),
    })
}

fn late(late: &Lateness) -> Value {
    let quantile = |part| late.quantile(part).map(Duration::nanos);
    json!({
        "count": late.total(), "p50": quantile(0.5), "p99": quantile(0.99), "p999": quantile(0.999),
        "max": late.max().nanos(),
    })
}
