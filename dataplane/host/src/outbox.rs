//! Bytes that wait until a socket takes them.

use std::collections::VecDeque;
use std::io::{self, Write};

use super::tcp::is_later;

/// A bounded queue of bytes.
#[derive(Debug)]
pub struct Outbox {
    bytes: VecDeque<u8>,
    limit: usize,
}

impl Outbox {
    /// An empty queue. The limit is not enforced: callers with much to send check [`Outbox::room`] first.
    pub fn new(limit: usize) -> Outbox {
        Outbox { bytes: VecDeque::new(), limit }
    }

    /// Bytes that may still be added.
    pub fn room(&self) -> usize {
        self.limit.saturating_sub(self.bytes.len())
    }

    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// The queue, to append to.
    pub fn bytes(&mut self) -> &mut VecDeque<u8> {
        &mut self.bytes
    }

    /// Writes as much as the socket takes; true: the socket takes no more.
    pub fn flush(&mut self, mut to: impl Write) -> io::Result<bool> {
        while !self.bytes.is_empty() {
            match to.write(self.bytes.as_slices().0) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => drop(self.bytes.drain(..count)),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if is_later(&error) => return Ok(true),
                Err(error) => return Err(error),
            }
        }
        // An idle stream keeps no memory for earlier bytes.
        if self.bytes.capacity() > 4096 {
            self.bytes.shrink_to_fit();
        }
        Ok(false)
    }
}
