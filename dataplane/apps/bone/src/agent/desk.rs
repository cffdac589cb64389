//! What a hub's loop, its HTTP server and the thread that hashes share: the folder.

use std::io;
use std::path::PathBuf;
use std::sync::mpsc::{channel, Receiver};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use groupflow_host::error::AgentError;

use super::folder::{scan, Folder, Skipped};
use super::outgoing::hash;
use super::wake::Wake;

/// Of what a look found, so much is taken in at once: nobody waits for the folder longer.
const PART: usize = 500;

/// What a look gives.
pub type Look = io::Result<Vec<Skipped>>;

/// What is shared.
#[derive(Debug)]
pub struct Desk {
    folder: Mutex<Folder>,
    path: PathBuf,
    /// Of the loop.
    pub wake: Wake,
}

impl Desk {
    /// With a thread that hashes files one after the other, so that neither sending nor clients wait for that.
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

    /// Looks into the folder. Gives what is there and cannot be sent, each once.
    pub fn look(&self) -> Look {
        let found = scan(&self.path)?;
        let skipped = found.chunks(PART).flat_map(|part| self.folder().take_in(part)).collect();
        self.folder().looked();
        Ok(skipped)
    }

    /// Looks again and again, in a thread of its own: in a folder of many files that takes longer than from one packet to
    /// the next. What each look gives comes from the channel.
    pub fn keep_looking(self: &Arc<Desk>, every: Duration) -> Result<Receiver<Look>, AgentError> {
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

    /// The folder. A thread that panicked has not left it half changed.
    pub fn folder(&self) -> MutexGuard<'_, Folder> {
        self.folder.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn start(name: &str, run: impl FnOnce() + Send + 'static) -> Result<(), AgentError> {
    let started = std::thread::Builder::new().name(name.to_owned()).spawn(run);
    started.map(drop).map_err(|e| AgentError::new("system", format!("no thread: {e}"), "end other programs"))
}
