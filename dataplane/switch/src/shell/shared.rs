//! The state that the data path's thread and the control plane share.

use std::os::fd::{AsRawFd, RawFd};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use groupflow_base::Nanos;
use groupflow_pipeline::Digest;
use nix::sys::eventfd::{EfdFlags, EventFd};
use tokio::sync::Notify;

use super::error::{system, ShellError};
use super::lateness::Lateness;
use crate::core::Switch;

/// The switch's clock: nanoseconds since it started.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    start: Instant,
}

impl Clock {
    pub fn start() -> Clock {
        Clock { start: Instant::now() }
    }

    pub fn now(&self) -> Nanos {
        Nanos(u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }

    /// The wall clock's reading (nanoseconds since 1970) that belongs to zero.
    pub fn wall_offset(&self) -> u64 {
        let wall = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_nanos());
        u64::try_from(wall).unwrap_or(0).saturating_sub(self.now().0)
    }
}

#[derive(Debug)]
pub struct Waker(EventFd);

impl Waker {
    pub fn new() -> Result<Waker, ShellError> {
        let flags = EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK;
        EventFd::from_value_and_flags(0, flags).map(Waker).map_err(|error| system("eventfd")(error.into()))
    }

    /// Wakes the data path; any number of calls before it looks count as one.
    pub fn wake(&self) {
        // A full counter means that the sleeper is woken anyway.
        let _ = self.0.write(1);
    }

    pub fn clear(&self) {
        // An empty counter is clear already.
        let _ = self.0.read();
    }

    pub fn fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}

#[derive(Debug)]
pub enum ToControlPlane {
    /// A packet with the program's header in front.
    Packet(Vec<u8>),
    Digest(Nanos, Digest),
}

#[derive(Debug, Default)]
pub struct InterfaceCounters {
    /// Frames that the kernel dropped before the switch read them.
    pub kernel_drops: AtomicU64,
    /// Frames longer than the switch takes.
    pub oversize: AtomicU64,
    /// Frames that the interface did not take.
    pub refused: AtomicU64,
}

#[derive(Debug)]
pub struct Shared {
    pub clock: Clock,
    /// Wakes the data path after something changed that it has to look at.
    pub waker: Waker,
    pub stop: AtomicBool,
    /// Called when all primaries are to lose their roles.
    pub depose: Notify,
    /// Packets that found no room on the way to the control plane.
    pub control_plane_full: AtomicU64,
    /// Packets that found no primary client.
    pub no_primary: AtomicU64,
    /// The first of the captures that ended early, and why.
    pub problem: OnceLock<String>,
    /// The interfaces' names and counters, in the order of port numbers.
    pub interfaces: Vec<(String, InterfaceCounters)>,
    switch: Mutex<Switch>,
    lateness: Mutex<Lateness>,
}

impl Shared {
    /// Shares a switch whose ports have these interfaces, in the order of port numbers.
    pub fn new(switch: Switch, interfaces: Vec<String>) -> Result<Shared, ShellError> {
        Ok(Shared {
            clock: Clock::start(),
            waker: Waker::new()?,
            stop: AtomicBool::new(false),
            depose: Notify::new(),
            control_plane_full: AtomicU64::new(0),
            no_primary: AtomicU64::new(0),
            problem: OnceLock::new(),
            interfaces: interfaces.into_iter().map(|name| (name, InterfaceCounters::default())).collect(),
            switch: Mutex::new(switch),
            lateness: Mutex::new(Lateness::new()?),
        })
    }

    /// The switch, locked. The lock must be held only for a short time, since packets wait.
    pub fn switch(&self) -> MutexGuard<'_, Switch> {
        lock(&self.switch)
    }

    pub fn lateness(&self) -> MutexGuard<'_, Lateness> {
        lock(&self.lateness)
    }

    pub fn stop(&self) {
        self.stop.store(true, Ordering::Release);
        self.waker.wake();
    }
}

/// Locks a mutex. A holder that panicked has ended the process or its request, and the state is still whole.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
#[path = "tests/shared.rs"]
mod tests;
