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

    /// The window after a loss.
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
mod tests {
    use super::*;

    const RTT: u64 = 100_000_000;

    fn ack(now: u64, acked: u64) -> Ack {
        Ack { now: Nanos(now), acked, rtt: Nanos(RTT), smooth_rtt: Nanos(RTT), ..Ack::default() }
    }

    #[test]
    fn cube_roots() {
        for x in [0.001, 1.0, 8.0, 27.0, 1e9, 123_456.789] {
            assert!((cube_root(x).powi(3) / x - 1.0).abs() < 1e-12, "{x}");
        }
        assert_eq!(cube_root(-1.0), 0.0);
    }

    #[test]
    fn it_is_back_at_the_old_window_after_k_and_flat_there() {
        let mut cubic = Cubic::default();
        let mut window = cubic.shrink(1000.0);
        assert_eq!(window, 700.0);
        // K = cbrt(300 / 0.4) = 9.09 s.
        let mut at = Vec::new();
        for round in 0..120u64 {
            let acks = window as u64;
            for n in 0..acks {
                window = cubic.avoid(window, &ack(round * RTT + n * RTT / acks, 1));
            }
            at.push(window);
        }
        assert!((at[90] - 1000.0).abs() < 2.0, "at K: {}", at[90]);
        assert!(at[20] - at[10] > 10.0 * (at[95] - at[85]), "steep first, flat at the old window");
        assert!((at[119] - (1000.0 + 0.4 * 2.91f64.powi(3))).abs() < 3.0, "then it probes: {}", at[119]);
    }

    #[test]
    fn a_second_loss_below_the_first_releases_bandwidth() {
        let mut cubic = Cubic::default();
        cubic.shrink(1000.0);
        cubic.shrink(800.0);
        assert_eq!(cubic.w_max, 680.0);
        assert_eq!(cubic.prior, 800.0);
    }

    #[test]
    fn with_a_short_round_trip_it_grows_like_reno() {
        let mut cubic = Cubic::default();
        let mut window = cubic.shrink(20.0);
        let rtt = 1_000_000;
        for round in 0..40u64 {
            for n in 0..window as u64 {
                let now = round * rtt + n;
                window = cubic.avoid(window, &Ack { smooth_rtt: Nanos(rtt), ..ack(now, 1) });
            }
        }
        // ALPHA a round up to 20 packets (11 rounds), then one a round.
        assert!((window - 48.0).abs() < 3.0, "{window}");
    }
}
