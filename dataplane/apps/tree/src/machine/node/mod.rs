//! A host in the tree: it takes a stream from its parent over one or more connections, holds it in a bounded
//! cache, and hands it to its own reader and to all of its children at the same time.
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
//! | a peer connects | [`TreeNode::on_accepted`]: the connection's number, or `None`: close it |
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
//! After each of these calls the owner takes [`NodeAction`]s from [`TreeNode::poll`] until there is none, and
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

mod children; // the edges to the children
mod conns; // connections: bytes that come and go, signs of life; the actions for the owner
mod frames; // peers' frames, and the work that any event may have made due
mod orders; // the dispatcher's orders, the edges to the parent and to the next one, the host's departure
mod slow; // slow children, and a slow reader
mod stream; // the bytes that the node holds, its own reader, and the offsets that the parent was told

use groupflow_base::Nanos;
use groupflow_transport::fanout::{Fanout, Mode};
use serde::Deserialize;

use super::frame::StartAt;
use super::messages::{FromHost, HostId};
use children::Children;
use conns::Conns;
pub use conns::{ConnId, NodeAction};
use orders::{Parents, Presence};
pub use stream::ReadItem;
use stream::{HeldBytes, OwnReader, Receipts};

/// The treatment of a child, or of the host's own reader, that is so slow that bytes it needs are about to
/// leave the cache. Until then the others do not notice it, in any case.
///
/// With `Wait` the slowest sets the pace once the caches are full; one that takes nothing at all is waited
/// for as long as `NodeConfig::stall` says. With `Isolate` a child that is cut off looks for a parent that
/// still has the bytes, and a reader is told. With `Skip` it is told which bytes it skips. The command line
/// shows the texts of the variants as help.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "agent", derive(clap::ValueEnum))]
#[serde(rename_all = "snake_case")]
pub enum Slow {
    /// All wait for a slow host when the caches are full: nothing is lost
    Wait,
    /// A slow host is cut off when the cache no longer has the bytes that it needs
    Isolate,
    /// A slow host goes on later in the stream, at a multiple of --align bytes: for streams whose late data
    /// are of no use
    Skip,
}

/// A node's part of the policy, and its bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NodeConfig {
    pub host: HostId,
    pub slow: Slow,
    /// Bytes of a record, which [`Slow::Skip`] skips whole.
    pub align: u64,
    /// Bytes that the cache holds.
    pub capacity: u64,
    /// Bytes of the cache that all children have, and that are kept for hosts whose parent died.
    pub history: u64,
    /// Bytes that may be on the way from the parent.
    pub window: u64,
    /// A child for which this many bytes wait, and more than half of them longer than for the fastest child,
    /// is reported.
    pub slow_after: u64,
    /// A child is also reported if it still lacks, after this time, bytes that existed when the time began,
    /// and lags by more than half of it behind the fastest: at a low rate `slow_after` bytes take long to
    /// gather. The report is repeated after the same time. A child that connected within this time, or lacks
    /// less than it did then, is not reported.
    pub late_after: Nanos,
    /// The number of connections to the parent.
    pub sockets: u16,
    /// The most connections of one child.
    pub max_sockets: u16,
    pub max_children: usize,
    /// A peer from which nothing came for this long and two round trips is gone; signs of life are sent three
    /// times as often.
    pub silence: Nanos,
    /// The time between two signs of life to the dispatcher: if a child could not reach a host, that host
    /// gets no other child before its next sign.
    pub alive: Nanos,
    /// How long a parent that does not know its child yet is asked again.
    pub patience: Nanos,
    /// How long bytes that a departed child did not say to have are kept for the hosts below it, unless the
    /// dispatcher says earlier that these have another parent.
    pub keep: Nanos,
    /// With [`Slow::Wait`] a reader that takes nothing for this long while bytes wait for it is cut off; a
    /// child (also with [`Slow::Isolate`]) after twice as long, so that a host whose reader is stuck cuts
    /// that off before its parent cuts off the host.
    pub stall: Nanos,
}

impl NodeConfig {
    /// The values for a host, with defaults for a stream of some 100 Mbit/s.
    pub fn new(host: HostId) -> NodeConfig {
        NodeConfig {
            host,
            slow: Slow::Wait,
            align: 1,
            capacity: 8 << 20,
            history: 4 << 20,
            window: 1 << 20,
            slow_after: 1 << 20,
            late_after: Nanos::from_millis(1000),
            sockets: 1,
            max_sockets: 16,
            max_children: 16,
            silence: Nanos::from_millis(600),
            alive: Nanos::from_millis(200),
            patience: Nanos::from_millis(2000),
            keep: Nanos::from_millis(10_000),
            stall: Nanos::from_millis(15_000),
        }
    }

    /// The same with this many bytes in the cache.
    pub fn with_cache(self, capacity: u64) -> NodeConfig {
        let part = |bytes: u64| bytes.min(capacity / 4).max(1);
        let (window, slow_after) = (part(self.window), part(self.slow_after));
        NodeConfig { capacity, history: capacity / 2, window, slow_after, ..self }
    }

    /// The bytes that are skipped or read together.
    fn record(&self) -> u64 {
        if self.slow == Slow::Skip {
            self.align.max(1)
        } else {
            1
        }
    }

    /// The start of the last record that begins at the offset or before.
    fn last_record(&self, offset: u64) -> u64 {
        offset - offset % self.record()
    }

    /// The start of the first record that begins at the offset or after.
    fn next_record(&self, offset: u64) -> u64 {
        offset.div_ceil(self.record()).saturating_mul(self.record())
    }
}

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
    conns: Conns,
    presence: Presence,
}

impl TreeNode {
    pub fn source(config: NodeConfig) -> TreeNode {
        let mut node = TreeNode { source: true, ..TreeNode::with(config, Some(0)) };
        // A file fills the part of the cache that the fastest child leaves: half of it is for slower
        // children.
        if config.slow == Slow::Isolate {
            node.stream = node.stream.with_allowance(config.capacity / 2);
        }
        node.presence.sign = Some(Nanos::ZERO);
        node.held.incoming = None;
        node
    }

    /// A node that begins at `begin`, once the dispatcher names its parent.
    pub fn new(config: NodeConfig, begin: StartAt) -> TreeNode {
        match begin {
            StartAt::Offset(offset) => TreeNode::with(config, Some(offset)),
            _ => TreeNode::with(config, None),
        }
    }

    fn with(config: NodeConfig, begin: Option<u64>) -> TreeNode {
        let at = begin.unwrap_or(0);
        let mut stream = stream(&config, at);
        TreeNode {
            config,
            source: false,
            reader: OwnReader::at(&mut stream, at),
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
        self.stream.received
    }

    /// Bytes in the cache and beyond a gap: at most its capacity and the window.
    pub fn held(&self) -> u64 {
        self.held.len()
    }

    pub fn children(&self) -> impl Iterator<Item = HostId> + '_ {
        self.children.hosts()
    }

    /// Whether bytes are kept for children without connections, and for the hosts below them.
    pub fn keeps_for_departed(&self) -> bool {
        !self.children.departed.is_empty()
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
        self.stream.ended
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

    /// The source takes as many bytes as there is room for; returns how many.
    pub fn write(&mut self, now: Nanos, bytes: &[u8]) -> usize {
        if !self.source {
            return 0;
        }
        let taken = stream::take(&mut self.stream, &mut self.held.bytes, bytes);
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
        let waits = self.config.slow != Slow::Skip;
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
        if self.presence.sign.is_some_and(|due| due <= now) {
            self.presence.sign = Some(now + self.config.alive);
            self.conns.report(FromHost::Alive);
        }
        self.parents.try_again(now, &mut self.conns, self.config.sockets);
        self.children.release_late(now, &mut self.stream);
        self.update(now);
    }

    /// The lowest offset that this node or a host below it may still ask the hosts above for.
    fn needed(&self) -> u64 {
        let received = self.stream.received;
        self.children.needed(&self.stream).unwrap_or(received).max(self.receipts.promised)
    }
}

/// A stream from an offset on.
fn stream(config: &NodeConfig, at: u64) -> Fanout {
    let patience = if config.slow == Slow::Wait { config.capacity } else { config.capacity / 2 };
    let stream = Fanout::resumed(Mode::EndToEnd, config.capacity, at);
    stream.with_history(config.history).with_patience(patience)
}
