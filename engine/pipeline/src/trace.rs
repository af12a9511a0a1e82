// SPDX-License-Identifier: MIT OR Apache-2.0
//! What an interpreted program does with a packet, step by step.
//!
//! The interpreter appends events to [`State::trace`](crate::State::trace) if it is set. Otherwise tracing costs one
//! test for each step. Compiled code is never traced, so it pays nothing.

use marklab_p4::ir::{ActionId, BlockId, CounterId, HeaderId, MeterId, RegisterId, SlotId, StateId, TableId, Target};
use marklab_p4::source::Span;
use num_bigint::BigUint;

use crate::table::EntryHandle;

/// Something that happened, with its cause in the source.
#[derive(Clone, PartialEq, Debug)]
pub struct Event {
    /// The statement, state or `select`.
    pub span: Span,
    /// What happened.
    pub kind: EventKind,
}

/// A field with its value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FieldValue {
    /// Field.
    pub slot: SlotId,
    /// Its width in bits; for a `varbit`, its current width.
    pub width: u32,
    /// Its value, as an unsigned image.
    pub value: BigUint,
}

/// What can happen. Values are unsigned images, as everywhere in the IR.
#[derive(Clone, PartialEq, Debug)]
pub enum EventKind {
    /// A block begins; `metadata` has the fields of the architecture's metadata that are not 0.
    Block {
        /// Block.
        block: BlockId,
        /// Fields of `standard_metadata`, or of TNA's structs.
        metadata: Vec<FieldValue>,
    },
    /// The parser enters a state.
    State {
        /// Parser.
        block: BlockId,
        /// State.
        state: StateId,
    },
    /// A `select` chose its target.
    Selected {
        /// Parser.
        block: BlockId,
        /// Values of its keys.
        values: Vec<BigUint>,
        /// The target.
        target: Target,
    },
    /// The parser rejects, with this error code.
    Rejected(u32),
    /// A header was read from the packet.
    Extracted {
        /// Header.
        header: HeaderId,
        /// Its fields.
        fields: Vec<FieldValue>,
    },
    /// The cursor moved by this number of bits.
    Advanced(u64),
    /// A condition was evaluated.
    Branch(bool),
    /// Packet state was assigned.
    Assigned(FieldValue),
    /// A header became valid or invalid.
    Validity {
        /// Header.
        header: HeaderId,
        /// Whether it is valid now.
        valid: bool,
    },
    /// A table was looked up.
    LookedUp {
        /// Table.
        table: TableId,
        /// Key without its `selector` components.
        key: Vec<BigUint>,
        /// The entry that matched.
        entry: Option<EntryHandle>,
        /// The action that runs; none on a miss in a table with an `implementation`, or if the group is empty.
        action: Option<ActionId>,
        /// Values of its parameters.
        args: Vec<BigUint>,
    },
    /// A register cell was read; without a value if the index is out of range.
    RegisterRead {
        /// Array.
        register: RegisterId,
        /// Cell.
        index: u64,
        /// Its value.
        value: Option<BigUint>,
    },
    /// A register cell was written, unless the index is out of range.
    RegisterWritten {
        /// Array.
        register: RegisterId,
        /// Cell.
        index: u64,
        /// Its new value.
        value: BigUint,
    },
    /// A counter cell counted the packet, unless the index is out of range.
    Counted {
        /// Array.
        counter: CounterId,
        /// Cell.
        index: u64,
    },
    /// A meter cell gave the packet a colour; without a colour if the index is out of range.
    Metered {
        /// Array.
        meter: MeterId,
        /// Cell.
        index: u64,
        /// 0 green, 1 yellow, 2 red.
        colour: Option<u64>,
    },
    /// A checksum was verified.
    Verified {
        /// The field that holds it.
        slot: SlotId,
        /// The correct value.
        expected: BigUint,
        /// The value found.
        found: BigUint,
    },
    /// Another extern was called.
    Called {
        /// `mark_to_drop`, `clone`, ...
        name: &'static str,
        /// Values of its operands that have one.
        values: Vec<BigUint>,
    },
    /// The deparser appended a header.
    Emitted {
        /// Header.
        header: HeaderId,
        /// Its fields.
        fields: Vec<FieldValue>,
    },
    /// `exit` ended the block.
    Exited,
}
