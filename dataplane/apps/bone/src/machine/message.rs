//! The messages of hub and rims: a UDP payload a message, numbers in network order.
//! A message is version (u8, 0xb2), kind (u8), transfer (u32), and the fields of its kind as they are
//! declared here, or written and read by hand below. Spans are a u8 count, then offset (u64) and length (u64)
//! of each; the rims of a POLL are a u8 count, then a u32 each; a name is a u8 length and UTF-8.
//!
//! No packet of the group transport (`groupflow_transport::wire`) begins with this version: a socket tells
//! them apart by it.

use std::fmt;
use std::ops::{Range, RangeInclusive};

use groupflow_base::codec::{CodecError, Reader, Writer};
use groupflow_base::wire::WireField;
use groupflow_base::{wire_enum, wire_frames, wire_struct};

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

wire_enum!(
    /// The way a file is sent; the command line shows these comments.
    #[cfg_attr(feature = "agent", derive(clap::ValueEnum))]
    Method, "control.method", {
        /// To all rims at once; rims join, and the size of packets adapts
        Scheduled = 1 => "scheduled",
        /// To all rims at once; nobody joins, the size is fixed, and silence means success
        Unscheduled = 2 => "unscheduled",
        /// To one rim after the other
        Unicast = 3 => "unicast",
    }
);
wire_enum!(
    /// The choice of bytes that are sent again; the command line shows these comments.
    #[cfg_attr(feature = "agent", derive(clap::ValueEnum))]
    Repair, "control.repair", {
        /// All from the earliest byte that a rim lacks
        GoBackN = 1 => "go_back_n",
        /// Only the bytes that a rim lacks
        Selective = 2 => "selective",
    }
);
wire_enum!(
    /// The hub's answer to a rim's wish for a file.
    Verdict, "answer.verdict", {
        /// The file will be sent, or is being sent.
        Queued = 1 => "queued",
        Unknown = 2 => "unknown",
        /// Too many files wait already.
        Busy = 3 => "busy",
        Unreadable = 4 => "unreadable",
    }
);

wire_struct!(
    Parameters, "control.", {
        method: Method,
        repair: Repair,
        /// The file's size in bytes.
        size: u64,
        /// The file's access mode.
        mode: u16 = 0..=0o777,
        /// Payload bytes of a packet, unless a round announces another size.
        packet: u16 = 1..=MAX_PACKET,
        per_round: u16 = 1..=u16::MAX,
        /// Time between two packets, µs.
        interval_us: u32,
        /// By how much a packet may be late, ms.
        grace_ms: u16,
        /// The time over which answers are spread, ms; 0: all rims answer, at once.
        window_ms: u16,
        /// The hub's time for JOIN messages, ms: a rim that then knows no parameters joins again.
        join_ms: u16 = WAITS_MS,
        /// The hub's time for reception results, ms: a rim reports within half of it, and the report travels
        /// in the other half.
        result_ms: u16 = WAITS_MS,
        /// The time without a word of the hub after which a rim may turn to another hub, s.
        silence_s: u16 = SILENCES_S,
        /// The file's digest, opaque to the machines.
        digest: [u8; 32],
        name: FileName,
    }
);
wire_struct!(
    #[derive(Copy)]
    Round, "round.", {
        /// The round's number, from 1.
        round: u32,
        /// Payload bytes of the round's packets.
        packet: u16 = 1..=MAX_PACKET,
        count: u16 = 1..=u16::MAX,
        /// The offset of the first packet.
        first: u64,
    }
);

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DataPacket {
    pub round: u32,
    /// The packet's number in the round, from 1; 0 is the last packet of the file.
    pub number: u16,
    /// The offset of the packet's first byte.
    pub offset: u64,
    pub bytes: Vec<u8>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reception {
    pub rim: RimId,
    pub round: u32,
    pub complete: bool,
    /// Payload bytes/s at which packets of the round arrived; 0: unknown.
    pub rate: u64,
    /// The bytes that the rim lacks, ascending; with Go-Back-N one span, from the retransmission position to
    /// the end.
    pub lacks: Vec<Range<u64>>,
}

wire_frames!(
    Body, "kind", "message", {
        /// A multicast begins, and rims are asked to join within this time.
        IpmSend = 1 => "ipm_send." { spread_ms: u16 },
        /// A rim takes part.
        Join = 2 => "join." { rim: RimId },
        Control(control: Parameters) = 3,
        Round(round: Round) = 4,
        Data(data: DataPacket) = 5,
        Result(result: Reception) = 6,
        /// The bytes asked for after this round, which the hub will send again: a rim that lacks nothing else
        /// need not answer.
        Heard = 7 => "heard." { round: u32, lacks: Vec<Range<u64>> => spans },
        /// Rims (none named: all) are asked to answer; the round is the last one.
        Poll = 8 => "poll." { round: u32, awaited: Vec<RimId> => awaited },
        /// A rim takes part no more.
        Leave = 9 => "leave." { rim: RimId, complete: bool },
        /// The transfer is over: completed, or given up.
        End = 10 => "end." { complete: bool },
        /// A rim wants a file (transfer 0).
        Ask = 11 => "ask." { rim: RimId, name: FileName },
        /// The hub answers a rim's wish (transfer 0).
        Answer = 12 => "answer." { rim: RimId, verdict: Verdict, name: FileName },
        /// A hub is here, and can be asked.
        Here = 13,
    }
);

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    pub transfer: TransferId,
    pub body: Body,
}

/// The longest file name, in bytes.
pub const MAX_NAME: usize = 200;

/// The number of one multicast of one file. A hub never uses the same number twice in a row.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Deserialize)]
pub struct TransferId(pub u32);

/// A rim's number, which it chose at random.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RimId(pub u32);

groupflow_base::wire_number!(RimId);

impl fmt::Display for RimId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rim {:08x}", self.0)
    }
}

/// The name under which a file is stored: it names a file in a directory, and none outside it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileName(String);

impl FileName {
    /// Parses a name; the error is the rule that the text breaks.
    pub fn parse(text: &str) -> Result<FileName, &'static str> {
        if text.is_empty() || text.len() > MAX_NAME {
            return Err("must have 1 to 200 bytes");
        }
        if text.starts_with('.') {
            return Err("must not begin with a dot");
        }
        if text.chars().any(|c| matches!(c, '/' | '\\') || c.is_control()) {
            return Err("must not leave its directory: no slash, backslash or control character");
        }
        Ok(FileName(text.to_owned()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for FileName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Message {
    pub fn encode(&self) -> Vec<u8> {
        let mut w = Writer::default();
        w.u8(VERSION).u8(self.body.number()).u32(self.transfer.0);
        self.body.write_body(&mut w);
        w.into_bytes()
    }

    /// Parses a message; an error names the field that is wrong.
    pub fn parse(bytes: &[u8]) -> Result<Message, CodecError> {
        let mut reader = Reader::new(bytes);
        let version = reader.u8("version")?;
        if version != VERSION {
            return Err(CodecError::value("version", version));
        }
        let kind = reader.u8("kind")?;
        let transfer = TransferId(reader.u32("transfer")?);
        Ok(Message { transfer, body: Body::parse_body(kind, reader.rest())? })
    }
}

/// Between number and offset are two bytes that are 0.
impl WireField for DataPacket {
    fn write(&self, w: &mut Writer) {
        w.u32(self.round).u16(self.number).u16(0).u64(self.offset).bytes(&self.bytes);
    }

    fn read(reader: &mut Reader<'_>, _: &'static str) -> Result<DataPacket, CodecError> {
        let round = reader.u32("data.round")?;
        let number = reader.u16("data.number")?;
        reader.u16_in(0..=0, "data.reserved")?;
        let offset = reader.u64("data.offset")?;
        let bytes = reader.rest().to_vec();
        if bytes.is_empty() || bytes.len() > usize::from(MAX_PACKET) {
            return Err(CodecError::value("data.length", bytes.len() as u64));
        }
        if offset.checked_add(bytes.len() as u64).is_none() {
            return Err(CodecError::value("data.offset", offset));
        }
        Ok(DataPacket { round, number, offset, bytes })
    }
}

/// Between `complete` and `rate` are two bytes that are 0.
impl WireField for Reception {
    fn write(&self, w: &mut Writer) {
        w.u32(self.rim.0).u32(self.round).u8(self.complete.into()).u16(0).u64(self.rate);
        spans::write(&self.lacks, w);
    }

    fn read(reader: &mut Reader<'_>, _: &'static str) -> Result<Reception, CodecError> {
        let rim = RimId(reader.u32("result.rim")?);
        let round = reader.u32("result.round")?;
        let complete = reader.flag("result.complete")?;
        reader.u16_in(0..=0, "result.reserved")?;
        let rate = reader.u64("result.rate")?;
        let lacks = spans::read(reader, "result.lacks")?;
        if complete != lacks.is_empty() {
            let problem = "must be 1 where no byte is lacking, and 0 where one is";
            return Err(CodecError::new("result.complete", problem));
        }
        Ok(Reception { rim, round, complete, rate, lacks })
    }
}

impl WireField for FileName {
    fn write(&self, w: &mut Writer) {
        w.text(self.as_str());
    }

    fn read(reader: &mut Reader<'_>, field: &'static str) -> Result<FileName, CodecError> {
        FileName::parse(reader.text(field)?).map_err(|problem| CodecError::new(field, problem))
    }
}

/// The rims that a POLL names.
mod awaited {
    use super::{CodecError, Reader, RimId, WireField, Writer, MAX_AWAITED};

    pub fn write(awaited: &[RimId], w: &mut Writer) {
        let awaited = &awaited[..awaited.len().min(MAX_AWAITED)];
        w.u8(awaited.len() as u8);
        awaited.iter().for_each(|rim| rim.write(w));
    }

    pub fn read(reader: &mut Reader<'_>, _: &'static str) -> Result<Vec<RimId>, CodecError> {
        let count = reader.u8("poll.count")?;
        if usize::from(count) > MAX_AWAITED {
            return Err(CodecError::value("poll.count", count));
        }
        (0..count).map(|_| RimId::read(reader, "poll.rim")).collect()
    }
}

/// Spans in ascending order, apart from each other, and not empty.
mod spans {
    use super::{CodecError, Range, Reader, Writer, MAX_SPANS};

    pub fn write(spans: &[Range<u64>], w: &mut Writer) {
        let spans = &spans[..spans.len().min(MAX_SPANS)];
        w.u8(spans.len() as u8);
        for span in spans {
            w.u64(span.start).u64(span.end - span.start);
        }
    }

    pub fn read(reader: &mut Reader<'_>, field: &'static str) -> Result<Vec<Range<u64>>, CodecError> {
        let count = reader.u8(field)?;
        if usize::from(count) > MAX_SPANS {
            return Err(CodecError::value(field, count));
        }
        let (mut spans, mut from) = (Vec::with_capacity(count.into()), 0);
        for _ in 0..count {
            let (offset, length) = (reader.u64(field)?, reader.u64(field)?);
            let end = offset.checked_add(length).filter(|_| length > 0 && offset >= from);
            let problem = "spans are empty, overlap or end beyond the longest file";
            from = end.ok_or(CodecError::new(field, problem))?;
            spans.push(offset..from);
        }
        Ok(spans)
    }
}
