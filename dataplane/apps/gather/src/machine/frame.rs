//! The frames of a stripe: kind (u8), 0 (u8), length of the body (u16), body; numbers in network order. The
//! names in them, and the parser of a stripe's bytes. The bytes of DATA are passed on as they come, so that a
//! stripe holds no more than the beginning of a frame.

use std::borrow::Borrow;
use std::fmt;
use std::sync::Arc;

use groupflow_base::codec::{too_long, CodecError, Envelope, Envelopes, Reader, Writer};
use groupflow_base::wire::{last_text, WireField};
use groupflow_base::{wire_enum, wire_frames, wire_struct, StreamId, Token};

pub const VERSION: u8 = 2;
/// Bytes before the body.
pub const HEADER: usize = Envelope::HEADER;
/// Bytes of DATA besides the stream's.
pub const DATA_HEADER: usize = HEADER + 8;
/// The most bytes of the stream that fit a DATA frame.
pub const MAX_DATA: usize = u16::MAX as usize - 8;
/// The longest body except DATA's: a HELLO with the longest name and token, or a REFUSAL.
pub const MAX_CONTROL: usize = 600;
pub(super) const DATA: u8 = 2;

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
    pub client: ClientName,
    pub token: Token,
}

wire_struct!(
    /// The state of a stripe's TCP connection at the client.
    #[derive(Copy, Default)]
    StripeReport, "report.", {
        /// Smoothed round-trip time, µs.
        rtt_us: u32,
        /// Retransmission time-out, µs.
        rto_us: u32,
        /// Segments sent since the last report, retransmissions included.
        sent: u32,
        /// Retransmissions since the last report.
        resent: u32,
    }
);

wire_frames!(
    /// A frame other than DATA, whose bytes are not collected (see [`super::Item`]).
    GatherFrame, "frame.kind", "frame", {
        /// Client: the stripe's client and stream.
        Hello(hello: Hello) = 1,
        /// Client: the length of the stream in bytes, all of which were sent or will be.
        End = 3 => "end." { length: u64 },
        /// Client: the state of this stripe's connection.
        Report(report: StripeReport) = 4,
        /// Client: nothing follows on this stripe.
        Leave = 5,
        /// Server: the stripe is accepted.
        Welcome = 17 => "welcome." {
            /// The epoch in which the server remembers the stream.
            epoch: Epoch,
            /// All bytes before this offset are delivered.
            delivered: u64,
            /// No byte at or beyond this offset may be sent.
            limit: u64,
            wanted: u16 = 1..=u16::MAX,
        },
        /// Server: news of `delivered` and `limit`, as in a Welcome.
        Delivered = 18 => "delivered." { delivered: u64, limit: u64 },
        /// Server: the number of stripes that it wants.
        Want = 19 => "want." { wanted: u16 = 1..=u16::MAX },
        /// Server: the whole stream, of so many bytes, is delivered.
        Complete = 20 => "complete." { length: u64 },
        /// Server: the stripe is refused, or no longer accepted.
        Refusal = 21 => "refusal." { code: RefusalCode, text: String => last_text },
    }
);

impl GatherFrame {
    /// Parses the body of a frame of this kind, which is not DATA.
    pub(super) fn parse(kind: u8, body: &[u8]) -> Result<GatherFrame, CodecError> {
        let frame = GatherFrame::parse_body(kind, body)?;
        match frame {
            GatherFrame::Welcome { delivered, limit, .. } => in_order("welcome.limit", delivered, limit)?,
            GatherFrame::Delivered { delivered, limit } => in_order("delivered.limit", delivered, limit)?,
            _ => {}
        }
        Ok(frame)
    }
}

/// The side that sends frames of a kind; `None`: there is no such kind.
pub(super) fn side(kind: u8) -> Option<Side> {
    match kind {
        1..=5 => Some(Side::Client),
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

impl WireField for Hello {
    fn write(&self, w: &mut Writer) {
        w.u8(VERSION).u64(self.stream.0).u64(self.acknowledged).u8(0);
        w.text(self.client.as_str()).text(self.token.digits());
    }

    fn read(r: &mut Reader<'_>, _: &'static str) -> Result<Hello, CodecError> {
        let version = r.u8("hello.version")?;
        if version != VERSION {
            return Err(CodecError::new("hello.version", format!("{version} is not {VERSION}")));
        }
        let stream = StreamId(r.u64("hello.stream")?);
        let acknowledged = r.u64("hello.acknowledged")?;
        if r.u8("hello.reserved")? != 0 {
            return Err(CodecError::new("hello.reserved", "must be 0"));
        }
        let client = ClientName::parse(r.text("hello.client")?)
            .ok_or_else(|| CodecError::new("hello.client", format!("must have {}", ClientName::RULE)))?;
        let token = Token::parse(r.text("hello.token")?)
            .ok_or_else(|| CodecError::new("hello.token", format!("must be {}", Token::RULE)))?;
        Ok(Hello { stream, acknowledged, client, token })
    }
}

fn in_order(field: &'static str, delivered: u64, limit: u64) -> Result<(), CodecError> {
    match delivered <= limit {
        true => Ok(()),
        false => Err(CodecError::new(field, format!("{limit} is before {delivered}, which is delivered"))),
    }
}

pub const MAX_NAME: usize = 64;

/// A client's name: 1 to 64 of `A-Z a-z 0-9 . _ -`, not beginning with `.`, so that it may name a file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClientName(Arc<str>);

impl ClientName {
    pub const RULE: &'static str = "1 to 64 of A-Z a-z 0-9 . _ - and not begin with .";

    pub fn parse(text: &str) -> Option<ClientName> {
        let fits = (1..=MAX_NAME).contains(&text.len()) && !text.starts_with('.');
        let plain = text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-'));
        (fits && plain).then(|| ClientName(text.into()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Lets a map of clients be searched with any text, which need not be a valid name.
impl Borrow<str> for ClientName {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ClientName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// An epoch lasts while the server remembers a stream without a break. A new number means that bytes the
/// server held but had not delivered are lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Epoch(pub u64);

groupflow_base::wire_number!(Epoch);

/// A part of a stripe: a frame, or bytes.
#[derive(Debug, PartialEq, Eq)]
pub enum Item<'a> {
    Frame(GatherFrame),
    /// Bytes of the stream, at least one: a DATA frame, or the next part of one.
    Data {
        offset: u64,
        bytes: &'a [u8],
    },
}

/// The parser of one direction of a stripe.
#[derive(Debug)]
pub struct StripeDecoder {
    from: Side,
    /// The beginning of a frame.
    head: Envelopes,
    /// The offset of the rest of a DATA frame, and its bytes still to come.
    offset: u64,
    remaining: usize,
}

impl StripeDecoder {
    /// The parser of the frames that `from` sends.
    pub fn new(from: Side) -> StripeDecoder {
        StripeDecoder { from, head: Envelopes::default(), offset: 0, remaining: 0 }
    }

    /// Takes the next item off the front of `input`; `None`: all of `input` is taken. After an error, the
    /// parser gives nothing useful.
    pub fn next_item<'a>(&mut self, input: &mut &'a [u8]) -> Result<Option<Item<'a>>, CodecError> {
        if self.remaining == 0 {
            let wanted = |kind, length| check_header(self.from, kind, length);
            let Some(Envelope { kind, length, body }) = self.head.next(input, wanted)? else {
                return Ok(None);
            };
            if kind != DATA {
                return GatherFrame::parse(kind, body).map(|frame| Some(Item::Frame(frame)));
            }
            self.offset = Reader::new(body).u64("data.offset")?;
            self.remaining = length - body.len();
            if self.offset.checked_add(self.remaining as u64).is_none() {
                return Err(CodecError::new("data.offset", "lies beyond the longest stream"));
            }
        }
        if input.is_empty() {
            return Ok(None);
        }
        let (bytes, rest) = input.split_at(self.remaining.min(input.len()));
        *input = rest;
        let offset = self.offset;
        self.remaining -= bytes.len();
        self.offset += bytes.len() as u64;
        Ok(Some(Item::Data { offset, bytes }))
    }
}

/// How many bytes of a frame's body are collected: all, or of DATA those before the stream's.
fn check_header(from: Side, kind: u8, length: usize) -> Result<usize, CodecError> {
    match side(kind) {
        None => return Err(CodecError::value("frame.kind", kind)),
        Some(side) if side != from => {
            return Err(CodecError::new("frame.kind", format!("{kind} is the other side's")));
        }
        Some(_) => {}
    }
    match (kind, length) {
        (DATA, ..=8) => Err(CodecError::new("data.length", "must be at least 1 byte")),
        (DATA, _) => Ok(DATA_HEADER - HEADER),
        (_, ..=MAX_CONTROL) => Ok(length),
        _ => Err(too_long(kind, length)),
    }
}
