//! The client's end of a stripe, and the number of its stripes.

use std::collections::BTreeMap;
use std::io;
use std::time::{Duration, Instant};

use groupflow_base::Nanos;
use groupflow_host::error::{plain, AgentError};
use groupflow_host::link::{Channel, TcpLink};
use groupflow_host::poller::Registration;
use groupflow_host::tcp::{self, TcpInfo};

use super::client::{Client, ClientPollKey};

use crate::machine::frame::StripeReport;
use crate::machine::{GatherFrame, Side, StripeDecoder, StripeId};

/// The first and the longest wait between attempts to connect.
const FIRST_PAUSE: Nanos = Nanos::from_millis(100);
const LONGEST_PAUSE: Nanos = Nanos::from_secs(2);
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
            GatherFrame::Report(report).encode_into(self.link.out.bytes());
        }
        Some(report)
    }
}

impl Client<'_> {
    /// How many connections there should be: one until the server has said how many it wants.
    pub(super) fn target(&self) -> usize {
        match self.alone {
            Some(_) => 1,
            None => self.core.wanted.min(self.args.max_connections).into(),
        }
    }

    /// The connections that carry the stream, the oldest first.
    pub(super) fn open_stripes(&self) -> impl DoubleEndedIterator<Item = StripeId> + '_ {
        self.stripes.iter().filter(|(_, stripe)| stripe.stage == StripeStage::Open).map(|(&id, _)| id)
    }

    /// Opens or retires connections until their number is the target.
    pub(super) fn keep_number(&mut self) -> Result<(), AgentError> {
        if let Some(since) = self.alone {
            if self.poller.now.saturating_duration_since(since) >= Duration::from_secs(self.args.retry) {
                let cause = format!("the server at {} cannot be reached: {}", self.args.to, self.trouble);
                return Err(AgentError::new("server_lost", cause, "check --to and that the server runs"));
            }
        }
        let staying = self.stripes.values().filter(|stripe| stripe.stage != StripeStage::Leaving).count();
        let target = self.target();
        if self.poller.now >= self.not_before {
            if let Err(error) = (staying..target).try_for_each(|_| self.open()) {
                self.fail(&error);
            }
        }
        // The youngest connections are retired first.
        let retiring: Vec<StripeId> =
            self.open_stripes().rev().take(staying.saturating_sub(target)).collect();
        for id in retiring {
            self.core.retire(id);
            if let Some(stripe) = self.stripes.get_mut(&id) {
                GatherFrame::Leave.encode_into(stripe.link.out.bytes());
                stripe.stage = StripeStage::Leaving;
                if stripe.flush().is_err() {
                    self.lose(id);
                }
            }
        }
        Ok(())
    }

    fn open(&mut self) -> io::Result<()> {
        let silence = Duration::from_secs(self.args.silence);
        let socket = tcp::connect(self.args.to, &self.options, silence)?;
        let tls = self.trust.as_ref().map(|trust| trust.begin().map(Into::into)).transpose();
        let tls = tls.map_err(io::Error::other)?;
        let id = StripeId(self.next);
        self.next += 1;
        let registration = self.poller.add(&socket, ClientPollKey::Stripe(id))?;
        self.stripes.insert(id, ClientStripe::new(Channel::begun(socket, tls), registration));
        Ok(())
    }

    /// Handles a connection that failed or broke: the next attempt is later.
    pub(super) fn fail(&mut self, error: &io::Error) {
        self.trouble = plain(error);
        self.not_before = self.poller.now + Duration::from(FIRST_PAUSE.doubled(self.failures, LONGEST_PAUSE));
        self.failures = self.failures.saturating_add(1);
    }

    /// Removes a connection that is gone; its bytes go over others.
    pub(super) fn lose(&mut self, id: StripeId) {
        self.core.on_lost(id);
        if let Some(stripe) = self.stripes.remove(&id) {
            stripe.link.close(&mut self.poller);
        }
        if self.alone.is_none() && self.open_stripes().next().is_none() {
            self.alone = Some(self.poller.now);
        }
    }

    /// Finds stalled connections; their bytes go over others too, if there are others.
    pub(super) fn find_stalled(&mut self) {
        let now = self.poller.now;
        let open = self.stripes.iter_mut().filter(|(_, stripe)| stripe.stage == StripeStage::Open);
        let (stalled, going): (Vec<_>, Vec<_>) =
            open.map(|(&id, stripe)| (id, stripe.is_stalled(now))).partition(|&(_, stalled)| stalled);
        for &(id, _) in &going {
            self.core.on_progress(id);
        }
        for (id, _) in stalled.into_iter().filter(|_| !going.is_empty()) {
            self.core.on_stalled(id);
        }
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
