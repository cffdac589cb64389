//! The connections of a stream: its source, which is its sender or the agent upstream, and its branches.

use std::collections::BTreeMap;
use std::io;

use groupflow_base::Nanos;
use groupflow_host::error::plain;
use groupflow_host::link::{Channel, ReadOutcome, TcpLink};
use groupflow_host::poller::Ready;
use groupflow_host::tcp::{self, TcpInfo};
use groupflow_transport::fanout::BranchId;

use super::cache::ByteCache;
use super::{Resources, SplitPollKey};
use crate::machine::frame::MAX_REPLY;
use crate::machine::sharing::TcpState;
use crate::machine::{Action, BranchState, LinkLoss, Stream};

/// Bytes moved before other streams have their turn.
const BUDGET: u64 = 1 << 20;

pub struct Links {
    pub upstream: TcpLink,
    pub cache: ByteCache,
    /// When the stream needs a turn in any case.
    pub due: Option<Nanos>,
    branches: BTreeMap<BranchId, BranchLink>,
}

/// The connection to a branch; only the preamble goes through its outbox.
struct BranchLink {
    link: TcpLink,
    /// The offset in the stream of the next byte that is written.
    written: u64,
}

impl Links {
    /// The connections of a stream that begins at this offset.
    pub fn new(upstream: TcpLink, offset: u64) -> Links {
        Links { upstream, cache: ByteCache::new(offset), due: None, branches: BTreeMap::new() }
    }

    pub fn on_branch_ready(&mut self, id: BranchId, ready: Ready) {
        self.branches.entry(id).and_modify(|branch| branch.link.on_ready(ready));
    }

    /// Moves all bytes that can be moved in one turn. Returns whether another turn would move more: epoll
    /// does not repeat a readiness that it has reported.
    pub fn turn(&mut self, stream: &mut Stream, resources: &mut Resources) -> bool {
        self.each_branch(stream, resources, Links::establish);
        self.each_branch(stream, resources, Links::hear);
        let mut left = BUDGET;
        while !stream.is_aborted() {
            self.each_branch(stream, resources, Links::acknowledge);
            stream.advance(resources.now);
            self.act(stream, resources);
            self.cache.discard(&mut resources.pool, stream.core.base);
            let taken = self.take(stream, resources);
            let before = stream.sent();
            self.each_branch(stream, resources, Links::hand_out);
            let moved = taken + stream.sent() - before;
            left = left.saturating_sub(moved);
            if moved == 0 || left == 0 {
                break;
            }
        }
        if stream.is_aborted() {
            // Waiting frames and replies leave with the reason of the abort, in one write: the frames alone,
            // and then a closed connection, would look like a stream's proper end.
            return false;
        }
        self.flush(stream);
        stream.advance(resources.now);
        self.flush(stream);
        self.act(stream, resources);
        let look = stream.look_after().map(|span| resources.now + span);
        self.due = stream.deadline().into_iter().chain(look).min();
        self.has_work(stream)
    }

    fn has_work(&self, stream: &Stream) -> bool {
        let takes = self.upstream.readable && stream.core.intake() > 0 && !stream.starved;
        let moves = |(&id, branch): (&BranchId, &BranchLink)| {
            branch.is_writable() && !stream.sendable(id).is_empty()
                || branch.link.readable && stream.hears(id)
        };
        takes || self.branches.iter().any(moves)
    }

    pub fn act(&mut self, stream: &mut Stream, resources: &mut Resources) {
        while let Some(action) = stream.next_action() {
            let (Action::Connect(id) | Action::Close(id)) = action;
            if let Some(branch) = self.branches.remove(&id) {
                branch.link.close(&mut resources.poller);
            }
            if matches!(action, Action::Connect(_)) {
                if let Err(error) = self.connect(stream, resources, id) {
                    lose(stream, resources, id, &error);
                }
            }
        }
    }

    fn connect(&mut self, stream: &Stream, resources: &mut Resources, id: BranchId) -> io::Result<()> {
        let Some(branch) = stream.branch(id) else { return Ok(()) };
        let options = stream.spec.onward(resources.address, &branch.spec);
        let socket = tcp::connect(branch.spec.address, &options, resources.silence)?;
        tcp::reset_on_close(&socket)?;
        let registration = resources.poller.add(&socket, SplitPollKey::Branch(stream.id, id))?;
        let mut link = TcpLink::connecting(Channel::begun(socket, None), registration, 0);
        if branch.spec.is_agent() {
            link.out.bytes().extend(stream.preamble(id).encode());
        }
        self.branches.insert(id, BranchLink { link, written: stream.connects_at(id) });
        Ok(())
    }

    /// Runs a step for each branch; a branch for which it fails is lost.
    fn each_branch(
        &mut self, stream: &mut Stream, resources: &mut Resources,
        step: fn(&mut Links, &mut Stream, &mut Resources, BranchId) -> io::Result<()>,
    ) {
        for id in self.branches.keys().copied().collect::<Vec<_>>() {
            if let Err(error) = step(self, stream, resources, id) {
                self.hear_last_words(stream, resources, id);
                lose(stream, resources, id, &error);
            }
        }
        self.act(stream, resources);
    }

    /// Notes that a connection is made, and sends the preamble.
    fn establish(&mut self, stream: &mut Stream, _: &mut Resources, id: BranchId) -> io::Result<()> {
        let Some(BranchLink { link, .. }) = self.branches.get_mut(&id) else { return Ok(()) };
        let connecting = stream.branch(id).is_some_and(|branch| branch.state == BranchState::Connecting);
        let connects = connecting && link.writable;
        if link.readable || connects {
            if let Some(error) = tcp::failure(link.socket()) {
                return Err(error);
            }
        }
        if connects {
            stream.on_connected(id);
        }
        match link.out.is_empty() || connecting && !connects {
            true => Ok(()),
            false => link.flush(false),
        }
    }

    /// Reads the messages of a branch.
    fn hear(&mut self, stream: &mut Stream, resources: &mut Resources, id: BranchId) -> io::Result<()> {
        let Some(BranchLink { link, .. }) = self.branches.get_mut(&id) else { return Ok(()) };
        while link.readable && stream.hears(id) {
            match link.read(&mut resources.scratch[..MAX_REPLY])? {
                ReadOutcome::Nothing => break,
                ReadOutcome::End => stream.on_heard_end(resources.now, id),
                ReadOutcome::Bytes(count) => stream.on_heard(resources.now, id, &resources.scratch[..count]),
            }
        }
        Ok(())
    }

    /// Reads the bytes that a member had sent before its connection was lost: a server may answer, and hang
    /// up on the rest of the stream.
    fn hear_last_words(&mut self, stream: &mut Stream, resources: &mut Resources, id: BranchId) {
        let is_member = stream.branch(id).is_some_and(|branch| !branch.spec.is_agent());
        let Some(BranchLink { link, .. }) = self.branches.get_mut(&id).filter(|_| is_member) else { return };
        while stream.hears(id) {
            let Ok(ReadOutcome::Bytes(count)) = link.read(&mut resources.scratch[..MAX_REPLY]) else { break };
            stream.on_heard(resources.now, id, &resources.scratch[..count]);
        }
    }

    /// Asks the branch's TCP for the bytes that it has acknowledged, and for the end.
    fn acknowledge(&mut self, stream: &mut Stream, _: &mut Resources, id: BranchId) -> io::Result<()> {
        let Some(branch) = self.branches.get(&id).filter(|_| stream.counts_by_tcp(id)) else { return Ok(()) };
        let (socket, written, ended) = (branch.link.socket(), branch.written, branch.link.ended);
        let waiting = tcp::unacknowledged(socket)?;
        let end = ended && waiting == 0;
        if let Some(error) = end.then(|| tcp::failure(socket)).flatten() {
            return Err(error);
        }
        // The FIN counts as one byte.
        let done = (written + u64::from(ended)).saturating_sub(waiting);
        stream.on_acknowledged(id, done.min(written), end);
        Ok(())
    }

    /// Reads from upstream, once; returns the number of bytes.
    fn take(&mut self, stream: &mut Stream, resources: &mut Resources) -> u64 {
        stream.starved = false;
        if !self.upstream.readable {
            return 0;
        }
        let intake = stream.core.intake();
        let result = match intake {
            // A reset is noticed although nothing is read.
            0 => tcp::failure(self.upstream.socket()).map_or(Ok(None), Err),
            _ => self.cache.fill(&mut resources.pool, self.upstream.socket(), intake),
        };
        match result {
            Ok(Some(0)) => {
                self.upstream.readable = false;
                stream.on_source_end();
            }
            Ok(Some(count)) => {
                stream.on_received(count as u64);
                return count as u64;
            }
            Ok(None) => stream.starved = intake > 0,
            Err(error) => {
                self.upstream.readable = false;
                if !tcp::is_later(&error) {
                    stream.on_source_lost(&plain(&error));
                }
            }
        }
        0
    }

    /// Hands out cached bytes, once, and tells the end (half-close) when that is due.
    fn hand_out(&mut self, stream: &mut Stream, _: &mut Resources, id: BranchId) -> io::Result<()> {
        let Some(branch) = self.branches.get_mut(&id) else { return Ok(()) };
        let range = stream.sendable(id);
        if branch.is_writable() && !range.is_empty() {
            match self.cache.drain(branch.link.socket(), &range) {
                Ok(count) => {
                    branch.written += count as u64;
                    stream.on_sent(id, count as u64);
                }
                Err(error) if tcp::is_later(&error) => branch.link.writable = false,
                Err(error) => return Err(error),
            }
        }
        if stream.end_due(id) && branch.link.out.is_empty() {
            branch.link.channel.end()?;
            branch.link.ended = true;
            stream.on_end_sent(id);
        }
        Ok(())
    }

    /// Sends what goes back upstream, as much as the socket takes, and its end.
    fn flush(&mut self, stream: &mut Stream) {
        std::mem::swap(self.upstream.out.bytes(), &mut stream.outgoing);
        let flushed = self.upstream.flush(false);
        std::mem::swap(self.upstream.out.bytes(), &mut stream.outgoing);
        if flushed.is_err() {
            // A sender hears of the abort when it is read from; replies have no reader any more.
            stream.on_source_deaf();
        } else if stream.source_end_due() {
            let _ = self.upstream.channel.end();
            stream.on_source_deaf();
        }
    }

    /// The state of the branch's TCP, if the kernel tells it.
    pub fn tcp_state(&self, id: BranchId) -> Option<TcpState> {
        let info = TcpInfo::of(self.branches.get(&id)?.link.socket()).ok()?;
        let TcpInfo { acknowledged, unsent, unacknowledged, window_limited_us, .. } = info;
        Some(TcpState { acknowledged, unsent, unacknowledged, window_limited_us })
    }

    /// Bounds the bytes a second of a branch; the loss of its connection shows when it is next used.
    pub fn set_pace(&self, id: BranchId, rate: u64) {
        if let Some(branch) = self.branches.get(&id) {
            let _ = tcp::set_pace(branch.link.socket(), rate);
        }
    }

    /// Closes all branches: gracefully if the stream is complete, otherwise with resets. Returns the
    /// connection upstream.
    pub fn close(mut self, resources: &mut Resources, graceful: bool) -> TcpLink {
        for branch in self.branches.into_values() {
            if graceful {
                tcp::set_graceful(branch.link.socket());
            }
            branch.link.close(&mut resources.poller);
        }
        self.cache.release(&mut resources.pool);
        self.upstream
    }
}

impl BranchLink {
    /// Whether the connection takes bytes of the stream.
    fn is_writable(&self) -> bool {
        self.link.writable && self.link.out.is_empty()
    }
}

fn lose(stream: &mut Stream, resources: &Resources, id: BranchId, error: &io::Error) {
    let (how, text) = match error.kind() {
        _ if tcp::is_exhausted(error) => (LinkLoss::NoDescriptor, tcp::EXHAUSTED.to_owned()),
        io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe => (LinkLoss::Reset, plain(error)),
        _ => (LinkLoss::Failed, plain(error)),
    };
    stream.on_branch_lost(resources.now, id, how, &text);
}
