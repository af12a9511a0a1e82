// SPDX-License-Identifier: MIT OR Apache-2.0
//! Numbers of the chips, as p4c's Tofino back end has them.

use marklab_p4::ir::Chip;

/// Limits that differ between chips. Sources are files of p4c's `backends/tofino`.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Match-action stages (`bf-p4c/specs/device.h`).
    pub stages: usize,
    /// Comparison units of a stateful ALU (`bf-p4c/specs/device.cpp`).
    pub comparisons: usize,
    /// Whether comparisons support masks, and unsigned constants of all 32 bits (`bf-p4c/mau/stateful_alu.cpp`).
    pub masks_compared: bool,
    /// Whether a stateful ALU can divide (`bf-p4c/specs/device.cpp`).
    pub divides: bool,
    /// Units for checksums in a deparser (`bf-p4c/specs/parde_spec.h`).
    pub deparser_checksums: usize,
    /// Bytes that a resubmitted packet carries (`bf-p4c/specs/device.h`).
    pub resubmit_bytes: u32,
    /// Whether a second write of a parser is ORed to the first (`bf-p4c/parde/check_parser_multi_write.cpp`).
    pub writes_once: bool,
    /// Largest depth of the egress parser, in bytes (`bf-p4c/midend/parser_enforce_depth_req.cpp`).
    pub egress_parse_bytes: Option<u32>,
}

/// Actions that one register's ALU can distinguish (`bf-p4c/midend/register_read_write.cpp`).
pub const REGISTER_ACTIONS: usize = 4;
/// Different values that each half of an ALU can compute in one access: two adders, ORed (`bf-asm/salu_inst.cpp`).
pub const VALUES_PER_WORD: usize = 2;
/// Values of the packet that reach the ALU of a register, over all actions of the register
/// (`bf-p4c/mau/tofino/input_xbar.cpp`).
pub const PACKET_INPUTS: usize = 2;
/// Rows for constants that do not fit into an instruction, shared by the actions of a register
/// (`bf-p4c/specs/device.cpp`).
pub const CONSTANT_ROWS: usize = 4;
/// Smallest and largest constant in an instruction (`bf-p4c/specs/device.cpp`).
pub const INLINE_CONSTANTS: (i64, i64) = (-8, 7);
/// Widest word of a register (`bf-p4c/specs/device.cpp`).
pub const WORD_BITS: u32 = 32;
/// Bytes of the packet that a gateway matches. The next constants are its bits of hash, its bits in all, and its rows
/// (`bf-p4c/specs/device.cpp`).
pub const GATEWAY_BYTES: u32 = 4;
/// See [`GATEWAY_BYTES`].
pub const GATEWAY_HASH_BITS: u32 = 12;
/// See [`GATEWAY_BYTES`].
pub const GATEWAY_BITS: u32 = 8 * GATEWAY_BYTES + GATEWAY_HASH_BITS;
/// See [`GATEWAY_BYTES`].
pub const GATEWAY_ROWS: usize = 4;
/// Largest number of disjunctions that p4c splits over gateways (`bf-p4c/mau/gateway.cpp`).
pub const CONDITION_ROWS: usize = 32;
/// Widest saturating operation (`bf-p4c/mau/instruction_selection.cpp`).
pub const SATURATING_BITS: u32 = 32;
/// Widest sum, over two containers (`bf-p4c/mau/action_analysis.cpp`).
pub const ADD_BITS: u32 = 64;
/// Widest key that needs no match, since it can be the address of the action data (`bf-p4c/mau/table_layout.cpp`).
pub const HASH_ACTION_BITS: u32 = 10;
/// Bits that one state of a parser can select by (`bf-p4c/specs/parde_spec.h`).
pub const SELECT_BITS: u32 = 32;
/// Rows of a parser's TCAM (`bf-p4c/specs/parde_spec.h`).
pub const PARSER_ROWS: u64 = 256;
/// Longest digest in bytes (`bf-p4c/specs/device.h`).
pub const DIGEST_BYTES: u32 = 48;
/// Widest `range` key: 5 nibbles (`bf-p4c/mau/resource_estimate.cpp`).
pub const RANGE_KEY_BITS: u32 = 20;
/// TCAM blocks of a stage. The next constants are the entries of a block and the bits of an entry
/// (`bf-p4c/specs/mau_spec.h`).
pub const TCAM_BLOCKS: usize = 24;
/// See [`TCAM_BLOCKS`].
pub const TCAM_ENTRIES: u64 = 512;
/// See [`TCAM_BLOCKS`].
pub const TCAM_BITS: u64 = 44;
/// SRAM blocks of a stage. The next constants are the words of a block and the bits of a word
/// (`bf-p4c/specs/mau_spec.h`).
pub const SRAM_BLOCKS: usize = 80;
/// See [`SRAM_BLOCKS`].
pub const SRAM_WORDS: u64 = 1024;
/// See [`SRAM_BLOCKS`].
pub const SRAM_WORD_BITS: u64 = 128;
/// Map RAMs of a stage (`bf-p4c/specs/mau_spec.h`).
pub const MAP_RAMS: usize = 48;
/// ALUs of a stage for registers, meters and filters (`bf-p4c/specs/mau_spec.h`).
pub const METER_ALUS: usize = 4;
/// ALUs of a stage for counters (`bf-p4c/specs/mau_spec.h`).
pub const COUNTER_ALUS: usize = 4;
/// SRAM blocks that the ALU of a register can reach (`bf-asm/stateful.cpp`).
pub const REGISTER_BLOCKS: usize = 24;
/// Logical tables of a stage (`bf-p4c/specs/mau_spec.h`).
pub const LOGICAL_TABLES: usize = 16;
/// Gateways of a stage (`bf-p4c/specs/mau_spec.h`).
pub const GATEWAYS: usize = 16;
/// Bytes at the crossbar of a stage for exact matches. The next constants are the bytes for ternary matches, and the
/// tables that match in TCAM (`bf-p4c/specs/mau_spec.h`).
pub const EXACT_BYTES: u32 = 128;
/// See [`EXACT_BYTES`].
pub const TERNARY_BYTES: u32 = 66;
/// See [`EXACT_BYTES`].
pub const TERNARY_TABLES: usize = 8;
/// Bits of the packet header vector that tables see (`bf-p4c/specs/phv_spec.cpp`).
pub const VECTOR_BITS: u32 = 4096;
/// Number of stages after which the estimate gives up.
pub const MOST_STAGES: usize = 200;

impl Limits {
    /// The limits of a chip.
    pub fn of(chip: Chip) -> Limits {
        match chip {
            Chip::Tofino1 => Limits {
                stages: 12,
                comparisons: 2,
                masks_compared: false,
                divides: false,
                deparser_checksums: 6,
                resubmit_bytes: 8,
                writes_once: true,
                egress_parse_bytes: Some(160),
            },
            Chip::Tofino2 => Limits {
                stages: 20,
                comparisons: 4,
                masks_compared: true,
                divides: true,
                deparser_checksums: 8,
                resubmit_bytes: 16,
                writes_once: false,
                egress_parse_bytes: None,
            },
        }
    }
}
