//! The clock of a running switch.

use std::time::Instant;

use marklab_units::Time;

/// Monotonic time since the switch was started.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    start: Instant,
}

impl Clock {
    /// A clock that is at zero now.
    pub fn start() -> Clock {
        Clock { start: Instant::now() }
    }

    /// The time.
    #[inline]
    pub fn now(&self) -> Time {
        // 64 bits of ns are 584 years.
        Time::from_nanos(self.start.elapsed().as_nanos() as u64)
    }
}
