//! Packet numbers and TCP's sequence numbers.
//!
//! Packet 0 is the SYN, where there is one: it takes one sequence number, as in TCP. Every other packet takes
//! `mss` of them, but for the last one of a stream of given length.

#[derive(Debug, Clone, Copy)]
pub(super) struct Numbering {
    mss: u32,
    /// Bytes that the SYN is short of a full packet.
    syn_gap: u64,
}

impl Numbering {
    pub fn new(mss: u32, syn: bool) -> Numbering {
        Numbering { mss, syn_gap: if syn { u64::from(mss) - 1 } else { 0 } }
    }

    /// Whether packet 0 is a SYN.
    pub fn has_syn(self) -> bool {
        // With one-byte packets SYN and data look alike, and nothing depends on it: both take one number.
        self.syn_gap != 0 || self.mss == 1
    }

    /// The first byte of `packet`, before it is cut to 32 bits.
    pub fn byte(self, packet: u64) -> u64 {
        match packet {
            0 => 0,
            n => n.wrapping_mul(u64::from(self.mss)).wrapping_sub(self.syn_gap),
        }
    }

    /// The first byte of `packet`, as on the wire.
    pub fn wire(self, packet: u64) -> u32 {
        self.byte(packet) as u32
    }

    /// The packet that starts at `wire` or holds it, where it is less than 2^31 bytes from the first byte of
    /// `near`, and the bytes that `wire` is into it.
    pub fn packet(self, near: u64, wire: u32) -> Option<(u64, u32)> {
        let base = self.byte(near);
        let distance = i64::from(wire.wrapping_sub(base as u32) as i32);
        if distance == 0 {
            return Some((near, 0));
        }
        let byte = base.checked_add_signed(distance)?;
        if byte == 0 {
            return Some((0, 0));
        }
        let shifted = byte + self.syn_gap;
        Some((shifted / u64::from(self.mss), (shifted % u64::from(self.mss)) as u32))
    }
}

#[cfg(test)]
#[path = "tests/sequence.rs"]
mod tests;
