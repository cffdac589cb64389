//! Edges over QUIC: one UDP socket, at the host's address and port, for all connections to its parents and
//! children.
//!
//! | module | is |
//! |---|---|
//! | [`links`] | the connections: no socket, no clock |
//! | `link` | one connection |
//! | `congestion` | the bound of a connection's bytes on the way |
//!
//! This module is the socket: many datagrams in one system call (UDP_SEGMENT, UDP_GRO), by `quinn-udp`.

mod congestion;
mod link;
pub mod links;

use std::io::{self, IoSliceMut};
use std::net::{SocketAddrV4, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Instant;

use bytes::BytesMut;
use groupflow_host::tcp::is_later;
use links::WRITE;
use quinn_proto::Transmit;
use quinn_udp::{RecvMeta, UdpSocketState};
use socket2::SockRef;

use super::host::BATCH;

pub use link::QuicLink;
pub use links::{Happened, Links, QuicCounts};

/// Bytes that the socket holds while the process does not run; the kernel may grant less.
const BUFFER: usize = 4 << 20;
/// Reads in one system call; other work has its turn after them.
const READS: usize = 8;
/// Bytes of one read, which may be several datagrams.
const READ: usize = 64 << 10;

/// A host's connections and their socket.
pub struct Quic {
    pub links: Links,
    socket: UdpSocket,
    state: UdpSocketState,
    room: Box<[u8]>,
    /// Packets for which the socket had no room.
    unsent: Option<Transmit>,
    out: Vec<u8>,
    /// Bytes that came over a connection's stream.
    pub received: Vec<u8>,
    /// There may be datagrams to read.
    pub readable: bool,
}

impl Quic {
    /// Opens the UDP socket at this address.
    pub fn open(at: SocketAddrV4) -> io::Result<Quic> {
        let socket = UdpSocket::bind(at)?;
        let options = SockRef::from(&socket);
        options.set_recv_buffer_size(BUFFER)?;
        options.set_send_buffer_size(BUFFER)?;
        let state = UdpSocketState::new((&socket).into())?;
        Ok(Quic {
            links: Links::new(),
            socket,
            state,
            room: vec![0; READS * READ].into_boxed_slice(),
            unsent: None,
            out: Vec::with_capacity(WRITE),
            received: Vec::with_capacity(BATCH),
            readable: true,
        })
    }

    /// Takes the datagrams that came.
    pub fn receive(&mut self, now: Instant) {
        if self.readable {
            let mut slices = self.room.chunks_exact_mut(READ).map(IoSliceMut::new).collect::<Vec<_>>();
            let mut metas = [RecvMeta::default(); READS];
            let came = match self.state.recv((&self.socket).into(), &mut slices, &mut metas) {
                Ok(came) => came,
                Err(error) => {
                    // Any other error is a signal, or of an earlier send: there may be more to read.
                    self.readable = !is_later(&error);
                    0
                }
            };
            for (meta, room) in metas[..came].iter().zip(self.room.chunks_exact(READ)) {
                let mut bytes = BytesMut::from(&room[..meta.len]);
                let ecn = meta.ecn.and_then(|ecn| quinn_proto::EcnCodepoint::from_bits(ecn as u8));
                while !bytes.is_empty() {
                    let one = bytes.split_to(meta.stride.clamp(1, bytes.len()));
                    self.links.handle(now, (meta.addr, meta.dst_ip), ecn, one);
                }
            }
        }
        self.links.advance(now);
    }

    /// Sends packets that are due, as the socket has room for them.
    pub fn send(&mut self, now: Instant) {
        let segments = self.state.max_gso_segments();
        loop {
            let transmit = self.unsent.take().or_else(|| {
                self.out.clear();
                self.links.poll_transmit(now, segments, &mut self.out)
            });
            let Some(transmit) = transmit else { return };
            let sent = self.state.send(
                (&self.socket).into(),
                &quinn_udp::Transmit {
                    destination: transmit.destination,
                    ecn: transmit.ecn.and_then(|ecn| quinn_udp::EcnCodepoint::from_bits(ecn as u8)),
                    contents: &self.out[..transmit.size],
                    segment_size: transmit.segment_size,
                    src_ip: transmit.src_ip,
                },
            );
            match sent {
                Err(error) if is_later(&error) => {
                    self.unsent = Some(transmit);
                    return;
                }
                // Packets that cannot be sent are lost.
                _ => {}
            }
        }
    }

    /// When the connections have work to do next.
    pub fn deadline(&mut self) -> Option<Instant> {
        self.links.deadline()
    }
}

impl AsFd for Quic {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
