// SPDX-License-Identifier: MIT OR Apache-2.0
//! Calls of externs, and the input of hashes and checksums.

use super::{CounterId, Expr, FilterId, HeaderRef, MathUnitId, MeterId, Place, RegisterActionId, RegisterId};

/// A value in the input of a hash or checksum.
#[derive(Clone, PartialEq, Debug)]
pub struct DataField {
    /// The value; may be the load of a `varbit`.
    pub expr: Expr,
    /// The header of the field: BMv2 omits fields of invalid headers.
    pub header: Option<HeaderRef>,
}

/// Hash and checksum algorithms of v1model (`HashAlgorithm`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HashAlgorithm {
    /// CRC-32 (IEEE 802.3).
    Crc32,
    /// As `Crc32` until reconfigured.
    Crc32Custom,
    /// CRC-16/ARC.
    Crc16,
    /// As `Crc16` until reconfigured.
    Crc16Custom,
    /// Declared, but not offered by BMv2.
    Random,
    /// The first 8 bytes.
    Identity,
    /// RFC 1071 ones' complement sum.
    Csum16,
    /// XOR of 16-bit words.
    Xor16,
    /// TNA: XOR of bytes.
    Xor8,
    /// TNA: XOR of 32-bit words.
    Xor32,
    /// TNA: a CRC given by its parameters.
    Crc(Crc),
}

/// Parameters of a CRC, in the Rocksoft model: `poly` without its highest bit, not reflected.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Crc {
    /// Width in bits, 1 to 64.
    pub width: u8,
    /// Generator polynomial.
    pub poly: u64,
    /// Initial value.
    pub init: u64,
    /// XORed with the result.
    pub xor_out: u64,
    /// Whether bits are processed lowest first, in input and output.
    pub reflected: bool,
}

/// A call of an extern: a computation of the block, or a request to the switch.
#[derive(Clone, PartialEq, Debug)]
pub enum ExternCall {
    /// A request that the switch serves after the block has ended.
    Request(Request),
    /// `register.read`; leaves `dst` unchanged if the index is out of range.
    RegisterRead {
        /// Array.
        register: RegisterId,
        /// Destination, of the cell's type.
        dst: Place,
        /// Cell.
        index: Expr,
    },
    /// `register.write`; does nothing if the index is out of range.
    RegisterWrite {
        /// Array.
        register: RegisterId,
        /// Cell.
        index: Expr,
        /// Value of the cell's type.
        value: Expr,
    },
    /// `RegisterAction.execute` (TNA): copies the cell to the action's value, runs the body, then copies the value to
    /// the cell and the result to `dst`. If the index is out of range, it does nothing and the result is 0.
    ExecuteRegister {
        /// The action.
        action: RegisterActionId,
        /// Cell.
        index: Expr,
        /// Destination of its result; as wide as [`super::RegisterAction::returned`].
        dst: Option<Place>,
    },
    /// `MathUnit.execute` (TNA): see [`super::MathUnit`].
    Math {
        /// The unit.
        unit: MathUnitId,
        /// Destination, as wide as the input.
        dst: Place,
        /// Input.
        input: Expr,
    },
    /// `Lpf.execute` and `Wred.execute` (TNA): see [`super::Filter`].
    Filter {
        /// The filter.
        filter: FilterId,
        /// Destination: the average, or `drop_value` / `no_drop_value`.
        dst: Place,
        /// Sample.
        value: Expr,
        /// Cell.
        index: Expr,
    },
    /// `Checksum.add` and `subtract` in a parser (TNA): ones' complement sum of 16-bit words, starting at 0.
    ChecksumAdd {
        /// The sum so far, `bit<16>`.
        sum: Place,
        /// Words, including those of invalid headers.
        data: Vec<DataField>,
        /// Whether they are subtracted.
        subtract: bool,
    },
    /// `counter.count`; does nothing if the index is out of range.
    Count {
        /// Array.
        counter: CounterId,
        /// Cell.
        index: Expr,
    },
    /// `direct_counter.count`: the table counts on every hit; the call itself does nothing.
    DirectCount {
        /// The direct counter.
        counter: CounterId,
    },
    /// `meter.execute_meter`; the colour goes to `dst`.
    ExecuteMeter {
        /// Array.
        meter: MeterId,
        /// Destination.
        dst: Place,
        /// Cell.
        index: Expr,
    },
    /// `direct_meter.read`.
    DirectMeterRead {
        /// The direct meter.
        meter: MeterId,
        /// Destination.
        dst: Place,
    },
    /// `random`: uniform in `lo..=hi`; leaves `dst` unchanged if `lo > hi`.
    Random {
        /// Destination.
        dst: Place,
        /// Smallest value.
        lo: Expr,
        /// Largest value.
        hi: Expr,
    },
    /// `hash`: `base + H(data) mod max` in 64-bit arithmetic, then truncated. A `max` of 0 counts as 1.
    Hash {
        /// Destination.
        dst: Place,
        /// Algorithm.
        algorithm: HashAlgorithm,
        /// Added to the hash.
        base: Expr,
        /// Input.
        data: Vec<DataField>,
        /// Modulus.
        max: Expr,
    },
    /// `verify_checksum[_with_payload]`: sets `checksum_error` if the checksum is wrong.
    VerifyChecksum(Checksum),
    /// `update_checksum[_with_payload]`: stores the checksum.
    UpdateChecksum(Checksum),
    /// `mark_to_drop`: `egress_spec` := drop port, `mcast_grp` := 0.
    MarkToDrop,
}

impl ExternCall {
    /// Destination of its result.
    pub fn written(&self) -> Option<&Place> {
        match self {
            ExternCall::RegisterRead { dst, .. }
            | ExternCall::Hash { dst, .. }
            | ExternCall::Math { dst, .. }
            | ExternCall::Random { dst, .. }
            | ExternCall::ExecuteMeter { dst, .. }
            | ExternCall::DirectMeterRead { dst, .. }
            | ExternCall::Filter { dst, .. }
            | ExternCall::ChecksumAdd { sum: dst, .. } => Some(dst),
            ExternCall::ExecuteRegister { dst, .. } => dst.as_ref(),
            ExternCall::UpdateChecksum(checksum) => Some(&checksum.field),
            ExternCall::RegisterWrite { .. }
            | ExternCall::Count { .. }
            | ExternCall::DirectCount { .. }
            | ExternCall::VerifyChecksum(_)
            | ExternCall::MarkToDrop
            | ExternCall::Request(_) => None,
        }
    }

    /// The index of the array cell that it accesses.
    pub fn index(&self) -> Option<&Expr> {
        match self {
            ExternCall::RegisterRead { index, .. }
            | ExternCall::RegisterWrite { index, .. }
            | ExternCall::ExecuteRegister { index, .. }
            | ExternCall::Filter { index, .. }
            | ExternCall::Count { index, .. }
            | ExternCall::ExecuteMeter { index, .. } => Some(index),
            ExternCall::Math { .. }
            | ExternCall::ChecksumAdd { .. }
            | ExternCall::DirectCount { .. }
            | ExternCall::DirectMeterRead { .. }
            | ExternCall::Random { .. }
            | ExternCall::Hash { .. }
            | ExternCall::VerifyChecksum(_)
            | ExternCall::UpdateChecksum(_)
            | ExternCall::MarkToDrop
            | ExternCall::Request(_) => None,
        }
    }

    /// Whether it changes only [`Self::written`], and the same operands and state always give the same value.
    pub fn only_computes(&self) -> bool {
        match self {
            ExternCall::RegisterRead { .. } | ExternCall::Hash { .. } | ExternCall::Math { .. } => true,
            ExternCall::RegisterWrite { .. }
            | ExternCall::ExecuteRegister { .. }
            | ExternCall::Filter { .. }
            | ExternCall::ChecksumAdd { .. }
            | ExternCall::Count { .. }
            | ExternCall::DirectCount { .. }
            | ExternCall::ExecuteMeter { .. }
            | ExternCall::DirectMeterRead { .. }
            | ExternCall::Random { .. }
            | ExternCall::VerifyChecksum(_)
            | ExternCall::UpdateChecksum(_)
            | ExternCall::MarkToDrop
            | ExternCall::Request(_) => false,
        }
    }
}

/// A request of a block to the switch. It returns nothing, so the block continues without an answer.
#[derive(Clone, PartialEq, Debug)]
pub enum Request {
    /// `clone`, `clone_preserving_field_list`.
    Clone {
        /// True for `CloneType.E2E`, false for `I2E`.
        egress: bool,
        /// Session.
        session: Expr,
        /// List of the fields that survive.
        field_list: Option<u32>,
    },
    /// `resubmit_preserving_field_list`.
    Resubmit {
        /// List of the fields that survive.
        field_list: u32,
    },
    /// `recirculate_preserving_field_list`.
    Recirculate {
        /// List of the fields that survive.
        field_list: u32,
    },
    /// `Mirror.emit` (TNA), in a deparser: a copy of the packet to the session, after these values as bytes.
    MirrorEmit {
        /// Session.
        session: Expr,
        /// Header of the copy.
        data: Vec<DataField>,
    },
    /// `Resubmit.emit` (TNA), in the ingress deparser: the packet returns, after these values as bytes.
    ResubmitEmit {
        /// At most 8 bytes on Tofino 1.
        data: Vec<DataField>,
    },
    /// `digest`.
    Digest {
        /// Name of the digest's type.
        name: String,
        /// Values.
        data: Vec<Expr>,
    },
    /// `truncate`: maximum number of bytes to send.
    Truncate(Expr),
    /// `assert` and `assume`.
    Assert {
        /// `bit<1>`.
        cond: Expr,
        /// True for `assume`.
        assume: bool,
    },
    /// `log_msg`.
    LogMsg {
        /// Text with `{}` for each value.
        format: String,
        /// Values.
        data: Vec<Expr>,
    },
}

impl Request {
    /// Its operands, in evaluation order.
    pub fn operands(&self) -> Vec<&Expr> {
        match self {
            Request::Clone { session, .. } => vec![session],
            Request::Truncate(length) => vec![length],
            Request::Assert { cond, .. } => vec![cond],
            Request::Resubmit { .. } | Request::Recirculate { .. } => Vec::new(),
            Request::MirrorEmit { session, data } => {
                [session].into_iter().chain(data.iter().map(|field| &field.expr)).collect()
            }
            Request::ResubmitEmit { data } => data.iter().map(|field| &field.expr).collect(),
            Request::Digest { data, .. } | Request::LogMsg { data, .. } => data.iter().collect(),
        }
    }

    /// Its name in the source.
    pub fn name(&self) -> &'static str {
        match self {
            Request::Clone { .. } => "clone",
            Request::Resubmit { .. } | Request::ResubmitEmit { .. } => "resubmit",
            Request::Recirculate { .. } => "recirculate",
            Request::Truncate(_) => "truncate",
            Request::Assert { assume: false, .. } => "assert",
            Request::Assert { assume: true, .. } => "assume",
            Request::LogMsg { .. } => "log_msg",
            Request::Digest { .. } => "digest",
            Request::MirrorEmit { .. } => "mirror",
        }
    }
}

/// A checksum to verify or to store.
#[derive(Clone, PartialEq, Debug)]
pub struct Checksum {
    /// `bit<1>`: does nothing if 0.
    pub condition: Expr,
    /// Input.
    pub data: Vec<DataField>,
    /// The checksum field.
    pub field: Place,
    /// Header of the checksum field: nothing is done while it is invalid.
    pub header: Option<HeaderRef>,
    /// Algorithm.
    pub algorithm: HashAlgorithm,
    /// Whether the input includes the bytes after the parsed headers.
    pub with_payload: bool,
}
