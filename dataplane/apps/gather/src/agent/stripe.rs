//! One connection of a client, at the server.

use std::io;
use std::net::SocketAddr;
use std::time::Instant;

use groupflow_host::came::Came;
use groupflow_host::channel::Channel;
use groupflow_host::outbox::Outbox;
use groupflow_host::poller::Token;

use super::window::Window;
use crate::machine::frame::Report;
use crate::machine::{Decoder, Frame, Side};

/// What waits for a client that does not read, bytes: some hundred frames beyond what the kernel takes.
const OUTBOX: usize = 8 << 10;

/// A connection.
#[derive(Debug)]
pub struct Stripe {
    /// Its bytes.
    pub channel: Channel,
    /// Its registration.
    pub token: Token,
    /// Where it comes from.
    pub peer: SocketAddr,
    /// Cuts what comes.
    pub decoder: Decoder,
    /// The client it belongs to, once it has said so.
    pub client: Option<usize>,
    /// There may be something to read.
    pub readable: bool,
    /// LEAVE was read.
    pub left: bool,
    /// It is closed when what it is told has gone out and the peer has closed; what comes is thrown away.
    pub farewell: Option<Instant>,
    /// What came after the farewell, bytes.
    pub thrown_away: usize,
    /// What its client last said of it.
    pub report: Report,
    /// The window that it advertises.
    pub window: Window,
    out: Outbox,
    told_end: bool,
}

impl Stripe {
    /// A connection that was accepted.
    pub fn new(channel: Channel, token: Token, peer: SocketAddr) -> Stripe {
        Stripe {
            channel,
            token,
            peer,
            decoder: Decoder::new(Side::Client),
            client: None,
            readable: false,
            left: false,
            farewell: None,
            thrown_away: 0,
            report: Report::default(),
            window: Window::default(),
            out: Outbox::new(OUTBOX),
            told_end: false,
        }
    }

    /// Reads once.
    pub fn read(&mut self, into: &mut [u8]) -> io::Result<Came> {
        Came::read(&mut self.channel, &mut self.readable, into)
    }

    /// Queues a frame. False: the client does not read, and there is no room.
    pub fn say(&mut self, frame: &Frame) -> bool {
        if self.out.room() < 1024 {
            return false;
        }
        frame.encode(self.out.bytes());
        true
    }

    /// Writes what goes; at the farewell, the end after it.
    pub fn flush(&mut self) -> io::Result<()> {
        let later = self.out.flush(&mut self.channel)? || self.channel.push()?;
        if self.farewell.is_some() && !later && !self.told_end {
            self.told_end = true;
            self.channel.end()?;
        }
        Ok(())
    }
}
