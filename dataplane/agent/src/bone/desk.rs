//! What a hub's loop, its HTTP server and the thread that hashes share: the folder.

use std::path::PathBuf;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::folder::Folder;
use super::outgoing::hash;
use super::wake::Wake;
use crate::error::AgentError;

/// What is shared.
#[derive(Debug)]
pub struct Desk {
    folder: Mutex<Folder>,
    /// Of the loop.
    pub wake: Wake,
}

impl Desk {
    /// With a thread that hashes files one after the other, so that neither sending nor clients wait for that.
    pub fn new(path: PathBuf, all: bool, wake: Wake) -> Result<Arc<Desk>, AgentError> {
        let (sender, files) = channel();
        let desk = Arc::new(Desk { folder: Mutex::new(Folder::new(path, all, sender)), wake });
        let shared = Arc::clone(&desk);
        let run = move || {
            for (name, path) in files {
                let result = hash(&path);
                shared.folder().hashed(&name, result);
                shared.wake.wake();
            }
        };
        let started = std::thread::Builder::new().name("hash".to_owned()).spawn(run);
        started.map_err(|e| AgentError::new("system", format!("no thread: {e}"), "end other programs"))?;
        Ok(desk)
    }

    /// The folder. A thread that panicked has not left it half changed.
    pub fn folder(&self) -> MutexGuard<'_, Folder> {
        self.folder.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
