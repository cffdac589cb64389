//! The server's end of a stripe.

use std::io;
use std::net::SocketAddr;
use std::time::Instant;

use groupflow_host::channel::Channel;
use groupflow_host::link::TcpLink;
use groupflow_host::poller::Registration;

use super::window::AdvertisedWindow;
use crate::machine::frame::StripeReport;
use crate::machine::{GatherFrame, Side, StripeDecoder};

/// Bytes that may wait for a client that does not read: some hundred frames beyond the kernel's buffers.
const OUTBOX: usize = 8 << 10;

#[derive(Debug)]
pub struct ServerStripe {
    pub link: TcpLink,
    /// Cuts the received bytes into frames.
    pub decoder: StripeDecoder,
    pub peer: SocketAddr,
    /// The client's number, known after its HELLO.
    pub client: Option<usize>,
    pub left: bool,
    /// Since when the connection is about to be closed: it closes when its last frame is sent and the peer
    /// has closed; bytes that arrive are discarded.
    pub farewell: Option<Instant>,
    /// Bytes that arrived after the farewell.
    pub thrown_away: usize,
    /// The client's last report on this connection.
    pub report: StripeReport,
    pub window: AdvertisedWindow,
}

impl ServerStripe {
    pub fn new(channel: Channel, registration: Registration, peer: SocketAddr) -> ServerStripe {
        ServerStripe {
            link: TcpLink::established(channel, registration, OUTBOX),
            decoder: StripeDecoder::new(Side::Client),
            peer,
            client: None,
            left: false,
            farewell: None,
            thrown_away: 0,
            report: StripeReport::default(),
            window: AdvertisedWindow::default(),
        }
    }

    /// Queues a frame. False: the client does not read, and there is no room.
    pub fn say(&mut self, frame: &GatherFrame) -> bool {
        let room = self.link.out.room() >= 1024;
        if room {
            frame.encode(self.link.out.bytes());
        }
        room
    }

    /// Writes as much as the connection takes; after the farewell, closes the sending side.
    pub fn flush(&mut self) -> io::Result<()> {
        self.link.flush(self.farewell.is_some())
    }
}
