//! The client's end of a connection to the server.

use std::collections::BTreeMap;
use std::io;
use std::time::{Duration, Instant};

use groupflow_host::channel::Channel;
use groupflow_host::outbox::Outbox;
use groupflow_host::poller::Registration;
use groupflow_host::read_outcome::ReadOutcome;
use groupflow_host::tcp_info::TcpInfo;

use crate::machine::frame::StripeReport;
use crate::machine::{Decoder, Frame, Side, StripeId};

/// The most bytes queued here: one block, and the control frames besides.
const OUTBOX: usize = 64 << 10;
/// Room for more bytes than a report takes.
const ROOM: usize = 1024;

/// A connection is stalled when its peer has acknowledged none of the bytes sent for this long, and for
/// this many round trips: far below the 30 s after which the connection is given up.
const STILL: Duration = Duration::from_millis(500);
const STILL_ROUND_TRIPS: u32 = 4;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    Connecting,
    /// HELLO is sent.
    Greeting,
    /// The connection carries the stream.
    Open,
    /// LEAVE is sent.
    Leaving,
}

#[derive(Debug)]
pub struct Link {
    pub channel: Channel,
    pub registration: Registration,
    pub stage: Stage,
    pub readable: bool,
    pub writable: bool,
    /// Cuts the received bytes into frames.
    pub decoder: Decoder,
    pub out: Outbox,
    told_end: bool,
    /// The server got a report at the last call.
    reported: bool,
    before: TcpInfo,
    /// Bytes that the peer has acknowledged, and when their number last grew or nothing was under way.
    moved: (u64, Option<Instant>),
}

impl Link {
    pub fn new(channel: Channel, registration: Registration) -> Link {
        Link {
            channel,
            registration,
            stage: Stage::Connecting,
            readable: false,
            writable: false,
            decoder: Decoder::new(Side::Server),
            out: Outbox::new(OUTBOX),
            told_end: false,
            reported: false,
            before: TcpInfo::default(),
            moved: (0, None),
        }
    }

    pub fn read(&mut self, into: &mut [u8]) -> io::Result<ReadOutcome> {
        ReadOutcome::read(&mut self.channel, &mut self.readable, into)
    }

    pub fn say(&mut self, frame: &Frame) {
        frame.encode(self.out.bytes());
    }

    /// Whether the connection has room for another block.
    pub fn takes(&self) -> bool {
        self.stage == Stage::Open && self.writable && self.out.is_empty()
    }

    /// Writes as much as the connection takes; after LEAVE, closes the sending side.
    pub fn flush(&mut self) -> io::Result<()> {
        if self.stage == Stage::Connecting || !self.writable {
            return Ok(());
        }
        self.writable = !(self.out.flush(&mut self.channel)? || self.channel.push()?);
        if self.stage == Stage::Leaving && self.writable && !self.told_end {
            self.told_end = true;
            self.channel.end()?;
        }
        Ok(())
    }

    /// Whether the connection carries nothing although it should. Must be called regularly.
    pub fn is_stalled(&mut self, now: Instant) -> bool {
        let Ok(info) = TcpInfo::of(self.channel.socket()) else {
            return false;
        };
        let idle = info.unacknowledged == 0 && self.writable;
        let since = *self.moved.1.get_or_insert(now);
        if idle || info.acknowledged > self.moved.0 {
            self.moved = (info.acknowledged, Some(now));
            return false;
        }
        let patience = STILL.max(STILL_ROUND_TRIPS * Duration::from_micros(info.rtt_us.into()));
        now.saturating_duration_since(since) >= patience
    }

    /// A report on the connection since the last call, if it carried anything, or has its `turn`.
    pub fn report(&mut self, turn: bool) -> Option<StripeReport> {
        let info = TcpInfo::of(self.channel.socket()).ok().filter(|info| info.rtt_us > 0)?;
        let before = std::mem::replace(&mut self.before, info);
        let report = StripeReport {
            rtt_us: info.rtt_us,
            rto_us: info.rto_us,
            sent: info.sent.saturating_sub(before.sent),
            resent: info.resent.saturating_sub(before.resent),
        };
        // The last report was itself a segment.
        let carried = report.sent > u32::from(self.reported);
        self.reported = (carried || turn) && self.out.room() > ROOM;
        if self.reported {
            self.say(&Frame::Report(report));
        }
        Some(report)
    }
}

/// The links that have room for another block, those with the fewest bytes unsent by TCP first: a link
/// accepts more than TCP can send at once, and such bytes are late. Among links that send at once, a `spread`
/// stream (one whose held-up bytes can be made of those of other links) uses the link with the fewest
/// unacknowledged segments, which hardly waits for a retransmission. Any other stream uses the first link,
/// because the fewer links it uses, the fewer can hold it up.
pub fn taking(links: &BTreeMap<StripeId, Link>, spread: bool) -> Vec<StripeId> {
    let taking = links.iter().filter(|(_, link)| link.takes());
    by_turn(
        taking.map(|(&id, link)| (id, TcpInfo::of(link.channel.socket()).unwrap_or_default())).collect(),
        spread,
    )
}

fn by_turn(mut links: Vec<(StripeId, TcpInfo)>, spread: bool) -> Vec<StripeId> {
    links.sort_by_key(|(id, info)| (info.unsent, if spread { info.unacknowledged } else { 0 }, *id));
    links.into_iter().map(|(id, _)| id).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use groupflow_host::poller::Poller;
    use std::io::Write;
    use std::net::{TcpListener, TcpStream};

    /// Links to peers that read nothing.
    fn open(count: u32) -> (BTreeMap<StripeId, Link>, Vec<TcpStream>) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
        let mut poller = Poller::new().expect("epoll");
        let mut peers = Vec::new();
        let links = (0..count).map(|number| {
            let socket = TcpStream::connect(listener.local_addr().expect("an address")).expect("connected");
            peers.push(listener.accept().expect("accepted").0);
            socket.set_nonblocking(true).expect("an option");
            let registration = poller.add(&socket, number).expect("registered");
            let link = Link::new(Channel::begun(socket, None), registration);
            (StripeId(number), Link { stage: Stage::Open, writable: true, ..link })
        });
        (links.collect(), peers)
    }

    fn fill(link: &mut Link) {
        while link.channel.write(&[7; 65_536]).is_ok() {}
    }

    #[test]
    fn who_sends_at_once_is_first() {
        let (mut links, peers) = open(3);
        assert_eq!([false, true].map(|spread| taking(&links, spread)), [[0, 1, 2].map(StripeId); 2]);
        fill(links.get_mut(&StripeId(0)).expect("there"));
        assert_eq!([false, true].map(|spread| taking(&links, spread)), [[1, 2, 0].map(StripeId); 2]);
        links.get_mut(&StripeId(1)).expect("there").writable = false;
        assert_eq!(taking(&links, true), [2, 0].map(StripeId));
        drop(peers);
    }

    #[test]
    fn a_stream_that_is_spread_goes_where_the_fewest_segments_are_under_way() {
        let link = |id, unsent, unacknowledged| {
            (StripeId(id), TcpInfo { unsent, unacknowledged, ..TcpInfo::default() })
        };
        let links = vec![link(0, 0, 9), link(1, 0, 2), link(2, 500, 0), link(3, 0, 2)];
        assert_eq!(by_turn(links.clone(), true), [1, 3, 0, 2].map(StripeId));
        assert_eq!(by_turn(links, false), [0, 1, 3, 2].map(StripeId));
    }
}
