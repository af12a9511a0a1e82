// SPDX-License-Identifier: MIT OR Apache-2.0
//! The clock of a running switch.

use std::time::{Duration as StdDuration, Instant, SystemTime, UNIX_EPOCH};

use marklab_units::Time;
use rustix::time::{ClockId, clock_gettime};

/// Monotonic time since the switch was started.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    start: Instant,
    started_ns: u64,
    started_at: StdDuration,
}

impl Clock {
    /// A clock that is at zero now.
    pub fn start() -> Clock {
        let start = Instant::now();
        // If the system's clock is before 1970, captures begin in 1970.
        let started_at = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Clock { start, started_ns: monotonic_ns(), started_at }
    }

    /// The present time.
    #[inline]
    pub fn now(&self) -> Time {
        // 64 bits of ns are 584 years.
        Time::from_nanos(self.start.elapsed().as_nanos() as u64)
    }

    /// The value of CLOCK_MONOTONIC at zero, in ns. All network namespaces share that clock.
    pub fn started_ns(&self) -> u64 {
        self.started_ns
    }

    /// The wall-clock time at zero, since 1970.
    pub fn started_at(&self) -> StdDuration {
        self.started_at
    }
}

fn monotonic_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}
