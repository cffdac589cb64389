//! Tahoe, Reno and NewReno: losses told from duplicate acknowledgements alone.

use groupflow_base::Nanos;

use super::config::Behaviour;
use super::controller::Ack;
use super::segment::Segment;
use super::sender::{Recovery, Reduction, TcpSender, DUPLICATES};

/// The most new packets that NewReno in ns-2 sends for each duplicate during recovery.
const RECOVERY_BURST: u32 = 2;

impl TcpSender {
    pub(super) fn on_ack_classic(&mut self, now: Nanos, acked: u64, segment: &Segment, echoed: bool) {
        if acked > self.una {
            if self.recovering && acked < self.recover {
                self.on_partial_ack(now, acked);
            } else {
                self.on_full_ack(now, acked, segment, echoed);
            }
        } else if acked == self.una && self.una < self.max {
            self.on_duplicate(now);
        } else {
            self.burst = 0;
        }
    }

    fn on_full_ack(&mut self, now: Nanos, acked: u64, segment: &Segment, echoed: bool) {
        if self.last_reduction == Reduction::Duplicates {
            self.last_reduction = Reduction::None;
        }
        self.inflation = 0;
        let news = acked - self.una;
        self.advance(now, acked, segment);
        if self.recovering {
            self.recovering = false;
            self.partial_seen = false;
            if self.config.behaviour == Behaviour::Rfc {
                // RFC 6582, section 3.2, step 3: no burst when recovery ends.
                self.window.cwnd = self.window.ssthresh.min(((self.max - self.una).max(1) + 1) as f64);
                return;
            }
        }
        self.open_window(now, news, echoed);
        self.open_initial_window();
    }

    /// The window opens, but not with an acknowledgement that tells of congestion.
    pub(super) fn open_window(&mut self, now: Nanos, news: u64, echoed: bool) {
        if echoed {
            return;
        }
        let ack = self.ack(now, news);
        self.controller.on_ack(&mut self.window, &ack);
    }

    /// The event that tells a controller of `acked` packets more.
    pub(super) fn ack(&self, now: Nanos, acked: u64) -> Ack {
        Ack {
            now,
            acked,
            una: self.una,
            next: self.next,
            max: self.max,
            rtt: self.rtt.last(),
            smooth_rtt: self.rtt.smooth(),
            most: self.most() as f64,
            heeds_window: self.config.heeds_window,
            ..Ack::default()
        }
    }

    /// NewReno: a hole is filled and the next one shows.
    fn on_partial_ack(&mut self, now: Nanos, acked: u64) {
        let news = acked - self.una;
        if self.inflation > news {
            self.inflation -= news - 1;
        } else {
            self.window.cwnd = (self.window.cwnd - (news - self.inflation) as f64).max(1.0);
            self.inflation = 1;
        }
        // `dupacks` stays: further duplicates inflate the window.
        self.burst = RECOVERY_BURST;
        self.acknowledge(acked);
        self.drop_timed();
        if !self.partial_seen {
            self.partial_seen = true;
            self.restart_timer(now);
        }
        self.resend = Some(self.una);
    }

    fn on_duplicate(&mut self, now: Nanos) {
        self.dupacks += 1;
        let tahoe = matches!(self.recovery, Recovery::Tahoe);
        match self.dupacks.cmp(&DUPLICATES) {
            std::cmp::Ordering::Less => {
                self.extra = true;
                if !tahoe {
                    self.burst = 1;
                }
            }
            std::cmp::Ordering::Equal => self.on_loss_signal(now),
            std::cmp::Ordering::Greater => {
                if !tahoe && self.last_reduction == Reduction::Duplicates {
                    self.inflation += 1;
                }
            }
        }
        if matches!(self.recovery, Recovery::NewReno) && self.dupacks >= DUPLICATES {
            self.burst = RECOVERY_BURST;
        }
    }

    /// As many duplicates as mean a loss.
    fn on_loss_signal(&mut self, now: Nanos) {
        let mut fresh = self.una > self.recover || self.una == 1 && self.config.syn;
        if matches!(self.recovery, Recovery::Reno) && self.last_reduction == Reduction::Duplicates {
            fresh = true;
        }
        let after_echo = !fresh && self.last_reduction == Reduction::Ecn;
        if !fresh && !after_echo {
            // The same window of data: it has been paid for.
            return;
        }
        self.stats.fast_retransmits += 1;
        if fresh {
            self.recover = self.max;
        }
        if matches!(self.recovery, Recovery::Tahoe) {
            if fresh {
                self.collapse(now, Reduction::Duplicates);
            } else {
                self.window.cwnd = 1.0;
                self.last_reduction = Reduction::Duplicates;
            }
            self.next = self.una;
        } else {
            if fresh {
                self.reduce(Reduction::Duplicates, None);
            }
            self.last_reduction = Reduction::Duplicates;
            self.resend = Some(self.una);
            self.inflation = u64::from(DUPLICATES);
            self.recovering = matches!(self.recovery, Recovery::NewReno);
            self.partial_seen = false;
        }
        self.forget_timing(now);
    }
}
