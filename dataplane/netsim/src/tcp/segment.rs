//! A segment as the endpoints see it, with the length of a payload that is never stored; packet numbers and
//! TCP's sequence numbers.
//!
//! Packet 0 is the SYN, where there is one: it takes one sequence number, as in TCP. Every other packet takes
//! `mss` of them, but for the last one of a stream of given length.

/// SACK blocks a header has room for without timestamps; with them it holds three (RFC 2018, section 3).
pub const MAX_SACK_BLOCKS: usize = 4;

/// One TCP segment. `ecn` belongs to the IP header: the code that frames the segment writes and reads it
/// there.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Segment {
    pub source_port: u16,
    pub destination_port: u16,
    /// First byte carried, modulo 2^32.
    pub seq: u32,
    /// Next byte expected, modulo 2^32.
    pub ack: u32,
    pub flags: TcpFlags,
    /// Window as written, before scaling. These endpoints write 65535 and limit the window by configuration.
    pub window: u16,
    /// Bytes of payload.
    pub payload: u32,
    /// The ECN field of the packet that carries the segment.
    pub ecn: Ecn,
    /// RFC 7323 timestamps, in microseconds.
    pub timestamps: Option<Timestamps>,
    pub sack: Sack,
}

impl Segment {
    /// Bytes of TCP header, options and their padding included: 20 to 60.
    pub fn header_len(&self) -> usize {
        let timestamps = if self.timestamps.is_some() { 12 } else { 0 };
        let sack = match self.sack.blocks().len() {
            0 => 0,
            n => 4 + 8 * n,
        };
        20 + timestamps + sack
    }
}

/// TCP's control bits, as in the header's 14th byte.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TcpFlags(pub u8);

impl TcpFlags {
    /// Last segment of one direction.
    pub const FIN: TcpFlags = TcpFlags(0x01);
    /// First segment of a connection.
    pub const SYN: TcpFlags = TcpFlags(0x02);
    /// The acknowledgement field is valid.
    pub const ACK: TcpFlags = TcpFlags(0x10);
    /// Congestion experienced, echoed (RFC 3168).
    pub const ECE: TcpFlags = TcpFlags(0x40);
    /// Congestion window reduced (RFC 3168).
    pub const CWR: TcpFlags = TcpFlags(0x80);

    pub const fn has(self, bits: TcpFlags) -> bool {
        self.0 & bits.0 == bits.0
    }

    pub const fn with(self, bits: TcpFlags) -> TcpFlags {
        TcpFlags(self.0 | bits.0)
    }
}

/// The ECN field of the IP header (RFC 3168, section 5), with its two bits as the value.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum Ecn {
    /// The transport does not understand ECN.
    #[default]
    NotEct = 0,
    /// ECN-capable, codepoint ECT(1).
    Ect1 = 1,
    /// ECN-capable, codepoint ECT(0).
    Ect0 = 2,
    Ce = 3,
}

impl Ecn {
    /// The field in the lower two bits of `bits`.
    pub const fn from_bits(bits: u8) -> Ecn {
        match bits & 3 {
            0 => Ecn::NotEct,
            1 => Ecn::Ect1,
            2 => Ecn::Ect0,
            _ => Ecn::Ce,
        }
    }
}

/// RFC 7323's timestamps: microseconds, modulo 2^32.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Timestamps {
    /// When this segment left.
    pub value: u32,
    /// The value of the segment that this one answers.
    pub echo: u32,
}

/// A run of bytes that arrived: from `left`, up to but not including `right`, modulo 2^32.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SackBlock {
    pub left: u32,
    /// One past the last byte.
    pub right: u32,
}

/// Up to [`MAX_SACK_BLOCKS`] blocks, the most recent first.
#[derive(Debug, Clone, Copy, Default)]
pub struct Sack {
    len: u8,
    blocks: [SackBlock; MAX_SACK_BLOCKS],
}

impl Sack {
    /// Appends a block. Returns false, without a change, where the list is full.
    pub fn push(&mut self, block: SackBlock) -> bool {
        match self.blocks.get_mut(usize::from(self.len)) {
            Some(slot) => {
                *slot = block;
                self.len += 1;
                true
            }
            None => false,
        }
    }

    pub fn blocks(&self) -> &[SackBlock] {
        &self.blocks[..usize::from(self.len)]
    }
}

impl PartialEq for Sack {
    fn eq(&self, other: &Sack) -> bool {
        self.blocks() == other.blocks()
    }
}

impl Eq for Sack {}

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
