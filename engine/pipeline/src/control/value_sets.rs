// SPDX-License-Identifier: MIT OR Apache-2.0
//! Parser value sets.

use marklab_p4::ir::ValueSetId;

use super::{ControlError, find};
use crate::State;
use crate::value_set::{ValueSet, ValueSetMut};

impl State {
    /// The parser value set of that name.
    pub fn find_value_set(&self, name: &str) -> Result<ValueSetId, ControlError> {
        let names = self.program.value_sets.iter().map(|set| set.name.as_str());
        find("value set", names, name).map(|at| ValueSetId(at as u32))
    }

    /// A parser value set.
    pub fn value_set(&self, set: ValueSetId) -> &ValueSet {
        &self.value_sets[set.index()]
    }

    /// A parser value set, mutable.
    pub fn value_set_mut(&mut self, set: ValueSetId) -> ValueSetMut<'_> {
        ValueSetMut(&mut self.value_sets[set.index()])
    }
}
