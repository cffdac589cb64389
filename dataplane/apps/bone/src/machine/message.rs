//! What hub and rims tell each other: a UDP payload a message, numbers in network order.
//!
//! ```text
//! version u8 = 0xb1, kind u8, transfer u32, then by kind:
//!  1 IPM_SEND  spread_ms u16                     a multicast begins; answer within this time
//!  2 JOIN      rim u32
//!  3 CONTROL   method u8, repair u8, size u64, mode u16, packet u16, per_round u16, interval_us u32,
//!              grace_ms u16, window_ms u16, digest 32 bytes, name
//!  4 ROUND     round u32, packet u16, count u16, first u64
//!  5 DATA      round u32, number u16, shard u16, offset u64, bytes
//!  6 RESULT    rim u32, round u32, complete u8, need u16, rate u64, spans
//!  7 HEARD     round u32, spans                  what others have asked for
//!  8 POLL      round u32, rims (u8 count, u32 each; none: everyone)
//!  9 LEAVE     rim u32
//! 10 END       complete u8                       of the transfer
//! 11 ASK       rim u32, name                     a rim wants this file (transfer 0)
//! 12 ANSWER    rim u32, verdict u8, name         what comes of it (transfer 0)
//! 13 HERE                                        a hub that has nothing to send can be asked
//! spans: u8 count, then offset u64 and length u64 each; name: u8 length, UTF-8
//! ```
//!
//! No packet of the group transport ([`groupflow_transport::wire`]) begins with this version: a socket tells
//! them apart by it.

use super::names::{FileName, RimId, TransferId};

/// The version of these messages.
pub const VERSION: u8 = 0xb1;
/// Bytes of a DATA message besides its payload.
pub const DATA_HEADER: usize = 22;
/// The most bytes of a file in a message: with all headers it fits an Ethernet frame.
pub const MAX_PACKET: u16 = 1400;
/// The most spans of a message.
pub const MAX_SPANS: usize = 64;
/// The most rims of a POLL.
pub const MAX_AWAITED: usize = 250;
/// Bytes of a rim's memory that a block of erasure coding may take.
pub const MAX_BLOCK: usize = 1 << 20;

/// How a file is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Method {
    /// The paper's adaptive multicast: rims join, every round's size is announced, everyone answers.
    Scheduled = 1,
    /// Its non-adaptive multicast: nobody joins, the size is fixed, silence is success.
    Unscheduled = 2,
    /// To one rim after the other.
    Unicast = 3,
}

/// What is sent again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Repair {
    /// Everything from the earliest byte that a rim lacks (the paper's).
    GoBackN = 1,
    /// What some rim lacks.
    Selective = 2,
    /// Other packets of a block, of which any number that is enough restores it.
    Erasure = 3,
}

/// Bytes of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// The first.
    pub offset: u64,
    /// How many; at least one.
    pub length: u64,
}

impl Span {
    /// From the first to past the last.
    pub fn range(self) -> std::ops::Range<u64> {
        self.offset..self.offset + self.length
    }
}

/// The control parameters of a transfer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Control {
    /// How it is sent.
    pub method: Method,
    /// What is sent again.
    pub repair: Repair,
    /// Bytes of the file.
    pub size: u64,
    /// The file's access mode.
    pub mode: u16,
    /// Bytes of payload of a packet, where rounds do not announce another.
    pub packet: u16,
    /// Packets of a round; of a block, of erasure coding.
    pub per_round: u16,
    /// Between two packets, in microseconds.
    pub interval_us: u32,
    /// How much later than expected a packet may come, in milliseconds.
    pub grace_ms: u16,
    /// Over how many milliseconds answers are spread; 0: they come at once, and everyone answers.
    pub window_ms: u16,
    /// Of the file; opaque here.
    pub digest: [u8; 32],
    /// The file's name.
    pub name: FileName,
}

/// The announcement of a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Round {
    /// Its number, from 1.
    pub round: u32,
    /// Bytes of payload of its packets.
    pub packet: u16,
    /// How many there are.
    pub count: u16,
    /// The offset of the first.
    pub first: u64,
}

/// A packet of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Data {
    /// Of this round.
    pub round: u32,
    /// Its number in the round, from 1; 0 is the last packet of the file (not of erasure coding).
    pub number: u16,
    /// Of erasure coding: which packet of the block this is; those from the block's own number on are coded.
    pub shard: u16,
    /// The offset of its first byte; of a coded packet, of the block.
    pub offset: u64,
    /// The bytes.
    pub bytes: Vec<u8>,
}

/// A reception result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reception {
    /// Whose.
    pub rim: RimId,
    /// After this round.
    pub round: u32,
    /// Whether it has the whole file.
    pub complete: bool,
    /// Of erasure coding: packets that it needs to restore the round's block.
    pub need: u16,
    /// Payload bytes/s at which packets of the round came; 0: unknown.
    pub rate: u64,
    /// What it lacks, ascending: of Go-Back-N one span, from the retransmission position to the end.
    pub lacks: Vec<Span>,
}

/// What comes of a rim's wish for a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Verdict {
    /// It will be sent, or is being sent.
    Queued = 1,
    /// The hub has no such file.
    Unknown = 2,
    /// Too many files wait already.
    Busy = 3,
    /// The hub cannot read the file.
    Unreadable = 4,
}

/// What one tells the other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Body {
    /// See the module.
    IpmSend {
        /// Answer within this time.
        spread_ms: u16,
    },
    /// A rim takes part.
    Join {
        /// Which.
        rim: RimId,
    },
    /// The control parameters.
    Control(Control),
    /// A round begins.
    Round(Round),
    /// A packet of the file.
    Data(Data),
    /// A reception result.
    Result(Reception),
    /// What was asked for after this round: who lacks no more need not answer.
    Heard {
        /// The round.
        round: u32,
        /// What the hub will send again.
        lacks: Vec<Span>,
    },
    /// Answer.
    Poll {
        /// The last round.
        round: u32,
        /// Who; none is everyone.
        awaited: Vec<RimId>,
    },
    /// A rim takes part no more.
    Leave {
        /// Which.
        rim: RimId,
    },
    /// The transfer is over.
    End {
        /// Or given up.
        complete: bool,
    },
    /// A rim wants a file.
    Ask {
        /// Which rim.
        rim: RimId,
        /// Which file.
        name: FileName,
    },
    /// What comes of it.
    Answer {
        /// Who asked.
        rim: RimId,
        /// Which file.
        name: FileName,
        /// This.
        verdict: Verdict,
    },
    /// A hub is here, and can be asked.
    Here,
}

/// A message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Of this transfer.
    pub transfer: TransferId,
    /// What it says.
    pub body: Body,
}
