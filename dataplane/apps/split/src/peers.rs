//! Connections between agents at their beginning and their end.

use std::io;
use std::net::{Shutdown, SocketAddrV4, TcpStream};
use std::time::Instant;

use groupflow_base::CodecError;
use groupflow_host::outbox::Outbox;
use groupflow_host::poller::Registration;
use groupflow_host::read_outcome::ReadOutcome;

use super::preamble::{Preamble, LENGTH};

/// A connection from another agent that has sent no complete preamble yet.
pub struct Greeting {
    pub socket: TcpStream,
    pub registration: Registration,
    pub peer: SocketAddrV4,
    /// When the wait for the preamble ends.
    pub until: Instant,
    bytes: [u8; LENGTH],
    filled: usize,
}

impl Greeting {
    /// A connection of which nothing was read yet.
    pub fn new(
        socket: TcpStream, registration: Registration, peer: SocketAddrV4, until: Instant,
    ) -> Greeting {
        Greeting { socket, registration, peer, until, bytes: [0; LENGTH], filled: 0 }
    }

    /// Reads no further than the preamble. `Ok(None)`: the preamble is not complete.
    pub fn read(&mut self) -> io::Result<Option<Result<Preamble, CodecError>>> {
        let mut readable = true;
        while self.filled < LENGTH {
            match ReadOutcome::read(&mut self.socket, &mut readable, &mut self.bytes[self.filled..])? {
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
    pub socket: TcpStream,
    pub registration: Registration,
    /// When the wait for the peer's end is given up.
    pub until: Instant,
    out: Outbox,
    told_end: bool,
}

impl Drain {
    /// A connection with the frames still to be sent.
    pub fn new(socket: TcpStream, registration: Registration, out: Outbox, until: Instant) -> Drain {
        Drain { socket, registration, until, out, told_end: false }
    }

    /// Sends and discards bytes; true: the connection is over.
    pub fn turn(&mut self, scratch: &mut [u8]) -> bool {
        match self.out.flush(&self.socket) {
            Ok(true) => return false,
            Ok(false) => {}
            Err(_) => return true,
        }
        if !self.told_end {
            self.told_end = true;
            if self.socket.shutdown(Shutdown::Write).is_err() {
                return true;
            }
        }
        let mut readable = true;
        while readable {
            match ReadOutcome::read(&mut self.socket, &mut readable, scratch) {
                Ok(ReadOutcome::Bytes(_) | ReadOutcome::Nothing) => {}
                Ok(ReadOutcome::End) | Err(_) => return true,
            }
        }
        false
    }
}
