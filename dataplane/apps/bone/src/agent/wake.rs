//! Wakes the main loop from another thread.

use std::os::fd::{AsFd, BorrowedFd};

use nix::sys::eventfd::{EfdFlags, EventFd};

/// A descriptor that is readable once somebody has called [`Wake::wake`].
#[derive(Debug)]
pub struct Wake(EventFd);

impl Wake {
    /// A descriptor that is not readable yet.
    pub fn new() -> Result<Wake, nix::Error> {
        EventFd::from_flags(EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK).map(Wake)
    }

    /// Makes the descriptor readable; may be called from any thread.
    pub fn wake(&self) {
        // If the counter is full, the write fails, but the descriptor is readable already.
        let _ = self.0.write(1);
    }

    /// Makes the descriptor unreadable until the next wake.
    pub fn clear(&self) {
        let _ = self.0.read();
    }
}

impl AsFd for Wake {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
