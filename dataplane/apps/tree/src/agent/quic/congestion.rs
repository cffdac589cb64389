//! Congestion control: `quinn-proto`'s BBR, which does not take a loss for congestion, with a bound.
//!
//! BBR alone keeps twice as many bytes on the way as a path holds: eight connections before a queue of a
//! quarter of a round trip lost 61 % of what they sent. So after round trips in which more than a
//! [`MOST_LOST`]th was lost, no more bytes are on the way than came through in one of these, and the bound
//! grows again when fewer are lost (as BBRv2 bounds what is in flight: draft-ietf-ccwg-bbr, 5.5.10).

use std::any::Any;
use std::sync::Arc;
use std::time::Instant;

use quinn_proto::congestion::{BbrConfig, Controller, ControllerFactory};
use quinn_proto::RttEstimator;

/// One part in this many may be lost in a round trip; that much is lost on bad paths without congestion.
const MOST_LOST: u64 = 16;
/// After round trips with fewer losses the bound grows by one part in this many, which is the mean rate that
/// BBR probes for in its cycle, and by one packet, so that small shares of a link catch up with large ones.
const GROWTH: u64 = 32;
/// The number of packets that may always be on the way.
const LEAST: u64 = 8;
/// The number of packets from which on losses are judged; of fewer, one lost packet is a large part.
const JUDGED: u64 = 16;

/// Makes a controller for each connection.
#[derive(Debug, Default)]
pub(super) struct Bounded;

impl ControllerFactory for Bounded {
    fn build(self: Arc<Self>, now: Instant, mtu: u16) -> Box<dyn Controller> {
        Box::new(BoundedController::new(now, mtu))
    }
}

struct BoundedController {
    model: Box<dyn Controller>,
    mtu: u16,
    /// The most bytes on the way.
    most: u64,
    /// The number of the last packet that was sent.
    sent: u64,
    /// The round trip ends when this packet, or a later one, is acknowledged.
    round: u64,
    /// Round trips since losses were last judged, and the bytes that were acknowledged and lost in these.
    rounds: u64,
    acked: u64,
    lost: u64,
}

impl BoundedController {
    fn new(now: Instant, mtu: u16) -> BoundedController {
        let model = Arc::new(BbrConfig::default()).build(now, mtu);
        BoundedController { model, mtu, most: u64::MAX, sent: 0, round: 0, rounds: 0, acked: 0, lost: 0 }
    }
}

impl Controller for BoundedController {
    fn on_sent(&mut self, now: Instant, bytes: u64, last_packet_number: u64) {
        self.sent = last_packet_number;
        self.model.on_sent(now, bytes, last_packet_number);
    }

    fn on_ack(&mut self, now: Instant, sent: Instant, bytes: u64, app_limited: bool, rtt: &RttEstimator) {
        self.acked += bytes;
        self.model.on_ack(now, sent, bytes, app_limited, rtt);
    }

    fn on_end_acks(&mut self, now: Instant, in_flight: u64, app_limited: bool, largest: Option<u64>) {
        self.model.on_end_acks(now, in_flight, app_limited, largest);
        if largest.is_some_and(|largest| largest >= self.round) {
            (self.round, self.rounds) = (self.sent, self.rounds + 1);
            let all = self.acked + self.lost;
            if self.lost > 0 && all < JUDGED * u64::from(self.mtu) {
                return;
            }
            self.most = if self.lost > all / MOST_LOST {
                (self.acked / self.rounds).max(LEAST * u64::from(self.mtu))
            } else {
                self.most.saturating_add(self.most / GROWTH + u64::from(self.mtu))
            };
            (self.rounds, self.acked, self.lost) = (0, 0, 0);
        }
    }

    fn on_congestion_event(&mut self, now: Instant, sent: Instant, is_persistent: bool, lost_bytes: u64) {
        self.lost += lost_bytes;
        self.model.on_congestion_event(now, sent, is_persistent, lost_bytes);
    }

    fn on_mtu_update(&mut self, new_mtu: u16) {
        self.mtu = new_mtu;
        self.model.on_mtu_update(new_mtu);
    }

    fn window(&self) -> u64 {
        self.model.window().min(self.most)
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(BoundedController { model: self.model.clone_box(), ..*self })
    }

    fn initial_window(&self) -> u64 {
        self.model.initial_window()
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

#[cfg(test)]
#[path = "tests/congestion.rs"]
mod tests;
