//! Where a stream comes from: its sender, or the agent before this one.

use std::io;
use std::net::{Shutdown, SocketAddrV4, TcpStream};

use groupflow_host::outbox::Outbox;
use groupflow_host::poller::{Ready, Token};
use groupflow_host::tcp;

use super::frame::Frame;
use super::world::World;

/// What waits to go back to the sender, at most (frames that are no replies are not refused).
const OUTBOX: usize = 64 << 10;

/// Where a stream comes from.
pub struct Upstream {
    /// The peer.
    pub peer: SocketAddrV4,
    /// An agent, which is spoken to in frames; else the sender.
    pub is_agent: bool,
    /// Whether reads may give something.
    pub readable: bool,
    /// What goes back.
    pub out: Outbox,
    socket: Option<(TcpStream, Token)>,
    writable: bool,
    /// Nothing more goes back.
    ended: bool,
}

impl Upstream {
    /// On an accepted connection.
    pub fn new(socket: TcpStream, token: Token, peer: SocketAddrV4, is_agent: bool) -> Upstream {
        let out = Outbox::new(OUTBOX);
        // It was registered before: what it said then is not repeated.
        Upstream {
            peer,
            is_agent,
            readable: true,
            out,
            socket: Some((socket, token)),
            writable: true,
            ended: false,
        }
    }

    /// The socket, while there is one.
    pub fn socket(&self) -> Option<&TcpStream> {
        self.socket.as_ref().map(|(socket, _)| socket)
    }

    /// Notes what epoll said.
    pub fn note(&mut self, ready: Ready) {
        self.readable |= ready.readable;
        self.writable |= ready.writable;
    }

    /// Says something to an agent; a sender knows no frames.
    pub fn say(&mut self, frame: &Frame) {
        if self.is_agent && !self.ended {
            frame.encode(self.out.bytes());
        }
    }

    /// Passes bytes of a member on.
    pub fn reply(&mut self, member: u32, bytes: &[u8]) {
        match self.is_agent {
            true => self.say(&Frame::Reply { member, bytes: bytes.to_vec() }),
            false if !self.ended => self.out.bytes().extend(bytes),
            false => {}
        }
    }

    /// An error that came to the connection.
    pub fn failure(&self) -> Option<io::Error> {
        self.socket().and_then(tcp::failure)
    }

    /// Writes what goes.
    pub fn flush(&mut self) -> io::Result<()> {
        if let Some((socket, _)) = self.socket.as_ref().filter(|_| self.writable) {
            if self.out.flush(socket)? {
                self.writable = false;
            }
        }
        Ok(())
    }

    /// Nothing goes back any more: what waits is forgotten.
    pub fn hush(&mut self) {
        self.ended = true;
        self.out.bytes().clear();
    }

    /// All that goes back has gone: says so (half-close), once.
    pub fn end(&mut self) {
        if let Some((socket, _)) = self.socket.as_ref().filter(|_| !self.ended && self.out.is_empty()) {
            let _ = socket.shutdown(Shutdown::Write);
            self.ended = true;
        }
    }

    /// The stream is over as it should be: closing is no reset.
    pub fn set_graceful(&self) {
        if let Some(socket) = self.socket() {
            tcp::set_graceful(socket);
        }
    }

    /// Gives the socket away, registered as it was.
    pub fn take(&mut self) -> Option<(TcpStream, Token)> {
        self.socket.take()
    }

    /// Closes the connection: a reset, unless it was made graceful.
    pub fn close(&mut self, world: &mut World) {
        if let Some((socket, token)) = self.socket.take() {
            world.poller.remove(&socket, token);
        }
    }
}
