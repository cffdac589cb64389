//! A round: measurements of each client since the last round.

use std::collections::HashMap;
use std::time::Duration;

use groupflow_host::tcp_info::TcpInfo;
use serde::Serialize;

use super::flow::GatherFlow;
use super::server_stripe::ServerStripe;
use super::tune::Setting;
use crate::machine::ClientName;

/// The report on a round (docs/reference/gather.md lists the fields).
#[derive(Debug, Serialize)]
pub struct RoundReport<'a> {
    pub round: u64,
    /// Seconds since the last round.
    pub seconds: f64,
    /// The clients that have a stream.
    pub clients: Vec<MeasuredClient<'a>>,
}

#[derive(Debug, Serialize)]
pub struct MeasuredClient<'a> {
    client: &'a str,
    stream: String,
    throughput_bps: u64,
    delivered_bps: u64,
    bytes: u64,
    rtt_ms: Option<f64>,
    server_rtt_ms: Option<f64>,
    rto_ms: Option<f64>,
    loss_ratio: f64,
    window: Option<u64>,
    advertised: u64,
    connections: usize,
    wanted: u16,
    held: u64,
    room: u64,
}

/// Measures a client, for which a new round then begins. Windows that the kernel has moved are set again.
pub fn measure<'a>(
    client: &'a ClientName, flow: &mut GatherFlow, setting: Setting,
    stripes: &mut HashMap<u64, ServerStripe>, took: Duration,
) -> MeasuredClient<'a> {
    let (mut theirs, mut timeouts, mut ours) = (Mean::default(), Mean::default(), Mean::default());
    let (mut advertised, mut connections, mut segment) = (0, 0, 0);
    for (index, number) in flow.stripes.iter().enumerate() {
        let Some(stripe) = stripes.get_mut(number) else { continue };
        connections += 1;
        theirs.add(stripe.report.rtt_us);
        timeouts.add(stripe.report.rto_us);
        let socket = stripe.link.socket();
        let Ok(info) = TcpInfo::of(socket) else { continue };
        if let Some(share) = setting.share(index, flow.stripes.len(), flow.segment) {
            // A connection that is gone needs no window.
            let _ = stripe.window.keep(socket, share, flow.segment, &info);
        }
        ours.add(info.rtt_us);
        advertised += u64::from(info.own_window);
        segment = segment.max(u64::from(info.own_segment));
    }
    let (fresh, delivered) = (flow.fresh, flow.core.delivered() - flow.before);
    let (sent, resent) = flow.segments;
    flow.fresh = 0;
    flow.segment = segment;
    flow.before = flow.core.delivered();
    flow.segments = (0, 0);
    MeasuredClient {
        client: client.as_str(),
        stream: flow.stream.to_string(),
        throughput_bps: per_second(fresh, took),
        delivered_bps: per_second(delivered, took),
        bytes: flow.core.delivered(),
        rtt_ms: theirs.millis(),
        server_rtt_ms: ours.millis(),
        rto_ms: timeouts.millis(),
        loss_ratio: ratio(resent, sent),
        window: setting.window,
        advertised,
        connections,
        wanted: setting.connections,
        held: flow.core.held(),
        room: flow.core.room(),
    }
}

/// A part of a total; 0 when there is nothing.
fn ratio(part: u64, total: u64) -> f64 {
    part as f64 / total.max(1) as f64
}

/// A rate in bits per second, rounded.
fn per_second(bytes: u64, took: Duration) -> u64 {
    let nanos = took.as_nanos().max(1);
    u64::try_from(u128::from(bytes) * 8_000_000_000 / nanos).unwrap_or(u64::MAX)
}

/// The mean of the known values.
#[derive(Debug, Default)]
struct Mean {
    sum: u64,
    count: u64,
}

impl Mean {
    /// Adds a value in µs; 0 means unknown.
    fn add(&mut self, micros: u32) {
        self.sum += u64::from(micros);
        self.count += u64::from(micros > 0);
    }

    /// The mean in milliseconds with a fraction, for people and policies.
    fn millis(&self) -> Option<f64> {
        let micros = self.sum.checked_div(self.count)?;
        Some(micros as f64 / 1000.0)
    }
}
