// SPDX-License-Identifier: MIT OR Apache-2.0
//! Meters.
//!
//! The index of a cell of a `direct_meter` is the number of its entry in the table.

use marklab_p4::ir::MeterId;

use super::{ControlError, find};
use crate::State;
use crate::meter::{Meter, MeterError, MeterRates};

impl State {
    /// The meter, direct or not, of that name.
    pub fn find_meter(&self, name: &str) -> Result<MeterId, ControlError> {
        let names = self.program.meters.iter().map(|meter| meter.name.as_str());
        find("meter", names, name).map(|at| MeterId(at as u32))
    }

    /// Sets the rates of a cell, and fills its buckets. Without rates, every packet is green.
    ///
    /// # Errors
    ///
    /// [`MeterError`]: there is no such cell, or a meter cannot have these rates. Then the cell has not changed.
    pub fn set_meter_rates(
        &mut self,
        meter: MeterId,
        index: u64,
        rates: Option<MeterRates>,
    ) -> Result<(), ControlError> {
        let name = &self.program.meters[meter.index()].name;
        rates.map_or(Ok(()), |rates| rates.check(name))?;
        let missing = MeterError::NoCell { meter: name.clone(), index };
        let cell = match self.metered_table(meter) {
            Some(table) => self.tables[table].direct_meter_mut(index),
            None => usize::try_from(index).ok().and_then(|index| self.meters[meter.index()].cells.get_mut(index)),
        };
        cell.ok_or(missing)?.set_rates(rates);
        Ok(())
    }

    /// [`State::set_meter_rates`] of all cells of a meter; for a direct meter, those of the present entries.
    pub fn set_all_meter_rates(&mut self, meter: MeterId, rates: Option<MeterRates>) -> Result<(), ControlError> {
        let indices: Vec<u64> = match self.metered_table(meter) {
            Some(table) => self.tables[table].entries().map(|(handle, _)| handle.0.into()).collect(),
            None => (0..self.meters[meter.index()].cells.len() as u64).collect(),
        };
        indices.into_iter().try_for_each(|index| self.set_meter_rates(meter, index, rates))
    }

    /// The rates of a cell; `None` if none were set.
    pub fn meter_rates(&self, meter: MeterId, index: u64) -> Result<Option<MeterRates>, ControlError> {
        let cell = match self.metered_table(meter) {
            Some(table) => self.tables[table].direct_meter(index),
            None => usize::try_from(index).ok().and_then(|index| self.meters[meter.index()].cells.get(index)),
        };
        let name = &self.program.meters[meter.index()].name;
        let rates = cell.map(Meter::rates).ok_or_else(|| MeterError::NoCell { meter: name.clone(), index })?;
        Ok(rates)
    }

    /// The table that has the meter as its direct meter.
    fn metered_table(&self, meter: MeterId) -> Option<usize> {
        self.program.tables.iter().position(|table| table.direct_meter == Some(meter))
    }
}
