//! What goes in and out of a machine.

use std::net::SocketAddrV4;

use crate::ids::SessionId;

/// A received UDP datagram.
#[derive(Debug, Clone, Copy)]
pub struct Datagram<'a> {
    /// Who sent it: repairs to one requester go back there.
    pub from: SocketAddrV4,
    /// The UDP payload.
    pub bytes: &'a [u8],
}

/// Where a packet goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Dest {
    /// Into the session: its group address and the group port.
    Group(SessionId),
    /// To one host.
    Host(SocketAddrV4),
}

/// A packet to send.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transmit {
    /// Where to.
    pub dest: Dest,
    /// The UDP payload.
    pub bytes: Vec<u8>,
}
