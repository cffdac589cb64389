//! Sleeping until a deadline, a packet, input or a signal.

use std::os::fd::{AsFd, BorrowedFd};

use groupflow_protocol::Nanos;
use nix::poll::{ppoll, PollFd, PollFlags};
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::sys::time::TimeSpec;

use crate::report::Failure;

/// SIGTERM and SIGINT as something to wait for.
#[derive(Debug)]
pub struct Signals {
    fd: SignalFd,
}

impl Signals {
    /// Blocks the two signals and receives them here. SIGPIPE is ignored: a closed pipe is a failed write.
    pub fn new() -> Result<Signals, Failure> {
        let system = |e: nix::Error| Failure::new("network", format!("signals: {e}"), "report this");
        let mut set = SigSet::empty();
        set.add(Signal::SIGTERM);
        set.add(Signal::SIGINT);
        set.thread_block().map_err(system)?;
        let fd =
            SignalFd::with_flags(&set, SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC).map_err(system)?;
        Ok(Signals { fd })
    }

    /// Whether one arrived since the last call.
    pub fn arrived(&mut self) -> bool {
        matches!(self.fd.read_signal(), Ok(Some(_)))
    }

    /// To wait for.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// What a wait is for, besides the time.
#[derive(Debug, Clone, Copy)]
pub struct Wanted<'a> {
    /// To read from.
    pub readable: [Option<BorrowedFd<'a>>; 3],
    /// To write to.
    pub writable: Option<BorrowedFd<'a>>,
}

/// Sleeps until `span` has passed (`None`: without end) or something wanted can be done.
pub fn wait(wanted: Wanted<'_>, span: Option<Nanos>) {
    let mut fds: Vec<PollFd<'_>> = Vec::with_capacity(4);
    fds.extend(wanted.readable.into_iter().flatten().map(|fd| PollFd::new(fd, PollFlags::POLLIN)));
    fds.extend(wanted.writable.map(|fd| PollFd::new(fd, PollFlags::POLLOUT)));
    let span = span.map(|s| TimeSpec::from_duration(std::time::Duration::from_nanos(s.0)));
    // An interrupted wait is a short wait: the loop looks again.
    let _ = ppoll(&mut fds, span, None);
}

/// Whether reading from `fd` would not block.
pub fn readable(fd: BorrowedFd<'_>) -> bool {
    let mut fds = [PollFd::new(fd, PollFlags::POLLIN)];
    matches!(ppoll(&mut fds, Some(TimeSpec::new(0, 0)), None), Ok(n) if n > 0)
}
