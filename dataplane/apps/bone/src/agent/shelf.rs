//! What a rim's loop and its HTTP server share: the store, files that arrive, and files that clients wait for.

use std::collections::BTreeMap;
use std::fs::File;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

use super::digest::Digest;
use super::store::Store;
use super::wake::Wake;
use crate::machine::asking::MAX_ASKED;
use crate::machine::FileName;

/// A file that arrives.
#[derive(Debug, Clone)]
pub struct Arriving {
    /// Its bytes, as far as they are there.
    pub file: Arc<File>,
    /// How many there will be.
    pub size: u64,
    /// What the hub says that it is.
    pub digest: Digest,
    /// Everything before is there.
    pub position: u64,
}

/// Why a client does not get a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failure {
    /// The hub has no such file.
    Unknown,
    /// The hub has too much to do.
    Busy,
    /// The hub does not answer, or is not known.
    Silent,
    /// The hub gave the file up, or it was not what the hub had said.
    Broken,
    /// It does not fit the store, or the disk.
    NoRoom,
}

/// How far a file is.
#[derive(Debug, Clone)]
pub enum Progress {
    /// The hub is asked for it.
    Asked,
    /// It arrives.
    Arriving(Arriving),
    /// It is in the store.
    Stored,
    /// It does not come; the text is one line.
    Failed(Failure, String),
}

/// What is shared.
#[derive(Debug)]
pub struct Shelf {
    store: Mutex<Store>,
    coming: Mutex<BTreeMap<FileName, watch::Sender<Progress>>>,
    wishes: Mutex<Vec<FileName>>,
    damaged: Mutex<Vec<FileName>>,
    /// Of the loop.
    pub wake: Wake,
}

/// A thread that panicked has not left anything half done here.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shelf {
    /// Nothing arrives yet.
    pub fn new(store: Store, wake: Wake) -> Shelf {
        let (coming, wishes) = (Mutex::new(BTreeMap::new()), Mutex::new(Vec::new()));
        Shelf { store: Mutex::new(store), coming, wishes, damaged: Mutex::new(Vec::new()), wake }
    }

    /// The store.
    pub fn store(&self) -> MutexGuard<'_, Store> {
        lock(&self.store)
    }

    /// For a client that misses a file: how far it is. Who is first has the hub asked. `None`: too many files are
    /// waited for.
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

    /// The loop's word on a file; the last one ends it.
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

    /// The file that arrives is there so far.
    pub fn advance(&self, name: &FileName, to: u64) {
        if let Some(sender) = lock(&self.coming).get(name) {
            sender.send_if_modified(|progress| match progress {
                Progress::Arriving(arriving) if arriving.position < to => {
                    arriving.position = to;
                    true
                }
                _ => false,
            });
        }
    }

    /// Files that clients want, since the last call.
    pub fn take_wishes(&self) -> Vec<FileName> {
        std::mem::take(&mut lock(&self.wishes))
    }

    /// Files that nobody waits for any more, and that do not arrive.
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

    /// A stored file was not what it should be.
    pub fn report_damage(&self, name: FileName) {
        lock(&self.damaged).push(name);
        self.wake.wake();
    }

    /// Such files, since the last call.
    pub fn take_damaged(&self) -> Vec<FileName> {
        std::mem::take(&mut lock(&self.damaged))
    }
}
