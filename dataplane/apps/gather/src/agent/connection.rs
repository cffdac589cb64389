//! One end of a connection that carries a stripe: frames in both directions.

use std::io;

use groupflow_host::channel::Channel;
use groupflow_host::outbox::Outbox;
use groupflow_host::poller::Registration;
use groupflow_host::read_outcome::ReadOutcome;

use crate::machine::{GatherFrame, Side, StripeDecoder};

#[derive(Debug)]
pub struct Connection {
    pub channel: Channel,
    pub registration: Registration,
    pub readable: bool,
    /// Cuts the received bytes into frames.
    pub decoder: StripeDecoder,
    pub out: Outbox,
    told_end: bool,
}

impl Connection {
    /// A connection to the peer's `side`, with an outbox for `limit` bytes.
    pub fn new(channel: Channel, registration: Registration, side: Side, limit: usize) -> Connection {
        let (decoder, out) = (StripeDecoder::new(side), Outbox::new(limit));
        Connection { channel, registration, readable: false, decoder, out, told_end: false }
    }

    pub fn read(&mut self, into: &mut [u8]) -> io::Result<ReadOutcome> {
        ReadOutcome::read(&mut self.channel, &mut self.readable, into)
    }

    pub fn say(&mut self, frame: &GatherFrame) {
        frame.encode(self.out.bytes());
    }

    /// Writes as much as the connection takes; with `last`, closes the sending side when all is written.
    /// True: all is written.
    pub fn flush(&mut self, last: bool) -> io::Result<bool> {
        let written = !(self.out.flush(&mut self.channel)? || self.channel.push()?);
        if last && written && !self.told_end {
            self.told_end = true;
            self.channel.end()?;
        }
        Ok(written)
    }
}
