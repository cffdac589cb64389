//! What ends a host before its stream does: a signal to a command; for a host within a program, that lets go of it.

use std::io::{ErrorKind, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;

use groupflow_host::error::AgentError;
use groupflow_host::process::system;
use nix::sys::signalfd::SignalFd;

/// What is waited for.
#[derive(Debug)]
pub enum Stop {
    /// SIGINT or SIGTERM.
    Signal(SignalFd),
    /// The other end is closed. Nothing is ever written to it.
    Hangup(UnixStream),
}

impl Stop {
    /// Signals, which come to nobody else from now on.
    pub fn signals() -> Result<Stop, AgentError> {
        groupflow_host::process::signals().map(Stop::Signal).map_err(|e| system(&e.into()))
    }

    /// It comes when the other one is dropped.
    pub fn pair() -> Result<(Stop, UnixStream), AgentError> {
        let (here, there) = UnixStream::pair().map_err(|e| system(&e))?;
        here.set_nonblocking(true).map_err(|e| system(&e))?;
        Ok((Stop::Hangup(here), there))
    }

    /// Whether it came.
    pub fn came(&mut self) -> bool {
        match self {
            Stop::Signal(signals) => matches!(signals.read_signal(), Ok(Some(_))),
            Stop::Hangup(end) => {
                !matches!(end.read(&mut [0]), Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted))
            }
        }
    }

    /// What is said of it.
    pub fn error(&self) -> AgentError {
        match self {
            Stop::Signal(_) => AgentError::interrupted(),
            Stop::Hangup(_) => {
                let cause = "the program let go of the stream before it was complete";
                AgentError::new("left", cause, "keep the session until it ends, then finish it")
            }
        }
    }
}

impl AsFd for Stop {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Stop::Signal(signals) => signals.as_fd(),
            Stop::Hangup(end) => end.as_fd(),
        }
    }
}
