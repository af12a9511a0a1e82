// SPDX-License-Identifier: MIT OR Apache-2.0
//! Switches of Tofino's architecture.

#[path = "../common/mod.rs"]
mod common;
mod copies;
mod ghost;
mod order;
mod support;
