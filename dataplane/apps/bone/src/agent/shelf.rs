//! The state that a main loop shares with other threads. The shelf of a rim and its HTTP server: the store,
//! and the files that clients wait for. The desk of a hub, its HTTP server and its hashing thread: the
//! folder.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::sync::mpsc::{channel, Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use groupflow_base::Digest;
use groupflow_host::error::AgentError;
use groupflow_host::process::{lock, Wake};
use hyper::StatusCode;
use tokio::sync::watch;

use super::folder::{hash, scan, Folder, Skipped};
use super::store::Store;
use crate::machine::{FileName, MAX_ASKED};

#[derive(Debug, Clone)]
pub struct PartialFile {
    /// The open file, filled as far as its bytes have arrived.
    pub file: Arc<File>,
    /// The size of the complete file in bytes.
    pub size: u64,
    pub digest: Digest,
    /// All bytes before this offset are there.
    pub position: u64,
}

/// The progress of a file that clients wait for.
#[derive(Debug, Clone)]
pub enum Progress {
    Asked,
    Arriving(PartialFile),
    Stored,
    /// The file does not come: the answer to clients, and the reason in one line.
    Failed(StatusCode, String),
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
    pub fn publish(&self, name: &FileName, progress: Progress) {
        let mut coming = lock(&self.coming);
        let is_final = matches!(progress, Progress::Stored | Progress::Failed(..));
        match coming.get(name) {
            Some(sender) => drop(sender.send_replace(progress)),
            None if is_final => {}
            None => drop(coming.insert(name.clone(), watch::channel(progress).0)),
        }
        if is_final {
            coming.remove(name);
        }
    }

    /// Notes how many bytes of the arriving file are there.
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
    /// A desk whose folder was scanned once. A thread hashes files, one after the other, and between them
    /// scans the folder again, at most once in `every`: both may take longer than the interval between two
    /// packets. The channel delivers the result of each scan.
    pub fn new(
        path: PathBuf, all: bool, every: Duration, wake: Wake,
    ) -> Result<(Arc<Desk>, Receiver<ScanResult>), AgentError> {
        let ((sender, files), (results, scans)) = (channel(), channel());
        let desk = Arc::new(Desk { folder: Mutex::new(Folder::new(path.clone(), all, sender)), path, wake });
        let shared = Arc::clone(&desk);
        let _ = results.send(desk.scan());
        let run = move || {
            let mut next = Instant::now() + every;
            loop {
                match files.recv_timeout(next.saturating_duration_since(Instant::now())) {
                    Ok((name, path)) => {
                        let result = hash(&path);
                        shared.folder().hashed(&name, result);
                    }
                    Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => return,
                }
                // Files that wait to be hashed hold up no scan.
                if Instant::now() >= next {
                    if results.send(shared.scan()).is_err() {
                        return;
                    }
                    next = Instant::now() + every;
                }
                shared.wake.wake();
            }
        };
        let started = std::thread::Builder::new().name("folder".to_owned()).spawn(run);
        started
            .map_err(|e| AgentError::new("system", format!("no thread: {e}"), "end other programs"))
            .map(|_| (desk, scans))
    }

    /// Scans the folder once. Returns the entries that cannot be sent, each of them only once.
    fn scan(&self) -> ScanResult {
        let found = scan(&self.path)?;
        let skipped = found.chunks(PART).flat_map(|part| self.folder().take_in(part)).collect();
        self.folder().end_scan();
        Ok(skipped)
    }

    pub fn folder(&self) -> MutexGuard<'_, Folder> {
        lock(&self.folder)
    }
}
