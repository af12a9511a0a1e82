// SPDX-License-Identifier: MIT OR Apache-2.0
//! Records of a switch, in virtual time and in real time: its queues, its marks, its frames.
//!
//! Nothing here has a clock: the driver of the switch passes the time of each event.

mod capture;
mod cell;
mod ecn;
mod trace;

pub use capture::{CaptureError, CaptureFile};
pub use cell::{Cell, CellError};
pub use ecn::{Ecn, became_marked, frame_ecn};
pub use trace::{Departure, Passage, PortDepth, PortTrace, QueueTrace, TraceRow};
