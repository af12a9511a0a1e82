// SPDX-License-Identifier: MIT OR Apache-2.0
//! A field of the packet state that a switch reads or writes, found by name.

use marklab_p4::ir::{Program, SlotId};
use marklab_pipeline::{Field, Layout, Phv};

/// A field of the packet state, if the program has it.
// 8 bytes, since every packet reads those of its switch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Intrinsic {
    offset: u32,
    /// Bytes; 0 if there is no such field.
    size: u8,
    /// Bits.
    width: u8,
}

impl Intrinsic {
    /// The field with the first of these names that the program has.
    pub(crate) fn new(program: &Program, layout: &Layout, names: impl IntoIterator<Item = String>) -> Intrinsic {
        Intrinsic::of(program, layout, names.into_iter().find_map(|name| program.intrinsic(&name)))
    }

    /// The field of a slot, if there is one.
    pub(crate) fn of(program: &Program, layout: &Layout, slot: Option<SlotId>) -> Intrinsic {
        let found = slot.and_then(|slot| Some((layout.field(slot)?, program.slots[slot.index()].ty.width)));
        let Some((field, width)) = found else { return Intrinsic { offset: 0, size: 0, width: 1 } };
        Intrinsic { offset: field.offset, size: field.size as u8, width: width.min(64) as u8 }
    }

    /// Its place in the packet state, if there is such a field.
    #[inline]
    pub(crate) fn field(self) -> Option<Field> {
        (self.size > 0).then_some(Field { offset: self.offset, size: self.size.into() })
    }

    /// The largest value.
    fn mask(self) -> u64 {
        u64::MAX >> (64 - u32::from(self.width))
    }

    /// The value, 0 if there is no such field.
    #[inline]
    pub(crate) fn get(self, phv: &Phv) -> u64 {
        self.field().map_or(0, |field| phv.get(field))
    }

    /// Sets the value modulo the field's width.
    #[inline]
    pub(crate) fn set(self, phv: &mut Phv, value: u64) {
        if let Some(field) = self.field() {
            phv.set(field, value & self.mask());
        }
    }

    /// Sets the value, or the largest that the field holds.
    #[inline]
    pub(crate) fn set_at_most(self, phv: &mut Phv, value: u64) {
        self.set(phv, value.min(self.mask()));
    }
}
