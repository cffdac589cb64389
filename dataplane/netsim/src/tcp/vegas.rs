//! Vegas (Brakmo and Peterson 1995) as ns-2 has it: once a round trip the rate that the window should give is compared with the
//! rate there was; the difference, as packets, is what waits in queues.

use groupflow_base::Nanos;

use super::config::SenderConfig;
use super::segment::Segment;
use super::sender::{Recovery, Reduction, Sender};

/// Packets in queues: grow below ALPHA, shrink above BETA.
const ALPHA: f64 = 1.0;
const BETA: f64 = 3.0;
/// Packets in queues that end slow start.
const GAMMA: f64 = 1.0;
/// Window after a timeout.
const RESTART: f64 = 2.0;

#[derive(Debug, Clone)]
pub(super) struct Vegas {
    /// When each packet of the window left, and how often: a ring, indexed by the packet's number.
    left: Vec<(Nanos, u8)>,
    mask: u64,
    base_rtt: Option<f64>,
    /// Round trips of this round: their sum in ns, and number.
    sum: f64,
    samples: u32,
    /// The round ends when this packet is acknowledged; it began at `round_start`.
    round_end: u64,
    round_start: Nanos,
    /// What each acknowledgement adds to the window in this round.
    increment: f64,
    /// Slow start grows every other round.
    grow: bool,
    /// Acknowledgements after a retransmission that are still looked at for another loss.
    worried: u32,
    /// Fine-grained timeout in ns (none before the first measurement), with its smoothed round trip (times 8) and deviation (times 4).
    timeout: f64,
    srtt8: f64,
    deviation4: f64,
    /// The window without recovery's inflation.
    deflated: f64,
    reduced_at: Nanos,
}

impl Vegas {
    pub fn new(config: &SenderConfig) -> Vegas {
        // Limited transmit does not apply: never more than the window is in flight.
        let size = u64::from(config.max_window).next_power_of_two();
        Vegas {
            left: vec![(Nanos::ZERO, 0); size as usize],
            mask: size - 1,
            base_rtt: None,
            sum: 0.0,
            samples: 0,
            round_end: u64::from(config.syn),
            round_start: Nanos::ZERO,
            increment: 0.0,
            grow: true,
            worried: 0,
            timeout: f64::INFINITY,
            srtt8: 0.0,
            deviation4: 0.0,
            deflated: 0.0,
            reduced_at: Nanos::ZERO,
        }
    }

    pub fn start(&mut self, now: Nanos) {
        self.round_start = now;
        self.reduced_at = now;
    }

    /// The first packet that leaves now is `next`.
    pub fn restart(&mut self, now: Nanos, next: u64) {
        self.start(now);
        self.round_end = next;
    }

    fn slot(&self, packet: u64) -> usize {
        (packet & self.mask) as usize
    }

    pub fn sent(&mut self, now: Nanos, packet: u64) {
        let slot = self.slot(packet);
        let (at, times) = &mut self.left[slot];
        *at = now;
        *times = times.saturating_add(1);
    }

    /// When `packet` left last, and how often it did.
    fn departure(&self, packet: u64) -> (Nanos, u8) {
        self.left[self.slot(packet)]
    }

    /// Packets `una..acked` are done with. Returns the last one's departure.
    fn acknowledge(&mut self, una: u64, acked: u64) -> (Nanos, u8) {
        let last = self.departure(acked - 1);
        for packet in una..acked {
            let slot = self.slot(packet);
            self.left[slot].1 = 0;
        }
        last
    }

    /// The fine-grained timeout takes a round trip in.
    fn sample(&mut self, rtt: f64) {
        self.sum += rtt;
        self.samples += 1;
        if rtt <= 0.0 {
            return;
        }
        self.base_rtt = Some(self.base_rtt.map_or(rtt, |base| base.min(rtt)));
        let error = rtt - self.srtt8 / 8.0;
        self.srtt8 += error;
        self.deviation4 += error.abs() - self.deviation4 / 4.0;
        self.timeout = (self.srtt8 / 4.0 + self.deviation4) / 2.0 * (1.0 + 1.0 / 16.0);
    }

    /// Before the first measurement: all of it from the first acknowledgement.
    fn first_sample(&mut self, rtt: f64) {
        if self.base_rtt.is_none() {
            self.base_rtt = Some(rtt);
            self.srtt8 = rtt * 8.0;
            self.deviation4 = rtt;
            self.timeout = (self.srtt8 / 4.0 + self.deviation4) / 2.0;
        }
    }

    /// `packet` has been away for longer than the fine-grained timeout.
    fn expired(&self, now: Nanos, packet: u64) -> bool {
        (now - self.departure(packet).0).0 as f64 >= self.timeout
    }

    /// The round is over with `in_flight` packets under way of which `sent` left in it: packets that wait in queues, and the window's
    /// rate with them.
    fn end_round(&mut self, now: Nanos, sent: u64, in_flight: u64) -> Option<f64> {
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
}

impl Sender {
    fn vegas(&mut self) -> &mut Vegas {
        match &mut self.recovery {
            Recovery::Vegas(vegas) => vegas,
            // Only Vegas comes here.
            _ => unreachable!("a sender that is not Vegas"),
        }
    }

    pub(super) fn on_ack_vegas(&mut self, now: Nanos, acked: u64, segment: &Segment) {
        if acked > self.una {
            self.on_new_ack_vegas(now, acked, segment);
        } else if acked == self.una && self.una < self.max {
            self.on_duplicate_vegas(now);
        } else {
            self.burst = 0;
        }
        if self.dupacks > 0 && self.dupacks < self.config.dupack_threshold {
            self.burst = 0;
        }
    }

    fn on_new_ack_vegas(&mut self, now: Nanos, acked: u64, segment: &Segment) {
        let una = self.una;
        let handshake = self.config.syn && una == 0;
        if una == 1 && !self.config.syn {
            // ns-2 opens the window with the second acknowledgement.
            self.cwnd = f64::from(self.config.initial_window);
        }
        let deflated = self.vegas().deflated;
        if self.dupacks > self.config.dupack_threshold && self.cwnd > deflated {
            // ns-2 closes the window to 0 here where duplicates follow a timeout.
            self.cwnd = deflated.max(RESTART);
            self.ssthresh = 2.0;
        }
        self.advance(now, acked, segment);
        let (sent, times) = self.vegas().acknowledge(una, acked);
        if handshake {
            // A SYN is short and its round trip is no measure for full packets.
            self.open_initial_window();
            self.vegas().round_end = self.next;
            self.vegas().round_start = now;
            return;
        }
        self.vegas().first_sample((now - sent).0 as f64);
        if acked > self.vegas().round_end {
            self.end_round_vegas(now);
        }
        self.grow_vegas();
        if times == 1 && acked > 1 {
            self.vegas().sample((now - sent).0 as f64);
        }
        self.look_for_more_losses(now);
    }

    fn end_round_vegas(&mut self, now: Nanos) {
        let (next, una, cwnd, slow_start) = (self.next, self.una, self.cwnd, self.cwnd < self.ssthresh);
        let vegas = self.vegas();
        let queued = vegas.end_round(now, next - vegas.round_end, next - una + 1);
        vegas.round_end = next;
        let Some(queued) = queued else { return };
        vegas.increment = 0.0;
        if slow_start {
            vegas.grow = !vegas.grow;
            if vegas.grow && queued > GAMMA {
                self.ssthresh = 2.0;
                self.cwnd = (cwnd - cwnd / 8.0).max(2.0);
            } else if vegas.grow {
                vegas.increment = 1.0;
            }
        } else if queued > BETA {
            self.cwnd = (cwnd - 1.0).max(2.0);
        } else if queued < ALPHA {
            vegas.increment = 1.0 / cwnd;
        }
    }

    fn grow_vegas(&mut self) {
        let passed = self.cwnd >= self.ssthresh;
        let vegas = self.vegas();
        if vegas.increment == 1.0 && passed {
            vegas.increment = 0.0;
        }
        let increment = vegas.increment;
        // Only as fast as the window is used.
        let in_flight = (self.next - self.una + 1) as f64;
        if increment > 0.0 && self.cwnd - in_flight <= 2.0 {
            self.cwnd = (self.cwnd + increment).min(self.growth_bound());
        }
    }

    /// The first two acknowledgements after a retransmission tell whether the next packet is late as well.
    fn look_for_more_losses(&mut self, now: Nanos) {
        let (una, late) = (self.una, self.una < self.max);
        let threshold = self.config.dupack_threshold;
        let vegas = self.vegas();
        if vegas.worried == 0 {
            return;
        }
        vegas.worried -= 1;
        if late && vegas.expired(now, una) {
            self.dupacks = threshold;
            self.resend = Some(una);
        } else {
            vegas.worried = 0;
        }
    }

    fn on_duplicate_vegas(&mut self, now: Nanos) {
        self.dupacks += 1;
        let una = self.una;
        if self.dupacks == self.config.dupack_threshold || self.vegas().expired(now, una) {
            if self.una > self.recover || self.last_reduction != Reduction::Timeout {
                self.on_loss_vegas(now);
            }
        } else if self.dupacks > self.config.dupack_threshold {
            self.cwnd += 1.0;
        }
    }

    fn on_loss_vegas(&mut self, now: Nanos) {
        self.stats.fast_retransmits += 1;
        self.last_reduction = Reduction::Duplicates;
        self.recover = self.max;
        let (una, in_flight, window) = (self.una, self.next - self.una + 1, self.window());
        let vegas = self.vegas();
        let (sent, times) = vegas.departure(una);
        vegas.worried = in_flight.min(2) as u32;
        vegas.timeout *= if times > 1 { 2.0 } else { 1.125 };
        if vegas.reduced_at < sent {
            // The window has not been reduced since the lost packet left.
            let left = match window {
                0..=3 => 2,
                w if times > 1 => w / 2,
                w => w - w / 4,
            };
            vegas.deflated = left as f64;
            vegas.reduced_at = now;
            self.cwnd = left as f64 + f64::from(self.dupacks);
        }
        if times == 1 {
            self.dupacks = self.config.dupack_threshold;
        }
        self.rtt.back_off();
        self.forget_timing(now);
        self.resend = Some(una);
    }

    pub(super) fn on_timeout_vegas(&mut self, now: Nanos) {
        self.collapse(Reduction::Timeout);
        self.cwnd = RESTART.min(f64::from(self.config.max_window));
        self.go_back(now);
        let vegas = self.vegas();
        vegas.deflated = 0.0;
        vegas.reduced_at = now;
    }
}
