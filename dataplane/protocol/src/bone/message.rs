//! What hub and rims tell each other: a UDP payload a message, numbers in network order.
//!
//! ```text
//! version u8 = 1, kind u8, transfer u32, then by kind:
//!  1 IPM_SEND  spread_ms u16                     a multicast begins; answer within this time
//!  2 JOIN      rim u32
//!  3 CONTROL   method u8, repair u8, size u64, mode u16, packet u16, per_round u16, interval_us u32,
//!              grace_ms u16, window_ms u16, digest 32 bytes, name (u8 length, UTF-8)
//!  4 ROUND     round u32, packet u16, count u16, first u64
//!  5 DATA      round u32, number u16, shard u16, offset u64, bytes
//!  6 RESULT    rim u32, round u32, complete u8, need u16, rate u64, spans
//!  7 HEARD     round u32, spans                  what others have asked for
//!  8 POLL      round u32, rims (u8 count, u32 each; none: everyone)
//!  9 LEAVE     rim u32
//! 10 END       complete u8                       of the transfer
//! spans: u8 count, then offset u64 and length u64 each
//! ```

use thiserror::Error;

use super::coding::UNIT;
use super::names::{FileName, RimId, TransferId};
use crate::wire::{Reader, WireError};

/// The version of these messages.
pub const VERSION: u8 = 1;
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

/// Why bytes are no message.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum MessageError {
    /// A field is cut off, out of range, or followed by more.
    #[error(transparent)]
    Wire(#[from] WireError),
    /// A file name that will not do.
    #[error("control.name: {0}")]
    Name(&'static str),
    /// Two fields do not go together.
    #[error("{field}: {problem}")]
    Contradiction {
        /// The field.
        field: &'static str,
        /// What is wrong.
        problem: &'static str,
    },
}

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
}

/// A message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Of this transfer.
    pub transfer: TransferId,
    /// What it says.
    pub body: Body,
}

impl Message {
    /// The bytes.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = vec![VERSION, self.body.kind()];
        out.extend(self.transfer.0.to_be_bytes());
        match &self.body {
            Body::IpmSend { spread_ms } => out.extend(spread_ms.to_be_bytes()),
            Body::Join { rim } | Body::Leave { rim } => out.extend(rim.0.to_be_bytes()),
            Body::Control(control) => control.encode(&mut out),
            Body::Round(round) => {
                out.extend(round.round.to_be_bytes());
                out.extend(round.packet.to_be_bytes());
                out.extend(round.count.to_be_bytes());
                out.extend(round.first.to_be_bytes());
            }
            Body::Data(data) => {
                out.extend(data.round.to_be_bytes());
                out.extend(data.number.to_be_bytes());
                out.extend(data.shard.to_be_bytes());
                out.extend(data.offset.to_be_bytes());
                out.extend(&data.bytes);
            }
            Body::Result(result) => {
                out.extend(result.rim.0.to_be_bytes());
                out.extend(result.round.to_be_bytes());
                out.push(result.complete.into());
                out.extend(result.need.to_be_bytes());
                out.extend(result.rate.to_be_bytes());
                encode_spans(&result.lacks, &mut out);
            }
            Body::Heard { round, lacks } => {
                out.extend(round.to_be_bytes());
                encode_spans(lacks, &mut out);
            }
            Body::Poll { round, awaited } => {
                out.extend(round.to_be_bytes());
                let awaited = &awaited[..awaited.len().min(MAX_AWAITED)];
                out.push(awaited.len() as u8);
                awaited.iter().for_each(|rim| out.extend(rim.0.to_be_bytes()));
            }
            Body::End { complete } => out.push((*complete).into()),
        }
        out
    }

    /// Reads a message; what is wrong is named by its field.
    pub fn parse(bytes: &[u8]) -> Result<Message, MessageError> {
        let mut reader = Reader::new(bytes);
        let version = reader.u8("version")?;
        if version != VERSION {
            return Err(illegal("version", version));
        }
        let kind = reader.u8("kind")?;
        let transfer = TransferId(reader.u32("transfer")?);
        let body = match kind {
            1 => Body::IpmSend { spread_ms: reader.u16("ipm_send.spread_ms")? },
            2 => Body::Join { rim: RimId(reader.u32("join.rim")?) },
            3 => Body::Control(Control::parse(&mut reader)?),
            4 => Body::Round(parse_round(&mut reader)?),
            5 => Body::Data(parse_data(&mut reader)?),
            6 => Body::Result(parse_result(&mut reader)?),
            7 => Body::Heard {
                round: reader.u32("heard.round")?,
                lacks: parse_spans(&mut reader, "heard.lacks")?,
            },
            8 => parse_poll(&mut reader)?,
            9 => Body::Leave { rim: RimId(reader.u32("leave.rim")?) },
            10 => Body::End { complete: flag(&mut reader, "end.complete")? },
            _ => return Err(illegal("kind", kind)),
        };
        reader.end("message")?;
        Ok(Message { transfer, body })
    }
}

impl Body {
    fn kind(&self) -> u8 {
        match self {
            Body::IpmSend { .. } => 1,
            Body::Join { .. } => 2,
            Body::Control(_) => 3,
            Body::Round(_) => 4,
            Body::Data(_) => 5,
            Body::Result(_) => 6,
            Body::Heard { .. } => 7,
            Body::Poll { .. } => 8,
            Body::Leave { .. } => 9,
            Body::End { .. } => 10,
        }
    }
}

impl Control {
    fn encode(&self, out: &mut Vec<u8>) {
        out.extend([self.method as u8, self.repair as u8]);
        out.extend(self.size.to_be_bytes());
        out.extend(self.mode.to_be_bytes());
        out.extend(self.packet.to_be_bytes());
        out.extend(self.per_round.to_be_bytes());
        out.extend(self.interval_us.to_be_bytes());
        out.extend(self.grace_ms.to_be_bytes());
        out.extend(self.window_ms.to_be_bytes());
        out.extend(self.digest);
        out.push(self.name.as_str().len() as u8);
        out.extend(self.name.as_str().as_bytes());
    }

    fn parse(reader: &mut Reader<'_>) -> Result<Control, MessageError> {
        let method = match reader.u8("control.method")? {
            1 => Method::Scheduled,
            2 => Method::Unscheduled,
            3 => Method::Unicast,
            other => return Err(illegal("control.method", other)),
        };
        let repair = match reader.u8("control.repair")? {
            1 => Repair::GoBackN,
            2 => Repair::Selective,
            3 => Repair::Erasure,
            other => return Err(illegal("control.repair", other)),
        };
        let size = reader.u64("control.size")?;
        let mode = reader.u16("control.mode")?;
        if mode > 0o777 {
            return Err(illegal("control.mode", mode));
        }
        let packet = packet_size(reader, "control.packet")?;
        let per_round = reader.u16("control.per_round")?;
        if per_round == 0 {
            return Err(illegal("control.per_round", per_round));
        }
        if repair == Repair::Erasure && packet % UNIT != 0 {
            let problem = "erasure coding wants a multiple of 64 bytes";
            return Err(MessageError::Contradiction { field: "control.packet", problem });
        }
        if repair == Repair::Erasure && usize::from(packet) * usize::from(per_round) > MAX_BLOCK {
            let problem = "a block of so many packets is too large";
            return Err(MessageError::Contradiction { field: "control.per_round", problem });
        }
        let interval_us = reader.u32("control.interval_us")?;
        let grace_ms = reader.u16("control.grace_ms")?;
        let window_ms = reader.u16("control.window_ms")?;
        let mut digest = [0; 32];
        digest.copy_from_slice(reader.take(32, "control.digest")?);
        let name = FileName::parse(&reader.text("control.name")?).map_err(MessageError::Name)?;
        Ok(Control {
            method,
            repair,
            size,
            mode,
            packet,
            per_round,
            interval_us,
            grace_ms,
            window_ms,
            digest,
            name,
        })
    }
}

fn parse_round(reader: &mut Reader<'_>) -> Result<Round, MessageError> {
    let round = reader.u32("round.round")?;
    let packet = packet_size(reader, "round.packet")?;
    let count = reader.u16("round.count")?;
    if count == 0 {
        return Err(illegal("round.count", count));
    }
    Ok(Round { round, packet, count, first: reader.u64("round.first")? })
}

fn parse_data(reader: &mut Reader<'_>) -> Result<Data, MessageError> {
    let round = reader.u32("data.round")?;
    let number = reader.u16("data.number")?;
    let shard = reader.u16("data.shard")?;
    let offset = reader.u64("data.offset")?;
    let bytes = reader.rest().to_vec();
    if bytes.is_empty() || bytes.len() > usize::from(MAX_PACKET) {
        return Err(illegal("data.length", bytes.len() as u64));
    }
    if offset.checked_add(bytes.len() as u64).is_none() {
        return Err(illegal("data.offset", offset));
    }
    Ok(Data { round, number, shard, offset, bytes })
}

fn parse_result(reader: &mut Reader<'_>) -> Result<Reception, MessageError> {
    let rim = RimId(reader.u32("result.rim")?);
    let round = reader.u32("result.round")?;
    let complete = flag(reader, "result.complete")?;
    let need = reader.u16("result.need")?;
    let rate = reader.u64("result.rate")?;
    let lacks = parse_spans(reader, "result.lacks")?;
    if complete != lacks.is_empty() {
        let problem = "says that the file is complete, and what is lacking, or neither";
        return Err(MessageError::Contradiction { field: "result.complete", problem });
    }
    Ok(Reception { rim, round, complete, need, rate, lacks })
}

fn parse_poll(reader: &mut Reader<'_>) -> Result<Body, MessageError> {
    let round = reader.u32("poll.round")?;
    let count = reader.u8("poll.count")?;
    if usize::from(count) > MAX_AWAITED {
        return Err(illegal("poll.count", count));
    }
    let awaited = (0..count).map(|_| Ok(RimId(reader.u32("poll.rim")?))).collect::<Result<_, WireError>>()?;
    Ok(Body::Poll { round, awaited })
}

fn encode_spans(spans: &[Span], out: &mut Vec<u8>) {
    let spans = &spans[..spans.len().min(MAX_SPANS)];
    out.push(spans.len() as u8);
    for span in spans {
        out.extend(span.offset.to_be_bytes());
        out.extend(span.length.to_be_bytes());
    }
}

/// Ascending, apart from each other, none empty.
fn parse_spans(reader: &mut Reader<'_>, field: &'static str) -> Result<Vec<Span>, MessageError> {
    let count = reader.u8(field)?;
    if usize::from(count) > MAX_SPANS {
        return Err(illegal(field, count));
    }
    let (mut spans, mut from) = (Vec::with_capacity(count.into()), 0);
    for _ in 0..count {
        let (offset, length) = (reader.u64(field)?, reader.u64(field)?);
        let end = offset.checked_add(length).filter(|_| length > 0 && offset >= from);
        let problem = "spans are empty, overlap or end beyond the longest file";
        from = end.ok_or(MessageError::Contradiction { field, problem })?;
        spans.push(Span { offset, length });
    }
    Ok(spans)
}

fn packet_size(reader: &mut Reader<'_>, field: &'static str) -> Result<u16, MessageError> {
    match reader.u16(field)? {
        size @ 1..=MAX_PACKET => Ok(size),
        size => Err(illegal(field, size)),
    }
}

fn flag(reader: &mut Reader<'_>, field: &'static str) -> Result<bool, MessageError> {
    match reader.u8(field)? {
        0 => Ok(false),
        1 => Ok(true),
        other => Err(illegal(field, other)),
    }
}

fn illegal(field: &'static str, value: impl Into<u64>) -> MessageError {
    MessageError::Wire(WireError::Value { field, value: value.into() })
}
