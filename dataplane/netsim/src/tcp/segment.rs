//! A segment as the endpoints see it: TCP's header fields and the length of a payload that is never stored.

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
    /// Control bits.
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

    /// Both sets of bits.
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
    /// A queue was congested.
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
    /// First byte.
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
