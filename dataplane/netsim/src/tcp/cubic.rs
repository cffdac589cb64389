//! CUBIC (RFC 9438): the window is a cubic function of the time since the last loss. Without HyStart.

use groupflow_base::Nanos;

use super::controller::{Ack, CongestionControl, CongestionWindow, LossEvent};

/// Scale of the cubic, in packets/s^3 (section 5, "C").
const C: f64 = 0.4;
/// The part of the window that remains after a loss (RFC 9438, section 4.6).
const BETA: f64 = 0.7;
/// Growth that is fair to Reno in the Reno-friendly region, until the last window is reached (section 4.3).
const ALPHA: f64 = 3.0 * (1.0 - BETA) / (1.0 + BETA);

#[derive(Debug, Default)]
pub(super) struct Cubic {
    /// Window before the last reduction, lowered where it was already below the one before (section 4.7).
    w_max: f64,
    /// Window at the last reduction, as it was.
    prior: f64,
    epoch: Option<CubicEpoch>,
}

/// A time of congestion avoidance between two losses.
#[derive(Debug, Clone, Copy)]
struct CubicEpoch {
    start: Nanos,
    /// Seconds until the cubic is back at `w_max`.
    k: f64,
    origin: f64,
    /// The window of Reno at this time, in packets.
    reno: f64,
}

impl Cubic {
    /// The window in congestion avoidance.
    fn avoid(&mut self, cwnd: f64, ack: &Ack) -> f64 {
        let epoch = match &mut self.epoch {
            Some(epoch) => epoch,
            none => {
                let origin = self.w_max.max(cwnd);
                let k = cube_root((origin - cwnd) / C);
                none.insert(CubicEpoch { start: ack.now, k, origin, reno: cwnd })
            }
        };
        let acked = ack.acked as f64;
        let alpha = if epoch.reno >= self.prior { 1.0 } else { ALPHA };
        epoch.reno += alpha * acked / cwnd;

        let elapsed = seconds(ack.now - epoch.start);
        if epoch.at(elapsed) < epoch.reno {
            return cwnd.max(epoch.reno);
        }
        let target = epoch.at(elapsed + seconds(ack.smooth_rtt)).clamp(cwnd, 1.5 * cwnd);
        cwnd + acked * (target - cwnd) / cwnd
    }

    fn shrink(&mut self, window: f64) -> f64 {
        self.w_max = if window < self.w_max { window * (1.0 + BETA) / 2.0 } else { window };
        self.prior = window;
        self.epoch = None;
        window * BETA
    }
}

impl CongestionControl for Cubic {
    fn on_ack(&mut self, window: &mut CongestionWindow, ack: &Ack) {
        let cwnd = if window.is_slow_start() { window.cwnd + 1.0 } else { self.avoid(window.cwnd, ack) };
        window.open(cwnd, ack);
    }

    fn on_loss(&mut self, window: &mut CongestionWindow, loss: &LossEvent) {
        let left = self.shrink(loss.base).max(2.0);
        window.close(left, left);
    }
}

impl CubicEpoch {
    /// W_cubic(t), figure 1.
    fn at(&self, t: f64) -> f64 {
        let t = t - self.k;
        C * t * t * t + self.origin
    }
}

fn seconds(span: Nanos) -> f64 {
    span.0 as f64 * 1e-9
}

/// By Newton's method, from IEEE operations alone: the same on every machine, as `f64::cbrt` need not be.
fn cube_root(x: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    let mut root = x.max(1.0);
    for _ in 0..200 {
        let better = (2.0 * root + x / (root * root)) / 3.0;
        if (better - root).abs() <= root * 1e-15 {
            break;
        }
        root = better;
    }
    root
}

#[cfg(test)]
#[path = "tests/cubic.rs"]
mod tests;
