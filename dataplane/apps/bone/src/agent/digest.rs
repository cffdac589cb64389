//! The hash that identifies a file, and the stamp that shows whether the file has changed since it was hashed.

use std::fmt;
use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;

use sha2::{Digest as _, Sha256};

/// Bytes of one read.
const READ: usize = 256 << 10;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileDigest(pub [u8; 32]);

impl FileDigest {
    /// Parses 64 hexadecimal digits.
    pub fn parse(text: &str) -> Option<FileDigest> {
        let mut bytes = [0; 32];
        if text.len() != 64 || !text.is_ascii() {
            return None;
        }
        for (at, byte) in bytes.iter_mut().enumerate() {
            *byte = u8::from_str_radix(&text[2 * at..2 * at + 2], 16).ok()?;
        }
        Some(FileDigest(bytes))
    }

    /// Hashes the remaining bytes of a reader.
    pub fn read(mut source: impl Read) -> io::Result<FileDigest> {
        let (mut hasher, mut chunk) = (Sha256::default(), vec![0; READ]);
        loop {
            match source.read(&mut chunk) {
                Ok(0) => return Ok(FileDigest(hasher.finalize().into())),
                Ok(count) => hasher.update(&chunk[..count]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}

impl fmt::Display for FileDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
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
