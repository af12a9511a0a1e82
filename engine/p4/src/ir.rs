// SPDX-License-Identifier: MIT OR Apache-2.0
//! The typed, flat form of a program, ready to run.
//!
//! Everything generic is instantiated; sub-parsers, sub-controls, functions and directly called actions are inlined;
//! structs, headers, unions and tuples are scattered into scalar *slots*. What remains is small: scalar expressions
//! without side effects, structured statements, parser states, tables, actions, extern instances.
//!
//! # Values
//!
//! A scalar is a bit pattern of [`Ty::width`] bits, with or without a sign. `bool` is `bit<1>`, `error` and enums
//! without an underlying type are `bit<32>` numbered in declaration order. A constant is kept as its unsigned image:
//! `-1` of type `int<8>` is 255.
//!
//! # Storage
//!
//! A slot is one scalar (or one `varbit`). [`Class::Packet`] slots (headers, validity, user and intrinsic metadata)
//! live as long as the packet is in the switch; [`Class::Local`] slots belong to one block and are 0 when it starts,
//! as locals are on BMv2. Elements of a header stack have equal shape and lie `stride` slots apart, so a run-time
//! index is `slot + index * stride`; reading outside the stack gives 0 and writing outside it does nothing.

mod calls;
mod objects;
mod print;
pub mod visit;

use num_bigint::BigUint;

use crate::source::Span;

pub use calls::{Checksum, Crc, DataField, ExternCall, HashAlgorithm, Request};
pub use objects::{
    Action, ActionCall, ActionParam, Annotation, Counter, Entry, Filter, Key, MatchKind, MathUnit, Meter, Profile,
    Register, RegisterAction, Table, TableAction, Unit, ValueSet,
};

macro_rules! index_type {
    ($($(#[$doc:meta])* $name:ident),* $(,)?) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub struct $name(pub u32);

        impl $name {
            /// This id as an index into its vector.
            pub const fn index(self) -> usize {
                self.0 as usize
            }
        }
    )*};
}

index_type! {
    /// Index into [`Program::slots`].
    SlotId,
    /// Index into [`Program::headers`].
    HeaderId,
    /// Index into [`Program::stacks`].
    StackId,
    /// Index into [`Program::blocks`].
    BlockId,
    /// Index into [`Program::actions`].
    ActionId,
    /// Index into [`Program::tables`].
    TableId,
    /// Index into [`ParserBody::states`].
    StateId,
    /// Index into [`Program::registers`].
    RegisterId,
    /// Index into [`Program::counters`].
    CounterId,
    /// Index into [`Program::meters`].
    MeterId,
    /// Index into [`Program::profiles`].
    ProfileId,
    /// Index into [`Program::value_sets`].
    ValueSetId,
    /// Index into [`Program::register_actions`].
    RegisterActionId,
    /// Index into [`Program::math_units`].
    MathUnitId,
    /// Index into [`Program::filters`].
    FilterId,
    /// Names the loop or block that a [`StmtKind::Break`] or [`StmtKind::Continue`] refers to; unique in its block.
    Label,
}

/// A whole program, instantiated for its architecture.
#[derive(Clone, PartialEq, Debug)]
pub struct Program {
    /// File name of the main source.
    pub name: String,
    /// The architecture, with the block for each of its roles.
    pub arch: Arch,
    /// All storage.
    pub slots: Vec<Slot>,
    /// All header instances, including stack elements and union members.
    pub headers: Vec<Header>,
    /// All header stacks.
    pub stacks: Vec<Stack>,
    /// Programmable blocks.
    pub blocks: Vec<Block>,
    /// Actions of tables. An action with arguments bound in a table's `actions` has a copy for each such list.
    pub actions: Vec<Action>,
    /// Source ranges of the bodies of actions that are called like functions.
    pub called_actions: Vec<Span>,
    /// Tables.
    pub tables: Vec<Table>,
    /// `register` arrays.
    pub registers: Vec<Register>,
    /// TNA: operations on a cell of a register in one access.
    pub register_actions: Vec<RegisterAction>,
    /// TNA: `MathUnit`s.
    pub math_units: Vec<MathUnit>,
    /// TNA: `Lpf`s and `Wred`s.
    pub filters: Vec<Filter>,
    /// `counter` arrays and `direct_counter`s.
    pub counters: Vec<Counter>,
    /// `meter` arrays and `direct_meter`s.
    pub meters: Vec<Meter>,
    /// `action_profile`s and `action_selector`s.
    pub profiles: Vec<Profile>,
    /// Parser value sets.
    pub value_sets: Vec<ValueSet>,
    /// Externs that the program calls and the architecture does not have. Their calls are omitted, so the program can
    /// be examined, but not run.
    pub foreign: Vec<String>,
    /// Names of the `error` constants, in order: the code of an error is its index.
    pub errors: Vec<String>,
    /// Names that the architecture looks up: `standard_metadata.enq_qdepth`, every `@alias("...")` of a field, and
    /// `@field_list(1)` once for each field of that list (see [`Program::field_list`]).
    pub intrinsics: Vec<(String, SlotId)>,
}

/// The architecture and its blocks.
#[derive(Clone, PartialEq, Debug)]
pub enum Arch {
    /// `V1Switch` of `v1model.p4`.
    V1Model {
        /// Parser.
        parser: BlockId,
        /// Checksum verification, between parser and ingress.
        verify_checksum: BlockId,
        /// Ingress control.
        ingress: BlockId,
        /// Egress control.
        egress: BlockId,
        /// Checksum update, between egress and deparser.
        compute_checksum: BlockId,
        /// Deparser.
        deparser: BlockId,
    },
    /// `Switch` of `tna.p4` or `t2na.p4`, its first pipeline.
    Tna(Tna),
}

impl Arch {
    /// Name of the architecture: `v1model`, `tna`, `t2na`.
    pub fn name(&self) -> &'static str {
        match self {
            Arch::V1Model { .. } => "v1model",
            Arch::Tna(tna) if tna.chip == Chip::Tofino2 => "t2na",
            Arch::Tna(_) => "tna",
        }
    }

    /// The blocks with their roles, in the order in which a packet passes through them; a ghost comes last.
    pub fn parts(&self) -> Vec<(&'static str, BlockId)> {
        match *self {
            Arch::V1Model { parser, verify_checksum, ingress, egress, compute_checksum, deparser } => vec![
                ("parser", parser),
                ("verify checksum", verify_checksum),
                ("ingress", ingress),
                ("egress", egress),
                ("compute checksum", compute_checksum),
                ("deparser", deparser),
            ],
            Arch::Tna(Tna { ingress, egress, ghost, .. }) => {
                let six = [
                    ("ingress parser", ingress.parser),
                    ("ingress", ingress.control),
                    ("ingress deparser", ingress.deparser),
                    ("egress parser", egress.parser),
                    ("egress", egress.control),
                    ("egress deparser", egress.deparser),
                ];
                six.into_iter().chain(ghost.map(|ghost| ("ghost", ghost))).collect()
            }
        }
    }
}

/// The blocks of a pipeline of Tofino.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tna {
    /// The chip whose interface the program includes.
    pub chip: Chip,
    /// Before the traffic manager.
    pub ingress: Gress,
    /// After the traffic manager; starts with the bytes from the ingress deparser.
    pub egress: Gress,
    /// Tofino 2: the ghost thread, which runs on reports of queue lengths.
    pub ghost: Option<BlockId>,
}

/// Generations of Tofino.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Chip {
    /// `tna.p4`
    Tofino1,
    /// `t2na.p4`, or `tna.p4` with `__TARGET_TOFINO__` 2
    Tofino2,
}

/// One half of a pipeline.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Gress {
    /// Parser.
    pub parser: BlockId,
    /// Match-action control.
    pub control: BlockId,
    /// Deparser.
    pub deparser: BlockId,
}

/// The type of a scalar: a width in bits and whether it has a sign.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Ty {
    /// Width in bits; may be 0 for `bit<0>`.
    pub width: u32,
    /// `int<W>` if true, else `bit<W>`.
    pub signed: bool,
}

impl Ty {
    /// `bool`, and `bit<1>`.
    pub const BOOL: Ty = Ty::bits(1);

    /// `bit<width>`.
    pub const fn bits(width: u32) -> Ty {
        Ty { width, signed: false }
    }

    /// `int<width>`.
    pub const fn int(width: u32) -> Ty {
        Ty { width, signed: true }
    }
}

/// Lifetime of a slot's value.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Class {
    /// From the parser to the deparser, through the queue: headers, user and intrinsic metadata.
    Packet,
    /// During one run of one block.
    Local(BlockId),
}

/// One scalar or `varbit` of storage.
#[derive(Clone, PartialEq, Debug)]
pub struct Slot {
    /// Its source, as a user would write it: `hdr.ipv4.ttl`, `meta.nhop`; `$valid` ends a validity bit.
    pub name: String,
    /// Type of the value. For a `varbit` the largest width, unsigned.
    pub ty: Ty,
    /// For a `varbit`: the slot (`bit<32>`) that holds its current width in bits.
    pub varbit_width: Option<SlotId>,
    /// Lifetime.
    pub class: Class,
}

/// A header instance.
#[derive(Clone, PartialEq, Debug)]
pub struct Header {
    /// `hdr.ipv4`, `hdr.mpls[2]`.
    pub name: String,
    /// Its validity bit.
    pub valid: SlotId,
    /// Its fields in wire order.
    pub fields: Vec<SlotId>,
}

/// A header stack; its elements are `len` consecutive headers from `first`.
#[derive(Clone, PartialEq, Debug)]
pub struct Stack {
    /// `hdr.mpls`.
    pub name: String,
    /// Element 0.
    pub first: HeaderId,
    /// Number of elements.
    pub len: u32,
    /// Distance in slots between the same field of adjacent elements.
    pub stride: u32,
    /// `bit<32>` slot with the parser's `nextIndex`.
    pub next_index: SlotId,
}

/// A programmable block: the code between two points of the architecture.
#[derive(Clone, PartialEq, Debug)]
pub struct Block {
    /// Name of the parser or control declaration, which prefixes its control-plane names.
    pub name: String,
    /// Its code.
    pub body: BlockBody,
}

/// Code of a block.
#[derive(Clone, PartialEq, Debug)]
pub enum BlockBody {
    /// A state machine that ends in accept or reject.
    Parser(ParserBody),
    /// Statements.
    Control(Vec<Stmt>),
}

/// States of a parser, including its sub-parsers.
#[derive(Clone, PartialEq, Debug)]
pub struct ParserBody {
    /// All states.
    pub states: Vec<State>,
    /// The first state.
    pub start: StateId,
}

/// A parser state.
#[derive(Clone, PartialEq, Debug)]
pub struct State {
    /// Its name; a state of a sub-parser is prefixed by the instance.
    pub name: String,
    /// Statements that run first.
    pub body: Vec<Stmt>,
    /// The transition that follows.
    pub next: Transition,
    /// The state in the source.
    pub span: Span,
}

/// Target of a transition.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Target {
    /// Another state.
    State(StateId),
    /// The packet is parsed.
    Accept,
    /// Parsing ends with the current error (v1model still continues with ingress).
    Reject,
}

/// How a state ends.
#[derive(Clone, PartialEq, Debug)]
pub enum Transition {
    /// Unconditional.
    Goto(Target),
    /// The first case whose sets all match. Without a match: `error.NoMatch` and reject.
    Select {
        /// Values to match.
        keys: Vec<Expr>,
        /// Cases in source order; each has one set per key.
        cases: Vec<(Vec<KeySet>, Target)>,
        /// The `select` in the source.
        span: Span,
    },
}

/// A set of values, in a `select` case or a table entry.
#[derive(Clone, PartialEq, Debug)]
pub enum KeySet {
    /// `default` or `_`.
    Any,
    /// One value.
    Value(BigUint),
    /// `value &&& mask`; `value` is already masked.
    Mask {
        /// Bits that must be equal.
        value: BigUint,
        /// Bits that are compared.
        mask: BigUint,
    },
    /// `lo .. hi`, both included, in the order of the key's type.
    Range {
        /// Smallest member.
        lo: BigUint,
        /// Largest member.
        hi: BigUint,
    },
    /// The members that the control plane added to the set.
    ValueSet(ValueSetId),
}

/// A place that can be read and written.
#[derive(Clone, PartialEq, Debug)]
pub struct Place {
    /// The slot, or the slot in element 0.
    pub slot: SlotId,
    /// For a run-time index into a stack.
    pub index: Option<Index>,
}

impl From<SlotId> for Place {
    fn from(slot: SlotId) -> Place {
        Place { slot, index: None }
    }
}

/// A run-time index into a header stack.
#[derive(Clone, PartialEq, Debug)]
pub struct Index {
    /// The stack.
    pub stack: StackId,
    /// The index, unsigned.
    pub expr: Box<Expr>,
}

/// A header, fixed or chosen by a run-time index.
#[derive(Clone, PartialEq, Debug)]
pub struct HeaderRef {
    /// The header, or element 0 of the stack.
    pub header: HeaderId,
    /// For a run-time index.
    pub index: Option<Index>,
}

/// A scalar expression; it has no side effects, and always a value.
#[derive(Clone, PartialEq, Debug)]
pub struct Expr {
    /// What it is.
    pub kind: ExprKind,
    /// Type of its value.
    pub ty: Ty,
    /// Source range.
    pub span: Span,
}

/// Kinds of expressions. Operands have the result's type unless said otherwise.
#[derive(Clone, PartialEq, Debug)]
pub enum ExprKind {
    /// A constant: its unsigned image, less than 2^width.
    Const(BigUint),
    /// The value of a slot. A `varbit` may only be read here by assignment, comparison and data lists.
    Load(Place),
    /// One operand.
    Unary(UnaryOp, Box<Expr>),
    /// Two operands.
    Binary(BinaryOp, Box<Expr>, Box<Expr>),
    /// `cond ? then : otherwise`; only one side is evaluated.
    Mux {
        /// `bit<1>`.
        cond: Box<Expr>,
        /// Value if 1.
        then: Box<Expr>,
        /// Value if 0.
        otherwise: Box<Expr>,
    },
    /// Bits `hi..=lo` of an operand of any type; the result is unsigned.
    Slice {
        /// Operand.
        of: Box<Expr>,
        /// Highest bit taken.
        hi: u32,
        /// Lowest bit taken.
        lo: u32,
    },
    /// Concatenation; the left operand gives the high bits. Widths add up.
    Concat(Box<Expr>, Box<Expr>),
    /// Change of width or sign: truncated, or extended with the sign if the *operand* is signed, else with zeros.
    Cast(Box<Expr>),
    /// Parser only: `width` bits that lie `offset` bits after the cursor, not consumed. If the packet is too short,
    /// parsing ends with `error.PacketTooShort`.
    Lookahead {
        /// Distance from the cursor in bits.
        offset: u32,
    },
    /// Length of the packet in bytes, in a parser (`packet_in.length()`).
    PacketLength,
}

/// Unary operators.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum UnaryOp {
    /// Two's complement.
    Neg,
    /// Bitwise complement, and `!` on `bit<1>`.
    Not,
}

/// Binary operators. All wrap modulo 2^width unless said otherwise.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BinaryOp {
    /// `+`
    Add,
    /// `-`
    Sub,
    /// `*`
    Mul,
    /// `/`, unsigned; division by 0 gives 0 and counts a fault.
    Div,
    /// `%`, unsigned; division by 0 gives 0 and counts a fault.
    Mod,
    /// `|+|`, saturates in the type's range.
    AddSat,
    /// `|-|`, saturates in the type's range.
    SubSat,
    /// `&`, and `&&` on `bit<1>`.
    And,
    /// `|`, and `||` on `bit<1>`.
    Or,
    /// `^`
    Xor,
    /// `<<`; the right operand is unsigned of any width. Shifting by the width or more gives 0.
    Shl,
    /// `>>`; like `<<`; arithmetic if the left operand is signed.
    Shr,
    /// `==`; operands of equal type, result `bit<1>`.
    Eq,
    /// `!=`
    Ne,
    /// `<`, signed if the operands are.
    Lt,
    /// `<=`
    Le,
    /// `>`
    Gt,
    /// `>=`
    Ge,
}

/// A statement.
#[derive(Clone, PartialEq, Debug)]
pub struct Stmt {
    /// What it does.
    pub kind: StmtKind,
    /// Source range.
    pub span: Span,
}

/// Kinds of statements.
#[derive(Clone, PartialEq, Debug)]
pub enum StmtKind {
    /// Stores a value of the place's type.
    Assign {
        /// Where.
        dst: Place,
        /// What.
        src: Expr,
    },
    /// Makes a header valid; its fields become 0 if it was invalid. Separate statements invalidate its siblings in a
    /// union.
    SetValid(HeaderRef),
    /// Makes a header invalid.
    SetInvalid(HeaderRef),
    /// Branch.
    If {
        /// `bit<1>`.
        cond: Expr,
        /// If 1.
        then: Vec<Stmt>,
        /// If 0.
        otherwise: Vec<Stmt>,
    },
    /// Jumps to the case that contains the value; cases are disjoint.
    Switch {
        /// Value.
        value: Expr,
        /// Cases.
        cases: Vec<(Vec<BigUint>, Vec<Stmt>)>,
        /// If no case contains it.
        default: Vec<Stmt>,
    },
    /// A body that `Break(label)` leaves.
    Block {
        /// Its name.
        label: Label,
        /// Its statements.
        body: Vec<Stmt>,
    },
    /// A body that repeats; `Break` leaves it, `Continue` restarts it.
    Loop {
        /// Its name.
        label: Label,
        /// Its statements.
        body: Vec<Stmt>,
    },
    /// Jump to the end of the labelled block or loop. `return` becomes a break out of the inlined body.
    Break(Label),
    /// Jump to the start of the labelled loop.
    Continue(Label),
    /// Ends the programmable block, also from inside an action.
    Exit,
    /// Looks up a table and runs the action found.
    Apply {
        /// Table.
        table: TableId,
        /// `bit<1>`: whether an entry matched.
        hit: Option<SlotId>,
        /// `bit<32>`: index of the action run, into [`Table::actions`].
        action_run: Option<SlotId>,
    },
    /// A call of an extern of the architecture.
    Extern(ExternCall),
    /// Parser: reads a header from the packet. Sets `PacketTooShort` and rejects if it does not fit, and
    /// `ParserInvalidArgument` / `HeaderTooShort` for a bad `varbit` width.
    Extract {
        /// Header.
        header: HeaderRef,
        /// Width in bits of its `varbit` field.
        varbit_width: Option<Expr>,
    },
    /// Parser: reads the next element of a stack. Sets `StackOutOfBounds` and rejects after the last element.
    ExtractNext {
        /// Stack.
        stack: StackId,
        /// Width in bits of the element's `varbit` field.
        varbit_width: Option<Expr>,
    },
    /// Parser: moves the cursor by a number of bits (`bit<32>`), without reading.
    Advance(Expr),
    /// Parser: sets the error and rejects unless the condition holds.
    Verify {
        /// `bit<1>`.
        cond: Expr,
        /// Error code.
        error: Expr,
    },
    /// Deparser: appends the header if it is valid.
    Emit(HeaderId),
}

impl Program {
    /// The slot with that name in [`Program::intrinsics`].
    pub fn intrinsic(&self, name: &str) -> Option<SlotId> {
        self.intrinsics.iter().find(|(known, _)| known == name).map(|&(_, slot)| slot)
    }

    /// The fields of user metadata with `@field_list(index)`, which survive a clone, resubmission or recirculation with
    /// that list.
    pub fn field_list(&self, index: u32) -> impl Iterator<Item = SlotId> {
        let name = format!("@field_list({index})");
        self.intrinsics.iter().filter(move |(known, _)| *known == name).map(|&(_, slot)| slot)
    }

    /// The slot with that source name, or `None`.
    pub fn slot(&self, name: &str) -> Option<SlotId> {
        self.slots.iter().position(|slot| slot.name == name).map(|place| SlotId(place as u32))
    }
}
