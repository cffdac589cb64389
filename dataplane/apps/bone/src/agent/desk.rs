//! The folder, which a hub's main loop, its HTTP server and its hashing thread share; and the wake-up of a main loop.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::PathBuf;
use std::sync::mpsc::{channel, Receiver};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use groupflow_host::error::AgentError;
use nix::sys::eventfd::{EfdFlags, EventFd};

use super::folder::{hash, scan, Folder, Skipped};

/// Scanned files taken in under one lock, so that nobody waits long for the folder.
const PART: usize = 500;

pub type ScanResult = io::Result<Vec<Skipped>>;

/// The shared folder, and the wake-up of the main loop.
#[derive(Debug)]
pub struct Desk {
    folder: Mutex<Folder>,
    path: PathBuf,
    pub wake: Wake,
}

impl Desk {
    /// Starts a thread that hashes one file after the other, so that neither sending nor clients wait for
    /// hashes.
    pub fn new(path: PathBuf, all: bool, wake: Wake) -> Result<Arc<Desk>, AgentError> {
        let (sender, files) = channel();
        let desk = Arc::new(Desk { folder: Mutex::new(Folder::new(path.clone(), all, sender)), path, wake });
        let shared = Arc::clone(&desk);
        let run = move || {
            for (name, path) in files {
                let result = hash(&path);
                shared.folder().hashed(&name, result);
                shared.wake.wake();
            }
        };
        start("hash", run)?;
        Ok(desk)
    }

    /// Scans the folder once. Returns the entries that cannot be sent, each of them only once.
    pub fn look(&self) -> ScanResult {
        let found = scan(&self.path)?;
        let skipped = found.chunks(PART).flat_map(|part| self.folder().take_in(part)).collect();
        self.folder().looked();
        Ok(skipped)
    }

    /// Scans the folder repeatedly, in a thread of its own: scanning many files takes longer than the
    /// interval between two packets. The channel delivers the result of each scan.
    pub fn keep_looking(self: &Arc<Desk>, every: Duration) -> Result<Receiver<ScanResult>, AgentError> {
        let (sender, looks) = channel();
        let desk = Arc::clone(self);
        start("look", move || loop {
            std::thread::sleep(every);
            if sender.send(desk.look()).is_err() {
                return;
            }
            desk.wake.wake();
        })?;
        Ok(looks)
    }

    /// The locked folder. A thread that panicked cannot have left it half changed.
    pub fn folder(&self) -> MutexGuard<'_, Folder> {
        self.folder.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn start(name: &str, run: impl FnOnce() + Send + 'static) -> Result<(), AgentError> {
    let started = std::thread::Builder::new().name(name.to_owned()).spawn(run);
    started.map(drop).map_err(|e| AgentError::new("system", format!("no thread: {e}"), "end other programs"))
}

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
