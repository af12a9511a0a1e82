//! Switches of Tofino's architecture.

mod copies;
mod ghost;
mod order;
mod support;
