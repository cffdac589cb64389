//! Vegas (Brakmo and Peterson 1995) as ns-2 has it: once a round trip the rate that the window should give is
//! compared with the rate there was; the difference, in packets, is the number that waits in queues.

use groupflow_base::Nanos;

use super::controller::{Ack, CongestionControl, CongestionWindow, LossEvent};

/// Packets in queues: grow below ALPHA, shrink above BETA.
const ALPHA: f64 = 1.0;
const BETA: f64 = 3.0;
/// Window after a timeout.
const RESTART: f64 = 2.0;

#[derive(Debug)]
pub(super) struct Vegas {
    max_window: f64,
    /// Packets in queues that end slow start.
    gamma: f64,
    base_rtt: Option<f64>,
    /// Round trips of this round: their sum in ns, and number.
    sum: f64,
    samples: u32,
    /// The round ends when this packet is acknowledged; it began at `round_start`.
    round_end: u64,
    round_start: Nanos,
    /// Packets that each acknowledgement adds to the window in this round.
    increment: f64,
    /// Slow start grows every other round.
    grow: bool,
    /// The window without recovery's inflation.
    deflated: f64,
    reduced_at: Nanos,
}

impl Vegas {
    pub fn new(max_window: u32, gamma: u32) -> Vegas {
        Vegas {
            max_window: max_window.into(),
            gamma: gamma.into(),
            base_rtt: None,
            sum: 0.0,
            samples: 0,
            round_end: 0,
            round_start: Nanos::ZERO,
            increment: 0.0,
            grow: true,
            deflated: 0.0,
            reduced_at: Nanos::ZERO,
        }
    }

    /// A round trip that one departure alone explains.
    fn sample(&mut self, rtt: f64) {
        self.sum += rtt;
        self.samples += 1;
        if rtt > 0.0 {
            self.base_rtt = Some(self.base_rtt.map_or(rtt, |base| base.min(rtt)));
        }
    }

    /// Ends the round, with `in_flight` packets under way of which `sent` left in it; returns the number of
    /// packets that wait in queues.
    fn queued(&mut self, now: Nanos, sent: u64, in_flight: u64) -> Option<f64> {
        let rtt = match self.samples {
            0 => (now - self.round_start).0 as f64,
            n => self.sum / f64::from(n),
        };
        self.sum = 0.0;
        self.samples = 0;
        self.round_start = now;
        if rtt <= 0.0 {
            return None;
        }
        let base = match self.base_rtt {
            Some(base) if rtt >= base && sent > 1 => base,
            _ => rtt,
        };
        self.base_rtt = Some(base);
        let actual = sent as f64 / rtt;
        let expected = in_flight as f64 / base;
        Some(((expected - actual) * base + 0.5).trunc())
    }

    fn end_round(&mut self, window: &mut CongestionWindow, ack: &Ack) {
        let queued = self.queued(ack.now, ack.next - self.round_end, ack.next - ack.una + 1);
        self.round_end = ack.next;
        let Some(queued) = queued else { return };
        let cwnd = window.cwnd;
        self.increment = 0.0;
        if window.is_slow_start() {
            self.grow = !self.grow;
            if self.grow && queued > self.gamma {
                window.ssthresh = 2.0;
                window.cwnd = (cwnd - cwnd / 8.0).max(2.0);
            } else if self.grow {
                self.increment = 1.0;
            }
        } else if queued > BETA {
            window.cwnd = (cwnd - 1.0).max(2.0);
        } else if queued < ALPHA {
            self.increment = 1.0 / cwnd;
        }
    }

    fn grow(&mut self, window: &mut CongestionWindow, ack: &Ack) {
        if self.increment == 1.0 && !window.is_slow_start() {
            self.increment = 0.0;
        }
        // Only as fast as the window is used.
        let in_flight = (ack.next - ack.una + 1) as f64;
        if self.increment > 0.0 && window.cwnd - in_flight <= 2.0 {
            window.open(window.cwnd + self.increment, ack);
        }
    }
}

impl CongestionControl for Vegas {
    fn begin(&mut self, now: Nanos, round_end: u64) {
        self.round_start = now;
        self.reduced_at = now;
        self.round_end = round_end;
    }

    fn on_ack(&mut self, window: &mut CongestionWindow, ack: &Ack) {
        if ack.inflated && window.cwnd > self.deflated {
            // ns-2 closes the window to 0 here where duplicates follow a timeout.
            window.cwnd = self.deflated.max(RESTART);
            window.ssthresh = 2.0;
        }
        if ack.handshake {
            // A SYN is short and its round trip is no measure for full packets.
            self.round_end = ack.next;
            self.round_start = ack.now;
            return;
        }
        let (left, times) = ack.departure;
        let rtt = (ack.now - left).0 as f64;
        self.base_rtt.get_or_insert(rtt);
        if ack.una > self.round_end {
            self.end_round(window, ack);
        }
        self.grow(window, ack);
        if times == 1 && ack.una > 1 {
            self.sample(rtt);
        }
    }

    fn on_loss(&mut self, window: &mut CongestionWindow, loss: &LossEvent) {
        let Some(late) = loss.late else { return window.close_to_half(loss.base / 2.0, loss.behaviour) };
        let (left, times) = late.departure;
        if self.reduced_at >= left {
            // The window has been reduced since the lost packet left.
            return;
        }
        let rest = match late.window {
            0..=3 => 2,
            w if times > 1 => w / 2,
            w => w - w / 4,
        };
        self.deflated = rest as f64;
        self.reduced_at = late.now;
        window.cwnd = self.deflated + f64::from(late.dupacks);
    }

    fn on_timeout(&mut self, now: Nanos) -> f64 {
        self.deflated = 0.0;
        self.reduced_at = now;
        RESTART.min(self.max_window)
    }
}
