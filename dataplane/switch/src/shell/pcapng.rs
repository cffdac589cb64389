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

/// One capture file.
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
        let failed = |error| ShellError::File(path.clone(), error);
        let mut out = BufWriter::new(File::create(&path).map_err(failed)?);
        let mut section = words(&[MAGIC]);
        section.extend([1u16.to_ne_bytes(), 0u16.to_ne_bytes()].concat());
        section.extend(u64::MAX.to_ne_bytes()); // a length that nobody knows yet
        let options = [(APPLICATION, concat!("gfswitch ", env!("CARGO_PKG_VERSION")).as_bytes())];
        out.write_all(&block(SECTION_HEADER, section, &options)).map_err(failed)?;
        // The snap length 0 is none; times are in 10^-9 s.
        let options = [(INTERFACE_NAME, interface.as_bytes()), (TIME_RESOLUTION, &[9])];
        let link = [LINKTYPE_ETHERNET.to_ne_bytes(), [0; 2], [0; 2], [0; 2]].concat();
        out.write_all(&block(INTERFACE, link, &options)).map_err(failed)?;
        Ok(Capture { path, out: Some(out) })
    }

    /// Adds a frame. `offset` is the wall clock's reading at the switch's zero, in ns since 1970.
    pub fn write(&mut self, offset: u64, frame: &SeenFrame) {
        let (time, length) = (offset + frame.time.0, frame.bytes.len() as u32);
        let mut body = words(&[0, (time >> 32) as u32, time as u32, length, length]);
        body.extend(&frame.bytes);
        pad(&mut body);
        let flags = if frame.inbound { INBOUND } else { OUTBOUND }.to_ne_bytes();
        let options = [(PACKET_FLAGS, &flags[..]), (COMMENT, frame.verdict.as_bytes())];
        self.attempt(|out| out.write_all(&block(ENHANCED_PACKET, body, &options)));
    }

    /// Makes the frames written so far visible to readers.
    pub fn flush(&mut self) {
        self.attempt(BufWriter::flush);
    }

    fn attempt(&mut self, write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>) {
        let Some(out) = &mut self.out else { return };
        if let Err(error) = write(out) {
            tracing::error!(path = %self.path.display(), %error, "capture stopped");
            self.out = None;
        }
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
mod tests {
    use super::*;
    use groupflow_base::Nanos;
    use groupflow_pipeline::Port;

    /// The blocks of a file: kind and body of each.
    fn blocks(mut bytes: &[u8]) -> Vec<(u32, Vec<u8>)> {
        let word =
            |bytes: &[u8], at: usize| u32::from_ne_bytes(bytes[at..at + 4].try_into().expect("a word"));
        let mut found = Vec::new();
        while !bytes.is_empty() {
            let length = word(bytes, 4) as usize;
            assert_eq!((length % 4, word(bytes, length - 4) as usize), (0, length));
            found.push((word(bytes, 0), bytes[8..length - 4].to_vec()));
            bytes = &bytes[length..];
        }
        found
    }

    #[test]
    fn a_capture_is_a_pcapng_file_with_comments() {
        let dir = std::env::temp_dir().join(format!("gfswitch-pcap-{}", std::process::id()));
        std::fs::create_dir_all(&dir).expect("a temporary directory");
        let mut capture = Capture::create(&dir, "s1-eth1").expect("created");
        let (time, port, bytes) = (Nanos(7), Port(1), b"frame".to_vec());
        let verdict = "in port 1: to port 2".to_owned();
        capture.write(1_500_000_000_000_000_000, &SeenFrame { time, port, inbound: true, bytes, verdict });
        capture.flush();
        let bytes = std::fs::read(dir.join("s1-eth1.pcapng")).expect("readable");
        std::fs::remove_dir_all(&dir).expect("removable");
        let blocks = blocks(&bytes);
        let kinds: Vec<u32> = blocks.iter().map(|(kind, _)| *kind).collect();
        assert_eq!(kinds, [SECTION_HEADER, INTERFACE, ENHANCED_PACKET]);
        assert_eq!(blocks[0].1[..4], MAGIC.to_ne_bytes());
        assert_eq!(blocks[1].1[..2], 1u16.to_ne_bytes());
        let time = 1_500_000_000_000_000_007_u64;
        let mut expected = words(&[0, (time >> 32) as u32, time as u32, 5, 5]);
        expected.extend(b"frame\0\0\0");
        expected.extend([2u16.to_ne_bytes(), 4u16.to_ne_bytes()].concat());
        expected.extend(1u32.to_ne_bytes());
        expected.extend([1u16.to_ne_bytes(), 20u16.to_ne_bytes()].concat());
        expected.extend(b"in port 1: to port 2\0\0\0\0");
        assert_eq!(blocks[2].1, expected);
    }

    #[test]
    fn a_missing_directory_is_named() {
        let error = Capture::create(Path::new("/nonexistent/dir"), "eth0").expect_err("missing");
        assert!(error.to_string().starts_with("/nonexistent/dir/eth0.pcapng: "), "{error}");
    }
}
