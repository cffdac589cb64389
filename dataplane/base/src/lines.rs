//! Lines cut from bytes that come in pieces.

/// The bytes of a line that is not complete, up to a bound.
#[derive(Debug)]
pub struct LineBuffer {
    bytes: Vec<u8>,
    /// The most bytes of a line.
    pub longest: usize,
}

impl LineBuffer {
    /// No bytes yet; a line has at most `longest`.
    pub fn new(longest: usize) -> LineBuffer {
        LineBuffer { bytes: Vec::new(), longest }
    }

    /// Takes bytes in; returns the lines that are complete now, without those that are blank. `None`: a line
    /// is too long, and nothing useful follows.
    pub fn push(&mut self, bytes: &[u8]) -> Option<Vec<Vec<u8>>> {
        self.bytes.extend_from_slice(bytes);
        // However the bytes were cut into reads, the same lines are too long.
        if self.bytes.split(|&byte| byte == b'\n').any(|line| line.len() > self.longest) {
            self.bytes.clear();
            return None;
        }
        let complete = self.bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
        let lines: Vec<u8> = self.bytes.drain(..complete).collect();
        let lines = lines.split(|&byte| byte == b'\n');
        Some(lines.filter(|line| !line.iter().all(u8::is_ascii_whitespace)).map(<[u8]>::to_vec).collect())
    }
}
