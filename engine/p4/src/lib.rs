//! P4_16 front end: source text to typed, flat IR.
//!
//! Knows nothing of packets in flight. The parts, in the order in which a program passes through them:
//!
//! - [`source`]: files and places in them;
//! - [`ir`]: the result, which `marklab-pipeline` runs.

pub mod ir;
pub mod source;
