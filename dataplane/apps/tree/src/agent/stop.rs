//! The signals that end a host before its stream ends.

use std::os::fd::{AsFd, BorrowedFd};

use groupflow_host::error::AgentError;
use groupflow_host::process::system;
use nix::sys::signalfd::SignalFd;

/// SIGINT and SIGTERM, and whether one has come.
#[derive(Debug)]
pub struct Stop {
    signals: SignalFd,
    /// Whether a signal has come, as far as [`Stop::check`] saw.
    pub has_come: bool,
}

impl Stop {
    /// Waits for signals, which no other code receives from now on.
    pub fn signals() -> Result<Stop, AgentError> {
        let signals = groupflow_host::process::signals().map_err(|e| system(&e.into()))?;
        Ok(Stop { signals, has_come: false })
    }

    /// Whether a signal has come by now.
    pub fn check(&mut self) -> bool {
        self.has_come |= matches!(self.signals.read_signal(), Ok(Some(_)));
        self.has_come
    }
}

impl AsFd for Stop {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.signals.as_fd()
    }
}
