//! Descriptors and signals, which every agent needs from the system.

use nix::sys::resource::{getrlimit, setrlimit, Resource};
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};

use crate::error::{plain, AgentError};

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
pub fn system(error: &std::io::Error) -> AgentError {
    AgentError::new("system", plain(error), "check limits and permissions, then start it again")
}
