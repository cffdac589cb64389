//! A file that arrives: written under a temporary name, and hashed as far as it has no gaps. The hash of a
//! whole file.

use std::fs::{self, File};
use std::io::{self, BufReader};
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use groupflow_base::Digest;
use nix::errno::Errno;
use nix::fcntl::{renameat2, RenameFlags};
use sha2::{Digest as _, Sha256};

use crate::machine::{FileName, FileWrite};

/// Bytes hashed at a time.
const CHUNK: usize = 64 << 10;

pub fn digest_of(file: &File) -> io::Result<Digest> {
    let mut hasher = Sha256::default();
    io::copy(&mut BufReader::with_capacity(CHUNK, file), &mut hasher)?;
    Ok(Digest(hasher.finalize().into()))
}

/// The hub's description of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Announced {
    pub name: FileName,
    /// The file's size in bytes.
    pub size: u64,
    pub digest: Digest,
}

/// A file that is arriving. If it is dropped before it is adopted, it leaves nothing on the disk.
#[derive(Debug)]
pub struct IncomingFile {
    pub announced: Announced,
    /// The open file, which may be read as far as it has arrived.
    pub file: Arc<File>,
    path: PathBuf,
    hasher: Sha256,
    hashed: u64,
    kept: bool,
}

impl IncomingFile {
    /// Creates the file and allocates its whole size, so that a full disk shows before anything is sent.
    pub fn create(path: PathBuf, announced: Announced) -> io::Result<IncomingFile> {
        let file = File::options().read(true).write(true).create_new(true).open(&path)?;
        let incoming = IncomingFile {
            file: Arc::new(file),
            path,
            hasher: Sha256::default(),
            hashed: 0,
            kept: false,
            announced,
        };
        let size = i64::try_from(incoming.announced.size).map_err(|_| io::Error::from(Errno::EFBIG))?;
        if size > 0 {
            match nix::fcntl::posix_fallocate(incoming.file.as_raw_fd(), 0, size) {
                Ok(()) | Err(Errno::EOPNOTSUPP | Errno::EINVAL) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(incoming)
    }

    /// Stores bytes where they belong.
    pub fn write(&self, write: &FileWrite) -> io::Result<()> {
        self.file.write_all_at(&write.bytes, write.offset)
    }

    /// Hashes the bytes up to `position`, before which there is no gap.
    pub fn hash(&mut self, position: u64) -> io::Result<()> {
        let mut chunk = [0; CHUNK];
        while self.hashed < position {
            let count = (position - self.hashed).min(CHUNK as u64) as usize;
            self.file.read_exact_at(&mut chunk[..count], self.hashed)?;
            self.hasher.update(&chunk[..count]);
            self.hashed += count as u64;
        }
        Ok(())
    }

    /// Whether the complete file matches the hub's description; if so, its bytes are synced to the disk.
    pub fn complete(&mut self) -> io::Result<bool> {
        self.hash(self.announced.size)?;
        if self.hasher.finalize_reset()[..] != self.announced.digest.0 {
            return Ok(false);
        }
        self.file.sync_all()?;
        Ok(true)
    }

    /// Gives the file its final name, which no other file has.
    pub fn adopt(self, path: &Path) -> io::Result<()> {
        self.adopt_by(path, |from, to| renameat2(None, from, None, to, RenameFlags::RENAME_NOREPLACE))
    }

    fn adopt_by(
        mut self, path: &Path, rename: impl FnOnce(&Path, &Path) -> nix::Result<()>,
    ) -> io::Result<()> {
        match rename(&self.path, path) {
            // NFS and others do not know the flag. A link replaces no file, either; the temporary name goes
            // when `self` does.
            Err(Errno::EINVAL | Errno::ENOSYS) => fs::hard_link(&self.path, path)?,
            other => {
                other?;
                self.kept = true;
            }
        }
        super::store::sync_folder(path)
    }
}

impl Drop for IncomingFile {
    fn drop(&mut self) {
        if !self.kept {
            // If the file cannot be removed now, the rim removes it at its next start.
            let _ = fs::remove_file(&self.path);
        }
    }
}

#[cfg(test)]
#[path = "tests/incoming.rs"]
mod tests;
