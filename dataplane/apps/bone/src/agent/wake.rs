//! Wakes the loop from another thread.

use std::os::fd::{AsFd, BorrowedFd};

use nix::sys::eventfd::{EfdFlags, EventFd};

/// A descriptor that is readable once somebody has called [`Wake::wake`].
#[derive(Debug)]
pub struct Wake(EventFd);

impl Wake {
    /// Not readable yet.
    pub fn new() -> Result<Wake, nix::Error> {
        EventFd::from_flags(EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK).map(Wake)
    }

    /// From any thread.
    pub fn wake(&self) {
        // A counter that is full is readable, too.
        let _ = self.0.write(1);
    }

    /// Not readable any more.
    pub fn clear(&self) {
        let _ = self.0.read();
    }
}

impl AsFd for Wake {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
