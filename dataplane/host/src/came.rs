//! A read of a connection that does not block.

use std::io::{self, Read};

use crate::tcp::is_later;

/// What a read brought.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Came {
    /// So many bytes.
    Bytes(usize),
    /// Nothing now.
    Nothing,
    /// The peer's end.
    End,
}

impl Came {
    /// Reads once; `readable` is cleared when there is nothing.
    pub fn read(from: &mut impl Read, readable: &mut bool, into: &mut [u8]) -> io::Result<Came> {
        loop {
            match from.read(into) {
                Ok(0) => return Ok(Came::End),
                Ok(count) => return Ok(Came::Bytes(count)),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if is_later(&error) => {
                    *readable = false;
                    return Ok(Came::Nothing);
                }
                Err(error) => return Err(error),
            }
        }
    }
}
