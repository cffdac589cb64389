//! A file of the frames that passed a port, each with its verdict as a comment.
//!
//! The format: draft-ietf-opsawg-pcapng, sections 4.1 to 4.3.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use super::error::ShellError;
use crate::core::SeenFrame;

const SECTION_HEADER: u32 = 0x0a0d_0d0a;
const INTERFACE: u32 = 1;
const ENHANCED_PACKET: u32 = 6;
/// Tells the byte order.
const MAGIC: u32 = 0x1a2b_3c4d;
const LINKTYPE_ETHERNET: u16 = 1;
const COMMENT: u16 = 1;
const APPLICATION: u16 = 4;
const INTERFACE_NAME: u16 = 2;
const TIME_RESOLUTION: u16 = 9;
const PACKET_FLAGS: u16 = 2;
const INBOUND: u32 = 1;
const OUTBOUND: u32 = 2;

#[derive(Debug)]
pub struct Capture {
    path: PathBuf,
    /// The file; `None` after an error, since a full disk must not stop the switch.
    out: Option<BufWriter<File>>,
}

impl Capture {
    /// Creates `<dir>/<interface>.pcapng`.
    pub fn create(dir: &Path, interface: &str) -> Result<Capture, ShellError> {
        let path = dir.join(format!("{interface}.pcapng"));
        let failed = |error| ShellError::Capture(path.clone(), error);
        let mut out = BufWriter::new(File::create(&path).map_err(failed)?);
        let mut section = words(&[MAGIC]);
        section.extend([1u16.to_ne_bytes(), 0u16.to_ne_bytes()].concat());
        section.extend(u64::MAX.to_ne_bytes()); // a length that nobody knows yet
        let options = [(APPLICATION, concat!("gfswitch ", env!("CARGO_PKG_VERSION")).as_bytes())];
        out.write_all(&block(SECTION_HEADER, section, &options)).map_err(failed)?;
        // The snap length 0 is none; times are in 10^-9 s.
        let options = [(INTERFACE_NAME, interface.as_bytes()), (TIME_RESOLUTION, &[9])];
        let link = [LINKTYPE_ETHERNET.to_ne_bytes(), [0; 2], [0; 2], [0; 2]].concat();
        // A full disk shows before the switch is ready.
        out.write_all(&block(INTERFACE, link, &options)).and_then(|()| out.flush()).map_err(failed)?;
        Ok(Capture { path, out: Some(out) })
    }

    /// Adds a frame. An error ends the capture, and is returned once. `offset` is the wall clock's reading at
    /// the switch's zero, in ns since 1970.
    pub fn write(&mut self, offset: u64, frame: &SeenFrame) -> Result<(), ShellError> {
        let (time, length) = (offset + frame.time.0, frame.bytes.len() as u32);
        let mut body = words(&[0, (time >> 32) as u32, time as u32, length, length]);
        body.extend(&frame.bytes);
        pad(&mut body);
        let flags = if frame.inbound { INBOUND } else { OUTBOUND }.to_ne_bytes();
        let options = [(PACKET_FLAGS, &flags[..]), (COMMENT, frame.verdict.as_bytes())];
        self.attempt(|out| out.write_all(&block(ENHANCED_PACKET, body, &options)))
    }

    /// Makes the frames written so far visible to readers. Fails as [`Capture::write`] does.
    pub fn flush(&mut self) -> Result<(), ShellError> {
        self.attempt(BufWriter::flush)
    }

    fn attempt(
        &mut self, write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
    ) -> Result<(), ShellError> {
        let Some(out) = &mut self.out else { return Ok(()) };
        write(out).map_err(|error| {
            self.out = None;
            ShellError::Capture(self.path.clone(), error)
        })
    }
}

fn words(values: &[u32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_ne_bytes()).collect()
}

fn pad(bytes: &mut Vec<u8>) {
    bytes.resize(bytes.len().next_multiple_of(4), 0);
}

/// A block: kind and length, body, options, and the length again.
fn block(kind: u32, mut body: Vec<u8>, options: &[(u16, &[u8])]) -> Vec<u8> {
    for (code, value) in options {
        let value = &value[..value.len().min(usize::from(u16::MAX))];
        body.extend([code.to_ne_bytes(), (value.len() as u16).to_ne_bytes()].concat());
        body.extend(value);
        pad(&mut body);
    }
    body.extend([0; 4]); // the end of the options
    let length = body.len() as u32 + 12;
    [words(&[kind, length]), body, words(&[length])].concat()
}

#[cfg(test)]
#[path = "tests/pcapng.rs"]
mod tests;
