//! Cuts a stripe's bytes into frames. The bytes of DATA are passed on as they come, so that a stripe holds no
//! more than the beginning of a frame.

use groupflow_base::codec::{too_long, CodecError, Envelope, Envelopes, Reader};

use super::frame::{side, GatherFrame, Side, DATA, DATA_HEADER, HEADER, MAX_CONTROL};

/// A part of a stripe: a frame, or bytes.
#[derive(Debug, PartialEq, Eq)]
pub enum Item<'a> {
    Frame(GatherFrame),
    /// Bytes of the stream: a DATA frame, or the next part of one.
    Data {
        /// The offset of the bytes in the stream.
        offset: u64,
        /// The bytes, at least one.
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
