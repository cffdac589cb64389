//! A file that a hub sends: opened at its turn, and abandoned if it changes while it is being sent.

use std::fs::File;
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use groupflow_host::error::plain;
use groupflow_host::input::FileBytes;
use groupflow_transport::source::{SeekableBytes, SourceError};

use super::digest::{FileDigest, Stamp};

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
pub fn hash(path: &Path) -> io::Result<(FileDigest, Stamp, u16)> {
    let (file, stamp, mode) = open(path)?;
    let digest = FileDigest::read(&file)?;
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

fn changed() -> SourceError {
    SourceError::Read("it changed while it was sent".to_owned())
}

impl SeekableBytes for OutgoingFile {
    fn len(&self) -> u64 {
        self.stamp.size
    }

    fn read_at(&mut self, offset: u64, into: &mut [u8]) -> Result<(), SourceError> {
        if self.open.is_none() {
            let (file, _, _) = open(&self.path).map_err(|error| SourceError::Read(plain(&error)))?;
            self.open = Some(FileBytes::of(file, self.stamp.size));
        }
        let Some(file) = &mut self.open else { return Err(changed()) };
        let read = file.read_at(offset, into);
        match file.metadata().map(|about| Stamp::of(&about)) {
            Ok(now) if now == self.stamp => read,
            _ => Err(changed()),
        }
    }
}

#[cfg(test)]
#[path = "tests/outgoing.rs"]
mod tests;
