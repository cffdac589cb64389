//! The hash that identifies a file, and the stamp that shows whether the file has changed since it was hashed.

use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;

use groupflow_base::Digest;
use sha2::{Digest as _, Sha256};

/// Bytes of one read.
const READ: usize = 256 << 10;

/// Hashes the remaining bytes of a reader.
pub fn read(mut source: impl Read) -> io::Result<Digest> {
    let (mut hasher, mut chunk) = (Sha256::default(), vec![0; READ]);
    loop {
        match source.read(&mut chunk) {
            Ok(0) => return Ok(Digest(hasher.finalize().into())),
            Ok(count) => hasher.update(&chunk[..count]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// Identifies a state of a file: two equal stamps mean that nobody wrote to the file in between.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    inode: (u64, u64),
    /// The file's size in bytes.
    pub size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Stamp {
    pub fn of(about: &Metadata) -> Stamp {
        Stamp {
            inode: (about.dev(), about.ino()),
            size: about.size(),
            modified: (about.mtime(), about.mtime_nsec()),
            changed: (about.ctime(), about.ctime_nsec()),
        }
    }

    pub fn of_file(file: &File) -> io::Result<Stamp> {
        file.metadata().map(|about| Stamp::of(&about))
    }
}

#[cfg(test)]
#[path = "tests/digest.rs"]
mod tests;
