//! Input to send: a file that is read at any offset, or a pipe that is read in order.

use std::fs::{File, Metadata};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::fs::FileExt;
use std::path::Path;

use groupflow_transport::source::{SeekableBytes, SourceError};
use nix::errno::Errno;
use nix::poll::{PollFlags, PollTimeout};

use crate::error::{plain, AgentError};
use crate::poller::is_ready;

/// Bytes of a block in which a file is read ahead.
const BLOCK: usize = 256 << 10;

/// A file, read in large blocks; bytes outside the current block (those of a packet that is sent again) are
/// read separately.
#[derive(Debug)]
pub struct FileBytes {
    file: File,
    length: u64,
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
        Ok(FileBytes::of(file, about.len()))
    }

    /// Wraps an open file of this length.
    pub fn of(file: File, length: u64) -> FileBytes {
        FileBytes { file, length, block: Vec::new(), block_at: 0 }
    }

    /// The file's metadata.
    pub fn metadata(&self) -> io::Result<Metadata> {
        self.file.metadata()
    }

    fn read(&self, offset: u64, into: &mut [u8]) -> Result<(), SourceError> {
        self.file.read_exact_at(into, offset).map_err(|e| {
            let cause = match e.kind() {
                io::ErrorKind::UnexpectedEof => "the file became shorter".to_owned(),
                _ => plain(&e),
            };
            SourceError::Read(cause)
        })
    }
}

impl SeekableBytes for FileBytes {
    fn len(&self) -> u64 {
        self.length
    }

    fn read_at(&mut self, offset: u64, into: &mut [u8]) -> Result<(), SourceError> {
        if offset < self.block_at {
            return self.read(offset, into);
        }
        let end = offset + into.len() as u64;
        if end > self.block_at + self.block.len() as u64 {
            let size = (self.length - offset).min(BLOCK as u64) as usize;
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
            None => return Err(SourceError::Read("the range lies outside the file".to_owned())),
        }
        Ok(())
    }
}

#[derive(Debug)]
pub struct Input {
    /// A file, a device or a pipe.
    file: File,
    shown: String,
}

impl Input {
    /// Wraps an open file; errors call it `shown`.
    pub fn new(file: File, shown: &str) -> Input {
        Input { file, shown: shown.to_owned() }
    }

    /// Opens a file, or stdin.
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
            Ok(file) => Ok(Input { file, shown }),
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
            Ok(count) => Ok(Some(count)),
            Err(Errno::EINTR | Errno::EAGAIN) => Ok(None),
            Err(error) => {
                let cause = format!("cannot read {}: {}", self.shown, error.desc().to_lowercase());
                Err(AgentError::new("input", cause, "check the input"))
            }
        }
    }
}
