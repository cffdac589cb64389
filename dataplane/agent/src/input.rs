//! What is sent: a file that is read where needed, or stdin as it comes.

use std::fs::{File, Metadata};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::fs::FileExt;
use std::path::Path;

use groupflow_protocol::assembly::{datagram_length, DATAGRAM_PREFIX, MAX_DATAGRAM};
use groupflow_protocol::source::{SeekableBytes, SourceError, WrittenSource};

use crate::error::AgentError;

/// A file is read ahead in blocks of this size.
const BLOCK: usize = 256 << 10;
/// Stdin is read in pieces of this size.
const CHUNK: usize = 64 << 10;

/// A file, read in large blocks; what lies outside the current block (a packet that is sent
/// again) is read by itself.
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
        let input = |cause: String, cure: &str| AgentError::new("input", cause, cure);
        let file = File::open(path).map_err(|e| {
            let cause = format!("cannot read {shown}: {}", plain(&e));
            input(cause, "check the path and its permissions")
        })?;
        let about = file
            .metadata()
            .map_err(|e| input(format!("cannot read {shown}: {}", plain(&e)), "check the path"))?;
        if !about.is_file() {
            let cause = format!("{shown} is no regular file");
            return Err(input(cause, "name a file, or pipe the data into stdin"));
        }
        Ok(FileBytes::of(file, about.len()))
    }

    /// An open file of this length.
    pub fn of(file: File, length: u64) -> FileBytes {
        FileBytes { file, length, block: Vec::new(), block_at: 0 }
    }

    /// What the system knows of the file.
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

/// The error without Rust's "(os error 2)".
pub fn plain(error: &io::Error) -> String {
    let text = error.to_string();
    match text.split_once(" (os error") {
        Some((plain, _)) => plain.to_lowercase(),
        None => text,
    }
}

/// Stdin on its way into a stream or into datagrams.
#[derive(Debug)]
pub struct Input {
    stdin: io::Stdin,
    datagrams: bool,
    pending: Vec<u8>,
    ended: bool,
}

impl Input {
    /// Stdin as a byte stream, or as frames.
    pub fn new(datagrams: bool) -> Input {
        Input { stdin: io::stdin(), datagrams, pending: Vec::new(), ended: false }
    }

    /// Whether reading makes sense now: there is room for what would come.
    pub fn wants(&self, sink: &WrittenSource) -> bool {
        if self.ended {
            return false;
        }
        if self.datagrams {
            self.pending.len() < CHUNK || self.frame().is_none()
        } else {
            sink.room() >= CHUNK
        }
    }

    /// Reads once, which does not wait as stdin is ready, and passes on what has come.
    pub fn read(&mut self, sink: &mut WrittenSource) -> Result<(), AgentError> {
        let start = self.pending.len();
        self.pending.resize(start + CHUNK, 0);
        let result = nix::unistd::read(self.stdin.as_raw_fd(), &mut self.pending[start..]);
        let count = match result {
            Ok(count) => count,
            Err(nix::errno::Errno::EINTR | nix::errno::Errno::EAGAIN) => {
                self.pending.truncate(start);
                return Ok(());
            }
            Err(e) => {
                let cause = format!("cannot read stdin: {}", e.desc().to_lowercase());
                return Err(AgentError::new("input", cause, "check what is piped in"));
            }
        };
        self.pending.truncate(start + count);
        self.ended = count == 0;
        self.pass(sink)
    }

    /// Passes on what there is room for.
    pub fn pass(&mut self, sink: &mut WrittenSource) -> Result<(), AgentError> {
        if self.datagrams {
            let mut used = 0;
            while let Some(length) = datagram_length(&self.pending[used..]) {
                let length = length as usize;
                if length > MAX_DATAGRAM {
                    let cause =
                        format!("a datagram of {length} bytes on stdin is longer than {MAX_DATAGRAM}");
                    return Err(AgentError::new(
                        "input",
                        cause,
                        "check the frames: u32 length, then the bytes",
                    ));
                }
                let start = used + DATAGRAM_PREFIX;
                let Some(datagram) = self.pending.get(start..start + length) else { break };
                if !sink.write_datagram(datagram) {
                    break;
                }
                used = start + length;
            }
            self.pending.drain(..used);
        } else {
            let accepted = sink.write(&self.pending);
            self.pending.drain(..accepted);
        }
        if self.ended && self.datagrams && !self.pending.is_empty() && self.frame().is_none() {
            let cause = "stdin ended within a datagram";
            return Err(AgentError::new("input", cause, "check the frames: u32 length, then the bytes"));
        }
        if self.ended && self.pending.is_empty() {
            sink.finish();
        }
        Ok(())
    }

    /// The length of the whole datagram at the front, if it is all here.
    fn frame(&self) -> Option<usize> {
        let length = datagram_length(&self.pending)? as usize;
        (self.pending.len() >= DATAGRAM_PREFIX + length).then_some(length)
    }
}

impl AsFd for Input {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stdin.as_fd()
    }
}
