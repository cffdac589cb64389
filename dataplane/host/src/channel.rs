//! A connection's bytes, either plain or inside TLS 1.3. No call blocks.
//!
//! The socket stays accessible, because TCP's state and the advertised window do not depend on whether TLS is
//! used.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};

use rustls::Connection;
use thiserror::Error;

use crate::tcp::is_later;

/// The first byte of a TLS connection: a handshake record (RFC 8446, 5.1). No frame begins with this byte.
const HANDSHAKE: u8 = 22;

/// Bytes that a client may send before its handshake is done. The longest message would be a certificate, and
/// clients have none; so a connection that is not identified yet costs little memory.
const HANDSHAKE_MOST: usize = 16 << 10;

/// One end speaks TLS and the other does not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum TlsMismatch {
    /// The server speaks TLS, the client does not.
    #[error("this server speaks TLS and the client does not")]
    Server,
    /// The client speaks TLS, the server does not.
    #[error("the client speaks TLS and this server does not")]
    Client,
}

/// The client sent too many bytes before its handshake was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("the handshake is too long")]
pub struct LongHandshake;

/// A connection that may be encrypted.
#[derive(Debug)]
pub struct Channel {
    socket: TcpStream,
    /// The TLS session; `None`: bytes are sent unencrypted.
    tls: Option<Box<Connection>>,
    /// Nothing was received yet; the first byte will show whether the client speaks TLS.
    is_new: bool,
    /// Bytes that the peer may still send before the handshake is done.
    handshake_left: usize,
}

impl Channel {
    /// The server's end of an accepted connection.
    pub fn accepted(socket: TcpStream, tls: Option<Connection>) -> Channel {
        Channel { socket, tls: tls.map(Box::new), is_new: true, handshake_left: HANDSHAKE_MOST }
    }

    /// The client's end of a connection that was begun.
    pub fn begun(socket: TcpStream, tls: Option<Connection>) -> Channel {
        Channel { socket, tls: tls.map(Box::new), is_new: false, handshake_left: usize::MAX }
    }

    pub fn socket(&self) -> &TcpStream {
        &self.socket
    }

    /// Drops TLS, to send a last message to a client that speaks no TLS.
    pub fn undress(&mut self) {
        self.tls = None;
    }

    /// Writes the bytes that TLS has queued; true: the socket takes no more.
    pub fn push(&mut self) -> io::Result<bool> {
        let Some(tls) = &mut self.tls else { return Ok(false) };
        while tls.wants_write() {
            match tls.write_tls(&mut self.socket) {
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if is_later(&error) => return Ok(true),
                Err(error) => return Err(error),
            }
        }
        Ok(false)
    }

    /// Ends the sending side.
    pub fn end(&mut self) -> io::Result<()> {
        if let Some(tls) = self.tls.as_mut().filter(|tls| !tls.is_handshaking()) {
            tls.send_close_notify();
            self.push()?;
        }
        self.socket.shutdown(Shutdown::Write)
    }

    /// Peeks at the first byte.
    fn check_first(&mut self) -> io::Result<()> {
        let mut first = [0];
        if self.socket.peek(&mut first)? == 1 {
            self.is_new = false;
            match (first[0] == HANDSHAKE, self.tls.is_some()) {
                (true, false) => return Err(io::Error::other(TlsMismatch::Client)),
                (false, true) => return Err(io::Error::other(TlsMismatch::Server)),
                _ => {}
            }
        }
        Ok(())
    }
}

/// A read of 0 bytes is the peer's end; with TLS, an end without close_notify is an error.
impl Read for Channel {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.is_new {
            self.check_first()?;
        }
        let Some(tls) = &mut self.tls else { return self.socket.read(into) };
        loop {
            match tls.reader().read(into) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                other => return other,
            }
            let is_handshaking = tls.is_handshaking();
            let count = tls.read_tls(&mut self.socket)?;
            if is_handshaking {
                let left = self.handshake_left.checked_sub(count);
                self.handshake_left = left.ok_or_else(|| io::Error::other(LongHandshake))?;
            }
            let processed = tls.process_new_packets();
            // TLS may answer the handshake, or say why it fails: the socket has room for that, or the peer is
            // lost.
            let _ = tls.wants_write().then(|| tls.write_tls(&mut self.socket));
            processed.map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
        }
    }
}

impl Write for Channel {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.push()? {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let Some(tls) = &mut self.tls else { return self.socket.write(bytes) };
        // TLS takes a bounded number of bytes, and keeps those that the socket does not take.
        let taken = tls.writer().write(bytes)?;
        self.push()?;
        match taken {
            0 => Err(io::ErrorKind::WouldBlock.into()),
            taken => Ok(taken),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.push().map(drop)
    }
}
