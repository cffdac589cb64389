//! Edges whose DATA are datagrams. The parent's datagrams go to all children that take datagrams at once, in
//! the order in which they come, so that no host below waits for bytes that are missing here. The host's own
//! reader, and children that take a stream, get the bytes in order, with holes.

use std::ops::Range;

use super::super::datagram::MAX_PAYLOAD;
use super::reorder::{Piece, Reorder};
use super::*;

/// Bytes of datagrams that may wait; the owner sends or drops them after each call.
const OUTBOX: usize = 512 << 10;

/// DATA for children that take datagrams.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Datagram {
    /// The connections of the children, as [`Action::Datagrams`] told them.
    pub to: Vec<ConnId>,
    /// The offset of the bytes in the stream.
    pub offset: u64,
    /// 1 to [`MAX_PAYLOAD`] bytes.
    pub bytes: Vec<u8>,
}

/// A node's datagrams.
#[derive(Debug, Clone, Default)]
pub(super) struct Datagrams {
    /// Datagrams from the parent on their way into order; `None`: DATA come as a stream, or the beginning is
    /// not known yet.
    pub(super) arrived: Option<Reorder>,
    /// When bytes missing in `arrived` are given up; `None`: it waits for room, or nothing is missing.
    pub(super) due: Option<Nanos>,
    /// Missing ranges between cached bytes.
    pub(super) gaps: VecDeque<Range<u64>>,
    /// Bytes that did not come in time and were skipped.
    missing: u64,
    /// Everything in order before this offset was relayed.
    pub(super) relayed: u64,
    outbox: VecDeque<Datagram>,
    waiting: usize,
    /// Datagrams that the owner did not take from the outbox.
    dropped: u64,
}

impl Datagrams {
    /// The datagrams of a node that begins at the offset `at`.
    pub(super) fn at(config: &NodeConfig, source: bool, at: Option<u64>) -> Datagrams {
        let begin = |at: u64| config.datagrams.filter(|_| !source).map(|wait| reorder(config, at, wait));
        Datagrams { arrived: at.and_then(begin), relayed: at.unwrap_or(0), ..Datagrams::default() }
    }

    /// The first missing range that ends after the offset.
    pub(super) fn gap(&self, offset: u64) -> Option<Range<u64>> {
        self.gaps.iter().find(|gap| gap.end > offset).cloned()
    }
}

fn reorder(config: &NodeConfig, at: u64, wait: Nanos) -> Reorder {
    let align = match config.slow {
        Slow::Skip { align } => align.max(1),
        Slow::Wait | Slow::Isolate => 1,
    };
    Reorder::new(at, align, wait, config.window)
}

impl Node {
    /// A connection to a parent that the node asked for carries datagrams. If the node is to take them
    /// (`NodeConfig::datagrams`), it takes DATA over this connection, none of which waited at the parent for
    /// longer than `deadline`. To be called before [`Node::on_connected`].
    pub fn offer(&mut self, conn: ConnId, deadline: Nanos) {
        if let (Some(found), true) = (self.conns.get_mut(&conn), self.config.datagrams.is_some()) {
            found.deadline = Some(deadline);
        }
    }

    /// A datagram came over a connection to the parent; returns whether any byte of it is new. A datagram
    /// over another connection is dropped.
    pub fn on_datagram(&mut self, now: Nanos, conn: ConnId, offset: u64, bytes: &[u8]) -> bool {
        let Some(found) = self.conns.get_mut(&conn) else { return false };
        if !matches!(found.role, Role::Parent { .. }) {
            return false;
        }
        // A datagram is a sign of life.
        found.heard = now;
        let new = self.arrive(now, offset, bytes);
        self.tend(now);
        new
    }

    /// The next datagram, which the owner sends now or drops.
    pub fn poll_datagram(&mut self) -> Option<Datagram> {
        let next = self.datagrams.outbox.pop_front()?;
        self.datagrams.waiting -= next.bytes.len();
        Some(next)
    }

    /// Bytes of the stream that did not come, or came too late, and were skipped.
    pub fn missing(&self) -> u64 {
        self.datagrams.missing
    }

    /// Datagrams that were dropped because [`Node::poll_datagram`] was not called.
    pub fn dropped(&self) -> u64 {
        self.datagrams.dropped
    }

    /// Says whether the parent's DATA come in datagrams from now on, or as a stream, which needs no
    /// reordering: bytes that were out of order come again.
    pub(super) fn take_by(&mut self, datagrams: bool) {
        if datagrams != self.datagrams.arrived.is_some() {
            let begun = Datagrams::at(&self.config, self.source, Some(self.stream.received()));
            self.datagrams.arrived = begun.arrived.filter(|_| datagrams);
            self.datagrams.due = None;
        }
    }

    pub(super) fn arrive(&mut self, now: Nanos, offset: u64, bytes: &[u8]) -> bool {
        let new = self.datagrams.arrived.as_mut().is_some_and(|arrived| arrived.insert(now, offset, bytes));
        if new {
            self.relay(offset, bytes);
        }
        new
    }

    fn relay(&mut self, offset: u64, bytes: &[u8]) {
        let to: Vec<ConnId> = self.children.values().filter_map(|child| child.datagrams).collect();
        if to.is_empty() {
            return;
        }
        let datagrams = &mut self.datagrams;
        datagrams.waiting += bytes.len();
        datagrams.outbox.push_back(Datagram { to, offset, bytes: bytes.to_vec() });
        while datagrams.waiting > OUTBOX {
            let Some(oldest) = datagrams.outbox.pop_front() else { return };
            datagrams.waiting -= oldest.bytes.len();
            datagrams.dropped += 1;
        }
    }

    /// Relays, as datagrams, bytes that came as a stream or were written; a datagram carries whole records
    /// where it has room for them.
    pub(super) fn relay_taken(&mut self) {
        let received = self.stream.received();
        let mut at = std::mem::replace(&mut self.datagrams.relayed, received);
        let nobody = self.children.values().all(|child| child.datagrams.is_none());
        if nobody || self.datagrams.arrived.is_some() {
            return;
        }
        at = at.max(self.stream.base());
        while at < received {
            let most = at.saturating_add(MAX_PAYLOAD as u64);
            let end = match self.config.slow {
                _ if most >= received => received,
                Slow::Skip { align } if most - most % align.max(1) > at => most - most % align.max(1),
                _ => most,
            };
            // At most a payload, which fits a `usize`.
            let (first, second) = self.cache.read(at, (end - at) as usize);
            let bytes = [first, second].concat();
            self.relay(at, &bytes);
            at = end;
        }
    }

    /// Where a child that takes datagrams from now on begins.
    pub(super) fn frontier(&self) -> u64 {
        let arrived = self.datagrams.arrived.as_ref().map_or(0, Reorder::frontier);
        self.next_record(arrived.max(self.stream.received()))
    }

    /// Moves bytes that came in datagrams on in order, as the cache has room for them.
    pub(super) fn take_arrived(&mut self, now: Nanos) {
        loop {
            let (room, far) = (self.stream.intake(), self.config.capacity / 2);
            let Some(piece) =
                self.datagrams.arrived.as_mut().and_then(|arrived| arrived.poll(now, room, far))
            else {
                break;
            };
            let done = match piece {
                Piece::Bytes(at, bytes) => self.on_data(at, &bytes),
                Piece::Hole { to } => {
                    self.leave_gap(to);
                    Ok(())
                }
                Piece::End(length) => {
                    let ended = self.incoming.as_mut().map(|incoming| incoming.end(length).is_ok());
                    ended.filter(|&ended| ended).map(drop).ok_or(Reason::BadFrame)
                }
            };
            debug_assert!(done.is_ok(), "{done:?}");
        }
        let arrived = self.datagrams.arrived.as_ref();
        self.datagrams.due = arrived.and_then(Reorder::deadline).filter(|&due| due > now);
        let base = self.stream.base();
        self.datagrams.gaps.retain(|gap| gap.end > base);
    }

    /// Lets the stream go on at the offset `to`; earlier bytes stay cached for branches that did not read
    /// them yet.
    fn leave_gap(&mut self, to: u64) {
        let from = self.stream.received();
        let missing = to.saturating_sub(from);
        self.datagrams.missing += missing;
        if self.stream.on_received(missing).is_ok() {
            // These bytes stand in for missing ones; nobody reads them.
            self.cache.push_missing(missing);
            self.datagrams.gaps.push_back(from..to);
            self.incoming = Some(Reassembly::new(to, self.config.window));
        } else {
            let arrived = self.datagrams.arrived.take();
            self.go_on_at(to);
            self.datagrams.arrived = arrived;
        }
    }
}
