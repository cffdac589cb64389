//! The state that a rim's main loop and its HTTP server share: the store, the arriving file, and the files
//! that clients wait for.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

use super::desk::Wake;
use super::store::Store;
use crate::machine::{FileName, MAX_ASKED};

/// The reason why a client does not get a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failure {
    /// The hub has no such file.
    Unknown,
    /// Too many files wait at the hub or the rim.
    Busy,
    /// The hub does not answer, or no hub is known.
    Silent,
    /// The hub gave the file up, or the bytes did not match the announced digest.
    Broken,
    /// The file does not fit into the store, or on the disk.
    NoRoom,
}

/// The progress of a file that clients wait for.
#[derive(Debug, Clone)]
pub enum Progress {
    /// The hub was asked for the file.
    Asked,
    Arriving,
    Stored,
    /// The file does not come; the text says why in one line.
    Failed(Failure, String),
}

/// The state shared by main loop and HTTP server.
#[derive(Debug)]
pub struct Shelf {
    store: Mutex<Store>,
    coming: Mutex<BTreeMap<FileName, watch::Sender<Progress>>>,
    wishes: Mutex<Vec<FileName>>,
    damaged: Mutex<Vec<FileName>>,
    pub wake: Wake,
}

/// Locks a mutex. A thread that panicked cannot have left these values half changed.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shelf {
    /// A shelf on which no file is arriving yet.
    pub fn new(store: Store, wake: Wake) -> Shelf {
        let (coming, wishes) = (Mutex::new(BTreeMap::new()), Mutex::new(Vec::new()));
        Shelf { store: Mutex::new(store), coming, wishes, damaged: Mutex::new(Vec::new()), wake }
    }

    pub fn store(&self) -> MutexGuard<'_, Store> {
        lock(&self.store)
    }

    /// The progress of a file that a client waits for. The first client's call makes the loop ask the hub.
    /// `None`: clients wait for too many files.
    pub fn follow(&self, name: &FileName) -> Option<watch::Receiver<Progress>> {
        let mut coming = lock(&self.coming);
        if let Some(sender) = coming.get(name) {
            return Some(sender.subscribe());
        }
        if coming.len() >= MAX_ASKED {
            return None;
        }
        let (sender, receiver) = watch::channel(Progress::Asked);
        coming.insert(name.clone(), sender);
        lock(&self.wishes).push(name.clone());
        self.wake.wake();
        Some(receiver)
    }

    /// Publishes a file's progress from the main loop; `Stored` and `Failed` end it.
    pub fn tell(&self, name: &FileName, progress: Progress) {
        let mut coming = lock(&self.coming);
        let over = matches!(progress, Progress::Stored | Progress::Failed(..));
        match coming.get(name) {
            Some(sender) => drop(sender.send_replace(progress)),
            None if over => {}
            None => drop(coming.insert(name.clone(), watch::channel(progress).0)),
        }
        if over {
            coming.remove(name);
        }
    }

    /// Files that clients began to wait for since the last call.
    pub fn take_wishes(&self) -> Vec<FileName> {
        std::mem::take(&mut lock(&self.wishes))
    }

    /// Files that no client waits for any more, and that are not arriving.
    pub fn take_abandoned(&self) -> Vec<FileName> {
        let mut coming = lock(&self.coming);
        let idle = |sender: &watch::Sender<Progress>| {
            sender.receiver_count() == 0 && matches!(*sender.borrow(), Progress::Asked)
        };
        let names: Vec<FileName> =
            coming.iter().filter(|(_, sender)| idle(sender)).map(|(name, _)| name.clone()).collect();
        names.iter().for_each(|name| drop(coming.remove(name)));
        names
    }

    /// Notes that a stored file did not match its digest.
    pub fn report_damage(&self, name: FileName) {
        lock(&self.damaged).push(name);
        self.wake.wake();
    }

    /// Files found damaged since the last call.
    pub fn take_damaged(&self) -> Vec<FileName> {
        std::mem::take(&mut lock(&self.damaged))
    }
}
