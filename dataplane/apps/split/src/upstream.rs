//! The source of a stream: its sender, or the agent upstream.

use std::io;
use std::net::{Shutdown, SocketAddrV4, TcpStream};

use groupflow_host::outbox::Outbox;
use groupflow_host::poller::{Ready, Registration};
use groupflow_host::tcp;

use super::frame::SplitFrame;
use super::resources::Resources;

/// Bytes that may wait to go back to the sender (frames other than replies are never refused).
const OUTBOX: usize = 64 << 10;

pub struct Upstream {
    pub peer: SocketAddrV4,
    /// Whether the source is an agent, which takes frames; otherwise it is the sender.
    pub is_agent: bool,
    /// Whether a read may give bytes.
    pub readable: bool,
    /// Bytes that wait to go back.
    pub out: Outbox,
    socket: Option<(TcpStream, Registration)>,
    writable: bool,
    /// Nothing more goes back.
    ended: bool,
}

impl Upstream {
    /// The upstream end of an accepted connection.
    pub fn new(
        socket: TcpStream, registration: Registration, peer: SocketAddrV4, is_agent: bool,
    ) -> Upstream {
        let out = Outbox::new(OUTBOX);
        // The socket was registered before, and epoll does not repeat the readiness that it reported then.
        Upstream {
            peer,
            is_agent,
            readable: true,
            out,
            socket: Some((socket, registration)),
            writable: true,
            ended: false,
        }
    }

    pub fn socket(&self) -> Option<&TcpStream> {
        self.socket.as_ref().map(|(socket, _)| socket)
    }

    /// Notes the readiness that epoll reported.
    pub fn note(&mut self, ready: Ready) {
        self.readable |= ready.readable;
        self.writable |= ready.writable;
    }

    /// Sends a frame to an agent; a sender gets no frames.
    pub fn say(&mut self, frame: &SplitFrame) {
        if self.is_agent && !self.ended {
            frame.encode(self.out.bytes());
        }
    }

    /// Passes on bytes that a member replied.
    pub fn reply(&mut self, member: u32, bytes: &[u8]) {
        match self.is_agent {
            true => self.say(&SplitFrame::Reply { member, bytes: bytes.to_vec() }),
            false if !self.ended => self.out.bytes().extend(bytes),
            false => {}
        }
    }

    /// An error that the connection has met.
    pub fn failure(&self) -> Option<io::Error> {
        self.socket().and_then(tcp::failure)
    }

    /// Writes as much as the socket takes.
    pub fn flush(&mut self) -> io::Result<()> {
        if let Some((socket, _)) = self.socket.as_ref().filter(|_| self.writable) {
            if self.out.flush(socket)? {
                self.writable = false;
            }
        }
        Ok(())
    }

    /// Discards the waiting bytes; nothing more goes back.
    pub fn hush(&mut self) {
        self.ended = true;
        self.out.bytes().clear();
    }

    /// Tells the end of replies (half-close), once all of them are written.
    pub fn end(&mut self) {
        if let Some((socket, _)) = self.socket.as_ref().filter(|_| !self.ended && self.out.is_empty()) {
            let _ = socket.shutdown(Shutdown::Write);
            self.ended = true;
        }
    }

    /// Makes closing graceful, without a reset, because the stream has ended properly.
    pub fn set_graceful(&self) {
        if let Some(socket) = self.socket() {
            tcp::set_graceful(socket);
        }
    }

    /// Gives the socket away with its registration.
    pub fn take(&mut self) -> Option<(TcpStream, Registration)> {
        self.socket.take()
    }

    /// Closes the connection, with a reset unless it was made graceful.
    pub fn close(&mut self, resources: &mut Resources) {
        if let Some((socket, registration)) = self.socket.take() {
            resources.poller.remove(&socket, registration);
        }
    }
}
