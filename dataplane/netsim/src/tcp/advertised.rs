//! The window that a receiver advertises, where it is set while the connection runs.

/// Bits by which the window field is shifted (RFC 7323, section 2): windows of up to 8 MB.
pub(super) const WINDOW_SHIFT: u32 = 7;

/// A receive buffer's limit and the right edge it led to. Counts are packets: this TCP has packets of one
/// size only. A packet is taken to be no smaller than the unit that the shift makes; smaller ones are let
/// through up to that unit's worth early.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Advertised {
    mss: u32,
    packets: u64,
    /// The first packet that may not be sent. It never moves back (RFC 9293, section 3.8.6).
    edge: u64,
}

impl Advertised {
    /// A limit of so many bytes, but of one packet at least: with less nothing could be sent.
    pub fn new(mss: u32, bytes: u64) -> Advertised {
        let mut advertised = Advertised { mss, packets: 1, edge: 0 };
        advertised.set(bytes);
        advertised
    }

    /// Another limit. A promised window stays promised: a smaller one is reached as packets arrive.
    pub fn set(&mut self, bytes: u64) {
        let most = (u64::from(u16::MAX) << WINDOW_SHIFT) / u64::from(self.mss);
        self.packets = (bytes / u64::from(self.mss)).clamp(1, most.max(1));
    }

    /// The window field of an acknowledgement up to `next`.
    pub fn field(&mut self, next: u64) -> u16 {
        self.edge = self.edge.max(next + self.packets);
        let bytes = (self.edge - next) * u64::from(self.mss);
        u16::try_from(bytes.div_ceil(1 << WINDOW_SHIFT)).unwrap_or(u16::MAX)
    }
}

#[cfg(test)]
#[path = "tests/advertised.rs"]
mod tests;
