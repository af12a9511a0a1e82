// SPDX-License-Identifier: MIT OR Apache-2.0
//! A program in the switch sees what it would see in simple_switch: order of operations, units and widths of metadata.

#[path = "../common/mod.rs"]
mod common;
mod conservation;
mod detour;
mod detours;
mod messages;
mod metadata;
mod meters;
mod needs;
mod order;
mod pass;
mod queues;
mod support;
