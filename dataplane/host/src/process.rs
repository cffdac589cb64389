//! What every agent asks of the system: descriptors and signals.

use nix::sys::resource::{getrlimit, setrlimit, Resource};
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};

use crate::error::plain;
use crate::error::AgentError;

/// As many descriptors as the system lets us have.
pub fn raise_descriptors() {
    if let Ok((_, hard)) = getrlimit(Resource::RLIMIT_NOFILE) {
        // What is not granted shows when connections are refused.
        let _ = setrlimit(Resource::RLIMIT_NOFILE, hard, hard);
    }
}

/// SIGINT and SIGTERM as a descriptor; they no longer end the process by themselves.
pub fn signals() -> Result<SignalFd, nix::Error> {
    let mut set = SigSet::empty();
    set.add(Signal::SIGINT);
    set.add(Signal::SIGTERM);
    set.thread_block()?;
    SignalFd::with_flags(&set, SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC)
}

/// What the system refused.
pub fn system(error: &std::io::Error) -> AgentError {
    AgentError::new("system", plain(error), "check limits and permissions, then start it again")
}
