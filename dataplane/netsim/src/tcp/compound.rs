//! Compound TCP (Tan, Song, Zhang and Sridharan, INFOCOM 2006): beside Reno's window a second one that grows
//! fast while no queue is seen and gives way when one is.

use groupflow_base::Nanos;

use super::controller::{Ack, CongestionControl, CongestionWindow, LossEvent};

/// Growth of the delay window in a round trip without queue: ALPHA * window^(3/4).
const ALPHA: f64 = 0.125;
/// The part of the whole window that a loss takes.
const BETA: f64 = 0.5;
/// Packets in queues that count as congestion.
const GAMMA: f64 = 30.0;
/// Speed at which it gives way: packets a packet queued.
const ZETA: f64 = 1.0;

#[derive(Debug, Default)]
pub(super) struct Compound {
    window: f64,
    base_rtt: Option<Nanos>,
    /// Round trips measured in this round: their sum and number.
    sum: u64,
    samples: u64,
    /// The round ends when this packet is acknowledged.
    round_end: u64,
}

impl Compound {
    fn measure(&mut self, cwnd: f64, slow_start: bool, ack: &Ack) {
        if ack.rtt > Nanos::ZERO {
            self.base_rtt = Some(self.base_rtt.map_or(ack.rtt, |base| base.min(ack.rtt)));
            self.sum += ack.rtt.0;
            self.samples += 1;
        }
        if ack.una <= self.round_end {
            return;
        }
        self.round_end = ack.max;
        let (sum, samples) = (std::mem::take(&mut self.sum), std::mem::take(&mut self.samples));
        let Some(base) = self.base_rtt else { return };
        if slow_start || samples == 0 {
            return;
        }
        let window = cwnd + self.window;
        let rtt = sum as f64 / samples as f64;
        let queued = window * (1.0 - base.0 as f64 / rtt);
        if queued < GAMMA {
            let root = window.sqrt();
            // Reno's window grows by one packet of this.
            self.window += (ALPHA * root * root.sqrt() - 1.0).max(0.0);
        } else {
            self.window = (self.window - ZETA * queued).max(0.0);
        }
    }

    /// Reno's window after a loss; the delay window makes up to half of both.
    fn halve(&mut self, both: f64) -> f64 {
        let reno = (both - self.window).max(0.0) / 2.0;
        self.window = (both * (1.0 - BETA) - reno).max(0.0);
        reno
    }
}

impl CongestionControl for Compound {
    fn on_ack(&mut self, window: &mut CongestionWindow, ack: &Ack) {
        let slow_start = window.is_slow_start();
        self.measure(window.cwnd, slow_start, ack);
        let more = if slow_start { 1.0 } else { 1.0 / (window.cwnd + self.window) };
        window.open(window.cwnd + more, ack);
    }

    fn on_loss(&mut self, window: &mut CongestionWindow, loss: &LossEvent) {
        window.close_to_half(self.halve(loss.base), loss.behaviour);
    }

    fn on_timeout(&mut self, _now: Nanos) -> f64 {
        self.window = 0.0;
        1.0
    }

    fn delay_window(&self) -> f64 {
        self.window
    }
}

#[cfg(test)]
#[path = "tests/compound.rs"]
mod tests;
