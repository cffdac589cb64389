//! A read of a connection that does not block.

use std::io::{self, Read};

use crate::tcp::is_later;

/// The result of a read that does not block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadOutcome {
    /// So many bytes were read.
    Bytes(usize),
    /// There is nothing to read now.
    Nothing,
    /// The peer has ended its side.
    End,
}

impl ReadOutcome {
    /// Reads once; `readable` is cleared when there is nothing to read.
    pub fn read(from: &mut impl Read, readable: &mut bool, into: &mut [u8]) -> io::Result<ReadOutcome> {
        loop {
            match from.read(into) {
                Ok(0) => return Ok(ReadOutcome::End),
                Ok(count) => return Ok(ReadOutcome::Bytes(count)),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if is_later(&error) => {
                    *readable = false;
                    return Ok(ReadOutcome::Nothing);
                }
                Err(error) => return Err(error),
            }
        }
    }
}
