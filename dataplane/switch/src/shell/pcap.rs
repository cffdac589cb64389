//! Files of the frames that each port received and sent, as simple_switch writes them.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use super::error::ShellError;

/// Magic number of the format with nanoseconds.
const MAGIC: u32 = 0xa1b2_3c4d;
const LINKTYPE_ETHERNET: u32 = 1;
const SNAP_LENGTH: u32 = 65_535;

/// One capture file.
#[derive(Debug)]
pub struct Capture {
    path: PathBuf,
    /// The file; `None` after an error, since a full disk must not stop the switch.
    out: Option<BufWriter<File>>,
}

impl Capture {
    /// Creates `<dir>/<interface>_<direction>.pcap`.
    pub fn create(dir: &Path, interface: &str, direction: &str) -> Result<Capture, ShellError> {
        let path = dir.join(format!("{interface}_{direction}.pcap"));
        let failed = |error| ShellError::File(path.clone(), error);
        let mut out = BufWriter::new(File::create(&path).map_err(failed)?);
        out.write_all(&file_header()).map_err(failed)?;
        Ok(Capture { path, out: Some(out) })
    }

    /// Adds a frame. `time` is the wall clock's, in ns since 1970.
    pub fn write(&mut self, time: u64, frame: &[u8]) {
        self.attempt(|out| {
            out.write_all(&record_header(time, frame.len()))?;
            out.write_all(frame)
        });
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

fn file_header() -> [u8; 24] {
    let mut header = [0; 24];
    header[0..4].copy_from_slice(&MAGIC.to_ne_bytes());
    header[4..6].copy_from_slice(&2u16.to_ne_bytes());
    header[6..8].copy_from_slice(&4u16.to_ne_bytes());
    header[16..20].copy_from_slice(&SNAP_LENGTH.to_ne_bytes());
    header[20..24].copy_from_slice(&LINKTYPE_ETHERNET.to_ne_bytes());
    header
}

fn record_header(time: u64, length: usize) -> [u8; 16] {
    let mut header = [0; 16];
    // The format's seconds end in 2106, and no frame is longer than its length fields hold.
    let fields = [time / 1_000_000_000, time % 1_000_000_000, length as u64, length as u64];
    for (slot, field) in header.chunks_exact_mut(4).zip(fields) {
        slot.copy_from_slice(&(field as u32).to_ne_bytes());
    }
    header
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_capture_is_a_pcap_file() {
        let dir = std::env::temp_dir().join(format!("gfswitch-pcap-{}", std::process::id()));
        std::fs::create_dir_all(&dir).expect("a temporary directory");
        let mut capture = Capture::create(&dir, "s1-eth1", "in").expect("created");
        capture.write(1_500_000_000_000_000_007, b"frame");
        capture.flush();
        let bytes = std::fs::read(dir.join("s1-eth1_in.pcap")).expect("readable");
        std::fs::remove_dir_all(&dir).expect("removable");
        assert_eq!(bytes.len(), 24 + 16 + 5);
        assert_eq!(&bytes[0..4], &MAGIC.to_ne_bytes());
        assert_eq!(&bytes[24..28], &1_500_000_000u32.to_ne_bytes());
        assert_eq!(&bytes[28..32], &7u32.to_ne_bytes());
        assert_eq!(&bytes[32..36], &5u32.to_ne_bytes());
        assert_eq!(&bytes[40..], b"frame");
    }

    #[test]
    fn a_missing_directory_is_named() {
        let error = Capture::create(Path::new("/nonexistent/dir"), "eth0", "out").expect_err("missing");
        assert!(error.to_string().starts_with("/nonexistent/dir/eth0_out.pcap: "), "{error}");
    }
}
