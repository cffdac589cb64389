//! The files of a rim: a folder of bounded size, from which the least recently used file is removed first.
//! Only a file that has arrived whole makes others go, so the disk has room for the largest one besides.
//!
//! ```text
//! DIR/NAME                     a file
//! DIR/.groupflow/index.json    names, sizes, digests, order of use
//! DIR/.groupflow/incoming-N    files that arrive
//! DIR/.groupflow/lock          one rim at a time
//! ```
//!
//! A file that the rim did not store is neither served nor replaced. A file is served only if its bytes were
//! hashed since the file last changed: on arrival, or, after a restart or a change from outside, at its next
//! use.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use groupflow_base::Digest;
use groupflow_host::error::{plain, AgentError};
use groupflow_host::files::Stamp;
use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};
use serde_json::{json, Value};

use super::incoming::{Announced, IncomingFile};
use crate::machine::FileName;

const HIDDEN: &str = ".groupflow";

#[derive(Debug, Clone, Copy)]
struct StoredFile {
    known: KnownFile,
    /// The file's stamp when it was hashed, if it was.
    verified: Option<Stamp>,
}

/// A file that is open for reading.
#[derive(Debug)]
pub struct Opened {
    pub file: File,
    pub stamp: Stamp,
    /// The digest that the file should have.
    pub digest: Digest,
    /// Whether the file is known to match this digest.
    pub verified: bool,
}

#[derive(Debug)]
pub struct Store {
    folder: PathBuf,
    /// The store's bound in bytes; changed by [`Store::set_limit`].
    pub limit: u64,
    files: BTreeMap<FileName, StoredFile>,
    clock: u64,
    arrivals: u64,
    dirty: bool,
    _lock: Flock<File>,
}

impl Store {
    /// Opens the store; makes its folder if there is none. Also returns the names that are in the index but
    /// not in the folder.
    pub fn open(folder: &Path, limit: u64) -> Result<(Store, Vec<FileName>), AgentError> {
        let hidden = folder.join(HIDDEN);
        fs::create_dir_all(&hidden).map_err(|e| failed(&hidden, &e))?;
        let lock = File::create(hidden.join("lock")).map_err(|e| failed(&hidden, &e))?;
        let lock = Flock::lock(lock, FlockArg::LockExclusiveNonblock).map_err(|_| {
            let cause = format!("{} is another rim's", folder.display());
            AgentError::new("store", cause, "stop that rim, or choose another --dir")
        })?;
        clean(&hidden).map_err(|e| failed(&hidden, &e))?;
        let path = hidden.join("index.json");
        let known = read_index(&path).map_err(|problem| {
            let cause = format!("cannot read {}: {problem}", path.display());
            AgentError::new("store", cause, "remove it to begin with an empty store")
        })?;
        let clock = known.values().map(|known| known.used).max().unwrap_or(0);
        let mut files = BTreeMap::new();
        let mut lost = Vec::new();
        for (name, known) in known {
            match fs::symlink_metadata(folder.join(name.as_str())) {
                Ok(about) if about.is_file() && about.len() == known.size => {
                    files.insert(name, StoredFile { known, verified: None });
                }
                _ => lost.push(name),
            }
        }
        let folder = folder.to_owned();
        let mut store =
            Store { folder, limit, files, clock, arrivals: 0, dirty: !lost.is_empty(), _lock: lock };
        store.make_room(0);
        store.save().map_err(|e| failed(&path, &e))?;
        Ok((store, lost))
    }

    /// Sets the bound. Returns the names of the files that were removed.
    pub fn set_limit(&mut self, limit: u64) -> Vec<FileName> {
        self.limit = limit;
        self.make_room(0)
    }

    pub fn bytes(&self) -> u64 {
        self.files.values().map(|entry| entry.known.size).sum()
    }

    pub fn files(&self) -> impl Iterator<Item = (&FileName, KnownFile)> {
        self.files.iter().map(|(name, entry)| (name, entry.known))
    }

    pub fn digest(&self, name: &FileName) -> Option<Digest> {
        self.files.get(name).map(|entry| entry.known.digest)
    }

    /// Creates a file that arrives.
    pub fn begin(&mut self, announced: Announced) -> io::Result<IncomingFile> {
        if announced.size > self.limit {
            return Err(Errno::EFBIG.into());
        }
        self.refuse_strangers(&announced.name)?;
        self.arrivals += 1;
        let path = self.folder.join(HIDDEN).join(format!("incoming-{}", self.arrivals));
        IncomingFile::create(path, announced)
    }

    /// Takes in a file whose bytes are complete and match its digest, and makes room for it. Returns the
    /// names of the files that were removed.
    pub fn adopt(&mut self, incoming: IncomingFile) -> io::Result<Vec<FileName>> {
        let Announced { name, size, digest } = incoming.announced.clone();
        if size > self.limit {
            return Err(Errno::EFBIG.into());
        }
        self.refuse_strangers(&name)?;
        // The rim's own earlier file goes first, and the new name is in the index before the file has it: a
        // rim that is killed in between knows the file as its own.
        if self.files.contains_key(&name) {
            self.remove(&name);
        }
        let gone = self.make_room(size);
        let known = KnownFile { size, digest, used: self.tick() };
        self.files.insert(name.clone(), StoredFile { known, verified: None });
        self.dirty = true;
        self.save()?;
        let file = incoming.file.clone();
        if let Err(error) = incoming.adopt(&self.folder.join(name.as_str())) {
            self.files.remove(&name);
            self.dirty = true;
            return Err(error);
        }
        // Renaming changed the file's time of status change, and nothing else.
        self.files.insert(name, StoredFile { known, verified: Stamp::of_file(&file).ok() });
        Ok(gone)
    }

    /// An error where something has this name that the rim did not store.
    fn refuse_strangers(&self, name: &FileName) -> io::Result<()> {
        let is_there = fs::symlink_metadata(self.folder.join(name.as_str())).is_ok();
        match is_there && !self.files.contains_key(name) {
            true => Err(Errno::EEXIST.into()),
            false => Ok(()),
        }
    }

    /// Opens a file and marks it as the most recently used.
    pub fn open_file(&mut self, name: &FileName) -> Option<Opened> {
        let used = self.tick();
        let entry = self.files.get_mut(name)?;
        entry.known.used = used;
        self.dirty = true;
        let path = self.folder.join(name.as_str());
        let opened = File::options().read(true).custom_flags(libc::O_NOFOLLOW).open(path);
        let found = opened.and_then(|file| Stamp::of_file(&file).map(|stamp| (file, stamp)));
        match found {
            Ok((file, stamp)) if stamp.size == entry.known.size => {
                let (digest, verified) = (entry.known.digest, entry.verified == Some(stamp));
                Some(Opened { file, stamp, digest, verified })
            }
            _ => {
                self.files.remove(name);
                None
            }
        }
    }

    /// Takes the hash of a file: if it does not match the stored digest, the file is removed.
    pub fn judge(&mut self, name: &FileName, stamp: Stamp, found: Digest) -> bool {
        let Some(entry) = self.files.get_mut(name) else { return false };
        self.dirty = true;
        if entry.known.digest == found {
            entry.verified = Some(stamp);
            return true;
        }
        self.remove(name);
        false
    }

    /// Removes the least recently used files until so many bytes fit.
    fn make_room(&mut self, size: u64) -> Vec<FileName> {
        let mut gone = Vec::new();
        let mut bytes = self.bytes();
        while bytes.saturating_add(size) > self.limit {
            let oldest = self.files.iter().min_by_key(|(_, entry)| entry.known.used);
            let Some((name, entry)) = oldest.map(|(name, entry)| (name.clone(), *entry)) else { break };
            bytes -= entry.known.size;
            self.remove(&name);
            gone.push(name);
        }
        gone
    }

    fn remove(&mut self, name: &FileName) {
        self.files.remove(name);
        self.dirty = true;
        // A file that cannot be removed is no longer served or listed.
        let _ = fs::remove_file(self.folder.join(name.as_str()));
    }

    fn tick(&mut self) -> u64 {
        self.clock += 1;
        self.clock
    }

    /// Writes the index, if it has changed.
    pub fn save(&mut self) -> io::Result<()> {
        if self.dirty {
            let path = self.folder.join(HIDDEN).join("index.json");
            write_index(&path, self.files.iter().map(|(name, entry)| (name, entry.known)))?;
            self.dirty = false;
        }
        Ok(())
    }
}

/// Removes partial files that were left when a rim stopped.
fn clean(hidden: &Path) -> io::Result<()> {
    for found in fs::read_dir(hidden)? {
        let found = found?;
        if found.file_name().to_string_lossy().starts_with("incoming-") {
            fs::remove_file(found.path())?;
        }
    }
    Ok(())
}

fn failed(path: &Path, error: &io::Error) -> AgentError {
    let cause = format!("cannot use {}: {}", path.display(), plain(error));
    AgentError::new("store", cause, "check --dir, its permissions and the disk's free space")
}

const VERSION: u64 = 1;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KnownFile {
    /// The file's size in bytes.
    pub size: u64,
    pub digest: Digest,
    /// The order of use: a larger number means a later use.
    pub used: u64,
}

/// Reads the index; an index that does not exist yet is empty. The error names the bad field.
fn read_index(path: &Path) -> Result<BTreeMap<FileName, KnownFile>, String> {
    let text = match fs::read(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(BTreeMap::new()),
        Err(error) => return Err(groupflow_host::error::plain(&error)),
    };
    let form: Value = serde_json::from_slice(&text).map_err(|error| format!("not JSON: {error}"))?;
    if form["version"] != VERSION {
        return Err(format!("version: {} is not {VERSION}", form["version"]));
    }
    let files = form["files"].as_array().ok_or("files: no list")?;
    files.iter().enumerate().map(|(at, form)| entry(form).map_err(|p| format!("files[{at}].{p}"))).collect()
}

fn entry(form: &Value) -> Result<(FileName, KnownFile), String> {
    let number = |field: &str| form[field].as_u64().ok_or(format!("{field}: no number"));
    let name =
        FileName::parse(form["name"].as_str().unwrap_or_default()).map_err(|p| format!("name: {p}"))?;
    let digest = form["sha256"].as_str().and_then(Digest::parse).ok_or("sha256: no digest")?;
    Ok((name, KnownFile { size: number("size")?, digest, used: number("used")? }))
}

/// Replaces the index atomically: after a crash either the old or the new index exists.
fn write_index<'a>(path: &Path, files: impl Iterator<Item = (&'a FileName, KnownFile)>) -> io::Result<()> {
    let files: Vec<Value> = files
        .map(|(name, known)| {
            json!({
                "name": name.as_str(), "size": known.size,
                "sha256": known.digest.to_string(), "used": known.used,
            })
        })
        .collect();
    let part = path.with_extension("part");
    let mut file = File::create(&part)?;
    file.write_all(json!({"version": VERSION, "files": files}).to_string().as_bytes())?;
    file.sync_all()?;
    fs::rename(&part, path)?;
    sync_folder(path)
}

/// Syncs the folder that contains a path, so that its names survive a crash.
pub fn sync_folder(path: &Path) -> io::Result<()> {
    path.parent().map_or(Ok(()), |folder| File::open(folder)?.sync_all())
}

#[cfg(test)]
#[path = "tests/index.rs"]
mod index_tests;

#[cfg(test)]
#[path = "tests/store.rs"]
mod tests;
