//! One connection to the server, at the client.

use std::collections::BTreeMap;
use std::io;
use std::time::{Duration, Instant};

use groupflow_host::came::Came;
use groupflow_host::channel::Channel;
use groupflow_host::outbox::Outbox;
use groupflow_host::poller::Token;
use groupflow_host::tcp_info::TcpInfo;

use crate::machine::frame::Report;
use crate::machine::{Decoder, Frame, Side, StripeId};

/// What is queued here at most: one block and what is said besides.
const OUTBOX: usize = 64 << 10;
/// More than a report takes.
const ROOM: usize = 1024;

/// A connection whose peer has acknowledged nothing of what it was sent for so long, and for so many round trips,
/// is stalled: far below the 30 s after which it is given up.
const STILL: Duration = Duration::from_millis(500);
const STILL_ROUND_TRIPS: u32 = 4;

/// How far a connection is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// On its way.
    Connecting,
    /// HELLO is said.
    Greeting,
    /// It carries the stream.
    Open,
    /// LEAVE is said.
    Leaving,
}

/// A connection.
#[derive(Debug)]
pub struct Link {
    /// Its bytes.
    pub channel: Channel,
    /// Its registration.
    pub token: Token,
    /// How far it is.
    pub stage: Stage,
    /// There may be something to read.
    pub readable: bool,
    /// It may take something.
    pub writable: bool,
    /// Cuts what comes.
    pub decoder: Decoder,
    /// What it is to carry.
    pub out: Outbox,
    told_end: bool,
    /// The server was told how it fares when it was last asked.
    reported: bool,
    before: TcpInfo,
    /// What its peer has acknowledged, and when that was seen to grow, or nothing to be under way.
    moved: (u64, Option<Instant>),
}

impl Link {
    /// A connection that was begun.
    pub fn new(channel: Channel, token: Token) -> Link {
        Link {
            channel,
            token,
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

    /// Reads once.
    pub fn read(&mut self, into: &mut [u8]) -> io::Result<Came> {
        Came::read(&mut self.channel, &mut self.readable, into)
    }

    /// Queues a frame.
    pub fn say(&mut self, frame: &Frame) {
        frame.encode(self.out.bytes());
    }

    /// Whether it takes another block.
    pub fn takes(&self) -> bool {
        self.stage == Stage::Open && self.writable && self.out.is_empty()
    }

    /// Writes what goes; after LEAVE, the end.
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

    /// Whether it carries nothing although it is to; seen when it is asked every now and then.
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

    /// How it fares since it was last asked, which the server is told if it carried anything, or has its `turn`.
    pub fn report(&mut self, turn: bool) -> Option<Report> {
        let info = TcpInfo::of(self.channel.socket()).ok().filter(|info| info.rtt_us > 0)?;
        let before = std::mem::replace(&mut self.before, info);
        let report = Report {
            rtt_us: info.rtt_us,
            rto_us: info.rto_us,
            sent: info.sent.saturating_sub(before.sent),
            resent: info.resent.saturating_sub(before.resent),
        };
        // The last report was a segment, too.
        let carried = report.sent > u32::from(self.reported);
        self.reported = (carried || turn) && self.out.room() > ROOM;
        if self.reported {
            self.say(&Frame::Report(report));
        }
        Some(report)
    }
}

/// Those that take another block, first those with the least that TCP has not sent: it takes more than it can send,
/// and that is late. Of those that send at once, a stream that is `spread` (because what one holds up can be made of
/// what others bring) goes over the one with the fewest segments to be acknowledged, which hardly waits for a
/// retransmission; another one over the first, for the fewer it is on the fewer can hold it up.
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

    /// Connections to peers that read nothing.
    fn open(count: u32) -> (BTreeMap<StripeId, Link>, Vec<TcpStream>) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
        let mut poller = Poller::new().expect("epoll");
        let mut peers = Vec::new();
        let links = (0..count).map(|number| {
            let socket = TcpStream::connect(listener.local_addr().expect("an address")).expect("connected");
            peers.push(listener.accept().expect("accepted").0);
            socket.set_nonblocking(true).expect("an option");
            let token = poller.add(&socket, number).expect("registered");
            let link = Link::new(Channel::begun(socket, None), token);
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
