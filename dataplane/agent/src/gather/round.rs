//! A round: what was measured of a client since the last one.

use std::time::Duration;

use groupflow_protocol::gather::ClientName;
use serde_json::{json, Value};

use super::flow::Flow;
use super::stripe::Stripe;
use super::tcp_info::TcpInfo;
use super::tune::Setting;
use super::window;

/// A client's line; a new round of it begins. Windows that the kernel has moved are set again.
pub fn measure<'a>(
    client: &ClientName,
    flow: &mut Flow,
    setting: Setting,
    stripes: impl Iterator<Item = &'a Stripe>,
    took: Duration,
) -> Value {
    let (mut theirs, mut timeouts, mut ours) = (Mean::default(), Mean::default(), Mean::default());
    let (mut advertised, mut connections, mut segment) = (0, 0, 0);
    for (place, stripe) in stripes.enumerate() {
        connections += 1;
        theirs.add(stripe.report.rtt_us);
        timeouts.add(stripe.report.rto_us);
        if let Some(share) = setting.share(place, flow.stripes.len(), flow.segment) {
            // A connection that is gone needs none.
            let _ = window::keep(stripe.channel.socket(), share, flow.segment);
        }
        if let Ok(info) = TcpInfo::of(stripe.channel.socket()) {
            ours.add(info.rtt_us);
            advertised += u64::from(info.own_window);
            segment = segment.max(u64::from(info.own_segment));
        }
    }
    let (fresh, delivered) = (flow.fresh, flow.core.delivered() - flow.before);
    let (sent, resent) = flow.segments;
    flow.fresh = 0;
    flow.segment = segment;
    flow.before = flow.core.delivered();
    flow.segments = (0, 0);
    json!({
        "client": client.as_str(),
        "stream": flow.stream.to_string(),
        "throughput_bps": per_second(fresh, took),
        "delivered_bps": per_second(delivered, took),
        "bytes": flow.core.delivered(),
        "rtt_ms": theirs.millis(),
        "server_rtt_ms": ours.millis(),
        "rto_ms": timeouts.millis(),
        "loss_ratio": if sent == 0 { 0.0 } else { resent as f64 / sent as f64 },
        "window": setting.window,
        "advertised": advertised,
        "connections": connections,
        "wanted": setting.connections,
        "held": flow.core.held(),
        "made": flow.made,
        "room": flow.core.room(),
    })
}

/// Bits per second, rounded.
fn per_second(bytes: u64, took: Duration) -> u64 {
    let nanos = took.as_nanos().max(1);
    u64::try_from(u128::from(bytes) * 8_000_000_000 / nanos).unwrap_or(u64::MAX)
}

/// The mean of what is known.
#[derive(Debug, Default)]
struct Mean {
    sum: u64,
    count: u64,
}

impl Mean {
    /// µs; 0 is not known.
    fn add(&mut self, micros: u32) {
        self.sum += u64::from(micros);
        self.count += u64::from(micros > 0);
    }

    /// For people and policies: milliseconds with a fraction.
    fn millis(&self) -> Option<f64> {
        let micros = self.sum.checked_div(self.count)?;
        Some(micros as f64 / 1000.0)
    }
}
