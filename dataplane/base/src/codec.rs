//! Readers and writers of big-endian fields, and the envelope of frames that go over a byte stream.
//!
//! An envelope is kind (u8), 0 (u8), length of the body (u16), body.

use std::borrow::Cow;
use std::ops::RangeInclusive;

use thiserror::Error;

/// The reason why bytes are no message: a field, and the rule that it breaks.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{field}: {problem}")]
pub struct CodecError {
    field: &'static str,
    problem: Cow<'static, str>,
}

impl CodecError {
    /// A field that breaks a rule which `problem` states.
    pub fn new(field: &'static str, problem: impl Into<Cow<'static, str>>) -> CodecError {
        CodecError { field, problem: problem.into() }
    }

    /// A number outside the field's range.
    pub fn value(field: &'static str, value: impl Into<u64>) -> CodecError {
        CodecError::new(field, format!("{} is not a legal value", value.into()))
    }
}

/// Reads big-endian fields one after the other.
pub struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    #[inline]
    pub fn new(bytes: &'a [u8]) -> Reader<'a> {
        Reader { rest: bytes }
    }

    #[inline]
    pub fn take(&mut self, n: usize, field: &'static str) -> Result<&'a [u8], CodecError> {
        if self.rest.len() < n {
            return Err(CodecError::new(field, format!("{} bytes where {n} are needed", self.rest.len())));
        }
        let (head, rest) = self.rest.split_at(n);
        self.rest = rest;
        Ok(head)
    }

    #[inline]
    pub fn array<const N: usize>(&mut self, field: &'static str) -> Result<[u8; N], CodecError> {
        let mut bytes = [0; N];
        bytes.copy_from_slice(self.take(N, field)?);
        Ok(bytes)
    }

    #[inline]
    pub fn u8(&mut self, field: &'static str) -> Result<u8, CodecError> {
        self.array(field).map(u8::from_be_bytes)
    }

    #[inline]
    pub fn u16(&mut self, field: &'static str) -> Result<u16, CodecError> {
        self.array(field).map(u16::from_be_bytes)
    }

    #[inline]
    pub fn u32(&mut self, field: &'static str) -> Result<u32, CodecError> {
        self.array(field).map(u32::from_be_bytes)
    }

    #[inline]
    pub fn u64(&mut self, field: &'static str) -> Result<u64, CodecError> {
        self.array(field).map(u64::from_be_bytes)
    }

    /// The next two bytes, a number of `range`.
    pub fn u16_in(&mut self, range: RangeInclusive<u16>, field: &'static str) -> Result<u16, CodecError> {
        let value = self.u16(field)?;
        range.contains(&value).then_some(value).ok_or_else(|| CodecError::value(field, value))
    }

    /// A byte that is 0 or 1.
    pub fn flag(&mut self, field: &'static str) -> Result<bool, CodecError> {
        match self.u8(field)? {
            0 => Ok(false),
            1 => Ok(true),
            other => Err(CodecError::value(field, other)),
        }
    }

    /// A u8 length and that many bytes of UTF-8.
    pub fn text(&mut self, field: &'static str) -> Result<&'a str, CodecError> {
        let length = usize::from(self.u8(field)?);
        utf8(self.take(length, field)?, field)
    }

    /// The bytes that are left, as UTF-8 of at most `most` bytes.
    pub fn rest_text(&mut self, most: usize, field: &'static str) -> Result<&'a str, CodecError> {
        let bytes = self.rest();
        if bytes.len() > most {
            return Err(CodecError::new(field, format!("more than {most} bytes")));
        }
        utf8(bytes, field)
    }

    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    pub fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.rest)
    }

    /// Checks that no byte is left of the message `field`.
    pub fn end(&self, field: &'static str) -> Result<(), CodecError> {
        match self.rest.len() {
            0 => Ok(()),
            extra => Err(CodecError::new(field, format!("{extra} bytes too many"))),
        }
    }
}

fn utf8<'a>(bytes: &'a [u8], field: &'static str) -> Result<&'a str, CodecError> {
    std::str::from_utf8(bytes).map_err(|_| CodecError::new(field, "not UTF-8"))
}

/// Appends big-endian fields.
#[derive(Debug, Default)]
pub struct Writer {
    bytes: Vec<u8>,
}

impl Writer {
    pub fn with_capacity(bytes: usize) -> Writer {
        Writer { bytes: Vec::with_capacity(bytes) }
    }

    #[inline]
    pub fn u8(&mut self, value: u8) -> &mut Writer {
        self.bytes(&[value])
    }

    #[inline]
    pub fn u16(&mut self, value: u16) -> &mut Writer {
        self.bytes(&value.to_be_bytes())
    }

    #[inline]
    pub fn u32(&mut self, value: u32) -> &mut Writer {
        self.bytes(&value.to_be_bytes())
    }

    #[inline]
    pub fn u64(&mut self, value: u64) -> &mut Writer {
        self.bytes(&value.to_be_bytes())
    }

    #[inline]
    pub fn bytes(&mut self, bytes: &[u8]) -> &mut Writer {
        self.bytes.extend_from_slice(bytes);
        self
    }

    /// Appends a u8 length and the text, cut between characters where it has more than 255 bytes.
    pub fn text(&mut self, text: &str) -> &mut Writer {
        let text = cut(text, u8::MAX.into());
        self.u8(text.len() as u8).bytes(text.as_bytes())
    }

    /// Appends the text without a length, cut between characters where it has more than `most` bytes.
    pub fn rest_text(&mut self, text: &str, most: usize) -> &mut Writer {
        self.bytes(cut(text, most).as_bytes())
    }

    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}

fn cut(text: &str, most: usize) -> &str {
    let mut end = text.len().min(most);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// One frame of a byte stream: its kind, and its body or the beginning of it.
#[derive(Debug, PartialEq, Eq)]
pub struct Envelope<'a> {
    pub kind: u8,
    /// Bytes of the whole body.
    pub length: usize,
    /// The body, or as much of it as was asked for.
    pub body: &'a [u8],
}

impl Envelope<'_> {
    /// Bytes before the body.
    pub const HEADER: usize = 4;

    /// The bytes before a body of `length` bytes, at most 65,535.
    pub fn header(kind: u8, length: usize) -> [u8; Envelope::HEADER] {
        debug_assert!(length <= u16::MAX.into(), "a body of {length} bytes");
        let [high, low] = (length as u16).to_be_bytes();
        [kind, 0, high, low]
    }

    /// Appends a frame with the body that was written.
    pub fn seal(kind: u8, body: &Writer, out: &mut impl Extend<u8>) {
        out.extend(Envelope::header(kind, body.bytes.len()));
        out.extend(body.bytes.iter().copied());
    }
}

/// Cuts a byte stream into envelopes; holds at most one that is not complete.
#[derive(Debug, Clone, Default)]
pub struct Envelopes {
    held: Vec<u8>,
    /// The bytes held were given away.
    done: bool,
}

impl Envelopes {
    /// Takes the next envelope off the front of `input`; `None`: all of it is taken. `wanted`
    /// says how many bytes of a body are collected, for its kind and length; the caller takes the others
    /// from `input`. Nothing useful comes after an error.
    pub fn next<'s>(
        &'s mut self, input: &mut &[u8], wanted: impl FnOnce(u8, usize) -> Result<usize, CodecError>,
    ) -> Result<Option<Envelope<'s>>, CodecError> {
        if std::mem::take(&mut self.done) {
            self.held.clear();
        }
        if !self.fill(Envelope::HEADER, input) {
            return Ok(None);
        }
        let (kind, reserved) = (self.held[0], self.held[1]);
        let length = usize::from(u16::from_be_bytes([self.held[2], self.held[3]]));
        let wanted = wanted(kind, length)?;
        if reserved != 0 {
            return Err(CodecError::value("frame.reserved", reserved));
        }
        if !self.fill(Envelope::HEADER + wanted.min(length), input) {
            return Ok(None);
        }
        self.done = true;
        Ok(Some(Envelope { kind, length, body: &self.held[Envelope::HEADER..] }))
    }

    /// Like [`Envelopes::next`], with bodies as a whole, of at most `most` bytes for a kind.
    pub fn next_whole<'s>(
        &'s mut self, input: &mut &[u8], most: impl FnOnce(u8) -> usize,
    ) -> Result<Option<Envelope<'s>>, CodecError> {
        self.next(input, |kind, length| match length <= most(kind) {
            true => Ok(length),
            false => Err(too_long(kind, length)),
        })
    }

    /// The next frame, whose body `parse` reads, by its kind.
    pub fn next_frame<T>(
        &mut self, input: &mut &[u8], most: impl FnOnce(u8) -> usize,
        parse: impl FnOnce(u8, &[u8]) -> Result<T, CodecError>,
    ) -> Result<Option<T>, CodecError> {
        let envelope = self.next_whole(input, most)?;
        envelope.map(|envelope| parse(envelope.kind, envelope.body)).transpose()
    }

    pub fn held(&self) -> usize {
        self.held.len()
    }

    fn fill(&mut self, length: usize, input: &mut &[u8]) -> bool {
        let (now, rest) = input.split_at(length.saturating_sub(self.held.len()).min(input.len()));
        self.held.extend_from_slice(now);
        *input = rest;
        self.held.len() >= length
    }
}

/// Refuses the length of a frame's body.
pub fn too_long(kind: u8, length: usize) -> CodecError {
    CodecError::new("frame.length", format!("{length} is too long for kind {kind}"))
}

/// The Internet checksum (RFC 1071), an odd last byte followed by zero; 0 over bytes that include it.
#[inline]
pub fn internet_checksum(bytes: &[u8]) -> u16 {
    let mut chunks = bytes.chunks_exact(4);
    let double = |chunk: &[u8]| u64::from(u32::from_be_bytes([chunk[0], chunk[1], chunk[2], chunk[3]]));
    let mut sum: u64 = chunks.by_ref().map(double).sum();
    let mut last = [0; 4];
    last[..chunks.remainder().len()].copy_from_slice(chunks.remainder());
    sum += double(&last);
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}
