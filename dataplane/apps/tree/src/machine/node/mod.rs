//! A host in the tree: it takes a stream from its parent over one or more connections, holds it in a bounded
//! cache, and hands it to its own reader and to all of its children at the same time.
//!
//! | here | is |
//! |---|---|
//! | [`config`] | the node's part of the policy, and its bounds |
//! | `orders` | the dispatcher's orders; how a host leaves |
//! | `conns` | connections: bytes that come and go, signs of life |
//! | [`datagrams`], `reorder` | edges whose DATA are datagrams; how these come into order for the reader |
//! | `upstream` | the edge to the parent |
//! | `children` | the edges to the children |
//! | `slow` | children and readers that hold others up |
//! | `reader` | the host's own reader, and the source's writer |
//! | `cache` | the bytes that the node holds |
//!
//! Offsets, branches, the history and isolation are [`groupflow_transport::fanout::Fanout`]'s;
//! [`groupflow_base::reassembly::Reassembly`] puts bytes that come over several connections in order.
//!
//! # How it is driven
//!
//! A node is a value without sockets and clock. Its owner, with a listening socket, a connection to a
//! dispatcher and `now` in hand:
//!
//! | when | the owner calls |
//! |---|---|
//! | the node begins | [`Node::source`] or [`Node::new`]; the owner sends `FromHost::Join` itself |
//! | the dispatcher gives an order | [`Node::on_order`] |
//! | a peer connects | [`Node::on_accepted`]: the connection's number, or `None`: close it |
//! | a connection is established | [`Node::offer`] if it carries datagrams; then [`Node::on_connected`] |
//! | bytes come | [`Node::on_bytes`] |
//! | a connection can be written to | [`Node::fill`]: appends bytes to send; none: wait for an event |
//! | a datagram comes | [`Node::on_datagram`] |
//! | after every call | [`Node::poll_datagram`] until there is none: all are sent, or dropped |
//! | a connection ends, fails, or cannot be made | [`Node::on_closed`] |
//! | [`Node::deadline`] has come | [`Node::on_time`] |
//! | the application reads or writes | [`Node::read`], or [`Node::write`] and [`Node::finish`] |
//! | the host is to leave | [`Node::leave`]; it is free to go when [`Node::is_over`] |
//!
//! After each of these calls the owner takes [`Action`]s from [`Node::poll`] until there is none, and carries
//! them out. Any connection may have bytes to send then, the reader bytes to read ([`Node::read`] returns
//! `None` if not), and a source room for more. The owner hands a connection no more than its socket takes:
//! bytes that were given to a connection that stands still cannot go over another.
//!
//! # Nothing is lost
//!
//! The *need* of a host is the lowest offset that the host or any host below it may still ask for; with
//! `Mode::EndToEnd` the host tells it to its parent. For all hosts but those that are cut off or skip:
//!
//! 1. A node keeps all bytes from the least need that its children told it. Departed children count, until
//!    the dispatcher says that all hosts below them have other parents.
//! 2. The need that a node told its parent never goes back, and with [`Slow::Wait`] the node accepts no child
//!    that needs an earlier byte. With [`Slow::Isolate`] it accepts one if it has the bytes itself: hosts
//!    below a slow host are better served by it than by nobody.
//!
//! So all hosts above a host keep the bytes that it and the hosts below it need. When hosts die, those below
//! them go to a host above, which has these bytes, or to another host. That one serves them if by rule 2 it
//! keeps the bytes that they need; then so do all hosts above it. Otherwise it refuses them, and the
//! dispatchers send them to the head, which is above all hosts of the cluster, then to heads of clusters
//! above, in the end to the source. The room for kept bytes is bounded by the cache; when it is full,
//! `NodeConfig::slow` says whether the others wait.

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
use groupflow_transport::fanout::{BranchId, BranchStart, Fanout, Mode};

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

/// A task for the node's owner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Connect to a host; then [`Node::on_connected`] or [`Node::on_closed`].
    Connect {
        /// The connection's number.
        conn: ConnId,
        /// The host to connect to.
        to: Peer,
    },
    /// The child at this connection takes its DATA in datagrams ([`Node::poll_datagram`]), over the same
    /// connection.
    Datagrams {
        /// The child's connection.
        conn: ConnId,
        /// Once a datagram has waited for longer than this at its parent, it is of no use to the child.
        deadline: Nanos,
    },
    /// Close the connection, after the bytes that [`Node::fill`] still has for it; then [`Node::on_closed`].
    Close(ConnId),
    /// Send a message to the dispatcher.
    Tell(FromHost),
    /// Measure the delays to these hosts; then send `FromHost::Measured` to the dispatcher.
    Measure(Vec<Peer>),
    /// Send `FromHost::Join` to the dispatcher of that cluster, which is the node's cluster from now on.
    Join(ClusterId),
    /// The dispatcher refuses this host.
    Refused {
        /// The reason, for programs.
        code: RefusalCode,
        /// The reason, for people.
        text: String,
    },
}

/// An item that the reader gets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Read {
    /// The next bytes.
    Bytes(Vec<u8>),
    /// The stream goes on at `to`: earlier bytes came too late.
    Skipped {
        /// Offset of the next byte.
        to: u64,
    },
    /// The stream has ended.
    End,
    /// Nothing follows: the reader was too slow, or no host has the next bytes any more.
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
    stream: Fanout,
    cache: Cache,
    reader: Reader,
    /// Bytes from the parent; `None`: the node is the source, or does not know yet where it begins.
    incoming: Option<Reassembly>,
    /// Whether the node lost its place: no host had the next bytes, so it skips to where the next parent
    /// serves.
    lost_place: bool,
    upstream: Option<Upstream>,
    next: Option<Upstream>,
    edges: u32,
    /// Whether a parent served this node once: that parent, or hosts above it, keep the bytes that it needs.
    kept: bool,
    /// The offsets that this parent was last told: everything before the first is taken, nothing before the
    /// second is needed.
    told: (u64, u64),
    /// Since when the parent is to be told newer offsets.
    untold: Option<Nanos>,
    /// Hosts above were told that no host here needs bytes before this offset.
    promised: u64,
    completed: bool,
    failed: Option<u64>,
    expected: VecDeque<(HostId, Ticket)>,
    children: BTreeMap<HostId, Child>,
    gone: BTreeMap<HostId, Gone>,
    conns: BTreeMap<ConnId, Conn>,
    next_conn: u64,
    /// When the dispatcher gets the next sign of life; `None`: the node has no place.
    sign: Option<Nanos>,
    /// The round trips to the dispatchers, and to the farthest host that was measured last.
    far: (Nanos, Nanos),
    leaves: orders::Leaves,
    datagrams: Datagrams,
    actions: VecDeque<Action>,
}

impl Node {
    /// A node that is the source of a stream.
    pub fn source(config: NodeConfig) -> Node {
        let datagrams = Datagrams::at(&config, true, Some(0));
        let begun = Node::with(config, Some(0));
        // A file fills the part of the cache that the fastest child leaves: half of it is for slower
        // children.
        let stream = match config.slow {
            Slow::Isolate => begun.stream.with_allowance(config.capacity / 2),
            Slow::Wait | Slow::Skip { .. } => begun.stream,
        };
        Node { source: true, incoming: None, sign: Some(Nanos::ZERO), datagrams, stream, ..begun }
    }

    /// A node that begins at `begin`, once the dispatcher names its parent.
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

    /// The next action for the owner.
    pub fn poll(&mut self) -> Option<Action> {
        self.actions.pop_front()
    }

    /// The offset behind the bytes that came from the parent, or were written.
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

    /// The node's children.
    pub fn children(&self) -> impl Iterator<Item = HostId> + '_ {
        self.children.keys().copied()
    }

    /// Departed children that bytes are kept for.
    pub fn keeps_for(&self) -> impl Iterator<Item = HostId> + '_ {
        self.gone.keys().copied()
    }

    /// The parent, once it accepted the connection.
    pub fn parent(&self) -> Option<HostId> {
        self.upstream.as_ref().map(|upstream| upstream.peer.host)
    }

    /// The offset from which on no host could serve this node, or its reader took nothing: the stream is
    /// broken off here.
    pub fn failed(&self) -> Option<u64> {
        self.failed
    }

    /// Whether the whole stream came, and its end; bytes that were not read yet are in the cache.
    pub fn has_all(&self) -> bool {
        self.stream.ended()
    }

    /// Whether the whole stream came, and the node's reader and all hosts below have it.
    pub fn is_complete(&self) -> bool {
        self.stream.finished()
    }

    /// The lowest offset that this node or a host below it may still ask the hosts above for.
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

    /// Whether the whole stream came, and all children and the hosts below them have it.
    fn passed_on(&self) -> bool {
        let complete = |branch| self.stream.complete(branch);
        let all = self.children.values().all(|child| complete(child.branch)) && self.gone.is_empty();
        self.stream.ended() && (all || self.config.mode == Mode::NodeToNode)
    }

    /// Does the work that any event may have made due.
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
fn stream(config: &NodeConfig, at: u64) -> Fanout {
    let patience = match config.slow {
        Slow::Wait => config.capacity,
        Slow::Isolate | Slow::Skip { .. } => config.capacity / 2,
    };
    let stream = Fanout::resumed(config.mode, config.capacity, at);
    stream.with_history(config.history).with_patience(patience)
}
