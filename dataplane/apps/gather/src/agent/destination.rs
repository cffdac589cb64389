//! The destination of a stream: a file that grows, a FIFO, or nothing.

use std::fs::{self, File};
use std::io::{self, Seek, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use groupflow_base::StreamId;
use groupflow_host::error::plain;
use groupflow_host::tcp::is_later;

use crate::machine::ClientName;

#[derive(Debug, Clone)]
pub enum StreamFolder {
    /// Streams go to files in this folder, or to FIFOs that are there.
    At(PathBuf),
    Discard,
}

#[derive(Debug)]
pub enum Destination {
    /// A file under a temporary name.
    Part {
        file: File,
        /// The file's name while it is incomplete.
        part: PathBuf,
        /// The file's name when it is complete.
        path: PathBuf,
    },
    /// A file that is complete already.
    Whole(PathBuf),
    Fifo(File, PathBuf),
    Discard,
}

impl StreamFolder {
    /// Opens the destination of a client's stream; also returns how many bytes are there.
    pub fn open(&self, client: &ClientName, stream: StreamId) -> Result<(Destination, u64), String> {
        let StreamFolder::At(folder) = self else { return Ok((Destination::Discard, 0)) };
        let fifo = folder.join(client.as_str());
        if fs::metadata(&fifo).is_ok_and(|about| about.file_type().is_fifo()) {
            // Opening the FIFO for reading as well succeeds before there is a reader, and a reader that
            // closes ends nothing.
            let file = File::options().read(true).write(true).custom_flags(libc::O_NONBLOCK).open(&fifo);
            return file
                .map(|file| (Destination::Fifo(file, fifo.clone()), 0))
                .map_err(|e| failed(&fifo, &e));
        }
        let path = folder.join(format!("{client}.{stream}"));
        if let Ok(about) = fs::metadata(&path) {
            return Ok((Destination::Whole(path), about.len()));
        }
        let part = folder.join(format!("{client}.{stream}.part"));
        let opened = File::options().write(true).create(true).truncate(false).open(&part);
        let opened = opened.and_then(|mut file| file.seek(io::SeekFrom::End(0)).map(|length| (file, length)));
        let (file, length) = opened.map_err(|e| failed(&part, &e))?;
        Ok((Destination::Part { file, part, path }, length))
    }
}

impl Destination {
    /// Writes as many bytes as can be written without blocking; returns their number.
    pub fn write(&mut self, bytes: &[u8]) -> Result<usize, String> {
        match self {
            Destination::Discard => Ok(bytes.len()),
            Destination::Whole(path) => Err(format!("{} is complete", path.display())),
            Destination::Part { file, part, .. } => loop {
                match file.write(bytes) {
                    Ok(count) => return Ok(count),
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(error) => return Err(failed(part, &error)),
                }
            },
            Destination::Fifo(file, path) => match file.write(bytes) {
                Ok(count) => Ok(count),
                Err(error) if is_later(&error) => Ok(0),
                Err(error) => Err(failed(path, &error)),
            },
        }
    }

    /// Completes the stream: gives the file its final name.
    pub fn finish(&mut self) -> Result<(), String> {
        match self {
            Destination::Part { part, path, .. } => fs::rename(&*part, &*path).map_err(|e| failed(path, &e)),
            _ => Ok(()),
        }
    }

    /// The destination's path, with the name that the file has or will have.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Destination::Part { path, .. } | Destination::Whole(path) | Destination::Fifo(_, path) => {
                Some(path)
            }
            Destination::Discard => None,
        }
    }

    /// The descriptor that becomes ready when the destination takes more.
    pub fn waits_for(&self) -> Option<BorrowedFd<'_>> {
        match self {
            Destination::Fifo(file, _) => Some(file.as_fd()),
            _ => None,
        }
    }
}

fn failed(path: &Path, error: &io::Error) -> String {
    format!("cannot write {}: {}", path.display(), plain(error))
}
