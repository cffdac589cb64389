//! The server's measurement rounds, and the tunings that it obeys.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use groupflow_host::report::Weight;
use groupflow_host::tcp::TcpInfo;
use nix::time::{clock_gettime, ClockId};
use serde::Serialize;
use serde_json::json;

use super::flow::{GatherFlow, ServerStripe};
use super::server::Server;
use super::tune::{self, Known, Order, Setting};
use crate::machine::{ClientName, GatherFrame};

impl Server<'_> {
    /// Measures all clients, and reports the round.
    pub(super) fn round(&mut self) {
        let took = self.poller.now.saturating_duration_since(self.round_began);
        self.round_began = self.poller.now;
        self.rounds += 1;
        let (stripes, settings) = (&mut self.stripes, &self.settings);
        let clients = self.flows.iter_mut().map(|(client, flow)| {
            measure(client, flow, settings.get(client).copied().unwrap_or_default(), stripes, took)
        });
        let round =
            RoundReport { round: self.rounds, seconds: took.as_secs_f64(), clients: clients.collect() };
        self.events.event("round", Weight::Lasting, round, None);
    }

    /// Reads orders and carries them out.
    pub(super) fn obey(&mut self) {
        let lines = match self.requests.read() {
            Ok(lines) => lines,
            Err(text) => {
                let fields = json!({"id": null, "field": "request", "text": text.clone()});
                return self.events.event(
                    "tune_refused",
                    Weight::Lasting,
                    fields,
                    Some(format!("tuning refused: {text}")),
                );
            }
        };
        for line in lines {
            let (began, spent) = (Instant::now(), processor_time());
            let known = Known {
                settings: &self.settings,
                bounds: self.bounds,
                max_clients: self.args.max_clients as usize,
            };
            match tune::parse(&line, known) {
                (id, Ok(order)) => {
                    let changes = order.tune.len();
                    self.carry_out(order);
                    let seconds = began.elapsed().as_secs_f64();
                    let spent = processor_time().saturating_sub(spent).as_secs_f64();
                    let fields = json!({
                        "id": id, "clients": changes, "seconds": seconds, "processor_seconds": spent,
                    });
                    self.events.event("tuned", Weight::Lasting, fields, None);
                }
                (id, Err(error)) => {
                    let fields = json!({"id": id, "field": error.field, "text": error.to_string()});
                    self.events.event(
                        "tune_refused",
                        Weight::Lasting,
                        fields,
                        Some(format!("tuning refused: {error}")),
                    );
                }
            }
        }
    }

    fn carry_out(&mut self, order: Order) {
        let before = std::mem::replace(&mut self.bounds, order.bounds);
        if let Some(bytes) = order.bounds.buffer.filter(|_| before.buffer != order.bounds.buffer) {
            // Without the clamp, windows of new connections are coarser.
            let _ = tune::clamp(&self.listener, bytes);
        }
        if let Some(list) = order.clients {
            self.list_clients(list);
        }
        for (client, setting) in order.tune {
            self.set(&client, setting);
        }
    }

    fn set(&mut self, client: &ClientName, setting: Setting) {
        let Some(current) = self.settings.get_mut(client) else { return };
        let old = std::mem::replace(current, setting);
        if old.window != setting.window {
            self.share_window(client);
        }
        if old.connections != setting.connections {
            let numbers = self.flows.get(client).map(|flow| flow.stripes.clone()).unwrap_or_default();
            for number in numbers {
                self.send(number, &GatherFrame::Want { wanted: setting.connections });
            }
        }
    }

    /// Divides a client's window among its connections.
    pub(super) fn share_window(&mut self, client: &ClientName) {
        let Some(flow) = self.flows.get(client) else { return };
        let setting = self.settings.get(client).copied().unwrap_or_default();
        for (index, number) in flow.stripes.iter().enumerate() {
            let share = setting.share(index, flow.stripes.len(), flow.segment);
            if let Some(stripe) = self.stripes.get_mut(number) {
                // A connection that is gone needs no window.
                let _ = stripe.window.set(stripe.link.socket(), share, flow.segment);
            }
        }
    }
}

/// Processor time of this thread, which does all the work.
fn processor_time() -> Duration {
    clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).map(Duration::from).unwrap_or_default()
}

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
    /// `None`: the client sent no segments.
    loss_ratio: Option<f64>,
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
    let (fresh, delivered) = (flow.fresh, flow.core.delivered - flow.before);
    let (sent, resent) = flow.segments;
    flow.fresh = 0;
    flow.segment = segment;
    flow.before = flow.core.delivered;
    flow.segments = (0, 0);
    MeasuredClient {
        client: client.as_str(),
        stream: flow.stream.to_string(),
        throughput_bps: per_second(fresh, took),
        delivered_bps: per_second(delivered, took),
        bytes: flow.core.delivered,
        rtt_ms: theirs.millis(),
        server_rtt_ms: ours.millis(),
        rto_ms: timeouts.millis(),
        loss_ratio: (sent > 0).then(|| resent as f64 / sent as f64),
        window: setting.window,
        advertised,
        connections,
        wanted: setting.connections,
        held: flow.core.held(),
        room: flow.core.room,
    }
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
