// SPDX-License-Identifier: MIT OR Apache-2.0
//! Definitions for all parts of the generator: how values are held, and the state of parsers and deparsers.

use cranelift_codegen::ir::{Block, StackSlot, Type, Value, types};
use cranelift_frontend::Variable;
use marklab_p4::ir::{Header, HeaderRef, Place, Program, Slot, SlotId};

/// Widest value that is kept in registers, in bits.
const WIDEST: u32 = 128;

/// Whether a value of that width is represented by its address.
pub(super) fn is_wide(width: u32) -> bool {
    width > WIDEST
}

/// Type of a value of that width. A wide value is represented by its address.
pub(super) fn value_type(width: u32) -> Type {
    match width {
        65..=128 => types::I128,
        _ => types::I64,
    }
}

/// The validity bit of a header.
pub(super) fn valid_place(program: &Program, header: &HeaderRef) -> Place {
    Place { slot: program.headers[header.header.index()].valid, index: header.index.clone() }
}

/// The fields of a header with their slots.
pub(super) fn fields<'a>(program: &'a Program, header: &'a Header) -> impl Iterator<Item = (SlotId, &'a Slot)> {
    header.fields.iter().map(move |&slot| (slot, &program.slots[slot.index()]))
}

/// A piece of memory for generated code.
#[derive(Clone, Copy)]
pub(super) enum Room {
    Stack(StackSlot),
    /// At this offset in the context's scratch memory.
    Scratch(u32),
}

/// Memory allocated so far.
#[derive(Default)]
pub(super) struct Rooms {
    pub(super) stack_bytes: u32,
    /// Scratch memory in use. A statement releases its part when it ends.
    pub(super) scratch_bytes: u32,
    /// The largest amount of scratch memory that was in use.
    pub(super) most_scratch_bytes: u32,
}

/// State of a deparser's code.
#[derive(Clone, Copy)]
pub(super) struct Emitting {
    /// Address of the first header, if the headers go right in front of the payload. Otherwise they go to a buffer.
    pub(super) in_place: Option<Value>,
    /// Address of the next header.
    pub(super) cursor: Variable,
    /// Whether the buffer may have to grow.
    pub(super) grows: bool,
}

/// State of a parser's code.
#[derive(Clone)]
pub(super) struct Parsing {
    /// Address of the packet's stored bytes.
    pub(super) bytes: Variable,
    /// Number of stored bytes.
    pub(super) stored: Variable,
    /// Bytes consumed.
    pub(super) cursor: Variable,
    /// Where parsing ends.
    pub(super) end: Block,
    /// Where parsing ends with an error, which is the block's parameter.
    pub(super) reject: Block,
    /// Error of a rejection that names none; `None` if such a rejection is not an error.
    pub(super) unnamed: Option<&'static str>,
}
