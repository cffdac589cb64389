//! The only clock: monotonic, from an origin of its own.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use groupflow_protocol::Nanos;

/// Counts from when it was made.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    origin: Instant,
}

impl Clock {
    /// Machines see a time that is never zero: they begin one second after the origin.
    const HEAD_START: Duration = Duration::from_secs(1);

    /// Starts now.
    pub fn start() -> Clock {
        Clock { origin: Instant::now() }
    }

    /// The time since the origin.
    pub fn now(&self) -> Nanos {
        let elapsed = self.origin.elapsed() + Clock::HEAD_START;
        Nanos(u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX))
    }
}

/// Seconds since 1970, for people and logs.
pub fn wall_seconds() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |d| d.as_secs_f64())
}

/// A span as seconds, for people and logs.
pub fn seconds(span: Nanos) -> f64 {
    span.0 as f64 / 1e9
}
