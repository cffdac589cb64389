//! The destination of a stream: a file that grows, or nothing.

use std::fs::{self, File};
use std::io::{self, Seek, Write};
use std::path::{Path, PathBuf};

use groupflow_base::StreamId;
use groupflow_host::error::plain;

use crate::machine::ClientName;

#[derive(Debug, Clone)]
pub enum StreamFolder {
    /// Streams go to files in this folder.
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
    Discard,
}

impl StreamFolder {
    /// Opens the destination of a client's stream; also returns how many bytes are there.
    pub fn open(&self, client: &ClientName, stream: StreamId) -> Result<(Destination, u64), String> {
        let StreamFolder::At(folder) = self else { return Ok((Destination::Discard, 0)) };
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
    /// Appends bytes to the stream.
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), String> {
        match self {
            Destination::Discard => Ok(()),
            Destination::Whole(path) => Err(format!("{} is complete", path.display())),
            Destination::Part { file, part, .. } => file.write_all(bytes).map_err(|e| failed(part, &e)),
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
            Destination::Part { path, .. } | Destination::Whole(path) => Some(path),
            Destination::Discard => None,
        }
    }
}

fn failed(path: &Path, error: &io::Error) -> String {
    format!("cannot write {}: {}", path.display(), plain(error))
}
