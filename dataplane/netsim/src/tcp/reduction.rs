//! Reductions of a sender's window: by half, to one packet, or for an echo of congestion.

use groupflow_base::Nanos;

use super::config::{Behaviour, Variant};
use super::controller::{Late, LossEvent};
use super::sender::{Recovery, Reduction, TcpSender};

impl TcpSender {
    /// Data in flight or window: the base of a reduction.
    pub(super) fn reduction_base(&self) -> f64 {
        let window = (self.window.cwnd + self.controller.delay_window() + self.inflation as f64)
            .min(self.most() as f64);
        match self.config.behaviour {
            Behaviour::Ns2 => window,
            Behaviour::Rfc => window.min((self.max - self.una) as f64),
        }
    }

    /// Multiplicative decrease.
    pub(super) fn reduce(&mut self, why: Reduction, late: Option<Late>) {
        let loss = LossEvent { base: self.reduction_base(), behaviour: self.config.behaviour, late };
        self.controller.on_loss(&mut self.window, &loss);
        self.last_reduction = why;
        self.reduced = self.config.ecn;
    }

    /// Decrease to the window after a timeout.
    pub(super) fn collapse(&mut self, now: Nanos, why: Reduction) {
        self.reduce(why, None);
        self.window.cwnd = self.controller.on_timeout(now);
    }

    /// RFC 3168: once for a window of data.
    pub(super) fn on_congestion_echo(&mut self, acked: u64) {
        if acked <= self.recover && self.last_reduction != Reduction::Timeout || self.recovering {
            return;
        }
        self.recover = self.max;
        self.reduce(Reduction::Ecn, None);
        self.stats.ecn_reductions += 1;
    }

    /// Nothing came back for as long as the timer runs.
    pub(super) fn on_timeout(&mut self, now: Nanos) {
        self.stats.timeouts += 1;
        if self.una == 0 && self.config.syn && self.config.variant != Variant::Vegas {
            self.config.initial_window = 1;
        }
        self.inflation = 0;
        if self.una < self.recover && self.last_reduction == Reduction::Ecn {
            // The window was halved for the same data already.
            self.window.cwnd = 1.0;
            self.last_reduction = Reduction::Timeout;
        } else {
            self.collapse(now, Reduction::Timeout);
        }
        self.go_back(now);
        match &mut self.recovery {
            Recovery::Sack(board) => board.write_off(self.una, self.max),
            Recovery::Sack1(board, _) => board.clear(),
            _ => {}
        }
        if matches!(self.recovery, Recovery::Sack(_)) {
            self.next = self.max;
        }
    }

    /// The part of a timeout that all variants share: everything unacknowledged is sent again.
    pub(super) fn go_back(&mut self, now: Nanos) {
        self.dupacks = 0;
        self.recovering = false;
        self.partial_seen = false;
        self.recover = self.max;
        self.rtt.back_off();
        self.forget_timing(now);
        self.next = self.una;
    }
}
