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
    /// Whoever has much to say asks for [`Outbox::room`] first.
    pub fn new(limit: usize) -> Outbox {
        Outbox { bytes: VecDeque::new(), limit }
    }

    /// What may be added.
    pub fn room(&self) -> usize {
        self.limit.saturating_sub(self.bytes.len())
    }

    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// The queue, to append to.
    pub fn bytes(&mut self) -> &mut VecDeque<u8> {
        &mut self.bytes
    }

    /// Writes what the socket takes; true when it takes no more.
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
        // An idle stream keeps no memory for what it once said.
        if self.bytes.capacity() > 4096 {
            self.bytes.shrink_to_fit();
        }
        Ok(false)
    }
}
