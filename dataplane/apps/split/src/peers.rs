//! Connections between agents at their beginning and their end.

use std::io;
use std::net::SocketAddrV4;
use std::time::Instant;

use groupflow_base::CodecError;
use groupflow_host::link::TcpLink;
use groupflow_host::read_outcome::ReadOutcome;

use super::preamble::{Preamble, LENGTH};

/// A connection from another agent that has sent no complete preamble yet.
pub struct Greeting {
    pub link: TcpLink,
    pub peer: SocketAddrV4,
    /// When the wait for the preamble ends.
    pub until: Instant,
    bytes: [u8; LENGTH],
    filled: usize,
}

impl Greeting {
    /// A connection of which nothing was read yet.
    pub fn new(link: TcpLink, peer: SocketAddrV4, until: Instant) -> Greeting {
        Greeting { link, peer, until, bytes: [0; LENGTH], filled: 0 }
    }

    /// Reads no further than the preamble. `Ok(None)`: the preamble is not complete.
    pub fn read(&mut self) -> io::Result<Option<Result<Preamble, CodecError>>> {
        while self.filled < LENGTH {
            match self.link.read(&mut self.bytes[self.filled..])? {
                ReadOutcome::Bytes(count) => self.filled += count,
                ReadOutcome::Nothing => return Ok(None),
                ReadOutcome::End => return Err(io::ErrorKind::UnexpectedEof.into()),
            }
        }
        Ok(Some(Preamble::parse(&self.bytes)))
    }
}

/// A connection of a stream that has ended here. Its last frames must still arrive, and a reset would
/// overtake them. Incoming bytes are discarded until the peer has ended its side, too.
pub struct Drain {
    pub link: TcpLink,
    /// When the wait for the peer's end is given up.
    pub until: Instant,
}

impl Drain {
    /// Sends and discards bytes; true: both sides have ended, or the connection is lost.
    pub fn turn(&mut self, scratch: &mut [u8]) -> bool {
        if self.link.flush(true).is_err() {
            return true;
        }
        while self.link.ended && self.link.readable {
            if matches!(self.link.read(scratch), Ok(ReadOutcome::End) | Err(_)) {
                return true;
            }
        }
        false
    }
}
