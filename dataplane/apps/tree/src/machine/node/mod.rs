//! A host in the tree: takes a stream from its parent over one or more connections, holds it in a bounded
//! cache, hands it to its own reader and to all of its children at the same time.
//!
//! | here | is |
//! |---|---|
//! | [`config`] | the node's part of the policy, and its bounds |
//! | `orders` | what the dispatcher says; leaving |
//! | `conns` | connections: bytes that come and go, signs of life |
//! | [`datagrams`], `reorder` | edges whose DATA are datagrams: they are relayed as they come, and put in order for the reader |
//! | `upstream` | the edge to the parent |
//! | `children` | the edges to the children |
//! | `slow` | children and readers that hold others up |
//! | `reader` | the host's own reader, and the source's writer |
//!
//! Offsets, branches, the history and who is isolated are [`groupflow_transport::fanout::Stream`]'s; what
//! comes over several connections is put in order by [`groupflow_base::reassembly::Reassembly`].
//!
//! # How it is driven
//!
//! A value without sockets and clock. Its owner, with a listening socket, a connection to a dispatcher and
//! `now` in hand:
//!
//! | when | it calls |
//! |---|---|
//! | it begins | [`Node::source`] or [`Node::new`]; then it sends `FromHost::Join` to the root's dispatcher itself |
//! | the dispatcher says something | [`Node::on_order`], with all of it |
//! | somebody connects | [`Node::on_accepted`]: the connection's number, or `None`: close it |
//! | a connection that was asked for is there | [`Node::on_connected`] |
//! | bytes come | [`Node::on_bytes`] |
//! | a connection can be written to | [`Node::fill`]: appends what is to go now, headers and all; nothing: wait until something happened |
//! | datagrams: a connection that was asked for carries them; one comes; anything happened | [`Node::offer`]; [`Node::on_datagram`]; [`Node::poll_datagram`] until there is none: all are sent, or dropped |
//! | a connection ends, fails, or cannot be made | [`Node::on_closed`] |
//! | [`Node::deadline`] has come | [`Node::on_time`] |
//! | the application reads or writes | [`Node::read`], or [`Node::write`] and [`Node::finish`] |
//! | the host is to go | [`Node::leave`]; it may when [`Node::is_over`] |
//!
//! After each of these it takes [`Action`]s from [`Node::poll`] until there is none, and carries them out;
//! any connection may have something to send then, the reader something to read ([`Node::read`] says `None`
//! if not), and a source room for more. It hands a connection no more than its socket takes: what was given
//! to a connection that stands still cannot go over another.
//!
//! # Nothing is lost
//!
//! What a host *needs* is the lowest offset that it or any host below it may still ask for; with
//! `Mode::EndToEnd` it tells its parent. Always, of every host but those that are cut off or skip:
//!
//! 1. A node keeps all from the least need that its children told it, those included that are gone until the
//!    dispatcher says that all below them have other parents.
//! 2. What a node told its parent it needs never goes back, and with [`Slow::Wait`] it takes no child that
//!    needs something before. With [`Slow::Isolate`] it takes one if it has it itself: those below a slow
//!    host are better served by it than by nobody.
//!
//! So all hosts above one keep what it and those below it need. When hosts die, what is below them goes to
//! one above, which has it, or to another; that serves them if it keeps by 2 what they need, and with it all
//! above it. Otherwise it says so, and the dispatchers send them to the head, which is above all hosts of the
//! cluster, and on to heads of clusters above, in the end to the source. The room for what is kept is bounded
//! by the cache; when it is full, `NodeConfig::slow` says who waits, or who is not waited for.

mod cache;
mod children;
pub mod config;
mod conns;
pub mod datagrams;
mod orders;
mod reader;
mod reorder;
mod slow;
mod upstream;

use std::collections::{BTreeMap, VecDeque};

use cache::Cache;
use children::{Child, Gone};
use groupflow_base::reassembly::Reassembly;
use groupflow_base::Nanos;
use groupflow_transport::fanout::{BranchId, From, Mode, Stream};

use super::frame::{Begin, Decoder, Frame, Reason, DATA_HEADER, MAX_BLOCK};
use super::message::{FromHost, RefusalCode, ToHost};
use super::names::{ClusterId, HostId, Peer, Ticket};
pub use config::{NodeConfig, Slow};
use conns::{Conn, Role};
pub use datagrams::Datagram;
use datagrams::Datagrams;
use reader::Reader;
use upstream::Upstream;

/// A connection, numbered by the node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnId(pub u64);

/// What its owner is to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Connect; then [`Node::on_connected`] or [`Node::on_closed`].
    Connect {
        /// Its number.
        conn: ConnId,
        /// To whom.
        to: Peer,
    },
    /// The child at this connection takes its DATA in datagrams ([`Node::poll_datagram`]), over the same
    /// connection.
    Datagrams {
        /// The child's connection.
        conn: ConnId,
        /// A datagram that waits for longer at its parent is of no use to the child.
        deadline: Nanos,
    },
    /// Close, after what [`Node::fill`] still has for it; then [`Node::on_closed`].
    Close(ConnId),
    /// Tell the dispatcher.
    Tell(FromHost),
    /// Measure how far these are; then send `FromHost::Measured` to the dispatcher.
    Measure(Vec<Peer>),
    /// Send `FromHost::Join` to the dispatcher of that cluster, which is the node's from now on.
    Join(ClusterId),
    /// The dispatcher does not take this host.
    Refused {
        /// Why, for programs.
        code: RefusalCode,
        /// Why, for people.
        text: String,
    },
}

/// What the reader gets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Read {
    /// The next bytes.
    Bytes(Vec<u8>),
    /// The stream goes on there: what is between came too late.
    Skipped {
        /// Offset of the next byte.
        to: u64,
    },
    /// That was all.
    End,
    /// Nothing follows: the reader was too slow, or nobody has what comes next any more.
    Broken {
        /// Offset of the byte that would be next.
        at: u64,
    },
}

/// One host's part in one stream.
#[derive(Debug, Clone)]
pub struct Node {
    config: NodeConfig,
    source: bool,
    stream: Stream,
    cache: Cache,
    reader: Reader,
    /// What comes from the parent; `None`: it is the source, or is not told yet where it begins.
    incoming: Option<Reassembly>,
    /// Where it was, when nobody had what came next.
    lost_place: bool,
    upstream: Option<Upstream>,
    next: Option<Upstream>,
    edges: u32,
    /// Whether it was served by a parent: what it needs is kept by that, or by those above.
    kept: bool,
    /// What was told to this parent to be taken, and needed.
    told: (u64, u64),
    /// Since when there is something to tell.
    untold: Option<Nanos>,
    /// Those above were told, some time, that nobody here needs what is before.
    promised: u64,
    completed: bool,
    failed: Option<u64>,
    expected: VecDeque<(HostId, Ticket)>,
    children: BTreeMap<HostId, Child>,
    gone: BTreeMap<HostId, Gone>,
    conns: BTreeMap<ConnId, Conn>,
    next_conn: u64,
    /// When the dispatcher is to get a sign of life; `None`: the node has no place.
    sign: Option<Nanos>,
    /// The round trips to the dispatchers, and to the farthest host that was measured last.
    far: (Nanos, Nanos),
    leaves: orders::Leaves,
    datagrams: Datagrams,
    actions: VecDeque<Action>,
}

impl Node {
    /// The source of a stream.
    pub fn source(config: NodeConfig) -> Node {
        let datagrams = Datagrams::at(&config, true, Some(0));
        let begun = Node::with(config, Some(0));
        // A file fills what the fastest leaves of the cache: half of it is for those behind that one.
        let stream = match config.slow {
            Slow::Isolate => begun.stream.with_allowance(config.capacity / 2),
            Slow::Wait | Slow::Skip { .. } => begun.stream,
        };
        Node { source: true, incoming: None, sign: Some(Nanos::ZERO), datagrams, stream, ..begun }
    }

    /// A host that begins there, once it is told its parent.
    pub fn new(config: NodeConfig, begin: Begin) -> Node {
        match begin {
            Begin::Now => Node::with(config, None),
            Begin::At(offset) => Node::with(config, Some(offset)),
        }
    }

    fn with(config: NodeConfig, begin: Option<u64>) -> Node {
        let at = begin.unwrap_or(0);
        let mut stream = stream(&config, at);
        Node {
            config,
            source: false,
            reader: Reader::at(&mut stream, at, config.reads),
            stream,
            cache: Cache::at(at),
            incoming: begin.map(|at| Reassembly::new(at, config.window)),
            lost_place: false,
            upstream: None,
            next: None,
            edges: 0,
            kept: false,
            told: (at, at),
            untold: None,
            promised: at,
            completed: false,
            failed: None,
            expected: VecDeque::new(),
            children: BTreeMap::new(),
            gone: BTreeMap::new(),
            conns: BTreeMap::new(),
            next_conn: 0,
            sign: None,
            far: (Nanos::ZERO, Nanos::ZERO),
            leaves: orders::Leaves::No,
            datagrams: Datagrams::at(&config, false, begin),
            actions: VecDeque::new(),
        }
    }

    /// What is to be done next.
    pub fn poll(&mut self) -> Option<Action> {
        self.actions.pop_front()
    }

    /// Bytes that came from the parent, or were written: the offset of the next one.
    pub fn received(&self) -> u64 {
        self.stream.received()
    }

    /// Bytes in the cache and beyond a gap: at most its capacity and the window.
    pub fn held(&self) -> u64 {
        let arrived = self.datagrams.arrived.as_ref().map_or(0, reorder::Reorder::held);
        self.cache.len() as u64 + self.incoming.as_ref().map_or(0, Reassembly::held) + arrived
    }

    /// Bytes that wait for a child and were not handed to its connections.
    pub fn backlog(&self, child: HostId) -> Option<u64> {
        let sent = self.stream.sent(self.children.get(&child)?.branch)?;
        Some(self.stream.received() - sent)
    }

    /// Its children.
    pub fn children(&self) -> impl Iterator<Item = HostId> + '_ {
        self.children.keys().copied()
    }

    /// Children that are gone, and that something is kept for.
    pub fn keeps_for(&self) -> impl Iterator<Item = HostId> + '_ {
        self.gone.keys().copied()
    }

    /// What it is connected to, once that took it.
    pub fn parent(&self) -> Option<HostId> {
        self.upstream.as_ref().map(|upstream| upstream.peer.host)
    }

    /// The offset from which on nobody could serve it, or its reader took nothing: the stream is broken off
    /// here.
    pub fn failed(&self) -> Option<u64> {
        self.failed
    }

    /// Whether all of the stream came, and its end; what was not read yet is in the cache.
    pub fn has_all(&self) -> bool {
        self.stream.ended()
    }

    /// Whether all of the stream came, and its reader and all below it have it.
    pub fn is_complete(&self) -> bool {
        self.stream.finished()
    }

    /// What it or a host below it may still ask those above for: the lowest offset.
    fn needed(&self) -> u64 {
        let received = self.stream.received();
        if self.config.mode == Mode::NodeToNode {
            return received;
        }
        let children = self.children.values().map(|child| child.branch);
        let gone = self.gone.values().map(|gone| gone.child.branch);
        let waited_for = children.chain(gone).filter(|&branch| !self.stream.is_isolated(branch));
        let least = waited_for.filter_map(|branch| self.stream.acked(branch)).min();
        least.unwrap_or(received).max(self.promised)
    }

    /// Whether all came, and all children and those below them have it.
    fn passed_on(&self) -> bool {
        let complete = |branch| self.stream.complete(branch);
        let all = self.children.values().all(|child| complete(child.branch)) && self.gone.is_empty();
        self.stream.ended() && (all || self.config.mode == Mode::NodeToNode)
    }

    /// What follows from anything that happened.
    fn tend(&mut self, now: Nanos) {
        self.take_arrived(now);
        self.take_what_is_held();
        self.relay_taken();
        self.read_nothing();
        self.advance_children(now);
        self.tend_slow(now);
        self.cache.discard_below(self.stream.base());
        self.tell_taken(now);
        self.go_if_over();
    }
}

/// A stream from an offset on.
fn stream(config: &NodeConfig, at: u64) -> Stream {
    let patience = match config.slow {
        Slow::Wait => config.capacity,
        Slow::Isolate | Slow::Skip { .. } => config.capacity / 2,
    };
    let stream = Stream::resumed(config.mode, config.capacity, at);
    stream.with_history(config.history).with_patience(patience)
}
