//! The source of a sender: a file, a byte stream or datagrams, cut into packets.
//!
//! A file can serve any packet at any time. Streams and datagrams keep their packets until they
//! are acknowledged, in a bounded buffer: while it is full, the writer waits.

use std::collections::VecDeque;
use std::fmt;

use groupflow_base::SeekableBytes;
use thiserror::Error;

use crate::assembly::{DATAGRAM_PREFIX, MAX_DATAGRAM};
use crate::ids::{Seq, MAX_PAYLOAD};
use crate::wire::Flags;

/// Bytes of a buffer counted for a packet besides its payload.
const PIECE_OVERHEAD: usize = 64;

/// The reason why a source cannot give its bytes.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SourceError {
    #[error("reading failed: {0}")]
    Read(String),
    #[error("the stream is too long: there are {} packet numbers of {MAX_PAYLOAD} bytes", u32::MAX - 1)]
    TooLong,
}

/// A packet's share of the stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// FIN and BOUNDARY.
    pub flags: Flags,
    pub payload: Vec<u8>,
}

pub enum Source {
    /// Bytes that stay available.
    File(FileSource),
    /// Bytes or datagrams that are written as the group takes them.
    Written(WrittenSource),
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Source::File(file) => write!(f, "File({} bytes)", file.bytes.len()),
            Source::Written(written) => written.fmt(f),
        }
    }
}

impl Source {
    /// A file of which the first packet has number `first`.
    pub fn file(bytes: Box<dyn SeekableBytes>, first: Seq) -> Result<Source, SourceError> {
        FileSource::new(bytes, first).map(Source::File)
    }

    /// A byte stream that keeps at most `limit` bytes.
    pub fn stream(limit: usize, first: Seq) -> Source {
        Source::Written(WrittenSource::new(limit, first, false))
    }

    /// Datagrams, of which at most `limit` bytes, or one datagram, are kept.
    pub fn datagrams(limit: usize, first: Seq) -> Source {
        Source::Written(WrittenSource::new(limit, first, true))
    }

    /// The packet `seq`, which is the next new one; `None` when there is nothing to send yet.
    pub(crate) fn fresh(&mut self, seq: Seq) -> Result<Option<Piece>, SourceError> {
        match self {
            Source::File(file) => file.piece(seq),
            Source::Written(written) => written.fresh(seq),
        }
    }

    /// The packet `seq`, which was sent before; `None` when it was acknowledged and forgotten.
    pub(crate) fn again(&mut self, seq: Seq) -> Result<Option<Piece>, SourceError> {
        match self {
            Source::File(file) => file.piece(seq),
            Source::Written(written) => Ok(written.again(seq)),
        }
    }

    /// Whether [`Source::fresh`] would give a packet.
    pub(crate) fn has_fresh(&self, seq: Seq) -> bool {
        match self {
            Source::File(file) => seq <= file.last,
            Source::Written(w) => (seq.since(w.base) as usize) < w.pieces.len() || !w.open.is_empty(),
        }
    }

    /// Notes that all packets below `seq` were acknowledged.
    pub(crate) fn acknowledged(&mut self, seq: Seq) {
        if let Source::Written(written) = self {
            written.acknowledged(seq);
        }
    }

    /// The number of the first packet that is still available.
    pub(crate) fn first(&self) -> Seq {
        match self {
            Source::File(file) => file.first,
            Source::Written(written) => written.base,
        }
    }

    /// The buffer of a stream or of datagrams; `None` for a file.
    pub fn written(&mut self) -> Option<&mut WrittenSource> {
        match self {
            Source::Written(written) => Some(written),
            Source::File(_) => None,
        }
    }

    pub fn total_bytes(&self) -> Option<u64> {
        match self {
            Source::File(file) => Some(file.bytes.len()),
            Source::Written(_) => None,
        }
    }
}

/// A file, or other bytes that can be read at any offset.
pub struct FileSource {
    bytes: Box<dyn SeekableBytes>,
    first: Seq,
    last: Seq,
}

impl FileSource {
    fn new(bytes: Box<dyn SeekableBytes>, first: Seq) -> Result<FileSource, SourceError> {
        // An empty file is one packet too: the end must be told.
        let packets = bytes.len().div_ceil(MAX_PAYLOAD as u64).max(1);
        let available = u64::from(Seq::LAST.since(first)) + 1;
        if packets > available {
            return Err(SourceError::TooLong);
        }
        let last = first.forward((packets - 1) as u32);
        Ok(FileSource { bytes, first, last })
    }

    fn piece(&mut self, seq: Seq) -> Result<Option<Piece>, SourceError> {
        if seq < self.first || seq > self.last {
            return Ok(None);
        }
        let offset = u64::from(seq.since(self.first)) * MAX_PAYLOAD as u64;
        let size = (self.bytes.len() - offset).min(MAX_PAYLOAD as u64) as usize;
        let mut payload = vec![0; size];
        self.bytes.read_at(offset, &mut payload).map_err(SourceError::Read)?;
        let flags = if seq == self.last { Flags::FIN } else { Flags::NONE };
        Ok(Some(Piece { flags, payload }))
    }
}

/// A bounded buffer of packets that were written and not yet acknowledged.
#[derive(Debug)]
pub struct WrittenSource {
    datagrams: bool,
    limit: usize,
    used: usize,
    /// The number of `pieces`' first packet.
    base: Seq,
    pieces: VecDeque<Piece>,
    /// Packets of `pieces` that were sent.
    sent: usize,
    /// Bytes that do not fill a packet yet.
    open: Vec<u8>,
    finished: bool,
}

impl WrittenSource {
    fn new(limit: usize, first: Seq, datagrams: bool) -> WrittenSource {
        WrittenSource {
            datagrams,
            limit,
            used: 0,
            base: first,
            pieces: VecDeque::new(),
            sent: 0,
            open: Vec::new(),
            finished: false,
        }
    }

    pub fn room(&self) -> usize {
        if self.finished || self.datagrams {
            return 0;
        }
        self.limit.saturating_sub(self.used + self.open.len())
    }

    /// Appends to a byte stream as many bytes as there is room for; returns their number.
    pub fn write(&mut self, bytes: &[u8]) -> usize {
        let mut rest = &bytes[..bytes.len().min(self.room())];
        let accepted = rest.len();
        while !rest.is_empty() {
            let (head, tail) = rest.split_at(rest.len().min(MAX_PAYLOAD - self.open.len()));
            self.open.extend_from_slice(head);
            rest = tail;
            if self.open.len() == MAX_PAYLOAD {
                self.close();
            }
        }
        accepted
    }

    /// Whether there is room for a datagram of `length` bytes. There always is if nothing else waits.
    pub fn has_room_for(&self, length: usize) -> bool {
        let fits = self.used + length + DATAGRAM_PREFIX <= self.limit || self.pieces.is_empty();
        self.datagrams && !self.finished && length <= MAX_DATAGRAM && fits
    }

    /// Appends a datagram. False: there is no room, and nothing was appended.
    pub fn write_datagram(&mut self, datagram: &[u8]) -> bool {
        if !self.has_room_for(datagram.len()) {
            return false;
        }
        let mut framed = Vec::with_capacity(DATAGRAM_PREFIX + datagram.len());
        framed.extend_from_slice(&(datagram.len() as u32).to_be_bytes());
        framed.extend_from_slice(datagram);
        let mut flags = Flags::BOUNDARY;
        for chunk in framed.chunks(MAX_PAYLOAD) {
            self.push(flags, chunk.to_vec());
            flags = Flags::NONE;
        }
        true
    }

    /// Ends the stream: nothing more will be written.
    pub fn finish(&mut self) {
        if self.finished {
            return;
        }
        self.finished = true;
        if !self.open.is_empty() {
            self.close();
        }
        if self.sent == self.pieces.len() {
            self.push(Flags::NONE, Vec::new());
        }
        if let Some(last) = self.pieces.back_mut() {
            last.flags = last.flags.with(Flags::FIN);
        }
    }

    fn close(&mut self) {
        let payload = std::mem::take(&mut self.open);
        self.push(Flags::NONE, payload);
    }

    fn push(&mut self, flags: Flags, payload: Vec<u8>) {
        self.used += payload.len() + PIECE_OVERHEAD;
        self.pieces.push_back(Piece { flags, payload });
    }

    fn fresh(&mut self, seq: Seq) -> Result<Option<Piece>, SourceError> {
        let index = seq.since(self.base) as usize;
        if index == self.pieces.len() && !self.open.is_empty() {
            // There is less than a packet, but nothing else to send, so that it need not wait.
            self.close();
        }
        let Some(piece) = self.pieces.get(index) else { return Ok(None) };
        if seq == Seq::LAST && !piece.flags.has(Flags::FIN) {
            return Err(SourceError::TooLong);
        }
        self.sent = self.sent.max(index + 1);
        Ok(Some(piece.clone()))
    }

    fn again(&self, seq: Seq) -> Option<Piece> {
        (seq >= self.base).then(|| self.pieces.get(seq.since(self.base) as usize)).flatten().cloned()
    }

    fn acknowledged(&mut self, seq: Seq) {
        while self.base < seq && self.sent > 0 {
            let Some(piece) = self.pieces.pop_front() else { return };
            self.used -= piece.payload.len() + PIECE_OVERHEAD;
            self.sent -= 1;
            self.base = self.base.next();
        }
    }
}

#[cfg(test)]
#[path = "tests/source.rs"]
mod tests;
