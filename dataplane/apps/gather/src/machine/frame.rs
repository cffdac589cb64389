//! What goes over a stripe: kind (u8), 0 (u8), length of the body (u16), body; numbers in network order.

use thiserror::Error;

use super::coding::Group;
use super::names::{ClientName, Epoch, StreamId, Token};
use super::repairs::Parity;

/// The version of these frames.
pub const VERSION: u8 = 2;
/// Bytes before the body.
pub const HEADER: usize = 4;
/// Bytes of DATA besides the stream's.
pub const DATA_HEADER: usize = HEADER + 8;
/// The most bytes of the stream that fit a DATA frame.
pub const MAX_DATA: usize = u16::MAX as usize - 8;
/// The longest text of a refusal.
pub const MAX_TEXT: usize = 512;
/// The longest body except DATA's: a HELLO with the longest name and token, or a REFUSAL.
pub const MAX_CONTROL: usize = 600;
/// The kind of DATA.
pub(super) const DATA: u8 = 2;
/// The kind of PARITY.
pub(super) const PARITY: u8 = 6;
/// Bytes of PARITY besides the block's.
pub const PARITY_HEADER: usize = HEADER + 16;

/// The side that sends a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The client, which sends the stream.
    Client,
    /// The server, which gathers streams.
    Server,
}

/// Why the server refuses a stripe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefusalCode {
    /// A frame is invalid.
    BadFrame,
    /// The client is not on the list.
    UnknownClient,
    /// The token does not match.
    WrongToken,
    /// The client has live stripes of another stream.
    DuplicateClient,
    /// The client has as many stripes as it may have.
    TooMany,
    /// The client needs to resend bytes that were acknowledged, and that it no longer has.
    CannotResume,
    /// No HELLO came in time, or too many connections wait.
    Late,
    /// The stream cannot be written.
    Output,
    /// One side speaks TLS and the other does not.
    Tls,
}

impl RefusalCode {
    /// All codes in the order of their numbers, from 1.
    pub const ALL: [RefusalCode; 9] = [
        RefusalCode::BadFrame,
        RefusalCode::UnknownClient,
        RefusalCode::WrongToken,
        RefusalCode::DuplicateClient,
        RefusalCode::TooMany,
        RefusalCode::CannotResume,
        RefusalCode::Late,
        RefusalCode::Output,
        RefusalCode::Tls,
    ];

    /// The code's word in events.
    pub fn word(self) -> &'static str {
        match self {
            RefusalCode::BadFrame => "bad_frame",
            RefusalCode::UnknownClient => "unknown_client",
            RefusalCode::WrongToken => "wrong_token",
            RefusalCode::DuplicateClient => "duplicate_client",
            RefusalCode::TooMany => "too_many",
            RefusalCode::CannotResume => "cannot_resume",
            RefusalCode::Late => "late",
            RefusalCode::Output => "output",
            RefusalCode::Tls => "tls",
        }
    }

    fn number(self) -> u8 {
        self as u8 + 1
    }
}

/// The first frame of a stripe: its client and stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hello {
    /// The stream's id.
    pub stream: StreamId,
    /// Bytes that this client knows to be delivered, and cannot send again.
    pub acknowledged: u64,
    /// Whether parity is sent with the stream.
    pub coded: bool,
    /// The client's name.
    pub client: ClientName,
    /// The client's token.
    pub token: Token,
}

/// The state of a stripe's TCP connection at the client.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Report {
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
pub enum Frame {
    /// Client: the stripe's client and stream.
    Hello(Hello),
    /// Client: the length of the stream, all of which was sent or will be.
    End {
        /// The stream's length in bytes.
        length: u64,
    },
    /// Client: the state of this stripe's connection.
    Report(Report),
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

/// A frame that makes no sense.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{field} {text}")]
pub struct FrameError {
    /// The field that is wrong, like `data.offset`.
    pub field: &'static str,
    /// What is wrong with it.
    pub text: String,
}

impl FrameError {
    /// For a field.
    pub fn new(field: &'static str, text: impl Into<String>) -> FrameError {
        FrameError { field, text: text.into() }
    }
}

impl Frame {
    /// Appends the frame as it is sent. A text that is too long is cut.
    pub fn encode(&self, out: &mut impl Extend<u8>) {
        let mut body = Vec::new();
        let kind = match self {
            Frame::Hello(hello) => {
                let (client, token) = (hello.client.as_str(), hello.token.digits());
                body.push(VERSION);
                body.extend(hello.stream.0.to_be_bytes());
                body.extend(hello.acknowledged.to_be_bytes());
                body.push(hello.coded.into());
                body.push(client.len() as u8);
                body.extend(client.bytes());
                body.push(token.len() as u8);
                body.extend(token.bytes());
                1
            }
            Frame::End { length } => {
                body.extend(length.to_be_bytes());
                3
            }
            Frame::Report(report) => {
                for number in [report.rtt_us, report.rto_us, report.sent, report.resent] {
                    body.extend(number.to_be_bytes());
                }
                4
            }
            Frame::Leave => 5,
            Frame::Welcome { epoch, delivered, limit, wanted } => {
                for number in [epoch.0, *delivered, *limit] {
                    body.extend(number.to_be_bytes());
                }
                body.extend(wanted.to_be_bytes());
                17
            }
            Frame::Delivered { delivered, limit } => {
                body.extend(delivered.to_be_bytes());
                body.extend(limit.to_be_bytes());
                18
            }
            Frame::Want { wanted } => {
                body.extend(wanted.to_be_bytes());
                19
            }
            Frame::Complete { length } => {
                body.extend(length.to_be_bytes());
                20
            }
            Frame::Refusal { code, text } => {
                body.push(code.number());
                let cut = (0..=MAX_TEXT.min(text.len())).rev().find(|&at| text.is_char_boundary(at));
                body.extend(text[..cut.unwrap_or(0)].bytes());
                21
            }
        };
        out.extend(header(kind, body.len()));
        out.extend(body);
    }

    /// The frame of a kind, but DATA, from its body.
    pub(super) fn parse(kind: u8, body: &[u8]) -> Result<Frame, FrameError> {
        let mut fields = Fields(body);
        let frame = match kind {
            1 => Frame::Hello(hello(&mut fields)?),
            3 => Frame::End { length: fields.u64("end.length")? },
            4 => Frame::Report(Report {
                rtt_us: fields.u32("report.rtt")?,
                rto_us: fields.u32("report.rto")?,
                sent: fields.u32("report.sent")?,
                resent: fields.u32("report.resent")?,
            }),
            5 => Frame::Leave,
            17 => {
                let epoch = Epoch(fields.u64("welcome.epoch")?);
                let delivered = fields.u64("welcome.delivered")?;
                let limit = fields.u64("welcome.limit")?;
                let wanted = wanted("welcome.wanted", fields.u16("welcome.wanted")?)?;
                in_order("welcome.limit", delivered, limit)?;
                Frame::Welcome { epoch, delivered, limit, wanted }
            }
            18 => {
                let delivered = fields.u64("delivered.delivered")?;
                let limit = fields.u64("delivered.limit")?;
                in_order("delivered.limit", delivered, limit)?;
                Frame::Delivered { delivered, limit }
            }
            19 => Frame::Want { wanted: wanted("want.wanted", fields.u16("want.wanted")?)? },
            20 => Frame::Complete { length: fields.u64("complete.length")? },
            21 => {
                let number = fields.u8("refusal.code")?;
                let code = RefusalCode::ALL.into_iter().find(|code| code.number() == number);
                let code =
                    code.ok_or_else(|| FrameError::new("refusal.code", format!("{number} is unknown")))?;
                let text = std::str::from_utf8(fields.rest())
                    .map_err(|_| FrameError::new("refusal.text", "is no UTF-8"))?;
                if text.len() > MAX_TEXT {
                    return Err(FrameError::new("refusal.text", format!("has more than {MAX_TEXT} bytes")));
                }
                Frame::Refusal { code, text: text.to_owned() }
            }
            _ => return Err(FrameError::new("frame.kind", format!("{kind} is unknown"))),
        };
        match fields.0.len() {
            0 => Ok(frame),
            more => Err(FrameError::new("frame.length", format!("is {more} bytes too long for kind {kind}"))),
        }
    }
}

/// Who sends frames of a kind; `None`: there is no such kind.
pub(super) fn side(kind: u8) -> Option<Side> {
    match kind {
        1..=6 => Some(Side::Client),
        17..=21 => Some(Side::Server),
        _ => None,
    }
}

fn header(kind: u8, length: usize) -> [u8; HEADER] {
    // A body is at most MAX_CONTROL, or 8 + MAX_DATA.
    let length = (length as u16).to_be_bytes();
    [kind, 0, length[0], length[1]]
}

/// What goes before so many bytes (1 to [`MAX_DATA`]) of the stream.
pub fn data_header(offset: u64, length: usize) -> [u8; DATA_HEADER] {
    debug_assert!((1..=MAX_DATA).contains(&length), "{length} bytes of DATA");
    let mut bytes = [0; DATA_HEADER];
    bytes[..HEADER].copy_from_slice(&header(DATA, 8 + length));
    bytes[HEADER..].copy_from_slice(&offset.to_be_bytes());
    bytes
}

/// What goes before a block of parity, which has as many bytes as its group's blocks.
pub fn parity_header(parity: &Parity) -> [u8; PARITY_HEADER] {
    let Parity { group, index } = parity;
    let mut bytes = [0; PARITY_HEADER];
    let length = PARITY_HEADER - HEADER + group.block() as usize;
    bytes[..HEADER].copy_from_slice(&header(PARITY, length));
    bytes[HEADER..HEADER + 8].copy_from_slice(&group.start().to_be_bytes());
    bytes[HEADER + 8..HEADER + 12].copy_from_slice(&group.length().to_be_bytes());
    bytes[HEADER + 12..].copy_from_slice(&[group.pieces(), group.parity(), *index, 0]);
    bytes
}

/// What a block of parity of `length` bytes is of, from what goes before it.
pub(super) fn parity(body: &[u8], length: usize) -> Result<Parity, FrameError> {
    let mut fields = Fields(body);
    let start = fields.u64("parity.start")?;
    let bytes = fields.u32("parity.length")?;
    let (pieces, count) = (fields.u8("parity.pieces")?, fields.u8("parity.parity")?);
    let group = Group::new(start, bytes, pieces, count)?;
    let index = fields.u8("parity.index")?;
    if index >= count {
        return Err(FrameError::new("parity.index", format!("{index} is not below {count}")));
    }
    if fields.u8("parity.reserved")? != 0 {
        return Err(FrameError::new("parity.reserved", "must be 0"));
    }
    match length as u64 == group.block() {
        true => Ok(Parity { group, index }),
        false => Err(FrameError::new("parity.bytes", format!("are {length} and must be {}", group.block()))),
    }
}

fn hello(fields: &mut Fields<'_>) -> Result<Hello, FrameError> {
    let version = fields.u8("hello.version")?;
    if version != VERSION {
        return Err(FrameError::new("hello.version", format!("{version} is not {VERSION}")));
    }
    let stream = StreamId(fields.u64("hello.stream")?);
    let acknowledged = fields.u64("hello.acknowledged")?;
    let coded = match fields.u8("hello.coded")? {
        0 => false,
        1 => true,
        other => return Err(FrameError::new("hello.coded", format!("{other} is neither 0 nor 1"))),
    };
    let client = ClientName::parse(fields.text("hello.client")?)
        .ok_or_else(|| FrameError::new("hello.client", format!("must have {}", ClientName::RULE)))?;
    let token = Token::parse(fields.text("hello.token")?)
        .ok_or_else(|| FrameError::new("hello.token", format!("must be {}", Token::RULE)))?;
    Ok(Hello { stream, acknowledged, coded, client, token })
}

fn wanted(field: &'static str, number: u16) -> Result<u16, FrameError> {
    match number {
        0 => Err(FrameError::new(field, "must be at least 1")),
        number => Ok(number),
    }
}

fn in_order(field: &'static str, delivered: u64, limit: u64) -> Result<(), FrameError> {
    match delivered <= limit {
        true => Ok(()),
        false => Err(FrameError::new(field, format!("{limit} is before {delivered}, which is delivered"))),
    }
}

/// Reads a body from its front.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn slice(&mut self, field: &'static str, length: usize) -> Result<&'a [u8], FrameError> {
        let taken = self.0.get(..length).ok_or_else(|| FrameError::new(field, "is cut off"))?;
        self.0 = &self.0[length..];
        Ok(taken)
    }

    fn take<const N: usize>(&mut self, field: &'static str) -> Result<[u8; N], FrameError> {
        let mut taken = [0; N];
        taken.copy_from_slice(self.slice(field, N)?);
        Ok(taken)
    }

    fn u8(&mut self, field: &'static str) -> Result<u8, FrameError> {
        self.take(field).map(u8::from_be_bytes)
    }

    fn u16(&mut self, field: &'static str) -> Result<u16, FrameError> {
        self.take(field).map(u16::from_be_bytes)
    }

    fn u32(&mut self, field: &'static str) -> Result<u32, FrameError> {
        self.take(field).map(u32::from_be_bytes)
    }

    fn u64(&mut self, field: &'static str) -> Result<u64, FrameError> {
        self.take(field).map(u64::from_be_bytes)
    }

    fn text(&mut self, field: &'static str) -> Result<&'a str, FrameError> {
        let length = self.u8(field)?;
        let bytes = self.slice(field, length.into())?;
        std::str::from_utf8(bytes).map_err(|_| FrameError::new(field, "is no UTF-8"))
    }

    fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.0)
    }
}
