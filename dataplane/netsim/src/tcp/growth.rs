//! How the window opens with acknowledgements and by how much a loss closes it.

use groupflow_base::Nanos;

use super::compound::Compound;
use super::config::{Behaviour, Variant};
use super::cubic::Cubic;

/// What new data was acknowledged.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ack {
    pub now: Nanos,
    /// Packets newly acknowledged.
    pub acked: u64,
    /// Lowest packet not acknowledged, and one past the highest sent.
    pub una: u64,
    pub max: u64,
    /// Last and smoothed round trip; 0 before the first measurement.
    pub rtt: Nanos,
    pub smooth_rtt: Nanos,
}

#[derive(Debug, Clone)]
pub(super) enum Growth {
    /// One packet a round trip (RFC 5681).
    Reno,
    Cubic(Cubic),
    Compound(Compound),
}

impl Growth {
    pub fn new(variant: Variant) -> Growth {
        match variant {
            Variant::Cubic => Growth::Cubic(Cubic::default()),
            Variant::Compound => Growth::Compound(Compound::default()),
            _ => Growth::Reno,
        }
    }

    /// The window after an acknowledgement: slow start below the threshold, then the variant's own.
    pub fn open(&mut self, cwnd: f64, ssthresh: f64, ack: Ack) -> f64 {
        let slow_start = cwnd < ssthresh;
        if let Growth::Compound(compound) = self {
            compound.on_ack(cwnd, slow_start, ack);
        }
        match self {
            _ if slow_start => cwnd + 1.0,
            Growth::Reno => cwnd + 1.0 / cwnd,
            Growth::Cubic(cubic) => cubic.open(cwnd, ack),
            Growth::Compound(compound) => cwnd + 1.0 / (cwnd + compound.window()),
        }
    }

    /// Threshold and window after a loss that found `base` packets in the window.
    pub fn on_loss(&mut self, base: f64, behaviour: Behaviour) -> (f64, f64) {
        match self {
            Growth::Reno | Growth::Compound(_) if behaviour == Behaviour::Ns2 => {
                let half = self.halve(base);
                (half.floor(), half)
            }
            Growth::Reno | Growth::Compound(_) => {
                let half = self.halve(base).max(2.0);
                (half, half)
            }
            Growth::Cubic(cubic) => {
                let window = cubic.on_loss(base).max(2.0);
                (window, window)
            }
        }
    }

    fn halve(&mut self, base: f64) -> f64 {
        match self {
            Growth::Compound(compound) => compound.on_loss(base),
            _ => base / 2.0,
        }
    }

    /// After a timeout the window is one packet, whatever a loss left.
    pub fn on_collapse(&mut self) {
        if let Growth::Compound(compound) = self {
            compound.on_timeout();
        }
    }

    /// The part of the window that delay sets: Compound's.
    pub fn delay_window(&self) -> f64 {
        match self {
            Growth::Compound(compound) => compound.window(),
            _ => 0.0,
        }
    }
}
