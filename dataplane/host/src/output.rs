//! The destination of a received stream: a file that appears when it is complete, or stdout.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Seek, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::path::{Path, PathBuf};

use nix::poll::{PollFlags, PollTimeout};

use crate::error::{plain, AgentError};
use crate::poller::is_ready;

/// Bytes of a block in which files are written.
pub const BLOCK: usize = 256 << 10;
/// Bytes that a pipe ready for writing takes without blocking (PIPE_BUF).
const PIPE: usize = 4096;

/// The destination of a received stream.
#[derive(Debug)]
pub enum Output {
    /// A file under a temporary name.
    File {
        file: File,
        /// The file's name while it is incomplete; `None`: it is written in place.
        part: Option<PathBuf>,
        /// The file's name when it is complete.
        path: PathBuf,
    },
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

    /// Whether stdout is taken by the data, so that events must go elsewhere.
    pub fn is_stdout(&self) -> bool {
        matches!(self, Output::Stdout(_))
    }

    /// Writes from the front of `bytes` as much as does not block, and removes the bytes written.
    pub fn write(&mut self, bytes: &mut Vec<u8>) -> Result<(), AgentError> {
        match self {
            Output::File { file, path, .. } => {
                file.write_all(bytes).map_err(|e| failed(path, &e))?;
                bytes.clear();
            }
            Output::Stdout(stdout) => {
                let mut done = 0;
                while done < bytes.len() && is_ready(stdout.as_fd(), PollFlags::POLLOUT, PollTimeout::ZERO) {
                    let end = bytes.len().min(done + PIPE);
                    match nix::unistd::write(stdout.as_fd(), &bytes[done..end]) {
                        Ok(count) => done += count,
                        Err(nix::errno::Errno::EINTR | nix::errno::Errno::EAGAIN) => break,
                        Err(e) => return Err(failed(Path::new("stdout"), &e.into())),
                    }
                }
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

impl AsFd for Output {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Output::File { file, .. } => file.as_fd(),
            Output::Stdout(stdout) => stdout.as_fd(),
        }
    }
}

impl AsRawFd for Output {
    fn as_raw_fd(&self) -> std::os::fd::RawFd {
        self.as_fd().as_raw_fd()
    }
}

fn failed(path: &Path, error: &io::Error) -> AgentError {
    let cause = format!("cannot write {}: {}", path.display(), plain(error));
    AgentError::new("output", cause, "check the path, its permissions and the disk's free space")
}
