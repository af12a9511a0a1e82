// SPDX-License-Identifier: MIT OR Apache-2.0
//! Objects that the control plane reads and sets: tables with their actions, registers, meters and others.

use num_bigint::BigUint;

use super::{ActionId, CounterId, Expr, HashAlgorithm, KeySet, MeterId, ProfileId, RegisterId, SlotId, Stmt, Ty};
use crate::source::Span;

/// An annotation for the control plane. `@name("...")` is not among them: it has already been applied.
#[derive(Clone, PartialEq, Debug)]
pub struct Annotation {
    /// Name without the `@`.
    pub name: String,
    /// Its text, without parentheses.
    pub body: String,
}

/// An action of a table.
#[derive(Clone, PartialEq, Debug)]
pub struct Action {
    /// Control-plane name: `MyIngress.ipv4_forward`.
    pub name: String,
    /// Parameters that the control plane supplies, in order.
    pub params: Vec<ActionParam>,
    /// Code.
    pub body: Vec<Stmt>,
    /// Annotations of the declaration.
    pub annotations: Vec<Annotation>,
    /// The declaration.
    pub span: Span,
}

/// A parameter that a table entry supplies.
#[derive(Clone, PartialEq, Debug)]
pub struct ActionParam {
    /// Name.
    pub name: String,
    /// Local slot that holds the value while the action runs.
    pub slot: SlotId,
    /// Type.
    pub ty: Ty,
    /// Annotations.
    pub annotations: Vec<Annotation>,
}

/// How a key is compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MatchKind {
    /// Equal.
    Exact,
    /// Longest prefix.
    Lpm,
    /// Equal under a mask.
    Ternary,
    /// Between two bounds.
    Range,
    /// Equal, or not compared.
    Optional,
    /// Not compared: input of the action selector.
    Selector,
}

/// A key of a table.
#[derive(Clone, PartialEq, Debug)]
pub struct Key {
    /// Control-plane name.
    pub name: String,
    /// Value at the time of `apply`.
    pub expr: Expr,
    /// How it is compared.
    pub kind: MatchKind,
    /// Annotations.
    pub annotations: Vec<Annotation>,
}

/// An action in a table's list.
#[derive(Clone, PartialEq, Debug)]
pub struct TableAction {
    /// The action.
    pub action: ActionId,
    /// `@defaultonly`: not for entries.
    pub default_only: bool,
    /// `@tableonly`: not as default action.
    pub table_only: bool,
}

/// An action with the values of its parameters, each as its unsigned image.
#[derive(Clone, PartialEq, Debug)]
pub struct ActionCall {
    /// Index into [`Table::actions`].
    pub action: u32,
    /// One value per parameter.
    pub args: Vec<BigUint>,
}

/// An entry written in the source.
#[derive(Clone, PartialEq, Debug)]
pub struct Entry {
    /// One set per key.
    pub keys: Vec<KeySet>,
    /// Action to run.
    pub call: ActionCall,
    /// The smallest wins, as in BMv2; assigned in source order unless given.
    pub priority: u32,
    /// The entry in the source.
    pub span: Span,
}

/// A table.
#[derive(Clone, PartialEq, Debug)]
pub struct Table {
    /// Control-plane name: `MyIngress.ipv4_lpm`.
    pub name: String,
    /// Keys in order; none for a table that always runs its default action.
    pub keys: Vec<Key>,
    /// Actions in order, including the default action.
    pub actions: Vec<TableAction>,
    /// Action on a miss.
    pub default_action: ActionCall,
    /// Whether the control plane may not change it.
    pub const_default: bool,
    /// Entries in the source.
    pub entries: Vec<Entry>,
    /// Whether entries cannot be added or changed.
    pub const_entries: bool,
    /// Largest number of entries.
    pub size: u64,
    /// `counters` property.
    pub direct_counter: Option<CounterId>,
    /// `meters` property.
    pub direct_meter: Option<MeterId>,
    /// `implementation` property.
    pub profile: Option<ProfileId>,
    /// Annotations.
    pub annotations: Vec<Annotation>,
    /// The declaration.
    pub span: Span,
}

/// A `register` array.
#[derive(Clone, PartialEq, Debug)]
pub struct Register {
    /// Control-plane name.
    pub name: String,
    /// Type of a cell.
    pub ty: Ty,
    /// Fields of a cell, from its lowest bits: one, or the two of a pair (TNA).
    pub parts: Vec<Ty>,
    /// Initial value of a cell, as its unsigned image.
    pub initial: BigUint,
    /// Number of cells.
    pub size: u64,
    /// Annotations.
    pub annotations: Vec<Annotation>,
}

impl Register {
    /// An array of scalars with initial value 0.
    pub fn new(name: String, ty: Ty, size: u64, annotations: Vec<Annotation>) -> Register {
        Register { name, ty, parts: vec![ty], initial: BigUint::ZERO, size, annotations }
    }
}

/// An operation on a cell of a register in one access (TNA's `RegisterAction`).
#[derive(Clone, PartialEq, Debug)]
pub struct RegisterAction {
    /// Name in the source, prefixed by its control's.
    pub name: String,
    /// The array.
    pub register: RegisterId,
    /// Local slots that hold the cell's parts while the body runs, in the order of [`Register::parts`].
    pub value: Vec<SlotId>,
    /// Local slot of the result, 0 when the body starts; `None` if it has none.
    pub returned: Option<SlotId>,
    /// Code.
    pub body: Vec<Stmt>,
    /// The declaration.
    pub span: Span,
}

/// A math unit of a stateful ALU (TNA).
///
/// With p the position of the highest 1 of x, and e = p / 2 with p rounded up to even (`shift` -1), p (0) or 2p (1),
/// negated if `invert`: the result is `table[(x << 3 >> p) & 15] << (e + scale)`, or `>> -(e + scale)`, 0 for 32 places
/// or more, truncated to the width of x. For x = 0, p and the index are 0.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MathUnit {
    /// Name in the source, prefixed by its control's.
    pub name: String,
    /// `invert` of its declaration.
    pub invert: bool,
    /// -1, 0 or 1.
    pub shift: i8,
    /// -32..=31
    pub scale: i8,
    /// By index: entry 0 first.
    pub table: [u8; 16],
    /// The declaration.
    pub span: Span,
}

/// A low-pass filter, or one followed by a random drop (TNA).
///
/// The average a follows samples v in continuous time: a += (v - a) * (1 - exp(-dt / tau)). tau is the time constant for
/// gain if v > a, and for decay otherwise; the control plane sets both. The first sample is the initial average.
#[derive(Clone, PartialEq, Debug)]
pub struct Filter {
    /// Control-plane name.
    pub name: String,
    /// Type of samples.
    pub ty: Ty,
    /// Number of cells.
    pub size: u64,
    /// `drop_value` and `no_drop_value` of a `Wred`.
    pub wred: Option<(u8, u8)>,
    /// Annotations.
    pub annotations: Vec<Annotation>,
}

/// What a counter or meter counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unit {
    /// Packets.
    Packets,
    /// Bytes of the frame at arrival.
    Bytes,
    /// Both.
    PacketsAndBytes,
}

/// A `counter` array or `direct_counter`.
#[derive(Clone, PartialEq, Debug)]
pub struct Counter {
    /// Control-plane name.
    pub name: String,
    /// Unit.
    pub unit: Unit,
    /// Number of cells; `None` for a direct counter, which has one per entry of its table.
    pub size: Option<u64>,
    /// Annotations.
    pub annotations: Vec<Annotation>,
}

/// A `meter` array or `direct_meter`.
#[derive(Clone, PartialEq, Debug)]
pub struct Meter {
    /// Control-plane name.
    pub name: String,
    /// Unit: packets or bytes.
    pub unit: Unit,
    /// Number of cells; `None` for a direct meter.
    pub size: Option<u64>,
    /// Annotations.
    pub annotations: Vec<Annotation>,
}

/// An `action_profile` or `action_selector`.
#[derive(Clone, PartialEq, Debug)]
pub struct Profile {
    /// Control-plane name.
    pub name: String,
    /// Declared size.
    pub size: u64,
    /// Algorithm of a selector; `None` for a plain profile.
    pub selector: Option<HashAlgorithm>,
    /// Annotations.
    pub annotations: Vec<Annotation>,
}

/// A parser value set.
#[derive(Clone, PartialEq, Debug)]
pub struct ValueSet {
    /// Control-plane name.
    pub name: String,
    /// Types of a member's components.
    pub tys: Vec<Ty>,
    /// Largest number of members.
    pub size: u64,
    /// Annotations.
    pub annotations: Vec<Annotation>,
}
