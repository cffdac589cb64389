//! A connection's bytes, as they are or inside TLS 1.3; nothing here blocks.
//!
//! The socket stays at hand: what the kernel knows of it and the window that it advertises have nothing to do
//! with what goes over it.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};

use rustls::Connection;
use thiserror::Error;

use crate::tcp::is_later;

/// The first byte of a TLS connection: a handshake record (RFC 8446, 5.1). No frame begins with it.
const HANDSHAKE: u8 = 22;

/// What a client may say until its handshake is done, bytes: a certificate is the longest of it, and clients have
/// none. Who has not said who it is costs no more.
const HANDSHAKE_MOST: usize = 16 << 10;

/// Both ends must speak TLS, or neither.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum Mismatch {
    /// The client does not.
    #[error("this server speaks TLS and the client does not")]
    Server,
    /// The server does not.
    #[error("the client speaks TLS and this server does not")]
    Client,
}

/// A client says more before its handshake is done than it may.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("the handshake is too long")]
pub struct LongHandshake;

/// A connection's bytes.
#[derive(Debug)]
pub struct Channel {
    socket: TcpStream,
    /// `None`: bytes go as they are.
    tls: Option<Box<Connection>>,
    /// Nothing came yet, and what comes first shows whether the client speaks TLS.
    is_new: bool,
    /// Bytes that may come until the handshake is done.
    handshake_left: usize,
}

impl Channel {
    /// At the server: what was accepted.
    pub fn accepted(socket: TcpStream, tls: Option<Connection>) -> Channel {
        Channel { socket, tls: tls.map(Box::new), is_new: true, handshake_left: HANDSHAKE_MOST }
    }

    /// At the client: what was begun.
    pub fn begun(socket: TcpStream, tls: Option<Connection>) -> Channel {
        Channel { socket, tls: tls.map(Box::new), is_new: false, handshake_left: usize::MAX }
    }

    /// The TLS session; `None`: bytes go as they are.
    pub fn tls(&self) -> Option<&Connection> {
        self.tls.as_deref()
    }

    /// The socket below.
    pub fn socket(&self) -> &TcpStream {
        &self.socket
    }

    /// From now on bytes go as they are: for a last word to a client that speaks no TLS.
    pub fn undress(&mut self) {
        self.tls = None;
    }

    /// Writes what TLS still has to say; true: the socket takes no more.
    pub fn push(&mut self) -> io::Result<bool> {
        let Some(tls) = &mut self.tls else {
            return Ok(false);
        };
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

    /// Nothing more is written.
    pub fn end(&mut self) -> io::Result<()> {
        if let Some(tls) = self.tls.as_mut().filter(|tls| !tls.is_handshaking()) {
            tls.send_close_notify();
            self.push()?;
        }
        self.socket.shutdown(Shutdown::Write)
    }

    /// Looks at the first byte, and leaves it there.
    fn check_first(&mut self) -> io::Result<()> {
        let mut first = [0];
        if self.socket.peek(&mut first)? == 1 {
            self.is_new = false;
            match (first[0] == HANDSHAKE, self.tls.is_some()) {
                (true, false) => return Err(io::Error::other(Mismatch::Client)),
                (false, true) => return Err(io::Error::other(Mismatch::Server)),
                _ => {}
            }
        }
        Ok(())
    }
}

/// 0 is the peer's end; with TLS, an end that it has not announced is an error.
impl Read for Channel {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.is_new {
            self.check_first()?;
        }
        let Some(tls) = &mut self.tls else {
            return self.socket.read(into);
        };
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
            // An answer of the handshake, or why it ends: the socket has room for that, or the peer is lost.
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
        let Some(tls) = &mut self.tls else {
            return self.socket.write(bytes);
        };
        // TLS takes a bounded number of bytes and keeps what the socket does not take.
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
