// SPDX-License-Identifier: MIT OR Apache-2.0
//! The one clock of a run.

use rustix::time::{ClockId, clock_gettime};

const NS_PER_S: u64 = 1_000_000_000;

/// CLOCK_MONOTONIC in ns.
#[must_use]
pub fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    // Neither is ever negative: the clock starts at 0 when the machine boots.
    now.tv_sec as u64 * NS_PER_S + now.tv_nsec as u64
}
