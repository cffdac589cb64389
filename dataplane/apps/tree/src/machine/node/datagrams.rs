//! Edges whose DATA are datagrams. The parent's datagrams go to all children that take datagrams at once, in
//! the order in which they come, so that no host below waits for bytes that are missing here. The host's own
//! reader, and children that take a stream, get the bytes in order, with holes.

use std::collections::VecDeque;

use groupflow_base::Nanos;
use groupflow_transport::fanout::Fanout;

use super::held::HeldBytes;
use super::reorder::{OrderedPiece, Reorder};
use super::{ConnId, NodeConfig};
use crate::machine::datagram::MAX_PAYLOAD;

/// Bytes of datagrams that may wait; the owner sends or drops them after each call.
const OUTBOX: usize = 512 << 10;

/// DATA for children that take datagrams.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DatagramRelay {
    /// The connections of the children, as [`super::NodeAction::Datagrams`] told them.
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
    /// Everything in order before this offset was relayed.
    relayed: u64,
    outbox: VecDeque<DatagramRelay>,
    waiting: usize,
    /// Datagrams that the owner did not take from the outbox.
    pub(super) dropped: u64,
}

impl Datagrams {
    /// The datagrams of a node that begins at the offset `at`.
    pub(super) fn at(config: &NodeConfig, at: Option<u64>) -> Datagrams {
        let arrived = at.and_then(|at| reorder(config, at));
        Datagrams { arrived, relayed: at.unwrap_or(0), ..Datagrams::default() }
    }

    /// Goes on with a stream that begins anew at the offset.
    pub(super) fn begin_at(&mut self, config: &NodeConfig, begin: u64) {
        self.arrived = self.arrived.take().and_then(|_| reorder(config, begin));
        self.relayed = begin;
    }

    /// Says whether the parent's DATA come in datagrams from now on, or as a stream, which needs no
    /// reordering: bytes that were out of order come again.
    pub(super) fn take_by(&mut self, datagrams: bool, config: &NodeConfig, received: u64) {
        if datagrams != self.arrived.is_some() {
            self.arrived = Some(received).filter(|_| datagrams).and_then(|at| reorder(config, at));
            self.due = None;
        }
    }

    pub(super) fn held(&self) -> u64 {
        self.arrived.as_ref().map_or(0, Reorder::held)
    }

    /// Takes a datagram that came; returns whether any byte of it is new.
    pub(super) fn insert(&mut self, now: Nanos, offset: u64, bytes: &[u8]) -> bool {
        self.arrived.as_mut().is_some_and(|arrived| arrived.insert(now, offset, bytes))
    }

    /// The next piece in order, as there is room.
    pub(super) fn next_piece(&mut self, now: Nanos, room: u64, far: u64) -> Option<OrderedPiece> {
        let piece = self.arrived.as_mut().and_then(|arrived| arrived.poll(now, room, far));
        self.due = self.arrived.as_ref().and_then(Reorder::deadline).filter(|&due| due > now);
        piece
    }

    pub(super) fn frontier(&self) -> u64 {
        self.arrived.as_ref().map_or(0, Reorder::frontier)
    }

    pub(super) fn relay(&mut self, to: Vec<ConnId>, offset: u64, bytes: &[u8]) {
        if to.is_empty() {
            return;
        }
        self.waiting += bytes.len();
        self.outbox.push_back(DatagramRelay { to, offset, bytes: bytes.to_vec() });
        while self.waiting > OUTBOX && self.poll().is_some() {
            self.dropped += 1;
        }
    }

    /// Relays, as datagrams, bytes that came as a stream or were written; a datagram carries whole records
    /// where it has room for them.
    pub(super) fn relay_taken(&mut self, to: &[ConnId], stream: &Fanout, held: &HeldBytes, align: u64) {
        let received = stream.received();
        let mut at = std::mem::replace(&mut self.relayed, received).max(stream.base());
        if to.is_empty() || self.arrived.is_some() {
            return;
        }
        while at < received {
            let most = at.saturating_add(MAX_PAYLOAD as u64);
            let whole = most - most % align;
            let end = if most >= received {
                received
            } else if whole > at {
                whole
            } else {
                most
            };
            // At most a payload, which fits a `usize`.
            let (first, second) = held.read(at, (end - at) as usize);
            self.relay(to.to_vec(), at, &[first, second].concat());
            at = end;
        }
    }

    pub(super) fn poll(&mut self) -> Option<DatagramRelay> {
        let next = self.outbox.pop_front()?;
        self.waiting -= next.bytes.len();
        Some(next)
    }
}

fn reorder(config: &NodeConfig, at: u64) -> Option<Reorder> {
    config.datagrams.map(|wait| Reorder::new(at, config.slow.align(), wait, config.window))
}
