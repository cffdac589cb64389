//! A host in the tree: it takes a stream from its parent over one or more connections, holds it in a bounded
//! cache, and hands it to its own reader and to all of its children at the same time.
//!
//! | here | is |
//! |---|---|
//! | [`config`] | the node's part of the policy, and its bounds |
//! | `orders`, `frames` | the dispatcher's orders, and peers' frames, carried out on the parts below |
//! | `presence` | signs of life to the dispatcher, and the host's departure |
//! | `conns` | connections: bytes that come and go, signs of life |
//! | `held` | the bytes that the node holds |
//! | `parents` | the edges to the parent and to the next one |
//! | `receipts` | the offsets that the parent was told |
//! | `children`, `child` | the edges to the children |
//! | `pace` | the pace of a child |
//! | `reader` | the host's own reader |
//! | `update` | the work that any event may have made due |
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
//! | the node begins | [`TreeNode::source`] or [`TreeNode::new`]; the owner sends `FromHost::Join` itself |
//! | the dispatcher gives an order | [`TreeNode::on_order`] |
//! | a peer connects | [`Conns::on_accepted`]: the connection's number, or `None`: close it |
//! | a connection is established | [`TreeNode::on_connected`] |
//! | bytes come | [`TreeNode::on_bytes`] |
//! | a connection can be written to | [`TreeNode::fill`]: appends bytes to send; none: wait for an event |
//! | a connection ends, fails, or cannot be made | [`TreeNode::on_closed`] |
//! | [`TreeNode::deadline`] has come | [`TreeNode::on_time`] |
//! | the application reads or writes | [`TreeNode::read`], or [`TreeNode::write`] and [`TreeNode::finish`] |
//! | the application has put away all that it read, to the end | [`TreeNode::on_stored`] |
//! | the dispatchers can be reached | [`TreeNode::on_dispatchers`] |
//! | the host is to leave | [`TreeNode::leave`]; it is free to go when [`TreeNode::is_over`] |
//!
//! After each of these calls the owner takes [`NodeAction`]s from [`Conns::poll`] until there is none, and
//! carries them out. Any connection may have bytes to send then, the reader bytes to read ([`TreeNode::read`]
//! returns `None` if not), and a source room for more. The owner hands a connection no more than its socket
//! takes: bytes that were given to a connection that stands still cannot go over another.
//!
//! # Nothing is lost
//!
//! The *need* of a host is the lowest offset that the host or any host below it may still ask for. The host
//! tells it to its parent. For all hosts but those that are cut off or skip:
//!
//! 1. A node keeps all bytes from the least need that its children told it. Departed children count, until
//!    the dispatcher says that all hosts below them have other parents.
//! 2. The need that a node told its parent never goes back, and with [`Slow::Wait`] the node accepts no child
//!    that needs an earlier byte. With [`Slow::Isolate`] it accepts one if it has the bytes itself: hosts
//!    below a slow host are better served by it than not at all.
//!
//! So all hosts above a host keep the bytes that it and the hosts below it need. When hosts die, those below
//! them go to a host above, which has these bytes, or to another host. That one serves them if by rule 2 it
//! keeps the bytes that they need; then so do all hosts above it. Otherwise it refuses them, and the
//! dispatchers send them to the head, which is above all hosts of the cluster, then to heads of clusters
//! above, in the end to the source. The room for kept bytes is bounded by the cache; when it is full,
//! `NodeConfig::slow` says whether the others wait.

mod child;
mod children;
pub mod config;
mod conns;
mod frames;
mod held;
mod orders;
mod pace;
mod parents;
mod presence;
mod reader;
mod receipts;
mod update;

use groupflow_base::Nanos;
use groupflow_transport::fanout::{Fanout, Mode};

use super::frame::{Hello, StartAt, TreeFrame};
use super::message::FromHost;
use super::names::HostId;
use children::Children;
pub use config::{NodeConfig, Slow};
use conns::ConnRole;
pub use conns::{ConnId, Conns, NodeAction};
use held::HeldBytes;
use parents::Parents;
use presence::Presence;
use reader::OwnReader;
pub use reader::ReadItem;
use receipts::Receipts;

/// One host's part in one stream.
#[derive(Debug, Clone)]
pub struct TreeNode {
    config: NodeConfig,
    source: bool,
    stream: Fanout,
    held: HeldBytes,
    reader: OwnReader,
    parents: Parents,
    receipts: Receipts,
    children: Children,
    /// The node's connections, and the actions for its owner.
    pub conns: Conns,
    presence: Presence,
}

impl TreeNode {
    /// A node that is the source of a stream.
    pub fn source(config: NodeConfig) -> TreeNode {
        let begun = TreeNode::with(config, Some(0));
        // A file fills the part of the cache that the fastest child leaves: half of it is for slower
        // children.
        let stream = match config.slow {
            Slow::Isolate => begun.stream.with_allowance(config.capacity / 2),
            Slow::Wait | Slow::Skip { .. } => begun.stream,
        };
        let presence = Presence { sign: Some(Nanos::ZERO), ..begun.presence };
        let mut node = TreeNode { source: true, stream, presence, ..begun };
        node.held.incoming = None;
        node
    }

    /// A node that begins at `begin`, once the dispatcher names its parent.
    pub fn new(config: NodeConfig, begin: StartAt) -> TreeNode {
        match begin {
            StartAt::Now => TreeNode::with(config, None),
            StartAt::Offset(offset) => TreeNode::with(config, Some(offset)),
        }
    }

    fn with(config: NodeConfig, begin: Option<u64>) -> TreeNode {
        let at = begin.unwrap_or(0);
        let mut stream = stream(&config, at);
        TreeNode {
            config,
            source: false,
            reader: OwnReader::at(&mut stream, at, true),
            stream,
            held: HeldBytes::new(&config, begin),
            parents: Parents::default(),
            receipts: Receipts::at(at),
            children: Children::default(),
            conns: Conns::new(&config),
            presence: Presence::default(),
        }
    }

    /// The offset behind the bytes that came from the parent, or were written.
    pub fn received(&self) -> u64 {
        self.stream.received()
    }

    /// Bytes in the cache and beyond a gap: at most its capacity and the window.
    pub fn held(&self) -> u64 {
        self.held.len()
    }

    /// The node's children.
    pub fn children(&self) -> impl Iterator<Item = HostId> + '_ {
        self.children.hosts()
    }

    /// Whether bytes are kept for departed children.
    pub fn keeps_for_departed(&self) -> bool {
        self.children.keep_for_departed()
    }

    /// The parent, once it accepted the connection.
    pub fn parent(&self) -> Option<HostId> {
        self.parents.host()
    }

    /// The offset from which on no host could serve this node, or its reader took nothing: the stream is
    /// broken off here.
    pub fn failed(&self) -> Option<u64> {
        self.reader.failed
    }

    /// Whether the whole stream came, and its end; bytes that were not read yet are in the cache.
    pub fn has_all(&self) -> bool {
        self.stream.ended()
    }

    /// Whether the whole stream came, and the node's reader and all hosts below have it.
    pub fn is_complete(&self) -> bool {
        self.stream.finished()
    }

    /// Whether only dispatchers that are away can tell what became of a child that may lack bytes.
    pub fn is_unsure(&self) -> bool {
        self.presence.is_unsure()
    }

    /// Whether this host counts as complete: its reader has all of the stream, or, unless the slow are waited
    /// for, its cache has.
    pub fn has_all_read(&self) -> bool {
        !self.source && self.reader.has_all
    }

    /// The owner has put all of the stream away, whose end it read.
    pub fn on_stored(&mut self, now: Nanos) {
        self.reader.note_all();
        self.update(now);
    }

    /// Notes whether the dispatchers can be reached. They know what became of children that were given up.
    pub fn on_dispatchers(&mut self, now: Nanos, are_reached: bool) {
        let was_unsure = self.presence.is_unsure();
        self.presence.unreached = (!are_reached).then(|| self.presence.unreached.unwrap_or(now));
        if was_unsure && are_reached {
            self.update(now);
        }
    }

    /// A connection that the node asked for is established.
    pub fn on_connected(&mut self, now: Nanos, conn: ConnId) {
        self.conns.on_connected(now, conn);
        let Some(ConnRole::Parent { edge, .. }) = self.conns.role(conn) else { return };
        let (child, room) = (self.config.host, self.config.window);
        let (begin, needed) = match self.held.delivered() {
            None => (StartAt::Now, 0),
            Some(delivered) => (StartAt::Offset(delivered), self.needed()),
        };
        if let Some(ticket) = self.parents.on_hello(edge, (self.stream.received(), needed)) {
            self.receipts.promised = self.receipts.promised.max(needed);
            let hello = Hello { child, ticket, edge, begin, needed, room };
            self.conns.send(conn, &TreeFrame::Hello(hello));
        }
    }

    /// The source takes as many bytes as there is room for; returns how many.
    pub fn write(&mut self, now: Nanos, bytes: &[u8]) -> usize {
        if !self.source {
            return 0;
        }
        let taken = self.held.write(&mut self.stream, bytes);
        self.update(now);
        taken
    }

    /// The source has written all.
    pub fn finish(&mut self, now: Nanos) {
        if self.source {
            self.stream.on_upstream_end();
            self.update(now);
        }
    }

    /// Offset of the byte that the reader gets next.
    pub fn position(&self) -> u64 {
        self.reader.position(&self.stream)
    }

    /// The next item of the stream: at most `most` bytes, whole records, and one at least.
    /// `None`: nothing has come yet.
    pub fn read(&mut self, now: Nanos, most: usize) -> Option<ReadItem> {
        if self.source {
            return None;
        }
        let read = self.reader.read(&mut self.stream, &self.held, &self.config, most)?;
        self.update(now);
        Some(read)
    }

    /// The time at which [`TreeNode::on_time`] is to be called.
    pub fn deadline(&self) -> Nanos {
        let stall = self.config.stall;
        let reader = self.reader.stuck.map(|since| since + stall);
        let stalled = self.children.stall_deadline(stall).into_iter().chain(reader).min();
        let waits = !matches!(self.config.slow, Slow::Skip { .. });
        let parts = [
            self.conns.deadline(),
            self.presence.sign,
            self.parents.deadline(),
            self.children.deadline(),
            self.receipts.deadline(),
            stalled.filter(|_| waits),
        ];
        parts.into_iter().flatten().min().unwrap_or(Nanos::MAX)
    }

    /// Sends signs of life, closes silent connections, and repeats attempts that are due.
    pub fn on_time(&mut self, now: Nanos) {
        for conn in self.conns.silent(now) {
            // This connection may have ended with an earlier one.
            if self.conns.role(conn).is_some() {
                self.conns.ask(NodeAction::Close(conn));
                self.on_closed(now, conn);
            }
        }
        self.conns.sign(now);
        if self.presence.is_due(now, self.config.alive) {
            self.conns.report(FromHost::Alive);
        }
        self.parents.try_again(now, &mut self.conns, self.config.sockets);
        self.children.release_late(now, &mut self.stream);
        self.update(now);
    }

    /// The lowest offset that this node or a host below it may still ask the hosts above for.
    fn needed(&self) -> u64 {
        let received = self.stream.received();
        self.children.needed(&self.stream).unwrap_or(received).max(self.receipts.promised)
    }
}

/// A stream from an offset on.
fn stream(config: &NodeConfig, at: u64) -> Fanout {
    let patience = match config.slow {
        Slow::Wait => config.capacity,
        Slow::Isolate | Slow::Skip { .. } => config.capacity / 2,
    };
    let stream = Fanout::resumed(Mode::EndToEnd, config.capacity, at);
    stream.with_history(config.history).with_patience(patience)
}
