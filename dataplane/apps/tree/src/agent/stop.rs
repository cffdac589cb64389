//! The causes that end a host before its stream ends: a signal to a command, or a program that drops the
//! host.

use std::io::{ErrorKind, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;

use groupflow_host::error::AgentError;
use groupflow_host::process::system;
use nix::sys::signalfd::SignalFd;

/// The cause that is waited for, and whether it has occurred.
#[derive(Debug)]
pub struct Stop {
    cause: Cause,
    /// Whether the cause has occurred, as far as [`Stop::came`] saw.
    pub has_come: bool,
}

#[derive(Debug)]
enum Cause {
    /// SIGINT or SIGTERM.
    Signal(SignalFd),
    /// The other end of the socket is closed; nothing is ever written to it.
    Hangup(UnixStream),
}

impl Stop {
    /// Waits for signals, which no other code receives from now on.
    pub fn signals() -> Result<Stop, AgentError> {
        groupflow_host::process::signals().map(Cause::Signal).map(Stop::of).map_err(|e| system(&e.into()))
    }

    /// A pair: the first half fires when the second is dropped.
    pub fn pair() -> Result<(Stop, UnixStream), AgentError> {
        let (here, there) = UnixStream::pair().map_err(|e| system(&e))?;
        here.set_nonblocking(true).map_err(|e| system(&e))?;
        Ok((Stop::of(Cause::Hangup(here)), there))
    }

    fn of(cause: Cause) -> Stop {
        Stop { cause, has_come: false }
    }

    /// Whether the cause has occurred by now.
    pub fn came(&mut self) -> bool {
        self.has_come |= match &mut self.cause {
            Cause::Signal(signals) => matches!(signals.read_signal(), Ok(Some(_))),
            Cause::Hangup(end) => {
                use ErrorKind::{Interrupted, WouldBlock};
                !matches!(end.read(&mut [0]), Err(error) if matches!(error.kind(), WouldBlock | Interrupted))
            }
        };
        self.has_come
    }

    /// The error that names the cause.
    pub fn error(&self) -> AgentError {
        match &self.cause {
            Cause::Signal(_) => AgentError::interrupted(),
            Cause::Hangup(_) => {
                let cause = "the program let go of the stream before it was complete";
                AgentError::new("left", cause, "keep the session until it ends, then finish it")
            }
        }
    }
}

impl AsFd for Stop {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match &self.cause {
            Cause::Signal(signals) => signals.as_fd(),
            Cause::Hangup(end) => end.as_fd(),
        }
    }
}
