//! The server's end of one connection of a client.

use std::io;
use std::net::SocketAddr;
use std::time::Instant;

use groupflow_host::channel::Channel;
use groupflow_host::outbox::Outbox;
use groupflow_host::poller::Registration;
use groupflow_host::read_outcome::ReadOutcome;

use super::window::Window;
use crate::machine::frame::StripeReport;
use crate::machine::{Decoder, Frame, Side};

/// Bytes that may wait for a client that does not read: some hundred frames beyond the kernel's buffers.
const OUTBOX: usize = 8 << 10;

#[derive(Debug)]
pub struct Stripe {
    pub channel: Channel,
    pub registration: Registration,
    pub peer: SocketAddr,
    /// Cuts the received bytes into frames.
    pub decoder: Decoder,
    /// The client's number, known after its HELLO.
    pub client: Option<usize>,
    pub readable: bool,
    pub left: bool,
    /// Since when the connection is about to be closed: it closes when its last frame is sent and the peer
    /// has closed; bytes that arrive are discarded.
    pub farewell: Option<Instant>,
    /// Bytes that arrived after the farewell.
    pub thrown_away: usize,
    /// The client's last report on this connection.
    pub report: StripeReport,
    /// The window that the connection advertises.
    pub window: Window,
    out: Outbox,
    told_end: bool,
}

impl Stripe {
    pub fn new(channel: Channel, registration: Registration, peer: SocketAddr) -> Stripe {
        Stripe {
            channel,
            registration,
            peer,
            decoder: Decoder::new(Side::Client),
            client: None,
            readable: false,
            left: false,
            farewell: None,
            thrown_away: 0,
            report: StripeReport::default(),
            window: Window::default(),
            out: Outbox::new(OUTBOX),
            told_end: false,
        }
    }

    pub fn read(&mut self, into: &mut [u8]) -> io::Result<ReadOutcome> {
        ReadOutcome::read(&mut self.channel, &mut self.readable, into)
    }

    /// Queues a frame. False: the client does not read, and there is no room.
    pub fn say(&mut self, frame: &Frame) -> bool {
        if self.out.room() < 1024 {
            return false;
        }
        frame.encode(self.out.bytes());
        true
    }

    /// Writes as much as the connection takes; after the farewell, closes the sending side.
    pub fn flush(&mut self) -> io::Result<()> {
        let later = self.out.flush(&mut self.channel)? || self.channel.push()?;
        if self.farewell.is_some() && !later && !self.told_end {
            self.told_end = true;
            self.channel.end()?;
        }
        Ok(())
    }
}
