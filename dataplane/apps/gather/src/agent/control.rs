//! The server's measurement rounds, and the tunings that it obeys.

use std::time::{Duration, Instant};

use nix::time::{clock_gettime, ClockId};
use serde_json::json;

use super::round::{self, RoundReport};
use super::server::Server;
use super::tune::{self, Known, Order, Setting};
use super::window;
use crate::machine::GatherFrame;

impl Server {
    /// Measures all clients, and reports the round.
    pub(super) fn round(&mut self) {
        let took = self.now.saturating_duration_since(self.round_began);
        self.round_began = self.now;
        self.rounds += 1;
        let (stripes, names, settings) = (&mut self.stripes, &self.names, &self.settings);
        let clients = self
            .flows
            .iter_mut()
            .map(|(&client, flow)| round::measure(&names[client], flow, settings[client], stripes, took));
        let round =
            RoundReport { round: self.rounds, seconds: took.as_secs_f64(), clients: clients.collect() };
        self.events.tell("round", round, None);
    }

    /// Reads orders and carries them out.
    pub(super) fn obey(&mut self) {
        let lines = match self.requests.read() {
            Ok(lines) => lines,
            Err(text) => {
                let fields = json!({"id": null, "field": "request", "text": text.clone()});
                return self.events.tell("tune_refused", fields, Some(format!("tuning refused: {text}")));
            }
        };
        for line in lines {
            let (began, spent) = (Instant::now(), processor_time());
            let known = Known {
                numbers: &self.numbers,
                settings: &self.settings,
                bounds: self.options.bounds,
                max_clients: self.options.max_clients,
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
                    self.events.tell("tuned", fields, None);
                }
                (id, Err(error)) => {
                    let fields = json!({"id": id, "field": error.field, "text": error.to_string()});
                    self.events.tell("tune_refused", fields, Some(format!("tuning refused: {error}")));
                }
            }
        }
    }

    fn carry_out(&mut self, order: Order) {
        let before = std::mem::replace(&mut self.options.bounds, order.bounds);
        self.roster.allow(order.bounds.connections);
        if let Some(bytes) = order.bounds.buffer.filter(|_| before.buffer != order.bounds.buffer) {
            // Without the clamp, windows of new connections are coarser.
            let _ = window::prepare(&self.listener, bytes);
        }
        if let Some(list) = order.clients {
            self.list_clients(list);
        }
        for (name, setting) in order.tune {
            if let Some(&client) = self.numbers.get(&name) {
                self.set(client, setting);
            }
        }
    }

    pub(super) fn set(&mut self, client: usize, setting: Setting) {
        let old = std::mem::replace(&mut self.settings[client], setting);
        if old.window != setting.window {
            self.share_window(client);
        }
        if old.connections != setting.connections {
            let numbers = self.flows.get(&client).map(|flow| flow.stripes.clone()).unwrap_or_default();
            for number in numbers {
                self.say(number, &GatherFrame::Want { wanted: setting.connections });
            }
        }
    }

    /// Divides a client's window among its connections.
    pub(super) fn share_window(&mut self, client: usize) {
        let Some(flow) = self.flows.get(&client) else { return };
        let setting = self.settings[client];
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
