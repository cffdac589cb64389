//! A client's stream at the server.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use groupflow_host::poller::Token;

use super::place::{Failure, Place};
use crate::machine::frame::Report;
use crate::machine::{Epoch, Frame, Incoming, Parity, StreamId};
use groupflow_base::CodecError;

/// The client is told what is delivered when it is this part of the room, or this much, or after this time.
const PART: u64 = 8;
const MUCH: u64 = 32 << 10;
const SOON: Duration = Duration::from_millis(20);

/// A stream.
#[derive(Debug)]
pub struct Flow {
    /// Its id.
    pub stream: StreamId,
    /// What the server remembers of it.
    pub epoch: Epoch,
    /// Reassembly.
    pub core: Incoming,
    /// Where it goes.
    pub place: Place,
    /// The registration of a place that may be slow.
    pub waits: Option<Token>,
    /// Its connections.
    pub stripes: BTreeSet<u64>,
    /// Since when it has none.
    pub alone: Option<Instant>,
    /// When it began here.
    pub began: Instant,
    /// Why it cannot be written, if so.
    pub failure: Option<Failure>,
    /// What came in this round for the first time, bytes.
    pub fresh: u64,
    /// The largest of its segments in the last round, bytes; 0: not known yet.
    pub segment: u64,
    /// What was made of parity that came last, ever, bytes.
    pub made: u64,
    /// Delivered at the beginning of this round.
    pub before: u64,
    /// Segments sent, and sent again, in this round.
    pub segments: (u64, u64),
    told: u64,
    /// When the client is to be told what is delivered.
    pub tell_at: Option<Instant>,
    /// Who brought the last bytes: the way back is that of an acknowledgement.
    pub last: u64,
}

impl Flow {
    /// A stream of which `delivered` bytes are in its place.
    pub fn new(stream: StreamId, epoch: Epoch, (place, delivered): (Place, u64), core: Incoming) -> Flow {
        Flow {
            stream,
            epoch,
            core,
            place,
            waits: None,
            stripes: BTreeSet::new(),
            alone: None,
            began: Instant::now(),
            failure: None,
            fresh: 0,
            segment: 0,
            made: 0,
            before: delivered,
            segments: (0, 0),
            told: delivered,
            tell_at: None,
            last: 0,
        }
    }

    /// Takes bytes that came over a stripe.
    pub fn receive(&mut self, offset: u64, bytes: &[u8]) -> Result<(), CodecError> {
        let (place, failure) = (&mut self.place, &mut self.failure);
        self.fresh += self.core.receive(offset, bytes, &mut |bytes| write(place, failure, bytes))?;
        Ok(())
    }

    /// Takes bytes of parity that came over a stripe.
    pub fn receive_parity(&mut self, parity: Parity, at: usize, bytes: &[u8]) -> Result<(), CodecError> {
        let (place, failure) = (&mut self.place, &mut self.failure);
        let mut sink = |bytes: &[u8]| write(place, failure, bytes);
        let made = self.core.receive_parity(parity, at, bytes, &mut sink)?;
        self.fresh += made;
        self.made += made;
        Ok(())
    }

    /// Its place may take more. True: it took something.
    pub fn drain(&mut self) -> bool {
        let (place, failure) = (&mut self.place, &mut self.failure);
        self.core.drain(&mut |bytes| write(place, failure, bytes))
    }

    /// A stripe fares so.
    pub fn on_report(&mut self, report: Report) {
        self.segments.0 += u64::from(report.sent);
        self.segments.1 += u64::from(report.resent);
    }

    /// What the client is to be told now of what is delivered, if anything.
    pub fn news(&mut self, now: Instant) -> Option<Frame> {
        let (delivered, limit) = (self.core.bytes().delivered(), self.core.bytes().limit());
        if delivered == self.told {
            return None;
        }
        let much = delivered - self.told >= MUCH.min(self.core.bytes().room() / PART);
        let due = *self.tell_at.get_or_insert(now + SOON);
        if !much && now < due {
            return None;
        }
        self.told = delivered;
        self.tell_at = None;
        Some(Frame::Delivered { delivered, limit })
    }

    /// What a new stripe is told.
    pub fn welcome(&mut self, wanted: u16) -> Frame {
        let (delivered, limit) = (self.core.bytes().delivered(), self.core.bytes().limit());
        Frame::Welcome { epoch: self.epoch, delivered, limit, wanted }
    }
}

fn write(place: &mut Place, failure: &mut Option<Failure>, bytes: &[u8]) -> usize {
    if failure.is_some() {
        return 0;
    }
    place.write(bytes).unwrap_or_else(|why| {
        *failure = Some(why);
        0
    })
}
