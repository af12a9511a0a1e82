// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reasons to refuse a program.

use thiserror::Error;

use crate::table::TableError;

/// Why a program cannot be run here, although it compiles.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum LoadError {
    /// A construct that this engine does not run yet.
    #[error("`{name}`: {what} is not supported yet")]
    Unsupported {
        /// The object.
        name: String,
        /// The construct.
        what: &'static str,
    },
    /// An array is larger than the memory limit allows.
    #[error("`{name}` has {size} cells; the limit is {limit}")]
    TooLarge {
        /// The object.
        name: String,
        /// Its size.
        size: u64,
        /// Largest size.
        limit: u64,
    },
    /// Headers and metadata of a packet would take too much memory.
    #[error("the headers and metadata of a packet take {bytes} bytes; the limit is {limit}")]
    PacketState {
        /// Bytes of the packet state.
        bytes: usize,
        /// Largest number of bytes.
        limit: usize,
    },
    /// The program calls an extern that this engine does not implement.
    #[error("nothing here implements extern `{name}`, which the program calls")]
    Foreign {
        /// The extern.
        name: String,
    },
    /// A table refuses an entry written in the source.
    #[error(transparent)]
    Entry(#[from] TableError),
}
