//! The clock, wake-ups, locks, descriptors and signals, which every program needs from the system.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use groupflow_base::Nanos;
use nix::sys::eventfd::{EfdFlags, EventFd};
use nix::sys::resource::{getrlimit, setrlimit, Resource};
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};

use crate::error::{plain, AgentError};

/// The clock of machines and of the switch: time since the program's start.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    origin: Instant,
}

impl Clock {
    pub fn start() -> Clock {
        Clock { origin: Instant::now() }
    }

    pub fn now(&self) -> Nanos {
        self.at(Instant::now())
    }

    /// The clock's reading at an instant; zero for one before the start.
    pub fn at(&self, instant: Instant) -> Nanos {
        nanos(instant.saturating_duration_since(self.origin))
    }

    /// The instant at which the clock reads `time`.
    pub fn instant(&self, time: Nanos) -> Instant {
        self.origin + Duration::from_nanos(time.0.min(u64::MAX / 4))
    }

    /// The wall clock's reading (nanoseconds since 1970) that belongs to zero.
    pub fn wall_offset(&self) -> u64 {
        let wall = SystemTime::now().duration_since(UNIX_EPOCH).map_or(Nanos::ZERO, nanos);
        (wall - self.now()).0
    }
}

/// A span of time as machines count it.
pub fn nanos(span: Duration) -> Nanos {
    Nanos(u64::try_from(span.as_nanos()).unwrap_or(u64::MAX))
}

/// A descriptor that is readable once somebody has called [`Wake::wake`].
#[derive(Debug)]
pub struct Wake(EventFd);

impl Wake {
    /// A descriptor that is not readable yet.
    pub fn new() -> io::Result<Wake> {
        Ok(Wake(EventFd::from_flags(EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK)?))
    }

    /// Makes the descriptor readable, from any thread; any number of calls before it is cleared count as one.
    pub fn wake(&self) {
        // If the counter is full, the write fails, but the descriptor is readable already.
        let _ = self.0.write(1);
    }

    /// Makes the descriptor unreadable until the next wake.
    pub fn clear(&self) {
        let _ = self.0.read();
    }
}

impl AsFd for Wake {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Locks a mutex. A holder that panicked has ended the process or its request, and the state is still whole.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Raises the limit of descriptors to the most that the system allows.
pub fn raise_descriptors() {
    if let Ok((_, hard)) = getrlimit(Resource::RLIMIT_NOFILE) {
        // A limit that cannot be raised shows later, when connections are refused.
        let _ = setrlimit(Resource::RLIMIT_NOFILE, hard, hard);
    }
}

/// Receives SIGINT and SIGTERM through a descriptor; the signals no longer end the process by themselves.
pub fn signals() -> Result<SignalFd, nix::Error> {
    let mut set = SigSet::empty();
    set.add(Signal::SIGINT);
    set.add(Signal::SIGTERM);
    set.thread_block()?;
    SignalFd::with_flags(&set, SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC)
}

/// The error for a refusal by the system.
pub fn system(error: &io::Error) -> AgentError {
    AgentError::new("system", plain(error), "check limits and permissions, then start it again")
}
