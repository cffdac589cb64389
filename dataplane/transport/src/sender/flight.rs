//! The packets of a sender that are on their way.

use std::collections::VecDeque;

use crate::ids::{Seq, FRAME_OVERHEAD};
use crate::nack::PacketRange;

/// The packets that were sent, and those that the whole group has.
#[derive(Debug)]
pub(super) struct Flight {
    /// The first packet of the stream.
    pub(super) first: Seq,
    /// The next new packet.
    pub(super) next: Seq,
    /// The whole group has the packets below this one.
    pub(super) acked: Seq,
    last: Option<Seq>,
    /// Payload lengths of the packets from `acked` to `next`.
    lengths: VecDeque<u16>,
    /// Payload bytes acknowledged.
    pub(super) acked_bytes: u64,
    /// Bytes of frames acknowledged.
    pub(super) acked_wire: u64,
}

impl Flight {
    pub(super) fn new(first: Seq) -> Flight {
        Flight {
            first,
            next: first,
            acked: first,
            last: None,
            lengths: VecDeque::new(),
            acked_bytes: 0,
            acked_wire: 0,
        }
    }

    /// Notes that the next new packet is sent.
    pub(super) fn send(&mut self, length: usize, fin: bool) -> Seq {
        let seq = self.next;
        self.next = seq.next();
        self.lengths.push_back(length as u16);
        if fin {
            self.last = Some(seq);
        }
        seq
    }

    /// Notes that the whole group has the packets below `seq`. False: that is not new.
    pub(super) fn acknowledge(&mut self, seq: Seq) -> bool {
        if seq <= self.acked || seq > self.next {
            return false;
        }
        for _ in 0..seq.since(self.acked) {
            let length = u64::from(self.lengths.pop_front().unwrap_or(0));
            self.acked_bytes += length;
            self.acked_wire += length + FRAME_OVERHEAD;
        }
        self.acked = seq;
        true
    }

    /// All packets sent so far.
    pub(super) fn sent(&self) -> PacketRange {
        PacketRange { first: self.first, last: self.next.prev() }
    }

    /// Packets sent and not acknowledged.
    pub(super) fn outstanding(&self) -> u32 {
        self.next.since(self.acked)
    }

    /// Whether the last packet was sent.
    pub(super) fn ended(&self) -> bool {
        self.last.is_some()
    }

    /// Whether the whole group has the last packet.
    pub(super) fn complete(&self) -> bool {
        self.last.is_some_and(|last| self.acked > last)
    }
}

#[cfg(test)]
#[path = "tests/flight.rs"]
mod tests;
