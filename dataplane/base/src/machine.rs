//! A machine: a protocol endpoint as a value, without clock or socket. Its driver gives it datagrams and the
//! time, and sends the packets that it has to send. And the bytes of a file, for a machine that sends one.

use std::net::SocketAddrV4;

use crate::Nanos;

#[derive(Debug, Clone, Copy)]
pub struct Datagram<'a> {
    /// The sender's address: an answer goes back there.
    pub from: SocketAddrV4,
    pub bytes: &'a [u8],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Dest {
    /// To a multicast group; a host behind a relay sends it to the relay instead.
    Group(SocketAddrV4),
    Host(SocketAddrV4),
}

impl Dest {
    pub fn address(self) -> SocketAddrV4 {
        match self {
            Dest::Group(address) | Dest::Host(address) => address,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transmit {
    pub dest: Dest,
    /// The UDP payload.
    pub bytes: Vec<u8>,
}

/// A protocol endpoint on datagrams. Times are those of the driver's clock.
pub trait Machine {
    type Error;

    /// Takes a datagram in. The error says why it is refused; a refused datagram changes nothing.
    fn handle(&mut self, now: Nanos, datagram: Datagram<'_>) -> Result<(), Self::Error>;

    fn poll_transmit(&mut self, now: Nanos) -> Option<Transmit>;

    /// The next packet whose answer must come to this process, even if others listen at the socket's port.
    fn poll_private(&mut self, _now: Nanos) -> Option<Transmit> {
        None
    }

    /// When [`Machine::poll_transmit`] has something to do next; `None`: not before a datagram comes.
    fn next_deadline(&self) -> Option<Nanos>;
}

/// Bytes that can be read anywhere, any number of times.
pub trait SeekableBytes: Send {
    /// The number of bytes, which must not change.
    fn len(&self) -> u64;

    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Fills `into` from `offset` on; the range lies within `len`. The error says in one line why it cannot.
    fn read_at(&mut self, offset: u64, into: &mut [u8]) -> Result<(), String>;
}
