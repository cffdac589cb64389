//! A TCP connection that never blocks, and the bytes that wait until its socket takes them.

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::net::TcpStream;

use crate::channel::Channel;
use crate::poller::{Poller, Ready, Registration};
use crate::tcp::is_later;

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

/// A connection with its registration, its readiness, and the bytes that are to be sent.
#[derive(Debug)]
pub struct TcpLink {
    pub channel: Channel,
    registration: Registration,
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
        self.channel.socket()
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

    /// Gives the registration another meaning.
    pub fn rename<T: Copy>(&self, poller: &mut Poller<T>, target: T) {
        poller.rename(self.registration, target);
    }

    /// Closes the connection, with a reset if [`crate::tcp::reset_on_close`] asked for one.
    pub fn close<T: Copy>(self, poller: &mut Poller<T>) {
        poller.remove(self.socket(), self.registration);
    }
}

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
