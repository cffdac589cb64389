//! A TCP connection that never blocks: its bytes, either plain or inside TLS 1.3, and those that wait until
//! its socket takes them.
//!
//! The socket stays accessible, because TCP's state and the advertised window do not depend on whether TLS is
//! used.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};

use groupflow_base::Nanos;
use rustls::Connection;
use thiserror::Error;

use crate::poller::{Poller, Ready, Registration};
use crate::tcp::{is_later, TcpInfo};

/// Bytes that every queue may keep memory for.
const KEPT: usize = 4096;

#[derive(Debug)]
pub struct Outbox {
    bytes: Vec<u8>,
    /// How many of the bytes were written.
    written: usize,
    limit: usize,
}

impl Outbox {
    /// An empty queue. The limit is not enforced: callers with much to send check [`Outbox::room`] first.
    pub fn new(limit: usize) -> Outbox {
        Outbox { bytes: Vec::new(), written: 0, limit }
    }

    /// Bytes that may still be added.
    pub fn room(&self) -> usize {
        self.limit.saturating_sub(self.waiting())
    }

    pub fn waiting(&self) -> usize {
        self.bytes.len() - self.written
    }

    pub fn is_empty(&self) -> bool {
        self.waiting() == 0
    }

    /// The queue, to append to.
    pub fn bytes(&mut self) -> &mut Vec<u8> {
        self.bytes.drain(..std::mem::take(&mut self.written));
        &mut self.bytes
    }

    /// Writes as much as the socket takes; true: the socket takes no more.
    pub fn flush(&mut self, mut to: impl Write) -> io::Result<bool> {
        while !self.is_empty() {
            match to.write(&self.bytes[self.written..]) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => self.written += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if is_later(&error) => return Ok(true),
                Err(error) => return Err(error),
            }
        }
        // The memory of a batch serves the next one; an idle stream keeps no more than that.
        if self.bytes().capacity() > 2 * self.limit.max(KEPT) {
            self.bytes = Vec::new();
        }
        Ok(false)
    }
}

/// A connection with its registration, its readiness, and the bytes that are to be sent.
#[derive(Debug)]
pub struct TcpLink {
    pub channel: Channel,
    pub registration: Registration,
    /// There may be something to read.
    pub readable: bool,
    /// The socket may take bytes.
    pub writable: bool,
    pub out: Outbox,
    /// Whether the sending side has ended.
    pub ended: bool,
}

impl TcpLink {
    /// A connection that is being made, with an outbox for `limit` bytes.
    pub fn connecting(channel: Channel, registration: Registration, limit: usize) -> TcpLink {
        let out = Outbox::new(limit);
        TcpLink { channel, registration, readable: false, writable: false, out, ended: false }
    }

    /// A connection that was made; epoll does not repeat the readiness that it has reported.
    pub fn established(channel: Channel, registration: Registration, limit: usize) -> TcpLink {
        TcpLink { readable: true, writable: true, ..TcpLink::connecting(channel, registration, limit) }
    }

    pub fn socket(&self) -> &TcpStream {
        &self.channel.socket
    }

    /// Notes the readiness that epoll reported.
    pub fn on_ready(&mut self, ready: Ready) {
        self.readable |= ready.readable;
        self.writable |= ready.writable;
    }

    pub fn read(&mut self, into: &mut [u8]) -> io::Result<ReadOutcome> {
        ReadOutcome::read(&mut self.channel, &mut self.readable, into)
    }

    /// Writes as much as the socket takes; with `last`, ends the sending side once all is written.
    pub fn flush(&mut self, last: bool) -> io::Result<()> {
        if self.writable {
            self.writable = !(self.out.flush(&mut self.channel)? || self.channel.push()?);
        }
        if last && self.writable && !self.ended {
            self.ended = true;
            self.channel.end()?;
        }
        Ok(())
    }

    /// The least round trip, without queues on the way; zero: the kernel does not know it yet.
    pub fn least_round_trip(&self) -> Nanos {
        let info = TcpInfo::of(self.socket()).unwrap_or_default();
        Nanos::from_micros(info.least_rtt_us.into())
    }

    /// Closes the connection, with a reset if [`crate::tcp::reset_on_close`] asked for one.
    pub fn close<T: Copy>(self, poller: &mut Poller<T>) {
        poller.remove(self.socket(), self.registration);
    }
}

/// The result of a read that does not block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadOutcome {
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

/// The first byte of a TLS connection: a handshake record (RFC 8446, 5.1). No frame begins with this byte.
const HANDSHAKE: u8 = 22;

/// Bytes that a client may send before its handshake is done. The longest message would be a certificate, and
/// clients have none; so a connection that is not identified yet costs little memory.
const HANDSHAKE_MOST: usize = 16 << 10;

/// One end speaks TLS and the other does not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum TlsMismatch {
    #[error("this server speaks TLS and the client does not")]
    Server,
    #[error("the client speaks TLS and this server does not")]
    Client,
}

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
    handshake_allowance: usize,
}

impl Channel {
    /// The server's end of an accepted connection.
    pub fn accepted(socket: TcpStream, tls: Option<Connection>) -> Channel {
        Channel { socket, tls: tls.map(Box::new), is_new: true, handshake_allowance: HANDSHAKE_MOST }
    }

    /// The client's end of a connection that was begun.
    pub fn begun(socket: TcpStream, tls: Option<Connection>) -> Channel {
        Channel { socket, tls: tls.map(Box::new), is_new: false, handshake_allowance: usize::MAX }
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
                let allowed = self.handshake_allowance.checked_sub(count);
                self.handshake_allowance = allowed.ok_or_else(|| io::Error::other(LongHandshake))?;
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
