//! A stream that arrives: its packets in order, missing packets, and acknowledgements.

use groupflow_base::Nanos;
use rand::Rng;
use rand_chacha::ChaCha8Rng;

use crate::acks::Acknowledger;
use crate::assembly::{Assembly, FormatError, Placed};
use crate::ids::Seq;
use crate::nack::{Nack, PacketRange};
use crate::requests::Requests;
use crate::wire::{GroupPacket, Header};

/// Reordering and other requesters' repairs get this much time before a NACK.
const NACK_DELAY: (Nanos, Nanos) = (Nanos::from_millis(5), Nanos::from_millis(15));
/// A buffer smaller than this costs a slow receiver packets that it already had.
const CAPACITY_MIN: u32 = 4096;

/// A stream whose beginning is known.
#[derive(Debug)]
pub(super) struct IncomingStream {
    pub(super) assembly: Assembly,
    pub(super) acks: Acknowledger,
    requests: Requests,
    window: u32,
    /// The highest packet that is known to exist.
    highest: Seq,
    /// Missing packets up to this one are in `requests`.
    noted: Seq,
}

impl IncomingStream {
    /// A stream whose first packet is `start`, and of which `window` packets may be unacknowledged.
    pub(super) fn new(start: Seq, window: u32, datagrams: bool) -> IncomingStream {
        let capacity = window.saturating_mul(2).max(CAPACITY_MIN);
        IncomingStream {
            assembly: Assembly::new(start, capacity, datagrams),
            acks: Acknowledger::new(start),
            requests: Requests::default(),
            window,
            highest: start.prev(),
            noted: start.prev(),
        }
    }

    /// Handles a DATA or REPAIR.
    pub(super) fn packet(
        &mut self, now: Nanos, packet: &GroupPacket<'_>, rng: &mut ChaCha8Rng,
    ) -> Result<Placed, FormatError> {
        let Header { seq, flags, .. } = packet.header;
        self.highest = self.highest.max(seq);
        let placed = self.assembly.insert(seq, flags, packet.payload)?;
        if placed == Placed::New {
            self.requests.arrived(now, seq, packet.header.is_to_one());
            if seq > self.noted {
                self.note(now, seq.prev(), rng);
                self.noted = seq;
            }
        }
        Ok(placed)
    }

    /// Notes that the stream has come to packet `seq`.
    pub(super) fn sync(&mut self, seq: Seq) {
        self.highest = self.highest.max(seq);
    }

    /// Notes the packets that are missing, as far as there is room for them, and acknowledges those in order;
    /// must be called after each change. True: all packets are in order.
    pub(super) fn progress(&mut self, now: Nanos, rng: &mut ChaCha8Rng) -> bool {
        let reach = self.highest.min(self.assembly.limit().prev());
        if reach > self.noted {
            self.note(now, reach, rng);
            self.noted = reach;
        }
        // An acknowledgement promises room for another window of packets; after the end none come.
        let finished = self.assembly.finished;
        if finished || self.assembly.room() >= self.window {
            self.acks.advance(now, self.assembly.next);
        }
        if finished {
            self.requests = Requests::default();
        }
        finished
    }

    /// Notes that the packets after `noted` up to `last` are missing.
    fn note(&mut self, now: Nanos, last: Seq, rng: &mut ChaCha8Rng) {
        let delay = Nanos(rng.gen_range(NACK_DELAY.0 .0..=NACK_DELAY.1 .0));
        let missing = PacketRange { first: self.noted.next(), last };
        self.requests.add(missing, now + delay);
    }

    /// Whether the packet is known to exist and has not arrived.
    pub(super) fn lacks(&self, seq: Seq) -> bool {
        self.requests.contains(seq)
    }

    pub(super) fn lacks_any(&self) -> bool {
        !self.requests.is_empty()
    }

    pub(super) fn poll_nack(&mut self, now: Nanos) -> Option<Nack> {
        let ranges = self.requests.take_due(now);
        let next = self.assembly.next;
        (!ranges.is_empty()).then_some(Nack { next, ranges })
    }

    pub(super) fn next_deadline(&self) -> Option<Nanos> {
        [self.acks.next_deadline(), self.requests.next_deadline()].into_iter().flatten().min()
    }
}
