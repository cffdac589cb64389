//! A connection over TCP, to the parent, a child, or the dispatchers.

use std::io::{self, Write};
use std::net::TcpStream;

use groupflow_base::Nanos;
use groupflow_host::link::{Channel, ReadOutcome};
use groupflow_host::poller::{Ready, Registration};
use groupflow_host::tcp::{is_later, TcpInfo, TcpOptions};

/// Bytes that a connection is given at once; those that wait in the kernel besides are bounded, too.
pub const BATCH: usize = 64 << 10;
/// Bytes that the kernel takes before it has sent them (TCP_NOTSENT_LOWAT): bytes that wait there cannot go
/// over another connection.
const UNSENT: libc::c_int = 128 << 10;

#[derive(Debug)]
pub struct TcpLink {
    channel: Channel,
    pub token: Registration,
    /// There may be bytes to read.
    pub readable: bool,
    writable: bool,
    /// The connection ends when its waiting bytes are sent.
    pub closing: bool,
    out: Vec<u8>,
    sent: usize,
}

impl TcpLink {
    /// An established connection; events from before the registration may not be told again.
    pub fn new(channel: Channel, token: Registration) -> TcpLink {
        let (out, sent) = (Vec::new(), 0);
        TcpLink { channel, token, readable: true, writable: true, closing: false, out, sent }
    }

    pub fn socket(&self) -> &TcpStream {
        self.channel.socket()
    }

    /// Notes the readiness of the socket.
    pub fn on_ready(&mut self, ready: Ready) {
        self.readable |= ready.readable;
        self.writable |= ready.writable;
    }

    pub fn read(&mut self, into: &mut [u8]) -> io::Result<ReadOutcome> {
        ReadOutcome::read(&mut self.channel, &mut self.readable, into)
    }

    /// Whether the connection takes another batch.
    pub fn takes(&self) -> bool {
        self.writable && self.waiting() == 0
    }

    /// The buffer to append to; bytes that were sent are removed from it.
    pub fn batch(&mut self) -> &mut Vec<u8> {
        self.out.drain(..std::mem::take(&mut self.sent));
        &mut self.out
    }

    /// The number of bytes that wait to be sent.
    pub fn waiting(&self) -> usize {
        self.out.len() - self.sent
    }

    /// Writes as many bytes as the socket takes.
    pub fn flush(&mut self) -> io::Result<()> {
        while self.writable && self.waiting() > 0 {
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

    /// Ends the channel after the last bytes.
    pub fn end(&mut self) {
        // A peer that is gone need not be told.
        let _ = self.channel.end();
    }

    /// The least round trip, without queues on the way; zero: the kernel does not know it yet.
    pub fn round_trip(&self) -> Nanos {
        TcpInfo::of(self.socket()).map_or(Nanos::ZERO, |info| Nanos(1000 * u64::from(info.least_rtt_us)))
    }
}

/// The options of an edge's connections, which accepted ones inherit.
pub fn options() -> TcpOptions {
    TcpOptions { unsent: Some(UNSENT), ..TcpOptions::default() }
}
