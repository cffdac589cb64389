//! A hub's folder: its files, their hashes, and the state of each. A file that is sent is opened at its turn,
//! and abandoned if it changes while it is being sent.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::Sender;

use groupflow_base::{Digest, SeekableBytes};
use groupflow_host::error::plain;
use groupflow_host::files::{FileBytes, Stamp, CHANGED};

use super::incoming::digest_of;
use crate::machine::{FileName, Offer, Verdict};

/// The most files that are considered; the first file beyond is reported once.
const MAX_FILES: usize = 100_000;
/// The most files that may wait to be sent.
const MAX_WAITING: usize = 1000;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileState {
    /// Nobody wants the file.
    Idle,
    /// The file is being hashed, and will then be queued.
    Hashing,
    Queued,
    Sending,
    /// The file was sent; the text names the rims that were left out, if there are any.
    Sent(Option<String>),
    /// The file was not sent; one line says why.
    Failed(String),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    pub state: FileState,
    pub digest: Option<Digest>,
    /// While the file is sent: bytes that no rim is known to lack.
    pub done: u64,
    stamp: Stamp,
    mode: u16,
    /// The file is new or has changed; it is sent once two scans in a row find it unchanged.
    fresh: bool,
    /// The number of the last scan that found the file.
    seen: u64,
}

impl Listed {
    pub fn size(&self) -> u64 {
        self.stamp.size
    }

    fn waits(&self) -> bool {
        matches!(self.state, FileState::Hashing | FileState::Queued | FileState::Sending)
    }
}

pub type ToHash = (FileName, PathBuf);

/// An entry of the folder that cannot be sent, and why.
pub type Skipped = (String, &'static str);

/// An entry that a scan found: its name and, for a regular file, its stamp.
pub type Found = (OsString, Option<Stamp>);

/// Scans a directory. This may take long, so the folder is not locked meanwhile.
pub fn scan(path: &Path) -> io::Result<Vec<Found>> {
    let mut there = Vec::new();
    for found in fs::read_dir(path)? {
        let found = found?;
        if found.file_name().as_encoded_bytes().starts_with(b".") {
            continue;
        }
        // An entry that has vanished meanwhile counts as never seen.
        let Ok(about) = found.metadata() else { continue };
        there.push((found.file_name(), about.is_file().then(|| Stamp::of(&about))));
    }
    Ok(there)
}

/// The files of a hub, and which of them are to be sent.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    /// Whether the files that the first scan finds are sent, too.
    all: bool,
    /// The number of scans taken in.
    scans: u64,
    pub files: BTreeMap<FileName, Listed>,
    /// The number of files that wait to be sent, or are being sent.
    waiting: usize,
    skipped: BTreeSet<OsString>,
    /// Files that are ready to be queued.
    pub ready: VecDeque<Offer>,
    /// Files that could not be hashed.
    pub unhashed: Vec<FileName>,
    hasher: Sender<ToHash>,
}

impl Folder {
    /// A folder not scanned yet. The receiver of `hasher` must call [`Folder::hashed`].
    pub fn new(path: PathBuf, all: bool, hasher: Sender<ToHash>) -> Folder {
        let (files, skipped, ready) = (BTreeMap::new(), BTreeSet::new(), VecDeque::new());
        let unhashed = Vec::new();
        Folder { path, all, scans: 0, files, waiting: 0, skipped, ready, unhashed, hasher }
    }

    /// Takes in a part of a scan. Returns the entries that cannot be sent, each of them only once.
    pub fn take_in(&mut self, found: &[Found]) -> Vec<Skipped> {
        let mut skipped = Vec::new();
        for (file, stamp) in found {
            let name = file.to_str().ok_or("its name is not UTF-8").and_then(FileName::parse);
            let known = name.and_then(|name| Ok((name, stamp.ok_or("it is no regular file")?)));
            match known {
                Ok((name, stamp)) if self.files.len() < MAX_FILES || self.files.contains_key(&name) => {
                    self.see(&name, stamp);
                }
                Ok(_) => self.skip(file, "there are too many files", &mut skipped),
                Err(why) => self.skip(file, why, &mut skipped),
            }
        }
        skipped
    }

    /// Ends a scan that was taken in: a file that it did not find is gone.
    pub fn end_scan(&mut self) {
        let scan = self.scans;
        self.files.retain(|_, file| file.seen == scan || file.waits());
        self.scans += 1;
    }

    fn skip(&mut self, file: &OsString, why: &'static str, skipped: &mut Vec<Skipped>) {
        if self.skipped.len() < MAX_FILES && !self.skipped.contains(file) {
            skipped.push((file.to_string_lossy().escape_default().to_string(), why));
            self.skipped.insert(file.clone());
        }
    }

    fn see(&mut self, name: &FileName, stamp: Stamp) {
        let (fresh, room) = (self.scans > 0 || self.all, self.waiting < MAX_WAITING);
        let Some(file) = self.files.get_mut(name) else {
            let listed = Listed { fresh, ..self.listed(stamp) };
            self.files.insert(name.clone(), listed);
            return;
        };
        file.seen = self.scans;
        if file.stamp != stamp {
            file.stamp = stamp;
            file.digest = None;
            file.fresh = true;
        } else if file.fresh && room && !file.waits() {
            file.fresh = false;
            self.want(name);
        }
    }

    fn listed(&self, stamp: Stamp) -> Listed {
        let (state, digest, seen) = (FileState::Idle, None, self.scans);
        Listed { state, digest, done: 0, stamp, mode: 0, fresh: false, seen }
    }

    pub fn want(&mut self, name: &FileName) -> Verdict {
        let Some(stamp) = self.stamp(name) else { return Verdict::Unknown };
        if self.files.len() >= MAX_FILES && !self.files.contains_key(name) {
            return Verdict::Busy;
        }
        let new = self.listed(stamp);
        let file = self.files.entry(name.clone()).or_insert(new);
        if file.waits() {
            return Verdict::Queued;
        }
        if self.waiting >= MAX_WAITING {
            return Verdict::Busy;
        }
        if let Some(digest) = file.digest.filter(|_| file.stamp == stamp) {
            self.queue(name, digest);
            return Verdict::Queued;
        }
        file.stamp = stamp;
        if self.hasher.send((name.clone(), self.path.join(name.as_str()))).is_err() {
            self.set(name, FileState::Failed("it cannot be hashed".to_owned()));
            return Verdict::Unreadable;
        }
        self.set(name, FileState::Hashing);
        Verdict::Queued
    }

    /// The stamp of a file that is in the folder now.
    fn stamp(&self, name: &FileName) -> Option<Stamp> {
        let about = fs::symlink_metadata(self.path.join(name.as_str())).ok();
        about.filter(fs::Metadata::is_file).map(|about| Stamp::of(&about))
    }

    fn queue(&mut self, name: &FileName, digest: Digest) {
        let Some(file) = self.files.get(name) else { return };
        let source = Box::new(OutgoingFile::new(self.path.join(name.as_str()), file.stamp));
        self.ready.push_back(Offer { name: name.clone(), mode: file.mode, digest: digest.0, source });
        self.set(name, FileState::Queued);
    }

    pub fn hashed(&mut self, name: &FileName, result: io::Result<(Digest, Stamp, u16)>) {
        let Some(file) = self.files.get_mut(name) else { return };
        match result {
            Ok((digest, stamp, mode)) => {
                file.digest = Some(digest);
                file.stamp = stamp;
                file.mode = mode;
                self.queue(name, digest);
            }
            Err(error) => {
                self.set(name, FileState::Failed(plain(&error)));
                self.unhashed.push(name.clone());
            }
        }
    }

    /// The reason why a file that could not be read is not sent. `None`: the file has changed, and is sent
    /// once it rests.
    pub fn why_unsent(&self, name: &FileName) -> Option<Verdict> {
        let Some(stamp) = self.stamp(name) else { return Some(Verdict::Unknown) };
        let same = self.files.get(name).is_some_and(|file| file.stamp == stamp && !file.fresh);
        same.then_some(Verdict::Unreadable)
    }

    /// Notes how many bytes of a file no rim is known to lack.
    pub fn advance(&mut self, name: &FileName, done: u64) {
        if let Some(file) = self.files.get_mut(name) {
            file.done = done;
        }
    }

    pub fn set(&mut self, name: &FileName, state: FileState) {
        let Some(file) = self.files.get_mut(name) else { return };
        let waited = file.waits();
        file.state = state;
        self.waiting = self.waiting + usize::from(file.waits()) - usize::from(waited);
    }
}

/// Checks that a folder can be scanned; makes the folder if there is none.
pub fn prepare(path: &Path) -> io::Result<()> {
    fs::create_dir_all(path)?;
    fs::read_dir(path).map(drop)
}

/// A file in the state in which it was hashed.
#[derive(Debug)]
pub struct OutgoingFile {
    path: PathBuf,
    stamp: Stamp,
    /// Open only while the file is sent, since many files may wait.
    open: Option<FileBytes>,
}

/// Opens a regular file; a symbolic link is refused.
pub fn open(path: &Path) -> io::Result<(File, Stamp, u16)> {
    let file = File::options().read(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK).open(path)?;
    let about = file.metadata()?;
    if !about.is_file() {
        return Err(io::Error::other("no regular file"));
    }
    let mode = std::os::unix::fs::MetadataExt::mode(&about) & 0o777;
    Ok((file, Stamp::of(&about), mode as u16))
}

/// A file's hash, with the stamp and access mode that it had then.
pub fn hash(path: &Path) -> io::Result<(Digest, Stamp, u16)> {
    let (file, stamp, mode) = open(path)?;
    let digest = digest_of(&file)?;
    if Stamp::of_file(&file)? != stamp {
        return Err(io::Error::other("it changed while it was read"));
    }
    Ok((digest, stamp, mode))
}

impl OutgoingFile {
    /// The file with this stamp, not opened yet.
    pub fn new(path: PathBuf, stamp: Stamp) -> OutgoingFile {
        OutgoingFile { path, stamp, open: None }
    }
}

impl SeekableBytes for OutgoingFile {
    fn len(&self) -> u64 {
        self.stamp.size
    }

    fn read_at(&mut self, offset: u64, into: &mut [u8]) -> Result<(), String> {
        let file = match &mut self.open {
            Some(file) => file,
            None => {
                let (file, stamp, _) = open(&self.path).map_err(|error| plain(&error))?;
                if stamp != self.stamp {
                    return Err(CHANGED.to_owned());
                }
                self.open.insert(FileBytes::of(file, stamp))
            }
        };
        file.read_at(offset, into)
    }
}

#[cfg(test)]
#[path = "tests/outgoing.rs"]
mod outgoing_tests;
#[cfg(test)]
#[path = "tests/folder.rs"]
mod tests;
