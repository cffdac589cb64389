//! Congestion control: the window opens with acknowledgements, and closes at a loss or a timeout.

use std::fmt::Debug;

use groupflow_base::Nanos;

use super::compound::Compound;
use super::config::{Behaviour, TcpSenderConfig, Variant};
use super::cubic::Cubic;
use super::vegas::Vegas;

/// Congestion window and slow-start threshold, in packets.
#[derive(Debug, Clone, Copy)]
pub(super) struct CongestionWindow {
    pub cwnd: f64,
    pub ssthresh: f64,
}

impl CongestionWindow {
    pub fn is_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    /// Opens to `cwnd`, as far as the receiver takes it. A window above the receiver's, which has shrunk, is
    /// kept.
    pub fn open(&mut self, cwnd: f64, ack: &Ack) {
        let bound = if ack.heeds_window { ack.most.max(self.cwnd) } else { ack.most };
        self.cwnd = cwnd.min(bound);
    }

    /// Closes the window after a loss.
    pub fn close(&mut self, ssthresh: f64, cwnd: f64) {
        self.ssthresh = ssthresh.max(2.0);
        self.cwnd = cwnd.max(1.0);
    }

    /// Closes to the half that Reno keeps.
    pub fn close_to_half(&mut self, half: f64, behaviour: Behaviour) {
        match behaviour {
            Behaviour::Ns2 => self.close(half.floor(), half),
            Behaviour::Rfc => self.close(half.max(2.0), half.max(2.0)),
        }
    }
}

/// New data that was acknowledged.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Ack {
    pub now: Nanos,
    /// Packets newly acknowledged.
    pub acked: u64,
    /// Lowest packet not acknowledged, the next to be sent, and one past the highest sent.
    pub una: u64,
    pub next: u64,
    pub max: u64,
    /// Last and smoothed round trip; 0 before the first measurement.
    pub rtt: Nanos,
    pub smooth_rtt: Nanos,
    /// The most packets that may be in flight, and whether the receiver says so.
    pub most: f64,
    pub heeds_window: bool,
    /// The acknowledgement is that of the SYN.
    pub handshake: bool,
    /// The acknowledgement ends more duplicates than mean a loss.
    pub inflated: bool,
    /// When the last packet acknowledged left, and how often it did, where the recovery keeps it.
    pub departure: (Nanos, u8),
}

/// A loss that duplicate acknowledgements or an echo of congestion told.
#[derive(Debug, Clone, Copy)]
pub(super) struct LossEvent {
    /// Packets in the window, of which the controller takes its part.
    pub base: f64,
    pub behaviour: Behaviour,
    pub late: Option<Late>,
}

/// A packet that is lost, where the recovery keeps when packets left.
#[derive(Debug, Clone, Copy)]
pub(super) struct Late {
    pub now: Nanos,
    /// When the packet left last, and how often it did.
    pub departure: (Nanos, u8),
    pub window: u64,
    pub dupacks: u32,
}

/// An algorithm that sets the congestion window. A controller knows nothing of its sender but the arguments
/// of these methods.
pub(super) trait CongestionControl: Debug + Send {
    /// The sender begins, for the first time or after idling; the first round ends when `round_end` is
    /// acknowledged.
    fn begin(&mut self, _now: Nanos, _round_end: u64) {}

    fn on_ack(&mut self, window: &mut CongestionWindow, ack: &Ack);

    /// The window closes; to a half unless the controller knows better.
    fn on_loss(&mut self, window: &mut CongestionWindow, loss: &LossEvent) {
        window.close_to_half(loss.base / 2.0, loss.behaviour);
    }

    /// The window after a timeout; a window that a loss left before does not count.
    fn on_timeout(&mut self, _now: Nanos) -> f64 {
        1.0
    }

    /// The part of the window that delay sets, beside the congestion window: Compound's.
    fn delay_window(&self) -> f64 {
        0.0
    }
}

/// The controller of a sender's variant.
pub(super) fn of(config: &TcpSenderConfig) -> Box<dyn CongestionControl> {
    match config.variant {
        Variant::Tahoe | Variant::Reno | Variant::NewReno | Variant::Sack => Box::new(Reno),
        Variant::Cubic => Box::<Cubic>::default(),
        Variant::Compound => Box::<Compound>::default(),
        Variant::Vegas => Box::new(Vegas::new(config.max_window, config.vegas_gamma)),
    }
}

/// One packet more a round trip (RFC 5681).
#[derive(Debug)]
struct Reno;

impl CongestionControl for Reno {
    fn on_ack(&mut self, window: &mut CongestionWindow, ack: &Ack) {
        let more = if window.is_slow_start() { 1.0 } else { 1.0 / window.cwnd };
        window.open(window.cwnd + more, ack);
    }
}
