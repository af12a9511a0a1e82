// SPDX-License-Identifier: MIT OR Apache-2.0
//! Parser value sets: `select` cases whose members come from the control plane.

use marklab_p4::ir;
use thiserror::Error;

use crate::table::{KeyMatch, KeyShape, Matcher, check_width};

/// Why a value set refused an operation.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum ValueSetError {
    /// The set has as many members as its size allows.
    #[error("value set `{set}` is full: its size is {size}")]
    Full {
        /// Value set.
        set: String,
        /// Its size.
        size: u64,
    },
    /// The set already has this member.
    #[error("value set `{set}` already has this member")]
    Duplicate {
        /// Value set.
        set: String,
    },
    /// The set does not have this member.
    #[error("value set `{set}` has no such member")]
    NoMember {
        /// Value set.
        set: String,
    },
    /// The number of components is wrong.
    #[error("value set `{set}` has {expected} component(s), the member has {given}")]
    ComponentCount {
        /// Value set.
        set: String,
        /// Components of the set.
        expected: usize,
        /// Components of the member.
        given: usize,
    },
    /// A component does not fit its width.
    #[error("value set `{set}`, component {component}: {problem}")]
    Component {
        /// Value set.
        set: String,
        /// Its place, from 0.
        component: usize,
        /// What is wrong with it.
        problem: String,
    },
}

/// Priority of all members: none comes before another.
const PRIORITY: u32 = 0;

/// A value set with its members. A component of a member may be any [`KeyMatch`]: BMv2 has exact values only, but
/// P4Runtime's `@match` annotations require the others.
#[derive(Debug)]
pub struct ValueSet {
    spec: ir::ValueSet,
    shape: KeyShape,
    matcher: Matcher,
    /// In the order in which they were added.
    members: Vec<Vec<KeyMatch>>,
    /// Number of the next member in the matcher.
    next_number: u32,
}

impl ValueSet {
    /// A value set of a program, without members.
    pub(crate) fn new(spec: &ir::ValueSet) -> ValueSet {
        let shape = KeyShape::of_widths(spec.tys.iter().map(|ty| ty.width));
        let matcher = Matcher::rows(shape.clone());
        ValueSet { spec: spec.clone(), shape, matcher, members: Vec::new(), next_number: 0 }
    }

    /// Name in the control plane.
    pub fn name(&self) -> &str {
        &self.spec.name
    }

    /// Members in the order in which they were added.
    pub fn members(&self) -> impl Iterator<Item = &[KeyMatch]> {
        self.members.iter().map(|member| &member[..])
    }

    /// Shape of the key that [`ValueSet::contains`] takes.
    pub(crate) fn shape(&self) -> &KeyShape {
        &self.shape
    }

    /// Whether a member matches a value.
    pub(crate) fn contains(&self, value: &[u64]) -> bool {
        self.matcher.find(value).is_some()
    }

    /// Adds a member.
    pub(crate) fn insert(&mut self, member: &[KeyMatch]) -> Result<(), ValueSetError> {
        let set = || self.spec.name.clone();
        let (expected, given) = (self.spec.tys.len(), member.len());
        if given != expected {
            return Err(ValueSetError::ComponentCount { set: set(), expected, given });
        }
        for (component, (ty, value)) in self.spec.tys.iter().zip(member).enumerate() {
            check_width(ty.width, value).map_err(|problem| ValueSetError::Component {
                set: set(),
                component,
                problem,
            })?;
        }
        if self.members.len() as u64 >= self.spec.size {
            return Err(ValueSetError::Full { set: set(), size: self.spec.size });
        }
        if !self.matcher.insert(member, PRIORITY, self.next_number) {
            return Err(ValueSetError::Duplicate { set: set() });
        }
        self.members.push(member.to_vec());
        self.next_number += 1;
        Ok(())
    }

    /// Removes a member, which must be given as it was added.
    pub(crate) fn remove(&mut self, member: &[KeyMatch]) -> Result<(), ValueSetError> {
        let Some(at) = self.members.iter().position(|known| known == member) else {
            return Err(ValueSetError::NoMember { set: self.spec.name.clone() });
        };
        let member = self.members.remove(at);
        self.matcher.remove(&member, PRIORITY);
        Ok(())
    }

    /// Removes all members.
    pub(crate) fn clear(&mut self) {
        *self = ValueSet::new(&self.spec);
    }
}

/// A value set of a [`State`](crate::State), mutable. It is not a `&mut ValueSet`, for the same reason as
/// [`TableMut`](crate::TableMut).
#[derive(Debug)]
pub struct ValueSetMut<'a>(pub(crate) &'a mut ValueSet);

impl ValueSetMut<'_> {
    /// Adds a member.
    pub fn insert(&mut self, member: &[KeyMatch]) -> Result<(), ValueSetError> {
        self.0.insert(member)
    }

    /// Removes a member, which must be given as it was added.
    pub fn remove(&mut self, member: &[KeyMatch]) -> Result<(), ValueSetError> {
        self.0.remove(member)
    }

    /// Removes all members.
    pub fn clear(&mut self) {
        self.0.clear();
    }
}
