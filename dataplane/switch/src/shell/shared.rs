//! The state that the data path's thread and the control plane share.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock};

use groupflow_base::Nanos;
use groupflow_host::process::{lock, Clock, Wake};
use groupflow_pipeline::Digest;
use tokio::sync::Notify;

use super::error::{system, ShellError};
use super::lateness::Lateness;
use crate::core::Switch;

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
    pub waker: Wake,
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
            waker: Wake::new().map_err(system("eventfd"))?,
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
