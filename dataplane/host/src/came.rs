//! A read of a connection that does not block.

use std::io::{self, Read};

use crate::tcp::is_later;

/// The result of a read that does not block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Came {
    /// So many bytes were read.
    Bytes(usize),
    /// There is nothing to read now.
    Nothing,
    /// The peer has ended its side.
    End,
}

impl Came {
    /// Reads once; `readable` is cleared when there is nothing to read.
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
