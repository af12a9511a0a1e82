// SPDX-License-Identifier: MIT OR Apache-2.0
//! The control plane of a switch that runs, or that processes single packets on request.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use marklab_live::Runner;
use marklab_p4::ir::{CounterId, TableId};
use marklab_pipeline::{Count, EntryHandle, Packet, State};
use marklab_switch::Switch;
use marklab_switch::replication::{Mirror, NodeHandle, Replication, ReplicationError};
use num_bigint::BigUint;
use pyo3::prelude::*;
use pyo3::types::PyInt;

use crate::objects::Operation;
use crate::steps::Steps;
use crate::{entries, refuse};

/// The switch that is controlled.
pub(crate) enum Target {
    /// In the thread that sends its packets.
    Alone(Arc<Mutex<Switch<Packet>>>),
    /// In its own thread: changes come between two packets.
    Live(Arc<Runner>),
    /// In a simulated network, between two steps of its run.
    Simulated(Arc<Steps>, usize),
}

/// Operations of a control plane on a switch.
///
/// Names are those of simple_switch_CLI; entries are JSON (engine/bindings/src/entries.rs). Each call raises
/// EngineError if the switch refuses it or has stopped.
#[pyclass(subclass, frozen, module = "marklab._engine")]
pub(crate) struct Control {
    target: Target,
}

#[pymethods]
impl Control {
    /// Adds an entry (JSON), or sets the default action if it has no `match`. Returns the entry's handle, or None for a
    /// default action.
    fn add_entry(&self, python: Python<'_>, entry: &str) -> PyResult<Option<u32>> {
        let entry = entries::parse_one(entry)?;
        let handle = self.act(python, move |state, _| entry.install(state))?;
        Ok(handle.map(|EntryHandle(number)| number))
    }

    /// Gives an entry the action and parameters of another entry (JSON) of the same table.
    fn modify_entry(&self, python: Python<'_>, handle: u32, entry: &str) -> PyResult<()> {
        let entry = entries::parse_one(entry)?;
        self.act(python, move |state, _| entry.modify(state, EntryHandle(handle)))
    }

    /// Removes an entry.
    fn delete_entry(&self, python: Python<'_>, table: String, handle: u32) -> PyResult<()> {
        self.act(python, move |state, _| state.delete_entry(&table, EntryHandle(handle)).map_err(refuse))
    }

    /// Removes all entries of a table.
    fn clear_table(&self, python: Python<'_>, table: String) -> PyResult<()> {
        self.act(python, move |state, _| {
            let table = state.find_table(&table).map_err(refuse)?;
            state.table_mut(table).clear().map_err(refuse)
        })
    }

    /// Value of a register cell.
    fn register<'py>(&self, python: Python<'py>, name: String, index: u64) -> PyResult<Bound<'py, PyAny>> {
        let value = self.act(python, move |state, _| {
            let register = state.find_register(&name).map_err(refuse)?;
            state.register(register, index).ok_or_else(|| no_cell(&name, index))
        })?;
        to_python(python, &value)
    }

    /// A register's cells that are not 0: indices and values. An array may have millions of cells, most of them 0.
    fn register_values<'py>(&self, python: Python<'py>, name: String) -> PyResult<Vec<(u64, Bound<'py, PyAny>)>> {
        let values = self.act(python, move |state, _| {
            let register = state.find_register(&name).map_err(refuse)?;
            let cells = (0..).map_while(|index| Some((index, state.register(register, index)?)));
            Ok(cells.filter(|(_, value)| *value != BigUint::ZERO).collect::<Vec<_>>())
        })?;
        values.iter().map(|(index, value)| Ok((*index, to_python(python, value)?))).collect()
    }

    /// Sets a register cell. The value is cut to the cell's width.
    fn set_register(&self, python: Python<'_>, name: String, index: u64, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let value = from_python(value)?;
        self.act(python, move |state, _| {
            let register = state.find_register(&name).map_err(refuse)?;
            state.register(register, index).ok_or_else(|| no_cell(&name, index))?;
            state.set_register(register, index, &value);
            Ok(())
        })
    }

    /// Sets all cells of a register to their initial value: 0 in v1model.
    fn reset_register(&self, python: Python<'_>, name: String) -> PyResult<()> {
        self.act(python, move |state, _| {
            let register = state.find_register(&name).map_err(refuse)?;
            state.reset_register(register);
            Ok(())
        })
    }

    /// Packets and bytes of a counter cell. For a direct counter, `index` is the handle of an entry.
    fn counter(&self, python: Python<'_>, name: String, index: u64) -> PyResult<(u64, u64)> {
        self.act(python, move |state, _| {
            let counter = state.find_counter(&name).map_err(refuse)?;
            let count = match counted_table(state, counter) {
                None => state.counter(counter, index).ok_or_else(|| no_cell(&name, index))?,
                Some(table) => {
                    let handle = u32::try_from(index).map_err(|_| no_cell(&name, index))?;
                    state.table(table).direct_count(EntryHandle(handle)).map_err(refuse)?
                }
            };
            Ok((count.packets, count.bytes))
        })
    }

    /// Sets a counter cell.
    fn set_counter(&self, python: Python<'_>, name: String, index: u64, packets: u64, bytes: u64) -> PyResult<()> {
        self.act(python, move |state, _| {
            let counter = state.find_counter(&name).map_err(refuse)?;
            state.counter(counter, index).ok_or_else(|| no_cell(&name, index))?;
            state.set_counter(counter, index, Count { packets, bytes });
            Ok(())
        })
    }

    /// Performs an operation on a meter, a filter, an action profile or a value set. Operation and result are JSON
    /// (engine/bindings/src/objects.rs).
    fn control(&self, python: Python<'_>, operation: &str) -> PyResult<String> {
        let operation: Operation =
            serde_json::from_str(operation).map_err(|error| refuse(format!("control operation: {error}")))?;
        self.act(python, move |state, _| operation.perform(state).map(|value| value.to_string()).map_err(refuse))
    }

    /// Sends clones of a mirror session to a port.
    fn mirroring_add(&self, python: Python<'_>, session: u32, port: usize) -> PyResult<()> {
        self.replicate(python, move |replication| replication.add_session(session, Mirror::Port(port)))
    }

    /// Sends clones of a mirror session to a multicast group.
    fn mirroring_add_mc(&self, python: Python<'_>, session: u32, group: u32) -> PyResult<()> {
        self.replicate(python, move |replication| replication.add_session(session, Mirror::Group(group)))
    }

    /// Removes a mirror session.
    fn mirroring_delete(&self, python: Python<'_>, session: u32) -> PyResult<()> {
        self.replicate(python, move |replication| replication.delete_session(session))
    }

    /// Creates a multicast group.
    fn mc_mgrp_create(&self, python: Python<'_>, group: u32) -> PyResult<()> {
        self.replicate(python, move |replication| {
            replication.create_group(group);
            Ok(())
        })
    }

    /// Removes a multicast group.
    fn mc_mgrp_destroy(&self, python: Python<'_>, group: u32) -> PyResult<()> {
        self.replicate(python, move |replication| replication.destroy_group(group))
    }

    /// Creates a multicast node with a replication id and ports. Returns its handle.
    fn mc_node_create(&self, python: Python<'_>, rid: u16, ports: Vec<usize>) -> PyResult<u32> {
        let node = self.replicate(python, move |replication| replication.create_node(rid, &ports));
        node.map(|NodeHandle(number)| number)
    }

    /// Replaces the ports of a multicast node.
    fn mc_node_update(&self, python: Python<'_>, handle: u32, ports: Vec<usize>) -> PyResult<()> {
        self.replicate(python, move |replication| replication.update_node(NodeHandle(handle), &ports))
    }

    /// Removes a multicast node.
    fn mc_node_destroy(&self, python: Python<'_>, handle: u32) -> PyResult<()> {
        self.replicate(python, move |replication| replication.destroy_node(NodeHandle(handle)))
    }

    /// Puts a multicast node into a group.
    fn mc_node_associate(&self, python: Python<'_>, group: u32, handle: u32) -> PyResult<()> {
        self.replicate(python, move |replication| replication.associate(group, NodeHandle(handle)))
    }

    /// Takes a multicast node out of a group.
    fn mc_node_dissociate(&self, python: Python<'_>, group: u32, handle: u32) -> PyResult<()> {
        self.replicate(python, move |replication| replication.dissociate(group, NodeHandle(handle)))
    }
}

impl Control {
    pub(crate) fn new(target: Target) -> Control {
        Control { target }
    }

    /// Runs a closure on the switch, between two packets.
    fn act<R: Send + 'static>(
        &self,
        python: Python<'_>,
        act: impl FnOnce(&mut State, &mut Replication) -> PyResult<R> + Send + 'static,
    ) -> PyResult<R> {
        match &self.target {
            Target::Alone(switch) => {
                let mut switch = lock(switch);
                let (state, replication) = switch.control();
                act(state, replication)
            }
            Target::Live(runner) => {
                let act = move || {
                    runner.with(|switch, _| {
                        let (state, replication) = switch.control();
                        act(state, replication)
                    })
                };
                python.detach(act).map_err(refuse)?
            }
            Target::Simulated(steps, node) => steps.with(|session| {
                let switch = session.switch(*node).ok_or_else(|| refuse(format!("node {node} is no switch")))?;
                let (state, replication) = switch.control();
                act(state, replication)
            })?,
        }
    }

    fn replicate<R: Send + 'static>(
        &self,
        python: Python<'_>,
        change: impl FnOnce(&mut Replication) -> Result<R, ReplicationError> + Send + 'static,
    ) -> PyResult<R> {
        self.act(python, |_, replication| change(replication).map_err(refuse))
    }
}

/// A switch is consistent even if a thread died while it held the lock: a call is refused before it changes anything.
pub(crate) fn lock(switch: &Mutex<Switch<Packet>>) -> MutexGuard<'_, Switch<Packet>> {
    switch.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The table that a direct counter belongs to.
fn counted_table(state: &State, counter: CounterId) -> Option<TableId> {
    let at = state.program().tables.iter().position(|table| table.direct_counter == Some(counter))?;
    Some(TableId(at as u32))
}

fn no_cell(name: &str, index: u64) -> PyErr {
    refuse(format!("`{name}` has no cell {index}"))
}

/// An integer of any size, as Python's int.
pub(crate) fn to_python<'py>(python: Python<'py>, value: &BigUint) -> PyResult<Bound<'py, PyAny>> {
    python.get_type::<PyInt>().call_method1("from_bytes", (value.to_bytes_le(), "little"))
}

/// Python's int, as an integer of any size.
fn from_python(value: &Bound<'_, PyAny>) -> PyResult<BigUint> {
    let digits: String = value.call_method1("__format__", ("x",))?.extract()?;
    BigUint::parse_bytes(digits.as_bytes(), 16)
        .ok_or_else(|| refuse(format!("{value} is not a value of a register cell: it must be 0 or more")))
}
