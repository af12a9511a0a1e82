// SPDX-License-Identifier: MIT OR Apache-2.0
//! Register cells that are recorded with a port.

use marklab_p4::ir::RegisterId;
use marklab_pipeline::{ControlError, State};
use serde::Deserialize;
use thiserror::Error;

/// A cell of a register of the program.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cell {
    /// Name of the register.
    pub register: String,
    /// Number of the cell.
    pub index: u64,
}

/// Why a cell cannot be recorded.
#[derive(Clone, PartialEq, Debug, Error)]
pub enum CellError {
    /// The program does not have the register.
    #[error("{0}")]
    Register(#[from] ControlError),
    /// The register does not have the cell.
    #[error("register `{register}` has no cell {index} to record")]
    Cell {
        /// Name of the register.
        register: String,
        /// The cell.
        index: u64,
    },
}

impl Cell {
    /// Finds the cell in the state of a program.
    ///
    /// # Errors
    ///
    /// [`CellError`] if the program has no such register, or the register has no such cell.
    pub fn find(&self, state: &State) -> Result<(RegisterId, u64), CellError> {
        let register = state.find_register(&self.register)?;
        match state.register(register, self.index) {
            Some(_) => Ok((register, self.index)),
            None => Err(CellError::Cell { register: self.register.clone(), index: self.index }),
        }
    }
}
