//! The file or pipe that is sent: read at any offset, or in order; and the destination of a received stream:
//! a file that appears when it is complete, or stdout.

use std::ffi::OsString;
use std::fs::{self, File, Metadata};
use std::io::{self, Seek, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use groupflow_base::SeekableBytes;
use nix::errno::Errno;
use nix::poll::{PollFlags, PollTimeout};

use crate::error::{plain, AgentError};
use crate::poller::is_ready;

/// Bytes of a block in which a file is read ahead.
const BLOCK: usize = 256 << 10;

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

/// The reason why a file is given up: a copy would be neither the old file nor the new one.
pub const CHANGED: &str = "it changed while it was sent";

/// A file, read in large blocks; bytes outside the current block (those of a packet that is sent again) are
/// read separately. A file that changes is given up.
#[derive(Debug)]
pub struct FileBytes {
    file: File,
    stamp: Stamp,
    block: Vec<u8>,
    block_at: u64,
}

impl FileBytes {
    /// Opens a regular file.
    pub fn open(path: &Path) -> Result<FileBytes, AgentError> {
        let shown = path.display();
        let unreadable = |e: io::Error| {
            let cause = format!("cannot read {shown}: {}", plain(&e));
            AgentError::new("input", cause, "check the path and its permissions")
        };
        let file = File::open(path).map_err(unreadable)?;
        let about = file.metadata().map_err(unreadable)?;
        if !about.is_file() {
            let cause = format!("{shown} is no regular file");
            return Err(AgentError::new("input", cause, "name a file, or pipe the data into stdin"));
        }
        Ok(FileBytes::of(file, Stamp::of(&about)))
    }

    /// Wraps an open file, which must keep this stamp.
    pub fn of(file: File, stamp: Stamp) -> FileBytes {
        FileBytes { file, stamp, block: Vec::new(), block_at: 0 }
    }

    fn check(&self) -> Result<(), String> {
        let is_same = Stamp::of_file(&self.file).is_ok_and(|now| now == self.stamp);
        is_same.then_some(()).ok_or_else(|| CHANGED.to_owned())
    }

    fn read(&self, offset: u64, into: &mut [u8]) -> Result<(), String> {
        self.file.read_exact_at(into, offset).map_err(|e| match e.kind() {
            io::ErrorKind::UnexpectedEof => CHANGED.to_owned(),
            _ => plain(&e),
        })
    }
}

impl SeekableBytes for FileBytes {
    fn len(&self) -> u64 {
        self.stamp.size
    }

    fn read_at(&mut self, offset: u64, into: &mut [u8]) -> Result<(), String> {
        if offset < self.block_at {
            return self.read(offset, into).and_then(|()| self.check());
        }
        let end = offset + into.len() as u64;
        if end > self.block_at + self.block.len() as u64 {
            let size = (self.stamp.size - offset).min(BLOCK as u64) as usize;
            let mut block = std::mem::take(&mut self.block);
            block.resize(size, 0);
            let result = self.read(offset, &mut block);
            self.block = block;
            self.block_at = offset;
            if result.is_err() {
                self.block.clear();
            }
            result?;
        }
        let start = (offset - self.block_at) as usize;
        match self.block.get(start..start + into.len()) {
            Some(bytes) => into.copy_from_slice(bytes),
            None => return Err("the range lies outside the file".to_owned()),
        }
        self.check()
    }
}

#[derive(Debug)]
pub struct Input {
    /// A file, a device or a pipe.
    file: File,
    /// The stamp of a regular file, which must keep it.
    stamp: Option<Stamp>,
    shown: String,
}

impl Input {
    /// Wraps an open file; errors call it `shown`.
    pub fn new(file: File, shown: &str) -> Input {
        let about = file.metadata().ok().filter(Metadata::is_file);
        Input { stamp: about.map(|about| Stamp::of(&about)), file, shown: shown.to_owned() }
    }

    /// `None` is stdin.
    pub fn open(path: Option<&Path>) -> Result<Input, AgentError> {
        let opened = match path {
            Some(path) => File::open(path),
            None => io::stdin().as_fd().try_clone_to_owned().map(File::from),
        };
        let shown = path.map_or("stdin".to_owned(), |path| path.display().to_string());
        match opened {
            Ok(file) if file.metadata().is_ok_and(|about| about.is_dir()) => {
                let cause = format!("{shown} is a directory");
                Err(AgentError::new("input", cause, "name a file, or pipe the data into stdin"))
            }
            Ok(file) => Ok(Input::new(file, &shown)),
            Err(error) => {
                let cause = format!("cannot read {shown}: {}", plain(&error));
                Err(AgentError::new("input", cause, "check the path and its permissions"))
            }
        }
    }

    /// The descriptor that becomes ready.
    pub fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }

    /// Reads without blocking. `None`: nothing is there; 0: the input has ended.
    pub fn read(&self, into: &mut [u8]) -> Result<Option<usize>, AgentError> {
        if !is_ready(self.file.as_fd(), PollFlags::POLLIN, PollTimeout::ZERO) {
            return Ok(None);
        }
        match nix::unistd::read(self.file.as_raw_fd(), into) {
            Ok(0) if self.stamp.is_some() && Stamp::of_file(&self.file).ok() != self.stamp => {
                let cause = format!("cannot send {}: {CHANGED}", self.shown);
                Err(AgentError::new("input", cause, "send it again"))
            }
            Ok(count) => Ok(Some(count)),
            Err(Errno::EINTR | Errno::EAGAIN) => Ok(None),
            Err(error) => {
                let cause = format!("cannot read {}: {}", self.shown, error.desc().to_lowercase());
                Err(AgentError::new("input", cause, "check the input"))
            }
        }
    }
}

/// Bytes of a block in which files are written.
pub const WRITE_BLOCK: usize = 256 << 10;
/// Bytes that a pipe ready for writing takes without blocking (PIPE_BUF).
const PIPE: usize = 4096;

/// Writes from the front of `bytes` what stdout takes without blocking; returns how many that are.
pub(crate) fn write_stdout(bytes: &[u8]) -> io::Result<usize> {
    let (stdout, mut done) = (io::stdout(), 0);
    while done < bytes.len() && is_ready(stdout.as_fd(), PollFlags::POLLOUT, PollTimeout::ZERO) {
        let end = bytes.len().min(done + PIPE);
        match nix::unistd::write(stdout.as_fd(), &bytes[done..end]) {
            Ok(count) => done += count,
            Err(Errno::EINTR | Errno::EAGAIN) => break,
            Err(error) => return Err(error.into()),
        }
    }
    Ok(done)
}

/// The destination of a received stream.
#[derive(Debug)]
pub enum Output {
    /// A file, whose name is `part` while it is incomplete; `None`: it is written in place.
    File { file: File, part: Option<PathBuf>, path: PathBuf },
    /// Stdout, which may be slow.
    Stdout(io::Stdout),
}

impl Output {
    /// Opens stdout for `-`, or else a file.
    pub fn open(path: &Path) -> Result<Output, AgentError> {
        if path.as_os_str() == "-" {
            return Ok(Output::Stdout(io::stdout()));
        }
        let special = fs::metadata(path).is_ok_and(|about| !about.is_file());
        let mut part = OsString::from(path);
        part.push(".part");
        let part = (!special).then(|| PathBuf::from(part));
        let opened = match &part {
            // The file is not truncated: a part that is there already, left over or prepared, keeps its
            // memory and blocks.
            Some(part) => File::options().write(true).create(true).truncate(false).open(part),
            None => File::options().write(true).open(path),
        };
        let file = opened.map_err(|e| failed(path, &e))?;
        Ok(Output::File { file, part, path: path.to_owned() })
    }

    /// Writes from the front of `bytes` as much as does not block, and removes the bytes written.
    pub fn write(&mut self, bytes: &mut Vec<u8>) -> Result<(), AgentError> {
        match self {
            Output::File { file, path, .. } => {
                file.write_all(bytes).map_err(|e| failed(path, &e))?;
                bytes.clear();
            }
            Output::Stdout(_) => {
                let done = write_stdout(bytes).map_err(|e| failed(Path::new("stdout"), &e))?;
                bytes.drain(..done);
            }
        }
        Ok(())
    }

    /// Completes the stream: gives the file its final name.
    pub fn finish(&mut self) -> Result<(), AgentError> {
        match self {
            Output::File { file, part: Some(part), path } => {
                let cut = file.stream_position().and_then(|end| file.set_len(end));
                cut.and_then(|()| fs::rename(&*part, &*path)).map_err(|e| failed(path, &e))
            }
            _ => Ok(()),
        }
    }
}

impl Drop for Output {
    /// Leaves no empty file of a stream that never began, such as one that was refused.
    fn drop(&mut self) {
        if let Output::File { file, part: Some(part), .. } = self {
            if file.metadata().is_ok_and(|about| about.len() == 0) {
                // A complete stream's file has another name by now.
                let _ = fs::remove_file(part);
            }
        }
    }
}

impl AsFd for Output {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Output::File { file, .. } => file.as_fd(),
            Output::Stdout(stdout) => stdout.as_fd(),
        }
    }
}

fn failed(path: &Path, error: &io::Error) -> AgentError {
    let cause = format!("cannot write {}: {}", path.display(), plain(error));
    AgentError::new("output", cause, "check the path, its permissions and the disk's free space")
}
