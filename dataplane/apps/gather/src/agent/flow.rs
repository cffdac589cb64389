//! A client's stream at the server.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use groupflow_base::reassembly::Reassembly;
use groupflow_base::{CodecError, StreamId};

use super::destination::Destination;
use crate::machine::frame::StripeReport;
use crate::machine::{Epoch, GatherFrame};

/// The client is told how much is delivered after this fraction of the room, this many bytes, or this time.
const PART: u64 = 8;
const MUCH: u64 = 32 << 10;
const SOON: Duration = Duration::from_millis(20);

#[derive(Debug)]
pub struct GatherFlow {
    pub stream: StreamId,
    /// The epoch in which the server remembers the stream.
    pub epoch: Epoch,
    pub core: Reassembly,
    pub destination: Destination,
    pub stripes: BTreeSet<u64>,
    /// Since when the stream has had no connection.
    pub alone: Option<Instant>,
    /// When the stream began at this server.
    pub began: Instant,
    /// The reason why the stream cannot be written, if it cannot.
    pub failure: Option<String>,
    /// Bytes that arrived in this round for the first time.
    pub fresh: u64,
    /// The largest segment of the stream in the last round, in bytes; 0: not known yet.
    pub segment: u64,
    /// Bytes delivered at the beginning of this round.
    pub before: u64,
    /// Segments sent and resent in this round.
    pub segments: (u64, u64),
    told: u64,
    /// When the client is to be told how much is delivered.
    pub tell_at: Option<Instant>,
    /// The connection that brought the last bytes: the news of delivered bytes goes back over it, as an
    /// acknowledgement does.
    pub last: u64,
}

impl GatherFlow {
    /// A stream of which `delivered` bytes are at its destination.
    pub fn new(
        stream: StreamId, epoch: Epoch, (destination, delivered): (Destination, u64), core: Reassembly,
    ) -> GatherFlow {
        GatherFlow {
            stream,
            epoch,
            core,
            destination,
            stripes: BTreeSet::new(),
            alone: None,
            began: Instant::now(),
            failure: None,
            fresh: 0,
            segment: 0,
            before: delivered,
            segments: (0, 0),
            told: delivered,
            tell_at: None,
            last: 0,
        }
    }

    /// Takes bytes of the stream that arrived over a stripe.
    pub fn receive(&mut self, offset: u64, bytes: &[u8]) -> Result<(), CodecError> {
        let (destination, failure) = (&mut self.destination, &mut self.failure);
        let mut write = |bytes: &[u8]| {
            if failure.is_none() {
                *failure = destination.write(bytes).err();
            }
            if failure.is_some() {
                0
            } else {
                bytes.len()
            }
        };
        self.fresh += self.core.receive(offset, bytes, &mut write)?;
        Ok(())
    }

    /// Takes a client's report about one of its stripes.
    pub fn on_report(&mut self, report: StripeReport) {
        self.segments.0 += u64::from(report.sent);
        self.segments.1 += u64::from(report.resent);
    }

    /// The frame, if one is due, that tells the client how much is delivered.
    pub fn news(&mut self, now: Instant) -> Option<GatherFrame> {
        let (delivered, limit) = (self.core.delivered(), self.core.limit());
        if delivered == self.told {
            return None;
        }
        let much = delivered - self.told >= MUCH.min(self.core.room() / PART);
        let due = *self.tell_at.get_or_insert(now + SOON);
        if !much && now < due {
            return None;
        }
        self.told = delivered;
        self.tell_at = None;
        Some(GatherFrame::Delivered { delivered, limit })
    }

    /// The frame that welcomes a new stripe.
    pub fn welcome(&mut self, wanted: u16) -> GatherFrame {
        let (delivered, limit) = (self.core.delivered(), self.core.limit());
        GatherFrame::Welcome { epoch: self.epoch, delivered, limit, wanted }
    }
}
