//! The frames of a stripe: kind (u8), 0 (u8), length of the body (u16), body; numbers in network order.

use groupflow_base::codec::{CodecError, Envelope, Reader, Writer};
use groupflow_base::{wire_enum, StreamId, Token};

use super::coding::ParityGroup;
use super::names::{ClientName, Epoch};
use super::repairs::Parity;

pub const VERSION: u8 = 2;
/// Bytes before the body.
pub const HEADER: usize = Envelope::HEADER;
/// Bytes of DATA besides the stream's.
pub const DATA_HEADER: usize = HEADER + 8;
/// The most bytes of the stream that fit a DATA frame.
pub const MAX_DATA: usize = u16::MAX as usize - 8;
/// The longest text of a refusal.
pub const MAX_TEXT: usize = 512;
/// The longest body except DATA's: a HELLO with the longest name and token, or a REFUSAL.
pub const MAX_CONTROL: usize = 600;
pub(super) const DATA: u8 = 2;
pub(super) const PARITY: u8 = 6;
/// Bytes of PARITY besides the block's.
pub const PARITY_HEADER: usize = HEADER + 16;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The client, which sends the stream.
    Client,
    /// The server, which gathers streams.
    Server,
}

wire_enum!(
    /// The reason why the server refuses a stripe.
    RefusalCode, "refusal.code", {
        BadFrame = 1 => "bad_frame",
        /// The client is not on the list.
        UnknownClient = 2 => "unknown_client",
        WrongToken = 3 => "wrong_token",
        /// The client has live stripes of another stream.
        DuplicateClient = 4 => "duplicate_client",
        /// The client has as many stripes as it may have.
        TooMany = 5 => "too_many",
        /// The client needs to resend bytes that were acknowledged, and that it no longer has.
        CannotResume = 6 => "cannot_resume",
        /// No HELLO came in time, or too many connections wait.
        Late = 7 => "late",
        /// The stream cannot be written.
        Output = 8 => "output",
        /// One side speaks TLS and the other does not.
        Tls = 9 => "tls",
    }
);

/// The first frame of a stripe: its client and stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hello {
    pub stream: StreamId,
    /// Bytes that this client knows to be delivered, and cannot send again.
    pub acknowledged: u64,
    /// Whether parity is sent with the stream.
    pub coded: bool,
    pub client: ClientName,
    pub token: Token,
}

/// The state of a stripe's TCP connection at the client.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StripeReport {
    /// Smoothed round-trip time, µs.
    pub rtt_us: u32,
    /// Retransmission time-out, µs.
    pub rto_us: u32,
    /// Segments sent since the last report, retransmissions included.
    pub sent: u32,
    /// Retransmissions since the last report.
    pub resent: u32,
}

/// A frame other than DATA and PARITY, whose bytes are not collected (see [`super::Item`]).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GatherFrame {
    /// Client: the stripe's client and stream.
    Hello(Hello),
    /// Client: the length of the stream, all of which was sent or will be.
    End {
        /// The stream's length in bytes.
        length: u64,
    },
    /// Client: the state of this stripe's connection.
    Report(StripeReport),
    /// Client: nothing follows on this stripe.
    Leave,
    /// Server: the stripe is accepted.
    Welcome {
        /// The epoch in which the server remembers the stream.
        epoch: Epoch,
        /// All bytes before this offset are delivered.
        delivered: u64,
        /// No byte at or beyond this offset may be sent.
        limit: u64,
        /// How many stripes the server wants.
        wanted: u16,
    },
    /// Server: news of `delivered` and `limit`, as in a Welcome.
    Delivered {
        /// All bytes before this offset are delivered.
        delivered: u64,
        /// No byte at or beyond this offset may be sent.
        limit: u64,
    },
    /// Server: the number of stripes that it wants.
    Want {
        /// The number, at least 1.
        wanted: u16,
    },
    /// Server: the whole stream is delivered.
    Complete {
        /// The stream's length in bytes.
        length: u64,
    },
    /// Server: the stripe is refused, or no longer accepted.
    Refusal {
        /// The reason for programs.
        code: RefusalCode,
        /// The reason for people.
        text: String,
    },
}

impl GatherFrame {
    /// Appends the frame as it is sent. A text that is too long is cut.
    pub fn encode(&self, out: &mut impl Extend<u8>) {
        let mut w = Writer::default();
        let (kind, body) = match self {
            GatherFrame::Hello(hello) => {
                w.u8(VERSION).u64(hello.stream.0).u64(hello.acknowledged).u8(hello.coded.into());
                (1, w.text(hello.client.as_str()).text(hello.token.digits()))
            }
            GatherFrame::End { length } => (3, w.u64(*length)),
            GatherFrame::Report(m) => (4, w.u32(m.rtt_us).u32(m.rto_us).u32(m.sent).u32(m.resent)),
            GatherFrame::Leave => (5, &mut w),
            GatherFrame::Welcome { epoch, delivered, limit, wanted } => {
                (17, w.u64(epoch.0).u64(*delivered).u64(*limit).u16(*wanted))
            }
            GatherFrame::Delivered { delivered, limit } => (18, w.u64(*delivered).u64(*limit)),
            GatherFrame::Want { wanted } => (19, w.u16(*wanted)),
            GatherFrame::Complete { length } => (20, w.u64(*length)),
            GatherFrame::Refusal { code, text } => (21, w.u8(*code as u8).rest_text(text, MAX_TEXT)),
        };
        Envelope::seal(kind, body, out);
    }

    /// Parses the body of a frame of this kind, which is not DATA.
    pub(super) fn parse(kind: u8, body: &[u8]) -> Result<GatherFrame, CodecError> {
        let mut fields = Reader::new(body);
        let frame = match kind {
            1 => GatherFrame::Hello(hello(&mut fields)?),
            3 => GatherFrame::End { length: fields.u64("end.length")? },
            4 => GatherFrame::Report(StripeReport {
                rtt_us: fields.u32("report.rtt")?,
                rto_us: fields.u32("report.rto")?,
                sent: fields.u32("report.sent")?,
                resent: fields.u32("report.resent")?,
            }),
            5 => GatherFrame::Leave,
            17 => {
                let epoch = Epoch(fields.u64("welcome.epoch")?);
                let delivered = fields.u64("welcome.delivered")?;
                let limit = fields.u64("welcome.limit")?;
                let wanted = wanted("welcome.wanted", fields.u16("welcome.wanted")?)?;
                in_order("welcome.limit", delivered, limit)?;
                GatherFrame::Welcome { epoch, delivered, limit, wanted }
            }
            18 => {
                let delivered = fields.u64("delivered.delivered")?;
                let limit = fields.u64("delivered.limit")?;
                in_order("delivered.limit", delivered, limit)?;
                GatherFrame::Delivered { delivered, limit }
            }
            19 => GatherFrame::Want { wanted: wanted("want.wanted", fields.u16("want.wanted")?)? },
            20 => GatherFrame::Complete { length: fields.u64("complete.length")? },
            21 => {
                let code = RefusalCode::parse(fields.u8("refusal.code")?)?;
                let text = fields.rest_text(MAX_TEXT, "refusal.text")?;
                GatherFrame::Refusal { code, text: text.to_owned() }
            }
            _ => return Err(CodecError::value("frame.kind", kind)),
        };
        fields.end("frame")?;
        Ok(frame)
    }
}

/// The side that sends frames of a kind; `None`: there is no such kind.
pub(super) fn side(kind: u8) -> Option<Side> {
    match kind {
        1..=6 => Some(Side::Client),
        17..=21 => Some(Side::Server),
        _ => None,
    }
}

/// The header of `length` bytes (1 to [`MAX_DATA`]) of the stream.
pub fn data_header(offset: u64, length: usize) -> [u8; DATA_HEADER] {
    debug_assert!((1..=MAX_DATA).contains(&length), "{length} bytes of DATA");
    let mut bytes = [0; DATA_HEADER];
    bytes[..HEADER].copy_from_slice(&Envelope::header(DATA, 8 + length));
    bytes[HEADER..].copy_from_slice(&offset.to_be_bytes());
    bytes
}

/// The header of a block of parity, which has as many bytes as its group's blocks.
pub fn parity_header(parity: &Parity) -> [u8; PARITY_HEADER] {
    let Parity { group, index } = parity;
    let mut bytes = [0; PARITY_HEADER];
    let length = PARITY_HEADER - HEADER + group.block() as usize;
    bytes[..HEADER].copy_from_slice(&Envelope::header(PARITY, length));
    bytes[HEADER..HEADER + 8].copy_from_slice(&group.start.to_be_bytes());
    bytes[HEADER + 8..HEADER + 12].copy_from_slice(&group.length.to_be_bytes());
    bytes[HEADER + 12..].copy_from_slice(&[group.pieces, group.parity, *index, 0]);
    bytes
}

/// The place of a block of parity of `length` bytes, parsed from the block's header.
pub(super) fn parity(body: &[u8], length: usize) -> Result<Parity, CodecError> {
    let mut fields = Reader::new(body);
    let start = fields.u64("parity.start")?;
    let bytes = fields.u32("parity.length")?;
    let (pieces, count) = (fields.u8("parity.pieces")?, fields.u8("parity.parity")?);
    let group = ParityGroup::new(start, bytes, pieces, count)?;
    let index = fields.u8("parity.index")?;
    if index >= count {
        return Err(CodecError::new("parity.index", format!("{index} is not below {count}")));
    }
    if fields.u8("parity.reserved")? != 0 {
        return Err(CodecError::new("parity.reserved", "must be 0"));
    }
    match length as u64 == group.block() {
        true => Ok(Parity { group, index }),
        false => Err(CodecError::new("parity.bytes", format!("are {length} and must be {}", group.block()))),
    }
}

fn hello(fields: &mut Reader<'_>) -> Result<Hello, CodecError> {
    let version = fields.u8("hello.version")?;
    if version != VERSION {
        return Err(CodecError::new("hello.version", format!("{version} is not {VERSION}")));
    }
    let stream = StreamId(fields.u64("hello.stream")?);
    let acknowledged = fields.u64("hello.acknowledged")?;
    let coded = fields.flag("hello.coded")?;
    let client = ClientName::parse(fields.text("hello.client")?)
        .ok_or_else(|| CodecError::new("hello.client", format!("must have {}", ClientName::RULE)))?;
    let token = Token::parse(fields.text("hello.token")?)
        .ok_or_else(|| CodecError::new("hello.token", format!("must be {}", Token::RULE)))?;
    Ok(Hello { stream, acknowledged, coded, client, token })
}

fn wanted(field: &'static str, number: u16) -> Result<u16, CodecError> {
    match number {
        0 => Err(CodecError::new(field, "must be at least 1")),
        number => Ok(number),
    }
}

fn in_order(field: &'static str, delivered: u64, limit: u64) -> Result<(), CodecError> {
    match delivered <= limit {
        true => Ok(()),
        false => Err(CodecError::new(field, format!("{limit} is before {delivered}, which is delivered"))),
    }
}
