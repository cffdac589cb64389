//! A connection to the parent or a child.

use std::io::{self, Write};
use std::net::TcpStream;

use groupflow_base::Nanos;
use groupflow_host::channel::Channel;
use groupflow_host::poller::Token;
use groupflow_host::read_outcome::ReadOutcome;
use groupflow_host::tcp::{is_later, TcpOptions};
use groupflow_host::tcp_info::TcpInfo;

/// Given to a connection at once; what waits in the kernel besides is bounded, too.
pub const BATCH: usize = 64 << 10;
/// Bytes that the kernel takes before it has sent them (TCP_NOTSENT_LOWAT): what waits there cannot go over
/// another.
const UNSENT: libc::c_int = 128 << 10;

/// A connection.
#[derive(Debug)]
pub struct Edge {
    channel: Channel,
    /// Its registration.
    pub token: Token,
    /// There may be something to read.
    pub readable: bool,
    /// It may take something.
    pub writable: bool,
    /// It ends when what is to go has gone.
    pub closing: bool,
    out: Vec<u8>,
    sent: usize,
}

impl Edge {
    /// A connection that is there; what happened to it before may not be told again.
    pub fn new(channel: Channel, token: Token) -> Edge {
        let (out, sent) = (Vec::new(), 0);
        Edge { channel, token, readable: true, writable: true, closing: false, out, sent }
    }

    /// What its bytes go through.
    pub fn channel(&self) -> &Channel {
        &self.channel
    }

    /// Its socket.
    pub fn socket(&self) -> &TcpStream {
        self.channel.socket()
    }

    /// Reads once.
    pub fn read(&mut self, into: &mut [u8]) -> io::Result<ReadOutcome> {
        ReadOutcome::read(&mut self.channel, &mut self.readable, into)
    }

    /// Whether it takes another batch.
    pub fn takes(&self) -> bool {
        self.writable && self.sent == self.out.len()
    }

    /// Where the next batch goes, when [`Edge::takes`].
    pub fn batch(&mut self) -> &mut Vec<u8> {
        self.out.clear();
        self.sent = 0;
        &mut self.out
    }

    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.sent == self.out.len()
    }

    /// Writes what goes.
    pub fn flush(&mut self) -> io::Result<()> {
        while self.writable && self.sent < self.out.len() {
            match self.channel.write(&self.out[self.sent..]) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => self.sent += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if is_later(&error) => self.writable = false,
                Err(error) => return Err(error),
            }
        }
        if self.writable {
            self.writable = !self.channel.push()?;
        }
        Ok(())
    }

    /// Its last word was said.
    pub fn end(&mut self) {
        // Who is gone need not be told.
        let _ = self.channel.end();
    }
}

/// How long it takes there and back at least, without what waits on the way; zero: the kernel does not know
/// it yet.
pub fn round_trip(socket: &TcpStream) -> Nanos {
    TcpInfo::of(socket).map_or(Nanos::ZERO, |info| Nanos(1000 * u64::from(info.least_rtt_us)))
}

/// The options of an edge's connections, which those that are accepted inherit.
pub fn options() -> TcpOptions {
    TcpOptions { unsent: Some(UNSENT), ..TcpOptions::default() }
}
