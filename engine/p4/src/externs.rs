// SPDX-License-Identifier: MIT OR Apache-2.0
//! Data of lowering about an architecture: its name, the role of each block, and the extern instances.
//!
//! `arch` implements the meaning of externs.

use rustc_hash::FxHashMap;

use crate::ir::{
    BlockId, CounterId, Crc, FilterId, HashAlgorithm, MathUnitId, MeterId, ProfileId, RegisterActionId, RegisterId,
    SlotId,
};
use crate::source::Span;
use crate::typed::FunctionId;
use crate::types::Type;

/// The architectures.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    V1Model,
    Tna,
}

/// The role of a block in the architecture; some externs are allowed in one role only.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Part {
    Parser,
    VerifyChecksum,
    Ingress,
    Egress,
    ComputeChecksum,
    Deparser,
}

/// The lowered form of an extern instance.
#[derive(Clone, Debug)]
pub(crate) enum Handle {
    Core(CoreHandle),
    V1Model(V1ModelHandle),
    Tna(TnaHandle),
}

/// Properties of a table that the architecture defines.
#[derive(Default, Debug)]
pub(crate) struct TableProperties {
    pub(crate) size: Option<u64>,
    pub(crate) direct_counter: Option<CounterId>,
    pub(crate) direct_meter: Option<MeterId>,
    pub(crate) profile: Option<ProfileId>,
}

/// Objects of the core library. A program receives them as parameters and cannot create them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum CoreHandle {
    PacketIn,
    PacketOut,
}

/// The lowered form of an extern instance of v1model.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum V1ModelHandle {
    Register(RegisterId),
    Counter(CounterId),
    DirectCounter(CounterId),
    Meter(MeterId),
    DirectMeter(MeterId),
    Profile(ProfileId),
    Checksum16,
    /// An instance of an extern that v1model does not have.
    Foreign,
}

/// The lowered form of an extern instance of TNA.
#[derive(Clone, Debug)]
pub(crate) enum TnaHandle {
    Register(RegisterId),
    /// Index into [`TnaExterns::actions`].
    RegisterAction(usize),
    MathUnit(MathUnitId),
    Polynomial(Crc),
    /// `None` for `IDENTITY`.
    Hash(Option<HashAlgorithm>),
    Random,
    Counter(CounterId),
    DirectCounter(CounterId),
    /// With the values of red, yellow and green.
    Meter(MeterId, [u8; 3]),
    DirectMeter(MeterId, [u8; 3]),
    Filter(FilterId),
    Profile(ProfileId),
    /// Index of its sum in [`TnaExterns::sums`].
    Checksum(usize),
    Mirror,
    Resubmit,
    Digest,
    /// An extern without effect here: `ParserPriority`, `Alpm`, `Atcam`, `IdleTimeout`.
    Idle,
}

/// Data of a TNA program's externs, besides their handles.
#[derive(Default, Debug)]
pub(crate) struct TnaExterns {
    pub(crate) actions: Vec<NewAction>,
    /// The sum of a `Checksum`, by the block that uses it.
    pub(crate) sums: Vec<FxHashMap<BlockId, SlotId>>,
}

/// A `RegisterAction`. Its body is lowered where it is first executed, since it uses the variables of its control.
#[derive(Debug)]
pub(crate) struct NewAction {
    pub(crate) name: String,
    pub(crate) register: RegisterId,
    /// The implementation of `apply`.
    pub(crate) apply: FunctionId,
    pub(crate) value: Type,
    pub(crate) returns: Type,
    pub(crate) span: Span,
    pub(crate) lowered: Option<RegisterActionId>,
}
