//! The state that the data path's thread and the control plane share.

use std::os::fd::{AsRawFd, RawFd};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use groupflow_base::Nanos;
use groupflow_pipeline::Digest;
use nix::sys::eventfd::{EfdFlags, EventFd};
use tokio::sync::Notify;

use super::clock::Clock;
use super::error::{system, ShellError};
use super::lateness::{Lateness, LatenessLimits};
use crate::core::Switch;

/// Wakes the data path from its sleep.
#[derive(Debug)]
pub struct Waker(EventFd);

impl Waker {
    /// A waker that was not called yet.
    pub fn new() -> Result<Waker, ShellError> {
        let flags = EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK;
        EventFd::from_value_and_flags(0, flags).map(Waker).map_err(|error| system("eventfd")(error.into()))
    }

    /// Wakes the data path; any number of calls before it looks count as one.
    pub fn wake(&self) {
        // A full counter means that the sleeper is woken anyway.
        let _ = self.0.write(1);
    }

    /// Makes ready for the next wake.
    pub fn clear(&self) {
        // An empty counter is clear already.
        let _ = self.0.read();
    }

    /// The descriptor to poll.
    pub fn fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}

/// A message for the controller.
#[derive(Debug)]
pub enum ToControlPlane {
    /// A packet with the program's header in front.
    Packet(Vec<u8>),
    /// A digest message.
    Digest(Nanos, Digest),
}

/// The counters of an interface itself.
#[derive(Debug, Default)]
pub struct InterfaceCounters {
    /// Frames that the kernel dropped before the switch read them.
    pub kernel_drops: AtomicU64,
    /// Frames longer than the switch takes.
    pub oversize: AtomicU64,
    /// Frames that the interface did not take.
    pub refused: AtomicU64,
}

/// The state that the threads share.
#[derive(Debug)]
pub struct Shared {
    /// The switch's clock.
    pub clock: Clock,
    /// Wakes the data path after something changed that it has to look at.
    pub waker: Waker,
    /// Whether the data path is to end.
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
    pub fn new(
        switch: Switch, interfaces: Vec<String>, limits: LatenessLimits,
    ) -> Result<Shared, ShellError> {
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
            lateness: Mutex::new(Lateness::new(limits)),
        })
    }

    /// The switch, locked. The lock must be held only for a short time, since packets wait.
    pub fn switch(&self) -> MutexGuard<'_, Switch> {
        lock(&self.switch)
    }

    /// The measure of lateness.
    pub fn lateness(&self) -> MutexGuard<'_, Lateness> {
        lock(&self.lateness)
    }

    /// Ends the data path.
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
