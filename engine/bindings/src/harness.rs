//! One switch without a network, for tests of single packets.

use marklab_pipeline::{Packet, State};
use marklab_switch::{Loss, QueueSignals, Switch};
use marklab_tm::Limit;
use marklab_units::{Duration, Time};
use num_bigint::BigUint;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::objects::Operation;
use crate::program::Program;
use crate::{entries, refuse};

/// Port and bytes of a frame that came out, or the reason of its loss.
type Fate<'py> = (Option<usize>, Option<Bound<'py, PyBytes>>, Option<&'static str>);

/// A switch whose queue is what the test says.
#[pyclass(module = "marklab_engine")]
pub(crate) struct Harness {
    switch: Switch<Packet>,
}

#[pymethods]
impl Harness {
    /// A switch that runs a program with these table entries (JSON).
    #[new]
    #[pyo3(signature = (program, entries = "[]", seed = 0))]
    fn new(program: &Program, entries: &str, seed: u64) -> PyResult<Harness> {
        let mut state = State::new(&program.program, &program.layout, seed).map_err(refuse)?;
        entries::install(&mut state, &entries::parse(entries)?)?;
        Ok(Harness { switch: Switch::new(program.engine.clone(), state, [Limit::Packets(0)]) })
    }

    /// Sends a frame through parser, ingress, egress and deparser.
    ///
    /// `now_ns` is the time at which it leaves its queue, where it stayed for `sojourn_ns`, found `enq_qdepth` packets
    /// and leaves `deq_qdepth` behind. Gives (port, frame), or the reason of its loss.
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
        match self.switch.process(now, port, Packet::new(frame, 0), signals) {
            Ok((port, packet)) => Ok((Some(port), Some(PyBytes::new(python, &packet.to_vec())), None)),
            Err((loss, _)) => Ok((None, None, Some(loss_text(loss)))),
        }
    }

    /// Value of a register cell.
    fn register(&self, name: &str, index: u64) -> PyResult<u128> {
        let state = self.switch.state();
        let register = state.find_register(name).map_err(refuse)?;
        let value = state.register(register, index).and_then(|value| u128::try_from(value).ok());
        value.ok_or_else(|| refuse(format!("`{name}` has no cell {index} of up to 128 bits")))
    }

    /// Sets a register cell.
    fn set_register(&mut self, name: &str, index: u64, value: u128) -> PyResult<()> {
        let state = self.switch.state_mut();
        let register = state.find_register(name).map_err(refuse)?;
        state.set_register(register, index, &BigUint::from(value));
        Ok(())
    }

    /// Packets and bytes of a counter cell.
    fn counter(&self, name: &str, index: u64) -> PyResult<(u64, u64)> {
        let state = self.switch.state();
        let counter = state.find_counter(name).map_err(refuse)?;
        let count = state.counter(counter, index).ok_or_else(|| refuse(format!("`{name}` has no cell {index}")))?;
        Ok((count.packets, count.bytes))
    }

    /// Does something to a meter, an action profile or a value set, described as JSON (see `objects.rs`); gives what
    /// came of it as JSON.
    fn control(&mut self, operation: &str) -> PyResult<String> {
        let operation: Operation =
            serde_json::from_str(operation).map_err(|error| refuse(format!("control operation: {error}")))?;
        operation.perform(self.switch.state_mut()).map(|value| value.to_string()).map_err(refuse)
    }
}

fn loss_text(loss: Loss) -> &'static str {
    match loss {
        Loss::Ingress => "dropped by ingress",
        Loss::Egress => "dropped by egress",
        Loss::QueueFull => "queue full",
        Loss::NoPort => "no such port",
        Loss::NoQueue => "no such queue",
    }
}
