//! The source of a stream: its sender, or the agent upstream.

use std::io;
use std::net::SocketAddrV4;

use groupflow_host::link::TcpLink;
use groupflow_host::tcp;

use super::frame::SplitFrame;

/// Bytes that may wait to go back to the sender (frames other than replies are never refused).
pub const OUTBOX: usize = 64 << 10;

pub struct Upstream {
    pub peer: SocketAddrV4,
    /// Whether the source is an agent, which takes frames; otherwise it is the sender.
    pub is_agent: bool,
    pub link: TcpLink,
    /// Nothing more goes back.
    ended: bool,
}

impl Upstream {
    /// The upstream end of an accepted connection.
    pub fn new(link: TcpLink, peer: SocketAddrV4, is_agent: bool) -> Upstream {
        Upstream { peer, is_agent, link, ended: false }
    }

    /// Sends a frame to an agent; a sender gets no frames.
    pub fn say(&mut self, frame: &SplitFrame) {
        if self.is_agent && !self.ended {
            frame.encode(self.link.out.bytes());
        }
    }

    /// Passes on bytes that a member replied.
    pub fn reply(&mut self, member: u32, bytes: &[u8]) {
        match self.is_agent {
            true => self.say(&SplitFrame::Reply { member, bytes: bytes.to_vec() }),
            false if !self.ended => self.link.out.bytes().extend(bytes),
            false => {}
        }
    }

    /// An error that the connection has met.
    pub fn failure(&self) -> Option<io::Error> {
        tcp::failure(self.link.socket())
    }

    /// Writes as much as the socket takes.
    pub fn flush(&mut self) -> io::Result<()> {
        self.link.flush(false)
    }

    /// Discards the waiting bytes; nothing more goes back.
    pub fn hush(&mut self) {
        self.ended = true;
        self.link.out.bytes().clear();
    }

    /// Ends the replies (half-close), once all of them are written.
    pub fn end(&mut self) {
        if !self.ended && self.link.out.is_empty() {
            let _ = self.link.channel.end();
            self.ended = true;
        }
    }
}
