// SPDX-License-Identifier: MIT OR Apache-2.0
//! Low-pass filters and `Wred`s (TNA).

use marklab_p4::ir::FilterId;

use super::{ControlError, find};
use crate::State;
use crate::filter::{FilterError, FilterSettings};

impl State {
    /// The `Lpf` or `Wred` of that name.
    pub fn find_filter(&self, name: &str) -> Result<FilterId, ControlError> {
        let names = self.program.filters.iter().map(|filter| filter.name.as_str());
        find("filter", names, name).map(|at| FilterId(at as u32))
    }

    /// Sets one cell, or all of them, and forgets their averages. Without settings, the output of a cell is its input.
    ///
    /// # Errors
    ///
    /// [`FilterError`]: there is no such cell, or the filter cannot have such settings. Then nothing has changed.
    pub fn set_filter(
        &mut self,
        filter: FilterId,
        index: Option<u64>,
        settings: Option<FilterSettings>,
    ) -> Result<(), ControlError> {
        let spec = &self.program.filters[filter.index()];
        settings.map_or(Ok(()), |settings| settings.check(spec))?;
        let cells = &mut self.filters[filter.index()].cells;
        let Some(index) = index else {
            cells.iter_mut().for_each(|cell| cell.set(settings));
            return Ok(());
        };
        let missing = || FilterError::NoCell { filter: spec.name.clone(), index };
        let cell = usize::try_from(index).ok().and_then(|index| cells.get_mut(index));
        cell.ok_or_else(missing)?.set(settings);
        Ok(())
    }
}
