//! The messages of hub and rims: a UDP payload a message, numbers in network order.
//!
//! ```text
//! version u8 = 0xb2, kind u8, transfer u32, then by kind:
//!  1 IPM_SEND  spread_ms u16                     a multicast begins; answer within this time
//!  2 JOIN      rim u32
//!  3 CONTROL   method u8, repair u8, size u64, mode u16, packet u16, per_round u16, interval_us u32,
//!              grace_ms u16, window_ms u16, join_ms u16, result_ms u16, silence_s u16, digest 32 bytes,
//!              name
//!  4 ROUND     round u32, packet u16, count u16, first u64
//!  5 DATA      round u32, number u16, shard u16, offset u64, bytes
//!  6 RESULT    rim u32, round u32, complete u8, need u16, rate u64, spans
//!  7 HEARD     round u32, spans                  the bytes that others have asked for
//!  8 POLL      round u32, rims (u8 count, u32 each; none: everyone)
//!  9 LEAVE     rim u32
//! 10 END       complete u8                       of the transfer
//! 11 ASK       rim u32, name                     a rim wants this file (transfer 0)
//! 12 ANSWER    rim u32, verdict u8, name         the hub's answer to an ASK (transfer 0)
//! 13 HERE                                        a hub that has nothing to send can be asked
//! spans: u8 count, then offset u64 and length u64 each; name: u8 length, UTF-8
//! ```
//!
//! No packet of the group transport ([`groupflow_transport::wire`]) begins with this version: a socket tells
//! them apart by it.

use std::ops::RangeInclusive;

use groupflow_base::wire_enum;

use super::names::{FileName, RimId, TransferId};

pub const VERSION: u8 = 0xb2;
/// Bytes of a DATA message besides its payload.
pub const DATA_HEADER: usize = 22;
/// The most bytes of a file in a message, which fits an Ethernet frame with all headers.
pub const MAX_PACKET: u16 = 1400;
/// The most spans in a message.
pub const MAX_SPANS: usize = 64;
/// The most rims named in a POLL.
pub const MAX_AWAITED: usize = 250;
/// The times for joining and for results that rims keep to, ms: those that a hub's options allow.
pub const WAITS_MS: RangeInclusive<u16> = 10..=60_000;
/// The silences of a hub that rims bear, s.
pub const SILENCES_S: RangeInclusive<u16> = 5..=600;
/// Bytes of a rim's memory that a block of erasure coding may take.
pub const MAX_BLOCK: usize = 1 << 20;

wire_enum!(
    /// The way a file is sent; the command line shows these comments.
    #[cfg_attr(feature = "agent", derive(clap::ValueEnum))]
    Method, "control.method", {
        /// To all rims at once; rims join, and the size of packets adapts
        Scheduled = 1,
        /// To all rims at once; nobody joins, the size is fixed, and silence means success
        Unscheduled = 2,
        /// To one rim after the other
        Unicast = 3,
    }
);
wire_enum!(
    /// The choice of bytes that are sent again; the command line shows these comments.
    #[cfg_attr(feature = "agent", derive(clap::ValueEnum))]
    Repair, "control.repair", {
        /// All from the earliest byte that a rim lacks
        GoBackN = 1,
        /// Only the bytes that a rim lacks
        Selective = 2,
        /// Coded packets, as many as the neediest rim needs
        Erasure = 3,
    }
);
wire_enum!(
    /// The hub's answer to a rim's wish for a file.
    Verdict, "answer.verdict", {
        /// The file will be sent, or is being sent.
        Queued = 1 => "queued",
        /// The hub has no such file.
        Unknown = 2 => "unknown",
        /// Too many files wait already.
        Busy = 3 => "busy",
        /// The hub cannot read the file.
        Unreadable = 4 => "unreadable",
    }
);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// The offset of the first byte.
    pub offset: u64,
    /// The number of bytes, at least one.
    pub length: u64,
}

impl Span {
    /// The offsets from the first byte to past the last.
    pub fn range(self) -> std::ops::Range<u64> {
        self.offset..self.offset + self.length
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parameters {
    /// The way the file is sent.
    pub method: Method,
    /// The choice of bytes that are sent again.
    pub repair: Repair,
    /// The file's size in bytes.
    pub size: u64,
    /// The file's access mode.
    pub mode: u16,
    /// Payload bytes of a packet, unless a round announces another size.
    pub packet: u16,
    /// Packets of a round, or of a block of erasure coding.
    pub per_round: u16,
    /// Time between two packets, µs.
    pub interval_us: u32,
    /// By how much a packet may be late, ms.
    pub grace_ms: u16,
    /// The time over which answers are spread, ms; 0: all rims answer, at once.
    pub window_ms: u16,
    /// The hub's time for JOIN messages, ms: a rim that then knows no parameters joins again.
    pub join_ms: u16,
    /// The hub's time for reception results, ms: a rim reports within half of it, and the report travels in
    /// the other half.
    pub result_ms: u16,
    /// The time without a word of the hub after which a rim may turn to another hub, s.
    pub silence_s: u16,
    /// The file's digest, opaque to the machines.
    pub digest: [u8; 32],
    pub name: FileName,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Round {
    /// The round's number, from 1.
    pub round: u32,
    /// Payload bytes of the round's packets.
    pub packet: u16,
    /// The number of packets.
    pub count: u16,
    /// The offset of the first packet.
    pub first: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DataPacket {
    /// The number of the packet's round.
    pub round: u32,
    /// The packet's number in the round, from 1; 0 is the last packet of the file (not with erasure coding).
    pub number: u16,
    /// With erasure coding, the packet's number in its block; numbers from the block's packet count on are
    /// coded.
    pub shard: u16,
    /// The offset of the packet's first byte, or that of the block for a coded packet.
    pub offset: u64,
    pub bytes: Vec<u8>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reception {
    pub rim: RimId,
    /// The number of the reported round.
    pub round: u32,
    /// Whether the rim has the whole file.
    pub complete: bool,
    /// With erasure coding, packets that the rim needs to restore the round's block.
    pub need: u16,
    /// Payload bytes/s at which packets of the round arrived; 0: unknown.
    pub rate: u64,
    /// The bytes that the rim lacks, ascending; with Go-Back-N one span, from the retransmission position to
    /// the end.
    pub lacks: Vec<Span>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Body {
    /// A multicast begins, and rims are asked to join.
    IpmSend {
        /// Time within which rims answer.
        spread_ms: u16,
    },
    /// A rim takes part.
    Join {
        rim: RimId,
    },
    Control(Parameters),
    Round(Round),
    Data(DataPacket),
    Result(Reception),
    /// The bytes asked for after this round: a rim that lacks nothing else need not answer.
    Heard {
        round: u32,
        /// The bytes that the hub will send again.
        lacks: Vec<Span>,
    },
    /// Rims are asked to answer.
    Poll {
        /// The number of the last round.
        round: u32,
        /// The rims that are asked; none named means all.
        awaited: Vec<RimId>,
    },
    /// A rim takes part no more.
    Leave {
        rim: RimId,
    },
    /// The transfer is over.
    End {
        /// Whether the transfer was completed, and not given up.
        complete: bool,
    },
    /// A rim wants a file.
    Ask {
        rim: RimId,
        name: FileName,
    },
    /// The hub answers a rim's wish.
    Answer {
        rim: RimId,
        name: FileName,
        verdict: Verdict,
    },
    /// A hub is here, and can be asked.
    Here,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    pub transfer: TransferId,
    pub body: Body,
}
