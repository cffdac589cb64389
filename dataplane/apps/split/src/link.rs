//! The connections of a stream: its source, which is its sender or the agent upstream, and its branches.

use std::io;
use std::net::SocketAddrV4;
use std::time::Instant;

use groupflow_base::codec::Envelopes;
use groupflow_base::StreamId;
use groupflow_host::link::{Channel, ReadOutcome, TcpLink};
use groupflow_host::poller::Ready;
use groupflow_host::tcp;
use groupflow_transport::fanout::{BranchId, Fanout};

use super::cache::ByteCache;
use super::config::{BranchKind, BranchSpec, SessionSpec};
use super::frame::{Preamble, SplitFrame, MAX_REPLY};
use super::session::{Resources, SplitPollKey};

pub mod sharing;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkState {
    /// The connection is being opened.
    Connecting,
    /// The connection was refused or lost, and is retried at this time.
    Waiting(Instant),
    /// The connection takes bytes.
    Open,
}

impl LinkState {
    /// The state's name in statistics.
    pub fn word(self) -> &'static str {
        match self {
            LinkState::Connecting => "connecting",
            LinkState::Waiting(_) => "waiting",
            LinkState::Open => "open",
        }
    }
}

/// A branch with its connection.
pub struct BranchLink {
    pub spec: BranchSpec,
    /// The branch's number among the stream's links, never used again.
    pub key: u32,
    /// The branch's number in the stream's core.
    pub branch: BranchId,
    pub state: LinkState,
    /// When attempts to connect end.
    pub until: Instant,
    /// Whether the next agent has said that it accepts the stream.
    pub established: bool,
    /// The offset at which the branch began.
    pub start: u64,
    /// Whether no more replies will come from the branch.
    pub replies_ended: bool,
    /// Cut the next agent's bytes into frames.
    pub envelopes: Envelopes,
    /// Whether the next agent has said that its members have everything.
    pub is_complete: bool,
    /// The connection; only the preamble goes through its outbox.
    link: Option<TcpLink>,
    /// The offset in the stream of the next byte that is written.
    written: u64,
    /// As the next agent said, its members have all bytes before this offset.
    reported: u64,
    share: sharing::Share,
}

impl BranchLink {
    /// A branch that begins at byte `start`, without a connection yet.
    pub fn new(spec: BranchSpec, key: u32, branch: BranchId, start: u64, until: Instant) -> BranchLink {
        BranchLink {
            spec,
            key,
            branch,
            state: LinkState::Connecting,
            until,
            established: false,
            start,
            replies_ended: false,
            envelopes: Envelopes::default(),
            is_complete: false,
            link: None,
            written: start,
            reported: 0,
            share: sharing::Share::default(),
        }
    }

    pub fn is_agent(&self) -> bool {
        self.spec.kind == BranchKind::Agent
    }

    /// The member's number, or 0.
    pub fn member(&self) -> u32 {
        match self.spec.kind {
            BranchKind::Agent => 0,
            BranchKind::Member(member) => member,
        }
    }

    /// Begins to connect; bytes will be sent from `offset` on.
    pub fn connect(
        &mut self, resources: &mut Resources, session: &SessionSpec, stream: StreamId, offset: u64,
    ) -> io::Result<()> {
        self.close(resources);
        let options = session.onward(resources.limits.address, &self.spec);
        let socket = tcp::connect(self.spec.address, &options, resources.limits.silence)?;
        tcp::reset_on_close(&socket)?;
        let registration = resources.poller.add(&socket, SplitPollKey::Branch(stream, self.key))?;
        let mut link = TcpLink::connecting(Channel::begun(socket, None), registration, 0);
        if self.is_agent() {
            let preamble = Preamble { session: session.id, stream, offset, mode: session.mode };
            link.out.bytes().extend(preamble.encode());
        }
        self.link = Some(link);
        self.state = LinkState::Connecting;
        self.share = sharing::Share::default();
        self.envelopes = Envelopes::default();
        self.written = offset;
        self.reported = 0;
        self.replies_ended = false;
        Ok(())
    }

    /// Notes the readiness that epoll reported.
    pub fn on_ready(&mut self, ready: Ready) {
        self.link.iter_mut().for_each(|link| link.on_ready(ready));
    }

    /// Notes that the connection is made. An error means that it was refused or lost.
    pub fn establish(&mut self) -> io::Result<()> {
        let Some(link) = &self.link else { return Ok(()) };
        let connects = self.state == LinkState::Connecting && link.writable;
        if link.readable || connects {
            if let Some(error) = tcp::failure(link.socket()) {
                return Err(error);
            }
        }
        if connects {
            self.state = LinkState::Open;
        }
        Ok(())
    }

    /// Sends the preamble, which tells the next agent which stream follows.
    pub fn greet(&mut self) -> io::Result<()> {
        match self.link.as_mut().filter(|link| self.state != LinkState::Connecting && !link.out.is_empty()) {
            Some(link) => link.flush(false),
            None => Ok(()),
        }
    }

    /// Handles PROGRESS: the members of the next agent have acknowledged all bytes before `offset`, which the
    /// next agent must have received.
    pub fn on_progress(&mut self, core: &Fanout, offset: u64, complete: bool) -> io::Result<()> {
        if offset > core.sent(self.branch).unwrap_or(0) {
            return Err(io::ErrorKind::InvalidData.into());
        }
        self.reported = self.reported.max(offset);
        self.is_complete |= complete;
        Ok(())
    }

    /// The offset before which the members behind the next agent have everything, limited to this agent's
    /// bytes.
    pub fn reported(&self, core: &Fanout) -> u64 {
        self.reported.min(core.sent(self.branch).unwrap_or(0))
    }

    /// Whether the connection may take bytes.
    pub fn is_writable(&self) -> bool {
        self.state == LinkState::Open && self.link.as_ref().is_some_and(|l| l.writable && l.out.is_empty())
    }

    /// Whether the connection may have bytes to read.
    pub fn is_readable(&self) -> bool {
        let readable = self.link.as_ref().is_some_and(|link| link.readable);
        readable && self.state != LinkState::Connecting && !self.replies_ended
    }

    /// Hands out cached bytes, once; returns their number.
    pub fn hand_out(&mut self, core: &mut Fanout, cache: &ByteCache) -> io::Result<usize> {
        let range = core.sendable(self.branch);
        if !self.is_writable() || range.is_empty() {
            return Ok(0);
        }
        let Some(link) = &mut self.link else { return Ok(0) };
        match cache.drain(link.socket(), &range) {
            Ok(count) => {
                self.written += count as u64;
                core.on_sent(self.branch, count as u64).map_err(io::Error::other)?;
                Ok(count)
            }
            Err(error) if tcp::is_later(&error) => {
                link.writable = false;
                Ok(0)
            }
            Err(error) => Err(error),
        }
    }

    /// Tells the branch the end (half-close), when it is due.
    pub fn tell_end(&mut self, core: &mut Fanout) -> io::Result<()> {
        let due = self.state == LinkState::Open && core.end_due(self.branch);
        let Some(link) = self.link.as_mut().filter(|link| due && link.out.is_empty()) else { return Ok(()) };
        link.channel.end()?;
        link.ended = true;
        core.on_end_sent(self.branch).map_err(io::Error::other)
    }

    /// The offset that the branch's TCP has acknowledged, and whether it has acknowledged the end, too.
    pub fn acknowledged(&self) -> io::Result<Option<(u64, bool)>> {
        let Some(link) = self.link.as_ref().filter(|_| self.state == LinkState::Open) else {
            return Ok(None);
        };
        let waiting = tcp::unacknowledged(link.socket())?;
        // The FIN counts as one byte.
        let done = (self.written + u64::from(link.ended)).saturating_sub(waiting);
        let end = link.ended && waiting == 0;
        if end {
            if let Some(error) = tcp::failure(link.socket()) {
                return Err(error);
            }
        }
        Ok(Some((done.min(self.written), end)))
    }

    /// Whether the branch's TCP still has something to acknowledge.
    pub fn is_telling_end(&self) -> bool {
        self.link.as_ref().is_some_and(|link| link.ended)
    }

    pub fn hear(&mut self, scratch: &mut [u8]) -> io::Result<ReadOutcome> {
        let Some(link) = &mut self.link else { return Ok(ReadOutcome::Nothing) };
        let heard = link.read(&mut scratch[..MAX_REPLY])?;
        self.replies_ended |= heard == ReadOutcome::End;
        Ok(heard)
    }

    /// Makes closing graceful, without a reset, because the branch has everything.
    pub fn set_graceful(&self) {
        self.link.iter().for_each(|link| tcp::set_graceful(link.socket()));
    }

    /// Closes the connection, with a reset unless it was made graceful.
    pub fn close(&mut self, resources: &mut Resources) {
        self.link.take().into_iter().for_each(|link| link.close(&mut resources.poller));
    }
}

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
