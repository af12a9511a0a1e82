// SPDX-License-Identifier: MIT OR Apache-2.0
//! One switch without a network, for tests of single packets.

use std::sync::{Arc, Mutex, MutexGuard};

use marklab_netsim::Queueing;
use marklab_pipeline::{Digest, Packet, State};
use marklab_switch::{Completed, Fate as SwitchFate, Loss, MAX_ROUNDS, QueueSignals, Switch, Transmitted};
use marklab_tm::{Limit, MAX_QUEUES, PortConfig, QueueConfig, Round};
use marklab_units::{Duration, Time};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::control::{Control, Target, lock, to_python};
use crate::program::Program;
use crate::{entries, refuse, trace};

/// Ports 0 to 511, as many as `egress_spec` can name.
pub(crate) const PORTS: usize = 512;

/// Port and bytes of a frame that came out, or the reason for its loss.
type Fate<'py> = (Option<usize>, Option<Bound<'py, PyBytes>>, Option<&'static str>);

/// Bytes of a frame that left, or None if it was lost; its queue; the packets that it found and left there; its sojourn
/// time in ns; whether its queue's turn ended.
type Departure<'py> = (Option<Bound<'py, PyBytes>>, usize, u64, u64, u64, bool);

/// A frame that came out, with its port.
type Sent<'py> = (usize, Bound<'py, PyBytes>);

/// A port as described in JSON.
pub(crate) fn described(queueing: &str) -> PyResult<PortConfig> {
    let queueing: Queueing = serde_json::from_str(queueing).map_err(|error| refuse(format!("queues: {error}")))?;
    queueing.port().map_err(refuse)
}

/// A port as described, or one without limits. The latter has as many queues as the program can choose from, or one if
/// the program does not choose.
pub(crate) fn port(program: &marklab_p4::ir::Program, queueing: Option<&str>) -> PyResult<PortConfig> {
    if let Some(text) = queueing {
        return described(text);
    }
    let queue = QueueConfig { limit: Limit::Packets(u64::MAX), level: 0, quantum_bytes: u32::MAX };
    let chosen = ["queueing_metadata.qid", "ig_intr_md_for_tm.qid"].iter().find_map(|name| program.intrinsic(name));
    let queues = chosen.map_or(1, |slot| MAX_QUEUES.min(1 << program.slots[slot.index()].ty.width));
    PortConfig::new(vec![queue; queues], Round::Deficit, None).map_err(refuse)
}

/// A switch without a network, for tests of single packets.
#[pyclass(extends = Control, module = "marklab._engine")]
pub(crate) struct Harness {
    program: Py<Program>,
    switch: Arc<Mutex<Switch<Packet>>>,
    losses: Vec<(&'static str, Option<usize>)>,
    /// Time of the last call of `receive` or `transmit`.
    latest: Time,
}

#[pymethods]
impl Harness {
    /// A switch that runs a program with these table entries (JSON). `queueing` describes the queues of each port
    /// (JSON, as for `simulate`); by default queues have no limit.
    #[new]
    #[pyo3(signature = (program, entries = "[]", seed = 0, queueing = None))]
    fn new(
        program: &Bound<'_, Program>,
        entries: &str,
        seed: u64,
        queueing: Option<&str>,
    ) -> PyResult<PyClassInitializer<Harness>> {
        let Program { program: ir, layout, engine, .. } = program.get();
        let mut state = State::new(ir, layout, seed).map_err(refuse)?;
        entries::install(&mut state, &entries::parse(entries)?)?;
        let mut switch = Switch::new(engine.clone(), state, vec![port(ir, queueing)?; PORTS]);
        switch.listen();
        let switch = Arc::new(Mutex::new(switch));
        let control = Control::new(Target::Alone(switch.clone()));
        let harness = Harness { program: program.clone().unbind(), switch, losses: Vec::new(), latest: Time::ZERO };
        Ok(PyClassInitializer::from(control).add_subclass(harness))
    }

    /// Sends a frame, and all copies that it causes, through the switch.
    ///
    /// Returns port and bytes of each frame that came out, in the order in which they came to their queues; `losses`
    /// has the others. Raises EngineError if an assertion of the program fails, if the packet starts again without end,
    /// or if frames of `receive` still wait.
    #[pyo3(signature = (port, frame, now_ns = 0))]
    fn inject<'py>(&mut self, python: Python<'py>, port: usize, frame: &[u8], now_ns: u64) -> PyResult<Vec<Sent<'py>>> {
        let completed = self.run(python, port, frame, Time::from_nanos(now_ns), None)?;
        let sent = completed.sent.iter();
        Ok(sent.map(|(port, packet)| (*port, PyBytes::new(python, &packet.to_vec()))).collect())
    }

    /// Takes a frame in, which then waits for `transmit`. Returns the port and the queue in which it waits, or None if
    /// it was lost; `losses` has the reason. Raises EngineError if `now_ns` is before the last call.
    fn receive(&mut self, port: usize, frame: &[u8], now_ns: u64) -> PyResult<Option<(usize, usize)>> {
        let now = self.advance("receive", now_ns)?;
        self.losses.clear();
        let fate = self.switch().receive(now, port, Packet::new(frame, 0));
        Ok(match fate {
            SwitchFate::Queued { port, queue } => Some((port, queue)),
            SwitchFate::Lost(loss, port, _) => {
                self.losses.push((loss.text(), port));
                None
            }
        })
    }

    /// Sends the next frame of a port. Returns its bytes, or None in their place if it was lost (`losses` has the
    /// reason); its queue; the packets that it found and left there; its sojourn time in ns; whether it ended its
    /// queue's turn. Returns None if nothing waits, or if the frame recirculates into a queue. Raises EngineError if
    /// `now_ns` is before the last call.
    fn transmit<'py>(&mut self, python: Python<'py>, port: usize, now_ns: u64) -> PyResult<Option<Departure<'py>>> {
        let now = self.advance("transmit", now_ns)?;
        self.losses.clear();
        let left = self.switch().transmit(now, port);
        let Some(Transmitted { outcome, signals, queue, ends_turn }) = left else { return Ok(None) };
        let bytes = match outcome {
            Ok(packet) => Some(PyBytes::new(python, &packet.to_vec())),
            Err(SwitchFate::Lost(loss, port, _)) => {
                self.losses.push((loss.text(), port));
                None
            }
            Err(SwitchFate::Queued { .. }) => return Ok(None),
        };
        let sojourn_ns = now.since(signals.enq_timestamp).nanos();
        Ok(Some((bytes, queue, signals.enq_qdepth, signals.deq_qdepth, sojourn_ns, ends_turn)))
    }

    /// Sends a frame through parser, ingress, egress and deparser.
    ///
    /// `now_ns` is the time at which it leaves its queue, where it waited for `sojourn_ns`, found `enq_qdepth` packets
    /// and leaves `deq_qdepth` behind. Returns (port, frame, None), or (None, None, reason of its loss). Raises
    /// EngineError as `inject` does, and if there is more than one frame.
    #[expect(clippy::too_many_arguments, reason = "keyword arguments in Python")]
    #[pyo3(signature = (port, frame, now_ns = 0, sojourn_ns = 0, enq_qdepth = 0, deq_qdepth = 0))]
    fn process<'py>(
        &mut self,
        python: Python<'py>,
        port: usize,
        frame: &[u8],
        now_ns: u64,
        sojourn_ns: u64,
        enq_qdepth: u64,
        deq_qdepth: u64,
    ) -> PyResult<Fate<'py>> {
        if sojourn_ns > now_ns {
            return Err(refuse("a packet cannot have been in its queue before the switch started"));
        }
        let now = Time::from_nanos(now_ns);
        let signals = QueueSignals { enq_timestamp: now - Duration::from_nanos(sojourn_ns), enq_qdepth, deq_qdepth };
        let completed = self.run(python, port, frame, now, Some(signals))?;
        match (&completed.sent[..], &completed.lost[..]) {
            ([(port, packet)], []) => Ok((Some(*port), Some(PyBytes::new(python, &packet.to_vec())), None)),
            ([], [(loss, ..)]) => Ok((None, None, Some(loss.text()))),
            _ => Err(refuse("the program made copies of the packet; `inject` returns all of them")),
        }
    }

    /// Reason and port (None if it had not come to one) of each frame lost in the last call.
    #[getter]
    fn losses(&self) -> Vec<(&'static str, Option<usize>)> {
        self.losses.clone()
    }

    /// Name and values of each digest since the last call.
    fn digests<'py>(&mut self, python: Python<'py>) -> PyResult<Vec<(String, Vec<Bound<'py, PyAny>>)>> {
        let digest = |digest: Digest| {
            let values = digest.values.iter().map(|value| to_python(python, value)).collect::<PyResult<_>>()?;
            Ok((digest.name, values))
        };
        self.switch().take_digests().into_iter().map(digest).collect()
    }

    /// Texts of `log_msg` since the last call.
    fn log(&mut self) -> Vec<String> {
        self.switch().take_log()
    }

    /// Starts or ends the record of what the interpreter does, for `take_trace`.
    fn trace(&mut self, on: bool) {
        self.switch().state_mut().trace = on.then(Vec::new);
    }

    /// Events recorded since the last call, as JSON (engine/bindings/src/trace.rs).
    fn take_trace(&mut self) -> String {
        let events = self.switch().state_mut().trace.as_mut().map(std::mem::take).unwrap_or_default();
        let Program { program, sources, .. } = self.program.get();
        trace::to_json(&events, program, sources).to_string()
    }
}

impl Harness {
    fn switch(&self) -> MutexGuard<'_, Switch<Packet>> {
        lock(&self.switch)
    }

    /// Checks and stores the time of a call. The switch's time does not go back: a frame cannot leave before it came.
    fn advance(&mut self, call: &str, now_ns: u64) -> PyResult<Time> {
        let now = Time::from_nanos(now_ns);
        if now < self.latest {
            return Err(refuse(format!(
                "`{call}` at {now} comes after a call at {}: the time of a switch does not go back",
                self.latest
            )));
        }
        self.latest = now;
        Ok(now)
    }

    fn run(
        &mut self,
        python: Python<'_>,
        port: usize,
        frame: &[u8],
        now: Time,
        signals: Option<QueueSignals>,
    ) -> PyResult<Completed<Packet>> {
        if port >= PORTS {
            return Err(refuse(format!("there is no port {port}: ports are 0 to {}", PORTS - 1)));
        }
        let waiting = {
            let switch = self.switch();
            (0..PORTS).map(|port| switch.depth(port).packets).sum::<u64>()
        };
        if waiting > 0 {
            return Err(refuse(format!(
                "{waiting} frame(s) of `receive` still wait in the switch: send them by `transmit` first"
            )));
        }
        let completed = self.switch().run(now, port, Packet::new(frame, 0), signals);
        self.losses = completed.lost.iter().map(|(loss, port, _)| (loss.text(), *port)).collect();
        if let Some(failed) = self.switch().failed_assertion() {
            return Err(refuse(self.program.bind(python).get().explain(failed)));
        }
        if completed.lost.iter().any(|(loss, ..)| *loss == Loss::Endless) {
            return Err(refuse(format!(
                "the program resubmits, recirculates or clones a packet without end; it was given up after {MAX_ROUNDS} \
                 rounds or 65536 frames"
            )));
        }
        Ok(completed)
    }
}
