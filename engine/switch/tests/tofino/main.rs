//! Switches of Tofino's architecture.

mod order;
mod support;
