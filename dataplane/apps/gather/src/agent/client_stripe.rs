//! The client's end of a stripe.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use groupflow_host::link::{Channel, TcpLink};
use groupflow_host::poller::Registration;
use groupflow_host::tcp::TcpInfo;

use crate::machine::frame::StripeReport;
use crate::machine::{GatherFrame, Side, StripeDecoder, StripeId};

/// The most bytes queued here: one block, and the control frames besides.
const OUTBOX: usize = 64 << 10;
/// Room for more bytes than a report takes.
const ROOM: usize = 1024;

/// A connection is stalled when its peer has acknowledged none of the bytes sent for this long, and for
/// this many round trips: far below the 30 s after which the connection is given up.
const STILL: Duration = Duration::from_millis(500);
const STILL_ROUND_TRIPS: u32 = 4;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StripeStage {
    Connecting,
    /// HELLO is sent.
    Greeting,
    /// The connection carries the stream.
    Open,
    /// LEAVE is sent.
    Leaving,
}

#[derive(Debug)]
pub struct ClientStripe {
    pub link: TcpLink,
    /// Cuts the received bytes into frames.
    pub decoder: StripeDecoder,
    pub stage: StripeStage,
    /// The server got a report at the last call.
    reported: bool,
    before: TcpInfo,
    /// Bytes that the peer has acknowledged, and when their number last grew or nothing was under way.
    moved: (u64, Option<Instant>),
}

impl ClientStripe {
    pub fn new(channel: Channel, registration: Registration) -> ClientStripe {
        ClientStripe {
            link: TcpLink::connecting(channel, registration, OUTBOX),
            decoder: StripeDecoder::new(Side::Server),
            stage: StripeStage::Connecting,
            reported: false,
            before: TcpInfo::default(),
            moved: (0, None),
        }
    }

    /// Whether the connection has room for another block.
    pub fn takes(&self) -> bool {
        self.stage == StripeStage::Open && self.link.writable && self.link.out.is_empty()
    }

    /// Writes as much as the connection takes; after LEAVE, closes the sending side.
    pub fn flush(&mut self) -> std::io::Result<()> {
        match self.stage {
            StripeStage::Connecting => Ok(()),
            stage => self.link.flush(stage == StripeStage::Leaving),
        }
    }

    /// Whether the connection carries nothing although it should. Must be called regularly.
    pub fn is_stalled(&mut self, now: Instant) -> bool {
        let Ok(info) = TcpInfo::of(self.link.socket()) else { return false };
        let idle = info.unacknowledged == 0 && self.link.writable;
        let since = *self.moved.1.get_or_insert(now);
        if idle || info.acknowledged > self.moved.0 {
            self.moved = (info.acknowledged, Some(now));
            return false;
        }
        let patience = STILL.max(STILL_ROUND_TRIPS * Duration::from_micros(info.rtt_us.into()));
        now.saturating_duration_since(since) >= patience
    }

    /// A report on the connection since the last call, if it carried anything, or has its `turn`.
    pub fn report(&mut self, turn: bool) -> Option<StripeReport> {
        let info = TcpInfo::of(self.link.socket()).ok().filter(|info| info.rtt_us > 0)?;
        let before = std::mem::replace(&mut self.before, info);
        let report = StripeReport {
            rtt_us: info.rtt_us,
            rto_us: info.rto_us,
            sent: info.sent.saturating_sub(before.sent),
            resent: info.resent.saturating_sub(before.resent),
        };
        // The last report was itself a segment.
        let carried = report.sent > u32::from(self.reported);
        self.reported = (carried || turn) && self.link.out.room() > ROOM;
        if self.reported {
            GatherFrame::Report(report).encode(self.link.out.bytes());
        }
        Some(report)
    }
}

/// The stripes that have room for another block, those with the fewest bytes unsent by TCP first: a stripe
/// accepts more than TCP can send at once, and such bytes are late. Among stripes that send at once, the
/// first comes first, because the fewer stripes a stream uses, the fewer can hold it up.
pub fn taking(stripes: &BTreeMap<StripeId, ClientStripe>) -> Vec<StripeId> {
    let unsent = |stripe: &ClientStripe| TcpInfo::of(stripe.link.socket()).map_or(0, |info| info.unsent);
    let taking = stripes.iter().filter(|(_, stripe)| stripe.takes());
    let mut taking: Vec<(u32, StripeId)> = taking.map(|(&id, stripe)| (unsent(stripe), id)).collect();
    taking.sort_unstable();
    taking.into_iter().map(|(_, id)| id).collect()
}

#[cfg(test)]
#[path = "tests/client_stripe.rs"]
mod tests;
