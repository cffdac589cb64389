//! Reads stdin into a session's stream or datagrams.

use std::os::fd::{AsFd, BorrowedFd};

use groupflow_host::error::AgentError;
use groupflow_host::input::Input;
use groupflow_transport::assembly::{datagram_length, DATAGRAM_PREFIX, MAX_DATAGRAM};
use groupflow_transport::source::WrittenSource;

const CHUNK: usize = 64 << 10;

/// Stdin, read as a stream or as datagrams.
#[derive(Debug)]
pub struct Stdin {
    input: Input,
    datagrams: bool,
    pending: Vec<u8>,
    ended: bool,
}

impl Stdin {
    /// Reads stdin as a byte stream, or as frames.
    pub fn open(datagrams: bool) -> Result<Stdin, AgentError> {
        Ok(Stdin { input: Input::open(None)?, datagrams, pending: Vec::new(), ended: false })
    }

    /// Whether to read now: there must be room for the bytes.
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

    /// Reads once, without blocking, and passes the bytes on.
    pub fn read(&mut self, sink: &mut WrittenSource) -> Result<(), AgentError> {
        let start = self.pending.len();
        self.pending.resize(start + CHUNK, 0);
        let result = self.input.read(&mut self.pending[start..]);
        self.pending.truncate(start + result.as_ref().map_or(0, |count| count.unwrap_or(0)));
        self.ended |= result? == Some(0);
        self.pass(sink)
    }

    /// Passes on as many bytes as there is room for.
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

    /// The length of the first datagram, if all of it is here.
    fn frame(&self) -> Option<usize> {
        let length = datagram_length(&self.pending)? as usize;
        (self.pending.len() >= DATAGRAM_PREFIX + length).then_some(length)
    }
}

impl AsFd for Stdin {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.input.as_fd()
    }
}
