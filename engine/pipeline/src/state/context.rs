// SPDX-License-Identifier: MIT OR Apache-2.0
//! What generated code sees of a state and of the packet.
//!
//! This module has data only: `jit::context` has the functions that the code calls with it, and the rules for its
//! pointers.
#![expect(unsafe_code, reason = "pointers for generated code")]

use marklab_p4::ir::{HashAlgorithm, Request, Ty};

use super::{RegisterArray, State};
use crate::Packet;
use crate::fixed::Fixed;
use crate::table::{Count, Table};
use marklab_p4::arith::Operator;

/// An operator that generated code refers to by number.
#[derive(Debug)]
pub(crate) struct Operation {
    pub(crate) operator: Operator,
    pub(crate) operands: Vec<Ty>,
    pub(crate) ty: Ty,
}

/// Objects that generated code refers to by number, and the memory that it needs.
#[derive(Default)]
pub(crate) struct Referred {
    pub(crate) requests: Vec<Request>,
    pub(crate) algorithms: Vec<HashAlgorithm>,
    pub(crate) operations: Vec<Operation>,
    /// Memory that it needs in addition to the machine's stack.
    pub(crate) scratch_bytes: usize,
    /// Memory for the output of its deparsers, as far as it is known before.
    pub(crate) emitted_bytes: usize,
}

/// An array as generated code sees it.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Cells {
    pub(crate) start: *mut u64,
    /// Number of cells.
    pub(crate) len: u64,
}

/// A table as generated code sees it.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct TableView {
    pub(crate) table: *mut Table,
    /// [`Table::direct`].
    pub(crate) direct: *const u8,
}

/// Addresses of a state's tables and arrays.
#[derive(Clone, Debug)]
pub(crate) struct Views {
    tables: Vec<TableView>,
    registers: Vec<Cells>,
    counters: Vec<Cells>,
}

// SAFETY: the pointers point into the `State` that owns these `Views`, and are used only while it is borrowed mutably.
unsafe impl Send for Views {}
// SAFETY: as above; a shared reference cannot follow the pointers.
unsafe impl Sync for Views {}

impl Views {
    /// Addresses of a state's tables and arrays. They stay valid when the state moves, since all of these are on the
    /// heap.
    pub(crate) fn new(tables: &[Fixed<Table>], registers: &mut [RegisterArray], counters: &mut [Vec<Count>]) -> Views {
        let register = |array: &mut RegisterArray| Cells { start: array.words.as_mut_ptr(), len: array.cells };
        let counter = |cells: &mut Vec<Count>| Cells { start: cells.as_mut_ptr().cast(), len: cells.len() as u64 };
        Views {
            tables: tables.iter().map(|table| TableView { direct: table.direct(), table: table.as_ptr() }).collect(),
            registers: registers.iter_mut().map(register).collect(),
            counters: counters.iter_mut().map(counter).collect(),
        }
    }
}

/// The data that generated code receives. It lives in the [`State`], so a call sets only what has changed since the
/// last call.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Context {
    pub(crate) tables: *const TableView,
    pub(crate) registers: *const Cells,
    pub(crate) counters: *const Cells,
    /// Stored bytes of the packet; [`crate::packet::SLACK`] more may be read, and `headroom` before them written.
    pub(crate) packet_bytes: *mut u8,
    /// Number of stored bytes.
    pub(crate) stored: u64,
    /// Length of the packet.
    pub(crate) length: u64,
    /// Bytes in front of the packet that may be written.
    pub(crate) headroom: u64,
    /// Output of a deparser that needs a buffer.
    pub(crate) emitted: *mut u8,
    /// Bytes the deparser wrote, or `u64::MAX` before it ends.
    pub(crate) emitted_len: u64,
    /// Memory for values that do not fit on the machine's stack.
    pub(crate) scratch: *mut u8,
    /// Faults of this call, which are added to `State::faults`.
    pub(crate) faults: u64,
    /// Result of `draw` and `filter`.
    pub(crate) drawn: u64,
    pub(crate) state: *mut State,
    pub(crate) packet: *mut Packet,
    pub(crate) referred: *const Referred,
}

// SAFETY: the pointers are used only during a call, which borrows the `State` mutably and sets those that may have changed.
unsafe impl Send for Context {}
// SAFETY: as above; a shared reference cannot follow the pointers.
unsafe impl Sync for Context {}

impl Context {
    /// The context of a state with these tables and arrays, before any call.
    pub(crate) fn new(views: &Views) -> Context {
        Context {
            tables: views.tables.as_ptr(),
            registers: views.registers.as_ptr(),
            counters: views.counters.as_ptr(),
            packet_bytes: std::ptr::null_mut(),
            stored: 0,
            length: 0,
            headroom: 0,
            emitted: std::ptr::null_mut(),
            emitted_len: 0,
            scratch: std::ptr::null_mut(),
            faults: 0,
            drawn: 0,
            state: std::ptr::null_mut(),
            packet: std::ptr::null_mut(),
            referred: std::ptr::null(),
        }
    }

    /// Updates the address of the packet's bytes. Until the next update, nothing else may refer to these bytes.
    #[inline(always)]
    pub(crate) fn see_packet(&mut self) {
        // SAFETY: the pointer was set for the present call.
        let packet = unsafe { &mut *self.packet };
        (self.stored, self.headroom) = (packet.stored().len() as u64, packet.headroom() as u64);
        self.packet_bytes = packet.start();
    }
}
