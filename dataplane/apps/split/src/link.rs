//! A branch of a stream, with its connection.

use std::io;
use std::net::{Shutdown, TcpStream};
use std::time::Instant;

use groupflow_base::StreamId;
use groupflow_host::poller::{Ready, Registration};
use groupflow_host::read_outcome::ReadOutcome;
use groupflow_host::tcp;
use groupflow_transport::fanout::{BranchId, Fanout};
use serde_json::json;

use super::cache::ByteCache;
use super::config::{BranchKind, BranchSpec, SessionSpec};
use super::frame::{SplitDecoder, MAX_REPLY};
use super::preamble::Preamble;
use super::resources::{Orphan, Resources, SplitPollKey};

pub mod sharing;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkState {
    /// The connection is being opened.
    Connecting,
    /// The connection was refused or lost, and is retried at this time.
    Waiting(Instant),
    /// The next agent is about to say at which offset to go on.
    Resuming,
    /// The connection takes bytes.
    Open,
}

impl LinkState {
    /// The state's name in statistics.
    pub fn word(self) -> &'static str {
        match self {
            LinkState::Connecting => "connecting",
            LinkState::Waiting(_) => "waiting",
            LinkState::Resuming => "resuming",
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
    /// Whether the connection was ever made; a resumed stream had one before.
    pub established: bool,
    /// The offset at which the branch began.
    pub start: u64,
    /// Whether no more replies will come from the branch.
    pub replies_ended: bool,
    /// Cuts the next agent's bytes into frames.
    pub decoder: SplitDecoder,
    /// Whether the next agent has said that its members have everything.
    pub is_complete: bool,
    socket: Option<(TcpStream, Registration)>,
    readable: bool,
    writable: bool,
    /// The part of the preamble that is still to be sent.
    greeting: Vec<u8>,
    /// The offset in the stream of the connection's first byte after the preamble.
    origin: u64,
    preamble: u64,
    /// Bytes written, including the preamble.
    written: u64,
    /// The FIN has been written to the connection.
    told_end: bool,
    /// The core knows that the end was told.
    ends: bool,
    /// The branch has the bytes before this offset from an earlier connection.
    skip_to: u64,
    /// As the next agent said, its members have all bytes before this offset; after a restart it may lack some.
    reported: u64,
    /// The number of the connection's copy at the keeper.
    kept: Option<u64>,
    share: sharing::Share,
    /// Connections of earlier runs. The next agent must learn of this connection before it sees them end.
    old: Vec<Orphan>,
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
            decoder: SplitDecoder::default(),
            is_complete: false,
            socket: None,
            readable: false,
            writable: false,
            greeting: Vec::new(),
            origin: start,
            preamble: 0,
            written: 0,
            told_end: false,
            ends: false,
            skip_to: 0,
            reported: 0,
            kept: None,
            share: sharing::Share::default(),
            old: Vec::new(),
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
        self.disconnect(resources);
        let options = session.onward(resources.limits.address, &self.spec);
        let socket = tcp::connect(self.spec.address, &options, resources.limits.silence)?;
        tcp::reset_on_close(&socket)?;
        let registration = resources.poller.add(&socket, SplitPollKey::Branch(stream, self.key))?;
        self.socket = Some((socket, registration));
        (self.state, self.share) = (LinkState::Connecting, sharing::Share::default());
        self.decoder = SplitDecoder::default();
        self.greeting = match self.spec.kind {
            BranchKind::Member(_) => Vec::new(),
            BranchKind::Agent => {
                let resume = self.established;
                Preamble { session: session.id, stream, offset, mode: session.mode, resume }.encode()
            }
        };
        self.preamble = self.greeting.len() as u64;
        (self.origin, self.written, self.told_end, self.ends) = (offset, 0, false, false);
        (self.readable, self.writable, self.replies_ended) = (false, false, false);
        // The next agent will say again which bytes it has.
        (self.skip_to, self.reported) = (0, 0);
        Ok(())
    }

    /// Takes over a member's connection of an earlier run: bytes that the connection was given then are not
    /// sent again. The keeper closes a connection that cannot be taken over.
    pub fn adopt(&mut self, resources: &mut Resources, stream: StreamId, orphan: Orphan) -> io::Result<()> {
        let key = orphan.key;
        let adopted = self.try_adopt(resources, stream, orphan);
        if adopted.is_err() {
            resources.drop_kept(key);
        }
        adopted
    }

    fn try_adopt(&mut self, resources: &mut Resources, stream: StreamId, orphan: Orphan) -> io::Result<()> {
        let (bytes, told_end) = tcp::taken(&orphan.socket)?;
        if orphan.start + bytes < self.origin {
            // The branch was isolated: no upstream agent has kept the bytes that it needs next.
            let behind = self.origin - orphan.start - bytes;
            return Err(io::Error::other(format!(
                "{behind} bytes behind the first byte that is still cached"
            )));
        }
        let registration = resources.poller.add(&orphan.socket, SplitPollKey::Branch(stream, self.key))?;
        self.socket = Some((orphan.socket, registration));
        (self.state, self.established, self.told_end) = (LinkState::Open, true, told_end);
        self.start = orphan.start;
        self.origin = orphan.start + bytes;
        (self.skip_to, self.kept) = (self.origin, Some(orphan.key));
        Ok(())
    }

    /// Sets the earlier runs' connections to the next agent, which end when that agent has accepted the new
    /// one.
    pub fn replace(&mut self, old: Vec<Orphan>) {
        (self.old, self.established) = (old, true);
    }

    /// Gives the keeper a copy of the connection, once the connection is made.
    pub fn keep(&mut self, resources: &mut Resources, stream: StreamId) {
        if let (Some((socket, _)), Some(keeper), None) = (&self.socket, &resources.keeper, self.kept) {
            if self.state == LinkState::Connecting {
                return;
            }
            let key = rand::random();
            let address = self.spec.address.to_string();
            let note = json!({"stream": stream.to_string(), "address": address, "start": self.origin});
            match keeper.keep(key, &note, socket) {
                Ok(()) => self.kept = Some(key),
                Err(_) => resources.keeper = None,
            }
        }
    }

    /// Notes the readiness that epoll reported.
    pub fn note(&mut self, ready: Ready) {
        self.readable |= ready.readable;
        self.writable |= ready.writable;
    }

    /// Notes that the connection is made. An error means that it was refused or lost.
    pub fn establish(&mut self) -> io::Result<()> {
        let Some((socket, _)) = &self.socket else { return Ok(()) };
        if self.readable || (self.state == LinkState::Connecting && self.writable) {
            if let Some(error) = tcp::failure(socket) {
                return Err(error);
            }
        }
        if self.state == LinkState::Connecting && self.writable {
            self.state = match self.is_agent() && self.established {
                true => LinkState::Resuming,
                false => LinkState::Open,
            };
        }
        Ok(())
    }

    /// Sends the preamble, which tells the next agent which stream follows.
    pub fn greet(&mut self) -> io::Result<()> {
        let Some((socket, _)) = self.socket.as_ref().filter(|_| self.state != LinkState::Connecting) else {
            return Ok(());
        };
        while !self.greeting.is_empty() && self.writable {
            match io::Write::write(&mut &*socket, &self.greeting) {
                Ok(count) => {
                    self.greeting.drain(..count);
                    self.written += count as u64;
                }
                Err(error) if tcp::is_later(&error) => self.writable = false,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Handles WELCOME: the next agent has the bytes before `offset`, and wants those from there on.
    pub fn go_on(&mut self, resources: &mut Resources, offset: u64) {
        (self.origin, self.skip_to) = (offset, offset);
        self.state = LinkState::Open;
        self.drop_old(resources);
    }

    fn drop_old(&mut self, resources: &mut Resources) {
        self.old.drain(..).for_each(|old| resources.drop_kept(old.key));
    }

    /// Handles PROGRESS: the members of the next agent have acknowledged all bytes before `offset`, which the
    /// next agent must have received.
    pub fn on_progress(&mut self, core: &Fanout, offset: u64, complete: bool) -> io::Result<()> {
        if offset > self.skip_to.max(core.sent(self.branch).unwrap_or(0)) {
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
        self.state == LinkState::Open && self.writable && self.greeting.is_empty()
    }

    /// Whether the connection may have bytes to read.
    pub fn is_readable(&self) -> bool {
        self.readable && self.state != LinkState::Connecting && !self.replies_ended
    }

    /// Hands out cached bytes, once; returns their number.
    pub fn hand_out(&mut self, core: &mut Fanout, cache: &ByteCache) -> io::Result<usize> {
        let range = core.sendable(self.branch);
        let skipped = self.skip_to.min(range.end).saturating_sub(range.start);
        core.on_sent(self.branch, skipped).map_err(io::Error::other)?;
        let range = core.sendable(self.branch);
        let Some((socket, _)) = self.socket.as_ref().filter(|_| self.is_writable()) else { return Ok(0) };
        if range.is_empty() {
            return Ok(0);
        }
        match cache.drain(socket, &range) {
            Ok(count) => {
                self.written += count as u64;
                core.on_sent(self.branch, count as u64).map_err(io::Error::other)?;
                Ok(count)
            }
            Err(error) if tcp::is_later(&error) => {
                self.writable = false;
                Ok(0)
            }
            Err(error) => Err(error),
        }
    }

    /// Tells the branch the end (half-close), when it is due. A branch that has the end from an earlier
    /// connection may have hung up.
    pub fn tell_end(&mut self, core: &mut Fanout) -> io::Result<()> {
        let open = self.socket.is_some() && self.state == LinkState::Open && self.greeting.is_empty();
        if !core.end_due(self.branch) || !(open || self.is_complete) {
            return Ok(());
        }
        if let Some((socket, _)) = self.socket.as_ref().filter(|_| !self.told_end) {
            socket.shutdown(Shutdown::Write)?;
            self.told_end = true;
        }
        self.ends = true;
        core.on_end_sent(self.branch).map_err(io::Error::other)
    }

    /// The offset that the branch's TCP has acknowledged, and whether it has acknowledged the end, too.
    pub fn acknowledged(&self) -> io::Result<Option<(u64, bool)>> {
        let Some((socket, _)) = self.socket.as_ref().filter(|_| self.state == LinkState::Open) else {
            return Ok(None);
        };
        // The FIN counts as one byte.
        let bytes = self.origin + self.written.saturating_sub(self.preamble);
        let waiting = tcp::unacknowledged(socket)?;
        let done = (bytes + u64::from(self.told_end)).saturating_sub(waiting);
        let end = self.ends && waiting == 0;
        if end {
            if let Some(error) = tcp::failure(socket) {
                return Err(error);
            }
        }
        Ok(Some((done.min(bytes), end)))
    }

    /// Whether the branch's TCP still has something to acknowledge.
    pub fn is_telling_end(&self) -> bool {
        self.ends
    }

    pub fn hear(&mut self, scratch: &mut [u8]) -> io::Result<ReadOutcome> {
        let Some((socket, _)) = &self.socket else { return Ok(ReadOutcome::Nothing) };
        let heard = ReadOutcome::read(&mut &*socket, &mut self.readable, &mut scratch[..MAX_REPLY])?;
        self.replies_ended |= heard == ReadOutcome::End;
        Ok(heard)
    }

    /// Makes closing graceful, without a reset, because the branch has everything.
    pub fn set_graceful(&self) {
        if let Some((socket, _)) = &self.socket {
            tcp::set_graceful(socket);
        }
    }

    /// Closes all connections, with a reset unless they were made graceful.
    pub fn close(&mut self, resources: &mut Resources) {
        self.disconnect(resources);
        self.drop_old(resources);
    }

    /// Closes the present connection and the keeper's copy.
    pub fn disconnect(&mut self, resources: &mut Resources) {
        self.hang_up(resources);
        if let Some(key) = self.kept.take() {
            resources.drop_kept(key);
        }
    }

    /// Closes the connection of a branch that has everything, but not the keeper's copy, which tells this to
    /// the next agent.
    pub fn hang_up(&mut self, resources: &mut Resources) {
        if let Some((socket, registration)) = self.socket.take() {
            resources.poller.remove(&socket, registration);
        }
        (self.readable, self.writable) = (false, false);
    }

    /// Whether a restarted agent can go on with the branch: the keeper has a copy of the connection, or there
    /// is no connection and the next agent is called anew.
    pub fn can_resume(&self) -> bool {
        self.kept.is_some()
            || (self.is_agent() && matches!(self.state, LinkState::Waiting(_) | LinkState::Connecting))
    }
}

#[cfg(test)]
#[path = "tests/link.rs"]
mod tests;
