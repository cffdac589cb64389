//! The switch's clock: nanoseconds since it started.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use groupflow_base::Nanos;

/// A monotonic clock that starts at zero.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    start: Instant,
}

impl Clock {
    /// A clock whose zero is now.
    pub fn start() -> Clock {
        Clock { start: Instant::now() }
    }

    /// The time since the clock's zero.
    pub fn now(&self) -> Nanos {
        Nanos(u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }

    /// The wall clock's reading (nanoseconds since 1970) that belongs to zero.
    pub fn wall_offset(&self) -> u64 {
        let wall = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_nanos());
        u64::try_from(wall).unwrap_or(0).saturating_sub(self.now().0)
    }
}
