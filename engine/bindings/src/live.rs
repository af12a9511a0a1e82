//! A switch in real time, as Python starts and asks it.

use std::sync::Arc;
use std::time::Duration as Patience;

use marklab_live::{
    Clock, Delays, Framing, Lateness, LineConfig, LiveSwitch as Switch, Mailbox, MailboxEnd, PacketSocket, Report,
    Runner,
};
use marklab_netsim::Queueing;
use marklab_pipeline::State;
use marklab_units::{Duration, Rate};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::control::{Control, Target, to_python};
use crate::program::Program;
use crate::{entries, harness, refuse};

/// A switch, as described in JSON.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Config {
    interfaces: Vec<Interface>,
    /// Queues of each port; without, there is room for everything.
    #[serde(default)]
    queueing: Option<Value>,
    /// Port behind which the control plane is.
    #[serde(default)]
    cpu_port: Option<usize>,
}

/// An interface and its line.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Interface {
    port: usize,
    name: String,
    /// Without, frames are sent as fast as the interface takes them.
    #[serde(default)]
    rate_bps: Option<u64>,
    #[serde(default)]
    delay_ns: u64,
    #[serde(default)]
    min_bytes: u32,
    #[serde(default)]
    overhead_bytes: u32,
    /// Delays of the flows that come in, chosen by hash.
    #[serde(default)]
    flow_delays_ns: Vec<u64>,
}

impl Interface {
    fn line(&self) -> PyResult<LineConfig> {
        let rate = match self.rate_bps {
            None => None,
            Some(bps) => Some(Rate::from_bps(bps).ok_or_else(|| refuse(format!("`{}`: a rate of 0", self.name)))?),
        };
        let framing = Framing { min_bytes: self.min_bytes, overhead_bytes: self.overhead_bytes };
        Ok(LineConfig { rate, delay: Duration::from_nanos(self.delay_ns), framing })
    }
}

/// A switch that runs a program between interfaces of this machine, in a thread of its own, from its creation until
/// `stop`.
#[pyclass(extends = Control, frozen, module = "marklab_engine")]
pub(crate) struct LiveSwitch {
    runner: Arc<Runner>,
    cpu: Option<MailboxEnd>,
}

#[pymethods]
impl LiveSwitch {
    /// Starts a switch with these interfaces and queues (JSON: `Config` above) and table entries.
    #[new]
    #[pyo3(signature = (program, config, entries = "[]", seed = 0))]
    fn new(program: &Program, config: &str, entries: &str, seed: u64) -> PyResult<PyClassInitializer<LiveSwitch>> {
        let config: Config = serde_json::from_str(config).map_err(|error| refuse(format!("switch: {error}")))?;
        let Program { program: ir, layout, engine, .. } = program;
        let mut state = State::new(ir, layout, seed).map_err(refuse)?;
        entries::install(&mut state, &entries::parse(entries)?)?;
        let queueing = config.queueing.as_ref().map(Value::to_string);
        let port = harness::port(ir, queueing.as_deref())?;
        let pool = match config.queueing {
            None => None,
            Some(queueing) => serde_json::from_value::<Queueing>(queueing).map_err(refuse)?.pool(),
        };
        let numbers = config.interfaces.iter().map(|interface| interface.port).chain(config.cpu_port);
        let ports = numbers.max().map_or(0, |largest| largest + 1);
        if ports > harness::PORTS {
            return Err(refuse(format!("there is no port {}: ports are 0 to {}", ports - 1, harness::PORTS - 1)));
        }
        let mut switch = Switch::new(engine.clone(), state, vec![port; ports], pool);
        for interface in &config.interfaces {
            let delays = Delays::new(interface.flow_delays_ns.iter().map(|&ns| Duration::from_nanos(ns)).collect());
            let socket = PacketSocket::open(&interface.name).map_err(refuse)?;
            switch.attach(interface.port, Box::new(socket), interface.line()?, delays);
        }
        let cpu = config.cpu_port.map(|port| {
            let (mailbox, end) = Mailbox::new();
            switch.attach(port, Box::new(mailbox), LineConfig::default(), Delays::default());
            end
        });
        let runner = Arc::new(Runner::start(switch, Clock::start()).map_err(refuse)?);
        let control = Control::new(Target::Live(runner.clone()));
        Ok(PyClassInitializer::from(control).add_subclass(LiveSwitch { runner, cpu }))
    }

    /// Lets a frame come in by a port, as if its interface had received it.
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

    /// Frames that were sent to the CPU port since the last call; waits for the first one, `seconds` at most.
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

    /// What happened so far, as JSON.
    fn report(&self, python: Python<'_>) -> PyResult<String> {
        let report = python.detach(|| self.runner.with(|switch, _| switch.report())).map_err(refuse)?;
        Ok(to_json(&report).to_string())
    }

    /// Stops the switch, if it has not stopped.
    fn end(&self, python: Python<'_>) {
        python.detach(|| self.runner.stop());
    }

    /// Stops the switch and gives its last report as JSON. Raises EngineError if it had stopped before, or failed.
    fn stop(&self, python: Python<'_>) -> PyResult<String> {
        let mut switch = python.detach(|| self.runner.stop()).ok_or_else(|| refuse("the switch has stopped"))?;
        Ok(to_json(&switch.report()).to_string())
    }
}

fn to_json(report: &Report) -> Value {
    let ports = report.ports.iter().map(|(number, port)| {
        json!({
            "port": number,
            "received": port.received, "received_bytes": port.received_bytes,
            "sent": port.sent, "sent_bytes": port.sent_bytes,
            "unsent": port.unsent, "missed": port.missed, "offloaded": port.offloaded,
            "enqueued": port.queue.enqueued, "dropped": port.queue.dropped,
            "max_packets": port.queue.max.packets, "max_bytes": port.queue.max.bytes,
        })
    });
    let losses =
        report.losses.iter().map(|((port, reason), count)| json!({"port": port, "reason": reason, "packets": count}));
    json!({
        "ports": ports.collect::<Vec<_>>(),
        "losses": losses.collect::<Vec<_>>(),
        "lateness_ns": lateness(&report.lateness),
    })
}

fn lateness(late: &Lateness) -> Value {
    let quantile = |part| late.quantile(part).map(Duration::nanos);
    json!({
        "count": late.total(), "p50": quantile(0.5), "p99": quantile(0.99), "p999": quantile(0.999),
        "max": late.max().nanos(),
    })
}
