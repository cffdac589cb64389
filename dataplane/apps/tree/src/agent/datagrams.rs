//! DATA as datagrams: the socket, and a seal for each edge, which [`super::pipes`] have, too.
//!
//! An edge's key comes out of its connection's TLS session (RFC 8446, 7.5), so both ends have it and nobody else, and each edge
//! has another; it is never changed, which ChaCha20-Poly1305 allows for however many datagrams (RFC 9147, 4.5.3). The header is authenticated with the body; the number is the nonce, and none is used twice. Without TLS
//! nothing is sealed: then only the tag, 64 random bits, keeps away who does not see the datagrams.

use std::collections::HashMap;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd};

use groupflow_host::channel::Channel;
use groupflow_host::tcp::is_later;
use ring::aead::{Aad, LessSafeKey, Nonce, UnboundKey, CHACHA20_POLY1305};
use socket2::SockRef;

use crate::machine::datagram::{parse_body, Carries, Header, Window, HEADER, MAX_BODY};
use crate::machine::{ConnId, Datagram, Door};

/// What a key is for, and nothing else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// From the parent to the child.
    Down,
    /// From the child to the parent.
    Up,
}

impl Way {
    fn label(self) -> &'static [u8] {
        match self {
            Way::Down => b"EXPORTER-groupflow-tree-datagrams",
            Way::Up => b"EXPORTER-groupflow-tree-answers",
        }
    }
}
/// Bytes of the cipher's tag.
const SEAL: usize = 16;
/// The longest datagram.
pub const MOST: usize = HEADER + MAX_BODY + SEAL;
/// Room for what comes, or goes, while the process does not run; the kernel may grant less.
const BUFFER: usize = 4 << 20;
/// Taken before connections have their turn.
pub const TURN: usize = 256;

/// What an edge's datagrams are sealed with.
pub enum Seal {
    /// Nothing: the edge is not encrypted.
    Plain,
    /// A key of this edge.
    Key(Box<LessSafeKey>),
}

impl Seal {
    /// Of the edge with this tag; `None`: the handshake is not over.
    pub fn of(channel: &Channel, tag: u64, way: Way) -> Option<Seal> {
        let Some(tls) = channel.tls() else { return Some(Seal::Plain) };
        let key = tls.export_keying_material([0; 32], way.label(), Some(&tag.to_be_bytes())).ok()?;
        UnboundKey::new(&CHACHA20_POLY1305, &key).ok().map(Seal::new)
    }

    /// With a key of ChaCha20-Poly1305.
    pub fn new(key: UnboundKey) -> Seal {
        Seal::Key(Box::new(LessSafeKey::new(key)))
    }

    /// Seals the body of a datagram in place; false: it cannot be.
    pub fn seal(&self, header: Header, datagram: &mut Vec<u8>) -> bool {
        let Seal::Key(key) = self else { return true };
        let aad = Aad::from(header.encode());
        match key.seal_in_place_separate_tag(nonce(header.number), aad, &mut datagram[HEADER..]) {
            Ok(tag) => {
                datagram.extend_from_slice(tag.as_ref());
                true
            }
            Err(_) => false,
        }
    }

    /// The body of a datagram, as it was before it was sealed; `None`: it is forged, or was altered.
    pub fn open<'a>(&self, header: Header, datagram: &'a mut [u8]) -> Option<&'a [u8]> {
        let body = datagram.get_mut(HEADER..)?;
        match self {
            Seal::Plain => Some(body),
            Seal::Key(key) => {
                let opened =
                    key.open_in_place(nonce(header.number), Aad::from(header.encode()), body).ok()?;
                Some(opened)
            }
        }
    }
}

fn nonce(number: u64) -> Nonce {
    let mut bytes = [0; 12];
    bytes[4..].copy_from_slice(&number.to_be_bytes());
    Nonce::assume_unique_for_key(bytes)
}

/// What became of datagrams.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Given to the system.
    pub sent: u64,
    /// The socket had no room for them.
    pub dropped: u64,
    /// Of a parent.
    pub came: u64,
    /// Not of a parent, or altered on the way, or not for the first time.
    pub refused: u64,
}

/// To a child.
struct Outlet {
    to: SocketAddrV4,
    tag: u64,
    number: u64,
    seal: Seal,
}

/// From a parent.
struct Inlet {
    conn: ConnId,
    seal: Option<Seal>,
    window: Window,
}

/// A host's datagrams.
pub struct Datagrams {
    socket: UdpSocket,
    port: u16,
    outlets: HashMap<ConnId, Outlet>,
    inlets: HashMap<u64, Inlet>,
    /// There may be something to read.
    pub readable: bool,
    /// Since it was opened.
    pub counts: Counts,
    scratch: Vec<u8>,
}

impl Datagrams {
    /// At this address, any port.
    pub fn open(at: Ipv4Addr) -> io::Result<Datagrams> {
        let (socket, port) = bind(at)?;
        Ok(Datagrams {
            socket,
            port,
            outlets: HashMap::new(),
            inlets: HashMap::new(),
            readable: false,
            counts: Counts::default(),
            scratch: Vec::with_capacity(MOST),
        })
    }

    /// Where it takes datagrams.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// A connection to a parent is made, from which datagrams may come: what the parent is to be told.
    pub fn expect(&mut self, conn: ConnId) -> Door {
        let tag = rand::random();
        self.inlets.insert(tag, Inlet { conn, seal: None, window: Window::default() });
        Door { carries: Carries::Data, port: self.port, tag }
    }

    /// A child takes datagrams.
    pub fn serve(&mut self, conn: ConnId, at: Ipv4Addr, door: Door, seal: Seal) {
        let to = SocketAddrV4::new(at, door.port);
        self.outlets.insert(conn, Outlet { to, tag: door.tag, number: 0, seal });
    }

    /// A connection is closed.
    pub fn forget(&mut self, conn: ConnId) {
        self.outlets.remove(&conn);
        self.inlets.retain(|_, inlet| inlet.conn != conn);
    }

    /// Sends it to all that it is for, as far as there is room.
    pub fn send(&mut self, datagram: &Datagram) {
        for conn in &datagram.to {
            let Some(outlet) = self.outlets.get_mut(conn) else { continue };
            let header = Header { tag: outlet.tag, number: outlet.number };
            outlet.number += 1;
            self.scratch.clear();
            self.scratch.extend(header.encode());
            self.scratch.extend(datagram.offset.to_be_bytes());
            self.scratch.extend_from_slice(&datagram.bytes);
            let sealed = outlet.seal.seal(header, &mut self.scratch);
            if sealed && self.socket.send_to(&self.scratch, outlet.to).is_ok() {
                self.counts.sent += 1;
            } else {
                self.counts.dropped += 1;
            }
        }
    }

    /// Takes what came: `seal` knows the edge's of a connection and a tag, once it is there; `take` is given the connection, where
    /// the bytes belong, and they.
    pub fn receive(
        &mut self,
        seal: impl Fn(ConnId, u64) -> Option<Seal>,
        mut take: impl FnMut(ConnId, u64, &[u8]),
    ) {
        // One more than is allowed, so that what is cut off is seen to be too long.
        let mut room = [0; MOST + 1];
        for _ in 0..TURN {
            let count = match self.socket.recv_from(&mut room) {
                Ok((count, SocketAddr::V4(_))) => count,
                Ok(_) => continue,
                Err(error) if is_later(&error) => {
                    self.readable = false;
                    return;
                }
                // Of something that was sent, or a signal.
                Err(_) => continue,
            };
            match open(&mut self.inlets, &seal, &mut room[..count]) {
                Some((conn, offset, bytes)) => {
                    self.counts.came += 1;
                    take(conn, offset, bytes);
                }
                None => self.counts.refused += 1,
            }
        }
    }
}

/// A socket at this address, and its port.
pub fn bind(at: Ipv4Addr) -> io::Result<(UdpSocket, u16)> {
    let socket = UdpSocket::bind((at, 0))?;
    socket.set_nonblocking(true)?;
    let options = SockRef::from(&socket);
    options.set_recv_buffer_size(BUFFER)?;
    options.set_send_buffer_size(BUFFER)?;
    let port = socket.local_addr()?.port();
    Ok((socket, port))
}

/// Nothing that is forged or altered changes what is known of the edge.
fn open<'a>(
    inlets: &mut HashMap<u64, Inlet>,
    seal: &impl Fn(ConnId, u64) -> Option<Seal>,
    datagram: &'a mut [u8],
) -> Option<(ConnId, u64, &'a [u8])> {
    let (header, _) = Header::split(datagram)?;
    let inlet = inlets.get_mut(&header.tag).filter(|inlet| inlet.window.is_new(header.number))?;
    if inlet.seal.is_none() {
        inlet.seal = seal(inlet.conn, header.tag);
    }
    let body = inlet.seal.as_ref()?.open(header, datagram)?;
    let (offset, bytes) = parse_body(body)?;
    inlet.window.take(header.number);
    Some((inlet.conn, offset, bytes))
}

impl AsFd for Datagrams {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
